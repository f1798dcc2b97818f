/** The provider of outside wallets with a signer that decides, refuses, lies and stays silent; deaths are in test/kills.test.ts. */
import { hashMessage } from "viem";
import { describe, expect, it } from "vitest";
import { SIGNATURE_LIES } from "../../../bench/sim/signer/signer-keys.js";
import { type SignerRefusal, WALLET_LIES } from "../../../bench/sim/signer/signer-model.js";
import { Owners } from "../../domain/owner.js";
import type { Wallet, WalletSignature } from "../provider/wallet-provider.js";
import { ENDED_KEPT_MS, OPEN_KEPT_MS } from "./outside-provider.js";
import { OPEN_OF_WALLET_MAX } from "./outside-signatures.js";
import { OUTSIDE_REQUESTS } from "./request-row.js";
import { type Life, OutsideWorld, OWNER } from "./test/outside-world.js";
import { OUTSIDE_WALLETS } from "./wallet-row.js";

const TEXT = "sign in";
const message = (text: string) => ({ kind: "message", bytes: Buffer.from(text) }) as const;

async function withWallet(userId = "ann"): Promise<{ world: OutsideWorld; life: Life; wallet: Wallet }> {
  const world = new OutsideWorld();
  const life = await world.live();
  const wallet = await world.create(life, userId);
  if (typeof wallet === "string") throw new Error(wallet);
  return { world, life, wallet };
}

describe("a wallet of the outside signer", () => {
  it("has the address of its key, gave a test signature, and is found by every name of its owner's", async () => {
    const { world, life, wallet } = await withWallet();
    expect(wallet).toMatchObject({ ownerId: OWNER, userId: "ann", state: "ACTIVE", epoch: 1 });
    expect(wallet.address).toMatch(/^0x[0-9a-fA-F]{40}$/);
    expect(world.model.requests.map(({ kind, body }) => [kind, body?.origin])).toEqual([
      ["wallet", undefined],
      ["signature", "test"],
    ]);
    for (const name of ["ann", wallet.walletId.toUpperCase(), wallet.address.toLowerCase()])
      expect(life.provider.find(name, OWNER)).toEqual(wallet);
    for (const name of ["ann", wallet.walletId, wallet.address]) expect(life.provider.find(name, "ow_2")).toBeNull();
    expect(life.provider.list(OWNER, null, 10)).toEqual({ wallets: [wallet], next: null });
    expect(life.provider.list("ow_2", null, 10).wallets).toEqual([]);
    const again = await world.live();
    expect(again.provider.find("ann", OWNER)).toEqual(wallet);
  });

  it("is one for a user id: asked for at once, and again; another owner's of the same text is another one", async () => {
    const world = new OutsideWorld();
    const life = await world.live();
    const both = await Promise.all([world.create(life, "ann"), world.create(life, "ann")]);
    expect(both.map((one) => (typeof one === "string" ? one : "made")).sort()).toEqual(["WALLET_EXISTS", "made"]);
    expect(await world.create(life, "ann")).toBe("WALLET_EXISTS");
    const other = (await world.create(life, "ann", "ow_2")) as Wallet;
    const first = life.provider.find("ann", OWNER);
    expect([other.walletId === first?.walletId, other.address === first?.address]).toEqual([false, false]);
    expect(world.model.walletCount).toBe(2);
  });

  it("under way for an owner that adopted the rows of public mode is that one's, and named to no other", async () => {
    const world = new OutsideWorld();
    world.model.decision = () => ({ kind: "people" });
    const first = await world.live();
    expect(await world.create(first, "ann", null)).toBe("APPROVAL_PENDING");
    Object.assign(world, { owners: new Owners({ adoptedBy: () => OWNER }) });
    const life = await world.live();
    world.model.decide({ kind: "approve" });
    world.model.decision = () => ({ kind: "approve" });
    const wallet = (await world.create(life, "ann")) as Wallet;
    expect(wallet).toMatchObject({ ownerId: null, userId: "ann" });
    expect(world.model.walletCount).toBe(1);
    expect(life.provider.find("ann", OWNER)).toEqual(wallet);
    const refused = await world.refusal(life, life.provider.create("ann", OWNER, "local"));
    expect([refused.code, refused.context]).toEqual(["WALLET_EXISTS", { walletId: wallet.walletId }]);
  });

  it.each(WALLET_LIES)("that comes with %s is none, and no second one is asked for", async (lie) => {
    const { world, life } = await withWallet("first");
    world.model.walletLie = lie;
    if (lie === "sameKey") expect(await world.create(life, "second")).not.toBeTypeOf("string");
    const before = world.model.requests.length;
    const isRead = lie === "uncompressed" ? "SIGNER_UNAVAILABLE" : "FAILED_TO_CREATE_WALLET";
    for (let ask = 0; ask < 3; ask++) expect(await world.create(life, "third")).toBe(isRead);
    expect(world.model.requests.length).toBe(before + 1);
    expect(life.provider.find("third", OWNER)).toBeNull();
    if (lie === "sameKey") return;
    world.model.walletLie = "none";
    expect(await world.create(life, "third")).toMatchObject({ userId: "third" });
    expect(world.model.requests.length).toBe(before + 2);
  });

  it.each(SIGNATURE_LIES)("whose test signature is %s is not acknowledged", async (lie) => {
    const world = new OutsideWorld();
    world.model.signatureLie = lie;
    const life = await world.live();
    const expected = lie === "short" ? "SIGNER_UNAVAILABLE" : "FAILED_TO_CREATE_WALLET";
    for (let ask = 0; ask < 2; ask++) expect(await world.create(life, "ann")).toBe(expected);
    expect([life.provider.find("ann", OWNER), world.model.requests.length]).toEqual([null, 2]);
    world.model.signatureLie = "none";
    expect(await world.create(life, "ann")).toMatchObject({ userId: "ann" });
    await world.judge(["ann"]);
  });

  it("that was refused is asked for anew, as another request, by the next creation", async () => {
    const world = new OutsideWorld();
    const life = await world.live();
    for (const decision of [{ kind: "refuse", refusal: { reason: "PEOPLE" } }, { kind: "fail" }] as const) {
      world.model.decision = () => decision;
      expect(await world.create(life, "ann")).toBe(
        decision.kind === "fail" ? "FAILED_TO_CREATE_WALLET" : "POLICY_REFUSED",
      );
    }
    world.model.decision = () => ({ kind: "approve" });
    expect(await world.create(life, "ann")).toMatchObject({ userId: "ann" });
    await world.judge(["ann"]);
  });

  it("without a store is not asked for", async () => {
    const world = new OutsideWorld();
    const life = await world.live();
    world.store.gate = () => Promise.reject(new Error("full"));
    await expect(life.provider.create("ann", OWNER, "local")).rejects.toThrow("full");
    expect(world.model.requests).toEqual([]);
  });
});

