import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING } from "../../../engine/market/book.js";
import { bestTicks } from "../../../engine/market/depth-walk.js";
import { ageMs } from "../../../engine/market/freshness.js";
import { createMarket, NO_MARKET_LISTENER, type Market } from "../../../engine/market/market.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { keepDebugLines } from "../../shared/test/debug-lines.js";
import { frameFixture, frameFixtures } from "../fixtures/market/load.js";
import { MarketStream } from "./stream.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";
import type { VenueoneWireAsset } from "./wire.js";

const asset = (name: string, szDecimals: number, isDelisted = false): VenueoneWireAsset => ({
  name,
  szDecimals,
  maxLeverage: 10,
  isDelisted,
});
const ASSETS = [
  asset("BTC", 5),
  asset("ETH", 4),
  asset("kPEPE", 0),
  asset("MATIC", 1, true),
  asset("BANANA", 1),
  asset("MOODENG", 0),
];

function setup(
  coins: readonly string[] = ["BTC", "ETH"],
  startMs = 1_790_000_000_000,
  measured = false,
  logger = silentLogger,
) {
  const clock = new VirtualClock(startMs);
  const network = new FakeNetwork();
  const trades: { side: string; priceTicks: number; qtyLots: number; tradeId: string | number; tsVenueMs: number }[] =
    [];
  const clockOffset = new ClockOffset(clock);
  if (measured) clockOffset.addRoundTrip(startMs, startMs, startMs, 1);
  const stream = new MarketStream({
    wsUrl: "ws://venue",
    clock,
    random: createSeededRandom(1),
    logger,
    connector: network.connector,
    clockOffset,
    budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 30 }),
    messages: new MessagePacer(clock, 2_000, 60_000),
  });
  const { byCoin } = buildInstruments({ universe: ASSETS, collateralToken: 0 }, DEFAULT_FEES);
  const markets = new Map<string, Market>();
  for (const coin of coins) {
    const instrument = byCoin.get(coin);
    if (instrument === undefined) throw new Error(`no ${coin}`);
    const market = createMarket(instrument, { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 });
    market.signal.listen({
      ...NO_MARKET_LISTENER,
      traded: (_market, side, priceTicks, qtyLots, tradeId, tsVenueMs) =>
        trades.push({ side, priceTicks, qtyLots, tradeId, tsVenueMs }),
    });
    markets.set(coin, market);
    stream.add(market);
  }
  const market = (coin: string): Market => {
    const found = markets.get(coin);
    if (found === undefined) throw new Error(`no ${coin}`);
    return found;
  };
  /** Connections in the order of opening: the fast shard, then the deep socket. */
  const [fast, deep] = network.connections;
  const openAll = (): void => {
    for (const connection of network.connections) if (!connection.isEnded) connection.open();
    clock.advance(1_000);
  };
  return {
    clock,
    clockOffset,
    network,
    stream,
    trades,
    market,
    fast: fast as FakeConnection,
    deep: deep as FakeConnection,
    openAll,
  };
}

function bookText(coin: string, time: number, bid = "100.0", ask = "101.0"): string {
  const levels = [[{ px: bid, sz: "1.0", n: 1 }], [{ px: ask, sz: "2.0", n: 1 }]];
  return JSON.stringify({ channel: "l2Book", data: { coin, time, levels } });
}

function bboText(coin: string, time: number, bid = "100.0", ask = "101.0"): string {
  return JSON.stringify({
    channel: "bbo",
    data: {
      coin,
      time,
      bbo: [
        { px: bid, sz: "1.0", n: 1 },
        { px: ask, sz: "2.0", n: 1 },
      ],
    },
  });
}

function subscriptionsOf(connection: FakeConnection): unknown[] {
  return connection.sent
    .filter((text) => text.includes('"subscribe"'))
    .map((text) => (JSON.parse(text) as { subscription: unknown }).subscription);
}

