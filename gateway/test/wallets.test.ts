/**
 * The wallet routes over HTTP, every reply judged by the OpenAPI document. The provider is a double that really signs
 * (test-wallets.ts): what is tested is whose wallets a caller reaches, what is refused before the signers are asked, and
 * how what they say is answered and written down.
 */
import { recoverMessageAddress, recoverTypedDataAddress } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createApiClient } from "../../client/api/api-client.js";
import { systemFetch } from "../../client/api/fetch-port.js";
import { ServiceError, type ErrorCode } from "../../engine/domain/errors.js";
import type { Reply } from "./client.js";
import { type Harness, startHarness } from "./harness.js";
import { ALICE, ALICE_READS, ALICE_TRADES, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";
import { isChecksummed, TestActs, TestWallets } from "./test-wallets.js";

const BOB_SIGNS: TestKey = { ...BOB, keyId: "pk_bob_signs", scopes: ["read", "sign"] };
const NOBODY = "11111111-1111-4111-8111-111111111111";
const NO_ADDRESS = "0x00000000000000000000000000000000000000AA";
const BODY_BYTES_MAX = 300_000;

let wallets: TestWallets;
let acts: TestActs;
let harness: Harness;
let opened: Harness[] = [];

async function start(): Promise<Harness> {
  acts = new TestActs();
  wallets = new TestWallets(acts);
  const started = await startHarness({
    auth: createTestAuth({ keys: [BOB_SIGNS] }),
    wallets: { provider: wallets, appendAct: acts.append },
    server: { bodyBytesMax: BODY_BYTES_MAX },
  });
  opened.push(started);
  return started;
}

beforeAll(async () => {
  harness = await start();
});
afterAll(async () => {
  for (const one of opened) await one.stop();
  opened = [];
});
beforeEach(() => {
  acts.rows.length = 0;
  wallets.signs.length = 0;
  wallets.creates.length = 0;
});
afterEach(() => {
  acts.isBroken = false;
  wallets.refusal = null;
  wallets.gate = null;
});

let lastMs = 0;
/** Two equal requests of one millisecond would be one. */
function freshMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

interface Sent {
  readonly by?: TestKey;
  readonly key?: string;
}

async function post(path: string, body: unknown, { by = ALICE, key }: Sent = {}): Promise<Reply> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return harness.client.send(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...signed(by, { method: "POST", target: path, body: text, timestamp: freshMs() }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: text,
  });
}

function get(path: string, by: TestKey = ALICE): Promise<Reply> {
  return harness.client.send(path, { headers: signed(by, { target: path, timestamp: freshMs() }) });
}

type Fields = Record<string, unknown>;
const fieldsOf = (reply: Reply) => reply.body as unknown as Fields;
const detailsOf = (reply: Reply) => fieldsOf(reply)["details"] as Fields;
const shown = (reply: Reply) => [reply.status, fieldsOf(reply)["code"], fieldsOf(reply)["error"]];
const dataOf = (reply: Reply) => fieldsOf(reply)["data"] as Record<string, string>;

let users = 0;
/** A new wallet of its own. */
async function made(by: TestKey = ALICE, userId = `user ${users++}`): Promise<Record<string, string>> {
  const reply = await post("/api/wallets", { userId }, { by });
  expect(shown(reply)).toEqual([200, undefined, undefined]);
  acts.rows.length = 0;
  return fieldsOf(reply) as Record<string, string>;
}

const path = (name = "", rest = "") => `/api/wallets/${encodeURIComponent(name)}${rest}`;

