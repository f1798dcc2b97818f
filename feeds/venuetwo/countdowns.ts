/**
 * Countdowns that stand: the venue counts down symbol by symbol, so a symbol that an account deals in for the first time
 * after it was armed gets its own countdown, at the time of the others, with the session that armed them.
 *
 * Invariant: nothing is said with a session that is closed; whoever armed it ends it by closing.
 *
 * Bounds: MAX_ACCOUNTS countdowns, the oldest is forgotten (its next arm covers what is new); one call of a symbol at a time.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { AccountSession } from "../../engine/ports.js";
import type { VenuetwoSession } from "./session.js";

const MAX_ACCOUNTS = 1_024;

export interface Countdown {
  readonly session: VenuetwoSession;
  /** Wall ms, ours. */
  readonly atMs: number;
  /** Covered, or being covered. */
  readonly symbols: Set<string>;
}

export class Countdowns {
  readonly #clock: Clock;
  /** By account; the one armed last is the last. */
  readonly #byAccount = new Map<string, Countdown>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** In place of the account's countdown before. */
  begin(session: VenuetwoSession, atMs: number): Countdown {
    const countdown: Countdown = { session, atMs, symbols: new Set() };
    this.#byAccount.delete(session.accountId);
    this.#byAccount.set(session.accountId, countdown);
    const oldest = this.#byAccount.size > MAX_ACCOUNTS ? this.#byAccount.keys().next() : null;
    if (oldest !== null && oldest.done !== true) this.#byAccount.delete(oldest.value);
    return countdown;
  }

  end(session: AccountSession): void {
    this.#byAccount.delete(session.accountId);
  }

  /** The account's countdown that does not cover the symbol yet. Null: there is none, or it does. */
  missing(session: AccountSession, symbol: string): Countdown | null {
    const countdown = this.#byAccount.get(session.accountId);
    if (countdown === undefined) return null;
    if (!countdown.session.isOpen || countdown.atMs <= this.#clock.wallMs()) {
      this.#byAccount.delete(session.accountId);
      return null;
    }
    return countdown.symbols.has(symbol) ? null : countdown;
  }
}
