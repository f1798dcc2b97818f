/**
 * Registration, rotation and revocation of venue keys over HTTP, every reply judged by the OpenAPI document. The wallets
 * really sign (test-wallets.ts), and the venue is a double that checks it; local venues stand in bench/test/system.
 */
import { recoverTypedDataAddress, type TypedDataDefinition } from "viem";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { AgentRegistrar } from "../../engine/key-registrar.js";
import { FakeVenue } from "../../engine/custody/registration/test/fake-venue.js";
import type { Reply } from "./client.js";
import { type Harness, startHarness } from "./harness.js";
import { ALICE, ALICE_READS, ALICE_TRADES, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";
import { TestActs, TestWallets } from "./test-wallets.js";

const BOB_SIGNS: TestKey = { ...BOB, keyId: "pk_bob_signs", scopes: ["read", "sign"] };
const NOBODY = "11111111-1111-4111-8111-111111111111";

const wallets = new TestWallets();
const acts = new TestActs();
const isSigned = async (account: string, text: string, signature: string) => {
  const typed = JSON.parse(text) as TypedDataDefinition;
  const signer = await recoverTypedDataAddress({ ...typed, signature: signature as `0x${string}` });
  return signer.toLowerCase() === account;
};
const one = new FakeVenue(createSystemClock(), "long", isSigned);
const two = new FakeVenue(createSystemClock(), "short", isSigned);
one.busyMs = 0;
/** In place of what the venue does with the next acts. */
let send: AgentRegistrar["send"] | null = null;
let harness: Harness;

beforeAll(async () => {
  const registrar = one.registrar((act) => act());
  harness = await startHarness({
    auth: createTestAuth({ keys: [BOB_SIGNS] }),
    wallets: { provider: wallets, appendAct: acts.append },
    registrars: new Map([
      ["venueone", { ...registrar, send: (...call) => (send ?? registrar.send)(...call) }],
      ["venuetwo", two.registrar((act) => act())],
    ]),
  });
});
afterAll(() => harness.stop());
beforeEach(() => {
  acts.rows.length = 0;
  wallets.refusal = null;
  send = null;
});

let lastMs = 0;
/** Two equal requests of one millisecond would be one. */
function freshMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

interface Asked {
  readonly by?: TestKey;
  readonly key?: string;
  readonly method?: "POST" | "DELETE";
}

async function ask(path: string, body: unknown, { by = ALICE, key, method = "POST" }: Asked = {}): Promise<Reply> {
  const text = JSON.stringify(body);
  return harness.client.send(path, {
    method,
    headers: {
      "content-type": "application/json",
      ...signed(by, { method, target: path, body: text, timestamp: freshMs() }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: text,
  });
}

type Fields = Record<string, unknown>;
const fieldsOf = (reply: Reply) => reply.body as unknown as Fields;
const dataOf = (reply: Reply) => fieldsOf(reply)["data"] as Record<string, string>;
const shown = (reply: Reply) => [reply.status, fieldsOf(reply)["code"], fieldsOf(reply)["error"]];
const path = (venue: string, rest = "") => `/api/trading/${venue}/apikey${rest}`;

let users = 0;
async function made(by: TestKey = ALICE): Promise<{ readonly userId: string; walletId: string; address: string }> {
  const userId = `trader ${users++}`;
  const reply = await ask("/api/wallets", { userId }, { by });
  expect(reply.status).toBe(200);
  acts.rows.length = 0;
  const wallet = fieldsOf(reply) as { userId: string; walletId: string; address: string };
  for (const venue of [one, two]) venue.funded.add(wallet.address.toLowerCase());
  return wallet;
}

const register = (walletIdOrAddress: string, asked?: Asked, venue = "venueone") =>
  ask(path(venue), { walletIdOrAddress }, asked);
const rotate = (walletIdOrAddress: string, asked?: Asked) =>
  ask("/api/trading/venueone/apikey/rotate", { walletIdOrAddress }, asked);
const revoke = (walletIdOrAddress: string, asked?: Asked, venue = "venueone") =>
  ask(path(venue), { walletIdOrAddress }, { ...asked, method: "DELETE" });

async function exchangesOf(name: string): Promise<Fields[]> {
  const target = `/api/wallets/${name}`;
  const reply = await harness.client.send(target, { headers: signed(ALICE, { target, timestamp: freshMs() }) });
  return fieldsOf(reply)["exchanges"] as Fields[];
}

describe("a registration", () => {
  it("at venueone answers the fields of the interface spec, by any of the wallet's names", async () => {
    for (const name of ["userId", "walletId", "address"] as const) {
      const wallet = await made();
      const reply = await register(wallet[name]);
      expect(reply.status, reply.text).toBe(200);
      const { apiPrivateKey, apiWalletAddress, ...rest } = dataOf(reply);
      expect([apiPrivateKey, apiWalletAddress]).toEqual([
        expect.stringMatching(/^0x[0-9a-f]{64}$/),
        expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      ]);
      expect(rest).toEqual({ mainWalletAddress: wallet.address, expiryTimestamp: expect.any(Number) });
      expect(one.live(wallet.address.toLowerCase())).toEqual([apiWalletAddress?.toLowerCase()]);
      expect(await exchangesOf(wallet.walletId)).toEqual([
        {
          exchange: "venueone",
          status: "ACTIVE",
          apiWalletAddress,
          registeredAt: expect.any(Number),
          expiryTimestamp: expect.any(Number),
        },
      ]);
      expect(acts.rows).toMatchObject([
        { who: ALICE.keyId, what: "venue-key.register", subject: wallet.walletId, outcome: "done" },
      ]);
      expect(JSON.stringify(acts.rows) + harness.logLines.join()).not.toContain(apiPrivateKey?.slice(2));
    }
  });

  it("at venuetwo answers the agent's address and no secret", async () => {
    const wallet = await made();
    const reply = await register(wallet.walletId, {}, "venuetwo");
    expect(reply.status, reply.text).toBe(200);
    expect(fieldsOf(reply)).toEqual({
      success: true,
      message: "API key registered",
      data: {
        signerAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        expiryTimestamp: expect.any(Number),
      },
      timestamp: expect.any(Number),
    });
    expect(two.live(wallet.address.toLowerCase())).toEqual([dataOf(reply)["signerAddress"]?.toLowerCase()]);
  });

  it("with an Idempotency-Key is answered again without the secret, and makes no second key", async () => {
    const { walletId, address } = await made();
    const first = await register(walletId, { key: "reg-1" });
    const { apiPrivateKey, ...rest } = dataOf(first);
    expect(apiPrivateKey).toMatch(/^0x/);
    const again = await register(walletId, { key: "reg-1" });
    expect([again.status, again.headers["idempotent-replayed"], dataOf(again)]).toEqual([200, "true", rest]);
    expect(one.live(address.toLowerCase()).length).toBe(1);
    expect(shown(await register(walletId, { key: "reg-2" }))).toEqual([
      409,
      "API_KEY_EXISTS",
      "API key already exists for this wallet",
    ]);
  });

  it("of two at once makes one key", async () => {
    const { walletId, address } = await made();
    const replies = await Promise.all([register(walletId), register(walletId)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(one.live(address.toLowerCase()).length).toBe(1);
  });

  it.each(["venuethree", "venuefour", "venuefive", "nowhere"])("at %s is no supported exchange", async (exchange) => {
    const { walletId } = await made();
    for (const reply of [
      await ask(path(exchange), { walletIdOrAddress: walletId }),
      await ask(path(exchange, "/rotate"), { walletIdOrAddress: walletId }),
      await ask(path(exchange), { walletIdOrAddress: walletId }, { method: "DELETE" }),
    ])
      expect(shown(reply)).toEqual([400, "UNSUPPORTED_EXCHANGE", "Unsupported exchange"]);
    expect(acts.rows).toEqual([]);
  });

  it("checks what is missing before the exchange, and that before the wallet", async () => {
    expect(shown(await ask(path("nowhere"), {}))).toEqual([400, "MISSING_PARAMETERS", "Missing required parameters"]);
    expect(shown(await ask(path("nowhere"), { walletIdOrAddress: NOBODY }))[1]).toBe("UNSUPPORTED_EXCHANGE");
    expect(shown(await register(NOBODY))).toEqual([404, "WALLET_NOT_FOUND", "Wallet not found"]);
    expect(shown(await register("\u0007"))[1]).toBe("INVALID_PARAMETERS");
  });

  it("of another owner's wallet is as of one that nobody has, for each act", async () => {
    const { walletId } = await made();
    expect((await register(walletId)).status).toBe(200);
    for (const act of [register, rotate, revoke]) {
      const [stranger, unknown] = [await act(walletId, { by: BOB_SIGNS }), await act(NOBODY, { by: BOB_SIGNS })];
      const bare = ({ requestId: _, timestamp: __, ...fields }: Fields) => fields;
      expect([stranger.status, bare(fieldsOf(stranger))]).toEqual([unknown.status, bare(fieldsOf(unknown))]);
      expect(stranger.status).toBe(404);
    }
    for (const by of [ALICE_READS, ALICE_TRADES]) expect((await register(walletId, { by })).status).toBe(403);
  });

  it("before the first deposit is ACCOUNT_NOT_FUNDED, and works after it", async () => {
    const { walletId, address } = await made();
    one.funded.delete(address.toLowerCase());
    expect(shown(await register(walletId))).toEqual([
      400,
      "ACCOUNT_NOT_FUNDED",
      "The account has no deposit at venueone yet",
    ]);
    expect(acts.rows).toMatchObject([{ outcome: "refused", details: { code: "ACCOUNT_NOT_FUNDED" } }]);
    one.funded.add(address.toLowerCase());
    expect((await register(walletId)).status).toBe(200);
  });

  it.each([
    ["POLICY_REFUSED", 403],
    ["WALLET_FROZEN", 423],
    ["SIGNER_UNAVAILABLE", 503],
    ["RESTORED_STORE", 503],
  ] as const)("whose signer answers %s answers that, and leaves no key", async (code, status) => {
    const { walletId } = await made();
    wallets.refusal = new ServiceError(code);
    const reply = await register(walletId, { key: `signer ${code}`.replace(" ", "-") });
    expect([reply.status, fieldsOf(reply)["code"]]).toEqual([status, code]);
    expect(await exchangesOf(walletId)).toEqual([]);
    wallets.refusal = null;
    expect((await register(walletId)).status).toBe(200);
  });

  it("whose signer has a fault is the 500 of the interface spec", async () => {
    const { walletId } = await made();
    for (const refusal of [new ServiceError("FAILED_TO_SIGN"), new Error("a fault")]) {
      wallets.refusal = refusal;
      expect(shown(await register(walletId))).toEqual([500, "FAILED_TO_REGISTER_KEY", "Failed to register API key"]);
    }
    expect(harness.logLines.join()).not.toContain("a fault");
  });

  it("that the venue refuses is a 500 with the venue's text", async () => {
    const { walletId } = await made();
    send = async () => ({
      kind: "refused",
      reason: "KEY_LIMIT",
      venueText: "Too many",
      retryAfterMs: null,
      isSpent: true,
    });
    const reply = await register(walletId);
    expect(shown(reply)).toEqual([500, "REGISTRATION_REJECTED", "Failed to register API key"]);
    expect(fieldsOf(reply)["details"]).toMatchObject({
      exchange: "venueone",
      reason: "KEY_LIMIT",
      venueText: "Too many",
    });
  });

  it("that does not reach the venue is a 503, and nothing is left", async () => {
    const { walletId } = await made();
    send = async () => ({ kind: "notSent", problem: "BREAKER_OPEN", retryAfterMs: 2_000 });
    const reply = await register(walletId);
    expect(shown(reply)).toEqual([503, "VENUE_UNAVAILABLE", "venueone is unavailable"]);
    expect(await exchangesOf(walletId)).toEqual([]);
  });
});

describe("a rotation", () => {
  it("needs a key, then replies as the registration does, and the former key lives on", async () => {
    const { walletId, address } = await made();
    expect(shown(await rotate(walletId))).toEqual([
      404,
      "API_KEY_NOT_FOUND",
      "No API key of this wallet is registered at venueone",
    ]);
    const first = dataOf(await register(walletId));
    const second = dataOf(await rotate(walletId, { key: "rotate-1" }));
    expect(second["apiPrivateKey"]).toMatch(/^0x[0-9a-f]{64}$/);
    expect(second["apiPrivateKey"]).not.toBe(first["apiPrivateKey"]);
    expect(Object.keys(dataOf(await rotate(walletId, { key: "rotate-1" }))).sort()).toEqual([
      "apiWalletAddress",
      "expiryTimestamp",
      "mainWalletAddress",
    ]);
    expect(one.live(address.toLowerCase()).length).toBe(2);
    expect((await exchangesOf(walletId)).map(({ status }) => status)).toEqual(["RETIRING", "ACTIVE"]);
    expect((await rotate(walletId)).status).toBe(200);
    expect(shown(await rotate(walletId))).toEqual([
      409,
      "API_KEY_LIMIT",
      "All 3 API keys that a wallet may have at venueone are in use",
    ]);
  });
});

describe("a revocation", () => {
  it("ends all keys of the wallet there, says so, and a new registration is free", async () => {
    const { walletId, address } = await made();
    expect(shown(await revoke(walletId))[1]).toBe("API_KEY_NOT_FOUND");
    await register(walletId);
    await rotate(walletId);
    acts.rows.length = 0;
    const reply = await revoke(walletId);
    expect([reply.status, dataOf(reply)]).toEqual([200, { exchange: "venueone", status: "REVOKED", count: 2 }]);
    expect([one.live(address.toLowerCase()), await exchangesOf(walletId)]).toEqual([[], []]);
    expect(acts.rows).toMatchObject([{ what: "venue-key.revoke", outcome: "done", details: { isPending: false } }]);
    expect((await register(walletId)).status).toBe(200);
  });

  it("whose signer is away is pending, and the key is out of use", async () => {
    const { walletId } = await made();
    await register(walletId);
    wallets.refusal = new ServiceError("SIGNER_UNAVAILABLE");
    const reply = await revoke(walletId);
    expect([reply.status, dataOf(reply)["status"]]).toEqual([200, "REVOKING"]);
    expect((await exchangesOf(walletId)).map(({ status }) => status)).toEqual(["REVOKING"]);
  });
});