describe("subscriptions", () => {
  it("asks for fast book, touch, trades and context on one socket, and the deep books on another", () => {
    const { fast, deep, openAll } = setup(["BTC"]);
    openAll();
    expect(subscriptionsOf(fast)).toEqual([
      { type: "l2Book", coin: "BTC", fast: true },
      { type: "bbo", coin: "BTC" },
      { type: "trades", coin: "BTC" },
      { type: "activeAssetCtx", coin: "BTC" },
    ]);
    expect(subscriptionsOf(deep)).toEqual([{ type: "l2Book", coin: "BTC" }]);
  });

  it("never asks for a delisted coin, which would be a dead stream, nor twice for one", () => {
    const { stream, market, network } = setup(["MATIC"]);
    expect(stream.streams("MATIC")).toBe(false);
    expect(network.connections).toHaveLength(0);
    expect(stream.add(market("MATIC"))).toBe(false);
  });

  it("spreads many coins over sockets and paces the subscriptions", () => {
    const { clock, network, stream } = setup([]);
    const universe = Array.from({ length: 160 }, (_, index) => asset(`C${index}`, 2));
    for (const instrument of buildInstruments({ universe, collateralToken: 0 }, DEFAULT_FEES).bySymbol.values()) {
      stream.add(createMarket(instrument, { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 }));
    }
    expect(network.connections).toHaveLength(4);
    for (const connection of network.connections) connection.open();
    const sentPerSecond: number[] = [];
    let sentBefore = 0;
    for (let second = 0; second < 10; second++) {
      clock.advance(1_000);
      for (const connection of network.connections) connection.receive('{"channel":"pong"}');
      const sent = network.connections.reduce((sum, connection) => sum + connection.sent.length, 0);
      sentPerSecond.push(sent - sentBefore);
      sentBefore = sent;
    }
    expect(
      new Set(
        network.connections.flatMap((connection) => subscriptionsOf(connection).map((name) => JSON.stringify(name))),
      ).size,
    ).toBe(800);
    expect(Math.max(...sentPerSecond)).toBeLessThanOrEqual(4 * 60 + 4);
  });

  it("gives the subscriptions back when a coin is removed, and forgets its book", () => {
    const { clock, stream, market, fast, deep, openAll } = setup(["BTC"]);
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    stream.remove("BTC");
    clock.advance(1_000);
    expect(fast.sent.filter((text) => text.includes("unsubscribe"))).toHaveLength(4);
    expect(deep.sent.filter((text) => text.includes("unsubscribe"))).toHaveLength(1);
    expect(market("BTC").book.state).not.toBe(BOOK_LIVE);
    fast.receive(bookText("BTC", clock.wallMs()));
    expect(market("BTC").book.bidCount).toBe(0);
    expect(stream.stats().unknownCoinCount).toBe(1);
  });
});

