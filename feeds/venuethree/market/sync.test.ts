import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Book,
  BOOK_INVALID,
  BOOK_LIVE,
  BOOK_SYNCING,
  INVALID_CROSSED,
  INVALID_GAP,
} from "../../../engine/market/book.js";
import {
  BookChain,
  CHAIN_APPLIED,
  CHAIN_BROKEN,
  CHAIN_EARLY,
  CHAIN_GAP,
  CHAIN_IGNORED,
  type ChainResult,
} from "./sync.js";
import { VenuethreeDecoder } from "./decode.js";
import { FRAME_SNAPSHOT, FRAME_UPDATE } from "./frame.js";

type Level = readonly [ticks: number, lots: number];

interface Step {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly nonce: number;
  /** Absent: not printed. */
  readonly begin?: number;
}

const decoder = new VenuethreeDecoder();
decoder.register(1, 0, 0);

function feed(chain: BookChain, step: Step, isSnapshot = false, tsRecvNs = 1): ChainResult {
  const wire = ([ticks, lots]: Level) => ({ price: String(ticks), size: String(lots) });
  const bytes = Buffer.from(
    JSON.stringify({
      channel: "order_book:1",
      order_book: {
        asks: step.asks.map(wire),
        bids: step.bids.map(wire),
        nonce: step.nonce,
        ...(step.begin === undefined ? {} : { begin_nonce: step.begin }),
      },
      timestamp: 5,
      type: isSnapshot ? "subscribed/order_book" : "update/order_book",
    }),
  );
  const kind = decoder.decodeFrame(bytes, 0, bytes.length);
  expect(kind).toBe(isSnapshot ? FRAME_SNAPSHOT : FRAME_UPDATE);
  return isSnapshot ? chain.onSnapshot(decoder.frame, tsRecvNs) : chain.onUpdate(decoder.frame, tsRecvNs);
}

function liveChain(): BookChain {
  const chain = new BookChain(new Book());
  chain.beginSync();
  expect(feed(chain, { bids: [[100, 5]], asks: [[110, 7]], nonce: 50, begin: 0 }, true)).toBe(CHAIN_APPLIED);
  return chain;
}

describe("BookChain", () => {
  it("goes LIVE with a snapshot and follows begin_nonce, whatever the nonces skip", () => {
    const chain = liveChain();
    expect(feed(chain, { bids: [[101, 2]], asks: [], nonce: 158, begin: 50 })).toBe(CHAIN_APPLIED);
    expect(feed(chain, { bids: [[100, 0]], asks: [[109, 1]], nonce: 159, begin: 158 })).toBe(CHAIN_APPLIED);
    const { book } = chain;
    expect([book.state, book.seq, book.bidCount, book.bidTicks(0), book.askTicks(0)]).toEqual([
      BOOK_LIVE,
      159,
      1,
      101,
      109,
    ]);
  });

  it.each([
    ["begins later", 51],
    ["begins earlier", 49],
  ])("invalidates at an update that %s than the book is", (_name, begin) => {
    const chain = liveChain();
    expect(feed(chain, { bids: [], asks: [], nonce: 60, begin })).toBe(CHAIN_GAP);
    expect([chain.book.state, chain.book.invalidReason, chain.gapCount]).toEqual([BOOK_INVALID, INVALID_GAP, 1]);
    expect(feed(chain, { bids: [], asks: [], nonce: 70, begin: 60 })).toBe(CHAIN_EARLY);
  });

  it("ignores what comes twice or late, updates and snapshots", () => {
    const chain = liveChain();
    feed(chain, { bids: [[101, 2]], asks: [], nonce: 60, begin: 50 });
    expect(feed(chain, { bids: [[101, 9]], asks: [], nonce: 60, begin: 50 })).toBe(CHAIN_IGNORED);
    expect(feed(chain, { bids: [[90, 1]], asks: [], nonce: 50, begin: 0 }, true)).toBe(CHAIN_IGNORED);
    expect([chain.book.bidTicks(0), chain.book.bidLots(0), chain.ignoredCount]).toEqual([101, 2, 2]);
  });

  it("replaces the book with a newer snapshot", () => {
    const chain = liveChain();
    expect(feed(chain, { bids: [[90, 1]], asks: [[95, 1]], nonce: 80, begin: 0 }, true)).toBe(CHAIN_APPLIED);
    expect([chain.book.bidCount, chain.book.bidTicks(0), chain.book.askTicks(0)]).toEqual([1, 90, 95]);
  });

  it("takes no update before a snapshot", () => {
    const chain = new BookChain(new Book());
    chain.beginSync();
    expect(feed(chain, { bids: [[1, 1]], asks: [], nonce: 5, begin: 4 })).toBe(CHAIN_EARLY);
    expect([chain.book.state, chain.earlyCount]).toEqual([BOOK_SYNCING, 1]);
  });

  it("applies and counts updates without begin_nonce", () => {
    const chain = liveChain();
    expect(feed(chain, { bids: [[101, 2]], asks: [], nonce: 500 })).toBe(CHAIN_APPLIED);
    expect([chain.uncheckedCount, chain.book.bidTicks(0)]).toEqual([1, 101]);
  });

  it("is no longer LIVE when the result is crossed, and comes back with a snapshot", () => {
    const chain = liveChain();
    expect(feed(chain, { bids: [[110, 1]], asks: [], nonce: 60, begin: 50 })).toBe(CHAIN_BROKEN);
    expect([chain.book.state, chain.book.invalidReason]).toEqual([BOOK_INVALID, INVALID_CROSSED]);
    expect(feed(chain, { bids: [[1, 1]], asks: [], nonce: 61, begin: 60 })).toBe(CHAIN_EARLY);
    chain.beginSync();
    expect(feed(chain, { bids: [[1, 1]], asks: [], nonce: 70, begin: 0 }, true)).toBe(CHAIN_APPLIED);
  });

  it("takes an empty book", () => {
    const chain = new BookChain(new Book());
    chain.beginSync();
    expect(feed(chain, { bids: [], asks: [], nonce: 0, begin: 0 }, true)).toBe(CHAIN_APPLIED);
    expect(chain.isLive).toBe(true);
    expect(feed(chain, { bids: [[1, 1]], asks: [], nonce: 9, begin: 0 })).toBe(CHAIN_APPLIED);
  });
});

