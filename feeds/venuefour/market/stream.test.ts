import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING } from "../../../engine/market/book.js";
import { bestTicks } from "../../../engine/market/depth-walk.js";
import { ageMs } from "../../../engine/market/freshness.js";
import { frameFixture, frameFixtures } from "../fixtures/load.js";
import { bboText, bookText, priceRow, setup, subscriptionsOf, tradeText } from "../test/market-harness.js";

const RECORDED_MS = 1_780_919_437_182;

describe("frames", () => {
  it("of the recording are all handled: books and touches in their markets, repeats as proofs, nothing as drift", () => {
    const { stream, market, trades, first, clock, open } = setup(["BTC", "SOL"], RECORDED_MS);
    open();
    const tape = frameFixtures()
      .filter(({ name }) => !name.startsWith("doc-"))
      .map(({ text }) => ({ text, t: Number(/"t":(\d{13})/.exec(text)?.[1] ?? RECORDED_MS) }))
      .sort((left, right) => left.t - right.t);
    for (const { text, t } of tape) {
      if (t > clock.wallMs()) clock.advance(t - clock.wallMs());
      first.receive(text);
    }
    expect(stream.stats()).toMatchObject({
      decodeErrorCount: 0,
      protocolDriftCount: 0,
      refusedCount: 0,
      outdatedCount: 0,
      provenCount: 7,
      slowDepthCount: 0,
      unknownSymbolCount: 0,
    });
    expect(market("BTC").book).toMatchObject({ state: BOOK_LIVE, tsVenueMs: 1_780_919_443_360 });
    expect(market("BTC").touch).toMatchObject({ bidTicks: 63_458, askTicks: 63_474 });
    expect(market("BTC").ticker.lastPrice).toBe("63508");
    expect(trades).toEqual([
      {
        symbol: "BTC",
        side: "BUY",
        priceTicks: 63_508,
        qtyLots: 1,
        tradeId: 68_790_314,
        tsVenueMs: 1_780_919_457_443,
      },
    ]);
  });

  it("are ordered by their time, and older ones are dropped and counted", () => {
    const { clock, stream, market, first, open } = setup();
    open();
    const t = clock.wallMs();
    first.receive(bookText("BTC", t, "100", "101", 900));
    first.receive(bookText("BTC", t + 10, "99", "101", 100));
    first.receive(bookText("BTC", t + 5, "98", "101", 950));
    first.receive(bboText("BTC", t + 20, "97"));
    first.receive(bboText("BTC", t + 15, "96"));
    expect([market("BTC").book.bidTicks(0), market("BTC").touch.bidTicks]).toEqual([99, 97]);
    expect(stream.stats().outdatedCount).toBe(2);
  });

  it("repeated unchanged keep a quiet book fresh, however old its time is", () => {
    const { clock, market, first, open } = setup(["BTC"]);
    open();
    const text = bookText("BTC", clock.wallMs() - 3_600_000);
    for (let beat = 0; beat < 40; beat++) {
      first.receive(text);
      const { book, maxBookAgeMs } = market("BTC");
      expect(ageMs(book.tsProvenNs, clock.monoNs())).toBeLessThanOrEqual(maxBookAgeMs);
      clock.advance(250);
    }
  });

  it("from the future override fresh books for two seconds at most, and for none where they are five ahead", () => {
    for (const [aheadMs, longestMs] of [
      [4_900, 2_000],
      [5_100, 0],
    ] as const) {
      const { clock, clockOffset, market, first, open } = setup(["BTC"]);
      clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs(), 1);
      open();
      first.receive(bookText("BTC", clock.wallMs()));
      first.receive(bboText("BTC", clock.wallMs() + aheadMs, "150", "151", 2));
      let wrongMs = 0;
      for (let pastMs = 0; pastMs < 60_000; pastMs += 500) {
        clock.advance(500);
        first.receive(bookText("BTC", clock.wallMs()));
        if (bestTicks(market("BTC"), "SELL") !== market("BTC").book.bidTicks(0)) wrongMs = pastMs + 500;
      }
      expect([aheadMs, wrongMs <= longestMs, wrongMs]).toEqual([aheadMs, true, expect.any(Number)]);
    }
  });

  it("of a clock that was a minute ahead bar nothing of the right time once that is measured", () => {
    const { clock, clockOffset, market, first, prices, open } = setup(["BTC"]);
    open();
    const measure = (aheadMs: number): void =>
      clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs() + aheadMs, 1);
    const send = (aheadMs: number, bid: string, id: number): void => {
      clock.advance(100);
      const t = clock.wallMs() + aheadMs;
      first.receive(bookText("BTC", t, bid));
      first.receive(bboText("BTC", t + 1, bid, "101", 7));
      first.receive(tradeText("BTC", id, t, bid));
      prices.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t, bid)] }));
    };
    measure(60_000);
    send(60_000, "100", 1);
    measure(0);
    send(0, "99", 2);
    const { book, ticker, touch } = market("BTC");
    expect([book.bidTicks(0), touch.bidTicks, bestTicks(market("BTC"), "SELL")]).toEqual([99, 99, 99]);
    expect([ticker.markPrice, ticker.lastPrice]).toEqual(["99", "99"]);
    expect(ageMs(book.tsProvenNs, clock.monoNs())).toBe(0);
  });

  it("from the future prove nothing, but that their stream is not dead", () => {
    const { clock, clockOffset, market, first, http, open } = setup(["BTC", "ETH"]);
    clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs(), 1);
    open();
    first.receive(bookText("BTC", clock.wallMs()));
    for (const symbol of ["BTC", "\\u0042TC"]) {
      for (let beat = 0; beat < 40; beat++) {
        clock.advance(500);
        first.receive(bookText("ETH", clock.wallMs()));
        first.receive(bookText("BTC", clock.wallMs() + 10_000, "99").replace('"BTC"', `"${symbol}"`));
      }
      const { book, maxBookAgeMs } = market("BTC");
      expect(ageMs(book.tsProvenNs, clock.monoNs())).toBeGreaterThan(maxBookAgeMs);
      expect(http.requests).toEqual([]);
    }
  });

  it("held up on their way do not look fresh, nor do the repeats behind them, until one is on time", () => {
    const { clock, market, first, open } = setup(["BTC"]);
    open();
    first.receive(bookText("BTC", clock.wallMs()));
    const stampedMs = clock.wallMs() + 100;
    clock.advance(6_000);
    const late = bookText("BTC", stampedMs, "99");
    const { book, maxBookAgeMs } = market("BTC");
    const age = (): number => ageMs(book.tsProvenNs, clock.monoNs());
    first.receive(late);
    expect(age()).toBeGreaterThan(maxBookAgeMs);
    clock.advance(250);
    first.receive(late);
    expect(age()).toBeGreaterThan(maxBookAgeMs);
    first.receive(bookText("BTC", clock.wallMs() - 20, "98"));
    first.receive(bookText("BTC", clock.wallMs() - 20, "98"));
    expect(age()).toBe(0);
  });

  it("never throw out of the handler, whatever the bytes, and damage no other book", () => {
    const { clock, stream, market, first, open } = setup();
    open();
    first.receive(bookText("ETH", clock.wallMs()));
    const frame = bookText("BTC", clock.wallMs());
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.nat(frame.length).map((length) => frame.slice(0, length)),
          fc
            .tuple(fc.constantFrom("book", "bbo", "trades", "prices", "subscribe"), fc.json())
            .map(([channel, data]) => `{"channel":"${channel}","data":${data}}`),
          fc.json(),
        ),
        (text) => {
          first.receive(text);
        },
      ),
      { numRuns: 300 },
    );
    expect(stream.stats().sockets[0]?.handlerErrorCount).toBe(0);
    expect(stream.stats().decodeErrorCount).toBeGreaterThan(100);
    expect(market("ETH").book.state).toBe(BOOK_LIVE);
  });

  it("that name their contract but can not be read put its book in doubt until the next good one", () => {
    const { clock, stream, market, first, open } = setup();
    open();
    first.receive(bookText("BTC", clock.wallMs()));
    first.receive(`{"channel":"book","data":{"s":"BTC","t":${clock.wallMs()},"l":[[{"p":"oops","a":"1"}],[]]}}`);
    expect(market("BTC").book.state).toBe(BOOK_INVALID);
    first.receive('{"channel":"bbo","data":{"s":"BTC","t":"x"}}');
    expect(market("BTC").touch.present).toBe(false);
    expect(stream.stats().decodeErrorCount).toBe(2);
    // The unchanged book again, as the timer sends it.
    first.receive(bookText("BTC", clock.wallMs()));
    expect([market("BTC").book.state, market("BTC").touch.present]).toEqual([BOOK_LIVE, true]);
  });

  it("too fine for the grid, of an unknown channel or from the far future are drift", () => {
    const { clock, stream, market, first, open } = setup();
    open();
    first.receive(bookText("BTC", clock.wallMs() + 10 * 60_000));
    expect(market("BTC").book.state).toBe(BOOK_SYNCING);
    first.receive(bookText("BTC", clock.wallMs(), "100.5"));
    expect(market("BTC").book.state).toBe(BOOK_INVALID);
    first.receive('{"channel":"tomorrow","data":{}}');
    first.receive(tradeText("BTC", 1, clock.wallMs(), "100.5"));
    expect(stream.stats().protocolDriftCount).toBe(4);
  });

  it("of the careful way (escapes, text for numbers, deep books) end in the same book", () => {
    const { clock, stream, market, first, open } = setup();
    open();
    first.receive(bookText("BTC", clock.wallMs(), "99").replace('"BTC"', '"\\u0042TC"'));
    first.receive(bboText("BTC", clock.wallMs() + 1, "98").replace(/"t":(\d+)/, '"t":"$1"'));
    expect([market("BTC").book.bidTicks(0), market("BTC").touch.bidTicks]).toEqual([99, 98]);
    expect(stream.stats().slowDepthCount).toBe(2);
  });

  it("of errors are logged within a bound", () => {
    const { stream, first, logs, open } = setup();
    open();
    for (let count = 0; count < 60; count++) first.receive('{"code":400,"err":"Invalid request"}');
    expect(stream.stats().errorFrameCount).toBe(60);
    expect(logs.filter((line) => line.startsWith("venuefour.error-frame"))).toHaveLength(50);
  });
});

