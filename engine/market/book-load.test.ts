import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom } from "../domain/random.js";
import { Book, BOOK_INVALID, BOOK_LIVE, INVALID_BAD_LEVEL, INVALID_TOO_MANY_LEVELS } from "./book.js";

const MID = 100_000_000;
const SPARSE_LEVELS = 60_000;

function shuffled(indices: number[]): number[] {
  const random = createSeededRandom(9);
  for (let index = indices.length - 1; index > 0; index--) {
    const other = Math.floor(random.next() * (index + 1));
    [indices[index], indices[other]] = [indices[other] as number, indices[index] as number];
  }
  return indices;
}

const ORDERS: readonly (readonly [string, (indices: number[]) => number[]])[] = [
  ["best first", (indices) => indices],
  ["worst first", (indices) => indices.reverse()],
  ["in no order", shuffled],
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("loading a snapshot", () => {
  it.each(ORDERS)("inserts 60,000 sparse levels %s without moving any of them", (_name, order) => {
    const moves = vi.spyOn(Float64Array.prototype, "copyWithin");
    const book = new Book();
    book.beginSnapshot();
    for (const index of order(Array.from({ length: SPARSE_LEVELS }, (_, at) => at))) {
      book.applyBid(MID - 997 * index, 1 + index);
      book.applyAsk(MID + 1 + 997 * index, 2 + index);
    }
    expect(book.commit(1, 1, 1)).toBe(true);
    expect(moves.mock.calls.length).toBeLessThan(10);
    expect([book.bidCount, book.askCount]).toEqual([SPARSE_LEVELS, SPARSE_LEVELS]);
    for (const index of [0, 1, 511, 30_000, SPARSE_LEVELS - 1]) {
      expect([book.bidTicks(index), book.bidLots(index)]).toEqual([MID - 997 * index, 1 + index]);
      expect([book.askTicks(index), book.askLots(index)]).toEqual([MID + 1 + 997 * index, 2 + index]);
    }
    expect([book.bids.isConsistent(), book.asks.isConsistent()]).toEqual([true, true]);
  });

  it("gives the same levels as a map for any order, repeats, removals and grid, and takes changes afterwards", () => {
    const level = fc.tuple(
      fc.oneof(fc.integer({ min: 900, max: 1_000 }), fc.integer({ min: 1, max: 90_000 })),
      fc.integer({ min: 0, max: 4 }),
    );
    fc.assert(
      fc.property(
        fc.array(level, { maxLength: 200 }),
        fc.array(level, { maxLength: 60 }),
        fc.constantFrom(1, 5),
        (levels, changes, step) => {
          const book = new Book(step);
          const naive = new Map<number, number>();
          const apply = ([ticks, lots]: readonly [number, number]): void => {
            book.applyBid(ticks, lots);
            if (lots > 0) naive.set(ticks, lots);
            else naive.delete(ticks);
          };
          const expectSame = (): void => {
            const wanted = [...naive].sort((left, right) => right[0] - left[0]);
            expect(wanted).toEqual(wanted.map((_, index) => [book.bidTicks(index), book.bidLots(index)]));
            expect([book.bidCount, book.bids.isConsistent()]).toEqual([naive.size, true]);
          };
          book.beginSnapshot();
          for (const one of levels) apply(one);
          expect(book.commit(1, 1, 1)).toBe(true);
          expectSame();
          for (const one of changes) apply(one);
          expect(book.commit(2, 2, 2)).toBe(true);
          expectSame();
          // A second snapshot replaces all of the first.
          naive.clear();
          book.beginSnapshot();
          for (const one of changes) apply(one);
          expect(book.commit(3, 3, 3)).toBe(true);
          expectSame();
        },
      ),
      { numRuns: 300, seed: 12 },
    );
  });

  it("refuses more levels than a book may have, but accepts repeats of a level", () => {
    const book = new Book(1, 8);
    const load = (prices: readonly number[]): boolean => {
      book.beginSnapshot();
      for (const price of prices) book.applyBid(price, 1);
      return book.commit(1, 1, 1);
    };
    expect(load([9, 8, 7, 6, 5, 4, 3, 2])).toBe(true);
    expect(load([9, 8, 7, 6, 5, 4, 3, 2, 9, 2, 5])).toBe(true);
    expect(book.bidCount).toBe(8);
    expect(load([9, 8, 7, 6, 5, 4, 3, 2, 1])).toBe(false);
    expect([book.state, book.invalidReason]).toEqual([BOOK_INVALID, INVALID_TOO_MANY_LEVELS]);
    expect(load([2, 3])).toBe(true);
    expect([book.state, book.bidCount, book.bidTicks(0)]).toEqual([BOOK_LIVE, 2, 3]);
  });
});

describe("an impossible level", () => {
  const bad: readonly (readonly [number, number])[] = [
    [0, 1],
    [-3, 1],
    [1.5, 1],
    [2 ** 53, 1],
    [Number.NaN, 1],
    [Number.POSITIVE_INFINITY, 1],
    [5, -1],
    [5, 0.5],
    [5, 2 ** 53],
    [5, Number.NaN],
    [5, Number.POSITIVE_INFINITY],
    [0, 0],
    [-3, 0],
    [1.5, 0],
  ];
  it.each(bad)(
    "of %d × %d breaks a change and a snapshot, near the touch and far from it, on both sides",
    (ticks, lots) => {
      for (const best of [6, 1_000_000]) {
        for (const isBid of [true, false]) {
          for (const isSnapshot of [true, false]) {
            const book = new Book();
            book.beginSnapshot();
            if (isBid) book.applyBid(best, 3);
            else book.applyAsk(best, 3);
            expect(book.commit(1, 1, 1)).toBe(true);
            if (isSnapshot) book.beginSnapshot();
            if (isBid) book.applyBid(ticks, lots);
            else book.applyAsk(ticks, lots);
            expect(book.commit(2, 2, 2)).toBe(false);
            expect([book.state, book.invalidReason]).toEqual([BOOK_INVALID, INVALID_BAD_LEVEL]);
          }
        }
      }
    },
  );
});
