/** The rows of a party: what a commit keeps and refuses, what a load refuses by name, and a rotation of the KEK beside. */
import { beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../../domain/errors.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { MAX_SCAN_ROWS, storeUnavailable } from "../../storage/state-store.js";
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
import {
  encodeEpochRow,
  EPOCH_NAMESPACE,
  openStoredShare,
  sealedShares,
  SHARE_NAMESPACE,
  shareKey,
  STATE_NAMESPACE,
  stateKey,
} from "./share-row.js";
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

  it("of many wallets are loaded over many pages, without a read of any share row", async () => {
    const count = MAX_SCAN_ROWS + 50;
    const row = encodeStateRow(activatedRow(newWalletRow(), false));
    for (let index = 0; index < count; index++) {
      const walletId = walletIdOf(index);
      const name = { epoch: 1, tag: Buffer.alloc(32, index), publicKey: Buffer.alloc(33, index) };
      await rows.put(STATE_NAMESPACE, stateKey(walletId), row);
      await rows.put(EPOCH_NAMESPACE, shareKey(walletId, 1), encodeEpochRow(name));
    }
    const scanned: string[] = [];
    const watched = new DurablePartyStore({
      ...rows,
      get: () => Promise.reject(new Error("a single row is read")),
      scan: (namespace, options) => {
        scanned.push(namespace);
        return rows.scan(namespace, options);
      },
    });
    const loaded = await watched.load();
    expect(loaded.length).toBe(count);
    expect(scanned).toEqual([...[EPOCH_NAMESPACE, EPOCH_NAMESPACE], ...[STATE_NAMESPACE, STATE_NAMESPACE]]);
    for (const { epochs } of loaded) for (const { tag } of epochs) expect(tag.buffer.byteLength).toBeLessThan(10_000);
  });

  it("lie where the page says: key of wallet and epoch, tag, key, sealed record; tag and key once more", async () => {
    const walletId = walletIdOf(0);
    await live(1);
    const share = storedShare(walletId, 1);
    const hex = walletId.toString("hex");
    expect(await rows.get("custody-share", `${hex}/0000000001`)).toEqual(
      Uint8Array.from(Buffer.concat([share.tag, share.publicKey, share.record])),
    );
    expect(await rows.get("custody-epoch", `${hex}/0000000001`)).toEqual(
      Uint8Array.from(Buffer.concat([share.tag, share.publicKey])),
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
    ...[SHARE_NAMESPACE, EPOCH_NAMESPACE, STATE_NAMESPACE].map(
      (namespace) =>
        [
          `with a row of ${namespace} beside`,
          { ...none, row: active, beside: [{ namespace, key: "k", value: null }] },
          "row of a party",
        ] as const,
    ),
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
  const first = shareKey(walletId, 1);
  const second = shareKey(walletId, 2);
  const cases: readonly (readonly [string, string, string, Uint8Array | null])[] = [
    ["a state row of another length", STATE_NAMESPACE, hex, Buffer.alloc(63)],
    ["a state row that contradicts itself", STATE_NAMESPACE, hex, Buffer.alloc(64, 1)],
    ["a state row of no wallet", STATE_NAMESPACE, "wallet", encodeStateRow(activatedRow(newWalletRow(), false))],
    ["a state row that is missing", STATE_NAMESPACE, hex, null],
    ["an epoch row that is missing", EPOCH_NAMESPACE, first, null],
    ["an epoch row that is too short", EPOCH_NAMESPACE, first, Buffer.alloc(64)],
    ["an epoch row that is too long", EPOCH_NAMESPACE, first, Buffer.alloc(66)],
    ["an epoch row of no epoch", EPOCH_NAMESPACE, `${hex}/0000000000`, Buffer.alloc(65)],
    ["an epoch row of a short key", EPOCH_NAMESPACE, `${hex}/2`, Buffer.alloc(65)],
    ["an epoch row of an epoch that nothing names", EPOCH_NAMESPACE, shareKey(walletId, 3), Buffer.alloc(65)],
    ["an epoch row of another key", EPOCH_NAMESPACE, second, Buffer.alloc(65, 3)],
  ];
  it.each(cases)("%s", async (_, namespace, key, value) => {
    // Two epochs, whose keys are compared.
    await live(4);
    if (value === null) await rows.remove(namespace, key);
    else await rows.put(namespace, key, value);
    expect(await refused(store.load())).toBe(`STORE_UNAVAILABLE ${namespace}/${key}`);
  });
});

describe("a share row and an epoch row that do not belong together are refused by name", () => {
  const walletId = walletIdOf(0);
  const key = shareKey(walletId, 1);
  const { tag, publicKey } = storedShare(walletId, 1);
  const cases: readonly (readonly [string, string, Uint8Array | null, string])[] = [
    ["where the share row is missing", SHARE_NAMESPACE, null, SHARE_NAMESPACE],
    ["where the epoch row is missing", EPOCH_NAMESPACE, null, EPOCH_NAMESPACE],
    ["where the share row has no record", SHARE_NAMESPACE, Buffer.alloc(65), SHARE_NAMESPACE],
    ["where the epoch row has another length", EPOCH_NAMESPACE, Buffer.alloc(66), EPOCH_NAMESPACE],
    [
      "where the tag differs",
      EPOCH_NAMESPACE,
      encodeEpochRow({ epoch: 1, tag: Buffer.alloc(32), publicKey }),
      SHARE_NAMESPACE,
    ],
    [
      "where the key differs",
      EPOCH_NAMESPACE,
      encodeEpochRow({ epoch: 1, tag, publicKey: Buffer.alloc(33) }),
      SHARE_NAMESPACE,
    ],
  ];
  it.each(cases)("%s: the share is not handed out, and the wallet does not go", async (_, namespace, value, named) => {
    await live(2);
    if (value === null) await rows.remove(namespace, key);
    else await rows.put(namespace, key, value);
    const before = rows.rowCount();
    expect(await refused(store.share(walletId, 1))).toBe(`STORE_UNAVAILABLE ${named}/${key}`);
    const gone = { walletId, row: null, put: null, erase: [], beside: [] };
    expect(await refused(store.commit(gone))).toBe(`STORE_UNAVAILABLE ${named}/${key}`);
    expect(rows.rowCount()).toBe(before);
  });

  it.each([
    [SHARE_NAMESPACE, EPOCH_NAMESPACE],
    [EPOCH_NAMESPACE, SHARE_NAMESPACE],
  ])("where a row of %s is in the way of a new epoch: nothing is written", async (namespace, missing) => {
    await live(3);
    const [next] = [...take(lifeOf(walletId, 0), 4)].slice(-1);
    if (next?.put?.epoch !== 2) throw new Error("no commit that puts epoch 2");
    const stray = shareKey(walletId, 2);
    await rows.put(namespace, stray, Buffer.alloc(namespace === EPOCH_NAMESPACE ? 65 : 3_065));
    const before = rows.rowCount();
    expect(await refused(store.commit(next))).toBe(`STORE_UNAVAILABLE ${missing}/${stray}`);
    expect(rows.rowCount()).toBe(before);
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
    await rows.put(EPOCH_NAMESPACE, shareKey(walletId, epoch), encodeEpochRow(stored));
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
      if (writes[0]?.namespace !== SHARE_NAMESPACE) return;
      for (const namespace of [SHARE_NAMESPACE, EPOCH_NAMESPACE]) await rows.remove(namespace, shareKey(WALLET_ID, 7));
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
