/** Streams over real sockets on a virtual clock: the sync rule reaches the true book, frames and session rules are the venue's. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { VenuetwoSim } from "../sim.js";
import { API_KEY, call, drained, listen, type Listener, signedCall, startTestVenue } from "./support.js";

interface DepthEvent {
  readonly U: number;
  readonly u: number;
  readonly pu: number;
  readonly E: number;
  readonly b: readonly [string, string][];
  readonly a: readonly [string, string][];
}

let venue: VenuetwoSim;
let clock: VirtualClock;

beforeEach(async () => {
  clock = new VirtualClock();
  venue = await startTestVenue({ clock });
});

afterEach(() => venue.stop());

async function advance(ms: number, ...listeners: Listener[]): Promise<void> {
  clock.advance(ms);
  for (const listener of listeners) await drained(listener);
}

/** The client's side of fact sheet 6.5, in its plainest form. */
class PlainBook {
  readonly bids = new Map<string, string>();
  readonly asks = new Map<string, string>();
  lastU = 0;
  gapCount = 0;

  snapshot(body: { lastUpdateId: number; bids: [string, string][]; asks: [string, string][] }): void {
    this.bids.clear();
    this.asks.clear();
    for (const [price, qty] of body.bids) this.bids.set(price, qty);
    for (const [price, qty] of body.asks) this.asks.set(price, qty);
    this.lastU = body.lastUpdateId;
  }

  apply(event: DepthEvent, bridging: boolean): void {
    if (bridging ? event.U > this.lastU || event.u < this.lastU : event.pu !== this.lastU) this.gapCount++;
    for (const [side, levels] of [
      [this.bids, event.b],
      [this.asks, event.a],
    ] as const) {
      for (const [price, qty] of levels) {
        if (Number(qty) === 0) side.delete(price);
        else side.set(price, qty);
      }
    }
    this.lastU = event.u;
  }

  print(): { bids: [string, string][]; asks: [string, string][] } {
    return {
      bids: [...this.bids].sort((x, y) => Number(y[0]) - Number(x[0])),
      asks: [...this.asks].sort((x, y) => Number(x[0]) - Number(y[0])),
    };
  }
}

async function trueBook(seq: number): Promise<{ bids: [string, string][]; asks: [string, string][] }> {
  const { json } = await call(venue, "GET", `/_sim/book/BTCUSDT?seq=${seq}`);
  return { bids: json.bids as [string, string][], asks: json.asks as [string, string][] };
}

describe("depth stream", () => {
  it.each(["btcusdt@depth@100ms", "btcusdt@depth", "btcusdt@depth@500ms"])(
    "%s: snapshot plus changes equal the true book at every update id",
    async (name) => {
      const listener = await listen(venue, "/ws");
      listener.send({ method: "SUBSCRIBE", params: [name], id: 1 });
      await listener.waitFor((frame) => frame.id === 1);
      await advance(3000, listener);
      const snapshot = (await call(venue, "GET", "/fapi/v1/depth?symbol=BTCUSDT&limit=1000"))
        .json as unknown as Parameters<PlainBook["snapshot"]>[0];
      await advance(3000, listener);
      const events = listener.frames.filter((frame) => frame.e === "depthUpdate") as unknown as DepthEvent[];
      const book = new PlainBook();
      book.snapshot(snapshot);
      const rest = events.filter((event) => event.u >= snapshot.lastUpdateId);
      expect(rest.length).toBeGreaterThan(4);
      for (const [index, event] of rest.entries()) {
        book.apply(event, index === 0);
        expect(book.print()).toEqual(await trueBook(event.u));
      }
      expect(book.gapCount).toBe(0);
      expect(events.every((event, index) => index === 0 || event.pu === events[index - 1]?.u)).toBe(true);
      expect(events.some((event) => event.U > event.pu + 1)).toBe(true);
    },
  );

  it("pushes whole top levels on partial streams, equal to the true top", async () => {
    const listener = await listen(venue, "/ws/btcusdt@depth10@100ms");
    await advance(2000, listener);
    const frames = listener.frames as unknown as DepthEvent[];
    expect(frames.length).toBeGreaterThan(10);
    for (const frame of frames) {
      const truth = await trueBook(frame.u);
      expect(frame.b).toEqual(truth.bids.slice(0, 10));
      expect(frame.a).toEqual(truth.asks.slice(0, 10));
    }
  });

  it("follows the top in real time on bookTicker, in the id space of the depth updates", async () => {
    const listener = await listen(venue, "/ws/btcusdt@bookTicker");
    await advance(2000, listener);
    expect(listener.frames.length).toBeGreaterThan(10);
    for (const frame of listener.frames) {
      const truth = await trueBook(Number(frame.u));
      expect([frame.b, frame.B]).toEqual(truth.bids[0]);
      expect([frame.a, frame.A]).toEqual(truth.asks[0]);
    }
  });
});

