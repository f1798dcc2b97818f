import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../domain/virtual-clock.js";
import { type BoundQuote, QuoteBook } from "./quote-book.js";
import { closeRequest } from "./test/harness.js";

const TTL_MS = 20;

function quoteOf(size: string): BoundQuote {
  return {
    symbol: "BTC",
    side: "SELL",
    size,
    intent: null,
    orderType: "MARKET",
    worstPrice: "1",
    venues: [],
    accounts: null,
  };
}

describe("QuoteBook", () => {
  it("knows exactly the newest quotes that are not over, as a map of all would", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("keep" as const) }),
      fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: TTL_MS }) }),
      fc.record({ kind: fc.constant("use" as const), back: fc.nat({ max: 12 }) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (maxQuotes, steps) => {
        const clock = new VirtualClock();
        const book = new QuoteBook(clock, maxQuotes);
        const expiries: number[] = [];
        for (const one of steps) {
          if (one.kind === "wait") clock.advance(one.ms);
          else if (one.kind === "keep") {
            const expiresAtMs = clock.wallMs() + TTL_MS;
            book.keep(`qt_${expiries.length}`, quoteOf(String(expiries.length)), expiresAtMs);
            expiries.push(expiresAtMs);
          } else {
            const index = expiries.length - one.back;
            const use = book.use(`qt_${index}`, closeRequest(), "SELL", []);
            const isKept = index >= expiries.length - maxQuotes && clock.wallMs() < (expiries[index] ?? 0);
            expect(use).toEqual(isKept ? { kind: "bound", quote: quoteOf(String(index)) } : { kind: "expired" });
          }
          expect(book.size).toBe(Math.min(expiries.length, maxQuotes));
        }
      }),
    );
  });

  it("may be used again while it lives, and by nobody at its last moment", () => {
    const clock = new VirtualClock();
    const book = new QuoteBook(clock);
    book.keep("qt_1", quoteOf("1"), clock.wallMs() + TTL_MS);
    clock.advance(TTL_MS - 1);
    expect(book.use("qt_1", closeRequest(), "SELL", [])).toMatchObject({ kind: "bound" });
    expect(book.use("qt_1", closeRequest(), "SELL", [])).toMatchObject({ kind: "bound" });
    clock.advance(1);
    expect(book.use("qt_1", closeRequest(), "SELL", [])).toEqual({ kind: "expired" });
  });
});