describe("frames", () => {
  it("go to the tier of their socket, though both depths use one channel", () => {
    const { clock, market, fast, deep, openAll } = setup();
    openAll();
    deep.receive(bookText("ETH", clock.wallMs(), "90.0", "110.0"));
    fast.receive(bookText("ETH", clock.wallMs(), "99.0", "100.0"));
    expect(market("ETH").deep?.bidTicks(0)).toBe(9_000);
    expect(market("ETH").book.bidTicks(0)).toBe(9_900);
    expect(market("BTC").book.state).toBe(BOOK_SYNCING);
  });

  it("of a recording are all handled: no decode error, no drift", () => {
    // Recorded years apart, so each is played at its own time.
    const play = (name: string) => {
      const text = frameFixture(name);
      const time = Number(/"time":(\d{13})/.exec(text)?.[1] ?? 1_790_400_000_000);
      const run = setup(["BTC", "kPEPE", "BANANA", "MOODENG"], time);
      run.openAll();
      run.fast.receive(text);
      return run;
    };
    let unknownCoins = 0;
    let errorFrames = 0;
    for (const { name } of frameFixtures()) {
      const stats = play(name).stream.stats();
      expect({ name, ...stats }).toMatchObject({
        name,
        decodeErrorCount: 0,
        protocolDriftCount: 0,
        refusedCount: 0,
        slowDepthCount: 0,
      });
      unknownCoins += stats.unknownCoinCount;
      errorFrames += stats.errorFrameCount;
    }
    // MATIC is delisted: not subscribed.
    expect([unknownCoins, errorFrames]).toEqual([1, 2]);
    expect(play("probe_l2Book_kPEPE").market("kPEPE").book.bidTicks(0)).toBe(4_411);
    expect(play("tardis_l2Book_1").market("BANANA").book.bidCount).toBe(2);
    expect(play("bytex_bbo").market("BTC").touch).toMatchObject({ bidTicks: 837_570, askLots: 16 });
    expect(play("probe_activeAssetCtx_BTC").market("BTC").ticker).toMatchObject({
      markPrice: "84148.0",
      lastPrice: "84143.5",
    });
    expect(play("tardis_activeAssetCtx_0").market("MOODENG").ticker.fundingRate).toBe("0.00004863");
  });

  it("never throw out of the handler, whatever the bytes, and damage no other book", () => {
    const { clock, stream, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("ETH", clock.wallMs()));
    const frame = bookText("BTC", clock.wallMs());
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.nat(frame.length).map((length) => frame.slice(0, length)),
          fc.json().map((data) => `{"channel":"l2Book","data":${data}}`),
          fc.json(),
        ),
        (text) => {
          fast.receive(text);
        },
      ),
    );
    expect(stream.stats().sockets[0]?.handlerErrorCount).toBe(0);
    expect(stream.stats().decodeErrorCount).toBeGreaterThan(50);
    expect(market("ETH").book.state).toBe(BOOK_LIVE);
  });

  it("that name their coin but can not be read put its book in doubt until the next good one", () => {
    const { clock, stream, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    fast.receive(
      `{"channel":"l2Book","data":{"coin":"BTC","time":${clock.wallMs()},"levels":[[{"px":"oops","sz":"1","n":1}],[]]}}`,
    );
    expect(market("BTC").book.state).toBe(BOOK_INVALID);
    expect(stream.stats().decodeErrorCount).toBe(1);
    clock.advance(540);
    fast.receive(bookText("BTC", clock.wallMs()));
    expect(market("BTC").book.state).toBe(BOOK_LIVE);
  });

  it("with too many decimals count as drift", () => {
    const { clock, stream, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs(), "100.05"));
    expect(stream.stats().protocolDriftCount).toBe(1);
    expect(market("BTC").book.state).toBe(BOOK_INVALID);
  });

  it("of the slow way (escapes, more levels than the scanner takes) end in the same book", () => {
    const { clock, stream, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs(), "100.5").replace('"BTC"', '"\\u0042TC"'));
    expect(market("BTC").book.bidTicks(0)).toBe(1_005);
    expect(stream.stats().slowDepthCount).toBe(1);
  });

  it("from far in the future are garbage: taken, they would outdate all that follow", () => {
    const { clock, stream, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs() + 10 * 60_000));
    expect(market("BTC").book.state).toBe(BOOK_SYNCING);
    fast.receive(bookText("BTC", clock.wallMs()));
    expect(market("BTC").book.state).toBe(BOOK_LIVE);
    expect(stream.stats().protocolDriftCount).toBe(1);
  });

  it("from the future override fresh books for two seconds at most, and for none where they are five ahead", () => {
    for (const [aheadMs, longestMs] of [
      [4_900, 2_000],
      [5_100, 0],
      [49_500, 0],
    ] as const) {
      const { clock, market, fast, openAll } = setup(["BTC"], 1_790_000_000_000, true);
      openAll();
      fast.receive(bookText("BTC", clock.wallMs()));
      fast.receive(bboText("BTC", clock.wallMs() + aheadMs, "150.0", "151.0"));
      let wrongMs = 0;
      for (let pastMs = 0; pastMs < 10_000; pastMs += 500) {
        clock.advance(500);
        fast.receive(bookText("BTC", clock.wallMs()));
        if (bestTicks(market("BTC"), "SELL") !== 1_000) wrongMs = pastMs + 500;
      }
      expect([aheadMs, wrongMs <= longestMs, wrongMs]).toEqual([aheadMs, true, expect.any(Number)]);
    }
  });

  it("of a clock that was a minute ahead bar nothing of the right time once that is measured", () => {
    const { clock, clockOffset, market, fast, deep, openAll } = setup(["BTC"], 1_790_000_000_000, true);
    openAll();
    const measure = (aheadMs: number): void =>
      clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs() + aheadMs, 1);
    const send = (aheadMs: number, bid: string): void => {
      clock.advance(100);
      fast.receive(bookText("BTC", clock.wallMs() + aheadMs, bid));
      fast.receive(bboText("BTC", clock.wallMs() + aheadMs + 1, bid));
      deep.receive(bookText("BTC", clock.wallMs() + aheadMs, bid));
    };
    measure(60_000);
    send(60_000, "100.0");
    measure(0);
    send(0, "99.0");
    const { book, deep: deepBook, touch } = market("BTC");
    expect([book.bidTicks(0), deepBook?.bidTicks(0), touch.bidTicks]).toEqual([990, 990, 990]);
    expect(bestTicks(market("BTC"), "SELL")).toBe(990);
    expect(ageMs(book.tsProvenNs, clock.monoNs())).toBe(0);
  });

  it("of the slow way and from the future prove nothing, but that their stream is not dead", () => {
    const { clock, market, fast, openAll } = setup(["BTC", "ETH"], 1_790_000_000_000, true);
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    const subscribes = (): number => fast.sent.filter((text) => text.includes('"coin":"BTC","fast"')).length;
    expect(subscribes()).toBe(1);
    for (const coin of ["BTC", "\\u0042TC"]) {
      for (let beat = 0; beat < 40; beat++) {
        clock.advance(500);
        fast.receive(bookText("ETH", clock.wallMs()));
        fast.receive(bookText("BTC", clock.wallMs() + 10_000, "99.0").replace('"BTC"', `"${coin}"`));
      }
      const { book, maxBookAgeMs } = market("BTC");
      expect(ageMs(book.tsProvenNs, clock.monoNs())).toBeGreaterThan(maxBookAgeMs);
      expect(subscribes()).toBe(1);
    }
  });

  it("held up on their way longer than the tier may be old do not look fresh", () => {
    const { clock, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    const stampedMs = clock.wallMs() + 100;
    clock.advance(6_000);
    fast.receive(bookText("BTC", stampedMs));
    const { book, maxBookAgeMs } = market("BTC");
    expect(ageMs(book.tsProvenNs, clock.monoNs())).toBeGreaterThan(maxBookAgeMs);
  });
});

