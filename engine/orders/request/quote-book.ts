/**
 * Quotes that bind: a live call that names one is held to the quote's worst price and its venues, not to a fill price.
 *
 * A quote is used once, by a call that sends an order. The call claims it before its first order and releases it where
 * none left; meanwhile it counts as used. A retry with the same Idempotency-Key is the same use. It is for its owner, or
 * for anybody where it was made with neither key nor credentials; one made with credentials is for its accounts, or some of
 * them. To others it is unknown.
 *
 * Bounds: the latest MAX_QUOTES, at the place that their number has in a ring; each lives for the time that it was
 * given, by the monotonic clock. One that gave way counts as expired. In memory: after a restart an id is unknown, which
 * a caller learns before anything is sent.
 */
import type { BoundQuote, TradeIntent, TradeRequest } from "../types.js";
import type { Clock } from "../../domain/clock.js";
import type { Owners } from "../../domain/owner.js";
import type { Side } from "../../domain/order.js";
import type { QuoteIds } from "./quote-ids.js";

/** Where a dry run asks for no other time; what it may ask for is the contract's (schemas/routing.ts). */
export const QUOTE_TTL_MS = 2_000;
export const MAX_QUOTES = 10_000;

export type QuoteUse =
  | { readonly kind: "bound"; readonly quote: BoundQuote }
  | { readonly kind: "over"; readonly reason: "EXPIRED" | "USED" }
  /** Never given, or to others. */
  | { readonly kind: "unknown" }
  /** The call is not what was quoted. */
  | { readonly kind: "mismatch"; readonly path: string; readonly problem: string };

/** Who uses a quote. */
export interface QuoteUser {
  readonly ownerId: string | null;
  /** Keyed hashes of its accounts. */
  readonly accounts: readonly string[];
}

interface Slot {
  number: number;
  quote: BoundQuote;
  expiresNs: number;
  /** Who claimed it; null: nobody. */
  usedBy: string | null;
}

export class QuoteBook {
  readonly #clock: Clock;
  readonly #ids: QuoteIds;
  readonly #owners: Owners;
  readonly #maxQuotes: number;
  /** Grows to the maximum; a quote's place is its number modulo that. */
  readonly #slots: Slot[] = [];
  #given = 0;

  constructor(clock: Clock, ids: QuoteIds, owners: Owners, maxQuotes = MAX_QUOTES) {
    this.#clock = clock;
    this.#ids = ids;
    this.#owners = owners;
    this.#maxQuotes = maxQuotes;
  }

  /** Keeps the quote and names it. */
  give(quote: BoundQuote, ttlMs: number): { readonly quoteId: string; readonly expiresAt: number } {
    const number = this.#given++;
    const expiresNs = this.#clock.monoNs() + ttlMs * 1e6;
    const slot = this.#slots[number % this.#maxQuotes];
    if (slot === undefined) this.#slots.push({ number, quote, expiresNs, usedBy: null });
    else {
      slot.number = number;
      slot.quote = quote;
      slot.expiresNs = expiresNs;
      slot.usedBy = null;
    }
    return { quoteId: this.#ids.idOf(number, quote.ownerId ?? null), expiresAt: this.#clock.wallMs() + ttlMs };
  }

  /** Returns what a call is bound to. Claims nothing. `user`: whose claim is no hindrance; null means nobody's. */
  use(
    quoteId: string,
    request: TradeRequest,
    side: Side,
    { accounts, ownerId }: QuoteUser,
    user: string | null = null,
  ): QuoteUse {
    const number = this.#numberOf(quoteId, ownerId);
    if (number === null || number >= this.#given) return { kind: "unknown" };
    const slot = this.#slotOf(number);
    if (slot === null) return { kind: "over", reason: "EXPIRED" };
    const { quote, usedBy } = slot;
    const { accounts: quoted } = quote;
    if (!this.#isFor(ownerId, quote)) return { kind: "unknown" };
    if (quoted !== null && !accounts.some((account) => quoted.includes(account))) return { kind: "unknown" };
    if (usedBy !== null && usedBy !== user) return { kind: "over", reason: "USED" };
    if (usedBy === null && this.#clock.monoNs() >= slot.expiresNs) return { kind: "over", reason: "EXPIRED" };
    if (quoted !== null && !accounts.every((account) => quoted.includes(account)))
      return { kind: "mismatch", path: "credentials", problem: "hold an account that the quote was not made with" };
    if (quote.symbol !== request.symbol) return mismatch("symbol");
    const intent: TradeIntent = request.open === null ? "CLOSE" : "OPEN";
    if (quote.side !== side || (quote.intent !== null && quote.intent !== intent)) return mismatch("direction");
    if (quote.orderType !== request.orderType) return mismatch("orderType");
    return { kind: "bound", quote };
  }

  /** For a call that was bound and is about to send. Null: the use is its own. Else another came before it, or the quote gave way meanwhile. */
  claim(quoteId: string, ownerId: string | null, user: string): "EXPIRED" | "USED" | null {
    const number = this.#numberOf(quoteId, ownerId);
    const slot = number === null ? null : this.#slotOf(number);
    if (slot === null) return "EXPIRED";
    if (slot.usedBy !== null && slot.usedBy !== user) return "USED";
    slot.usedBy = user;
    return null;
  }

  /** The claim of a call none of whose orders left. */
  release(quoteId: string, ownerId: string | null, user: string): void {
    const number = this.#numberOf(quoteId, ownerId);
    const slot = number === null ? null : this.#slotOf(number);
    if (slot?.usedBy === user) slot.usedBy = null;
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Null: none that this owner can have heard of. What nobody owns may be anybody's (`#isFor`). */
  #numberOf(quoteId: string, ownerId: string | null): number | null {
    const reached = this.#owners.reachedBy(ownerId);
    return this.#ids.numberOf(quoteId, reached.includes(null) ? reached : [...reached, null]);
  }

  /** One of nobody, made from books alone, tells nothing of anybody. */
  #isFor(ownerId: string | null, quote: BoundQuote): boolean {
    const isPublic = (quote.ownerId ?? null) === null && quote.accounts === null;
    return isPublic || this.#owners.reaches(ownerId, quote.ownerId);
  }

  /** Null when it gave way to a later one. */
  #slotOf(number: number): Slot | null {
    const slot = this.#slots[number % this.#maxQuotes];
    return slot?.number === number ? slot : null;
  }
}

function mismatch(path: string): QuoteUse {
  return { kind: "mismatch", path, problem: "is not what the quote was made for" };
}
