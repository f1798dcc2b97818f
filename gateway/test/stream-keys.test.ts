/** Keys on the stream, over real sockets: proofs, tickets, scopes, revocation, connections without a key. */
import { afterEach, describe, expect, it } from "vitest";
import type { StreamLimits } from "../stream/limits.js";
import type { Frame } from "../stream/test/frame-judge.js";
import { StreamClient } from "../stream/test/stream-client.js";
import { type Harness, startHarness } from "./harness.js";
import {
  ALICE,
  ALICE_READS,
  ALICE_TRADES,
  BOB,
  createTestAuth,
  LOCAL_ONLY,
  ONLY_ADMIN,
  REVOKED,
  signed,
  type TestAuth,
  type TestAuthOptions,
  type TestKey,
} from "./test-keys.js";

const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const POSITIONS = { topic: "positions", walletAddress: WALLET, exchanges: ["venueone"] };
const TICKER = { topic: "ticker", symbols: ["BTC"] };

let harness: Harness | null = null;
let clients: StreamClient[] = [];
afterEach(async () => {
  for (const client of clients) await client.stop();
  clients = [];
  await harness?.stop();
  harness = null;
});

async function start(stream: Partial<StreamLimits> = {}, keys: TestAuthOptions = {}): Promise<TestAuth> {
  const auth = createTestAuth(keys);
  harness = await startHarness({ auth, withPortfolio: true, server: { stream } });
  return auth;
}

function running(): Harness {
  if (harness === null) throw new Error("not started");
  return harness;
}

async function open(): Promise<StreamClient> {
  const client = await StreamClient.open(running().server.port);
  clients.push(client);
  return client;
}

let lastMs = 0;
function claim(by: TestKey, secret = by.secret): Record<string, unknown> {
  lastMs = Math.max(lastMs + 1, Date.now());
  const headers = signed({ ...by, secret }, { target: "/ws", timestamp: lastMs });
  return { op: "auth", apiKey: by.keyId, timestamp: lastMs, signature: headers["x-api-signature"] };
}

async function opened(by: TestKey): Promise<StreamClient> {
  const client = await open();
  expect((await client.ask(claim(by))).type).toBe("authenticated");
  return client;
}

async function ticketOf(by: TestKey): Promise<string> {
  lastMs = Math.max(lastMs + 1, Date.now());
  const target = "/api/stream/ticket";
  const headers = signed(by, { method: "POST", target, timestamp: lastMs });
  const reply = await running().client.send(target, { method: "POST", headers });
  return (reply.body as unknown as { data: { ticket: string } }).data.ticket;
}

const codes = ({ type, code }: Frame) => [type, code];

