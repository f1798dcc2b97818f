import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BOOK_EMPTY,
  BOOK_INVALID,
  BOOK_LIVE,
  BOOK_SYNCING,
  Book,
  INVALID_BAD_LEVEL,
  INVALID_CROSSED,
  INVALID_GAP,
  INVALID_TOO_MANY_LEVELS,
  MAX_LEVELS,
} from "./book.js";

type Level = readonly [ticks: number, lots: number];

function bidsOf(book: Book): Level[] {
  return Array.from({ length: book.bidCount }, (_, level) => [book.bidTicks(level), book.bidLots(level)]);
}

function asksOf(book: Book): Level[] {
  return Array.from({ length: book.askCount }, (_, level) => [book.askTicks(level), book.askLots(level)]);
}

function load(book: Book, bids: readonly Level[], asks: readonly Level[]): boolean {
  book.beginSnapshot();
  for (const [ticks, lots] of bids) book.applyBid(ticks, lots);
  for (const [ticks, lots] of asks) book.applyAsk(ticks, lots);
  return book.commit(1, 1000, 1);
}

/** A slow reference book: two maps, checked completely after each commit. */
class NaiveBook {
  bids = new Map<number, number>();
  asks = new Map<number, number>();
  state: number = BOOK_EMPTY;
  #open = false;
  #broken = false;
  readonly #maxLevels: number;

  constructor(maxLevels: number) {
    this.#maxLevels = maxLevels;
  }

  beginSnapshot(): void {
    this.bids.clear();
    this.asks.clear();
    this.#open = true;
    this.#broken = false;
  }

  beginSync(): void {
    this.state = BOOK_SYNCING;
    this.#open = false;
  }

  invalidate(): void {
    this.state = BOOK_INVALID;
    this.#open = false;
  }

  apply(side: Map<number, number>, ticks: number, lots: number): void {
    if (!this.#open) return;
    if (!(Number.isSafeInteger(ticks) && ticks > 0 && Number.isSafeInteger(lots) && lots >= 0)) this.#broken = true;
    else if (lots === 0) side.delete(ticks);
    else if (side.has(ticks) || side.size < this.#maxLevels) side.set(ticks, lots);
    else this.#broken = true;
  }

  commit(): boolean {
    if (!this.#open) return false;
    const crossed =
      this.bids.size > 0 && this.asks.size > 0 && Math.max(...this.bids.keys()) >= Math.min(...this.asks.keys());
    if (this.#broken || crossed) {
      this.invalidate();
      return false;
    }
    this.state = BOOK_LIVE;
    return true;
  }

  sorted(side: Map<number, number>, descending: boolean): Level[] {
    if (this.state !== BOOK_LIVE) return [];
    return [...side].sort(([a], [b]) => (descending ? b - a : a - b));
  }
}

type Step =
  | { kind: "bid" | "ask"; ticks: number; lots: number }
  | { kind: "commit" | "snapshot" | "sync" | "invalidate" };

const MIDDLE = 100_000;
const lots = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 9 }) },
  { weight: 3, arbitrary: fc.constant(0) },
);
/** Near the touch, beyond any window, and far away: prices jump by ten to ten thousands of steps. */
const away = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 40 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 2000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: MIDDLE - 1 }) },
);
const bad = fc.constantFrom(Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53);

function steps(priceUnit: number, withBad: boolean): fc.Arbitrary<Step[]> {
  const change = fc
    .record({
      bid: fc.boolean(),
      away,
      lots,
      cross: fc.integer({ min: 0, max: 40 }),
      offGrid: fc.integer({ min: 0, max: 60 }),
    })
    .map(({ bid, away: distance, lots: qty, cross, offGrid }): Step => {
      const sign = bid !== (cross === 0) ? -1 : 1;
      const extra = offGrid === 0 && priceUnit > 1 ? 1 : 0;
      return { kind: bid ? "bid" : "ask", ticks: (MIDDLE + sign * distance) * priceUnit + extra, lots: qty };
    });
  const broken = fc.record({
    kind: fc.constantFrom("bid" as const, "ask" as const),
    ticks: fc.oneof(bad, fc.constant(MIDDLE)),
    lots: bad,
  });
  return fc.array(
    fc.oneof(
      { weight: 60, arbitrary: change },
      { weight: 12, arbitrary: fc.constant<Step>({ kind: "commit" }) },
      { weight: 3, arbitrary: fc.constant<Step>({ kind: "snapshot" }) },
      { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: "sync" }, { kind: "invalidate" }) },
      ...(withBad ? [{ weight: 1, arbitrary: broken }] : []),
    ),
    { maxLength: 200 },
  );
}