describe("trades", () => {
  it("are reported once though a reconnect replays them", () => {
    // Later than the recordings.
    const { fast, trades, openAll } = setup(["BTC", "ETH"], 1_800_000_000_000);
    openAll();
    fast.receive(frameFixture("probe_trades_BTC"));
    fast.receive(frameFixture("probe_trades_BTC"));
    fast.receive(frameFixture("tardis_trades_3"));
    expect(trades.map((trade) => [trade.tradeId, trade.side, trade.priceTicks, trade.qtyLots])).toEqual([
      ["1045359869404765", "SELL", 841_430, 36],
      ["696560709859024", "BUY", 699_980, 714],
    ]);
  });

  it("are remembered within a bound", () => {
    const { fast, trades, openAll } = setup();
    openAll();
    const trade = (tid: number): string =>
      JSON.stringify({
        channel: "trades",
        data: [{ coin: "BTC", side: "B", px: "1.0", sz: "1.0", time: 1_790_000_000_000, tid }],
      });
    for (let tid = 1; tid <= 600; tid++) fast.receive(trade(tid));
    fast.receive(trade(600));
    expect(trades).toHaveLength(600);
    fast.receive(trade(1));
    expect(trades).toHaveLength(601);
  });

  it("of 1970 are not reported: the stamp is in other units, or none", () => {
    const { clock, fast, trades, stream, market, openAll } = setup();
    openAll();
    const trade = (tid: number, time: number): string =>
      JSON.stringify({ channel: "trades", data: [{ coin: "BTC", side: "B", px: "7.0", sz: "1.0", time, tid }] });
    const before = stream.stats().protocolDriftCount;
    for (const [index, time] of [0, 5, 1_790_000_000].entries()) fast.receive(trade(index + 1, time));
    expect(trades).toEqual([]);
    expect(market("BTC").ticker.lastPrice).not.toBe("7.0");
    expect(stream.stats().protocolDriftCount).toBe(before + 3);
    fast.receive(trade(1, clock.wallMs()));
    expect(trades).toHaveLength(1);
  });
});