describe("a connection in signed mode", () => {
  it("needs a key for accounts, and none for the market", async () => {
    await start();
    const client = await open();
    expect((await client.subscribe(TICKER)).type).toBe("subscribed");
    expect(codes(await client.ask({ op: "subscribe", ...POSITIONS }))).toEqual(["error", "AUTH_REQUIRED"]);
    expect(codes(await client.ask({ op: "cancelOnDisconnect", credentials: {} }))).toEqual(["error", "AUTH_REQUIRED"]);
    const accepted = await client.ask(claim(ALICE));
    expect(accepted).toMatchObject({ type: "authenticated", scopes: ["read", "trade", "transfer", "sign"] });
    expect((await client.ask({ op: "subscribe", ...POSITIONS })).type).toBe("subscribed");
  });

  it("needs the scope for it too: read for accounts, trade for switches, and admin is neither", async () => {
    await start();
    const trades = await opened(ALICE_TRADES);
    expect(codes(await trades.ask({ op: "subscribe", ...POSITIONS }))).toEqual(["error", "SCOPE_MISSING"]);
    const reads = await opened(ALICE_READS);
    expect(codes(await reads.ask({ op: "cancelOnDisconnect", credentials: {} }))).toEqual(["error", "SCOPE_MISSING"]);
    const admin = await opened(ONLY_ADMIN);
    expect(codes(await admin.ask({ op: "subscribe", ...POSITIONS }))).toEqual(["error", "SCOPE_MISSING"]);
    expect(await admin.ask({ op: "ping" })).toMatchObject({ type: "pong" });
  });

  it.each([
    ["a wrong signature", () => claim(ALICE, "sk_wrong"), "AUTH_BAD_SIGNATURE"],
    ["an unknown key", () => claim({ ...ALICE, keyId: "pk_nobody" }), "AUTH_UNKNOWN_KEY"],
    ["a revoked key", () => claim(REVOKED), "KEY_REVOKED"],
    ["a key of another address", () => claim(LOCAL_ONLY), "IP_NOT_ALLOWED"],
    ["an old signature", () => ({ ...claim(ALICE), timestamp: 1 }), "AUTH_TIMESTAMP_OUT_OF_WINDOW"],
    ["a ticket that was never given", () => ({ op: "auth", ticket: "st_none" }), "AUTH_BAD_TICKET"],
  ])("ends with 4401 for %s", async (_, frame, code) => {
    await start();
    const client = await open();
    const answer = await client.ask(frame());
    expect([...codes(answer), typeof answer.details["serverTime"]]).toEqual(["error", code, "number"]);
    if (code === "AUTH_BAD_SIGNATURE") expect(answer.details["prehashSha256"]).toMatch(/^[0-9a-f]{64}$/);
    expect(await client.closed).toEqual({ code: 4401, reason: "AUTH_FAILED" });
  });

  it("accepts a signature once, and keeps its key when a second one is shown", async () => {
    await start();
    const first = await open();
    const frame = claim(ALICE);
    expect((await first.ask(frame)).type).toBe("authenticated");
    const again = await first.ask(claim(BOB));
    expect(codes(again)).toEqual(["error", "NOT_SUPPORTED"]);
    expect((await first.ask({ op: "subscribe", ...POSITIONS })).type).toBe("subscribed");
    const other = await open();
    expect(codes(await other.ask(frame))).toEqual(["error", "AUTH_REPLAY"]);
    expect((await other.closed).code).toBe(4401);
  });

  it("takes a frame that is malformed for no proof, and stays open", async () => {
    await start();
    const client = await open();
    const whole = claim(ALICE);
    for (const [frame, code] of [
      [{ op: "auth" }, "MISSING_PARAMETERS"],
      [{ ...whole, signature: "a".repeat(129) }, "INVALID_PARAMETERS"],
      [{ ...whole, apiKey: "k".repeat(129) }, "INVALID_PARAMETERS"],
      [{ ...whole, timestamp: String(whole["timestamp"]) }, "INVALID_PARAMETERS"],
      [{ ...whole, timestamp: -1 }, "INVALID_PARAMETERS"],
      [{ ...whole, ticket: "st_1" }, "INVALID_PARAMETERS"],
      [{ op: "auth", ticket: "t".repeat(129) }, "INVALID_PARAMETERS"],
    ] as const)
      expect([frame, ...codes(await client.ask(frame))]).toEqual([frame, "error", code]);
    expect((await client.ask(whole)).type).toBe("authenticated");
  });

  it("opens with a ticket of its key, once", async () => {
    await start();
    const ticket = await ticketOf(ALICE_READS);
    const client = await open();
    expect(await client.ask({ op: "auth", ticket })).toMatchObject({ type: "authenticated", scopes: ["read"] });
    const other = await open();
    expect(codes(await other.ask({ op: "auth", ticket }))).toEqual(["error", "AUTH_BAD_TICKET"]);
  });

  it("is ended where it asked for what needs a key and proves none in time, and one that did not ask stays", async () => {
    await start({ authDeadlineMs: 1 });
    const [silent, asking] = [await open(), await open()];
    const asked = await asking.ask({ op: "subscribe", ...POSITIONS });
    expect(codes(asked)).toEqual(["error", "AUTH_REQUIRED"]);
    expect(await asking.closed).toEqual({ code: 4401, reason: "AUTH_FAILED" });
    expect((await silent.ask({ op: "subscribe", ...TICKER })).type).not.toBe("error");
  });

  it("shares no key text with another owner's, whatever credentials both send", async () => {
    await start();
    const [alice, also, bob] = [await opened(ALICE), await opened(ALICE_READS), await opened(BOB)];
    const subOf = async (client: StreamClient) => {
      const answer = await client.ask({ op: "subscribe", ...POSITIONS });
      return answer.subs[0];
    };
    const [first, second, stranger] = [await subOf(alice), await subOf(also), await subOf(bob)];
    expect(second?.sub).toBe(first?.sub);
    expect(stranger?.sub).not.toBe(first?.sub);
    const stolen = { sub: first?.sub, epoch: first?.epoch, seq: 0, exchanges: ["venueone"] };
    expect(codes(await bob.ask({ op: "resume", subs: [stolen] }))).toEqual(["error", "UNKNOWN_SUBSCRIPTION"]);
    const nobody = await open();
    expect(codes(await nobody.ask({ op: "resume", subs: [stolen] }))).toEqual(["error", "AUTH_REQUIRED"]);
  });

  it("handles in order what its client sent before its proof was settled", async () => {
    const auth = await start();
    let settle = (): void => {};
    auth.settleWith(
      new Promise((resolve) => {
        settle = resolve;
      }),
    );
    const client = await open();
    const answers = Promise.all([
      client.ask(claim(ALICE)),
      client.ask({ op: "subscribe", ...POSITIONS }),
      client.ask({ op: "ping" }),
    ]);
    const other = await open();
    expect(await other.ask({ op: "ping" })).toMatchObject({ type: "pong" });
    expect(client.frames).toEqual([]);
    settle();
    expect((await answers).map(({ type }) => type)).toEqual(["authenticated", "subscribed", "pong"]);
  });
});

