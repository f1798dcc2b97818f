/** The socket as the venue's clients meet it: echoes, silence, repeated books, changes of the touch, limits. */
import { afterEach, describe, expect, it } from "vitest";
import { listenTo } from "../../core/test/listener.js";
import type { VenuefourSimOptions } from "../wire/options.js";
import type { VenuefourSim } from "../sim.js";
import { booksOf, connect, dataOf, startTestVenue, subscribe, type TestVenue } from "./support.js";

let running: VenuefourSim | null = null;
async function start(options: Partial<VenuefourSimOptions> = {}): Promise<TestVenue> {
  const test = await startTestVenue(options);
  running = test.venue;
  return test;
}
afterEach(async () => {
  await running?.stop();
  running = null;
});

const BOOK = { source: "book", symbol: "BTC", agg_level: 1 };

describe("control frames", () => {
  it("echoes the parameters as they came, then sends the book at once", async () => {
    const { venue } = await start();
    const listener = await connect(venue);
    const params = { agg_level: 1, symbol: "BTC", source: "book" };
    await subscribe(listener, params);
    expect(listener.texts[0]).toBe(`{"channel":"subscribe","data":${JSON.stringify(params)}}`);
    expect(Object.keys(listener.frames[1] ?? {})).toEqual(["channel", "data"]);
    expect(Object.keys(dataOf(listener.frames[1]))).toEqual(["l", "li", "s", "t"]);
    expect(listener.texts).toHaveLength(2);
    listener.send({ method: "unsubscribe", params });
    await listener.drained();
    expect(listener.texts[2]).toBe(`{"channel":"unsubscribe","data":${JSON.stringify(params)}}`);
    listener.socket.terminate();
  });

  it("answers pings of its own kind only", async () => {
    const { venue } = await start();
    const listener = await connect(venue);
    listener.send({ method: "ping" });
    listener.send({ op: "ping" });
    listener.send("nonsense");
    listener.send({ id: "7", params: { create_market_order: {} } });
    await listener.drained();
    expect(listener.texts[0]).toBe('{"channel":"pong"}');
    expect(listener.frames.slice(1).map((frame) => frame.code)).toEqual([400, 400, 400]);
    expect(listener.frames.map((frame) => frame.id)).toEqual([undefined, undefined, undefined, "7"]);
    listener.socket.terminate();
  });

  it("says nothing at all to a symbol it does not know, nor to the same name in other letters", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    for (const symbol of ["NOPE", "KPEPE", "btc", "WIF/USDC", 7])
      for (const source of ["book", "bbo", "trades"]) await subscribe(listener, { source, symbol });
    await subscribe(listener, { ...BOOK, agg_level: 7 });
    await subscribe(listener, { source: "candle", symbol: "BTC", interval: "7m" });
    clock.advance(2_000);
    await listener.drained();
    expect(listener.texts).toEqual([]);
    await subscribe(listener, { source: "bbo", symbol: "kPEPE" });
    expect(listener.texts).toHaveLength(1);
    await subscribe(listener, { source: "nothing" });
    expect(listener.frames[1]?.code).toBe(400);
    await expect(listenTo(venue.wsUrl.replace(/\/ws$/, "/stream"))).rejects.toThrow(/404/);
    listener.socket.terminate();
  });
});

