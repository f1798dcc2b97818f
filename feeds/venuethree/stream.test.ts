import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import {
  BOOK_EMPTY,
  BOOK_INVALID,
  BOOK_LIVE,
  BOOK_SYNCING,
  INVALID_DECODE,
  INVALID_DISCONNECTED,
  INVALID_GAP,
  INVALID_PROBE_MISMATCH,
  INVALID_REFUSED,
} from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import { createMarket, DEAF_LISTENER, type Market } from "../../engine/market/market.js";
import { ClockOffset } from "../shared/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../shared/connection-budget.js";
import { type FakeConnection, FakeNetwork } from "../shared/test/fake-connector.js";
import { MESSAGES_PER_MINUTE, REFUSED_RETRY_MS } from "./limits.js";
import { VenuethreeRest } from "./rest.js";
import { MarketStream } from "./stream.js";
import { buildInstrument } from "./symbols.js";
import { TinyVenue } from "./test/tiny-venue.js";
import type { VenuethreeWireMarket } from "./wire.js";

function marketOf(marketId: number): Market {
  const wire: VenuethreeWireMarket = {
    symbol: `COIN${marketId}`,
    market_id: marketId,
    status: "active",
    price_decimals: 1,
    size_decimals: 1,
    min_initial_margin_fraction: 500,
    multiplier: null,
    stats: {
      market_id: marketId,
      mark_price: null,
      index_price: null,
      mid_price: null,
      last_trade_price: null,
      open_interest: null,
      current_funding_rate: null,
      daily_base_token_volume: null,
      daily_quote_token_volume: null,
      daily_price_low: null,
      daily_price_high: null,
      daily_price_change: null,
    },
  };
  const instrument = buildInstrument(wire, { takerFeeMilliBps: 0, makerFeeMilliBps: 0 });
  if (typeof instrument === "string") throw new Error(instrument);
  return createMarket(instrument, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
}

let clock: VirtualClock;
let network: FakeNetwork;
let venue: TinyVenue;
let stream: MarketStream;
let one: Market;
let two: Market;

function setUp(count = 2): readonly Market[] {
  clock = new VirtualClock();
  network = new FakeNetwork();
  venue = new TinyVenue(clock);
  stream = new MarketStream({
    wsUrl: "ws://venue/stream",
    connector: network.connector,
    clock,
    random: createSeededRandom(5),
    logger: silentLogger,
    rest: new VenuethreeRest(venue, 1),
    clockOffset: new ClockOffset(clock),
    budget: new ConnectionBudget(clock, { maxConnections: 32, connectsPerMinute: 60 }),
    messages: new MessagePacer(clock, MESSAGES_PER_MINUTE, 60_000),
  });
  const markets = Array.from({ length: count }, (_, index) => marketOf(index + 1));
  [one, two] = [markets[0] as Market, (markets[1] ?? markets[0]) as Market];
  return markets;
}

/** Time passes while the venue answers what it is sent, every 50 ms. */
async function pass(ms: number, each: (elapsedMs: number) => void = () => {}): Promise<void> {
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 50) {
    await clock.advanceAsync(50);
    for (const connection of network.connections) if (!connection.isEnded) venue.serve(connection);
    each(elapsedMs);
  }
}

async function goLive(markets: readonly Market[]): Promise<FakeConnection> {
  stream.add(markets);
  network.last.open();
  await pass(300);
  for (const { book } of markets) expect(book.state).toBe(BOOK_LIVE);
  return network.last;
}

function sentTo(connection: FakeConnection, part: string): readonly string[] {
  return connection.sent.filter((text) => text.includes(part));
}

const ageOf = (market: Market): number => ageMs(market.book.tsProvenNs, clock.monoNs());

let markets: readonly Market[];
beforeEach(() => {
  markets = setUp();
});