describe("trades from the future", () => {
  it("are not reported, and may come again with their true time", () => {
    const { clock, fast, trades, stream, market, openAll } = setup(["BTC"], 1_790_000_000_000, true);
    openAll();
    const trade = (time: number): string =>
      JSON.stringify({ channel: "trades", data: [{ coin: "BTC", side: "B", px: "7.0", sz: "1.0", time, tid: 1 }] });
    const before = stream.stats().protocolDriftCount;
    for (const aheadMs of [5_100, 30_000, 86_400_000]) fast.receive(trade(clock.wallMs() + aheadMs));
    expect(trades).toEqual([]);
    expect(market("BTC").ticker.lastPrice).not.toBe("7.0");
    expect(stream.stats().protocolDriftCount).toBe(before + 3);
    fast.receive(trade(clock.wallMs() + 100));
    expect(trades).toHaveLength(1);
  });
});

describe("under faults of venueone,", () => {
  it("a lost connection takes its books out of sight at once, the other tier stays", () => {
    const { clock, market, fast, deep, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    fast.receive(bboText("BTC", clock.wallMs()));
    deep.receive(bookText("BTC", clock.wallMs()));
    fast.end(1000, "Expired");
    expect(market("BTC").book.state).toBe(BOOK_SYNCING);
    expect(market("BTC").touch.present).toBe(false);
    expect(market("BTC").deep?.state).toBe(BOOK_LIVE);
  });

  it("a socket subscribes all again after the venue's routine close, and is LIVE with the next frame", () => {
    const { clock, network, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    const asked = subscriptionsOf(fast);
    fast.end(1000, "Expired");
    clock.advance(500);
    network.last.open();
    clock.advance(100);
    expect(subscriptionsOf(network.last)).toEqual(asked);
    network.last.receive(bookText("BTC", clock.wallMs()));
    expect(market("BTC").book.state).toBe(BOOK_LIVE);
  });

  it("one book that falls silent among others leaves LIVE and is asked for again", () => {
    const { clock, market, fast, openAll } = setup();
    openAll();
    fast.receive(bookText("BTC", clock.wallMs()));
    for (let count = 0; count < 11; count++) {
      fast.receive(bookText("ETH", clock.wallMs()));
      clock.advance(538);
    }
    expect(market("ETH").book.state).toBe(BOOK_LIVE);
    expect(market("BTC").book.state).toBe(BOOK_SYNCING);
    const name = '{"type":"l2Book","coin":"BTC","fast":true}';
    expect(fast.sent).toContain(`{"method":"unsubscribe","subscription":${name}}`);
    expect(fast.sent.filter((text) => text === `{"method":"subscribe","subscription":${name}}`)).toHaveLength(2);
  });

  it("a silent touch is compared with the book: equal is quiet, different is dead", async () => {
    const { clock, market, fast, openAll } = setup();
    openAll();
    const beat = async (bid: string): Promise<void> => {
      for (const coin of ["BTC", "ETH"]) {
        fast.receive(bookText(coin, clock.wallMs(), bid));
        fast.receive(frameFixture("probe_activeAssetCtx_BTC").replace("BTC", coin));
      }
      await clock.advanceAsync(538);
    };
    fast.receive(bboText("BTC", clock.wallMs(), "100.0"));
    for (let count = 0; count < 120; count++) await beat("100.0");
    expect(market("BTC").touch.present).toBe(true);
    for (let count = 0; count < 70; count++) await beat("99.0");
    expect(market("BTC").touch.present).toBe(false);
    expect(
      fast.sent.some((text) => text.includes("unsubscribe") && text.includes('"bbo"') && text.includes("BTC")),
    ).toBe(true);
  });

  it("a market socket is pinged every thirty seconds and dropped when it is mute for ten", () => {
    const { clock, network, fast, openAll } = setup();
    openAll();
    for (let count = 0; count < 31; count++) {
      for (const coin of ["BTC", "ETH"]) {
        fast.receive(bookText(coin, clock.wallMs()));
        fast.receive(frameFixture("probe_activeAssetCtx_BTC").replace("BTC", coin));
      }
      clock.advance(1_000);
    }
    expect(fast.sent).toContain('{"method":"ping"}');
    const before = network.connections.length;
    clock.advance(11_000);
    expect(fast.isTerminated).toBe(true);
    expect(network.connections.length).toBeGreaterThan(before);
  });
});

describe("debug lines", () => {
  /** A frame of each kind that changes nothing, and a book lost for each reason. */
  function breakIt(logger = silentLogger): void {
    const { clock, fast, deep, openAll } = setup(["BTC"], undefined, false, logger);
    openAll();
    const t = clock.wallMs();
    deep.receive(bookText("BTC", t));
    fast.receive(bookText("BTC", t));
    fast.receive('{"channel":"l2Book","data":{"coin":"BTC","time":"never"}}');
    fast.receive(bookText("BTC", t + 1));
    fast.receive(bookText("BTC", t + 2, "100.123456789"));
    fast.receive(bookText("BTC", t + 3));
    fast.receive(bookText("BTC", t + 4, "102.0", "101.0"));
    fast.receive(bookText("BTC", t + 4));
    fast.receive(bookText("DOGE", t));
    fast.receive('{"channel":"weather","data":{}}');
    fast.receive(bookText("BTC", t + 5));
    fast.end(1006);
  }

  it("name a book whose stream fell silent, and the deep one apart", () => {
    const { logger, lines } = keepDebugLines();
    const { clock, fast, deep, openAll } = setup(["BTC", "ETH"], undefined, false, logger);
    openAll();
    deep.receive(bookText("BTC", clock.wallMs()));
    for (let beat = 0; beat < 40; beat++) {
      if (beat < 2) fast.receive(bookText("BTC", clock.wallMs()));
      fast.receive(bookText("ETH", clock.wallMs()));
      clock.advance(500);
    }
    expect(lines).toContain("book.resync venue=venueone symbol=BTC tier=book reason=SILENT");
    deep.end(1006);
    expect(lines.filter((line) => line.includes("tier=deep"))).toHaveLength(1);
  });

  it("say of each dropped frame, each lost book and each reconnect whose it is and why", () => {
    const { logger, lines } = keepDebugLines();
    breakIt(logger);
    expect(lines).toEqual([
      "frame.dropped venue=venueone channel=l2Book symbol=BTC reason=MALFORMED",
      "book.resync venue=venueone symbol=BTC tier=book reason=DECODE_ERROR",
      "book.resync venue=venueone symbol=BTC tier=book reason=DECODE_ERROR",
      "frame.dropped venue=venueone channel=l2Book symbol=BTC reason=DRIFT",
      "book.resync venue=venueone symbol=BTC tier=book reason=CROSSED",
      "frame.dropped venue=venueone channel=l2Book symbol=BTC reason=IMPOSSIBLE",
      "frame.dropped venue=venueone channel=l2Book symbol= reason=UNKNOWN_SYMBOL",
      "frame.dropped venue=venueone channel=weather symbol= reason=UNKNOWN_KIND",
      "book.resync venue=venueone symbol=BTC tier=book reason=DISCONNECTED",
      expect.stringMatching(/^socket\.reconnect socket=venueone\.market0 code=1006 reason= attempt=1 delayMs=\d+$/),
    ]);
  });

  it("are not there at level info", () => {
    const { logger, lines } = keepDebugLines();
    breakIt({ ...logger, debug: null });
    expect(lines).toEqual([]);
  });
});
