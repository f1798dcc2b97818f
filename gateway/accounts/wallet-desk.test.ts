/** What outlives the process and what meets a store that fails; what goes over HTTP is in gateway/test/wallets.test.ts. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { NOT_ADOPTED, Owners } from "../../engine/domain/owner.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { RETENTION_MS } from "../../engine/orders/durable/idempotency.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import { storeUnavailable } from "../../engine/storage/state-store.js";
import { createMemoryStore, type MemoryStore } from "../../engine/storage/test/memory-store.js";
import { TestActs, TestWallets } from "../test/test-wallets.js";
import { KeyedRequests } from "./keyed-requests.js";
import { type WalletCall, WalletDesk } from "./wallet-desk.js";

const ALICE = "ow_alice";

interface Stand {
  readonly store: MemoryStore;
  readonly provider: TestWallets;
  readonly acts: TestActs;
  readonly clock: VirtualClock;
  /** As after a restart: nothing of the one before but what was durable. */
  open(adoptedBy?: string | null): WalletDesk;
}

function stand(): Stand {
  const acts = new TestActs();
  const [store, provider, clock] = [createMemoryStore(), new TestWallets(acts), new VirtualClock()];
  let boots = 0;
  return {
    store,
    provider,
    acts,
    clock,
    open(adoptedBy = null) {
      const owners = new Owners(adoptedBy === null ? NOT_ADOPTED : { adoptedBy: () => adoptedBy });
      const hash = createKeyedHash(Buffer.alloc(32, 7));
      const randomIds = { randomHex128: () => String(++boots).padStart(32, "0") };
      const appendAct = acts.append;
      const logger = silentLogger;
      const keyed = new KeyedRequests({ owners, store, hash, randomIds, clock, logger });
      return new WalletDesk({ provider, owners, keyed, logger, appendAct });
    },
  };
}

const call = (changes: Partial<WalletCall> = {}): WalletCall => ({
  ownerId: ALICE,
  keyId: "pk_alice",
  requestId: "r-1",
  idempotencyKey: "k",
  boundBytes: Buffer.from("POST /api/wallets\n{}"),
  ...changes,
});
const MESSAGE = { kind: "message", bytes: Buffer.from("m") } as const;
const never = new Promise<never>(() => {});

describe("a crash in the middle of a keyed creation", () => {
  it("before the wallet was made: the retry makes it", async () => {
    const { provider, acts, open } = stand();
    provider.gate = never;
    void open().create("u", call());
    await expect.poll(() => provider.creates).toEqual(["u"]);
    provider.gate = null;
    const answer = await open().create("u", call());
    expect(answer).toMatchObject({ replayed: true, value: { userId: "u" } });
    expect(provider.status().wallets).toBe(1);
    expect(acts.rows).toMatchObject([{ what: "wallet.create", outcome: "done" }]);
  });

  it("after the wallet was made: the retry answers that one, whose row is there already", async () => {
    const { provider, store, acts, open } = stand();
    let release = (): void => {};
    provider.gate = new Promise((resolve) => {
      release = resolve;
    });
    void open().create("u", call());
    await expect.poll(() => provider.creates).toEqual(["u"]);
    // The reply never becomes durable.
    store.gate = () => never;
    release();
    await expect.poll(() => provider.status().wallets).toBe(1);
    store.gate = async () => {};
    const wallet = provider.find("u", ALICE);
    const after = open();
    expect(await after.create("u", call())).toEqual({ value: wallet, replayed: true });
    expect(provider.creates).toEqual(["u"]);
    expect(acts.rows).toMatchObject([{ who: "pk_alice", subject: wallet?.walletId, outcome: "done" }]);
    // From now on it is the stored reply; another key is told that the wallet is there.
    expect(await after.create("u", call())).toEqual({ value: wallet, replayed: true });
    const other = after.create("u", call({ idempotencyKey: "other" }));
    await expect(other).rejects.toMatchObject({ code: "WALLET_EXISTS", context: { walletId: wallet?.walletId } });
  });
});

it("a crash in the middle of a keyed signature: the retry signs the same bytes, with a row", async () => {
  const { provider, acts, open } = stand();
  const wallet = await provider.create("u", ALICE);
  provider.gate = never;
  void open().sign(wallet, MESSAGE, call());
  await expect.poll(() => provider.signs.length).toBe(1);
  provider.gate = null;
  const desk = open();
  const answer = await desk.sign(wallet, MESSAGE, call());
  expect(answer.replayed).toBe(true);
  expect(await desk.sign(wallet, MESSAGE, call())).toEqual(answer);
  const signed = acts.rows.filter(({ what }) => what === "wallet.sign");
  expect([provider.signs.length, signed.length]).toEqual([2, 1]);
});

describe("a key", () => {
  it("answers again after a restart, for a day", async () => {
    const { provider, clock, open } = stand();
    const first = await open().create("u", call());
    expect(await open().create("u", call())).toEqual({ ...first, replayed: true });
    clock.advance(RETENTION_MS + 1);
    await expect(open().create("u", call())).rejects.toMatchObject({ code: "WALLET_EXISTS" });
    expect(provider.creates).toEqual(["u"]);
  });

  it("is its owner's", async () => {
    const { open, provider } = stand();
    const desk = open();
    await desk.create("u", call());
    const his = await desk.create("u", call({ ownerId: "ow_bob" }));
    expect([his.replayed, his.value.ownerId]).toEqual([false, "ow_bob"]);
    expect(provider.creates).toHaveLength(2);
  });

  it("that a refusal ended is free again, also for another body", async () => {
    const { provider, store, open } = stand();
    const desk = open();
    provider.refusal = new ServiceError("SIGNER_UNAVAILABLE");
    await expect(desk.create("u", call())).rejects.toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    expect(store.rowCount()).toBe(0);
    provider.refusal = null;
    const answer = await desk.create("v", call({ boundBytes: Buffer.from("other") }));
    expect(answer.replayed).toBe(false);
  });

  it("that cannot be made durable stops the request before a signer is asked", async () => {
    const { provider, store, open } = stand();
    const desk = open();
    store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(desk.create("u", call())).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(provider.creates).toEqual([]);
  });
});

