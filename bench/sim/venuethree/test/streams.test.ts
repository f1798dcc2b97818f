/** The socket as the venue's clients meet it: greeting, exact texts, chained books, repeated trades, limits. */
import { afterEach, describe, expect, it } from "vitest";
import { listenTo } from "../../core/test/listener.js";
import type { VenuethreeSimOptions } from "../records/options.js";
import type { VenuethreeSim } from "../sim.js";
import { bookOf, connect, NaiveBook, startTestVenue, subscribe, type TestVenue } from "./support.js";

let running: VenuethreeSim | null = null;
async function start(options: Partial<VenuethreeSimOptions> = {}): Promise<TestVenue> {
  const test = await startTestVenue(options);
  running = test.venue;
  return test;
}
afterEach(async () => {
  await running?.stop();
  running = null;
});

/** A seeded price that moves for BTC only. */
const ONLY_BTC_MOVES = {
  fairPrice: (base: string, tsMs: number) => (base === "BTC" ? 90_000 + (tsMs % 1_000) : base === "ETH" ? 3_000 : 1.2),
};

describe("control frames", () => {
  it("greets with a session id and takes readonly connections, elsewhere nothing", async () => {
    const { venue } = await start();
    const listener = await listenTo(`${venue.wsUrl}?readonly=true`);
    const greeting = await listener.waitFor((frame) => frame.type === "connected");
    expect(greeting.session_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Object.keys(greeting)).toEqual(["session_id", "type"]);
    await expect(listenTo(venue.wsUrl.replace("/stream", "/ws"))).rejects.toThrow(/404/);
    listener.socket.terminate();
  });

  it("answers with the venue's own texts and keeps the socket open", async () => {
    const { venue } = await start();
    const listener = await connect(venue);
    const sent: readonly unknown[] = [
      { type: "ping" },
      { type: "pong" },
      "{",
      "[]",
      { type: "subscribe", channel: "order_book/" },
      { type: "subscribe", channel: "order_book/9" },
      { type: "subscribe", channel: "order_book/01" },
      { type: "subscribe", channel: "order_book:1" },
      { type: "subscribe", channel: "account_all_orders/1" },
      { type: "subscribe", channel: "candle/1/1w" },
      { type: "unsubscribe", channel: "order_book/0" },
      { type: "unknown" },
      { type: "subscribe", channel: "height" },
      { type: "subscribe", channel: "height" },
      { type: "unsubscribe", channel: "height" },
      { type: "subscribe", channel: "order_book/1" },
      { type: "unsubscribe", channel: "order_book/1" },
    ];
    for (const message of sent) listener.send(message);
    await listener.drained();
    const texts = listener.texts.slice(1).filter((text) => !text.includes('"subscribed/'));
    expect(texts).toEqual([
      '{"type":"pong"}',
      '{"error":{"code":30000,"message":"Invalid Json"}}',
      '{"error":{"code":30000,"message":"Invalid Json"}}',
      '{"error":{"code":30005,"message":"Invalid Channel:  (marketId)"}}',
      '{"error":{"code":30005,"message":"Invalid Channel:  (marketId)"}}',
      '{"error":{"code":30005,"message":"Invalid Channel:  (marketId)"}}',
      '{"error":{"code":30005,"message":"Invalid Channel: order_book:1"}}',
      '{"error":{"code":20001,"message":"invalid param : auth field is required: account_all_orders:1"}}',
      '{"error":{"code":30005,"message":"Invalid Channel:  (resolution)"}}',
      '{"error":{"code":30002,"message":"Not Subscribed to : order_book:0"}}',
      '{"error":{"code":30001,"message":"Invalid Type"}}',
      '{"error":{"code":30003,"message":"Already Subscribed to : height"}}',
      '{"type": "unsubscribed", "channel": "height"}',
      '{"type": "unsubscribed", "channel": "order_book:1"}',
    ]);
    expect(listener.socket.readyState).toBe(listener.socket.OPEN);
    listener.socket.terminate();
  });

  it("closes a client that is silent for two minutes; any frame of its own keeps it", async () => {
    const { venue, clock } = await start();
    const silent = await connect(venue);
    const pinging = await connect(venue);
    clock.advance(119_000);
    await pinging.drained();
    clock.advance(2_000);
    expect(await silent.closed).toBe(1000);
    await pinging.drained();
    expect(pinging.socket.readyState).toBe(pinging.socket.OPEN);
    pinging.socket.terminate();
  });
});

