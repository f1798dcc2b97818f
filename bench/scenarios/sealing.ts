/**
 * Sealing and opening a secret at rest, against one bare AES-256-GCM call over the same bytes: what the key of its own
 * and the bound context cost.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Kek } from "../../engine/custody/sealing/kek.js";
import { openRecord, sealRecord } from "../../engine/custody/sealing/record.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import type { BenchRow, Scenario } from "../lib/types.js";

/** A secret of an API key, and a share of a two-party key. */
const SIZES_BYTES = [64, 124_000] as const;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const CIPHER = "aes-256-gcm";

export const sealing: Scenario = {
  name: "sealing",
  title: "Sealing a secret at rest",
  async run(context) {
    const count = context.smoke ? 40 : 2_000;
    const runCount = context.smoke ? 1 : 5;
    return { rows: SIZES_BYTES.flatMap((bytes) => rowsOf(bytes, count, runCount)), profile: [] };
  },
};

function rowsOf(bytes: number, count: number, runCount: number): BenchRow[] {
  const plaintext = randomBytes(bytes);
  const context = { purpose: "bench", parts: ["pk_0123456789abcdef"], recordVersion: 1 };
  const key = randomBytes(KEY_BYTES);
  const kek = new Kek(Buffer.from(key));
  const record = sealRecord(kek, context, plaintext, systemSecretRandom);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  const tag = cipher.getAuthTag();
  const seal = (): unknown => sealRecord(kek, context, plaintext, systemSecretRandom);
  const open = (): unknown => openRecord(kek, context, record);
  const bareSeal = (): unknown => {
    const bare = createCipheriv(CIPHER, key, randomBytes(IV_BYTES));
    const sealed = bare.update(plaintext);
    bare.final();
    return [sealed, bare.getAuthTag()];
  };
  const bareOpen = (): unknown => {
    const bare = createDecipheriv(CIPHER, key, iv);
    bare.setAuthTag(tag);
    const opened = bare.update(ciphertext);
    bare.final();
    return opened;
  };
  return [
    compare(`seal ${bytes} bytes`, seal, bareSeal, count, runCount),
    compare(`open ${bytes} bytes`, open, bareOpen, count, runCount),
  ];
}

function compare(what: string, ours: () => unknown, peer: () => unknown, count: number, runCount: number): BenchRow {
  const ourMedians: number[] = [];
  const peerMedians: number[] = [];
  let last: number[] = [];
  for (let run = -1; run < runCount; run++) {
    const samples = timed(ours, count);
    const peerSamples = timed(peer, count);
    // The first run warms up.
    if (run < 0) continue;
    last = samples;
    ourMedians.push(percentile(samples, 50));
    peerMedians.push(percentile(peerSamples, 50));
  }
  const oursUs = median(ourMedians);
  const peerUs = median(peerMedians);
  return {
    ...{ what, unit: "µs", ours: oursUs, peerName: "one bare AES-256-GCM call", peer: peerUs, runCount },
    ...{ ratio: oursUs / peerUs, goal: null, detail: `${count} calls, µs ${latencyText(last)}` },
  };
}

/** µs of each call. */
function timed(call: () => unknown, count: number): number[] {
  const samples: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    call();
    samples.push((performance.now() - startMs) * 1_000);
  }
  return samples;
}
