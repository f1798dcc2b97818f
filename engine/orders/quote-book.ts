/**
 * Quotes that bind: a live call that names one is held to the quote's worst price and its venues, not to a fill price.
 *
 * A quote may be used as often as it is good for, until it expires: each use reads positions and books anew, so a second
 * use can do no more than a call without it. One made with credentials is good for its accounts, or some of them, only.
 *
 * Bounds: MAX_QUOTES, the oldest give way; each lives QUOTE_TTL_MS. In memory: a restart ends them all, which a caller
 * learns as an expired quote, before anything is sent.
 */
import { LRUCache } from "lru-cache";
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

interface Entry {
  readonly quote: BoundQuote;
  readonly expiresAtMs: number;
}

export class QuoteBook {
  readonly #clock: Clock;
  readonly #quotes: LRUCache<string, Entry>;

  constructor(clock: Clock, maxQuotes = MAX_QUOTES) {
    this.#clock = clock;
    this.#quotes = new LRUCache({ max: maxQuotes });
  }

  keep(quoteId: string, quote: BoundQuote, expiresAtMs: number): void {
    this.#quotes.set(quoteId, { quote, expiresAtMs });
  }

  /** Somebody else's quote, one that never was and one that is over are told alike. */
  use(quoteId: string, request: TradeRequest, side: Side, accounts: readonly string[]): QuoteUse {
    const entry = this.#quotes.get(quoteId);
    if (entry === undefined) return { kind: "expired" };
    if (this.#clock.wallMs() >= entry.expiresAtMs) {
      this.#quotes.delete(quoteId);
      return { kind: "expired" };
    }
    const { quote } = entry;
    const { accounts: quoted } = quote;
    if (quoted !== null && !accounts.every((account) => quoted.includes(account))) return { kind: "expired" };
    if (quote.symbol !== request.symbol) return mismatch("symbol");
    const intent: TradeIntent = request.open === null ? "CLOSE" : "OPEN";
    if (quote.side !== side || (quote.intent !== null && quote.intent !== intent)) return mismatch("direction");
    if (quote.orderType !== request.orderType) return mismatch("orderType");
    return { kind: "bound", quote };
  }

  get size(): number {
    return this.#quotes.size;
  }
}

function mismatch(path: string): QuoteUse {
  return { kind: "mismatch", path, problem: "is not what the quote was made for" };
}