describe("the book", () => {
  it("is chained by nonce, and every state of it is the true book of its nonce", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    for (const channel of ["order_book/1", "order_book/0"]) await subscribe(listener, channel);
    for (let turn = 0; turn < 60; turn++) clock.advance(50);
    await listener.drained();
    for (const [symbol, id, priceScale, sizeScale] of [
      ["BTC", 1, 10, 100_000],
      ["ETH", 0, 100, 10_000],
    ] as const) {
      const frames = listener.frames.filter((frame) => frame.channel === `order_book:${id}`);
      expect(frames.length).toBeGreaterThan(40);
      const book = new NaiveBook();
      let before = 0;
      let jumps = 0;
      for (const [index, frame] of frames.entries()) {
        const update = bookOf(frame);
        expect(frame.type).toBe(index === 0 ? "subscribed/order_book" : "update/order_book");
        expect(update.begin_nonce).toBe(index === 0 ? 0 : before);
        if (index > 0 && update.nonce - before > 10) jumps++;
        expect(update.nonce).toBeGreaterThan(before);
        before = update.nonce;
        book.apply(update);
        const truth = venue.exchange.market.trueBook(symbol, update.nonce);
        for (const side of ["bids", "asks"] as const) {
          expect(book.sorted(side)).toEqual(
            truth?.[side].map((level) => [level.priceTicks / priceScale, level.qtyLots / sizeScale]),
          );
        }
      }
      // The nonce counts over all markets.
      expect(jumps).toBeGreaterThan(frames.length / 2);
    }
    listener.socket.terminate();
  });

  it("prints absolute sizes in the market's own format, asks rising and bids falling", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, "order_book/1");
    clock.advance(2_000);
    await listener.drained();
    const updates = listener.frames.filter((frame) => frame.type === "update/order_book").map(bookOf);
    const levels = updates.flatMap(({ asks, bids }) => [...asks, ...bids]);
    for (const { price, size } of levels) {
      expect(price).toMatch(/^\d+\.\d$/);
      expect(size).toMatch(/^\d+\.\d{5}$/);
    }
    expect(levels.some(({ size }) => size === "0.00000")).toBe(true);
    for (const { asks, bids } of updates) {
      expect([...asks].sort((left, right) => Number(left.price) - Number(right.price))).toEqual(asks);
      expect([...bids].sort((left, right) => Number(right.price) - Number(left.price))).toEqual(bids);
    }
    listener.socket.terminate();
  });

  it("says nothing while nothing changes, and one batch for 50 ms of changes", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, "order_book/1");
    const count = (): number => listener.frames.filter((frame) => frame.type === "update/order_book").length;
    venue.exchange.controls.setHalted("BTC", true);
    clock.advance(100);
    await listener.drained();
    const whileHalted = count();
    clock.advance(1_000);
    await listener.drained();
    expect(count()).toBe(whileHalted);
    venue.exchange.controls.setHalted("BTC", false);
    clock.advance(1_000);
    await listener.drained();
    expect(count() - whileHalted).toBeLessThanOrEqual(20);
    expect(count() - whileHalted).toBeGreaterThan(10);
    listener.socket.terminate();
  });

  it("gives a newcomer between two batches a snapshot that the next batch follows", async () => {
    const { venue, clock } = await start();
    const first = await connect(venue);
    await subscribe(first, "order_book/1");
    clock.advance(1_050);
    // Changes that wait for the batch.
    venue.exchange.step();
    const second = await connect(venue);
    await subscribe(second, "order_book/1");
    clock.advance(200);
    await Promise.all([first.drained(), second.drained()]);
    const [snapshot, update] = second.frames.slice(1).map(bookOf);
    expect(update?.begin_nonce).toBe(snapshot?.nonce);
    const nonces = first.frames.map((frame) => (frame.order_book === undefined ? 0 : bookOf(frame).nonce));
    expect(nonces).toContain(snapshot?.nonce);
    const book = new NaiveBook();
    for (const each of [snapshot, update]) if (each !== undefined) book.apply(each);
    const truth = venue.exchange.market.trueBook("BTC", update?.nonce ?? 0);
    expect(book.sorted("bids")).toEqual(truth?.bids.map((level) => [level.priceTicks / 10, level.qtyLots / 100_000]));
    first.socket.terminate();
    second.socket.terminate();
  });

  it("is repaired by unsubscribe and subscribe only", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    const snapshots = (): number => listener.frames.filter((frame) => frame.type === "subscribed/order_book").length;
    await subscribe(listener, "order_book/1");
    await subscribe(listener, "order_book/1");
    expect(snapshots()).toBe(1);
    expect(listener.texts.filter((text) => text.includes("30003"))).toHaveLength(1);
    clock.advance(500);
    listener.send({ type: "unsubscribe", channel: "order_book/1" });
    await subscribe(listener, "order_book/1");
    expect(snapshots()).toBe(2);
    listener.socket.terminate();
  });

  it("counts offsets with holes on one server, and from the start on the server of the next connection", async () => {
    const { venue, clock } = await start({ apiServerCount: 3 });
    const offsetsOf = async (): Promise<number[]> => {
      const listener = await connect(venue);
      await subscribe(listener, "order_book/1");
      for (let turn = 0; turn < 20; turn++) clock.advance(50);
      await listener.drained();
      listener.socket.terminate();
      return listener.frames.flatMap((frame) => (frame.order_book === undefined ? [] : [bookOf(frame).offset]));
    };
    const first = await offsetsOf();
    const second = await offsetsOf();
    for (const offsets of [first, second]) {
      const steps = offsets.slice(1).map((offset, index) => offset - (offsets[index] ?? 0));
      expect(Math.min(...steps)).toBe(1);
      expect(Math.max(...steps)).toBeGreaterThan(1);
    }
    expect(Math.abs((second[0] ?? 0) - (first[first.length - 1] ?? 0))).toBeGreaterThan(1_000);
  });

  it("is silent for inactive and spot markets, without refusing them", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    for (const channel of ["order_book/141", "ticker/141", "trade/141", "order_book/2048", "candle/141/1m"])
      await subscribe(listener, channel);
    clock.advance(2_000);
    await listener.drained();
    expect(listener.frames).toHaveLength(1);
    listener.socket.terminate();
  });
});