describe("creating a wallet", () => {
  it("answers the fields of the interface spec, and those of a look-up", async () => {
    const reply = await post("/api/wallets", { userId: "Zoë / 42" });
    expect(reply.status).toBe(200);
    const { timestamp: _, ...fields } = fieldsOf(reply);
    expect(fields).toEqual({
      success: true,
      userId: "Zoë / 42",
      address: expect.stringMatching(/^0x/),
      walletId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      publicKey: expect.stringMatching(/^0x0[23]/),
      createdAt: expect.any(Number),
      state: "ACTIVE",
      epoch: 1,
      exchanges: [],
    });
    expect(isChecksummed(String(fields["address"]))).toBe(true);
    const { address, walletId } = fields as Record<string, string>;
    for (const name of ["Zoë / 42", walletId, walletId?.toUpperCase(), address, address?.toLowerCase()]) {
      const { timestamp: __, ...again } = fieldsOf(await get(path(name)));
      expect(again).toEqual(fields);
    }
  });

  it("leaves a row in the audit log: who, what, which wallet, and nothing of the caller's text", async () => {
    const reply = await post("/api/wallets", { userId: "of a row" });
    const { walletId } = fieldsOf(reply);
    expect(acts.rows).toEqual([
      { who: ALICE.keyId, what: "wallet.create", subject: walletId, outcome: "done", details: {} },
    ]);
  });

  it("again for the same user is 409 with the wallet that is there, for its owner alone", async () => {
    const first = await made(ALICE, "twice");
    const again = await post("/api/wallets", { userId: "twice" });
    expect(shown(again)).toEqual([409, "WALLET_EXISTS", "Wallet already exists"]);
    expect(detailsOf(again)).toEqual({ walletId: first["walletId"] });
    expect(acts.rows).toEqual([]);
    const other = await made(BOB_SIGNS, "twice");
    expect(other["walletId"]).not.toBe(first["walletId"]);
  });

  it.each([
    ["none", {}, "MISSING_PARAMETERS", "is required"],
    ["null", { userId: null }, "MISSING_PARAMETERS", "is required and must not be null"],
    ["a number", { userId: 7 }, "INVALID_PARAMETERS", "must be a string"],
    ["empty", { userId: "" }, "INVALID_PARAMETERS", "must not be empty"],
    ["of 129 characters", { userId: "x".repeat(129) }, "INVALID_PARAMETERS", "must have at most 128 characters"],
    ["with a tab", { userId: "a\tb" }, "INVALID_PARAMETERS", "must have printable characters only"],
    ["with a line break", { userId: "a\n" }, "INVALID_PARAMETERS", "must have printable characters only"],
    ["with a null character", { userId: "a\u0000" }, "INVALID_PARAMETERS", "must have printable characters only"],
    ["with a no-break space", { userId: "a\u00a0b" }, "INVALID_PARAMETERS", "must have printable characters only"],
    ["with a mark of direction", { userId: "a\u202eb" }, "INVALID_PARAMETERS", "must have printable characters only"],
    ["with half of a pair", { userId: "a\ud83d" }, "INVALID_PARAMETERS", "must have printable characters only"],
    ["not in NFC", { userId: "Zoe\u0308" }, "INVALID_PARAMETERS", "must be in Unicode form NFC"],
    ["a UUID", { userId: NOBODY }, "INVALID_PARAMETERS", "must not have the form of a UUID or an address"],
    ["an address", { userId: NO_ADDRESS }, "INVALID_PARAMETERS", "must not have the form of a UUID or an address"],
    ["two dots", { userId: ".." }, "INVALID_PARAMETERS", "must not be . or .."],
  ])("with a user id that is %s is refused, and no signer is asked", async (_, body, code, problem) => {
    const reply = await post("/api/wallets", body);
    expect([reply.status, fieldsOf(reply)["code"], detailsOf(reply)["fields"]]).toEqual([
      400,
      code,
      [{ path: "userId", problem }],
    ]);
    expect(wallets.creates).toEqual([]);
  });

  it("takes 128 characters of any script", async () => {
    for (const userId of ["x".repeat(128), "𝒜".repeat(128), "user@example.org", "币安人生", "0x12", ". ."])
      expect((await made(ALICE, userId))["userId"]).toBe(userId);
  });

  it("refuses a field that it does not know, by name", async () => {
    const reply = await post("/api/wallets", { userId: "known", ownerId: "owner-b" });
    expect(detailsOf(reply)["fields"]).toEqual([{ path: "ownerId", problem: "is not a field of this request" }]);
    expect(wallets.creates).toEqual([]);
  });

  it.each<[ErrorCode, number, string]>([
    ["SIGNER_UNAVAILABLE", 503, "The signer is unavailable; nothing was signed"],
    ["RESTORED_STORE", 503, "A store was restored from a backup; an operator must act first"],
    ["FAILED_TO_CREATE_WALLET", 500, "Failed to create wallet"],
  ])("that the signers refuse with %s is that, and is written down", async (code, status, text) => {
    wallets.refusal = new ServiceError(code);
    const reply = await post("/api/wallets", { userId: `refused ${code}` });
    expect(shown(reply)).toEqual([status, code, text]);
    expect(reply.headers["retry-after"]).toBe(code === "SIGNER_UNAVAILABLE" ? "1" : undefined);
    const outcome = code === "RESTORED_STORE" ? "refused" : "failed";
    expect(acts.rows).toEqual([{ who: ALICE.keyId, what: "wallet.create", subject: "", outcome, details: { code } }]);
  });

  it("that may still become a wallet is 503 and leaves no row: it has not failed", async () => {
    wallets.refusal = new ServiceError("SIGNER_UNAVAILABLE", { isUnsettled: true });
    const reply = await post("/api/wallets", { userId: "in doubt" });
    expect(shown(reply)[1]).toBe("SIGNER_UNAVAILABLE");
    expect(detailsOf(reply)).toEqual({ isUnsettled: true });
    expect(acts.rows).toEqual([]);
  });
});