describe("the revocation of a key", () => {
  it("ends every connection of the key at once, and no other", async () => {
    const auth = await start();
    const mine = [await opened(ALICE), await opened(ALICE)];
    const byTicket = await open();
    await byTicket.ask({ op: "auth", ticket: await ticketOf(ALICE) });
    const others = [await opened(ALICE_READS), await opened(BOB), await open()];
    auth.revoke(ALICE.keyId);
    for (const client of [...mine, byTicket]) {
      expect(await client.closed).toEqual({ code: 4401, reason: "KEY_REVOKED" });
      expect(client.frames.at(-1)).toMatchObject({ type: "error", code: "KEY_REVOKED" });
    }
    for (const client of others) expect(await client.ask({ op: "ping" })).toMatchObject({ type: "pong" });
  });

  it("makes its tickets useless", async () => {
    const auth = await start();
    const ticket = await ticketOf(ALICE);
    auth.revoke(ALICE.keyId);
    const client = await open();
    expect(codes(await client.ask({ op: "auth", ticket }))).toEqual(["error", "AUTH_BAD_TICKET"]);
  });
});

describe("connections without a key", () => {
  it("are five of one address: the sixth gets 1013, and a proven one makes room", async () => {
    await start();
    const five = [];
    for (let index = 0; index < 5; index++) five.push(await open());
    const sixth = await open();
    expect(await sixth.closed).toEqual({ code: 1013, reason: "TOO_MANY_UNAUTHENTICATED" });
    expect(sixth.frames.at(-1)).toMatchObject({
      type: "status",
      reason: "TOO_MANY_UNAUTHENTICATED",
      retryAfterMs: expect.any(Number),
    });
    expect((await five[0]?.ask(claim(ALICE)))?.type).toBe("authenticated");
    const next = await open();
    expect(await next.ask({ op: "ping" })).toMatchObject({ type: "pong" });
    await five[1]?.stop();
    while (running().server.streamCounts.connections > 5) await new Promise((resolve) => setImmediate(resolve));
    expect(await (await open()).ask({ op: "ping" })).toMatchObject({ type: "pong" });
  });

  it("are not counted in public mode", async () => {
    await start({}, { mode: "public" });
    for (let index = 0; index < 8; index++)
      expect(await (await open()).ask({ op: "ping" })).toMatchObject({ type: "pong" });
  });
});

