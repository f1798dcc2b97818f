/** The rows of a party: what a commit keeps and refuses, what a load refuses by name, and a rotation of the KEK beside. */
import { beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../domain/errors.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { createMemoryStore, type MemoryStore } from "../../storage/test/memory-store.js";
import { failureOf } from "../mpc/base/outcome.js";
import { encodeShareRecord, shareContext } from "../mpc/state/share-record.js";
import { activatedRow, encodeStateRow, newWalletRow, preparedRow } from "../mpc/state/state-row.js";
import type { Keyring } from "../sealing/keyring.js";
import { loadKeyring } from "../sealing/load-keyring.js";
import { recordKekId } from "../sealing/record.js";
import { finishRotation, startRotation } from "../sealing/rotation.js";
import { FAST_SCRYPT, seededRandom } from "../sealing/test/sealing-doubles.js";
import { KEYS } from "../sealing/test/sealed-things.js";
import { BESIDE_MAX, DurablePartyStore } from "./durable-party-store.js";
import type { PartyCommit, StoredShare } from "./party-store.js";
import { openStoredShare, sealedShares, SHARE_NAMESPACE, shareKey, STATE_NAMESPACE, stateKey } from "./share-row.js";
import { shareParts, WALLET_ID } from "./test/backups.js";
import { BESIDE_NAMESPACE, lifeOf, storedShare, walletIdOf } from "./test/party-rows.js";

let rows: MemoryStore;
let store: DurablePartyStore;

beforeEach(() => {
  rows = createMemoryStore();
  store = new DurablePartyStore(rows);
});

/** The text of what a promise rejects with; throws where it does not. */
async function refused(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new Error("nothing was refused");
  return `${error.code} ${String(error.context["row"] ?? error.context["problem"])}`;
}

async function live(count: number, self: 0 | 1 = 0, walletId = walletIdOf(0)): Promise<PartyCommit | null> {
  let last: PartyCommit | null = null;
  for (const commit of lifeOf(walletId, self)) {
    if (count-- === 0) break;
    await store.commit(commit);
    last = commit;
  }
  return last;
}

describe("the rows of a party", () => {
  it("are after a restart what the commits made them, for both parties", async () => {
    for (const self of [0, 1] as const) {
      const last = await live(25, self, walletIdOf(self));
      const [party] = (await new DurablePartyStore(rows).load()).filter(({ walletId }) =>
        walletIdOf(self).equals(walletId),
      );
      expect(party?.row).toEqual(last?.row);
      for (const name of party?.epochs ?? []) {
        const share = await store.share(walletIdOf(self), name.epoch);
        expect([share?.tag, share?.publicKey]).toEqual([name.tag, name.publicKey]);
      }
    }
  });

  it("of many wallets are loaded over many pages, without their records", async () => {
    for (let index = 0; index < 150; index++) await live(1 + (index % 9), 0, walletIdOf(index));
    const loaded = await store.load();
    expect(loaded.length).toBe(150);
    expect(loaded.every(({ epochs }) => epochs.every((name) => !("record" in name)))).toBe(true);
    for (const { epochs } of loaded) for (const { tag } of epochs) expect(tag.buffer.byteLength).toBeLessThan(10_000);
  });

  it("lie where the page says: key of wallet and epoch, tag, key, sealed record", async () => {
    const walletId = walletIdOf(0);
    await live(1);
    const share = storedShare(walletId, 1);
    const hex = walletId.toString("hex");
    expect(await rows.get("custody-share", `${hex}/0000000001`)).toEqual(
      Uint8Array.from(Buffer.concat([share.tag, share.publicKey, share.record])),
    );
    expect(await rows.get("custody-state", hex)).toEqual(Uint8Array.from(encodeStateRow(newWalletRow())));
  });

  it("go together, those beside included, when the wallet goes", async () => {
    await live(1);
    const walletId = walletIdOf(0);
    const beside = [{ namespace: BESIDE_NAMESPACE, key: walletId.toString("hex"), value: null }];
    await store.commit({ walletId, row: null, put: null, erase: [1], beside });
    expect(rows.rowCount()).toBe(0);
    expect([await store.share(walletId, 1), await store.load()]).toEqual([null, []]);
    await store.commit({ walletId, row: null, put: null, erase: [], beside: [] });
  });

  it("stay as they were where the store fails, and the commit can be made again", async () => {
    await live(5);
    const before = await store.load();
    const [next] = [...take(lifeOf(walletIdOf(0), 0), 6)].slice(-1);
    if (next === undefined) throw new Error("no commit");
    rows.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(store.commit(next)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    rows.gate = () => Promise.resolve();
    expect(await store.load()).toEqual(before);
    await store.commit(next);
    expect((await store.load())[0]?.row).toEqual(next.row);
  });

  it("take one of two commits of a wallet that run at once, whole", async () => {
    await live(2);
    const [third, fourth] = [...take(lifeOf(walletIdOf(0), 0), 4)].slice(-2);
    if (third === undefined || fourth === undefined) throw new Error("no commits");
    const results = await Promise.allSettled([store.commit(third), store.commit({ ...fourth })]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect((await store.load()).length).toBe(1);
  });
});

describe("a commit is refused, with nothing written,", () => {
  const walletId = walletIdOf(0);
  const active = activatedRow(newWalletRow(), false);
  const none = { walletId, put: null, erase: [], beside: [] };
  const share = (epoch: number): StoredShare => storedShare(walletId, epoch, 99);
  const cases: readonly (readonly [string, PartyCommit, string])[] = [
    ["with a lower ctr", { ...none, row: { ...active, ctr: 0n } }, "ctr only grows"],
    ["with an epoch that has no share", { ...none, row: preparedRow({ ...active, ctr: 9n }, 0, 9n) }, "other epochs"],
    ["with a share that no epoch names", { ...none, row: { ...active, ctr: 9n }, put: share(2) }, "other epochs"],
    ["that erases the active epoch", { ...none, row: { ...active, ctr: 9n }, erase: [1] }, "other epochs"],
    ["over a share that is there", { ...none, row: { ...active, ctr: 9n }, put: share(1) }, "changed under a commit"],
    ["of an epoch put and erased", { ...none, row: active, put: share(2), erase: [2] }, "put and erased"],
    ["of a wallet that goes with a share", { ...none, row: null, put: share(2) }, "wallet that goes"],
    ["with too many rows beside", { ...none, row: active, beside: many(BESIDE_MAX + 1) }, "size of a commit"],
    ["with too many epochs", { ...none, row: active, erase: [4, 5, 6, 7] }, "size of a commit"],
    [
      "with a row of a party beside",
      { ...none, row: active, beside: [{ namespace: SHARE_NAMESPACE, key: "k", value: null }] },
      "row of a party",
    ],
  ];
  it.each(cases)("%s", async (_, commit, problem) => {
    await live(3);
    const before = [await store.load(), rows.rowCount(), rows.writtenText.length];
    expect(await refused(store.commit(commit))).toContain(problem);
    expect([await store.load(), rows.rowCount(), rows.writtenText.length]).toEqual(before);
  });

  it("that goes back to an older epoch", async () => {
    await live(6);
    const older = { ...none, row: { ...active, ctr: 99n }, put: share(1), erase: [2] };
    expect(await refused(store.commit(older))).toContain("active epoch only grows");
  });
});

describe("a load refuses by name", () => {
  const walletId = walletIdOf(0);
  const hex = stateKey(walletId);
  const share = shareKey(walletId, 1);
  const cases: readonly (readonly [string, string, string, Uint8Array | null])[] = [
    ["a state row of another length", STATE_NAMESPACE, hex, Buffer.alloc(63)],
    ["a state row that contradicts itself", STATE_NAMESPACE, hex, Buffer.alloc(64, 1)],
    ["a state row of no wallet", STATE_NAMESPACE, "wallet", encodeStateRow(activatedRow(newWalletRow(), false))],
    ["a state row that is missing", STATE_NAMESPACE, hex, null],
    ["a share row that is missing", SHARE_NAMESPACE, share, null],
    ["a share row without a record", SHARE_NAMESPACE, share, Buffer.alloc(65)],
    ["a share row of no epoch", SHARE_NAMESPACE, `${hex}/0000000000`, Buffer.alloc(70)],
    ["a share row of a short key", SHARE_NAMESPACE, `${hex}/2`, Buffer.alloc(70)],
    ["a share row of an epoch that nothing names", SHARE_NAMESPACE, shareKey(walletId, 2), Buffer.alloc(70)],
    ["a share row of another key", SHARE_NAMESPACE, share, Buffer.alloc(3_065, 3)],
  ];
  it.each(cases)("%s", async (name, namespace, key, value) => {
    // Two epochs where the keys of two are compared.
    await live(name.endsWith("another key") ? 4 : 2);
    if (value === null) await rows.remove(namespace, key);
    else await rows.put(namespace, key, value);
    const found = await refused(store.load());
    expect(found).toBe(`STORE_UNAVAILABLE ${namespace}/${name.endsWith("another key") ? shareKey(walletId, 2) : key}`);
  });
});

describe("share rows are sealed in place", () => {
  const clock = new VirtualClock();
  const random = seededRandom(5);
  const setup = (source: (typeof KEYS)["first"] | (typeof KEYS)["second"], places = [sealedShares(0)]) => ({
    ...{ store: rows, source, places, clock, random, scrypt: FAST_SCRYPT },
  });

  async function put(ring: Keyring, walletId: Buffer, party: 0 | 1, epoch: number): Promise<StoredShare> {
    const parts = shareParts(party, { walletId, epoch, tag: storedShare(walletId, epoch).tag });
    const plain = encodeShareRecord(parts);
    const record = ring.seal(shareContext(parts), plain);
    plain.fill(0);
    const stored = { epoch, tag: Buffer.from(parts.tag), publicKey: Buffer.from(parts.publicKey), record };
    await rows.put(SHARE_NAMESPACE, shareKey(walletId, epoch), Buffer.concat([stored.tag, stored.publicKey, record]));
    return stored;
  }

  it("so a row of another wallet, party, epoch, key or tag does not open: a fault", async () => {
    const ring = await loadKeyring(setup(KEYS.first));
    const other = walletIdOf(1);
    const stored = await put(ring, WALLET_ID, 0, 7);
    const share = openStoredShare(ring, WALLET_ID, 0, stored);
    expect([share.epoch, share.tag]).toEqual([7, stored.tag]);
    const swaps: readonly (readonly [Buffer, 0 | 1, StoredShare])[] = [
      [other, 0, stored],
      [WALLET_ID, 1, stored],
      [WALLET_ID, 0, { ...stored, epoch: 8 }],
      [WALLET_ID, 0, { ...stored, tag: Buffer.alloc(32, 1) }],
      [WALLET_ID, 0, { ...stored, publicKey: storedShare(other, 7).publicKey }],
      [WALLET_ID, 0, { ...stored, record: (await put(ring, WALLET_ID, 1, 7)).record }],
      [WALLET_ID, 0, { ...stored, record: (await put(ring, WALLET_ID, 0, 8)).record }],
      [WALLET_ID, 0, { ...stored, record: (await put(ring, other, 0, 7)).record }],
    ];
    for (const [walletId, party, row] of swaps) {
      const thrown = caught(() => openStoredShare(ring, walletId, party, row));
      expect(failureOf(thrown).kind).toBe("fault");
    }
  });

  it("and a rotation of the KEK rewraps them, tells who keeps one, and leaves tag and key as they are", async () => {
    const told: string[] = [];
    const place = sealedShares(0, ({ walletId, epoch }) => told.push(shareKey(walletId, epoch)));
    const ring = await loadKeyring(setup(KEYS.first));
    const former = ring.kekId;
    const stored = await put(ring, WALLET_ID, 0, 7);
    await startRotation({ ...setup(KEYS.second), ring }, KEYS.second);
    let isDone = false;
    const finishing = finishRotation({ store: rows, ring, places: [place], clock }).finally(() => {
      isDone = true;
    });
    while (!isDone) await clock.advanceAsync(1_000);
    expect(await finishing).toMatchObject({ isDone: true, rewrappedRows: 1, leftRows: 0 });
    const rewrapped = await store.share(WALLET_ID, 7);
    if (rewrapped === null) throw new Error("no share");
    expect(told).toEqual([shareKey(WALLET_ID, 7)]);
    expect([recordKekId(stored.record), recordKekId(rewrapped.record)]).toEqual([former, ring.kekId]);
    expect([rewrapped.tag, rewrapped.publicKey]).toEqual([stored.tag, stored.publicKey]);
    expect(openStoredShare(ring, WALLET_ID, 0, rewrapped).share).toBe(shareParts(0).share);
  });

  it("and a share that is erased while it is rewrapped stays away", async () => {
    const ring = await loadKeyring(setup(KEYS.first));
    await put(ring, WALLET_ID, 0, 7);
    await startRotation({ ...setup(KEYS.second), ring }, KEYS.second);
    rows.gate = async ({ writes }) => {
      rows.gate = () => Promise.resolve();
      if (writes[0]?.namespace === SHARE_NAMESPACE) await rows.remove(SHARE_NAMESPACE, shareKey(WALLET_ID, 7));
    };
    let isDone = false;
    const finishing = finishRotation({ store: rows, ring, places: [sealedShares(0)], clock }).finally(() => {
      isDone = true;
    });
    while (!isDone) await clock.advanceAsync(1_000);
    expect(await finishing).toMatchObject({ isDone: true, rewrappedRows: 0, leftRows: 0 });
    expect(await store.share(WALLET_ID, 7)).toBeNull();
  });
});

function* take<Item>(items: Iterable<Item>, count: number): Generator<Item> {
  for (const item of items) {
    if (count-- === 0) return;
    yield item;
  }
}

function many(count: number): PartyCommit["beside"] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ namespace: BESIDE_NAMESPACE, key: String(index), value: null },
  }));
}

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