describe("another owner's wallet", () => {
  it("is answered as one that nobody has, by every name: body and headers", async () => {
    const { userId, walletId, address } = await made(ALICE, "of alice");
    const forms = [
      [userId, "of nobody"],
      [walletId, NOBODY],
      [address, NO_ADDRESS],
    ] as const;
    const ask = [
      (name: string) => get(path(name), BOB_SIGNS),
      (name: string) => post(path(name, "/sign"), { message: "m" }, { by: BOB_SIGNS }),
    ];
    for (const [hers, nobodys] of forms)
      for (const one of ask) {
        const [stranger, unknown] = [await one(hers ?? ""), await one(nobodys)];
        expect(shown(stranger)).toEqual([404, "WALLET_NOT_FOUND", "Wallet not found"]);
        expect(blurred(stranger)).toEqual(blurred(unknown));
      }
    expect(wallets.signs).toEqual([]);
    expect(acts.rows).toEqual([]);
  });

  it("is in no list, and its id is a cursor like any other", async () => {
    const hers = await made(ALICE);
    const his = await made(BOB_SIGNS);
    const ids = async (by: TestKey, query = "?limit=1000") =>
      (dataOf(await get(`/api/wallets${query}`, by))["wallets"] as unknown as Fields[]).map(({ walletId }) => walletId);
    expect(await ids(ALICE)).toContain(hers["walletId"]);
    expect(await ids(ALICE)).not.toContain(his["walletId"]);
    expect(await ids(BOB_SIGNS)).not.toContain(hers["walletId"]);
    const after = (await ids(BOB_SIGNS, `?cursor=${hers["walletId"]}`)).every(
      (id) => String(id) > String(hers["walletId"]),
    );
    expect(after).toBe(true);
  });
});

/** What may differ between two replies to two requests. */
function blurred({ headers, body, status, text }: Reply): unknown {
  const { requestId, timestamp: _, ...fields } = body as Fields;
  const { "x-request-id": __, "content-length": ___, date: ____, ratelimit: _____, ...others } = headers;
  return { status, headers: others, fields, length: text.length - String(requestId).length };
}

describe("the list of wallets", () => {
  it("goes by pages in the order of the ids, each wallet once", async () => {
    for (let index = 0; index < 5; index++) await made(BOB_SIGNS);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "?limit=2" : `?limit=2&cursor=${cursor}`;
      const data = dataOf(await get(`/api/wallets${query}`, BOB_SIGNS)) as unknown as {
        wallets: { walletId: string }[];
        nextCursor: string | null;
      };
      expect(data.wallets.length).toBeLessThanOrEqual(2);
      seen.push(...data.wallets.map(({ walletId }) => walletId));
      cursor = data.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual([...new Set(seen)].sort());
    const whole = dataOf(await get("/api/wallets?limit=1000", BOB_SIGNS))["wallets"] as unknown as Fields[];
    expect(seen).toEqual(whole.map(({ walletId }) => walletId));
    expect(seen.length).toBeGreaterThanOrEqual(5);
  });

  it.each([
    ["limit=0", "limit", "must be >= 1"],
    ["limit=1001", "limit", "must be <= 1000"],
    ["limit=two", "limit", "must be an integer"],
    ["limit=1&limit=2", "limit", "is given more than once"],
    ["cursor=", "cursor", "must be the nextCursor of an earlier reply of this route"],
    ["cursor=user-1", "cursor", "must be the nextCursor of an earlier reply of this route"],
  ])("with %s is refused", async (query, field, problem) => {
    const reply = await get(`/api/wallets?${query}`);
    expect([reply.status, detailsOf(reply)["fields"]]).toEqual([400, [{ path: field, problem }]]);
  });
});

