/**
 * Rows of the service's store in each other's places, as whoever can write to its file may put them: the wallets they
 * belong to sign nothing (500), all others do, nothing freezes, and what is put back signs again.
 */
import { expect, it } from "vitest";
import { SHARE_NAMESPACE, shareKey } from "../../../engine/custody/provider/share-row.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import {
  type CustodyBench,
  type CustodyPlace,
  madeWallet,
  onceServed,
  outcomeOf,
  type WalletCaller,
  type WalletFields,
  walletIn,
} from "../support/custody-bench.js";
import { benchOfFile, MESSAGE, signerOf } from "../support/custody-file.js";

/** Tag and public key, which name the epoch; the sealed record is behind them. */
const NAME_BYTES = 32 + 33;

let bench: CustodyBench;
benchOfFile(19, (made) => {
  bench = made;
});

const keyOf = ({ walletId }: WalletFields) => shareKey(Buffer.from(walletId.replaceAll("-", ""), "hex"), 1);

/** Of a service that does not run. `change` gets the share rows of both and returns what is to stand in their places. */
async function exchange(
  place: CustodyPlace,
  wallets: readonly [WalletFields, WalletFields],
  change: (one: Buffer, other: Buffer) => readonly [Buffer, Buffer],
): Promise<readonly [Buffer, Buffer]> {
  const store = openLmdbStore({ directory: place.dataDir, clock: createSystemClock() });
  const [first, second] = [keyOf(wallets[0]), keyOf(wallets[1])];
  const rowOf = async (key: string) => Buffer.from((await store.get(SHARE_NAMESPACE, key)) ?? new Uint8Array());
  const before = [await rowOf(first), await rowOf(second)] as const;
  const [one, other] = change(...before);
  await store.put(SHARE_NAMESPACE, first, one);
  await store.put(SHARE_NAMESPACE, second, other);
  await store.close();
  return before;
}

const sealedOf = (name: Buffer, record: Buffer) =>
  Buffer.concat([name.subarray(0, NAME_BYTES), record.subarray(NAME_BYTES)]);
const signedBy = (caller: WalletCaller, { walletId }: WalletFields) =>
  onceServed(() => caller.sign(walletId, { message: MESSAGE }));

it("share rows of two wallets that are swapped sign nothing, freeze nothing, and sign again once they are put back", async () => {
  const place = bench.place("swapped");
  const first = await bench.start(place);
  const key = await bench.createKey(place);
  const made: WalletFields[] = [];
  for (const user of ["ada", "bea", "cleo", "dora", "eve"]) made.push(await madeWallet(bench.caller(first, key), user));
  const [ada, bea, cleo, dora, eve] = made as [WalletFields, WalletFields, WalletFields, WalletFields, WalletFields];
  await bench.stop(first, "SIGTERM");
  // The whole rows, and the sealed records alone under the names that they should have.
  const rows = await exchange(place, [ada, bea], (one, other) => [other, one]);
  const records = await exchange(place, [cleo, dora], (one, other) => [sealedOf(one, other), sealedOf(other, one)]);
  expect([...rows, ...records].every((row) => row.length > NAME_BYTES)).toBe(true);

  const swapped = await bench.start(place);
  const caller = bench.caller(swapped, key);
  for (const wallet of [ada, bea, cleo, dora]) {
    expect(outcomeOf(await signedBy(caller, wallet)), wallet.userId).toEqual([500, "FAILED_TO_SIGN"]);
    expect(walletIn(await caller.find(wallet.walletId)).state).toBe("ACTIVE");
  }
  expect(await signerOf(await signedBy(caller, eve))).toBe(eve.address);
  await bench.stop(swapped, "SIGTERM");
  await exchange(place, [ada, bea], () => rows);
  await exchange(place, [cleo, dora], () => records);
  const mended = bench.caller(await bench.start(place), key);
  for (const wallet of made) expect(await signerOf(await signedBy(mended, wallet))).toBe(wallet.address);
});