describe("subscribing", () => {
  it("asks for all books before anything else, one channel a message", async () => {
    const connection = await goLive(markets);
    expect(connection.url).toBe("ws://venue/stream");
    const channels = connection.sent.map((text) => (JSON.parse(text) as { channel: string }).channel);
    expect(channels.slice(0, 2)).toEqual(["order_book/1", "order_book/2"]);
    expect([...channels].sort()).toEqual(
      [
        "height",
        "market_stats/all",
        ...[1, 2].flatMap((id) => [`order_book/${id}`, `ticker/${id}`, `trade/${id}`]),
      ].sort(),
    );
  });

  it("keeps within the messages a minute, over all connections, and within the subscriptions of each", async () => {
    const many = setUp(200);
    stream.add(many);
    expect(network.connections).toHaveLength(2);
    for (const connection of network.connections) connection.open();
    const counts: number[] = [];
    await pass(300_000, () => {
      for (const connection of network.connections) connection.receive(venue.height());
      counts.push(network.connections.reduce((sum, { sent }) => sum + sent.length, 0));
    });
    for (let index = 0; index + 1_200 < counts.length; index += 40) {
      expect((counts[index + 1_200] ?? 0) - (counts[index] ?? 0)).toBeLessThanOrEqual(200);
    }
    for (const connection of network.connections)
      expect(sentTo(connection, '"subscribe"').length).toBeLessThanOrEqual(500);
    expect(many.every(({ book }) => book.state === BOOK_LIVE)).toBe(true);
  });

  it("answers the venue's own ping", async () => {
    const connection = await goLive(markets);
    connection.receive('{"type":"ping"}');
    await pass(50);
    expect(sentTo(connection, "pong")).toEqual(['{"type":"pong"}']);
  });

  it("keeps the connection alive with a ping at least each two minutes", async () => {
    const connection = await goLive(markets);
    await pass(60_000, () => connection.receive(venue.height()));
    expect(connection.pingCount).toBeGreaterThanOrEqual(1);
  });
});