describe("a name of a wallet", () => {
  it.each([
    ["%00", "must have printable characters only"],
    ["a%0A", "must have printable characters only"],
    ["Zoe%CC%88", "must be in Unicode form NFC"],
    ["x".repeat(129), "must have at most 128 characters"],
    ["%E0%A4%A", "has malformed percent-encoding"],
  ])("that is none (%s) is 400, whatever there is", async (name, problem) => {
    for (const reply of [await get(`/api/wallets/${name}`), await post(`/api/wallets/${name}/sign`, { message: "m" })])
      expect([reply.status, detailsOf(reply)["fields"]]).toEqual([400, [{ path: "walletIdOrAddress", problem }]]);
  });
});

const PERMIT = {
  types: {
    EIP712Domain: [{ name: "name", type: "string" }],
    Note: [
      { name: "text", type: "string" },
      { name: "count", type: "uint256" },
    ],
  },
  primaryType: "Note",
  domain: { name: "unwind" },
  message: { text: "hello", count: 7 },
};

describe("signing", () => {
  it("a text by EIP-191 gives a signature of the wallet's address", async () => {
    const { userId, address, walletId } = await made();
    const reply = await post(path(userId, "/sign"), { message: "Grüße 👋" });
    const { signature, digest, kind, address: by } = dataOf(reply);
    expect([reply.status, kind, by]).toEqual([200, "message", address]);
    expect(digest).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await recoverMessageAddress({ message: "Grüße 👋", signature: signature as "0x" })).toBe(address);
    expect(acts.rows).toEqual([
      { who: ALICE.keyId, what: "wallet.sign", subject: walletId, outcome: "done", details: { kind: "message" } },
    ]);
    expect(wallets.signs).toMatchObject([{ walletId, origin: "caller" }]);
  });

  it("bytes as hex signs the bytes; an empty message is one", async () => {
    const { address, walletId } = await made();
    for (const raw of ["0x00ffAB", "0x"] as const) {
      const { signature } = dataOf(await post(path(walletId, "/sign"), { messageHex: raw }));
      expect(await recoverMessageAddress({ message: { raw }, signature: signature as "0x" })).toBe(address);
    }
    const { signature } = dataOf(await post(path(walletId, "/sign"), { message: "" }));
    expect(await recoverMessageAddress({ message: "", signature: signature as "0x" })).toBe(address);
  });

  it("typed data signs it, and passes it on as it was written", async () => {
    const { address } = await made();
    const reply = await post(path(address, "/sign"), { typedData: PERMIT });
    const { signature, kind } = dataOf(reply);
    expect([reply.status, kind]).toEqual([200, "typedData"]);
    const { EIP712Domain: _, ...types } = PERMIT.types;
    const data = { types, primaryType: "Note", domain: PERMIT.domain, message: { text: "hello", count: 7n } } as const;
    expect(await recoverTypedDataAddress({ ...data, signature: signature as "0x" })).toBe(address);
    const text =
      '{ "big": 115792089237316195423570985008687907853269984665640564039457584007913129639935 , "s":"}\\"" }';
    await post(path(address, "/sign"), `{"typedData" : ${text} , "message":null}`);
    expect(wallets.signs.at(-1)?.request).toEqual({ kind: "typedData", text });
  });

  it("a digest asks the co-signer, whose policy refuses it", async () => {
    const { walletId } = await made();
    const reply = await post(path(walletId, "/sign"), { digest: `0x${"ab".repeat(32)}` });
    expect(shown(reply)).toEqual([403, "POLICY_REFUSED", "The signer's policy refuses this"]);
    expect(detailsOf(reply)).toEqual({ rule: "digest" });
    const details = { kind: "digest", code: "POLICY_REFUSED", rule: "digest" };
    expect(acts.rows).toEqual([
      { who: ALICE.keyId, what: "wallet.sign", subject: walletId, outcome: "refused", details },
    ]);
  });

  it.each<[ErrorCode, number, string, string]>([
    ["POLICY_REFUSED", 403, "The signer's policy refuses this", "refused"],
    ["DESTINATION_NOT_ALLOWED", 403, "The signer's policy does not allow this destination", "refused"],
    ["WALLET_FROZEN", 423, "The wallet is frozen; an operator must act", "refused"],
    ["SIGNER_UNAVAILABLE", 503, "The signer is unavailable; nothing was signed", "failed"],
    ["RESTORED_STORE", 503, "A store was restored from a backup; an operator must act first", "refused"],
    ["FAILED_TO_SIGN", 500, "Failed to sign message", "failed"],
  ])("that ends in %s is %i, and is written down", async (code, status, text, outcome) => {
    const { walletId } = await made();
    wallets.refusal = new ServiceError(code, code === "SIGNER_UNAVAILABLE" ? { retryAfterMs: 2_500 } : {});
    const reply = await post(path(walletId, "/sign"), { message: "m" });
    expect(shown(reply)).toEqual([status, code, text]);
    expect(reply.headers["retry-after"]).toBe(code === "SIGNER_UNAVAILABLE" ? "3" : undefined);
    const details = { kind: "message", code };
    expect(acts.rows).toEqual([{ who: ALICE.keyId, what: "wallet.sign", subject: walletId, outcome, details }]);
  });

  it("that meets a fault of ours is 500 without its text", async () => {
    const { walletId } = await made();
    wallets.refusal = new TypeError("share 0xdeadbeef is no number");
    const reply = await post(path(walletId, "/sign"), { message: "m" });
    expect(shown(reply)).toEqual([500, "FAILED_TO_SIGN", "Failed to sign message"]);
    expect(reply.text + harness.logLines.join("")).not.toContain("deadbeef");
    expect(acts.rows).toMatchObject([{ outcome: "failed" }]);
  });

  it("with typed data that the signers cannot read in one way is 400 and no row: nothing was asked of them", async () => {
    const { walletId } = await made();
    wallets.refusal = new ServiceError("INVALID_PARAMETERS", {
      fields: [{ path: "typedData", problem: "has no domain" }],
    });
    const reply = await post(path(walletId, "/sign"), { typedData: {} });
    expect([reply.status, detailsOf(reply)["fields"]]).toEqual([
      400,
      [{ path: "typedData", problem: "has no domain" }],
    ]);
    expect(acts.rows).toEqual([]);
  });

  it("with a frozen wallet is 423, and its look-up says FROZEN", async () => {
    const { walletId } = await made();
    wallets.setState(walletId ?? "", "FROZEN");
    expect(shown(await post(path(walletId, "/sign"), { message: "m" }))[1]).toBe("WALLET_FROZEN");
    expect(fieldsOf(await get(path(walletId)))["state"]).toBe("FROZEN");
  });

  it("gives out no signature without its row", async () => {
    const { walletId } = await made();
    acts.isBroken = true;
    const reply = await post(path(walletId, "/sign"), { message: "m" }, { key: "no-row" });
    expect(shown(reply)).toEqual([503, "STORE_UNAVAILABLE", "The state store is unavailable; nothing was sent"]);
    expect(reply.text).not.toMatch(/0x[0-9a-f]{130}/);
    acts.isBroken = false;
    expect((await post(path(walletId, "/sign"), { message: "m" }, { key: "no-row" })).status).toBe(200);
  });

  it("leaves nothing of what was signed, and no signature, in the log", async () => {
    const { walletId } = await made();
    const { signature = "?" } = dataOf(await post(path(walletId, "/sign"), { message: "a secret agreement" }));
    const log = harness.logLines.join("\n");
    expect(log).not.toContain("a secret agreement");
    expect(log).not.toContain(signature);
    expect(JSON.stringify(acts.rows)).not.toContain("agreement");
  });
});