describe("the book", () => {
  it("is the true book of its time, ten levels a side, and orders by t", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    await subscribe(listener, { source: "book", symbol: "kPEPE" });
    for (let turn = 0; turn < 200; turn++) clock.advance(50);
    await listener.drained();
    for (const [symbol, priceScale, sizeScale] of [
      ["BTC", 1, 100_000],
      ["kPEPE", 1_000_000, 1],
    ] as const) {
      const books = booksOf(listener).filter((book) => book.s === symbol);
      expect(books.length).toBeGreaterThan(35);
      let backward = 0;
      for (const [index, book] of books.entries()) {
        const truth = venue.exchange.market.trueBookAtTime(symbol, book.t, 10);
        const [bids, asks] = book.l;
        expect(bids.map(({ p, a, n }) => [Number(p), Number(a), n])).toEqual(
          truth?.bids.map((level) => [level.priceTicks / priceScale, level.qtyLots / sizeScale, level.orderCount]),
        );
        expect(asks.map(({ p, a }) => [Number(p), Number(a)])).toEqual(
          truth?.asks.map((level) => [level.priceTicks / priceScale, level.qtyLots / sizeScale]),
        );
        expect(bids).toHaveLength(10);
        const before = books[index - 1];
        if (before === undefined) continue;
        expect(book.t).toBeGreaterThanOrEqual(before.t);
        if (book.li < before.li) backward++;
      }
      expect(backward).toBeGreaterThan(3);
    }
    listener.socket.terminate();
  });

  it("comes every 250 ms, and is repeated with the same t and li while nothing changes", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    venue.exchange.controls.setHalted("BTC", true);
    clock.advance(300);
    const before = booksOf(listener).length;
    clock.advance(1_000);
    await listener.drained();
    const repeated = booksOf(listener).slice(Math.max(before, 1));
    expect(repeated.length).toBeGreaterThanOrEqual(4);
    expect(repeated.length).toBeLessThanOrEqual(5);
    expect(new Set(repeated.map((book) => JSON.stringify(book))).size).toBe(1);
    listener.socket.terminate();
  });

  it("adds levels up into buckets that show their inner price", async () => {
    const { venue } = await start();
    const listener = await connect(venue);
    await subscribe(listener, { ...BOOK, agg_level: 100 });
    const [book] = booksOf(listener);
    const whole = venue.exchange.market.book("BTC");
    const [bids, asks] = book?.l ?? [[], []];
    for (const [side, levels] of [
      [bids, whole.bids],
      [asks, whole.asks],
    ] as const) {
      for (const level of side) {
        const inBucket = levels.filter(
          (each) => Math.floor(each.priceTicks / 100) === Math.floor(Number(level.p) / 100),
        );
        expect(Number(level.p)).toBe(inBucket[0]?.priceTicks);
        expect(Number(level.a)).toBeCloseTo(inBucket.reduce((sum, each) => sum + each.qtyLots, 0) / 100_000, 9);
        expect(level.n).toBe(inBucket.reduce((sum, each) => sum + each.orderCount, 0));
      }
    }
    listener.socket.terminate();
  });

  it("keeps its time growing when the venue's clock is set back by a little", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    const skew = venue.faults.add({ kind: "clockSkew", delayMs: 4_000 });
    clock.advance(1_000);
    venue.faults.remove(skew.id);
    clock.advance(1_000);
    await listener.drained();
    const books = booksOf(listener);
    const times = books.map((book) => book.t);
    expect([...times].sort((left, right) => left - right)).toEqual(times);
    for (const book of books)
      expect(Number(book.l[0][0]?.p)).toBe(venue.exchange.market.trueBookAtTime("BTC", book.t, 1)?.bids[0]?.priceTicks);
    listener.socket.terminate();
  });
});

describe("a clock that was a minute ahead and is set right", () => {
  it("stamps books and touches as right as trades and answers", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    await subscribe(listener, { source: "bbo", symbol: "BTC" });
    const skew = venue.faults.add({ kind: "clockSkew", delayMs: 60_000 });
    clock.advance(1_000);
    venue.faults.remove(skew.id);
    await listener.drained();
    const before = listener.frames.length;
    clock.advance(1_000);
    await listener.drained();
    const rows = listener.frames.slice(before).filter(({ channel }) => channel === "book" || channel === "bbo");
    // A snapshot that has not changed since keeps its time.
    const aheadMs = rows.map((row) => Number(dataOf(row).t) - clock.wallMs());
    expect(rows.length).toBeGreaterThan(5);
    expect(Math.max(...aheadMs.slice(2))).toBeLessThanOrEqual(0);
  });
});

