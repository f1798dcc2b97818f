/** The proof of a key that each connection begins with, and what waits for it. */
import { describe, expect, it } from "vitest";
import { ticketStreamKey } from "../api/stream-key.js";
import { KEY, snapshot, TICKER } from "../test/scenario.js";
import { createVirtualTime, FakeSocket } from "../test/virtual.js";
import { StreamClient, type StreamClaim } from "./stream-client.js";

const POSITIONS = { topic: "positions", walletAddress: "0x1", credentials: {} } as const;
const PRIVATE_KEY = "positions:0x1#s";
const SERVER_MS = 1_790_000_000_000;

function setUp() {
  const time = createVirtualTime();
  const sockets: FakeSocket[] = [];
  const refused: [code: string, serverTimeMs: number | null][] = [];
  const made: { resolve(claim: StreamClaim | null): void; reject(): void }[] = [];
  const client = new StreamClient({
    url: "ws://test/ws",
    clock: time,
    random: () => 0,
    openSocket: (_, events) => {
      const socket = new FakeSocket(events);
      sockets.push(socket);
      return socket;
    },
    key: {
      claim: () =>
        new Promise((resolve, reject) => made.push({ resolve, reject: () => reject(new Error("cannot sign")) })),
      refused: (code, serverTimeMs) => refused.push([code, serverTimeMs]),
    },
  });
  client.subscribe(TICKER, { changed: () => {} });
  client.subscribe(POSITIONS, { changed: () => {} });
  client.start();
  const socket = () => sockets.at(-1) as FakeSocket;
  const claims = () => made.length;
  /** The newest claim is there. */
  async function claim(
    is: StreamClaim | null = { apiKey: "pk", timestamp: SERVER_MS, signature: "00" },
  ): Promise<void> {
    made.at(-1)?.resolve(is);
    await Promise.resolve();
    await Promise.resolve();
  }
  /** Time passes until the next socket is there; false where none comes. */
  function reconnects(): boolean {
    const before = sockets.length;
    for (let waitedMs = 0; sockets.length === before && waitedMs < 60_000; waitedMs += 250) time.advance(250);
    return sockets.length > before;
  }
  return { time, sockets, socket, client, refused, made, claims, claim, reconnects };
}

/** Open and proven, both subscriptions held. */
async function proven() {
  const set = setUp();
  set.socket().opened();
  await set.claim();
  const [auth, ticker] = set.socket().take();
  set.socket().says({ type: "subscribed", id: ticker?.id, subs: [{ sub: KEY, epoch: "e1", seq: 0 }] });
  set.socket().says(snapshot());
  set.socket().says({ type: "authenticated", id: auth?.id, scopes: ["read"] });
  const [positions] = set.socket().take();
  set.socket().says({ type: "subscribed", id: positions?.id, subs: [{ sub: PRIVATE_KEY, epoch: "e1", seq: 0 }] });
  const data = { positions: [], coverage: {} };
  set.socket().says({ type: "snapshot", sub: PRIVATE_KEY, epoch: "e1", seq: 1, ts: SERVER_MS, data });
  return set;
}

