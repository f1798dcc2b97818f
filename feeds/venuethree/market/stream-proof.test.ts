/** The market stream of venuethree: what proves a quiet book, what else it passes on, and how markets come and go. */
import { beforeEach, describe, expect, it } from "vitest";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { BOOK_EMPTY, BOOK_LIVE, INVALID_PROBE_MISMATCH } from "../../../engine/market/book.js";
import { NO_MARKET_LISTENER, type Market } from "../../../engine/market/market.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";
import type { MarketStream } from "./stream.js";
import { marketOf, sentTo, StreamBench } from "../test/stream-bench.js";
import type { TinyVenue } from "../test/tiny-venue.js";

let bench: StreamBench;
let clock: VirtualClock;
let venue: TinyVenue;
let stream: MarketStream;
let markets: readonly Market[];
let one: Market;
let two: Market;

function setUp(count = 2): readonly Market[] {
  bench = new StreamBench(count);
  ({ clock, venue, stream } = bench);
  [one, two] = [bench.markets[0] as Market, (bench.markets[1] ?? bench.markets[0]) as Market];
  return bench.markets;
}

const pass = (ms: number, each?: (elapsedMs: number) => void): Promise<void> => bench.pass(ms, each);
const goLive = (wanted: readonly Market[]): Promise<FakeConnection> => bench.goLive(wanted);
const ageOf = (market: Market): number => bench.ageOf(market);

beforeEach(() => {
  markets = setUp();
});

describe("quiet books", () => {
  it("are proven current by any frame of their connection, without a message of ours", async () => {
    const connection = await goLive(markets);
    const before = connection.sent.length;
    await pass(20_000, () => {
      connection.receive(venue.height());
      expect(ageOf(one)).toBeLessThan(1_000);
    });
    expect(connection.sent.length).toBe(before);
  });

  it("are proven by answered pings between the heights of a slow connection, as of the question", async () => {
    const connection = await goLive(markets);
    await pass(20_000, (elapsedMs) => {
      if (elapsedMs % 1_800 === 0) connection.receive(venue.height());
      expect(ageOf(one)).toBeLessThan(1_500);
    });
    expect(sentTo(connection, '"ping"').length).toBeGreaterThan(5);
  });

  it("grow old when pings are not answered", async () => {
    const connection = await goLive(markets);
    venue.answersPings = false;
    await pass(5_000);
    expect(ageOf(one)).toBeGreaterThan(4_000);
    expect(sentTo(connection, '"ping"')).toHaveLength(1);
  });

  it("take no proof from frames that were held up on their way", async () => {
    const connection = await goLive(markets);
    await pass(3_000, () => connection.receive(venue.height()));
    const old = venue.height();
    venue.answersPings = false;
    await pass(10_000, () => connection.receive(old));
    expect(ageOf(one)).toBeGreaterThan(2_000);
  });

  it("take no proof from trades that were held up on their way, nor from frames that hold none", async () => {
    const connection = await goLive(markets);
    await pass(3_000, () => connection.receive(venue.height()));
    const old = venue.height();
    venue.answersPings = false;
    const timestamp = clock.wallMs();
    const trade = {
      trade_id: 7,
      type: "trade",
      market_id: 1,
      size: "1.0",
      price: "100.0",
      is_maker_ask: true,
      timestamp,
    };
    const frame = (trades: readonly unknown[]): string =>
      JSON.stringify({ channel: "trade:1", type: "update/trade", trades });
    await pass(10_000, () => {
      // The connection has its height, as late as its trades.
      connection.receive(old);
      connection.receive(frame([trade]));
      connection.receive(frame([]));
    });
    expect(ageOf(one)).toBeGreaterThan(2_000);
    connection.receive(frame([{ ...trade, trade_id: 8, timestamp: clock.wallMs() }]));
    await pass(1_000);
    expect(ageOf(one)).toBeLessThan(2_000);
  });

  it("lose the proof while a newer ticker shows another top, and are audited: the stream is dead when the venue agrees with the ticker", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    connection.receive(venue.ticker(1));
    const reasons: string[] = [];
    one.signal.listen({ ...NO_MARKET_LISTENER, bookChanged: ({ book }) => reasons.push(book.invalidReason) });
    await pass(1_000, () => connection.receive(venue.height()));
    expect(ageOf(one)).toBeGreaterThan(900);
    expect(ageOf(two)).toBeLessThan(500);
    await pass(4_000, () => connection.receive(venue.height()));
    expect(reasons[0]).toBe(INVALID_PROBE_MISMATCH);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_100]);
    expect(venue.count("orderBookOrders")).toBe(1);
  });

  it("drop a ticker that the venue's own book contradicts", async () => {
    const connection = await goLive(markets);
    const good = venue.ticker(1);
    connection.receive(good.replace('"nonce":1000', '"nonce":2000').replace('"100.0"', '"99.0"'));
    expect(one.touch.present).toBe(true);
    await pass(5_000, () => connection.receive(venue.height()));
    expect([one.touch.present, one.book.state]).toEqual([false, BOOK_LIVE]);
    expect(ageOf(one)).toBeLessThan(500);
    expect(stream.status().resyncCount).toBe(0);
  });

  it("are audited when statistics show another mid", async () => {
    const connection = await goLive(markets);
    venue.move(2, 1_500);
    await pass(3_000, () => connection.receive(venue.height()));
    connection.receive(venue.stats(2, { mid_price: "150.2" }));
    await pass(5_000, () => connection.receive(venue.height()));
    expect([two.book.state, two.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_500]);
    expect(stream.status().resyncCount).toBe(1);
  });

  it("are audited in turn, few a minute, and a book that lost its stream unnoticed is found", async () => {
    const many = setUp(19);
    const connection = await goLive(many);
    venue.move(7, 1_300);
    await pass(360_000, () => connection.receive(venue.height()));
    expect(venue.count("orderBookOrders")).toBeLessThanOrEqual(6 * 6);
    expect(venue.count("orderBookOrders")).toBeGreaterThan(20);
    expect(many[6]?.book.bidTicks(0)).toBe(1_300);
    expect(stream.status().resyncCount).toBe(1);
  });

  it("are left alone when the audit gets no answer", async () => {
    const connection = await goLive(markets);
    venue.isRestDown = true;
    await pass(180_000, () => connection.receive(venue.height()));
    expect([one.book.state, stream.status().resyncCount]).toEqual([BOOK_LIVE, 0]);
    expect(ageOf(one)).toBeLessThan(500);
  });
});