describe("continuity", () => {
  it("invalidates at a gap, then unsubscribes, waits for the acknowledgement, subscribes, and is LIVE with the snapshot", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    const before = connection.sent.length;
    connection.receive(venue.move(1, 1_200));
    expect([one.book.state, two.book.state]).toEqual([BOOK_SYNCING, BOOK_LIVE]);
    await clock.advanceAsync(200);
    expect(connection.sent.slice(before)).toEqual(['{"type":"unsubscribe","channel":"order_book/1"}']);
    venue.serve(connection);
    await clock.advanceAsync(50);
    expect(connection.sent.slice(before + 1)).toEqual(['{"type":"subscribe","channel":"order_book/1"}']);
    expect(one.book.state).toBe(BOOK_SYNCING);
    venue.serve(connection);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_200]);
    expect(stream.status()).toMatchObject({ gapCount: 1, resyncCount: 1 });
  });

  it("tells readers of the gap before it repairs", async () => {
    const connection = await goLive(markets);
    const seen: (string | number)[] = [];
    one.signal.listen({ ...DEAF_LISTENER, bookChanged: ({ book }) => seen.push(book.invalidReason || book.state) });
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    expect(seen[0]).toBe(INVALID_GAP);
  });

  it("repairs once for a burst of broken updates", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    for (let step = 0; step < 20; step++) connection.receive(venue.move(1, 1_200 + step));
    await pass(1_000);
    expect(one.book.state).toBe(BOOK_LIVE);
    expect(sentTo(connection, '"unsubscribe"')).toHaveLength(1);
    expect(stream.status().resyncCount).toBe(1);
  });

  it("goes on when the acknowledgement of the unsubscribe never comes", async () => {
    const connection = await goLive(markets);
    venue.isForgetful = true;
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await pass(4_000);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_200]);
  });

  it("gives the snapshot a moment when an update comes before it, and takes it", async () => {
    stream.add(markets);
    const connection = network.last;
    connection.open();
    await clock.advanceAsync(10);
    connection.receive(venue.move(1, 1_100));
    expect(one.book.state).toBe(BOOK_SYNCING);
    await pass(1_000);
    expect([one.book.state, one.book.bidTicks(0), stream.status().resyncCount]).toEqual([BOOK_LIVE, 1_100, 0]);
  });

  it("repairs at once when updates come and the snapshot does not, once for all of them", async () => {
    stream.add(markets);
    const connection = network.last;
    venue.mute.add("order_book/1");
    connection.open();
    await pass(350, () => connection.receive(venue.move(1, 1_100)));
    venue.mute.clear();
    await pass(1_400, () => connection.receive(venue.move(1, 1_100)));
    expect(one.book.state).toBe(BOOK_LIVE);
    expect(sentTo(connection, '"unsubscribe","channel":"order_book/1"')).toHaveLength(1);
  });

  it("tries again at once when the snapshot of a repair is lost and updates come", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await clock.advanceAsync(60);
    venue.serve(connection);
    // The venue takes the subscribe, and its snapshot is lost on the way.
    venue.losesSnapshots = true;
    await pass(200, () => connection.receive(venue.move(1, 1_300)));
    venue.losesSnapshots = false;
    await pass(1_000, () => connection.receive(venue.move(1, 1_400)));
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_400]);
    expect(sentTo(connection, '"unsubscribe","channel":"order_book/1"')).toHaveLength(2);
  });

  it("unsubscribes first when the venue says that it is subscribed already", async () => {
    stream.add(markets);
    const connection = network.last;
    venue.mute.add("order_book/1");
    connection.open();
    await pass(100);
    connection.receive('{"error":{"code":30003,"message":"Already Subscribed to : order_book:1"}}');
    venue.mute.clear();
    // The venue answers this unsubscribe with an error that names no channel: its deadline passes first.
    await pass(5_000);
    expect(one.book.state).toBe(BOOK_LIVE);
    expect(sentTo(connection, '"unsubscribe","channel":"order_book/1"')).toHaveLength(1);
  });

  it("takes a figure that the market's decimals cannot hold for drift, of this book alone", async () => {
    const connection = await goLive(markets);
    connection.receive(venue.move(1, 1_100).replace("110.0", "110.05"));
    expect([one.book.state, two.book.state]).toEqual([BOOK_SYNCING, BOOK_LIVE]);
    expect(stream.status().protocolDriftCount).toBe(1);
    await pass(1_000);
    expect(one.book.state).toBe(BOOK_LIVE);
  });

  it("leaves LIVE with the reason of what broke", async () => {
    const connection = await goLive(markets);
    const reasons: string[] = [];
    one.signal.listen({
      ...DEAF_LISTENER,
      bookChanged: ({ book }) => {
        if (book.state === BOOK_INVALID) reasons.push(book.invalidReason);
      },
    });
    connection.receive(venue.move(1, 1_100).replace("110.0", "110.05"));
    await pass(1_000);
    connection.end(1006);
    expect(reasons).toEqual([INVALID_DECODE, INVALID_DISCONNECTED]);
  });
});

describe("refusals", () => {
  it("marks a market down that the venue does not serve, leaves the others, and tries again much later", async () => {
    venue.mute.add("order_book/1");
    stream.add(markets);
    const connection = network.last;
    connection.open();
    await pass(120_000, () => connection.receive(venue.height()));
    expect([one.book.state, one.book.invalidReason, two.book.state]).toEqual([
      BOOK_INVALID,
      INVALID_REFUSED,
      BOOK_LIVE,
    ]);
    const tries = sentTo(connection, '"subscribe","channel":"order_book/1"').length;
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(8);
    await pass(60_000, () => connection.receive(venue.height()));
    expect(sentTo(connection, '"subscribe","channel":"order_book/1"')).toHaveLength(tries);
    expect(network.connections).toHaveLength(1);
    venue.mute.clear();
    await pass(REFUSED_RETRY_MS, () => connection.receive(venue.height()));
    expect(one.book.state).toBe(BOOK_LIVE);
  });

  it("replaces the connection when it serves no book at all", async () => {
    const three = setUp(3);
    venue.isMute = true;
    stream.add(three);
    network.last.open();
    await pass(90_000, () => network.last.receive(venue.height()));
    expect(network.connections.length).toBeGreaterThan(1);
    venue.isMute = false;
    if (!network.last.isEnded) network.last.open();
    await pass(10_000);
    expect(three.every(({ book }) => book.state === BOOK_LIVE)).toBe(true);
  });

  it("sends nothing for a minute when the venue finds the messages too many", async () => {
    const connection = await goLive(markets);
    connection.receive('{"error":{"code":30009,"message":"Too Many Websocket Messages!"}}');
    const before = connection.sent.length;
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await pass(50_000, () => connection.receive(venue.height()));
    expect(connection.sent).toHaveLength(before);
    await pass(20_000, () => connection.receive(venue.height()));
    expect(one.book.state).toBe(BOOK_LIVE);
  });
});