describe("a connection that proves a key", () => {
  it("sends the claim first, then what is public, and what is private once the key is proven", async () => {
    const set = setUp();
    set.socket().opened();
    expect(set.socket().take()).toEqual([]);
    await set.claim();
    const first = set.socket().take();
    expect(first).toMatchObject([
      { op: "auth", apiKey: "pk", timestamp: SERVER_MS, signature: "00" },
      { op: "subscribe", topic: "ticker" },
    ]);
    set.time.advance(1_000);
    expect(set.socket().take()).toEqual([]);
    set.socket().says({ type: "authenticated", id: first[0]?.id, scopes: ["read"] });
    expect(set.socket().take()).toMatchObject([{ op: "subscribe", topic: "positions" }]);
  });

  it("makes a new claim on each connection before private subscriptions are resumed", async () => {
    const set = await proven();
    set.socket().cut();
    expect(set.reconnects()).toBe(true);
    set.socket().opened();
    expect(set.socket().take()).toEqual([]);
    expect(set.claims()).toBe(2);
    await set.claim({ apiKey: "pk", timestamp: SERVER_MS + 1, signature: "01" });
    const ops = set.socket().take();
    expect(ops).toMatchObject([
      { op: "auth", timestamp: SERVER_MS + 1, signature: "01" },
      { op: "resume", subs: [{ sub: KEY }] },
    ]);
    set.socket().says({ type: "authenticated", id: ops[0]?.id, scopes: ["read"] });
    expect(set.socket().take()).toMatchObject([{ op: "resume", subs: [{ sub: PRIVATE_KEY }] }]);
  });

  it("sends everything at once where there is no key", async () => {
    const set = setUp();
    set.socket().opened();
    await set.claim(null);
    expect(set.socket().take()).toMatchObject([{ topic: "ticker" }, { topic: "positions" }]);
  });

  it("sends a ticket where one takes the place of the key", async () => {
    const key = ticketStreamKey(async () => ({
      ok: true,
      data: { ticket: "st_1", expiresAt: 1 },
      status: 200,
      serverMs: null,
      requestId: null,
    }));
    const set = setUp();
    set.socket().opened();
    await set.claim(await key.claim());
    expect(set.socket().take()[0]).toMatchObject({ op: "auth", ticket: "st_1" });
  });

  it("does not give a late claim to another connection", async () => {
    const set = setUp();
    set.socket().opened();
    const [late] = set.made;
    set.socket().cut();
    set.reconnects();
    set.socket().opened();
    late?.resolve({ apiKey: "pk", timestamp: 1, signature: "late" });
    await Promise.resolve();
    expect(set.sockets.map((socket) => socket.take())).toEqual([[], []]);
  });

  it("is given up, and tried again, where no claim can be made or no reply to it comes", async () => {
    const set = setUp();
    set.socket().opened();
    set.made[0]?.reject();
    await Promise.resolve();
    await Promise.resolve();
    expect([set.socket().closedWith, set.client.status.phase]).toEqual([4000, "waiting"]);
    expect(set.reconnects()).toBe(true);
    set.socket().opened();
    await set.claim();
    const unanswered = set.socket();
    set.time.advance(10_250);
    expect(unanswered.closedWith).toBe(4000);
  });
});

describe("a refused key", () => {
  const refuse = (set: ReturnType<typeof setUp>, code: string, details: object = {}) => {
    const [auth] = set.socket().take();
    set.socket().says({ type: "error", id: auth?.id, code, error: `refused: ${code}`, details });
  };

  it.each(["AUTH_UNKNOWN_KEY", "AUTH_BAD_SIGNATURE", "KEY_REVOKED"])("ends reconnecting, and says %s", async (code) => {
    const set = setUp();
    set.socket().opened();
    await set.claim();
    refuse(set, code);
    set.socket().cut(4401);
    expect(set.reconnects()).toBe(false);
    expect(set.client.status).toMatchObject({ phase: "refused", refusal: { code, error: `refused: ${code}` } });
  });

  it("ends reconnecting where the service ends a proven connection by 4401", async () => {
    const set = await proven();
    set.socket().cut(4401);
    expect(set.reconnects()).toBe(false);
    expect(set.client.status).toMatchObject({ phase: "refused", reason: "closed 4401" });
  });

  it("is proven again by a claim of the right time, once", async () => {
    const set = setUp();
    const details = { serverTime: SERVER_MS };
    for (const isLast of [false, true]) {
      set.socket().opened();
      await set.claim();
      refuse(set, "AUTH_TIMESTAMP_OUT_OF_WINDOW", details);
      expect(set.refused.at(-1)).toEqual(["AUTH_TIMESTAMP_OUT_OF_WINDOW", SERVER_MS]);
      expect(set.reconnects()).toBe(!isLast);
    }
    expect(set.client.status.phase).toBe("refused");
  });

  it("is tried again when the client is started again, with another key", async () => {
    const set = setUp();
    set.socket().opened();
    await set.claim();
    refuse(set, "KEY_REVOKED");
    set.client.stop();
    set.client.start();
    set.socket().opened();
    await set.claim({ apiKey: "pk_2", timestamp: SERVER_MS, signature: "02" });
    const [auth] = set.socket().take();
    expect(auth).toMatchObject({ op: "auth", apiKey: "pk_2" });
    expect(set.client.status.refusal).toBeNull();
  });
});