describe("other market streams", () => {
  it("serves marks, tickers, trades, candles and arrays at their speeds on one combined connection", async () => {
    const names = [
      "btcusdt@aggTrade",
      "btcusdt@markPrice",
      "btcusdt@markPrice@1s",
      "btcusdt@ticker",
      "btcusdt@miniTicker",
      "btcusdt@kline_1m",
      "!markPrice@arr@1s",
      "!ticker@arr",
      "!miniTicker@arr",
      "!bookTicker",
    ];
    const listener = await listen(venue, `/stream?streams=${names.join("/")}`);
    await advance(6000, listener);
    const of = (name: string): unknown[] =>
      listener.frames.filter((frame) => frame.stream === name).map((frame) => frame.data);
    expect(of("btcusdt@markPrice")).toHaveLength(2);
    expect(of("btcusdt@markPrice@1s")).toHaveLength(6);
    expect(of("btcusdt@markPrice@1s")[0]).toMatchObject({
      e: "markPriceUpdate",
      s: "BTCUSDT",
      r: expect.stringMatching(/^-?0\.\d{8}$/) as string,
    });
    expect(of("btcusdt@ticker")).toHaveLength(12);
    expect(of("btcusdt@ticker")[0]).toMatchObject({ e: "24hrTicker", s: "BTCUSDT" });
    expect(of("btcusdt@miniTicker")[0]).toMatchObject({ e: "24hrMiniTicker" });
    expect(of("btcusdt@kline_1m")[0]).toMatchObject({ e: "kline", k: { i: "1m", s: "BTCUSDT" } });
    expect(of("!markPrice@arr@1s")[0]).toHaveLength(2);
    expect(of("!ticker@arr").length).toBeGreaterThan(0);
    expect(of("!bookTicker").length).toBeGreaterThan(5);
    const trades = of("btcusdt@aggTrade") as { a: number; f: number; l: number; q: string }[];
    expect(trades.length).toBeGreaterThan(2);
    expect(
      trades.every(
        (trade, index) =>
          index === 0 || (trade.a === (trades[index - 1]?.a ?? 0) + 1 && trade.f === (trades[index - 1]?.l ?? 0) + 1),
      ),
    ).toBe(true);
    const rest = (await call(venue, "GET", "/fapi/v1/aggTrades?symbol=BTCUSDT")).json as unknown as {
      a: number;
      q: string;
    }[];
    for (const trade of trades) expect(rest.find((row) => row.a === trade.a)?.q).toBe(trade.q);
  });
});

describe("session", () => {
  it("lists, unsubscribes, and answers each malformed message with its code", async () => {
    const listener = await listen(venue, "/ws/btcusdt@ticker");
    const ask = async (message: unknown): Promise<unknown> => {
      const answers = (): unknown[] =>
        listener.frames.filter((frame) => frame.e === undefined && frame.stream === undefined);
      const before = answers().length;
      listener.send(message);
      await drained(listener);
      await advance(1100, listener);
      return answers()[before];
    };
    expect(await ask({ method: "LIST_SUBSCRIPTIONS", id: 3 })).toEqual({ result: ["btcusdt@ticker"], id: 3 });
    expect(await ask({ method: "UNSUBSCRIBE", params: ["btcusdt@ticker"], id: 4 })).toEqual({ result: null, id: 4 });
    expect(await ask("{")).toMatchObject({ code: 3 });
    expect(await ask([])).toMatchObject({ code: 2 });
    expect(await ask({ method: "SUBSCRIBE", params: ["x"], id: "a" })).toMatchObject({ code: 2 });
    expect(await ask({ method: "SUBSCRIBE", id: 1 })).toMatchObject({ code: 2 });
    expect(await ask({ method: "NOPE", params: [], id: 1 })).toMatchObject({
      code: 2,
      msg: expect.stringContaining("unknown variant") as string,
    });
    expect(await ask({ method: "SET_PROPERTY", params: ["x", true], id: 5 })).toMatchObject({ code: 0 });
    expect(await ask({ method: "SET_PROPERTY", params: ["combined", "yes"], id: 5 })).toMatchObject({ code: 1 });
    expect(await ask({ method: "SET_PROPERTY", params: ["combined", true], id: 5 })).toEqual({ result: null, id: 5 });
    expect(await ask({ method: "GET_PROPERTY", params: ["combined"], id: 6 })).toEqual({ result: true, id: 6 });
  });

  it("holds 200 streams, refuses the next, and cuts a client that sends more than ten messages a second", async () => {
    const listener = await listen(venue, "/ws");
    listener.send({
      method: "SUBSCRIBE",
      params: Array.from({ length: 200 }, (_, index) => `s${index}@ticker`),
      id: 1,
    });
    expect(await listener.waitFor((frame) => frame.id === 1)).toEqual({ result: null, id: 1 });
    listener.send({ method: "SUBSCRIBE", params: ["one@more"], id: 2 });
    await listener.waitFor((frame) => frame.code === 2);
    for (let index = 0; index < 9; index++) listener.send({ method: "LIST_SUBSCRIPTIONS", id: 10 + index });
    expect(await listener.closed).toBe(1008);
  });

  it("pings every five minutes, drops who does not answer for fifteen, and ends connections after a day", async () => {
    const listener = await listen(venue, "/ws");
    let pings = 0;
    listener.socket.on("ping", () => pings++);
    venue.exchange.stop();
    await advance(301_000, listener);
    expect(pings).toBe(1);
    listener.socket.pause();
    clock.advance(920_000);
    listener.socket.resume();
    expect(await listener.closed).toBe(1006);
    const short = await startTestVenue({ clock, socketLifeMs: 60_000, flow: null });
    const daily = await listen(short, "/ws");
    clock.advance(70_000);
    expect(await daily.closed).toBe(1001);
    await short.stop();
  });

  it("refuses an upgrade on any other path", async () => {
    await expect(listen(venue, "/elsewhere")).rejects.toThrow("404");
  });
});

