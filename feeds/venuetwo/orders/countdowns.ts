/**
 * Running countdowns: the venue counts down symbol by symbol, so a symbol that an account deals in for the first time
 * after it was armed gets its own countdown, at the time of the others, with the session that armed them.
 *
 * The venue counts down for the account, so all its keys share one: by the account's name once the venue has named it
 * for a key, by the key alone before.
 *
 * Invariants: nothing is sent with a closed session, and closing it ends what follows by it. A refused arm keeps the
 * countdown before it. A countdown that is being ended follows no further order. What was covered is known until the
 * venue has stopped all of it, or its time is over: an arm and an end cover those symbols too. Keys that turn out to be
 * of one account have one countdown from then on, the one armed last, which knows what the others covered.
 *
 * Bounds: MAX_ACCOUNTS countdowns, the oldest is forgotten (its next arm covers what is new); one call of a symbol at a time.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountNames, AccountSession } from "../../../engine/ports.js";
import type { VenuetwoSession } from "../account/session.js";

const MAX_ACCOUNTS = 1_024;
/** As many as are remembered of one key (order-memory.ts): each costs a call. */
const MAX_SYMBOLS = 64;
/** The venue counts from when a call came to it; no call that counts is given longer. */
const VENUE_LATER_MS = 5_000;

/** What follows an order and is not answered yet. */
export interface Following {
  readonly symbol: string;
  /** Never rejects. */
  readonly done: Promise<void>;
}

export interface Countdown {
  readonly session: VenuetwoSession;
  /** Monotonic ms. */
  readonly atMs: number;
  /** Covered, or being covered. */
  readonly symbols: Set<string>;
  /** Covered by those before it, which the venue may still count down. */
  readonly earlier: Set<string>;
  /** Monotonic ms: when the last of all these is over. */
  coveredUntilMs: number;
  /** That of those before it too. */
  readonly following: Set<Following>;
  /** Calls for these, by an arm or after an order, may or may not have reached the venue. */
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

  /**
   * Returns true when a countdown may be of the session's account: the key has none, and its account's name is not
   * known.
   */
  mayHave(session: AccountSession): boolean {
    if (this.#byAccount.size === 0 || this.#names.known(session) !== null) return false;
    return !this.#byAccount.has(session.accountId);
  }

  /** Replaces the account's countdown. */
  begin(session: VenuetwoSession, countdownMs: number): Countdown {
    const atMs = this.#nowMs() + countdownMs;
    const before = this.united(session);
    const countdown: Countdown = {
      session,
      atMs,
      symbols: new Set(),
      earlier: new Set(this.coveredOf(session)),
      coveredUntilMs: Math.max(atMs, before?.coveredUntilMs ?? 0),
      following: before?.following ?? new Set(),
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

  /** Returns the countdown of the session's account. */
  of(session: AccountSession): Countdown | null {
    const name = this.#namesOf(session).find((one) => this.#byAccount.has(one));
    return (name === undefined ? null : this.#byAccount.get(name)) ?? null;
  }

  /** Time left, independent of our wall clock. */
  leftMs({ atMs }: Countdown): number {
    return Math.floor(atMs - this.#nowMs());
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }

  /** Marks the account's countdown as ending: what it covers is stopped, in several tries where needed. */
  ending(session: AccountSession): Countdown | null {
    const countdown = this.united(session);
    if (countdown !== null) countdown.isEnding = true;
    return countdown;
  }

  /** What the venue may count down for the account. */
  coveredOf(session: AccountSession): readonly string[] {
    const countdown = this.united(session);
    // The newest stay.
    return countdown === null ? [] : [...coveredAt(countdown, this.#nowMs())].slice(-MAX_SYMBOLS);
  }

  /** The venue has stopped all of it. */
  ended(session: AccountSession, countdown: Countdown): void {
    if (this.of(session) === countdown) this.#delete(session);
  }

  /** Returns the account's countdown that does not cover the symbol yet, or null. */
  missing(session: AccountSession, symbol: string): Countdown | null {
    const name = this.#namesOf(session).find((one) => this.#byAccount.has(one));
    return name === undefined ? null : this.missingOf(name, symbol);
  }

  /** The same of the account of this name. */
  missingOf(name: string, symbol: string): Countdown | null {
    const countdown = this.#byAccount.get(name);
    if (countdown === undefined) return null;
    if (isOverAt(countdown, this.#nowMs())) {
      this.#byAccount.delete(name);
      return null;
    }
    // Nothing is sent with a closed session; what it covers stays known for the next arm and the end.
    const followsNone = countdown.isEnding || !countdown.session.isOpen || this.leftMs(countdown) <= 0;
    return followsNone || countdown.symbols.has(symbol) ? null : countdown;
  }

  /**
   * Returns the account's countdown, and unites those of keys that were armed before they were known to be of one
   * account.
   */
  united(session: AccountSession): Countdown | null {
    const account = this.#names.known(session);
    if (account === null) return this.of(session);
    const isOwn = (name: string, countdown: Countdown): boolean =>
      name === account || name === session.accountId || this.#names.known(countdown.session) === account;
    const own = [...this.#byAccount].filter(([name, countdown]) => isOwn(name, countdown));
    const last = own.at(-1)?.[1] ?? null;
    if (last === null || own.length === 1) return last;
    for (const [name, countdown] of own) {
      this.#byAccount.delete(name);
      if (countdown === last) continue;
      for (const symbol of coveredAt(countdown, this.#nowMs())) last.earlier.add(symbol);
      for (const follow of countdown.following) last.following.add(follow);
      last.coveredUntilMs = Math.max(last.coveredUntilMs, countdown.coveredUntilMs);
    }
    this.#set(session, last);
    return last;
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

/** What the venue may count down at this monotonic time. */
function coveredAt(countdown: Countdown, nowMs: number): ReadonlySet<string> {
  const { earlier, symbols, unsure } = countdown;
  return isOverAt(countdown, nowMs) ? new Set() : new Set([...earlier, ...unsure, ...symbols]);
}

/** The venue has fired by then, whatever it was sent last. */
function isOverAt({ coveredUntilMs }: Countdown, nowMs: number): boolean {
  return coveredUntilMs + VENUE_LATER_MS <= nowMs;
}