describe("trades", () => {
  it("are reported once per history id, within a bound of memory", () => {
    const { first, trades, open } = setup();
    open();
    for (let id = 1; id <= 600; id++) first.receive(tradeText("BTC", id));
    first.receive(tradeText("BTC", 600));
    first.receive(tradeText("ETH", 600));
    expect(trades).toHaveLength(601);
    first.receive(tradeText("BTC", 1));
    expect(trades).toHaveLength(602);
  });

  it("of 1970 are not reported: the stamp is in other units, or none", () => {
    const { first, trades, stream, market, clock, open } = setup();
    open();
    const before = stream.stats().protocolDriftCount;
    for (const [index, t] of [0, 5, 1_790_000_000].entries()) first.receive(tradeText("BTC", index + 1, t, "7"));
    expect(trades).toEqual([]);
    expect(market("BTC").ticker.lastPrice).not.toBe("7");
    expect(stream.stats().protocolDriftCount).toBe(before + 3);
    first.receive(tradeText("BTC", 1, clock.wallMs()));
    expect(trades).toHaveLength(1);
  });

  it("set the last price by their time, not by their order in the frame", () => {
    const { first, market, open } = setup();
    open();
    const row = (h: number, t: number, p: string) => ({ a: "1", d: "close_long", h, p, s: "ETH", t });
    first.receive(
      JSON.stringify({ channel: "trades", data: [row(2, RECORDED_MS + 20, "2"), row(1, RECORDED_MS + 10, "1")] }),
    );
    expect(market("ETH").ticker.lastPrice).toBe("2");
    expect(frameFixture("trades")).toContain('"h":68790314');
  });
});