describe("a signature of the outside signer", () => {
  it("is over the digest that is computed here, and the same for those who ask at once", async () => {
    const { world, life, wallet } = await withWallet();
    const [one, two] = await Promise.all([
      world.sign(life, wallet.walletId, TEXT),
      world.sign(life, wallet.walletId, TEXT),
    ]);
    expect(one).toEqual(two);
    await world.judgeSignature(wallet, one as WalletSignature, TEXT);
    expect((one as WalletSignature).digest).toBe(hashMessage(TEXT));
    expect(await world.sign(life, wallet.walletId, TEXT)).toEqual(one);
    expect(
      world.model.requests.filter(({ kind, body }) => kind === "signature" && body?.origin === "caller").length,
    ).toBe(1);
    expect(life.provider.status().sessions).toMatchObject({ signed: 3, queued: 0 });
  });

  it.each(SIGNATURE_LIES)("that is %s is never handed over, and no second one is asked for", async (lie) => {
    const { world, life, wallet } = await withWallet();
    world.model.signatureLie = lie;
    const expected = lie === "short" ? "SIGNER_UNAVAILABLE" : "FAILED_TO_SIGN";
    for (let ask = 0; ask < 3; ask++) expect(await world.sign(life, wallet.walletId, TEXT)).toBe(expected);
    expect(world.model.requests.length).toBe(3);
    if (lie !== "short") {
      expect(life.provider.status().sessions.failed.cheat).toBe(3);
      expect(world.errors).toContain("outside_signer.wrong_signature");
    }
    world.model.signatureLie = "none";
    await world.judgeSignature(wallet, (await world.sign(life, wallet.walletId, TEXT)) as WalletSignature, TEXT);
    await world.judge(["ann"]);
  });

  it("that waits for people is 202 with the signer's id, within the bound, and then the signature", async () => {
    const { world, life, wallet } = await withWallet();
    world.model.decision = () => ({ kind: "people" });
    const beganMs = world.clock.wallMs();
    const pending = await world.refusal(life, life.provider.sign(wallet.walletId, "service", message(TEXT)));
    const [, , request] = world.model.requests;
    expect([pending.status, pending.code, pending.context]).toEqual([
      202,
      "APPROVAL_PENDING",
      { signerRequestId: request?.requestId, retryAfterMs: 1_000, isUnsettled: true },
    ]);
    expect(world.clock.wallMs() - beganMs).toBeLessThanOrEqual(5_500);
    expect(life.provider.status().sessions.queued).toBe(1);
    // Of a caller it is another request: the signer's rules for it may be others.
    expect(await world.sign(life, wallet.walletId, TEXT)).toBe("APPROVAL_PENDING");
    expect(world.model.requests.length).toBe(4);
    const restarted = await world.live();
    expect(restarted.provider.status().sessions.queued).toBe(2);
    world.model.decide({ kind: "approve" });
    const signed = await world.outcome(restarted, restarted.provider.sign(wallet.walletId, "service", message(TEXT)));
    await world.judgeSignature(wallet, signed as WalletSignature, TEXT);
    expect([restarted.provider.status().sessions.queued, world.model.requests.length]).toEqual([1, 4]);
  });

  it.each<[SignerRefusal, string, object]>([
    [{ reason: "PEOPLE" }, "POLICY_REFUSED", { rule: "PEOPLE" }],
    [{ reason: "EXPIRED" }, "POLICY_REFUSED", { rule: "EXPIRED" }],
    [{ reason: "POLICY", rule: "daily amount" }, "POLICY_REFUSED", { rule: "daily amount" }],
    [{ reason: "POLICY", rule: "<script>" }, "POLICY_REFUSED", {}],
    [{ reason: "DESTINATION", rule: "list-7" }, "DESTINATION_NOT_ALLOWED", { rule: "list-7" }],
  ])("that is refused (%j) is %s; asked for again it is another request", async (refusal, code, context) => {
    const { world, life, wallet } = await withWallet();
    world.model.decision = () => ({ kind: "people" });
    expect(await world.sign(life, wallet.walletId, TEXT)).toBe("APPROVAL_PENDING");
    world.model.decide({ kind: "refuse", refusal });
    const refused = await world.refusal(life, life.provider.sign(wallet.walletId, "caller", message(TEXT)));
    expect([refused.code, refused.context]).toEqual([code, context]);
    expect(life.provider.status().sessions).toMatchObject({ queued: 0, failed: { refused: 1 } });
    world.model.decision = () => ({ kind: "approve" });
    await world.judgeSignature(wallet, (await world.sign(life, wallet.walletId, TEXT)) as WalletSignature, TEXT);
    await world.judge(["ann"]);
  });

  it("of an unknown wallet, of one under way and of raw digests is refused before the signer is asked", async () => {
    const { world, life, wallet } = await withWallet();
    world.model.decision = () => ({ kind: "people" });
    expect(await world.create(life, "bea")).toBe("APPROVAL_PENDING");
    const count = world.model.requests.length;
    for (const walletId of [world.ids.wallet(OWNER, "bea"), world.ids.wallet(OWNER, "nobody")])
      expect(await world.sign(life, walletId, TEXT)).toBe("WALLET_NOT_FOUND");
    const digest = { kind: "digest", digest: Buffer.alloc(32, 7) } as const;
    const refused = await world.refusal(life, life.provider.sign(wallet.walletId, "caller", digest));
    expect([refused.code, refused.context]).toEqual(["POLICY_REFUSED", { rule: "RAW_DIGEST" }]);
    const twice = { kind: "typedData", text: '{"a":1,"a":2}' } as const;
    expect(await world.outcome(life, life.provider.sign(wallet.walletId, "caller", twice))).toBe("INVALID_PARAMETERS");
    expect(world.model.requests.length).toBe(count);
    world.takesDigests = true;
    world.model.decision = () => ({ kind: "approve" });
    const open = await world.live();
    expect(await world.outcome(open, open.provider.sign(wallet.walletId, "caller", digest))).not.toBeTypeOf("string");
  });

  it("beyond those that may wait is not asked for, and one that waits goes on", async () => {
    const { world, life, wallet } = await withWallet();
    world.model.decision = () => ({ kind: "people" });
    for (let index = 0; index < OPEN_OF_WALLET_MAX; index++)
      expect(await world.sign(life, wallet.walletId, `text ${index}`)).toBe("APPROVAL_PENDING");
    const count = world.model.requests.length;
    const refused = await world.refusal(life, life.provider.sign(wallet.walletId, "caller", message("one more")));
    expect([refused.code, refused.context]).toEqual(["SIGNER_UNAVAILABLE", { reason: "TOO_MANY_OPEN" }]);
    expect(world.model.requests.length).toBe(count);
    world.model.decide({ kind: "approve" });
    expect(await world.sign(life, wallet.walletId, "text 0")).not.toBeTypeOf("string");
    world.model.decision = () => ({ kind: "approve" });
    expect(await world.sign(life, wallet.walletId, "one more")).not.toBeTypeOf("string");
  });

  it("whose outcome is unknown says so, and one that was begun by nobody does not", async () => {
    const { world, life, wallet } = await withWallet();
    const ask = async () => {
      const { code, context } = await world.refusal(life, life.provider.sign(wallet.walletId, "caller", message(TEXT)));
      return [code, context["reason"], context["isUnsettled"]];
    };
    world.fate = () => "notSent";
    expect(await ask()).toEqual(["SIGNER_UNAVAILABLE", "UNREACHABLE", undefined]);
    world.fate = () => "hang";
    expect(await ask()).toEqual(["SIGNER_UNAVAILABLE", "UNREACHABLE", true]);
    world.fate = () => "garbage";
    expect(await ask()).toEqual(["SIGNER_UNAVAILABLE", "CONTRACT", true]);
    expect(life.provider.status().problem).toBe("CONTRACT");
    world.fate = () => "pass";
    expect(await world.sign(life, wallet.walletId, TEXT)).not.toBeTypeOf("string");
    expect(life.provider.status()).toMatchObject({ problem: null, wallets: 1 });
  });

  it("that the signer lost is begun again under its id", async () => {
    const { world, life, wallet } = await withWallet();
    world.model.decision = () => ({ kind: "people" });
    expect(await world.sign(life, wallet.walletId, TEXT)).toBe("APPROVAL_PENDING");
    const lost = world.model.requests.at(-1)?.requestId;
    world.model.forget();
    world.model.decision = () => ({ kind: "approve" });
    await world.judgeSignature(wallet, (await world.sign(life, wallet.walletId, TEXT)) as WalletSignature, TEXT);
    expect(world.model.requests.map(({ requestId }) => requestId)).toEqual([lost]);
  });
});

