/**
 * Countdowns that stand: the venue counts down symbol by symbol, so a symbol that an account deals in for the first time
 * after it was armed gets its own countdown, at the time of the others, with the session that armed them.
 *
 * The venue counts down for the account, so all its keys share one: by the account's name once the venue has said it of a
 * key, by the key alone before.
 *
 * Invariants: nothing is said with a session that is closed; whoever armed it ends it by closing. One that was refused
 * leaves the one before. One that is being ended follows no order more. What was covered is known until the venue has
 * stopped all of it, or its time is over: an arm and an end speak of those symbols too.
 *
 * Bounds: MAX_ACCOUNTS countdowns, the oldest is forgotten (its next arm covers what is new); one call of a symbol at a time.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { AccountNames, AccountSession } from "../../engine/ports.js";
import type { VenuetwoSession } from "./session.js";

const MAX_ACCOUNTS = 1_024;
/** As many as are remembered of one key (order-memory.ts): each costs a call. */
const MAX_SYMBOLS = 64;
/** The venue counts from when a call came to it; no call that counts is given longer. */
const VENUE_LATER_MS = 5_000;

export interface Countdown {
  readonly session: VenuetwoSession;
  /** Monotonic ms. */
  readonly atMs: number;
  /** Covered, or being covered. */
  readonly symbols: Set<string>;
  /** Covered by those before it, which the venue may still count down. */
  readonly earlier: ReadonlySet<string>;
  /** What follows an order and is not answered yet, by symbol; that of those before it too. */
  readonly following: Map<string, Promise<void>>;
  /** What was said of these, by an arm or after an order, may have come to the venue; nobody knows. */
  readonly unsure: Set<string>;
  /** Its end was asked for; the venue may still count down. */
  isEnding: boolean;
}

export class Countdowns {
  readonly #clock: Clock;
  readonly #names: Pick<AccountNames, "known">;
  /** By account; the one armed last is the last. */
  readonly #byAccount = new Map<string, Countdown>();

  constructor(clock: Clock, names: Pick<AccountNames, "known">) {
    this.#clock = clock;
    this.#names = names;
  }

  /** One stands that may be of the session's account: the key's own is not known, nor the account's name. */
  mayHave(session: AccountSession): boolean {
    if (this.#byAccount.size === 0 || this.#names.known(session) !== null) return false;
    return !this.#byAccount.has(session.accountId);
  }

  /** In place of the account's countdown before. */
  begin(session: VenuetwoSession, countdownMs: number): Countdown {
    const atMs = this.#nowMs() + countdownMs;
    const countdown: Countdown = {
      session,
      atMs,
      symbols: new Set(),
      earlier: new Set(this.coveredOf(session)),
      following: this.of(session)?.following ?? new Map(),
      unsure: new Set(),
      isEnding: false,
    };
    this.#set(session, countdown);
    return countdown;
  }

  /** It was refused: `before` is still what the venue counts. */
  undo(session: AccountSession, countdown: Countdown, before: Countdown | null): void {
    if (this.of(session) !== countdown) return;
    if (before === null) this.#delete(session);
    else this.#set(session, before);
  }

  /** That of the session's account, covering what it may. */
  of(session: AccountSession): Countdown | null {
    const name = this.#namesOf(session).find((one) => this.#byAccount.has(one));
    return (name === undefined ? null : this.#byAccount.get(name)) ?? null;
  }

  /** However our wall clock is set meanwhile. */
  leftMs({ atMs }: Countdown): number {
    return Math.floor(atMs - this.#nowMs());
  }

  /** The venue has fired by now, whatever it was told last. */
  #isOver(countdown: Countdown): boolean {
    return this.leftMs(countdown) <= -VENUE_LATER_MS;
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }

  /** The account's is to end: what it covers is to be stopped, however often that takes. */
  ending(session: AccountSession): Countdown | null {
    for (const name of this.#namesOf(session)) {
      const countdown = this.#byAccount.get(name);
      if (countdown !== undefined) countdown.isEnding = true;
    }
    return this.of(session);
  }

  /** What the venue may count down for the account. */
  coveredOf(session: AccountSession): readonly string[] {
    const covered = new Set<string>();
    for (const name of this.#namesOf(session)) {
      const countdown = this.#byAccount.get(name);
      if (countdown === undefined || this.#isOver(countdown)) continue;
      const { earlier, symbols, unsure } = countdown;
      for (const symbol of [...earlier, ...unsure, ...symbols]) covered.add(symbol);
    }
    // The newest stay.
    return [...covered].slice(-MAX_SYMBOLS);
  }

  /** The venue has stopped all of it. */
  ended(session: AccountSession, countdown: Countdown): void {
    if (this.of(session) === countdown) this.#delete(session);
  }

  /** The account's countdown that does not cover the symbol yet. Null: there is none, or it does. */
  missing(session: AccountSession, symbol: string): Countdown | null {
    const name = this.#namesOf(session).find((one) => this.#byAccount.has(one));
    return name === undefined ? null : this.missingOf(name, symbol);
  }

  /** The same of the account of this name. */
  missingOf(name: string, symbol: string): Countdown | null {
    const countdown = this.#byAccount.get(name);
    if (countdown === undefined) return null;
    if (this.#isOver(countdown)) {
      this.#byAccount.delete(name);
      return null;
    }
    // Nothing is said with a closed session; what it covers is known all the same, for the next arm and the end.
    const followsNone = countdown.isEnding || !countdown.session.isOpen || this.leftMs(countdown) <= 0;
    return followsNone || countdown.symbols.has(symbol) ? null : countdown;
  }

  #set(session: AccountSession, countdown: Countdown): void {
    this.#delete(session);
    this.#byAccount.set(this.#names.known(session) ?? session.accountId, countdown);
    const oldest = this.#byAccount.size > MAX_ACCOUNTS ? this.#byAccount.keys().next() : null;
    if (oldest !== null && oldest.done !== true) this.#byAccount.delete(oldest.value);
  }

  #delete(session: AccountSession): void {
    for (const name of this.#namesOf(session)) this.#byAccount.delete(name);
  }

  #namesOf(session: AccountSession): readonly string[] {
    const known = this.#names.known(session);
    return known === null ? [session.accountId] : [known, session.accountId];
  }
}