/** A venue's history: bids below 100, asks above, each step with the book after it. */
const history = fc
  .array(
    fc.record({
      bids: fc.array(fc.tuple(fc.integer({ min: 1, max: 99 }), fc.nat(4)), { maxLength: 4 }),
      asks: fc.array(fc.tuple(fc.integer({ min: 101, max: 199 }), fc.nat(4)), { maxLength: 4 }),
      jump: fc.integer({ min: 1, max: 200 }),
    }),
    { minLength: 2, maxLength: 40 },
  )
  .map((changes) => {
    const bids = new Map<number, number>();
    const asks = new Map<number, number>();
    let nonce = 1_000;
    return changes.map((change) => {
      const begin = nonce;
      nonce += change.jump;
      for (const [map, levels] of [
        [bids, change.bids],
        [asks, change.asks],
      ] as const) {
        for (const [ticks, lots] of levels) {
          if (lots === 0) map.delete(ticks);
          else map.set(ticks, lots);
        }
      }
      const after = {
        bids: [...bids].sort((left, right) => right[0] - left[0]),
        asks: [...asks].sort((left, right) => left[0] - right[0]),
      };
      return { step: { bids: change.bids, asks: change.asks, begin, nonce }, after };
    });
  });

function contents(book: Book): { bids: Level[]; asks: Level[] } {
  return {
    bids: Array.from({ length: book.bidCount }, (_, index) => [book.bidTicks(index), book.bidLots(index)]),
    asks: Array.from({ length: book.askCount }, (_, index) => [book.askTicks(index), book.askLots(index)]),
  };
}

describe("BookChain properties", () => {
  it("equals a naive book after each update", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const chain = new BookChain(new Book());
        chain.beginSync();
        feed(chain, { bids: [], asks: [], nonce: 1_000, begin: 0 }, true);
        for (const { step, after } of steps) {
          expect(feed(chain, step)).toBe(CHAIN_APPLIED);
          expect(contents(chain.book)).toEqual(after);
        }
      }),
      { numRuns: 150, seed: 41 },
    );
  });

  it("under loss, repetition and reordering a LIVE book is one the venue had, and never an older one than before", () => {
    const faults = fc.array(
      fc.record({ at: fc.nat(60), to: fc.nat(60), what: fc.constantFrom("drop", "repeat", "move") }),
      {
        maxLength: 8,
      },
    );
    fc.assert(
      fc.property(history, faults, (steps, planned) => {
        const delivered = [...steps];
        for (const { at, to, what } of planned) {
          const index = at % delivered.length;
          const [taken] = what === "repeat" ? [delivered[index]] : delivered.splice(index, 1);
          if (taken === undefined || delivered.length === 0) return;
          if (what !== "drop") delivered.splice(to % (delivered.length + 1), 0, taken);
        }
        const byNonce = new Map(steps.map(({ step, after }) => [step.nonce, after]));
        const chain = new BookChain(new Book());
        chain.beginSync();
        feed(chain, { bids: [], asks: [], nonce: 1_000, begin: 0 }, true);
        let newest = 1_000;
        for (const { step } of delivered) {
          feed(chain, step);
          const { book } = chain;
          if (book.state !== BOOK_LIVE) continue;
          expect(book.seq).toBeGreaterThanOrEqual(newest);
          newest = book.seq;
          if (newest > 1_000) expect(contents(book)).toEqual(byNonce.get(newest));
        }
      }),
      { numRuns: 300, seed: 42 },
    );
  });
});
