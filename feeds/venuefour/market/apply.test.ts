import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING, INVALID_CROSSED, INVALID_DECODE } from "../../../engine/market/book.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import { isTouchNewer } from "../../../engine/market/touch.js";
import { decodeFrame } from "./decode.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK } from "./scan.js";
import { frameFixtures } from "../fixtures/load.js";
import { APPLIED, type Applied, DRIFT, OUTDATED, PROVEN, REFUSED } from "./applied.js";
import { MarketApplier, REST_LINK } from "./apply.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";

type Rows = readonly (readonly [price: string, qty: string])[];
interface BookFrame {
  readonly t: number;
  readonly bids: Rows;
  readonly asks: Rows;
  readonly li?: number;
}

function btcMarket(): Market {
  const row = { symbol: "BTC", instrument_type: "perpetual", tick_size: "1", lot_size: "0.00001" };
  const instrument = buildInstruments([{ ...row, max_leverage: 50, min_order_size: "10" }], DEFAULT_FEES).bySymbol.get(
    "BTC",
  );
  if (instrument === undefined) throw new Error("BTC is missing");
  return createMarket(instrument, { deepTier: false, maxBookAgeMs: 1_500, maxDeepAgeMs: 0 });
}

function bookBytes({ t, bids, asks, li = 1 }: BookFrame): Buffer {
  const side = (rows: Rows) => rows.map(([p, a]) => ({ a, n: 1, p }));
  return Buffer.from(JSON.stringify({ channel: "book", data: { l: [side(bids), side(asks)], li, s: "BTC", t } }));
}

function bboBytes(t: number, bid: readonly [string, string], ask: readonly [string, string], li = 1): Buffer {
  const data = { A: ask[1], B: bid[1], a: ask[0], b: bid[0], i: 9, li, s: "BTC", t };
  return Buffer.from(JSON.stringify({ channel: "bbo", data }));
}

function setup() {
  const market = btcMarket();
  const applier = new MarketApplier(market);
  const scanner = new DepthScanner();
  applier.reset();
  return {
    market,
    applier,
    book(frame: BookFrame | Buffer, tsRecvNs = 1, linkId = 1, lateNs = 0): Applied {
      expect(scanner.scan(Buffer.isBuffer(frame) ? frame : bookBytes(frame))).toBe(SCAN_BOOK);
      return applier.applyBook(scanner, tsRecvNs, lateNs, linkId);
    },
    touch(frame: Buffer, tsRecvNs = 1): Applied {
      expect(scanner.scan(frame)).toBe(SCAN_BBO);
      return applier.touch.apply(scanner, tsRecvNs);
    },
  };
}

function content({ book }: Market) {
  return {
    state: book.state,
    bids: Array.from({ length: book.bidCount }, (_, index) => [book.bidTicks(index), book.bidLots(index)]),
    asks: Array.from({ length: book.askCount }, (_, index) => [book.askTicks(index), book.askLots(index)]),
  };
}

const GOOD: BookFrame = {
  t: 1_000,
  bids: [
    ["63515", "0.15744"],
    ["63509.0", "0.07873"],
  ],
  asks: [["63529", "0.13874"]],
};
const NEXT: BookFrame = { t: 2_000, bids: [["63500", "1"]], asks: [["63530", "2"]] };

