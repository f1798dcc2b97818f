/**
 * Which symbol an order is of, and which symbols an account deals in, from what passed through this process. The venue
 * names an order only together with its symbol, and counts down cancels per symbol.
 *
 * A hint, never an answer: what is not remembered is looked for at the venue. Kept by whole credentials
 * (credential-tag.ts), so nobody learns of another's symbols.
 */
import { LRUCache } from "lru-cache";
import type { AccountSession } from "../../../engine/ports.js";
import { credentialTagOf } from "./credential-tag.js";

/** Orders and accounts remembered; the least recently used goes. */
const MAX_ORDERS = 32_768;
const MAX_ACCOUNTS = 4_096;
/** Symbols remembered per account; the oldest goes. */
const MAX_SYMBOLS = 64;

export class OrderMemory {
  readonly #symbolOfOrder = new LRUCache<string, string>({ max: MAX_ORDERS });
  readonly #symbols = new LRUCache<string, Set<string>>({ max: MAX_ACCOUNTS });
  /** A tag takes a hash; a session's never changes. */
  readonly #tags = new WeakMap<AccountSession, string>();

  /** `id`: of the venue, or the client id. */
  note(session: AccountSession, nativeSymbol: string, id: string): void {
    const tag = this.#tagOf(session);
    if (tag === null) return;
    this.#symbolOfOrder.set(`${tag} ${id}`, nativeSymbol);
    const symbols = this.#symbols.get(tag) ?? new Set();
    symbols.delete(nativeSymbol);
    symbols.add(nativeSymbol);
    const oldest = symbols.size > MAX_SYMBOLS ? symbols.values().next() : null;
    if (oldest !== null && oldest.done !== true) symbols.delete(oldest.value);
    this.#symbols.set(tag, symbols);
  }

  symbolOf(session: AccountSession, id: string): string | null {
    const tag = this.#tagOf(session);
    return tag === null ? null : (this.#symbolOfOrder.get(`${tag} ${id}`) ?? null);
  }

  /** The most recent last. */
  symbolsOf(session: AccountSession): readonly string[] {
    const tag = this.#tagOf(session);
    return tag === null ? [] : [...(this.#symbols.get(tag) ?? [])];
  }

  /** Null for a session that was closed before it was first seen here. */
  #tagOf(session: AccountSession): string | null {
    const known = this.#tags.get(session);
    if (known !== undefined) return known;
    const tag = credentialTagOf(session);
    if (tag !== null) this.#tags.set(session, tag);
    return tag;
  }
}
