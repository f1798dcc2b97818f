/** A co-signer that ended inside a rotation of its key-encryption key starts again with both files, and ends it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { seededBytes } from "../../engine/custody/mpc/test/seeded-random.js";
import { shareContext } from "../../engine/custody/mpc/state/share-record.js";
import { DurablePartyStore } from "../../engine/custody/provider/durable-party-store.js";
import { restoredRow } from "../../engine/custody/provider/restore-plan.js";
import { sealedShares } from "../../engine/custody/provider/share-row.js";
import { openShare } from "../../engine/custody/provider/test/backups.js";
import { startRotation } from "../../engine/custody/sealing/rotation.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { CUSTODY_ACTS } from "../../feeds/custody-acts.js";
import { openKeyring } from "../admin/seals.js";
import { readPartyConfig } from "../custody/party-config.js";
import { makeParties } from "../custody/party-setup.js";
import { type Cosigner, openCosigner } from "./cosigner.js";

const clock = createSystemClock();
const root = mkdtempSync(join(tmpdir(), "unwind-cosigner-rotation-"));
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** As a process that is killed right after the rotation began. */
async function beginRotation(folder: string, next: string): Promise<void> {
  const store = openLmdbStore({ directory: join(folder, "data"), clock });
  const kek = { kind: "file", path: join(folder, "kek") } as const;
  const ring = await openKeyring({ store, kek, formerKek: null, places: [sealedShares(1)], clock });
  if (ring === null) throw new Error("no key");
  const share = openShare(1);
  const { walletId, epoch, publicKey, tag } = share;
  const record = share.sealedBy(ring, shareContext({ walletId, party: 1, epoch, publicKey }));
  const [row, put] = [restoredRow(epoch, 0n, null), { epoch, tag, publicKey, record }];
  await new DurablePartyStore(store).commit({ walletId, row, put, erase: [], beside: [] });
  await startRotation({ store, ring, clock, random: systemSecretRandom }, { kind: "file", path: next });
  ring.close();
  await store.close();
}

function opened(folder: string, kekFile: string, kekFormerFile?: string): Promise<Cosigner> {
  const path = join(folder, "party.json");
  const members = { ...(JSON.parse(readFileSync(path, "utf8")) as object), kekFile, kekFormerFile };
  const read = readPartyConfig(folder, "cosigner", () => JSON.stringify(members));
  if (!read.ok) throw new Error(read.problems.join());
  const parts = { config: read.config, port: 0, acts: CUSTODY_ACTS, clock, logger: silentLogger };
  return openCosigner({ ...parts, onStoreFailure() {} });
}

it("needs the former key's file until the rotation is done, and no longer", async () => {
  makeParties({ directory: root, backupKeys: { service: null, cosigner: null }, random: systemRandom });
  const folder = join(root, "cosigner");
  writeFileSync(join(folder, "kek.next"), seededBytes("rotation", "kek", 32), { mode: 0o600 });
  await beginRotation(folder, join(folder, "kek.next"));

  await expect(opened(folder, "kek")).rejects.toMatchObject({ code: "SEAL_KEY_REFUSED" });
  await expect(opened(folder, "kek.next")).rejects.toMatchObject({ code: "SEAL_KEY_REFUSED" });
  const both = await opened(folder, "kek.next", "kek");
  expect(await both.sealRotation.rotate(null)).toMatchObject({ isDone: true, kekId: both.kekId });
  await both.stop();
  const after = await opened(folder, "kek.next");
  expect(after.kekId).toBe(both.kekId);
  expect(after.wallets()).toMatchObject([{ epoch: 7, status: "restored" }]);
  await after.stop();
});