describe("the other channels", () => {
  it("ticker sends the true touch of each nonce, to every listener", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    const other = await connect(venue);
    await subscribe(listener, "ticker/1");
    clock.advance(500);
    await subscribe(other, "ticker/1");
    for (let turn = 0; turn < 20; turn++) clock.advance(50);
    await Promise.all([listener.drained(), other.drained()]);
    const tickers = listener.frames.filter((frame) => frame.channel === "ticker:1");
    expect(tickers.length).toBeGreaterThan(20);
    expect(tickers[0]?.type).toBe("subscribed/ticker");
    for (const frame of tickers) {
      const { a, b, s } = frame.ticker as { a: { price: string; size: string }; b: { price: string }; s: string };
      const truth = venue.exchange.market.trueBook("BTC", Number(frame.nonce), 1);
      expect([s, Number(a.price), Number(b.price)]).toEqual([
        "BTC",
        (truth?.asks[0]?.priceTicks ?? 0) / 10,
        (truth?.bids[0]?.priceTicks ?? 0) / 10,
      ]);
      expect(Number(a.size)).toBe((truth?.asks[0]?.qtyLots ?? 0) / 100_000);
    }
    const nonces = new Set(tickers.map((frame) => frame.nonce));
    // The first listener must also have received what the newcomer's first frame showed.
    for (const frame of other.frames.slice(1)) expect(nonces).toContain(frame.nonce);
    listener.socket.terminate();
    other.socket.terminate();
  });

  it("market_stats/all sends all markets first, then only those that changed", async () => {
    const { venue, clock } = await start({ priceSource: ONLY_BTC_MOVES });
    const listener = await connect(venue);
    for (const symbol of ["ETH", "ASTER"]) venue.exchange.controls.setHalted(symbol, true);
    await subscribe(listener, "market_stats/all");
    await subscribe(listener, "market_stats/1");
    clock.advance(5_000);
    await listener.drained();
    const all = listener.frames.filter((frame) => frame.channel === "market_stats:all");
    const markets = all.map((frame) => Object.keys(frame.market_stats as object));
    expect(markets[0]).toEqual(["0", "1", "83"]);
    expect(markets.length).toBeGreaterThan(5);
    // The premium of the halted markets may still settle at first.
    expect(markets[markets.length - 1]).toContain("1");
    expect(markets.slice(1).some((ids) => !ids.includes("0") || !ids.includes("83"))).toBe(true);
    const own = listener.frames.filter((frame) => frame.channel === "market_stats:1");
    expect(own[0]?.type).toBe("subscribed/market_stats");
    expect(own[1]?.market_stats).toMatchObject({ symbol: "BTC" });
    listener.socket.terminate();
  });

  it("trade repeats the newest fifty on every subscription, newest first, with ids that JSON.parse corrupts", async () => {
    const { venue, clock } = await start();
    clock.advance(10_000);
    const listener = await connect(venue);
    await subscribe(listener, "trade/83");
    clock.advance(2_000);
    await listener.drained();
    const frames = listener.frames.filter((frame) => frame.channel === "trade:83");
    const rows = frames.map((frame) => frame.trades as Readonly<Record<string, string | number>>[]);
    expect(rows[0]).toHaveLength(50);
    expect(Number(rows[0]?.[0]?.trade_id)).toBeGreaterThan(Number(rows[0]?.[49]?.trade_id));
    const ids = rows.flatMap((each) => each.map((row) => row.trade_id_str));
    expect(new Set(ids).size).toBe(ids.length);
    const text = listener.texts.find((each) => each.includes('"subscribed/trade"')) ?? "";
    let corrupted = 0;
    for (const row of rows.flat()) {
      for (const [side, low, high] of [
        ["ask", 84n, 85n],
        ["bid", 84n, 85n],
      ] as const) {
        const id = BigInt(String(row[`${side}_id_str`]));
        expect(id >= low << 48n && id < high << 48n).toBe(true);
        if (BigInt(Number(row[`${side}_id`])) !== id) corrupted++;
      }
    }
    expect(corrupted).toBeGreaterThan(10);
    // As a JSON number on the wire, digit by digit the string twin.
    const [, askId, twin] = /"ask_id":(\d+),"ask_id_str":"(\d+)"/.exec(text) ?? [];
    expect(askId).toBe(twin);
    listener.send({ type: "unsubscribe", channel: "trade/83" });
    await subscribe(listener, "trade/83");
    expect(listener.frames.filter((frame) => frame.type === "subscribed/trade")).toHaveLength(2);
    listener.socket.terminate();
  });

  it("candle and height send what moves", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, "candle/1/1m");
    await subscribe(listener, "height");
    clock.advance(3_000);
    await listener.drained();
    const candles = listener.frames.filter((frame) => frame.channel === "candle:1:1m");
    expect(candles.length).toBeGreaterThan(3);
    const [row] = (candles[candles.length - 1]?.candles ?? []) as { t: number; h: number; l: number }[];
    expect((row?.t ?? 1) % 60_000).toBe(0);
    expect(row?.h).toBeGreaterThanOrEqual(row?.l ?? Number.POSITIVE_INFINITY);
    const heights = listener.frames.filter((frame) => frame.channel === "height").map((frame) => Number(frame.height));
    expect(heights.length).toBeGreaterThan(10);
    expect([...heights].sort((left, right) => left - right)).toEqual(heights);
    listener.socket.terminate();
  });
});