describe("prices", () => {
  it("fill the tickers of all listed markets, in whole or partial frames, newest by time", () => {
    const { clock, stream, market, prices, open } = setup();
    open();
    const t = clock.wallMs();
    prices.receive(
      JSON.stringify({ channel: "prices", data: [priceRow("BTC", t), priceRow("ETH", t), priceRow("SOL-USDC", t)] }),
    );
    prices.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t + 1, "105")] }));
    prices.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t, "1"), { symbol: "ETH" }] }));
    expect(market("BTC").ticker).toMatchObject({ markPrice: "105", indexPrice: "99", lastPrice: "100.5" });
    expect(market("ETH").ticker).toMatchObject({ markPrice: "100", fundingRate: "0.00002", fundingIntervalHours: 1 });
    expect(market("ETH").ticker.nextFundingTime).toBe((Math.floor(t / 3_600_000) + 1) * 3_600_000);
    expect(stream.stats()).toMatchObject({ outdatedCount: 1, decodeErrorCount: 1 });
  });

  it("leave the last price to the trades once there was one", () => {
    const { clock, market, first, prices, stream, open } = setup();
    open();
    stream.seedLastPrice("ETH", "103", clock.wallMs() - 50);
    first.receive(tradeText("BTC", 1, clock.wallMs(), "104"));
    stream.seedLastPrice("BTC", "1", clock.wallMs() + 5);
    prices.receive(
      JSON.stringify({ channel: "prices", data: ["BTC", "ETH"].map((name) => priceRow(name, clock.wallMs())) }),
    );
    expect([market("BTC").ticker.lastPrice, market("ETH").ticker.lastPrice]).toEqual(["104", "103"]);
  });

  it("are asked for once, on a connection of their own", () => {
    const { stream, network, open } = setup();
    stream.start();
    open();
    const asked = network.connections.flatMap((connection) => subscriptionsOf(connection).map(({ source }) => source));
    expect(asked.filter((source) => source === "prices")).toHaveLength(1);
    expect(network.connections).toHaveLength(2);
  });
});