function perform(book: Book, naive: NaiveBook, sequence: readonly Step[]): void {
  book.beginSnapshot();
  naive.beginSnapshot();
  for (const step of sequence) {
    switch (step.kind) {
      case "bid":
        book.applyBid(step.ticks, step.lots);
        naive.apply(naive.bids, step.ticks, step.lots);
        continue;
      case "ask":
        book.applyAsk(step.ticks, step.lots);
        naive.apply(naive.asks, step.ticks, step.lots);
        continue;
      case "snapshot":
        book.beginSnapshot();
        naive.beginSnapshot();
        continue;
      case "sync":
        book.beginSync();
        naive.beginSync();
        break;
      case "invalidate":
        book.invalidate(INVALID_GAP);
        naive.invalidate();
        break;
      case "commit":
        expect(book.commit(7, 8, 9)).toBe(naive.commit());
        break;
    }
    expect(book.state).toBe(naive.state);
    const bids = bidsOf(book);
    const asks = asksOf(book);
    expect(bids).toEqual(naive.sorted(naive.bids, true));
    expect(asks).toEqual(naive.sorted(naive.asks, false));
    if (book.state === BOOK_LIVE && bids[0] !== undefined && asks[0] !== undefined)
      expect(bids[0][0]).toBeLessThan(asks[0][0]);
    if (book.state === BOOK_LIVE) expect(book.bids.isConsistent() && book.asks.isConsistent()).toBe(true);
  }
}

