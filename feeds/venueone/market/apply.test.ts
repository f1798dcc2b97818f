import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING, INVALID_CROSSED, INVALID_DECODE } from "../../../engine/market/book.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import { decodeFrame } from "./decode.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK } from "./scan.js";
import { APPLIED, DRIFT, MarketApplier, OUTDATED, REFUSED, TIER_DEEP, TIER_FAST } from "./apply.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";

type Rows = readonly (readonly [string, string])[];

function btcMarket(): Market {
  const meta = { universe: [{ name: "BTC", szDecimals: 5, maxLeverage: 40, isDelisted: false }], collateralToken: 0 };
  const instrument = buildInstruments(meta, DEFAULT_FEES).bySymbol.get("BTC");
  if (instrument === undefined) throw new Error("BTC is missing");
  return createMarket(instrument, { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 });
}

function bookFrame(time: number, bids: Rows, asks: Rows): Buffer {
  const side = (rows: Rows) => rows.map(([px, sz]) => ({ px, sz, n: 1 }));
  return Buffer.from(
    JSON.stringify({ channel: "l2Book", data: { coin: "BTC", time, levels: [side(bids), side(asks)] } }),
  );
}

function bboFrame(time: number, bid: readonly [string, string] | null, ask: readonly [string, string] | null): Buffer {
  const level = (row: readonly [string, string] | null) => (row === null ? null : { px: row[0], sz: row[1], n: 1 });
  return Buffer.from(JSON.stringify({ channel: "bbo", data: { coin: "BTC", time, bbo: [level(bid), level(ask)] } }));
}

function setup() {
  const market = btcMarket();
  const applier = new MarketApplier(market);
  const scanner = new DepthScanner();
  return {
    market,
    applier,
    book(frame: Buffer, tier: typeof TIER_FAST | typeof TIER_DEEP = TIER_FAST, tsRecvNs = 1, lateNs = 0) {
      expect(scanner.scan(frame)).toBe(SCAN_BOOK);
      return applier.applyBook(scanner, tier, tsRecvNs, lateNs);
    },
    touch(frame: Buffer, tsRecvNs = 1) {
      expect(scanner.scan(frame)).toBe(SCAN_BBO);
      return applier.applyTouch(scanner, tsRecvNs);
    },
  };
}

const GOOD = bookFrame(
  1_000,
  [
    ["84143.0", "10.25923"],
    ["84142.5", "0.1"],
  ],
  [["84144.0", "50.66422"]],
);

