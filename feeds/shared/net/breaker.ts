/**
 * Circuit breaker of one (venue, egress IP): closed → open → half-open → closed.
 *
 * It opens for two reasons. The venue limits us (429, 418): open for the time it named, or a default,
 * plus jitter, never less; sending during a ban lengthens it. The venue or the way to it is broken
 * (transport failures and 5xx in a row): open for a full-jitter backoff. When the time is over exactly
 * one call probes; its success closes, its failure opens again for longer.
 *
 * Of strangers (caller-standing.ts) one may probe too; a known caller does not wait for that, but probes beside it.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Random } from "../../../engine/domain/random.js";
import { atLeastWithJitterMs, type BackoffPolicy, fullJitterMs } from "./backoff.js";
import { monoMs } from "./weight-window.js";

export type BreakerState = "closed" | "open" | "halfOpen";

export interface BreakerSettings {
  /** Failures in a row that open it. */
  readonly failureThreshold: number;
  readonly backoff: BackoffPolicy;
  /** First wait after a 429 that names no time; each further one in a row doubles it, four times at most. */
  readonly limitedDefaultMs: number;
  /** Wait after a 418 that names no time; a ban is minutes long. */
  readonly bannedDefaultMs: number;
}

export interface BreakerOptions extends BreakerSettings {
  readonly clock: Clock;
  readonly random: Random;
}

export const DEFAULT_BREAKER: BreakerSettings = {
  failureThreshold: 8,
  // A venue that is well again is found out within seconds.
  backoff: { baseMs: 500, capMs: 4_000 },
  limitedDefaultMs: 1_500,
  bannedDefaultMs: 120_000,
};

/** Longest wait believed from a venue; a larger one is a broken header. */
const MAX_LIMITED_MS = 3 * 24 * 3_600_000;
/** Share of a limited wait added at random. */
const LIMITED_SPREAD = 0.1;

export type Pass =
  | { readonly ok: true; readonly isProbe: boolean }
  | { readonly ok: false; readonly retryAfterMs: number };

export class Breaker {
  readonly #options: BreakerOptions;
  #failureCount = 0;
  #openCount = 0;
  #openUntilMs = 0;
  #isOpen = false;
  #isLimit = false;
  #isProbing = false;
  #isStrangerProbing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (!this.#isOpen) return "closed";
    return monoMs(this.#options.clock) < this.#openUntilMs ? "open" : "halfOpen";
  }

  /** Wall ms until which it is open; 0 when it is not. */
  get openUntilWallMs(): number {
    if (this.state !== "open") return 0;
    return this.#options.clock.wallMs() + Math.ceil(this.#openUntilMs - monoMs(this.#options.clock));
  }

  /** Is it the venue's limit that keeps it open? Then the venue answers, and has named a time. */
  get isLimited(): boolean {
    return this.#isLimit && this.state === "open";
  }

  /** May a call go out? A passing probe must be answered by one of the `on…` methods. */
  tryPass(isStranger = false): Pass {
    if (!this.#isOpen) return { ok: true, isProbe: false };
    const leftMs = this.#openUntilMs - monoMs(this.#options.clock);
    if (leftMs > 0) return { ok: false, retryAfterMs: Math.ceil(leftMs) };
    if (this.#isProbing || (isStranger && this.#isStrangerProbing))
      return { ok: false, retryAfterMs: this.#options.backoff.baseMs };
    if (isStranger) this.#isStrangerProbing = true;
    else this.#isProbing = true;
    return { ok: true, isProbe: true };
  }

  onSuccess(isProbe: boolean, isStranger = false): void {
    // A late answer of a call sent before a ban proves nothing about the ban; only a probe closes.
    if (this.#isOpen && !(isProbe && (!isStranger || this.#isStrangerProbing))) return;
    this.#isProbing = false;
    this.#isStrangerProbing = false;
    this.#isOpen = false;
    this.#isLimit = false;
    this.#failureCount = 0;
    this.#openCount = 0;
  }

  onFailure(isProbe: boolean): void {
    if (isProbe) this.#isProbing = false;
    this.#failureCount++;
    if (!isProbe && (this.#isOpen || this.#failureCount < this.#options.failureThreshold)) return;
    // What was limited and then fails is out of order.
    this.#isLimit = false;
    this.#open(fullJitterMs(this.#options.backoff, this.#openCount, this.#options.random));
  }

  /** The venue limits this IP. `retryAfterMs` null: it named no time. */
  onLimited(isProbe: boolean, retryAfterMs: number | null, isBan: boolean, isStranger = false): void {
    if (isProbe && !isStranger) this.#isProbing = false;
    const { limitedDefaultMs, bannedDefaultMs, random } = this.#options;
    const fallbackMs = isBan ? bannedDefaultMs : limitedDefaultMs * 2 ** Math.min(this.#openCount, 4);
    const waitMs = Math.min(retryAfterMs ?? fallbackMs, MAX_LIMITED_MS);
    this.#isLimit = true;
    this.#open(atLeastWithJitterMs(waitMs, LIMITED_SPREAD, random));
  }

  /** The call that passed was not sent, or its outcome proves nothing. */
  onNotSent(isProbe: boolean, isStranger = false): void {
    if (!isProbe) return;
    if (isStranger) this.#isStrangerProbing = false;
    else this.#isProbing = false;
  }

  #open(waitMs: number): void {
    this.#isOpen = true;
    this.#openCount++;
    this.#failureCount = 0;
    // What a stranger's probe finds out from here on is older than this.
    this.#isStrangerProbing = false;
    // Never shortened by a later, milder verdict.
    this.#openUntilMs = Math.max(this.#openUntilMs, monoMs(this.#options.clock) + waitMs);
  }
}