describe("connections", () => {
  it("takes all books out of LIVE when one is lost, and brings them back over the next", async () => {
    const connection = await goLive(markets);
    connection.receive(venue.ticker(1));
    connection.end(1006);
    expect([one.book.state, one.book.invalidReason, one.touch.present]).toEqual([
      BOOK_INVALID,
      INVALID_DISCONNECTED,
      false,
    ]);
    await pass(5_000);
    network.last.open();
    await pass(1_000);
    expect([one.book.state, two.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
    expect(stream.status().reconnectCount).toBe(1);
  });

  it("comes back from a loss in the middle of a repair", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await clock.advanceAsync(60);
    expect(sentTo(connection, '"unsubscribe"')).toHaveLength(1);
    connection.end(1006);
    await pass(5_000);
    network.last.open();
    await pass(1_000);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_200]);
    expect(sentTo(network.last, '"subscribe","channel":"order_book/1"')).toHaveLength(1);
  });

  it("survives a storm of losses within the connects a minute, and ends LIVE with the venue's book", async () => {
    await goLive(markets);
    const random = createSeededRandom(9);
    const startedMs = clock.wallMs();
    let isStorm = true;
    await pass(180_000, (elapsedMs) => {
      isStorm = elapsedMs < 150_000;
      const connection = network.last;
      if (!connection.isEnded && connection.sent.length === 0) connection.open();
      if (connection.isEnded) return;
      connection.receive(random.next() < 0.3 ? venue.height() : venue.move(1, 900 + Math.floor(random.next() * 200)));
      if (isStorm && random.next() < 0.05) connection.end(random.next() < 0.5 ? 1006 : 1001);
    });
    const minutes = (clock.wallMs() - startedMs) / 60_000;
    expect(network.connections.length).toBeGreaterThan(20);
    expect(network.connections.length).toBeLessThanOrEqual(60 * minutes + 60);
    expect([one.book.state, two.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
    expect(one.book.bidTicks(0)).toBe(venue.market(1).bidTicks);
  });

  it("stops: no book LIVE, nothing more sent", async () => {
    const connection = await goLive(markets);
    stream.stop();
    expect([connection.isEnded, one.book.state]).toEqual([true, BOOK_INVALID]);
    const before = connection.sent.length;
    await pass(10_000);
    expect([connection.sent.length, network.connections.length]).toEqual([before, 1]);
  });
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

  it("are proven by answered pings where nothing is sent, as of the question", async () => {
    const connection = await goLive(markets);
    await pass(2_000);
    await pass(20_000, () => expect(ageOf(one)).toBeLessThan(2_000));
    expect(sentTo(connection, '"ping"').length).toBeGreaterThan(10);
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

  it("lose the proof while a newer ticker shows another top, and are audited: the stream is dead when the venue agrees with the ticker", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    connection.receive(venue.ticker(1));
    const reasons: string[] = [];
    one.signal.listen({ ...DEAF_LISTENER, bookChanged: ({ book }) => reasons.push(book.invalidReason) });
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
    const many = setUp(20);
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
      ...DEAF_LISTENER,
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
    one.signal.listen({ ...DEAF_LISTENER, traded: () => count++ });
    connection.receive(venue.trades(1, [{ trade_id: 1, price: "100.05" }]));
    expect([count, stream.status().protocolDriftCount]).toEqual([0, 1]);
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