describe("book frames", () => {
  it("become ticks and lots of the instrument", () => {
    const { market, book } = setup();
    expect(book(GOOD, TIER_FAST, 77)).toBe(APPLIED);
    const b = market.book;
    expect([b.state, b.bidCount, b.askCount]).toEqual([BOOK_LIVE, 2, 1]);
    expect([b.bidTicks(0), b.bidLots(0), b.bidTicks(1), b.bidLots(1)]).toEqual([841_430, 1_025_923, 841_425, 10_000]);
    expect([b.askTicks(0), b.askLots(0)]).toEqual([841_440, 5_066_422]);
    expect([b.tsVenueMs, b.tsRecvNs, b.tsProvenNs]).toEqual([1_000, 77, 77]);
    expect(market.deep?.state).not.toBe(BOOK_LIVE);
  });

  it("replace and never merge", () => {
    const { market, book } = setup();
    book(GOOD);
    book(bookFrame(2_000, [["84100", "1"]], [["84200", "2"]]));
    expect([market.book.bidCount, market.book.askCount, market.book.bidTicks(0)]).toEqual([1, 1, 841_000]);
  });

  it("change nothing when they are not newer, in any order of two connections", () => {
    const { market, book } = setup();
    book(bookFrame(2_000, [["84100", "1"]], [["84200", "2"]]), TIER_FAST, 10);
    expect(book(GOOD, TIER_FAST, 20)).toBe(OUTDATED);
    expect(book(bookFrame(2_000, [["84100", "1"]], [["84200", "2"]]), TIER_FAST, 30)).toBe(OUTDATED);
    expect([market.book.bidTicks(0), market.book.tsProvenNs]).toEqual([841_000, 10]);
  });

  it("prove currency when resent unchanged with a new time", () => {
    const { market, book } = setup();
    book(bookFrame(2_000, [["84100", "1"]], [["84200", "2"]]), TIER_FAST, 10);
    book(bookFrame(2_540, [["84100", "1"]], [["84200", "2"]]), TIER_FAST, 540);
    expect(market.book.tsProvenNs).toBe(540);
  });

  it("held up on their way count as old as they are", () => {
    const { market, book } = setup();
    book(GOOD, TIER_FAST, 9_000_000_000, 5_000_000_000);
    expect(market.book.tsProvenNs).toBe(4_000_000_000);
  });

  it("keep the tiers apart", () => {
    const { market, book } = setup();
    book(bookFrame(5_000, [["84100", "1"]], [["84200", "2"]]), TIER_DEEP);
    expect(book(GOOD, TIER_FAST)).toBe(APPLIED);
    expect(market.deep?.bidTicks(0)).toBe(841_000);
    expect(market.book.bidTicks(0)).toBe(841_430);
  });

  it("with a digit finer than the instrument's are drift: INVALID, not rounded", () => {
    for (const [px, sz] of [
      ["84143.25", "1"],
      ["84143.5", "0.000001"],
      ["999999999999999", "1"],
    ] as const) {
      const { market, book } = setup();
      book(GOOD);
      expect(book(bookFrame(2_000, [[px, sz]], []))).toBe(DRIFT);
      expect([market.book.state, market.book.invalidReason]).toEqual([BOOK_INVALID, INVALID_DECODE]);
      expect(book(bookFrame(3_000, [["84143.50", "0.1000000"]], []))).toBe(APPLIED);
      expect(market.book.state).toBe(BOOK_LIVE);
    }
  });

  it("that cross are refused, and the next one repairs", () => {
    const { market, book } = setup();
    book(GOOD);
    expect(book(bookFrame(2_000, [["84200", "1"]], [["84200", "1"]]))).toBe(REFUSED);
    expect([market.book.state, market.book.invalidReason]).toEqual([BOOK_INVALID, INVALID_CROSSED]);
    // An older frame of a second connection must not revive what came before.
    expect(book(bookFrame(1_500, [["84143", "1"]], [["84144", "1"]]))).toBe(OUTDATED);
    expect(book(bookFrame(2_500, [["84143", "1"]], [["84144", "1"]]))).toBe(APPLIED);
  });

  it("empty a delisted or deserted book without making it invalid", () => {
    const { market, book } = setup();
    book(GOOD);
    expect(book(bookFrame(2_000, [], []))).toBe(APPLIED);
    expect([market.book.state, market.book.bidCount, market.book.askCount]).toEqual([BOOK_LIVE, 0, 0]);
  });

  it("after a reset are taken whatever their time, and until then the book is out of sight", () => {
    const { market, applier, book, touch } = setup();
    book(bookFrame(9_000, [["84143", "1"]], [["84144", "1"]]));
    touch(bboFrame(9_000, ["84143", "1"], ["84144", "1"]));
    applier.reset(TIER_FAST);
    expect([market.book.state, market.book.bidCount, market.touch.present]).toEqual([BOOK_SYNCING, 0, false]);
    expect(book(GOOD)).toBe(APPLIED);
  });

  it("come out the same by the scanner and by the reference decoder", () => {
    const price = fc.integer({ min: 1, max: 9_999_999 }).map((ticks) => `${Math.floor(ticks / 10)}.${ticks % 10}`);
    const qty = fc.integer({ min: 0, max: 99_999_999 }).map((lots) => (lots / 100_000).toFixed(6));
    const rows = fc.array(fc.tuple(price, qty), { maxLength: 20 });
    fc.assert(
      fc.property(rows, rows, (bids, asks) => {
        const fast = setup();
        const slow = setup();
        const frame = bookFrame(1_000, bids, asks);
        const decoded = decodeFrame(frame);
        if (decoded.kind !== "book") throw new Error("not a book");
        const applied = fast.book(frame);
        expect(slow.applier.applyDecodedBook(decoded.book, TIER_FAST, 1, 0)).toBe(applied);
        const content = ({ market: { book } }: ReturnType<typeof setup>) => ({
          state: book.state,
          reason: book.invalidReason,
          bids: Array.from({ length: book.bidCount }, (_, index) => [book.bidTicks(index), book.bidLots(index)]),
          asks: Array.from({ length: book.askCount }, (_, index) => [book.askTicks(index), book.askLots(index)]),
        });
        expect(content(fast)).toEqual(content(slow));
      }),
    );
  });
});

describe("touch frames", () => {
  it("set both sides, and an absent side is empty", () => {
    const { market, touch } = setup();
    expect(touch(bboFrame(1_000, ["84143.0", "10.25923"], null), 5)).toBe(APPLIED);
    expect(market.touch).toMatchObject({
      bidTicks: 841_430,
      bidLots: 1_025_923,
      askLots: 0,
      tsVenueMs: 1_000,
      tsRecvNs: 5,
      present: true,
    });
  });

  it("older than the touch change nothing", () => {
    const { market, touch } = setup();
    touch(bboFrame(2_000, ["84143", "1"], ["84144", "1"]));
    expect(touch(bboFrame(1_000, ["1", "1"], ["2", "1"]))).toBe(OUTDATED);
    expect(market.touch.bidTicks).toBe(841_430);
  });

  it("too fine or crossed clear the touch: the book alone then speaks", () => {
    const { market, touch } = setup();
    touch(bboFrame(1_000, ["84143", "1"], ["84144", "1"]));
    expect(touch(bboFrame(2_000, ["84143.05", "1"], ["84144", "1"]))).toBe(DRIFT);
    expect(market.touch.present).toBe(false);
    touch(bboFrame(3_000, ["84143", "1"], ["84144", "1"]));
    expect(touch(bboFrame(4_000, ["84145", "1"], ["84144", "1"]))).toBe(REFUSED);
    expect(market.touch.present).toBe(false);
  });

  it("come out the same by the reference decoder", () => {
    const fast = setup();
    const slow = setup();
    const frame = bboFrame(1_000, ["84143.0", "10.25923"], ["84144.5", "0.00001"]);
    const decoded = decodeFrame(frame);
    if (decoded.kind !== "bbo") throw new Error("not a touch");
    fast.touch(frame, 3);
    slow.applier.applyDecodedTouch(decoded.bbo, 3);
    // Each tells its own market's listeners.
    expect({ ...slow.market.touch, onChange: null }).toEqual({ ...fast.market.touch, onChange: null });
  });
});
