/**
 * Which accounts are watched: those that somebody asked for, and beside them, as long as there is room, those that trade
 * again and again ("hot"). Pure.
 *
 * Invariant: an account that somebody listens to never makes room for another.
 */
import { RecentUses } from "./recent-uses.js";

export interface AccountSlotLimits {
  readonly maxAccounts: number;
  /** Of them, those that nobody asked for. */
  readonly maxHot: number;
  /** A second use within this makes an account hot. */
  readonly hotWindowMs: number;
  /** A hot account that nobody used for so long is given back. */
  readonly hotIdleMs: number;
  /** A hot account may take the place of another that was used longer ago. */
  readonly hotReplaces: boolean;
  /** Asking for an account is a use of it: it stays for `hotIdleMs` when the last who asked has left. */
  readonly asksAreUses: boolean;
}

interface SlotAccount {
  readonly key: string;
  readonly listeners: { readonly size: number };
}

interface Slot<A> {
  readonly account: A;
  /** Ms of the caller's clock; null: watched only because it was asked for. */
  lastUseMs: number | null;
}

export class AccountSlots<A extends SlotAccount> {
  readonly #limits: AccountSlotLimits;
  readonly #slots = new Map<string, Slot<A>>();
  readonly #uses: RecentUses;
  #maxAccounts: number;

  constructor(limits: AccountSlotLimits) {
    this.#limits = limits;
    this.#maxAccounts = limits.maxAccounts;
    this.#uses = new RecentUses(limits.hotWindowMs);
  }

  get size(): number {
    return this.#slots.size;
  }

  get maxAccounts(): number {
    return this.#maxAccounts;
  }

  get isFull(): boolean {
    return this.#slots.size >= this.#maxAccounts;
  }

  /** The venue holds no more than so many. */
  limitTo(count: number): void {
    this.#maxAccounts = Math.max(1, count);
  }

  get(key: string): A | null {
    return this.#slots.get(key)?.account ?? null;
  }

  all(): readonly A[] {
    return [...this.#slots.values()].map(({ account }) => account);
  }

  add(account: A): void {
    this.#slots.set(account.key, { account, lastUseMs: null });
  }

  /** Returns false when it was removed before; another may have the key since. */
  remove(account: A): boolean {
    return this.get(account.key) === account && this.#slots.delete(account.key);
  }

  /** A caller asks to listen to it. */
  asked(account: A, nowMs: number): void {
    if (this.#limits.asksAreUses) this.used(account, nowMs);
  }

  /** A trade reads or uses it. */
  used({ key }: A, nowMs: number): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) slot.lastUseMs = nowMs;
    // It has its stream: what counts from here on is later uses.
    this.#uses.forget(key);
  }

  /** A trade uses an account that is not watched. Returns true when it is to be watched from now on. */
  becomesHot(key: string, nowMs: number): boolean {
    const { hotReplaces, maxHot } = this.#limits;
    return this.#uses.isAgain(key, nowMs) && (hotReplaces || (this.#hotCount() < maxHot && !this.isFull));
  }

  /** Its last listener has left. Returns true when it is watched on for its trades. */
  staysHot({ key }: A): boolean {
    const lastUseMs = this.#slots.get(key)?.lastUseMs ?? null;
    return lastUseMs !== null && this.#hotCount() <= this.#limits.maxHot;
  }

  isIdle({ key }: A, nowMs: number): boolean {
    const lastUseMs = this.#slots.get(key)?.lastUseMs ?? null;
    return lastUseMs === null || nowMs - lastUseMs > this.#limits.hotIdleMs;
  }

  /** The hot account that nobody listens to and nobody used for the longest time. */
  spare(): A | null {
    let spare: Slot<A> | null = null;
    for (const slot of this.#slots.values()) {
      if (slot.account.listeners.size > 0 || slot.lastUseMs === null) continue;
      if (spare === null || slot.lastUseMs < (spare.lastUseMs ?? 0)) spare = slot;
    }
    return spare?.account ?? null;
  }

  #hotCount(): number {
    let count = 0;
    for (const { account } of this.#slots.values()) if (account.listeners.size === 0) count++;
    return count;
  }
}
