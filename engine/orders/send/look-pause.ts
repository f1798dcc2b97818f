/**
 * Pauses between looks at an order: at one that rests, and while its venue answers none. A look without an answer shows
 * nothing, so it must not put off the next one as a look does that showed no news: what filled meanwhile may be without
 * its stop.
 */
import type { ReadFailure } from "../../ports.js";

const MIN_PAUSE_MS = 1_000;
/** Of the time without an answer: what may have happened is seen that much later than the venue can be asked again. */
const SHARE = 0.1;

/** `silentMs`: since the first look that was not answered. Grows with it, so that a venue that is away for long is asked seldom. */
export function unansweredPauseMs(silentMs: number): number {
  return Math.max(MIN_PAUSE_MS, silentMs * SHARE);
}

/** Between two looks at an order that rests, while nothing happens. */
const RESTING_PAUSE_MAX_MS = 60_000;
const TOLD_PAUSE_MAX_MS = 300_000;

/** `pauseMs`: as it has grown. `isTold`: its account's stream tells what happens, and did so since the last look. */
export function restingPauseMs(pauseMs: number, isTold: boolean): number {
  return Math.min(pauseMs, isTold ? TOLD_PAUSE_MAX_MS : RESTING_PAUSE_MAX_MS);
}

/** Did nothing go out? By our breaker, or by a limit that keeps us out. */
export function isUnsent(failure: ReadFailure): boolean {
  return failure === "BREAKER_OPEN" || failure === "RATE_LIMITED";
}

/** Does the venue refuse the credentials? More reads with the same ones end as this one. */
export function isRefusal(failure: ReadFailure): boolean {
  return failure === "AUTH" || failure === "NEEDS_CREDENTIALS";
}
