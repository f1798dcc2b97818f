/**
 * What follows an answer: it is final, or the same call is sent again after a wait. A pure function of what is known.
 *
 * Invariants: only reads, and writes with an Idempotency-Key, are sent again, with the same key and body. The one
 * exception is a request that was refused for a timestamp that was never valid: of it nothing was done. What may have
 * been done is `unknown`, whatever a later attempt is refused for.
 */
import type { Answer, Refusal } from "./reply.js";
import { type ServerTime, timeOrNull, wasNeverValid } from "./server-clock.js";

export const DEFAULT_ATTEMPTS = 3;
export const MAX_ATTEMPTS = 10;
/** Full jitter: uniform between 0 and a ceiling that doubles. */
export const FIRST_CEILING_MS = 250;
export const LAST_CEILING_MS = 4_000;

/** One call on its way. */
export interface Course {
  readonly isWrite: boolean;
  /** A read, or a write with a key. */
  readonly isRepeatable: boolean;
  readonly attemptsMax: number;
  readonly attempts: number;
  /** The one extra attempt after a correction of the clock is used up. */
  readonly wasCorrected: boolean;
  /** An attempt of this write may have been done. */
  readonly mayBeDone: boolean;
}

export interface Asked {
  /** Null for an unsigned request. */
  readonly signedMs: number | null;
  /** Monotonic ms. */
  readonly sentMs: number;
  readonly receivedMs: number;
  /** Between the two, by the clock that counted more of it. */
  readonly tookMs: number;
}

export interface Step {
  readonly course: Course;
  /** Null: the answer is final. */
  readonly waitMs: number | null;
  /** The service's time, where its refusal says that ours is wrong. */
  readonly serverTime: ServerTime | null;
}

export function startCourse(isWrite: boolean, isKeyed: boolean, attemptsMax: number): Course {
  const isRepeatable = !isWrite || isKeyed;
  return { isWrite, isRepeatable, attemptsMax, attempts: 0, wasCorrected: false, mayBeDone: false };
}

/** The service is busy, or the same call is under way: asking again later is what these refusals want. */
const PASSING: ReadonlySet<string> = new Set([
  "RATE_LIMITED",
  "OVERLOADED",
  "SHUTTING_DOWN",
  "STORE_UNAVAILABLE",
  "IDEMPOTENCY_IN_PROGRESS",
]);
/** Refusals of writes that do not show that nothing was done. A browser may send a request twice by itself: AUTH_REPLAY. */
const OPEN: ReadonlySet<string> = new Set([
  "INTERNAL",
  "IDEMPOTENCY_IN_PROGRESS",
  "AUTH_REPLAY",
  // Not refused at all: the signer's people have it.
  "APPROVAL_PENDING",
]);

/** `dice` in [0, 1). */
export function nextStep(before: Course, answer: Answer, asked: Asked, dice: number): Step {
  const course = { ...before, attempts: before.attempts + 1 };
  const final = (mayBeDone: boolean): Step => ({ course: { ...course, mayBeDone }, waitMs: null, serverTime: null });
  if (answer.kind === "accepted") return final(course.mayBeDone);
  if (answer.kind === "none") {
    const mayBeDone = course.mayBeDone || (course.isWrite && answer.wasSent);
    const isFinal = answer.code !== "UNREACHABLE" && answer.code !== "UNREADABLE_REPLY" && answer.code !== "TIMEOUT";
    return isFinal || !mayRepeat(course) ? final(mayBeDone) : again({ ...course, mayBeDone }, null, dice);
  }
  if (answer.code === "AUTH_TIMESTAMP_OUT_OF_WINDOW") return afterWindow(course, answer, asked, dice);
  const mayBeDone = course.mayBeDone || (course.isWrite && OPEN.has(answer.code));
  const isPassing =
    PASSING.has(answer.code) || answer.code === "AUTH_REPLAY" || (isBusy(answer) && answer.retryAfterMs !== null);
  if (!isPassing || !mayRepeat(course)) return final(mayBeDone);
  return again({ ...course, mayBeDone }, answer.retryAfterMs, dice);
}

/** The clock is corrected and the call signed with the right time; a write without a key only where nothing was done. */
function afterWindow(course: Course, { details }: Refusal, asked: Asked, dice: number): Step {
  const { signedMs, sentMs, receivedMs, tookMs } = asked;
  const serverMs = timeOrNull(details["serverTime"]);
  const serverTime = serverMs === null || signedMs === null ? null : { serverMs, sentMs, receivedMs };
  const isUndone = serverMs !== null && signedMs !== null && wasNeverValid(signedMs, serverMs, tookMs);
  const next = { ...course, mayBeDone: course.mayBeDone || (course.isWrite && !isUndone) };
  // Not one of its attempts: of this one the service has read no more than its time.
  if (isUndone && !course.wasCorrected)
    return { course: { ...next, attempts: course.attempts - 1, wasCorrected: true }, waitMs: 0, serverTime };
  return mayRepeat(course) ? { ...again(next, null, dice), serverTime } : { course: next, waitMs: null, serverTime };
}

function mayRepeat({ isRepeatable, attempts, attemptsMax }: Course): boolean {
  return isRepeatable && attempts < attemptsMax;
}

function isBusy({ status }: Refusal): boolean {
  return status === 429 || status === 503;
}

function again(course: Course, retryAfterMs: number | null, dice: number): Step {
  const ceilingMs = Math.min(LAST_CEILING_MS, FIRST_CEILING_MS * 2 ** (course.attempts - 1));
  return { course, waitMs: (retryAfterMs ?? 0) + dice * ceilingMs, serverTime: null };
}

/** Whether the last answer shows that nothing was done. Only a stored reply speaks for an earlier attempt. */
export function outcomeOf({ isWrite, mayBeDone }: Course, answer: Exclude<Answer, { kind: "accepted" }>) {
  if (answer.kind === "none") {
    if (isWrite) return mayBeDone ? "unknown" : "refused";
    return answer.wasSent ? "unknown" : "refused";
  }
  return mayBeDone && !(answer.isReplayed && !OPEN.has(answer.code)) ? "unknown" : "refused";
}