describe("book frames", () => {
  it("become ticks and lots of the instrument", () => {
    const { market, book } = setup();
    expect(book(GOOD, 77)).toBe(APPLIED);
    expect(content(market)).toEqual({
      state: BOOK_LIVE,
      bids: [
        [63_515, 15_744],
        [63_509, 7_873],
      ],
      asks: [[63_529, 13_874]],
    });
    expect([market.book.tsVenueMs, market.book.tsRecvNs, market.book.tsProvenNs]).toEqual([1_000, 77, 77]);
  });

  it("replace and never merge", () => {
    const { market, book } = setup();
    book(GOOD);
    expect(book(NEXT)).toBe(APPLIED);
    expect(content(market)).toMatchObject({ bids: [[63_500, 100_000]], asks: [[63_530, 200_000]] });
  });

  it("are ordered by time, whatever the sequence does", () => {
    const { market, book } = setup();
    book({ ...GOOD, li: 900 });
    expect(book({ ...NEXT, li: 100 })).toBe(APPLIED);
    expect(book({ ...GOOD, li: 950 })).toBe(OUTDATED);
    expect(market.book.bidTicks(0)).toBe(63_500);
  });

  it("repeated unchanged prove the book current and change nothing", () => {
    const { market, book } = setup();
    let signals = 0;
    book(GOOD, 10);
    market.book.onChange = { changed: () => signals++ };
    expect(book(GOOD, 250)).toBe(PROVEN);
    expect(
      book(
        {
          ...GOOD,
          bids: [
            ["63515.00", "0.157440"],
            ["63509", "0.07873"],
          ],
        },
        500,
      ),
    ).toBe(PROVEN);
    expect([market.book.tsProvenNs, market.book.tsRecvNs, signals]).toEqual([500, 10, 0]);
  });

  it("that change twice within one millisecond end in the later state of one connection", () => {
    const { market, book } = setup();
    book(NEXT);
    expect(book({ ...NEXT, bids: [["63501", "1"]] })).toBe(APPLIED);
    expect(market.book.bidTicks(0)).toBe(63_501);
  });

  it("of two connections that differ at one time do not overwrite each other in turn", () => {
    const { market, book } = setup();
    book({ ...NEXT, bids: [["63501", "1"]] }, 10, 2);
    expect(book(NEXT, 20, 1)).toBe(OUTDATED);
    expect([market.book.bidTicks(0), market.book.tsProvenNs]).toEqual([63_501, 10]);
    expect(book(NEXT, 30, 3)).toBe(APPLIED);
  });

  it("over REST never outweigh a connection's at the same time, nor hinder it", () => {
    const { market, applier, book } = setup();
    const rest = decodeFrame(bookBytes(NEXT));
    if (rest.kind !== "book") throw new Error("not a book");
    expect(applier.applyDecodedBook(rest.book, 5, 0, REST_LINK)).toBe(APPLIED);
    expect(book({ ...NEXT, bids: [["63501", "1"]] }, 10)).toBe(APPLIED);
    expect(applier.applyDecodedBook(rest.book, 15, 0, REST_LINK)).toBe(OUTDATED);
    expect(market.book.bidTicks(0)).toBe(63_501);
  });

  it("held up on their way count as old as they are, the repeated ones too", () => {
    const { market, book } = setup();
    book(GOOD, 9_000, 1, 5_000);
    expect(market.book.tsProvenNs).toBe(4_000);
    book(GOOD, 9_500, 1, 5_000);
    expect(market.book.tsProvenNs).toBe(4_500);
  });

  it.each([
    ["63515.5", "1"],
    ["63515", "0.000001"],
    ["63515", "99999999999999"],
  ])("with a digit the instrument can not hold (%s × %s) are drift: INVALID, not rounded", (price, qty) => {
    const { market, book } = setup();
    book(GOOD);
    expect(book({ t: 2_000, bids: [[price, qty]], asks: [] })).toBe(DRIFT);
    expect([market.book.state, market.book.invalidReason]).toEqual([BOOK_INVALID, INVALID_DECODE]);
    expect(book({ ...NEXT, t: 2_500 })).toBe(APPLIED);
  });

  it("that cross are refused, and an older frame does not revive what came before", () => {
    const { market, book } = setup();
    book(GOOD);
    expect(book({ t: 2_000, bids: [["63500", "1"]], asks: [["63500", "1"]] })).toBe(REFUSED);
    expect([market.book.state, market.book.invalidReason]).toEqual([BOOK_INVALID, INVALID_CROSSED]);
    expect(book({ ...GOOD, t: 1_500 })).toBe(OUTDATED);
    expect(book({ ...GOOD, t: 2_000 })).toBe(APPLIED);
  });

  it("without levels empty the book without making it invalid", () => {
    const { market, book } = setup();
    book(GOOD);
    expect(book({ t: 2_000, bids: [], asks: [] })).toBe(APPLIED);
    expect(content(market)).toEqual({ state: BOOK_LIVE, bids: [], asks: [] });
  });

  it("after a reset are taken whatever their time, and until then the book is out of sight", () => {
    const { market, applier, book } = setup();
    book({ ...GOOD, t: 9_000 });
    applier.reset();
    expect([market.book.state, market.book.bidCount, market.touch.present]).toEqual([BOOK_SYNCING, 0, false]);
    expect(book(GOOD)).toBe(APPLIED);
  });

  it("of the recording end in the last one's levels, by the scanner as by the reference, and count their repeats", () => {
    const fast = setup();
    const slow = setup();
    const verdicts: Applied[] = [];
    for (const { text } of frameFixtures("book-")) {
      const bytes = Buffer.from(text);
      const frame = decodeFrame(bytes);
      if (frame.kind !== "book") throw new Error("not a book");
      verdicts.push(fast.book(bytes));
      expect(slow.applier.applyDecodedBook(frame.book, 1, 0, 1)).toBe(verdicts.at(-1));
      expect(content(fast.market)).toEqual(content(slow.market));
      expect(content(fast.market).bids.map(([ticks]) => String(ticks))).toEqual(frame.book.l[0].map(({ p }) => p));
    }
    expect(verdicts.filter((verdict) => verdict === APPLIED)).toHaveLength(5);
    expect(verdicts.filter((verdict) => verdict === PROVEN)).toHaveLength(7);
  });

  it("equal a naive book after any frames in any order, fast or slow", () => {
    const price = fc.integer({ min: 1, max: 60 });
    const rows = fc.uniqueArray(fc.tuple(price, fc.integer({ min: 1, max: 99_999_999 })), {
      maxLength: 10,
      selector: ([ticks]) => ticks,
    });
    const text = (ticks: number, lots: number): readonly [string, string] => [String(ticks), (lots / 1e5).toFixed(5)];
    const step = fc.record({ t: fc.integer({ min: 1, max: 30 }), li: fc.nat(99), bids: rows, asks: rows });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const fast = setup();
        const slow = setup();
        // The naive book: the newest frame by time, of equals the last, unless it crosses.
        let naive = { t: 0, bids: [] as number[][], asks: [] as number[][], isLive: false };
        for (const { t, li, bids, asks } of steps) {
          const frame = bookBytes({
            t,
            li,
            bids: bids.map((row) => text(...row)),
            asks: asks.map((row) => text(...row)),
          });
          const decoded = decodeFrame(frame);
          if (decoded.kind !== "book") throw new Error("not a book");
          const applied = fast.book(frame);
          expect(slow.applier.applyDecodedBook(decoded.book, 1, 0, 1)).toBe(applied);
          if (t >= naive.t) {
            const isCrossed =
              bids.length > 0 &&
              asks.length > 0 &&
              Math.max(...bids.map(([p]) => p)) >= Math.min(...asks.map(([p]) => p));
            naive = {
              t,
              bids: [...bids].sort(([left], [right]) => right - left),
              asks: [...asks].sort(([left], [right]) => left - right),
              isLive: !isCrossed,
            };
          } else expect(applied).toBe(OUTDATED);
          const { state, bids: seenBids, asks: seenAsks } = content(fast.market);
          expect(state).toBe(naive.isLive ? BOOK_LIVE : BOOK_INVALID);
          if (naive.isLive) expect([seenBids, seenAsks]).toEqual([naive.bids, naive.asks]);
          expect(content(slow.market)).toEqual(content(fast.market));
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("the touch", () => {
  it("is seeded from the book, which speaks at equal times", () => {
    const { market, book } = setup();
    book(GOOD, 5);
    expect(market.touch).toMatchObject({ present: true, bidTicks: 63_515, bidLots: 15_744, askTicks: 63_529 });
    expect(market.touch).toMatchObject({ askLots: 13_874, tsVenueMs: 1_000, tsRecvNs: 5 });
    expect(isTouchNewer(market.touch, market.book)).toBe(false);
  });

  it("of a one-sided book has one side, and an empty book seeds none", () => {
    const { market, book } = setup();
    book({ t: 1_000, bids: [], asks: [] });
    expect(market.touch.present).toBe(false);
    book({ t: 1_001, bids: [["63515", "1"]], asks: [] });
    expect(market.touch).toMatchObject({ present: true, bidTicks: 63_515, askLots: 0 });
  });

  it("of the stream is newer than the book while its time is, and a tie goes to the book", () => {
    const { market, book, touch } = setup();
    book(GOOD);
    expect(touch(bboBytes(1_010, ["63516", "0.5"], ["63529", "0.1"]), 6)).toBe(APPLIED);
    expect(market.touch).toMatchObject({ bidTicks: 63_516, bidLots: 50_000, tsVenueMs: 1_010, tsRecvNs: 6 });
    expect(isTouchNewer(market.touch, market.book)).toBe(true);
    book({ ...NEXT, t: 1_010 });
    expect(isTouchNewer(market.touch, market.book)).toBe(false);
    expect(market.touch.bidTicks).toBe(63_516);
  });

  it("older by time changes nothing; of one millisecond the higher sequence counts, and an equal one", () => {
    const { market, touch } = setup();
    touch(bboBytes(2_000, ["63500", "1"], ["63510", "1"], 50));
    expect(touch(bboBytes(1_999, ["1", "1"], ["2", "1"], 60))).toBe(OUTDATED);
    expect(touch(bboBytes(2_000, ["1", "1"], ["2", "1"], 49))).toBe(OUTDATED);
    expect(touch(bboBytes(2_000, ["63501", "1"], ["63510", "1"], 50))).toBe(APPLIED);
    expect(market.touch.bidTicks).toBe(63_501);
  });

  it("of the recording is taken frame by frame, as its sequence never falls", () => {
    const { market, touch } = setup();
    for (const { text } of frameFixtures("bbo-")) expect(touch(Buffer.from(text))).toBe(APPLIED);
    expect(market.touch).toMatchObject({ bidTicks: 63_458, askTicks: 63_474 });
  });

  it("too fine or crossed is cleared: the book alone then speaks, and nothing older comes back", () => {
    const { market, touch } = setup();
    touch(bboBytes(1_000, ["63500", "1"], ["63510", "1"]));
    expect(touch(bboBytes(2_000, ["63500.5", "1"], ["63510", "1"]))).toBe(DRIFT);
    expect(market.touch.present).toBe(false);
    touch(bboBytes(3_000, ["63500", "1"], ["63510", "1"]));
    expect(touch(bboBytes(4_000, ["63510", "1"], ["63510", "1"]))).toBe(REFUSED);
    expect(market.touch.present).toBe(false);
    expect(touch(bboBytes(3_500, ["63500", "1"], ["63510", "1"]))).toBe(OUTDATED);
  });

  it("comes out the same by the reference decoder, an absent side and a zero one alike", () => {
    const fast = setup();
    const slow = setup();
    const frame = bboBytes(1_000, ["0", "0"], ["63510", "0.5"], 7);
    const absent = decodeFrame(
      Buffer.from(JSON.stringify({ channel: "bbo", data: { A: "0.5", a: "63510", li: 7, s: "BTC", t: 1_000 } })),
    );
    if (absent.kind !== "bbo") throw new Error("not a touch");
    expect(fast.touch(frame, 3)).toBe(APPLIED);
    expect(slow.applier.touch.applyDecoded(absent.bbo, 3)).toBe(APPLIED);
    const { onChange: _fastListener, ...fastTouch } = fast.market.touch;
    const { onChange: _slowListener, ...slowTouch } = slow.market.touch;
    expect(slowTouch).toEqual(fastTouch);
  });
});
