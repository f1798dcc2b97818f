/** The tape of fixtures/: every frame reaches a handler, and the book ends as its naive twin. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Book, BOOK_LIVE } from "../../../engine/market/book.js";
import { BookChain, CHAIN_APPLIED } from "./sync.js";
import { VenuethreeDecoder } from "./decode.js";
import { decodeSlowFrame } from "./decode-slow.js";
import { FRAME_OTHER, FRAME_SNAPSHOT, FRAME_TICKER, FRAME_UPDATE } from "./frame.js";

const LINES = readFileSync(new URL("../fixtures/tape.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n");

interface WireBook {
  readonly order_book: Record<"bids" | "asks", readonly { readonly price: string; readonly size: string }[]>;
}

describe("the tape", () => {
  it("reaches a handler with every frame, on the fast path where there is one", () => {
    const decoder = new VenuethreeDecoder();
    const chain = new BookChain(new Book());
    chain.beginSync();
    const slot = decoder.register(36, 5, 1);
    decoder.register(1, 1, 5);
    const counts: Record<string, number> = {};
    const count = (kind: string): void => {
      counts[kind] = (counts[kind] ?? 0) + 1;
    };
    for (const line of LINES) {
      const bytes = Buffer.from(line);
      const kind = decoder.decodeFrame(bytes, 0, bytes.length);
      if (kind === FRAME_OTHER) {
        count(decodeSlowFrame(line).kind);
      } else if (kind === FRAME_TICKER) {
        count("ticker");
        expect(decoder.frame).toMatchObject({ touchAskTicks: 637_773, touchAskLots: 20, touchBidLots: 249_220 });
      } else {
        count(kind === FRAME_SNAPSHOT ? "snapshot" : kind === FRAME_UPDATE ? "update" : "refused");
        expect(decoder.frame.slot).toBe(slot);
        const result = kind === FRAME_SNAPSHOT ? chain.onSnapshot(decoder.frame, 1) : chain.onUpdate(decoder.frame, 1);
        expect(result).toBe(CHAIN_APPLIED);
      }
    }
    expect(counts).toEqual({
      connected: 1,
      snapshot: 1,
      update: 6,
      ticker: 1,
      trades: 1,
      stats: 1,
      height: 1,
      pong: 1,
      error: 3,
      unsubscribed: 1,
    });
    // Only the spaced, the unlabelled and the channel-less ones need the careful half.
    expect(decoder.carefulCount).toBe(LINES.filter((line) => !line.startsWith('{"channel"')).length);
    expect(chain.book.state).toBe(BOOK_LIVE);
    expect(contentsOf(chain.book)).toEqual(naiveBook());
  });
});

function contentsOf(book: Book): unknown {
  const side = (count: number, ticks: (index: number) => number, lots: (index: number) => number) =>
    Array.from({ length: count }, (_, index) => [ticks(index), lots(index)]);
  return {
    bids: side(
      book.bidCount,
      (index) => book.bidTicks(index),
      (index) => book.bidLots(index),
    ),
    asks: side(
      book.askCount,
      (index) => book.askTicks(index),
      (index) => book.askLots(index),
    ),
  };
}

/** The same frames through JSON.parse, two maps and removal of the point. */
function naiveBook(): unknown {
  const sides = { bids: new Map<number, number>(), asks: new Map<number, number>() };
  for (const line of LINES.filter((text) => text.includes('"order_book:36"'))) {
    const { order_book: book } = JSON.parse(line) as WireBook;
    for (const name of ["bids", "asks"] as const) {
      for (const { price, size } of book[name]) {
        const [ticks, lots] = [Number(price.replace(".", "")), Number(size.replace(".", ""))];
        if (lots === 0) sides[name].delete(ticks);
        else sides[name].set(ticks, lots);
      }
    }
  }
  return {
    bids: [...sides.bids].sort((left, right) => right[0] - left[0]),
    asks: [...sides.asks].sort((left, right) => left[0] - right[0]),
  };
}