describe("debug lines", () => {
  it("say of each dropped frame, each lost book and each reconnect whose it is and why", () => {
    const { clock, first, logs, open } = setup(["BTC"]);
    open();
    const t = clock.wallMs();
    logs.length = 0;
    first.receive(bookText("BTC", t));
    first.receive('{"channel":"book","data":{"s":"BTC"}}');
    first.receive(bookText("BTC", t + 1));
    first.receive(bookText("BTC", t + 2, "100.5"));
    first.receive(bookText("DOGE", t));
    first.receive(tradeText("BTC", 1, t + 3_600_000));
    first.receive('{"channel":"trades","data":[{}]}');
    first.receive(bookText("BTC", t + 3));
    first.end(1006);
    const lines = logs.filter((line) => !line.startsWith("socket.closed"));
    expect(lines.map((line) => line.replace(/"delayMs":\d+/, '"delayMs":1'))).toEqual([
      'frame.dropped {"venue":"venuefour","channel":"book","symbol":"BTC","reason":"MALFORMED"}',
      'book.resync {"venue":"venuefour","symbol":"BTC","tier":"book","reason":"DECODE_ERROR"}',
      'book.resync {"venue":"venuefour","symbol":"BTC","tier":"book","reason":"DECODE_ERROR"}',
      'frame.dropped {"venue":"venuefour","channel":"book","symbol":"BTC","reason":"DRIFT"}',
      'frame.dropped {"venue":"venuefour","channel":"book","symbol":"","reason":"UNKNOWN_SYMBOL"}',
      'frame.dropped {"venue":"venuefour","channel":"trades","symbol":"BTC","reason":"WRONG_TIME"}',
      'frame.dropped {"venue":"venuefour","channel":"trades","symbol":"","reason":"MALFORMED"}',
      'book.resync {"venue":"venuefour","symbol":"BTC","tier":"book","reason":"DISCONNECTED"}',
      'socket.reconnect {"socket":"venuefour.market0","code":1006,"reason":"","attempt":1,"delayMs":1}',
    ]);
  });
});
