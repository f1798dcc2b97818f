/** The commits of a wallet's life, for tests of the store of a party: creation, refreshes, one that is dropped. */
import { activatedRow, newWalletRow, preparedRow, type StateRow, testedRow } from "../../mpc/state/state-row.js";
import { sessionBegun, sessionExplained } from "../../mpc/state/abort-count.js";
import { seededBytes } from "../../mpc/test/seeded-random.js";
import type { PartyCommit, StoredShare } from "../party-store.js";

export const BESIDE_NAMESPACE = "beside";

export function walletIdOf(index: number): Buffer {
  return seededBytes("party-rows", `wallet/${index}`, 16);
}

export function storedShare(walletId: Buffer, epoch: number, attempt = 0): StoredShare {
  const bytes = (label: string, byteLength: number) =>
    seededBytes("party-rows", `${walletId.toString("hex")}/${label}`, byteLength);
  return {
    ...{ epoch, tag: bytes(`tag/${epoch}/${attempt}`, 32), publicKey: bytes("P", 33) },
    record: bytes(`record/${epoch}/${attempt}`, 3_000),
  };
}

/** Each commit writes its number and the ctr beside, in the same batch. */
export function* lifeOf(walletId: Buffer, self: 0 | 1): Generator<PartyCommit> {
  let count = 0;
  const commit = (row: StateRow, put: StoredShare | null = null, erase: readonly number[] = []): PartyCommit => {
    const value = Buffer.from(`${++count} ${row.ctr} ${row.activeEpoch}`);
    const beside = [{ namespace: BESIDE_NAMESPACE, key: walletId.toString("hex"), value }];
    return { walletId, row, put, erase, beside };
  };
  let row = newWalletRow();
  yield commit(row, storedShare(walletId, 1));
  row = activatedRow(testedRow(row), false);
  yield commit(row);
  for (let attempt = 1; ; attempt++) {
    row = sessionBegun(sessionExplained(row, row.activeEpoch, false), row.ctr + 1n, false);
    yield commit(row);
    const prepared = preparedRow(row, 0, row.ctr);
    const share = storedShare(walletId, prepared.preparedEpoch, attempt);
    yield commit(prepared, share);
    if (attempt % 2 === 0) {
      yield commit(row, null, [share.epoch]);
      continue;
    }
    row = activatedRow(testedRow(prepared), self === 0);
    yield commit(row, null, self === 0 ? [] : [row.activeEpoch - 1]);
    if (self === 1) continue;
    row = { ...row, keptEpoch: 0 };
    yield commit(row, null, [row.activeEpoch - 1]);
  }
}
