/**
 * Seals and opens under keys drawn here, then wipes what is its own to wipe (not in mode `kept`). Prints what to look
 * for in its memory, each byte turned, so that the text is no copy; lives until it is killed.
 */
import { Kek } from "../kek.js";
import { openRecord, rewrapRecord, sealRecord } from "../record.js";
import { secretBuffer, systemSecretRandom } from "../secret-bytes.js";

const TURN = 0x5a;
const NEEDLE_BYTES = 16;
const needles: (readonly [string, string])[] = [];

/** The end of a buffer: an allocator writes over the beginning of what is freed. */
function remember(name: string, secret: Uint8Array): void {
  const turned = Array.from(secret.subarray(-NEEDLE_BYTES), (byte) => (byte ^ TURN).toString(16).padStart(2, "0"));
  needles.push([name, turned.join("")]);
}

function drawn(byteLength: number): Buffer {
  const secret = secretBuffer(byteLength);
  systemSecretRandom(secret);
  return secret;
}

const keys = [drawn(32), drawn(32)];
for (const key of keys) remember("kek", key);
const [kek, nextKek] = keys.map((key) => new Kek(key));
if (kek === undefined || nextKek === undefined) throw new Error("two keys");
const context = { purpose: "share", parts: ["w1"], recordVersion: 1 };
const secrets = [drawn(48), drawn(3_500), drawn(124_000)];

for (const secret of secrets) {
  for (const end of [secret.byteLength, 1_000, 2_000, 60_000])
    if (end <= secret.byteLength) remember("secret", secret.subarray(0, end));
  const record = sealRecord(kek, context, secret, (target) => {
    systemSecretRandom(target);
    if (target.byteLength === 32) remember("dek", target);
  });
  openRecord(kek, context, record).fill(0);
  openRecord(nextKek, context, rewrapRecord(kek, nextKek, context, record, systemSecretRandom)).fill(0);
}
if (process.argv[2] !== "kept") {
  for (const secret of secrets) secret.fill(0);
  kek.wipe();
  nextKek.wipe();
}
process.stdout.write(`${JSON.stringify(needles)}\n`);
setInterval(() => void [keys, secrets], 60_000);