describe("an order book", () => {
  it.each([1, 10])("equals a naive book after any sequence of changes, with prices in units of %i ticks", (unit) => {
    fc.assert(
      fc.property(steps(unit, true), fc.constantFrom(1, unit), (sequence, step) =>
        perform(new Book(step), new NaiveBook(MAX_LEVELS), sequence),
      ),
      { numRuns: 600, seed: 11 },
    );
  });

  it("equals a naive book with a small maximum of levels", () => {
    fc.assert(
      fc.property(steps(1, false), fc.integer({ min: 1, max: 12 }), (sequence, max) =>
        perform(new Book(1, max), new NaiveBook(max), sequence),
      ),
      { numRuns: 600, seed: 12 },
    );
  });

  it("keeps the right best price when a price jumps further than any window", () => {
    const book = new Book();
    load(book, [[100, 1]], []);
    book.applyBid(50_000, 2);
    expect(book.commit(2, 0, 2)).toBe(true);
    expect(bidsOf(book)).toEqual([
      [50_000, 2],
      [100, 1],
    ]);
  });

  it("accepts snapshot levels in any order, and the last quantity of a price counts", () => {
    const book = new Book();
    expect(
      load(
        book,
        [
          [5, 1],
          [9, 2],
          [7, 3],
          [9, 4],
          [5, 0],
        ],
        [
          [12, 1],
          [11, 2],
          [20, 3],
        ],
      ),
    ).toBe(true);
    expect(bidsOf(book)).toEqual([
      [9, 4],
      [7, 3],
    ]);
    expect(asksOf(book)).toEqual([
      [11, 2],
      [12, 1],
      [20, 3],
    ]);
  });

  it("tolerates a cross inside a batch and checks only what is committed", () => {
    const book = new Book();
    load(book, [[100, 1]], [[101, 1]]);
    book.applyBid(101, 5);
    book.applyAsk(101, 0);
    book.applyAsk(102, 1);
    expect(book.commit(2, 0, 2)).toBe(true);
    book.applyAsk(101, 1);
    expect(book.commit(3, 0, 3)).toBe(false);
    expect([book.state, book.invalidReason]).toEqual([BOOK_INVALID, INVALID_CROSSED]);
  });

  it.each([BOOK_EMPTY, BOOK_SYNCING, BOOK_INVALID])(
    "in state %i is never revived by changes without a snapshot",
    (state) => {
      const book = new Book();
      if (state !== BOOK_EMPTY) load(book, [[100, 1]], [[101, 1]]);
      if (state === BOOK_SYNCING) book.beginSync();
      if (state === BOOK_INVALID) book.invalidate(INVALID_GAP);
      book.applyBid(99, 1);
      expect(book.commit(2, 0, 2)).toBe(false);
      expect(book.state).toBe(state);
      expect([book.bidCount, book.bidTicks(0), book.askLots(0)]).toEqual([0, Number.NaN, Number.NaN]);
    },
  );

  it("shows nothing while not LIVE and drops the old content at the next snapshot", () => {
    const book = new Book();
    load(book, [[100, 1]], [[101, 1]]);
    book.invalidate(INVALID_GAP);
    expect([book.invalidReason, book.bidCount]).toEqual([INVALID_GAP, 0]);
    load(book, [[50, 1]], []);
    expect([book.invalidReason, bidsOf(book), asksOf(book)]).toEqual(["", [[50, 1]], []]);
  });

  it("is INVALID after a broken level, whatever the rest of the batch holds", () => {
    const book = new Book();
    load(book, [[100, 1]], [[101, 1]]);
    book.applyBid(99.5, 1);
    book.applyBid(99, 1);
    expect(book.commit(2, 0, 2)).toBe(false);
    expect(book.invalidReason).toBe(INVALID_BAD_LEVEL);
  });

  it("grows to its maximum and is INVALID one level beyond", () => {
    const book = new Book();
    const all: Level[] = Array.from({ length: MAX_LEVELS }, (_, level) => [MAX_LEVELS + 1 - level, 1]);
    expect(load(book, all, [])).toBe(true);
    expect([book.bidCount, book.bidTicks(MAX_LEVELS - 1)]).toEqual([MAX_LEVELS, 2]);
    book.applyBid(1, 1);
    expect(book.commit(2, 0, 2)).toBe(false);
    expect(book.invalidReason).toBe(INVALID_TOO_MANY_LEVELS);
  });

  it("stamps commits and accepts proofs of currency only while LIVE, and never moves them backwards", () => {
    const book = new Book();
    book.prove(5);
    expect(book.tsProvenNs).toBe(-1);
    load(book, [[1, 1]], []);
    book.prove(10);
    book.prove(7);
    expect([book.seq, book.tsVenueMs, book.tsRecvNs, book.tsProvenNs]).toEqual([1, 1000, 1, 10]);
    book.invalidate(INVALID_GAP);
    book.prove(20);
    expect(book.tsProvenNs).toBe(10);
    book.clear();
    expect([book.state, book.seq, book.tsProvenNs]).toEqual([BOOK_EMPTY, 0, -1]);
  });

  it("takes its age, when it becomes LIVE again, from the frame that revived it and not from an earlier proof", () => {
    const book = new Book();
    load(book, [[1, 1]], []);
    book.prove(10);
    book.invalidate(INVALID_GAP);
    book.beginSnapshot();
    book.applyBid(2, 1);
    // A delayed frame, older than the last proof.
    expect(book.commit(2, 1000, 4)).toBe(true);
    expect([book.tsRecvNs, book.tsProvenNs]).toEqual([4, 4]);
    // A LIVE book keeps its proof when it applies an older frame.
    book.prove(20);
    book.applyBid(3, 1);
    expect(book.commit(3, 1000, 15)).toBe(true);
    expect(book.tsProvenNs).toBe(20);
  });
});
