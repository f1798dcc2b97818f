import { Owners } from "../../domain/owner.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createKeyedHash } from "../../storage/server-secret.js";
import { MAX_QUOTES, QuoteBook } from "./quote-book.js";
import type { BoundQuote } from "../types.js";
import { QuoteIds } from "./quote-ids.js";
import { closeRequest } from "../test/harness.js";

const hash = createKeyedHash(new Uint8Array(32).fill(7));
const idsOf = (boot: string): QuoteIds => new QuoteIds(hash, boot);

function quoteOf(size: string): BoundQuote {
  return {
    symbol: "BTC",
    side: "SELL",
    size,
    intent: null,
    orderType: "MARKET",
    worstPrice: "1",
    ownPrice: null,
    maxSlippageBps: 100,
    venues: [],
    accounts: null,
  };
}

const NOBODY = { ownerId: null, accounts: [] } as const;

describe("QuoteBook", () => {
  it("tells live, expired, used and never given quotes apart, as a list of all would", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("give" as const), ttlMs: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ kind: fc.constant("use" as const), back: fc.integer({ min: -2, max: 12 }) }),
      fc.record({
        kind: fc.constantFrom("claim" as const, "release" as const),
        back: fc.integer({ min: 1, max: 12 }),
        user: fc.constantFrom("a", "b"),
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 80 }), (maxQuotes, steps) => {
        const clock = new VirtualClock();
        const ids = idsOf("boot");
        const book = new QuoteBook(clock, ids, new Owners(), maxQuotes);
        const given: { quoteId: string; expiresMs: number; usedBy: string | null }[] = [];
        for (const one of steps) {
          if (one.kind === "wait") clock.advance(one.ms);
          else if (one.kind === "give") {
            const { quoteId, expiresAt } = book.give(quoteOf(String(given.length)), one.ttlMs);
            expect(expiresAt).toBe(clock.wallMs() + one.ttlMs);
            given.push({ quoteId, expiresMs: expiresAt, usedBy: null });
          } else {
            const number = given.length - one.back;
            if (number < 0) continue;
            const known = given[number];
            const quoteId = known?.quoteId ?? ids.idOf(number, null);
            const isKept = number >= given.length - maxQuotes;
            if (one.kind === "use") {
              const use = book.use(quoteId, closeRequest(), "SELL", NOBODY);
              if (known === undefined) expect(use).toEqual({ kind: "unknown" });
              else if (isKept && known.usedBy !== null) expect(use).toEqual({ kind: "over", reason: "USED" });
              else if (!isKept || clock.wallMs() >= known.expiresMs)
                expect(use).toEqual({ kind: "over", reason: "EXPIRED" });
              else expect(use).toEqual({ kind: "bound", quote: quoteOf(String(number)) });
            } else if (known !== undefined && one.kind === "claim") {
              const isTaken = known.usedBy !== null && known.usedBy !== one.user;
              expect(book.claim(quoteId, null, one.user)).toBe(isKept ? (isTaken ? "USED" : null) : "EXPIRED");
              if (isKept && !isTaken) known.usedBy = one.user;
            } else if (known !== undefined) {
              book.release(quoteId, null, one.user);
              if (isKept && known.usedBy === one.user) known.usedBy = null;
            }
          }
          expect(book.size).toBe(Math.min(given.length, maxQuotes));
        }
      }),
    );
  });

  it("keeps the latest so many: what gave way is expired, not unknown", () => {
    const book = new QuoteBook(new VirtualClock(), idsOf("boot"), new Owners());
    const given = Array.from({ length: MAX_QUOTES + 1 }, () => book.give(quoteOf("1"), 30_000).quoteId);
    expect(book.size).toBe(MAX_QUOTES);
    const useOf = (index: number) => book.use(given[index] ?? "", closeRequest(), "SELL", NOBODY);
    expect(useOf(0)).toEqual({ kind: "over", reason: "EXPIRED" });
    expect(useOf(1)).toMatchObject({ kind: "bound" });
    expect(book.claim(given[0] ?? "", null, "late")).toBe("EXPIRED");
  });

  it("tells nobody but its owner that a quote gave way", () => {
    const book = new QuoteBook(new VirtualClock(), idsOf("boot"), new Owners({ adoptedBy: () => "ow_heir" }), 1);
    const give = (ownerId: string | null): string => book.give({ ...quoteOf("1"), ownerId }, 30_000).quoteId;
    const [own, nobodys] = [give("ow_a"), give(null)];
    give(null);
    const kindFor = (quoteId: string, ownerId: string | null) =>
      book.use(quoteId, closeRequest(), "SELL", { ownerId, accounts: [] }).kind;
    expect(["ow_a", "ow_b", "ow_heir", null].map((owner) => kindFor(own, owner))).toEqual([
      "over",
      ...["unknown", "unknown", "unknown"],
    ]);
    expect(["ow_a", "ow_heir", null].map((owner) => kindFor(nobodys, owner))).toEqual(["over", "over", "over"]);
  });

  it("lets whoever claimed a quote go on with it, also when its time is over", () => {
    const clock = new VirtualClock();
    const book = new QuoteBook(clock, idsOf("boot"), new Owners());
    const { quoteId } = book.give(quoteOf("1"), 20);
    expect(book.claim(quoteId, null, "key")).toBe(null);
    clock.advance(20);
    expect(book.use(quoteId, closeRequest(), "SELL", NOBODY, "key")).toMatchObject({ kind: "bound" });
    expect(book.use(quoteId, closeRequest(), "SELL", NOBODY, "other")).toEqual({ kind: "over", reason: "USED" });
  });
});

describe("QuoteIds", () => {
  it("knows its own ids and no other text", () => {
    const ids = idsOf("boot");
    fc.assert(
      fc.property(fc.nat(2 ** 40 - 1), fc.nat(26), fc.constantFrom(..."0123456789ABCDEFZ"), (number, at, digit) => {
        const id = ids.idOf(number, null);
        expect(ids.numberOf(id, [null])).toBe(number);
        expect(idsOf("boot").numberOf(id, [null])).toBe(number);
        expect(idsOf("next boot").numberOf(id, [null])).toBe(null);
        const changed = id.slice(0, at) + digit + id.slice(at + 1);
        expect(ids.numberOf(changed, [null])).toBe(changed === id ? number : null);
      }),
    );
    for (const text of ["", "qt_", "qt_NEVER", ids.idOf(3, null).toLowerCase(), `${ids.idOf(3, null)}0`])
      expect(ids.numberOf(text, [null])).toBe(null);
  });

  it("are all different, and sort by their number", () => {
    const ids = idsOf("boot");
    const given = Array.from({ length: 5_000 }, (_, number) => ids.idOf(number, null));
    expect(new Set(given).size).toBe(given.length);
    expect([...given].sort()).toEqual(given);
  });
});
