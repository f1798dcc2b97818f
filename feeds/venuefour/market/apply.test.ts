import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING, INVALID_CROSSED, INVALID_DECODE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import { decodeFrame } from "./decode.js";
import { frameFixtures } from "../fixtures/load.js";
import { bookBytes, GOOD, NEXT, setup } from "../test/applier-harness.js";
import { APPLIED, type Applied, DRIFT, OUTDATED, PROVEN, REFUSED } from "./applied.js";
import { REST_LINK } from "./apply.js";

function content({ book }: Market) {
  return {
    state: book.state,
    bids: Array.from({ length: book.bidCount }, (_, index) => [book.bidTicks(index), book.bidLots(index)]),
    asks: Array.from({ length: book.askCount }, (_, index) => [book.askTicks(index), book.askLots(index)]),
  };
}

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