describe("touch, statistics, trades", () => {
  it("overrides the top with a ticker of a newer nonce, and never goes back", async () => {
    const connection = await goLive(markets);
    const old = venue.ticker(1);
    venue.move(1, 1_010);
    connection.receive(venue.ticker(1));
    expect([one.touch.bidTicks, one.touch.seq]).toEqual([1_010, venue.market(1).nonce]);
    connection.receive(old);
    expect(one.touch.bidTicks).toBe(1_010);
  });

  it("fills tickers from the statistics of all markets", async () => {
    const connection = await goLive(markets);
    connection.receive(
      venue.stats(1, { mark_price: "100.2", last_trade_price: "100.1", current_funding_rate: "0.0012" }),
    );
    expect(one.ticker).toMatchObject({
      markPrice: "100.2",
      lastPrice: "100.1",
      fundingRate: "0.000012",
      fundingIntervalHours: 1,
    });
    expect([two.ticker.known, stream.hasStats(one), stream.hasStats(two)]).toEqual([false, true, false]);
    expect(one.ticker.nextFundingTime % 3_600_000).toBe(0);
    expect(one.ticker.nextFundingTime).toBeGreaterThan(clock.wallMs());
  });

  it("passes each trade on once, oldest first, with exact ids and the taker's side", async () => {
    const connection = await goLive(markets);
    const seen: unknown[] = [];
    one.signal.listen({
      ...NO_MARKET_LISTENER,
      traded: (_market, side, ticks, lots, id) => seen.push([side, ticks, lots, id]),
    });
    const big = "9007199254740993";
    const rows = [
      { trade_id: 12, is_maker_ask: false, price: "100.5" },
      { trade_id: 11, trade_id_str: "11" },
    ];
    connection.receive(venue.trades(1, rows, true));
    connection.receive(venue.trades(1, rows, true));
    connection.receive(venue.trades(1, [{ trade_id: 99999 }]).replace("99999", big));
    connection.receive(venue.trades(1, [{ trade_id: 99999 }]).replace("99999", big));
    expect(seen).toEqual([
      ["BUY", 1_000, 20, "11"],
      ["SELL", 1_005, 20, "12"],
      ["BUY", 1_000, 20, big],
    ]);
  });

  it("counts a trade that the market's decimals cannot hold, and passes it not on", async () => {
    const connection = await goLive(markets);
    let count = 0;
    one.signal.listen({ ...NO_MARKET_LISTENER, traded: () => count++ });
    connection.receive(venue.trades(1, [{ trade_id: 1, price: "100.05" }]));
    expect([count, stream.status().protocolDriftCount]).toEqual([0, 1]);
  });

  it("counts a trade of 1970, and passes it not on: the stamp is in other units, or none", async () => {
    const connection = await goLive(markets);
    let count = 0;
    one.signal.listen({ ...NO_MARKET_LISTENER, traded: () => count++ });
    const rows = [0, 5, 1_790_000_000].map((timestamp, index) => ({ trade_id: index + 1, timestamp }));
    connection.receive(venue.trades(1, rows));
    expect([count, stream.status().protocolDriftCount]).toEqual([0, 3]);
    connection.receive(venue.trades(1, [{ trade_id: 1 }]));
    expect(count).toBe(1);
  });
});