describe("limits", () => {
  it("refuses the message after the allowed ones and the subscription after the allowed ones", async () => {
    const { venue, clock } = await start({ limits: { messagesPerMinute: 6, subscriptionsPerConnection: 2 } });
    const listener = await connect(venue);
    for (const channel of ["order_book/0", "order_book/1", "ticker/1"]) listener.send({ type: "subscribe", channel });
    for (let count = 0; count < 5; count++) listener.send({ type: "ping" });
    await listener.drained();
    const errors = listener.texts.filter((text) => text.includes("error"));
    expect(errors).toEqual([
      '{"error":{"code":23001,"message":"Too Many Subscriptions!"}}',
      '{"error":{"code":30009,"message":"Too Many Websocket Messages!"}}',
      '{"error":{"code":30009,"message":"Too Many Websocket Messages!"}}',
    ]);
    clock.advance(60_001);
    listener.send({ type: "ping" });
    await listener.drained();
    expect(listener.texts.filter((text) => text === '{"type":"pong"}')).toHaveLength(4);
    listener.socket.terminate();
  });

  it("cuts a reader that does not read, and only that one", async () => {
    const { venue, clock } = await start({ backlogBytesMax: 256 * 1024, cadences: { clientSilenceMs: 1e9 } });
    const lazy = await connect(venue);
    const other = await connect(venue);
    for (const id of [0, 1, 83]) await subscribe(lazy, `order_book/${id}`);
    lazy.socket.pause();
    // The kernel takes some megabytes before anything waits with the venue.
    for (let round = 0; round < 400 && venue.shell.sockets.size > 1; round++) {
      clock.advance(10_000);
      await other.drained();
    }
    expect(venue.shell.sockets.size).toBe(1);
    lazy.socket.resume();
    expect(await lazy.closed).toBe(1006);
    other.socket.terminate();
  });

  it("refuses a connection too many with its code and closes it", async () => {
    const { venue } = await start({ limits: { connections: 1 } });
    const first = await connect(venue);
    const second = await listenTo(venue.wsUrl);
    expect(await second.closed).toBe(1013);
    expect(second.texts).toEqual(['{"error":{"code":23003,"message":"Too Many Connections!"}}']);
    first.socket.terminate();
  });
});
