/**
 * Quotes that bind: a live call that names one is held to the quote's worst price and its venues, not to a fill price.
 *
 * A quote may be used as often as it is good for, until it expires: each use reads positions and books anew, so a second
 * use can do no more than a call without it. One made with credentials is good for its accounts, or some of them, only.
 *
 * Every dry run keeps one and few are ever used: a ring of slots that are written over, no index. A use looks from the
 * newest back, until what it meets is over.
 *
 * Bounds: MAX_QUOTES, the oldest give way; each lives QUOTE_TTL_MS. In memory: a restart ends them all, which a caller
 * learns as an expired quote, before anything is sent.
 */
import type { Clock } from "../domain/clock.js";
import type { OrderType, Side } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { TradeIntent, TradeRequest } from "./trade-types.js";

export const QUOTE_TTL_MS = 2_000;
export const MAX_QUOTES = 10_000;

export interface BoundQuote {
  readonly symbol: string;
  readonly side: Side;
  /** Base units, ALL and percent resolved: the most that a call with it may ask for. */
  readonly size: string;
  /** Null: a public quote is for both, and for MARKET orders. */
  readonly intent: TradeIntent | null;
  readonly orderType: OrderType;
  /** In the common quote. */
  readonly worstPrice: string;
  /** Those that were eligible. */
  readonly venues: readonly RoutableVenue[];
  /** Keyed hashes of the accounts it was made with; null: made without credentials. */
  readonly accounts: readonly string[] | null;
}

export type QuoteUse =
  | { readonly kind: "bound"; readonly quote: BoundQuote }
  | { readonly kind: "expired" }
  /** The call is not what was quoted. */
  | { readonly kind: "mismatch"; readonly path: string; readonly problem: string };

interface Slot {
  quoteId: string;
  quote: BoundQuote;
  expiresAtMs: number;
}

export class QuoteBook {
  readonly #clock: Clock;
  readonly #maxQuotes: number;
  /** Grows to the maximum; `#next` is the oldest from then on. */
  readonly #slots: Slot[] = [];
  #next = 0;

  constructor(clock: Clock, maxQuotes = MAX_QUOTES) {
    this.#clock = clock;
    this.#maxQuotes = maxQuotes;
  }

  keep(quoteId: string, quote: BoundQuote, expiresAtMs: number): void {
    const slot = this.#slots[this.#next];
    if (slot === undefined) this.#slots.push({ quoteId, quote, expiresAtMs });
    else {
      slot.quoteId = quoteId;
      slot.quote = quote;
      slot.expiresAtMs = expiresAtMs;
    }
    this.#next = this.#next + 1 < this.#maxQuotes ? this.#next + 1 : 0;
  }

  /** Somebody else's quote, one that never was and one that is over are told alike. */
  use(quoteId: string, request: TradeRequest, side: Side, accounts: readonly string[]): QuoteUse {
    const quote = this.#find(quoteId);
    if (quote === null) return { kind: "expired" };
    const { accounts: quoted } = quote;
    if (quoted !== null && !accounts.every((account) => quoted.includes(account))) return { kind: "expired" };
    if (quote.symbol !== request.symbol) return mismatch("symbol");
    const intent: TradeIntent = request.open === null ? "CLOSE" : "OPEN";
    if (quote.side !== side || (quote.intent !== null && quote.intent !== intent)) return mismatch("direction");
    if (quote.orderType !== request.orderType) return mismatch("orderType");
    return { kind: "bound", quote };
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Null: over, or never there. */
  #find(quoteId: string): BoundQuote | null {
    const nowMs = this.#clock.wallMs();
    const count = this.#slots.length;
    for (let back = 1; back <= count; back++) {
      const slot = this.#slots[(this.#next - back + count) % count];
      // All live equally long, so behind one that is over the others are over too.
      if (slot === undefined || nowMs >= slot.expiresAtMs) return null;
      if (slot.quoteId === quoteId) return slot.quote;
    }
    return null;
  }
}

function mismatch(path: string): QuoteUse {
  return { kind: "mismatch", path, problem: "is not what the quote was made for" };
}