describe("the other channels", () => {
  it("bbo sends nothing on subscribing and only changes after it, each the true touch of its time", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    venue.exchange.controls.setHalted("BTC", true);
    await subscribe(listener, { source: "bbo", symbol: "BTC" });
    clock.advance(1_000);
    await listener.drained();
    expect(listener.texts).toHaveLength(1);
    venue.exchange.controls.setHalted("BTC", false);
    for (let turn = 0; turn < 200; turn++) clock.advance(50);
    await listener.drained();
    const rows = listener.frames.slice(1).map(dataOf);
    expect(rows.length).toBeGreaterThan(20);
    let before: Readonly<Record<string, unknown>> = {};
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(["A", "B", "a", "b", "i", "li", "s", "t"]);
      const truth = venue.exchange.market.trueBookAtTime("BTC", Number(row.t), 1);
      expect([Number(row.b), Number(row.a)]).toEqual([truth?.bids[0]?.priceTicks, truth?.asks[0]?.priceTicks]);
      expect(Number(row.B)).toBe((truth?.bids[0]?.qtyLots ?? 0) / 100_000);
      expect([row.a, row.b, row.A, row.B]).not.toEqual([before.a, before.b, before.A, before.B]);
      if (before.li !== undefined) expect(Number(row.li)).toBeGreaterThanOrEqual(Number(before.li));
      expect(Number(row.i)).toBeLessThanOrEqual(Number(row.li));
      before = row;
    }
    listener.socket.terminate();
  });

  it("trades come without a snapshot, once each, and prices for all markets at once", async () => {
    const { venue, clock } = await start();
    clock.advance(5_000);
    const listener = await connect(venue);
    await subscribe(listener, { source: "trades", symbol: "BTC" });
    await subscribe(listener, { source: "prices" });
    expect(listener.texts).toHaveLength(2);
    const before = venue.exchange.market.trades("BTC").length;
    clock.advance(3_000);
    await listener.drained();
    const rows = listener.frames
      .filter((frame) => frame.channel === "trades")
      .flatMap((frame) => frame.data as Readonly<Record<string, unknown>>[]);
    const trades = venue.exchange.market.trades("BTC").slice(before);
    expect(rows.map((row) => Number(row.p))).toEqual(trades.map((trade) => trade.priceTicks));
    expect(new Set(rows.map((row) => row.h)).size).toBe(rows.length);
    for (const [index, row] of rows.entries()) {
      const buys = row.d === "open_long" || row.d === "close_short";
      expect(buys).toBe(trades[index]?.takerSide === "BUY");
    }
    const prices = listener.frames.find((frame) => frame.channel === "prices")?.data as { symbol: string }[];
    expect(prices.map((row) => row.symbol)).toEqual(
      ["ETH", "BTC", "kPEPE"].sort((left, right) => order(left) - order(right)),
    );
    listener.socket.terminate();

    function order(symbol: string): number {
      return [...venue.exchange.instruments.keys()].indexOf(symbol);
    }
  });

  it("candles of trades and of the mark send the running one when it changed", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, { source: "candle", symbol: "BTC", interval: "1m" });
    await subscribe(listener, { source: "mark_price_candle", symbol: "BTC", interval: "1m" });
    clock.advance(3_000);
    await listener.drained();
    const candle = dataOf(listener.frames.find((frame) => frame.channel === "candle"));
    expect(Number(candle.T) - Number(candle.t)).toBe(60_000);
    const mark = dataOf(listener.frames.find((frame) => frame.channel === "mark_price_candle"));
    expect(mark).toMatchObject({ s: "BTC", i: "1m", v: "0", n: 0 });
    expect(mark.o).toMatch(/^\d+\.\d{6}$/);
    listener.socket.terminate();
  });
});

describe("limits", () => {
  it("closes after 60 s without a message, whatever WebSocket pings say, and after a day", async () => {
    const { venue, clock } = await start({ cadences: { socketLifeMs: 300_000 } });
    const silent = await connect(venue);
    clock.advance(59_000);
    await silent.drained();
    clock.advance(2_000);
    expect(await silent.closed).toBe(1000);
    const alive = await connect(venue);
    let pongs = 0;
    for (let passed = 0; passed <= 290_000; passed += 29_000) {
      clock.advance(29_000);
      alive.send({ method: "ping" });
      if (alive.socket.readyState === alive.socket.OPEN && passed < 261_000)
        pongs = (await alive.waitForCount(pongs + 1, (frame) => frame.channel === "pong")).length;
    }
    expect(pongs).toBeGreaterThan(7);
    expect(await alive.closed).toBe(1000);
  });

  it("takes twenty subscriptions per channel and is silent to the next; other channels are apart", async () => {
    const { venue } = await start();
    const listener = await connect(venue);
    const intervals = ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "1d"];
    for (const symbol of ["BTC", "ETH"])
      for (const interval of intervals)
        listener.send({ method: "subscribe", params: { source: "candle", symbol, interval } });
    await listener.drained();
    expect(listener.texts).toHaveLength(20);
    await subscribe(listener, { source: "mark_price_candle", symbol: "BTC", interval: "1m" });
    expect(listener.texts).toHaveLength(21);
    // One that is on already is echoed again.
    await subscribe(listener, { source: "candle", symbol: "BTC", interval: "1m" });
    expect(listener.texts).toHaveLength(22);
    listener.socket.terminate();
  });

  it("refuses a connection too many", async () => {
    const { venue } = await start({ limits: { connections: 1 } });
    const first = await connect(venue);
    const second = await connect(venue);
    expect(await second.closed).toBe(1013);
    first.socket.terminate();
  });
});
