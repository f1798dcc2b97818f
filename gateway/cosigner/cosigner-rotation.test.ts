/** The key-encryption key of a co-signer changes: at once, and where it was killed on the way. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { newWalletRow } from "../../engine/custody/mpc/state/state-row.js";
import { shareContext } from "../../engine/custody/mpc/state/share-record.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { DurablePartyStore } from "../../engine/custody/provider/durable-party-store.js";
import { sealedShares } from "../../engine/custody/provider/share-row.js";
import { loadKeyring } from "../../engine/custody/sealing/load-keyring.js";
import { startRotation } from "../../engine/custody/sealing/rotation.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { CUSTODY_ACTS } from "../../feeds/custody-acts.js";
import { readPartyConfig } from "../custody/party-config.js";
import { makeParties } from "../custody/party-setup.js";
import { type Cosigner, openCosigner } from "./cosigner.js";
import { cosignerPorts } from "./cosigner-admin.js";

const clock = createSystemClock();
const WALLET = Buffer.alloc(16, 7);
const PUBLIC_KEY = Buffer.alloc(33, 2);

let root: string;
let directory: string;
let running: Cosigner | null;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "unwind-cosigner-"));
  makeParties({ directory: root, backupKeys: { service: null, cosigner: null }, random: systemRandom });
  directory = join(root, "cosigner");
  writeFileSync(
    join(directory, "next"),
    Uint8Array.from({ length: 32 }, (_, index) => 200 + index),
    { mode: 0o600 },
  );
  running = null;
});
afterEach(async () => {
  await running?.stop();
  rmSync(root, { recursive: true, force: true });
});

async function open(changes: Readonly<Record<string, unknown>>): Promise<Cosigner> {
  const file = join(directory, "party.json");
  const members = JSON.parse(readFileSync(file, "utf8")) as object;
  const read = readPartyConfig(directory, "cosigner", () => JSON.stringify({ ...members, ...changes }));
  if (!read.ok) throw new Error(read.problems.join());
  const parts = { config: read.config, port: 0, acts: CUSTODY_ACTS, clock, logger: silentLogger };
  running = await openCosigner({ ...parts, onStoreFailure: () => {} });
  return running;
}

/** A share under the first key, and the commit that names the next one: then the process is gone. */
async function killedInRotation(): Promise<void> {
  const store = openLmdbStore({ directory: join(directory, "data"), clock });
  const source = { kind: "file", path: join(directory, "kek") } as const;
  const random = systemSecretRandom;
  const ring = await loadKeyring({ store, source, places: [sealedShares(1)], clock, random });
  const name = { walletId: WALLET, party: 1 as const, epoch: 1, publicKey: PUBLIC_KEY };
  const record = ring.seal(shareContext(name), Buffer.from("share"));
  const put = { epoch: 1, tag: Buffer.alloc(32, 9), publicKey: PUBLIC_KEY, record };
  await new DurablePartyStore(store).commit({ walletId: WALLET, row: newWalletRow(), put, erase: [], beside: [] });
  await startRotation({ store, ring, clock, random }, { kind: "file", path: join(directory, "next") });
  await store.close();
}

it("a rotation that was killed goes on at the next start, with the key before named beside", async () => {
  await killedInRotation();
  await expect(open({ kekFile: "next" })).rejects.toMatchObject({ code: "SEAL_KEY_REFUSED" });
  const cosigner = await open({ kekFile: "next", kekFormerFile: "kek" });
  expect(await cosigner.sealRotation.rotate(null)).toMatchObject({ isDone: true, leftRows: 0, foreignRows: 0 });
  await cosigner.stop();
  // Nothing is left under the key before.
  await open({ kekFile: "next" });
});

it("the status names the key that seals now, and where the service reaches it", async () => {
  const cosigner = await open({});
  const before = cosigner.kekId;
  const { kekId } = await cosigner.sealRotation.rotate(join(directory, "next"));
  expect(kekId).not.toBe(before);
  const url = `tls://127.0.0.1:${cosigner.port}`;
  expect(cosignerPorts(cosigner, clock.wallMs()).status()).toMatchObject({ kekId, url });
});