describe("a key", () => {
  it("has so many connections and no more: the next gets 1013, and another key's is open", async () => {
    await start({ connectionsPerKeyMax: 2 });
    await opened(ALICE);
    await opened(ALICE);
    const third = await open();
    third.raw(JSON.stringify(claim(ALICE)));
    expect(await third.closed).toEqual({ code: 1013, reason: "TOO_MANY_CONNECTIONS" });
    await opened(BOB);
  });
});

describe("a flood", () => {
  it("of auth frames on one connection is over at its rate, and costs no digest after the first", async () => {
    const auth = await start();
    const client = await opened(ALICE);
    const digests = auth.digestCount();
    for (let index = 0; index < 40; index++) client.raw(JSON.stringify(claim(ALICE)));
    expect((await client.closed).code).toBe(4429);
    expect(auth.digestCount()).toBe(digests);
  });

  it("of wrong proofs over many connections is paid for by the address, and refused before it costs a digest", async () => {
    const rule = { perSecond: 1 / 3600, burst: 3 };
    const many = { perSecond: 1, burst: 10_000 };
    const auth = createTestAuth();
    const rateLimits = { read: many, trade: many, exit: many, transfer: many, anon: rule };
    harness = await startHarness({ auth, withPortfolio: true, server: { rateLimits } });
    const seen = [];
    for (let index = 0; index < 5; index++) {
      const client = await open();
      const answer = await client.ask(claim({ ...BOB, keyId: "pk_nobody" }));
      seen.push([answer.code, (await client.closed).code]);
    }
    expect(seen).toEqual([
      ...Array.from({ length: 3 }, () => ["AUTH_UNKNOWN_KEY", 4401]),
      ...Array.from({ length: 2 }, () => ["RATE_LIMITED", 4429]),
    ]);
    expect(auth.digestCount()).toBe(3);
    await opened(BOB);
  });

  it("of private subscribes without a key is refused one by one, until its rate ends it", async () => {
    await start();
    const client = await open();
    for (let index = 0; index < 40; index++) client.raw(JSON.stringify({ op: "subscribe", ...POSITIONS }));
    expect((await client.closed).code).toBe(4429);
    expect(running().server.streamCounts).toMatchObject({ keys: 0, subscriptions: 0 });
  });
});

describe("connections without a key that subscribe to all that there is", () => {
  it("leave room for the keys of the stream that a key holder needs", async () => {
    await start({ keysMax: 4 });
    const stranger = await open();
    const answers: unknown[] = [];
    for (const intervalMs of [0, 50, 100, 250, 1000])
      answers.push(codes(await stranger.ask({ op: "subscribe", ...TICKER, intervalMs })));
    expect(answers.at(-1)).toEqual(["error", "OVERLOADED"]);
    const holder = await opened(ALICE);
    expect(codes(await holder.ask({ op: "subscribe", ...POSITIONS }))).toEqual(["subscribed", undefined]);
  });

  it("leave room for the price levels of a key holder's books", async () => {
    await start({ levelsMax: 40 });
    const book = { op: "subscribe", topic: "book", symbols: ["BTC"], exchanges: ["venueone"], depth: 10 };
    const stranger = await open();
    const answers: unknown[] = [];
    for (const intervalMs of [0, 50, 100]) answers.push(codes(await stranger.ask({ ...book, intervalMs })));
    expect(answers.at(-1)).toEqual(["error", "OVERLOADED"]);
    const holder = await opened(ALICE);
    expect(codes(await holder.ask({ ...book, intervalMs: 1000 }))).toEqual(["subscribed", undefined]);
  });
});