describe("what cannot be signed", () => {
  const both = (path: string) => ({ path, problem: "must not be there beside message" });
  it.each([
    ["nothing", {}, [{ path: "message", problem: "one of message, messageHex and typedData is required" }]],
    ["nothing but nulls", { message: null, typedData: null }, [{ path: "message", problem: expect.any(String) }]],
    ["message and typed data", { message: "m", typedData: {} }, [both("typedData")]],
    [
      "message, also as hex",
      { message: "", messageHex: "0x", digest: `0x${"00".repeat(32)}` },
      [both("messageHex"), both("digest")],
    ],
    ["a number", { message: 7 }, [{ path: "message", problem: "must be a string" }]],
    ["half of a pair", { message: "a\ud83d" }, [{ path: "message", problem: "must be well-formed Unicode" }]],
    [
      "odd hex",
      { messageHex: "0xabc" },
      [{ path: "messageHex", problem: "must be 0x and an even number of hex digits" }],
    ],
    [
      "hex without 0x",
      { messageHex: "abcd" },
      [{ path: "messageHex", problem: "must be 0x and an even number of hex digits" }],
    ],
    [
      "hex with another letter",
      { messageHex: "0xzz" },
      [{ path: "messageHex", problem: "must be 0x and an even number of hex digits" }],
    ],
    ["typed data as text", { typedData: "{}" }, [{ path: "typedData", problem: "must be an object" }]],
    ["typed data as a list", { typedData: [] }, [{ path: "typedData", problem: "must be an object" }]],
    ["a short digest", { digest: "0xab" }, [{ path: "digest", problem: "must be 0x and 64 hex digits" }]],
    ["a transaction", { transaction: {} }, [{ path: "transaction", problem: "is not a field of this request" }]],
  ])("%s is 400 by its field, before the wallet is looked for", async (_, body, fields) => {
    const reply = await post(path("of nobody", "/sign"), body);
    expect([reply.status, detailsOf(reply)["fields"]]).toEqual([400, fields]);
    expect(wallets.signs).toEqual([]);
  });

  it("65,536 bytes of a message are signed, one more is 400; so with hex and typed data", async () => {
    const { walletId } = await made();
    const typed = (length: number) => `{"a":"${"x".repeat(length - 8)}"}`;
    const bodies = (length: number) => [
      JSON.stringify({ message: "é".repeat(length / 2) + (length % 2 === 1 ? "x" : "") }),
      JSON.stringify({ messageHex: `0x${"ab".repeat(length)}` }),
      `{"typedData": ${typed(length)} }`,
    ];
    for (const body of bodies(65_536).slice(0, 2)) expect((await post(path(walletId, "/sign"), body)).status).toBe(200);
    // The double cannot read it; that it was asked is what shows.
    wallets.refusal = new ServiceError("POLICY_REFUSED");
    expect((await post(path(walletId, "/sign"), bodies(65_536)[2])).status).toBe(403);
    wallets.refusal = null;
    const count = wallets.signs.length;
    for (const body of bodies(65_537)) {
      const reply = await post(path(walletId, "/sign"), body);
      expect([reply.status, fieldsOf(reply)["code"]]).toEqual([400, "INVALID_PARAMETERS"]);
    }
    expect(wallets.signs).toHaveLength(count);
  });

  it("a body beyond the service's bound is 413, no JSON 400, and another media type 415", async () => {
    const { walletId } = await made();
    expect((await post(path(walletId, "/sign"), `{"message":"${"x".repeat(BODY_BYTES_MAX)}"}`)).status).toBe(413);
    expect(shown(await post(path(walletId, "/sign"), '{"message":"m"'))[1]).toBe("INVALID_JSON");
    expect(shown(await post(path(walletId, "/sign"), '{"typedData":{"a":1,"a":2}}'))[1]).toBe("INVALID_JSON");
    const target = path(walletId, "/sign");
    const headers = signed(ALICE, { method: "POST", target, body: "{}", timestamp: freshMs() });
    const typed = { ...headers, "content-type": "text/plain" };
    expect((await harness.client.send(target, { method: "POST", headers: typed, body: "{}" })).status).toBe(415);
  });
});