describe("user stream", () => {
  async function open(): Promise<Listener> {
    const { json } = await call(venue, "POST", "/fapi/v1/listenKey", { "X-MBX-APIKEY": API_KEY });
    expect(json.listenKey).toMatch(/^[A-Za-z0-9]{64}$/);
    const again = await call(venue, "POST", "/fapi/v1/listenKey", { "X-MBX-APIKEY": API_KEY });
    expect(again.json).toEqual(json);
    return listen(venue, `/ws/${String(json.listenKey)}`);
  }

  it("sends NEW, each TRADE and the account after it, CANCELED and EXPIRED, in the order they happened", async () => {
    const listener = await open();
    await signedCall(venue, "POST", "/fapi/v1/order", {
      symbol: "BTCUSDT",
      side: "BUY",
      type: "MARKET",
      quantity: "0.05",
      newClientOrderId: "mine",
    });
    const bid = (venue.exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0) / 10;
    await signedCall(venue, "POST", "/fapi/v1/order", {
      symbol: "BTCUSDT",
      side: "BUY",
      type: "LIMIT",
      timeInForce: "GTC",
      quantity: "0.01",
      price: (bid - 300).toFixed(1),
      newClientOrderId: "rest",
    });
    await signedCall(venue, "DELETE", "/fapi/v1/order", { symbol: "BTCUSDT", origClientOrderId: "rest" });
    await signedCall(venue, "POST", "/fapi/v1/leverage", { symbol: "BTCUSDT", leverage: 13 });
    await drained(listener);
    const orders = listener.frames
      .filter((frame) => frame.e === "ORDER_TRADE_UPDATE")
      .map((frame) => frame.o as Record<string, unknown>);
    expect(orders.filter((order) => order.c === "rest").map((order) => [order.x, order.X])).toEqual([
      ["NEW", "NEW"],
      ["CANCELED", "CANCELED"],
    ]);
    const mine = orders.filter((order) => order.c === "mine");
    expect(mine[0]).toMatchObject({
      x: "NEW",
      X: "NEW",
      o: "MARKET",
      ot: "MARKET",
      q: "0.050",
      z: "0",
      l: "0",
      ps: "BOTH",
      R: false,
    });
    expect(mine[0]?.N).toBeUndefined();
    expect(mine[mine.length - 1]).toMatchObject({ x: "TRADE", X: "FILLED", z: "0.050", N: "USDT", m: false });
    const account = listener.frames.find((frame) => frame.e === "ACCOUNT_UPDATE")?.a;
    expect(account).toMatchObject({
      m: "ORDER",
      B: [{ a: "USDT", bc: "0" }],
      P: [{ s: "BTCUSDT", ps: "BOTH", mt: "cross", ma: "USDT" }],
    });
    expect(listener.frames.at(-1)).toMatchObject({ e: "ACCOUNT_CONFIG_UPDATE", ac: { s: "BTCUSDT", l: 13 } });
  });

  it("announces the end of a key and is silent afterwards; PUT keeps it alive", async () => {
    const listener = await open();
    venue.exchange.stop();
    // In steps: a jump would leave no time for pongs, and the connection would be dropped.
    const minutes = async (count: number): Promise<void> => {
      for (let minute = 0; minute < count; minute++) await advance(60_000, listener);
    };
    await minutes(50);
    expect((await call(venue, "PUT", "/fapi/v1/listenKey", { "X-MBX-APIKEY": API_KEY })).json).toEqual({});
    await minutes(50);
    expect(listener.frames).toEqual([]);
    await minutes(11);
    expect(listener.frames).toEqual([{ e: "listenKeyExpired", E: expect.any(Number) as number }]);
    await signedCall(venue, "POST", "/fapi/v1/leverage", { symbol: "BTCUSDT", leverage: 3 });
    await drained(listener);
    expect(listener.frames).toHaveLength(1);
    expect((await call(venue, "PUT", "/fapi/v1/listenKey", { "X-MBX-APIKEY": API_KEY })).json).toEqual({
      code: -1125,
      msg: "This listenKey does not exist.",
    });
  });
});
