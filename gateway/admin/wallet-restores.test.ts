/** The key of a restore: good for one restore of one wallet within ten minutes, whatever is sent to it. */
import { describe, expect, it } from "vitest";
import { openBackupFile, resealBackup, sealBackupFile } from "../../engine/custody/provider/backup-file.js";
import { parseBackupPublicKey } from "../../engine/custody/provider/backup-key.js";
import { walletIdText } from "../../engine/custody/provider/wallet-names.js";
import {
  CTR,
  openShare,
  OWNER,
  PRIVATE_KEY,
  PUBLIC_KEY,
  TAG,
  WALLET_ID,
} from "../../engine/custody/provider/test/backups.js";
import { plainSealer } from "../../engine/custody/provider/test/plain-sealer.js";
import { seededRandom } from "../../engine/custody/mpc/test/seeded-random.js";
import type { RestoredParty } from "../../engine/custody/provider/restore.js";
import type { WalletInventory } from "../../engine/custody/provider/restore-plan.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { WalletRestores } from "./wallet-restores.js";

const ID = walletIdText(WALLET_ID);
const BACKUPS = [{ epoch: 7, tag: TAG.subarray(0, 8) }];
const PEER: WalletInventory = {
  ...{ walletId: WALLET_ID.toString("hex"), active: null, prepared: null, ctr: "0" },
  epochs: [{ epoch: 7, tag: TAG.toString("hex") }],
};

function make(fails: ServiceError | null = null) {
  const clock = new VirtualClock();
  const restored: RestoredParty[] = [];
  const owners: unknown[] = [];
  let drawn = 0;
  const restores = new WalletRestores({
    ...{ party: 0, sealer: plainSealer, clock, stored: () => null },
    random: { fill: (label, target) => seededRandom(`key ${drawn++}`).fill(label, target) },
    restore: async (wallet, owner) => {
      if (fails !== null) throw fails;
      restored.push(wallet);
      owners.push(owner);
    },
  });
  return { clock, restores, restored, owners };
}

/** The operator's half. */
function resealedTo(publicKey: string): Buffer {
  const random = seededRandom("operator");
  const file = sealBackupFile({ share: openShare(0), ctr: CTR, owner: OWNER, key: PUBLIC_KEY, random });
  const opened = openBackupFile({ walletId: WALLET_ID, party: 0, epoch: 7, tag: TAG }, file, PRIVATE_KEY);
  const target = parseBackupPublicKey(publicKey);
  if (!opened.ok || !target.ok) throw new Error("backup");
  return resealBackup(opened.backup, target.key, random);
}

function begun({ restores }: ReturnType<typeof make>): string {
  const offer = restores.begin(ID, BACKUPS, PEER);
  if (offer.kind !== "restore") throw new Error(offer.kind);
  return offer.publicKey;
}

const GONE = { code: "RESTORE_REFUSED", details: { reason: "KEY_GONE" } };

describe("the key of a restore", () => {
  it("opens what is sealed to it, once", async () => {
    const world = make();
    const file = resealedTo(begun(world));
    expect(await world.restores.end(ID, file)).toEqual({ walletId: ID, epoch: 7, state: "RESTORED" });
    expect(world.restored[0]).toMatchObject({ row: { status: "restored", activeEpoch: 7, ctr: CTR } });
    expect(world.owners).toEqual([OWNER]);
    await expect(world.restores.end(ID, file)).rejects.toMatchObject(GONE);
    expect(world.restored.length).toBe(1);
  });

  it("is gone after ten minutes, after another begin, after a wrong file and after the stop", async () => {
    const late = make();
    const file = resealedTo(begun(late));
    late.clock.advance(599_999);
    late.clock.advance(1);
    await expect(late.restores.end(ID, file)).rejects.toMatchObject(GONE);

    const twice = make();
    const first = resealedTo(begun(twice));
    const second = resealedTo(begun(twice));
    await expect(twice.restores.end(ID, first)).rejects.toMatchObject({ details: { reason: "KEY" } });
    await expect(twice.restores.end(ID, second)).rejects.toMatchObject(GONE);

    const stopped = make();
    const third = resealedTo(begun(stopped));
    stopped.restores.close();
    await expect(stopped.restores.end(ID, third)).rejects.toMatchObject(GONE);
    for (const { restored } of [late, twice, stopped]) expect(restored).toEqual([]);
  });

  it("is given for no more than sixteen wallets at once, and again once one has ended", () => {
    const { restores } = make();
    const begin = (at: number) => {
      const walletId = Buffer.concat([WALLET_ID.subarray(0, 15), Buffer.of(at)]);
      return restores.begin(walletIdText(walletId), BACKUPS, { ...PEER, walletId: walletId.toString("hex") });
    };
    for (let at = 0; at < 16; at++) expect(begin(at).kind).toBe("restore");
    expect(() => begin(16)).toThrow(expect.objectContaining({ details: { reason: "TOO_MANY" } }));
    expect(begin(3).kind).toBe("restore");
    restores.close();
    expect(begin(16).kind).toBe("restore");
  });

  it("is not given where the plan refuses, which is said in words", () => {
    const { restores } = make();
    const other = { ...PEER, walletId: "00".repeat(16) };
    expect(() => restores.begin(ID, BACKUPS, other)).toThrow("the inventory of the other side is of another wallet");
    expect(() => restores.begin(ID, [], PEER)).toThrow("no epoch is known to both sides");
  });

  it("that meets a session is refused in words, and a store that fails keeps its code", async () => {
    const busy = make(new ServiceError("INVALID_PARAMETERS", { problem: "a session is under way" }));
    await expect(busy.restores.end(ID, resealedTo(begun(busy)))).rejects.toMatchObject({
      ...{ code: "RESTORE_REFUSED", message: "Nothing was restored: a session is under way" },
    });
    const full = make(new ServiceError("STORE_UNAVAILABLE", { reason: "COMMIT_FAILED" }));
    await expect(full.restores.end(ID, resealedTo(begun(full)))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});