describe("an Idempotency-Key", () => {
  it("of a creation answers the wallet again, and no second one is made", async () => {
    const [first, again] = [
      await post("/api/wallets", { userId: "keyed" }, { key: "create-1" }),
      await post("/api/wallets", { userId: "keyed" }, { key: "create-1" }),
    ];
    expect([first.status, again.status, first.headers["idempotent-replayed"]]).toEqual([200, 200, undefined]);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    const { timestamp: _, ...left } = fieldsOf(first);
    expect(fieldsOf(again)).toMatchObject(left);
    expect(wallets.creates).toEqual(["keyed"]);
    expect(acts.rows).toHaveLength(1);
    expect(shown(await post("/api/wallets", { userId: "keyed" }, { key: "create-2" }))[1]).toBe("WALLET_EXISTS");
    expect(shown(await post("/api/wallets", { userId: "keyed" }))[1]).toBe("WALLET_EXISTS");
  });

  it("of a signature answers the same signature, asked of the signers once", async () => {
    const { walletId } = await made();
    const sign = (message: string) => post(path(walletId, "/sign"), { message }, { key: "sign-1" });
    const first = dataOf(await sign("m"));
    const again = await sign("m");
    expect([dataOf(again), again.headers["idempotent-replayed"]]).toEqual([first, "true"]);
    expect([wallets.signs.length, acts.rows.length]).toEqual([1, 1]);
    expect(shown(await sign("other"))).toEqual([
      422,
      "IDEMPOTENCY_MISMATCH",
      "This Idempotency-Key was used with another request body",
    ]);
  });

  it("is of one route and one wallet, and of one owner", async () => {
    const [one, two] = [await made(), await made()];
    const body = { message: "m" };
    expect((await post(path(one["walletId"], "/sign"), body, { key: "mine" })).status).toBe(200);
    expect(shown(await post(path(two["walletId"], "/sign"), body, { key: "mine" }))[1]).toBe("IDEMPOTENCY_MISMATCH");
    expect(shown(await post("/api/wallets", { userId: "mine" }, { key: "mine" }))[1]).toBe("IDEMPOTENCY_MISMATCH");
    const his = await made(BOB_SIGNS);
    const reply = await post(path(his["walletId"], "/sign"), body, { by: BOB_SIGNS, key: "mine" });
    expect([reply.status, reply.headers["idempotent-replayed"]]).toEqual([200, undefined]);
  });

  it("whose request is running is 409", async () => {
    let open = (): void => {};
    wallets.gate = new Promise((resolve) => {
      open = resolve;
    });
    const running = post("/api/wallets", { userId: "slow" }, { key: "slow" });
    await expect.poll(() => wallets.creates).toEqual(["slow"]);
    const second = await post("/api/wallets", { userId: "slow" }, { key: "slow" });
    expect(shown(second)[1]).toBe("IDEMPOTENCY_IN_PROGRESS");
    expect(shown(await post("/api/wallets", { userId: "other" }, { key: "slow" }))[1]).toBe("IDEMPOTENCY_MISMATCH");
    open();
    expect((await running).status).toBe(200);
  });

  it("keeps no refusal: a retry asks again", async () => {
    wallets.refusal = new ServiceError("SIGNER_UNAVAILABLE");
    const create = () => post("/api/wallets", { userId: "later" }, { key: "later" });
    expect((await create()).status).toBe(503);
    wallets.refusal = null;
    const reply = await create();
    expect([reply.status, reply.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect(wallets.creates).toEqual(["later", "later"]);
  });

  it.each([
    ["", "must not be empty"],
    ["x".repeat(256), "must have at most 255 characters"],
    ["a b", "must be visible ASCII characters without spaces"],
  ])("that is none (%s) is refused by name", async (key, problem) => {
    const reply = await post("/api/wallets", { userId: "no key" }, { key });
    expect([reply.status, JSON.stringify(detailsOf(reply)["fields"])]).toEqual([
      400,
      expect.stringMatching(key.length > 255 ? /Idempotency-Key/i : new RegExp(problem)),
    ]);
    expect(wallets.creates).toEqual([]);
  });
});

describe("the client of the API", () => {
  /** `lostReplies`: how many replies to writes never arrive. */
  function client(lostReplies: number) {
    let left = lostReplies;
    return createApiClient({
      baseUrl: harness.server.url,
      keys: { apiKey: ALICE.keyId, secret: ALICE.secret },
      random: () => 0,
      async fetch(url, request) {
        const reply = await systemFetch(url, request);
        if (request.method === "POST" && left-- > 0) throw new TypeError("connection lost");
        return reply;
      },
    });
  }

  it("repeats a creation with a key whose reply was lost, and gets that wallet", async () => {
    const body = { userId: "by the client" };
    const result = await client(1).call("walletCreate", { body, idempotencyKey: "client-1" });
    expect(result).toMatchObject({ ok: true, data: { userId: "by the client", state: "ACTIVE" } });
    expect(wallets.creates).toEqual(["by the client"]);
  });

  it("repeats none without a key: its outcome is unknown", async () => {
    const result = await client(1).call("walletCreate", { body: { userId: "once" } });
    expect(result).toMatchObject({ ok: false, outcome: "unknown" });
    expect(wallets.creates).toEqual(["once"]);
  });

  it("signs, looks up and lists by the types of the table, with a user id that has a slash", async () => {
    const { userId, address } = await made(ALICE, "team/42");
    const api = client(0);
    const parameters = { walletIdOrAddress: userId ?? "" };
    const signature = await api.call("walletSign", { parameters, body: { message: "m" }, idempotencyKey: "client-2" });
    expect(signature).toMatchObject({ ok: true, data: { address, kind: "message" } });
    expect(await api.call("wallet", { parameters })).toMatchObject({ ok: true, data: { address, exchanges: [] } });
    const listed = await api.call("walletList", { query: { limit: 1 } });
    expect(listed.ok && listed.data.wallets).toHaveLength(1);
  });
});

describe("scopes", () => {
  it("`read` looks up and lists, `sign` makes and signs, and no other does", async () => {
    const { walletId } = await made();
    const refused = [
      await post("/api/wallets", { userId: "no scope" }, { by: ALICE_READS }),
      await post(path(walletId, "/sign"), { message: "m" }, { by: ALICE_TRADES }),
      await get(path(walletId), ALICE_TRADES),
      await get("/api/wallets", ALICE_TRADES),
    ];
    for (const reply of refused) expect(shown(reply)[1]).toBe("SCOPE_MISSING");
    expect((await get(path(walletId), ALICE_READS)).status).toBe(200);
    expect([wallets.creates, wallets.signs]).toEqual([[expect.any(String)], []]);
  });
});

describe("the service's own state", () => {
  const status = async (by: TestKey) => dataOf(await get("/api/status", by))["custody"];

  it("names the co-signer's part to keys that may see it", async () => {
    const admin = { ...ALICE, keyId: "pk_admin", secret: "sk_secret_of_admin" };
    await made();
    expect(await status(ALICE)).toBeUndefined();
    expect(await status(admin)).toMatchObject({
      problem: null,
      lost: 0,
      sessions: { dropped: 3, failed: { refused: 2 } },
    });
    wallets.problem = "UNREACHABLE";
    const ready = await harness.client.get("/ready");
    wallets.problem = null;
    expect(ready.status).toBe(503);
    const parts = detailsOf(ready)["components"] as Fields[];
    expect(parts.find(({ name }) => name === "cosigner")).toEqual({
      name: "cosigner",
      ready: false,
      detail: "UNREACHABLE: not reachable",
    });
    expect((await harness.client.get("/ready")).status).toBe(200);
  });

  it("has no wallet routes and no such parts without a provider", async () => {
    const bare = await startHarness({ auth: createTestAuth() });
    opened.push(bare);
    const target = "/api/wallets";
    const reply = await bare.client.send(target, { headers: signed(ALICE, { target }) });
    expect([reply.status, fieldsOf(reply)["code"]]).toEqual([404, "NOT_FOUND"]);
    const ready = fieldsOf(await bare.client.get("/ready"))["parts"] as Fields[];
    expect(ready.map(({ name }) => name)).not.toContain("cosigner");
  });
});