describe("rows of requests that nobody asks for any more", () => {
  async function swept(world: OutsideWorld, life: Life, ms: number): Promise<void> {
    await world.clock.advanceAsync(ms);
    await world.outcome(life, life.provider.sweep());
  }
  const rows = async ({ store }: OutsideWorld) =>
    (await store.scan(OUTSIDE_REQUESTS, { prefix: "", limit: 100 })).length;

  it("go some days after their end; those that wait stay for as long as the signer may decide", async () => {
    const { world, life, wallet } = await withWallet();
    await world.sign(life, wallet.walletId, "signed");
    world.model.decision = () => ({ kind: "people" });
    for (const text of ["waits", "approved unseen"])
      expect(await world.sign(life, wallet.walletId, text)).toBe("APPROVAL_PENDING");
    expect(await rows(world)).toBe(4);
    await swept(world, life, ENDED_KEPT_MS + 1);
    expect([await rows(world), life.provider.status().sessions.queued]).toEqual([2, 2]);
    world.model.decide({ kind: "approve" });
    await swept(world, life, 1);
    expect([await rows(world), life.provider.status().sessions.queued]).toEqual([2, 0]);
    await world.judgeSignature(wallet, (await world.sign(life, wallet.walletId, "waits")) as WalletSignature, "waits");
    await swept(world, life, ENDED_KEPT_MS + 1);
    expect(await rows(world)).toBe(0);
    expect(await world.store.scan(OUTSIDE_WALLETS, { prefix: "", limit: 10 })).toHaveLength(1);
  });

  it("are never undecided for longer than a signer may leave them so", async () => {
    const { world, life, wallet } = await withWallet();
    world.model.decision = () => ({ kind: "people" });
    expect(await world.sign(life, wallet.walletId, TEXT)).toBe("APPROVAL_PENDING");
    await swept(world, life, OPEN_KEPT_MS - 60_000);
    expect(life.provider.status().sessions.queued).toBe(1);
    await swept(world, life, 120_000);
    expect(life.provider.status().sessions.queued).toBe(0);
  });
});

describe("a store with a row that is not to the letter", () => {
  it.each([
    [OUTSIDE_WALLETS, "5f0c7f0e-8a0b-4b6e-9d37-6c1d2f0a9b41", "{}"],
    [OUTSIDE_WALLETS, "5f0c7f0e-8a0b-4b6e-9d37-6c1d2f0a9b41", "no JSON"],
    [OUTSIDE_REQUESTS, `5f0c7f0e-8a0b-4b6e-9d37-6c1d2f0a9b41.caller.${"0".repeat(64)}`, '{"round":-1}'],
    [OUTSIDE_REQUESTS, "nonsense", '{"round":0,"state":"OPEN","atMs":0}'],
  ])("of %s does not start", async (namespace, key, text) => {
    const world = new OutsideWorld();
    await world.store.put(namespace, key, Buffer.from(text));
    await expect(world.live()).rejects.toMatchObject({ code: "INTERNAL" });
  });
});
