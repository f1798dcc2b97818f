/** `/ws` on a real loopback socket: control frames, streams, cadences, limits and the ways a connection ends. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { agentDigest, hashAction } from "../wire/signature.js";
import {
  addressOf,
  ALICE,
  type Bench,
  BOB,
  btc,
  FIELDS,
  KEYS,
  oidOf,
  orderAction,
  sign,
  startBench,
  statuses,
} from "./kit.js";

const RECORDED = (
  JSON.parse(readFileSync(new URL("../fixtures/recorded.json", import.meta.url), "utf8")) as {
    ws: Record<string, Frame>;
  }
).ws;

interface Frame {
  readonly channel: string;
  readonly data?: unknown;
}

interface Level {
  readonly px: string;
  readonly sz: string;
}
interface Book {
  readonly coin: string;
  readonly time: number;
  readonly fast?: boolean;
  readonly levels: readonly [readonly Level[], readonly Level[]];
}
interface Trade {
  readonly tid: number;
  readonly time: number;
}

/** The data of a frame, without a check of its type: the assertions are the check. */
function dataOf<T>(frame: Frame | undefined): T {
  return frame?.data as T;
}

/** A client that keeps every frame, and can wait for those still to come. */
class Client {
  readonly frames: Frame[] = [];
  /** Close code; 1006 for a cut. */
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  #wake: (() => void) | null = null;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    // A venue that drops a connection may reset it: the close event follows.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => socket.on("close", (code) => resolve(code)));
    socket.on("message", (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString("utf8")) as Frame);
      this.#wake?.();
    });
  }

  static async connect(url: string): Promise<Client> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Client(socket);
  }

  get socket(): WebSocket {
    return this.#socket;
  }

  send(frame: unknown): void {
    this.#socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** The next frame that fits, removed from the pile together with nothing else. */
  async next(channel: string, fits: (frame: Frame) => boolean = () => true): Promise<Frame> {
    for (;;) {
      const index = this.frames.findIndex((frame) => frame.channel === channel && fits(frame));
      const frame = this.frames[index];
      if (frame !== undefined) {
        this.frames.splice(index, 1);
        return frame;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Everything the venue has sent until it answers a ping: frames of one socket keep order. */
  async drain(): Promise<Frame[]> {
    this.send({ method: "ping" });
    await this.next("pong");
    return this.frames.splice(0);
  }

  async subscribe(subscription: object): Promise<Frame> {
    this.send({ method: "subscribe", subscription });
    return this.next("subscriptionResponse");
  }

  end(): void {
    this.#socket.terminate();
  }
}

let bench: Bench;
let client: Client;
beforeEach(async () => {
  bench = await startBench();
  client = await Client.connect(bench.sim.wsUrl);
});
afterEach(async () => {
  client.end();
  await bench.stop();
});

/** Keys and kinds, as in the recorded frame. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field)]));
}

describe("control frames", () => {
  it("answers a ping with a pong that has no data", async () => {
    client.send({ method: "ping" });
    expect(await client.next("pong")).toEqual(RECORDED.pong);
  });

  it("echoes a subscription normalized, before its first frame", async () => {
    client.send({ method: "subscribe", subscription: { fast: true, coin: "BTC", type: "l2Book", unknown: 1 } });
    const frames = await client.drain();
    expect(frames.map((frame) => frame.channel)).toEqual(["subscriptionResponse", "l2Book"]);
    expect(frames[0]).toEqual(RECORDED.subAckFast);
    const user = await client.subscribe({ type: "userFundings", user: `0x${ALICE.slice(2).toUpperCase()}` });
    expect(user.data).toEqual({ method: "subscribe", subscription: { type: "userFundings", user: ALICE } });
    await client.subscribe({ type: "l2Book", coin: "BTC", nSigFigs: 5 });
    client.send({ method: "unsubscribe", subscription: { type: "l2Book", coin: "BTC", nSigFigs: 5 } });
    expect(await client.next("subscriptionResponse")).toEqual(RECORDED.unsubAckSigFigs);
  });

  it("says what is wrong in the recorded words, and keeps the socket open", async () => {
    await client.subscribe({ type: "l2Book", coin: "BTC" });
    const wrong: [unknown, string][] = [
      [
        { method: "subscribe", subscription: { type: "l2Book", coin: "BTC", fast: false } },
        String(RECORDED.errorAlready?.data).replace("SOL", "BTC"),
      ],
      [
        { method: "unsubscribe", subscription: { type: "bbo", coin: "BTC" } },
        'Already unsubscribed: {"type":"bbo","coin":"BTC"}',
      ],
      [
        { method: "subscribe", subscription: { type: "candle", coin: "BTC", interval: "7m" } },
        'Invalid subscription {"type":"candle","coin":"BTC","interval":"7m"}',
      ],
    ];
    for (const [frame, text] of wrong) {
      client.send(frame);
      expect((await client.next("error")).data).toBe(text);
    }
    const unparsable = [
      '{"method":"subscribe","subscription":{"type":"bbo","coin":["BTC","ETH"]}}',
      "{nope",
      '{"method":"dance"}',
      '{"method":"subscribe"}',
      '{"method":"subscribe","subscription":{"type":"nope"}}',
      '{"method":"post","request":{"type":"info","payload":{"type":"meta"}}}',
    ];
    for (const text of unparsable) {
      client.send(text);
      expect((await client.next("error")).data).toBe(`Error parsing JSON into valid websocket request: ${text}`);
    }
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
  });

  it.each<[string, object]>([
    ["an unknown coin", { type: "bbo", coin: "NOPE" }],
    ["the wrong case", { type: "trades", coin: "btc" }],
    ["figures out of range", { type: "l2Book", coin: "BTC", nSigFigs: 6 }],
    ["a mantissa without five figures", { type: "l2Book", coin: "BTC", nSigFigs: 3, mantissa: 2 }],
  ])("drops the connection without a frame for %s", async (_name, subscription) => {
    client.send({ method: "subscribe", subscription });
    expect(await client.closed).toBe(1006);
    expect(client.frames).toEqual([]);
  });

  it("closes a socket to which it said nothing for a minute, unless a ping made it speak", async () => {
    const quiet = await Client.connect(bench.sim.wsUrl);
    await client.drain();
    bench.clock.advance(30_000);
    await client.drain();
    bench.clock.advance(30_000);
    expect(await quiet.closed).toBe(1006);
    await client.drain();
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
  });

  it("negotiates no compression and refuses other paths", async () => {
    expect(client.socket.extensions).toBe("");
    const other = new WebSocket(bench.sim.wsUrl.replace("/ws", "/stream"));
    const [error] = (await once(other, "error")) as [Error];
    expect(error.message).toContain("404");
  });
});

describe("post", () => {
  it("answers queries and actions like the REST paths", async () => {
    client.send({ method: "post", id: 1, request: { type: "info", payload: { type: "l2Book", coin: "BTC" } } });
    const info = await client.next("post");
    expect(info.data).toEqual({
      id: 1,
      response: { type: "info", payload: { type: "l2Book", data: await bench.info({ type: "l2Book", coin: "BTC" }) } },
    });
    const action = orderAction([{ p: "80000", s: "0.01" }]);
    const nonce = bench.nextNonce();
    const payload = {
      action,
      nonce,
      signature: sign(KEYS.alice, agentDigest(hashAction(action, nonce, null, null), true)),
    };
    client.send({ method: "post", id: 2, request: { type: "action", payload } });
    const placed = await client.next("post");
    expect(placed.data).toMatchObject({ id: 2, response: { type: "action", payload: { status: "ok" } } });
    client.send({ method: "post", id: 3, request: { type: "action", payload } });
    expect((await client.next("post")).data).toMatchObject({
      response: { payload: { status: "err", response: `Invalid nonce: duplicate nonce ${nonce}` } },
    });
    client.send({ method: "post", id: 4, request: { type: "info", payload: { type: "nope" } } });
    expect((await client.next("post")).data).toEqual({
      id: 4,
      response: {
        type: "error",
        payload: "422 Unprocessable Entity: Failed to deserialize the JSON body into the target type",
      },
    });
  });
});

describe("market streams", () => {
  it("push whole books on one clock per variant, unchanged ones too, each equal to the true book of its time", async () => {
    await client.subscribe({ type: "l2Book", coin: "BTC" });
    await client.subscribe({ type: "l2Book", coin: "BTC", fast: true });
    bench.clock.advance(60_000);
    const books = (await client.drain())
      .filter((frame) => frame.channel === "l2Book")
      .map((frame) => dataOf<Book>(frame));
    const slow = books.filter((book) => book.fast !== true);
    const fast = books.filter((book) => book.fast === true);
    expect(slow.length).toBeGreaterThanOrEqual(11);
    expect(slow.length).toBeLessThanOrEqual(13);
    expect(fast.length).toBeGreaterThan(100);
    expect(fast.length).toBeLessThan(120);
    for (const book of books) {
      const depth = book.fast === true ? 5 : 20;
      expect(book.levels.map((side) => side.length)).toEqual([depth, depth]);
      const truth = bench.sim.exchange.market.trueBookAtTime("BTC", book.time, depth);
      expect(book.levels[0].map((level) => [Number(level.px), Number(level.sz)])).toEqual(
        truth?.bids.map((level) => [level.priceTicks / 10, level.qtyLots / 1e5]),
      );
      expect(book.levels[1].map((level) => Number(level.px))).toEqual(
        truth?.asks.map((level) => level.priceTicks / 10),
      );
    }
    for (const list of [slow, fast])
      expect(list.map((book) => book.time)).toEqual(
        [...list.map((book) => book.time)].sort((left, right) => left - right),
      );
  });

  it("stamps every coin of one push with one time", async () => {
    await bench.stop();
    bench = await startBench({ symbols: ["BTC", "ETH", "SOL"] });
    client = await Client.connect(bench.sim.wsUrl);
    for (const coin of ["BTC", "ETH", "SOL", "MATIC"]) await client.subscribe({ type: "l2Book", coin, fast: true });
    await client.drain();
    bench.clock.advance(5_000);
    const books = (await client.drain()).map((frame) => dataOf<Book>(frame));
    const times = new Set(books.map((book) => book.time));
    expect(times.size).toBeGreaterThan(7);
    for (const time of times) {
      expect(books.filter((book) => book.time === time).map((book) => book.coin)).toEqual([
        "BTC",
        "ETH",
        "SOL",
        "MATIC",
      ]);
    }
    expect(books[3]).toMatchObject({ levels: [[], []] });
  });

  it("are stamped right, as answers are, once a clock that was a minute ahead is set right", async () => {
    await client.subscribe({ type: "l2Book", coin: "BTC", fast: true });
    await client.subscribe({ type: "bbo", coin: "BTC" });
    const skew = bench.sim.faults.add({ kind: "clockSkew", delayMs: 60_000 });
    bench.clock.advance(2_000);
    await client.drain();
    const answeredMs = async (): Promise<number> => {
      const response = await fetch(`${bench.sim.restUrl}/info`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ type: "allMids" }),
      });
      await response.arrayBuffer();
      return Date.parse(response.headers.get("date") ?? "");
    };
    expect(Math.abs((await answeredMs()) - bench.clock.wallMs() - 60_000)).toBeLessThanOrEqual(1_000);
    bench.sim.faults.remove(skew.id);
    expect(Math.abs((await answeredMs()) - bench.clock.wallMs())).toBeLessThanOrEqual(1_000);
    bench.clock.advance(2_000);
    const times = (await client.drain()).map((frame) => dataOf<Book>(frame).time);
    expect(times.length).toBeGreaterThan(3);
    expect(Math.max(...times)).toBeLessThanOrEqual(bench.clock.wallMs());
  });

  it("send the touch only when it changed", async () => {
    await client.subscribe({ type: "bbo", coin: "BTC" });
    bench.clock.advance(20_000);
    const touches = (await client.drain()).filter((frame) => frame.channel === "bbo");
    expect(touches.length).toBeGreaterThan(10);
    expect(shapeOf(touches[0])).toEqual(shapeOf(RECORDED.bbo));
    const shown = touches.map((frame) => JSON.stringify(dataOf<{ bbo: unknown }>(frame).bbo));
    for (let index = 1; index < shown.length; index++) expect(shown[index]).not.toBe(shown[index - 1]);
    const times = touches.map((frame) => dataOf<Book>(frame).time);
    expect(times).toEqual([...new Set(times)].sort((left, right) => left - right));
  });

  it("replay the recent trades on subscribing, then send each trade once", async () => {
    bench.clock.advance(30_000);
    await client.subscribe({ type: "trades", coin: "BTC" });
    const replay = await client.next("trades");
    const replayed = dataOf<readonly Trade[]>(replay);
    expect(replayed.length).toBeGreaterThan(0);
    expect(shapeOf(replay)).toEqual(shapeOf(RECORDED.trades));
    expect(Math.min(...replayed.map((trade) => trade.time))).toBeGreaterThanOrEqual(bench.clock.wallMs() - 20_000);
    bench.clock.advance(10_000);
    const tids = (await client.drain()).flatMap((frame) =>
      frame.channel === "trades" ? dataOf<readonly Trade[]>(frame).map((trade) => trade.tid) : [],
    );
    expect(tids.length).toBeGreaterThan(0);
    expect(new Set([...tids, ...replayed.map((trade) => trade.tid)]).size).toBe(tids.length + replayed.length);
    const known = new Set(
      bench.sim.exchange.market
        .trades("BTC")
        .filter((trade) => trade.tsMs > bench.clock.wallMs() - 9_900)
        .map((trade) => trade.tradeId),
    );
    expect(tids.length).toBeGreaterThanOrEqual(known.size);
  });

  it("send contexts each second, mids each five, candles each second, in the recorded shapes", async () => {
    await client.subscribe({ type: "activeAssetCtx", coin: "BTC" });
    await client.subscribe({ type: "activeAssetCtx", coin: "PURR/USDC" });
    await client.subscribe({ type: "allMids" });
    await client.subscribe({ type: "candle", coin: "BTC", interval: "1m" });
    await client.subscribe({ type: "fastAssetCtxs" });
    await client.subscribe({ type: "allDexsAssetCtxs" });
    await client.drain();
    bench.clock.advance(20_500);
    const frames = await client.drain();
    const of = (channel: string): Frame[] => frames.filter((frame) => frame.channel === channel);
    expect(of("activeAssetCtx").length).toBeGreaterThanOrEqual(19);
    expect(of("activeAssetCtx").length).toBeLessThanOrEqual(21);
    expect(shapeOf(of("activeAssetCtx")[0])).toEqual(shapeOf(RECORDED.activeAssetCtx));
    expect(of("activeSpotAssetCtx")[0]?.data).toMatchObject({ coin: "PURR/USDC", ctx: { coin: "PURR/USDC" } });
    expect(of("allMids").length).toBe(4);
    expect(of("allMids")[0]?.data).toMatchObject({
      mids: { BTC: expect.any(String), "PURR/USDC": expect.any(String) },
    });
    expect(shapeOf(of("candle")[0])).toEqual(shapeOf(RECORDED.candle));
    expect(of("allDexsAssetCtxs")).toHaveLength(1);
    const packed = Buffer.from(String(of("fastAssetCtxs")[0]?.data), "base64");
    expect(JSON.parse(inflateRawSync(packed).toString("utf8"))).toMatchObject({ BTC: { markPx: expect.any(String) } });
  });

  it("send all contexts of a dex each second, by position as the universe has them", async () => {
    client.send({ method: "subscribe", subscription: { type: "assetCtxs", dex: "" } });
    client.send({ method: "subscribe", subscription: { type: "assetCtxs", dex: "xyz" } });
    expect((await client.drain()).filter(({ channel }) => channel !== "assetCtxs")).toEqual([
      {
        channel: "subscriptionResponse",
        data: { method: "subscribe", subscription: { type: "assetCtxs", dex: "" } },
      },
      { channel: "error", data: 'Invalid subscription {"type":"assetCtxs","dex":"xyz"}' },
    ]);
    bench.clock.advance(10_500);
    const contexts = (await client.drain()).filter(({ channel }) => channel === "assetCtxs");
    expect(contexts.length).toBeGreaterThanOrEqual(9);
    expect(contexts.length).toBeLessThanOrEqual(11);
    const [meta, ctxs] = (await bench.info({ type: "metaAndAssetCtxs" })) as [{ universe: unknown[] }, unknown[]];
    const shown = dataOf<{ dex: string; ctxs: unknown[] }>(contexts.at(-1));
    expect(shown.dex).toBe("");
    expect(shown.ctxs).toHaveLength(meta.universe.length);
    expect(shown.ctxs.map(shapeOf)).toEqual(ctxs.map(shapeOf));
  });

  it("stop with the subscription", async () => {
    await client.subscribe({ type: "l2Book", coin: "BTC", fast: true });
    client.send({ method: "unsubscribe", subscription: { type: "l2Book", coin: "BTC", fast: true } });
    await client.next("subscriptionResponse");
    await client.drain();
    bench.clock.advance(10_000);
    expect(await client.drain()).toEqual([]);
  });
});

describe("user streams", () => {
  const buy = (size: string) =>
    bench.act(KEYS.alice, orderAction([{ p: String(Math.ceil(btc(bench).ask * 1.02)), s: size, tif: "Ioc" }]));

  it("give a fills snapshot first, then live fills, on userFills and on the nameless user channel", async () => {
    await buy("0.01");
    await client.subscribe({ type: "userFills", user: ALICE });
    const snapshot = await client.next("userFills");
    expect(snapshot.data).toMatchObject({ isSnapshot: true, user: ALICE, fills: [{ dir: "Open Long" }] });
    await client.subscribe({ type: "userEvents", user: ALICE });
    await buy("0.02");
    const live = await client.next("userFills");
    expect(live.data).not.toHaveProperty("isSnapshot");
    const events = await client.next("user");
    const fillsOf = (frame: Frame | undefined) => dataOf<{ fills: readonly Record<string, unknown>[] }>(frame).fills;
    expect(fillsOf(events)).toEqual(fillsOf(live));
    const { cloid: _cloid, ...recorded } = fillsOf(RECORDED.userFill)[0] ?? {};
    expect(Object.keys(fillsOf(events)[0] ?? {}).sort()).toEqual(Object.keys(recorded).sort());
  });

  it("send order changes in blocks: what a fill ends is in the message of the fill", async () => {
    await client.subscribe({ type: "orderUpdates", user: ALICE });
    const [resting] = statuses(
      await bench.act(KEYS.alice, orderAction([{ p: "80000", s: "0.01", c: "0x0123456789abcdef0123456789abcdef" }])),
    );
    const open = await client.next("orderUpdates");
    expect(shapeOf(open)).toEqual(shapeOf(RECORDED.orderUpdates));
    expect(open.data).toMatchObject([{ order: { oid: oidOf(resting) }, status: "open" }]);
    await buy("0.02");
    await client.next("orderUpdates");
    const exit = orderAction([{ p: String(Math.ceil(btc(bench).ask * 1.3)), s: "0.02", b: false, r: true }]);
    const [reduce] = statuses(await bench.act(KEYS.alice, exit));
    await client.next("orderUpdates");
    const close = orderAction([
      { p: String(Math.floor(btc(bench).bid * 0.98)), s: "0.02", b: false, r: true, tif: "Ioc" },
    ]);
    // The older reduce-only order gives way or ends with the position; either way it ends here.
    await bench.act(KEYS.alice, close);
    const closing = await client.next("orderUpdates");
    const words = dataOf<readonly { status: string }[]>(closing).map((update) => update.status);
    expect(words.sort()).toEqual(["filled", "reduceOnlyCanceled"]);
    expect(closing.data).toContainEqual(
      expect.objectContaining({ status: "reduceOnlyCanceled", order: expect.objectContaining({ oid: oidOf(reduce) }) }),
    );
  });

  it("send whole states on subscribing, on every change and at intervals", async () => {
    for (const type of ["clearinghouseState", "openOrders", "spotState", "allDexsClearinghouseState"])
      await client.subscribe({ type, user: ALICE });
    await client.subscribe({ type: "activeAssetData", user: ALICE, coin: "BTC" });
    const first = await client.drain();
    expect(first.map((frame) => frame.channel)).toEqual([
      "clearinghouseState",
      "openOrders",
      "spotState",
      "allDexsClearinghouseState",
      "activeAssetData",
    ]);
    expect(first[0]?.data).toMatchObject({ dex: "", user: ALICE, clearinghouseState: { assetPositions: [] } });
    await buy("0.01");
    const state = await client.next("clearinghouseState");
    const clearinghouseState = await bench.info({ type: "clearinghouseState", user: ALICE });
    expect(state.data).toMatchObject({ clearinghouseState });
    await client.drain();
    bench.clock.advance(5_500);
    expect((await client.drain()).map((frame) => frame.channel)).toContain("openOrders");
  });

  it("send funding and ledger rows as they happen", async () => {
    await buy("0.05");
    await client.subscribe({ type: "userFundings", user: ALICE });
    await client.subscribe({ type: "userNonFundingLedgerUpdates", user: BOB });
    expect((await client.next("userFundings")).data).toEqual({ isSnapshot: true, user: ALICE, fundings: [] });
    expect((await client.next("userNonFundingLedgerUpdates")).data).toMatchObject({
      isSnapshot: true,
      nonFundingLedgerUpdates: [{ delta: { type: "deposit" } }],
    });
    await bench.actAsUser(KEYS.alice, { type: "usdSend", destination: BOB, amount: "5" }, FIELDS.usdSend);
    expect((await client.next("userNonFundingLedgerUpdates")).data).toMatchObject({
      user: BOB,
      nonFundingLedgerUpdates: [{ delta: { type: "internalTransfer", usdc: "5.0" } }],
    });
    const toHourMs = 3_600_000 - (bench.clock.wallMs() % 3_600_000);
    for (let leftMs = toHourMs + 1_000; leftMs > 0; leftMs -= 50_000) {
      bench.clock.advance(Math.min(50_000, leftMs));
      await client
        .drain()
        .then((frames) => client.frames.unshift(...frames.filter((frame) => frame.channel === "userFundings")));
    }
    expect((await client.next("userFundings")).data).toMatchObject({
      user: ALICE,
      fundings: [{ coin: "BTC", szi: "0.05", fundingRate: expect.any(String) }],
    });
  });
});

describe("session limits", () => {
  it("refuses one user too many per address, and frees one two seconds after it is let go", async () => {
    const user = (index: number): string => `0x${String(index).padStart(40, "0")}`;
    const other = await Client.connect(bench.sim.wsUrl);
    for (let index = 0; index < 14; index++)
      await (index % 2 === 0 ? client : other).subscribe({ type: "userFills", user: user(index) });
    client.send({ method: "subscribe", subscription: { type: "userFills", user: user(14) } });
    expect((await client.next("error")).data).toBe("Cannot track more than 15 total users.");
    await client.subscribe({ type: "userEvents", user: user(3) });
    client.send({ method: "unsubscribe", subscription: { type: "userFills", user: user(0) } });
    await client.next("subscriptionResponse");
    client.send({ method: "subscribe", subscription: { type: "userFills", user: user(14) } });
    await client.next("error");
    bench.clock.advance(2_001);
    await client.subscribe({ type: "userFills", user: user(14) });
    other.end();
  });

  it("bounds subscriptions, messages and connections", async () => {
    await bench.stop();
    bench = await startBench({ limits: { subscriptions: 2, messagesPerMinute: 6, connections: 2 } });
    client = await Client.connect(bench.sim.wsUrl);
    await client.subscribe({ type: "bbo", coin: "BTC" });
    await client.subscribe({ type: "trades", coin: "BTC" });
    client.send({ method: "subscribe", subscription: { type: "candle", coin: "BTC", interval: "1m" } });
    expect((await client.next("error")).data).toContain("Cannot subscribe to more than");
    for (let count = 0; count < 3; count++) await client.drain();
    client.send({ method: "ping" });
    expect((await client.next("error")).data).toContain("messages per minute");
    const second = await Client.connect(bench.sim.wsUrl);
    const third = await Client.connect(bench.sim.wsUrl);
    expect(await third.closed).toBe(1006);
    second.end();
  });
});

describe("faults", () => {
  it("cost one frame where one is lost: the next book is whole again", async () => {
    bench.sim.faults.add({ kind: "gap", scope: ["market"], count: 3 });
    await client.subscribe({ type: "l2Book", coin: "BTC", fast: true });
    bench.clock.advance(5_000);
    const books = (await client.drain()).filter((frame) => frame.channel === "l2Book");
    expect(books.length).toBeGreaterThan(3);
    expect(bench.sim.faults.hits().gap).toBe(3);
    for (const frame of books) expect(dataOf<Book>(frame).levels[0]).toHaveLength(5);
  });

  it("come before or after execution, by the knob", async () => {
    const order = orderAction([{ p: "80000", s: "0.01" }]);
    bench.sim.faults.add({ kind: "errorAfter", match: "/exchange", status: 502, count: 1 });
    expect(await bench.act(KEYS.alice, order)).toBeUndefined();
    expect(await bench.info({ type: "openOrders", user: ALICE })).toHaveLength(1);
    bench.sim.faults.add({ kind: "rate429", match: "/exchange", count: 1, retryAfterS: 3 });
    expect(await bench.act(KEYS.alice, order)).toBeNull();
    expect(await bench.info({ type: "openOrders", user: ALICE })).toHaveLength(1);
  });

  it("leave the control API free to take accounts with agents", async () => {
    const accountId = addressOf(KEYS.stranger);
    const agent = `0x${"f6".repeat(32)}` as const;
    const response = await fetch(`${bench.sim.restUrl}/_sim/accounts`, {
      method: "POST",
      body: JSON.stringify({ accountId, deposit: "1000", agents: [{ address: addressOf(agent), name: "desk" }] }),
    });
    expect(response.status).toBe(200);
    expect(statuses(await bench.act(agent, orderAction([{ p: "80000", s: "0.01" }])))).toEqual([
      { resting: { oid: expect.any(Number) } },
    ]);
    const state = (await (await fetch(`${bench.sim.restUrl}/_sim/state`)).json()) as { network: string };
    expect(state.network).toBe("Mainnet");
  });
});