describe("frames from the future", () => {
  const measure = (): void => bench.clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs(), 1);

  const ahead = (text: string): string =>
    text.replace(/"timestamp":(\d+)/, (_, ms) => `"timestamp":${Number(ms) + 5_100}`);

  it("keep the chain of a book, and prove neither it nor another one", async () => {
    const connection = await goLive(markets);
    measure();
    venue.answersPings = false;
    await pass(3_000);
    connection.receive(ahead(venue.move(1, 1_020)));
    connection.receive(ahead(venue.ticker(1)));
    connection.receive(ahead(venue.height()));
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_020]);
    expect([ageOf(one), ageOf(two)].map((ms) => ms > 2_000)).toEqual([true, true]);
    connection.receive(venue.move(1, 1_030));
    expect([one.book.bidTicks(0), ageOf(one)]).toEqual([1_030, 0]);
  });

  it("prove as little where they have no time at all", async () => {
    const connection = await goLive(markets);
    measure();
    venue.answersPings = false;
    await pass(3_000);
    const untimed = (text: string): string => text.replace(/"timestamp":\d+,/, "");
    for (const text of [venue.move(1, 1_020), venue.ticker(1), venue.height()]) connection.receive(untimed(text));
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_020]);
    expect([ageOf(one), ageOf(two)].map((ms) => ms > 2_000)).toEqual([true, true]);
  });

  it("that are trades are counted, not passed on, and may come again with their true time", async () => {
    const connection = await goLive(markets);
    measure();
    let count = 0;
    one.signal.listen({ ...NO_MARKET_LISTENER, traded: () => count++ });
    for (const aheadMs of [5_100, 30_000, 86_400_000])
      connection.receive(venue.trades(1, [{ trade_id: 1, timestamp: clock.wallMs() + aheadMs }]));
    expect([count, stream.status().protocolDriftCount]).toEqual([0, 3]);
    connection.receive(venue.trades(1, [{ trade_id: 1, timestamp: clock.wallMs() + 100 }]));
    expect(count).toBe(1);
  });
});

describe("listing", () => {
  it("gives the channels of a removed market back, empties its book, and streams its successor", async () => {
    const connection = await goLive(markets);
    stream.remove(one);
    await pass(100);
    expect(sentTo(connection, '"unsubscribe"')).toHaveLength(3);
    expect([one.book.state, stream.streams(one)]).toEqual([BOOK_EMPTY, false]);
    connection.receive(venue.move(1, 1_100));
    expect(one.book.state).toBe(BOOK_EMPTY);
    const successor = marketOf(1);
    stream.add([successor]);
    await pass(500);
    expect([successor.book.state, one.book.state]).toEqual([BOOK_LIVE, BOOK_EMPTY]);
  });

  it("counts garbage and goes on", async () => {
    const connection = await goLive(markets);
    for (const text of [
      "",
      "{",
      "null",
      '{"type":"surprise"}',
      '{"channel":"order_book:9","order_book":{"nonce":1}}',
    ]) {
      connection.receive(text);
    }
    connection.receive(venue.move(1, 1_100));
    expect(one.book.bidTicks(0)).toBe(1_100);
    const { decodeErrorCount, protocolDriftCount } = stream.status();
    expect([decodeErrorCount, protocolDriftCount]).toEqual([3, 2]);
  });
});