describe("wallets that were made without a key", () => {
  it("are the owner's that adopted them: found, listed, and in the way of a second one", async () => {
    const { provider, open } = stand();
    const local = await provider.create("old", null);
    const own = await provider.create("new", ALICE);
    const desk = open(ALICE);
    expect(desk.find("old", ALICE)).toBe(local);
    expect(desk.find(local.address, "ow_bob")).toBeNull();
    const listed = desk.list(ALICE, null, 10).wallets.map(({ walletId }) => walletId);
    expect(listed).toEqual([local.walletId, own.walletId].sort());
    const page = desk.list(ALICE, null, 1);
    expect(page.next).toBe(listed[0]);
    expect(desk.list(ALICE, page.next, 1)).toMatchObject({ wallets: [{ walletId: listed[1] }], next: null });
    await expect(desk.create("old", call({ idempotencyKey: null }))).rejects.toMatchObject({ code: "WALLET_EXISTS" });
  });

  it("of a user id that the adopter has too are reached by their other names, and the user id is the adopter's", async () => {
    const { provider, open } = stand();
    const local = await provider.create("same", null);
    const own = await provider.create("same", ALICE);
    const desk = open(ALICE);
    expect(desk.find("same", ALICE)).toBe(own);
    for (const name of [local.walletId, local.address]) expect(desk.find(name, ALICE)).toBe(local);
    expect(desk.list(ALICE, null, 10).wallets).toHaveLength(2);
    for (const [ownerId, walletId] of [
      [ALICE, own.walletId],
      [null, local.walletId],
    ] as const)
      await expect(desk.create("same", call({ ownerId, idempotencyKey: null }))).rejects.toMatchObject({
        code: "WALLET_EXISTS",
        context: { walletId },
      });
    expect((await desk.sign(local, MESSAGE, call({ idempotencyKey: null }))).value).toMatchObject({
      digest: expect.any(String),
    });
  });

  it("are listed once by a provider that knows of the adoption itself", async () => {
    const { provider, open } = stand();
    const local = await provider.create("old", null);
    const own = await provider.create("new", ALICE);
    const ids = [local.walletId, own.walletId].sort();
    const exact = provider.list.bind(provider);
    // As the embedded provider does: the adopter reaches both.
    provider.list = (ownerId, after, limit) => {
      if (ownerId !== ALICE) return exact(ownerId, after, limit);
      const both = [...exact(ALICE, after, 10).wallets, ...exact(null, after, 10).wallets];
      const wallets = both.sort((a, b) => (a.walletId < b.walletId ? -1 : 1));
      return { wallets: wallets.slice(0, limit), next: wallets.length > limit ? (ids[limit - 1] ?? null) : null };
    };
    const desk = open(ALICE);
    expect(desk.list(ALICE, null, 10).wallets.map(({ walletId }) => walletId)).toEqual(ids);
    expect(desk.list(ALICE, null, 2)).toMatchObject({ next: null });
    const [first, second] = ids;
    expect(desk.list(ALICE, null, 1)).toMatchObject({ wallets: [{ walletId: first }], next: first });
    expect(desk.list(ALICE, first ?? null, 1)).toMatchObject({ wallets: [{ walletId: second }], next: null });
  });

  it("by a request that the adopter retries are answered again", async () => {
    const { provider, open } = stand();
    const { value: wallet } = await open().create("u", call({ ownerId: null, keyId: null }));
    expect(await open(ALICE).create("u", call())).toEqual({ value: wallet, replayed: true });
    expect(provider.creates).toEqual(["u"]);
  });
});

it("a wallet that the provider finds for somebody else goes no further", async () => {
  const { provider, open } = stand();
  const wallet = await provider.create("u", ALICE);
  provider.find = () => wallet;
  expect(open().find("u", "ow_bob")).toBeNull();
});

describe("what an outside signer has not decided", () => {
  const pending = new ServiceError("APPROVAL_PENDING", { signerRequestId: "s-1", isUnsettled: true });

  it("stays with its key, which is no other request's, and leaves a row that says so", async () => {
    const { provider, acts, open } = stand();
    const wallet = await provider.create("u", ALICE);
    acts.rows.length = 0;
    provider.refusal = pending;
    const desk = open();
    await expect(desk.sign(wallet, MESSAGE, call())).rejects.toMatchObject({ code: "APPROVAL_PENDING", status: 202 });
    const details = { kind: "message", code: "APPROVAL_PENDING", signerRequestId: "s-1" };
    expect(acts.rows).toMatchObject([{ what: "wallet.sign", outcome: "pending", details }]);
    const other = call({ boundBytes: Buffer.from("another body") });
    await expect(desk.sign(wallet, MESSAGE, other)).rejects.toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
    provider.refusal = null;
    expect((await open().sign(wallet, MESSAGE, call())).value.signature).toMatch(/^0x/);
    expect(acts.rows.map(({ outcome }) => outcome)).toEqual(["pending", "done"]);
  });

  it("of a creation becomes the wallet of the same request", async () => {
    const { provider, open } = stand();
    provider.refusal = pending;
    await expect(open().create("u", call())).rejects.toMatchObject({ code: "APPROVAL_PENDING" });
    provider.refusal = null;
    const { value } = await open().create("u", call());
    expect([value.userId, provider.status().wallets]).toEqual(["u", 1]);
  });
});
