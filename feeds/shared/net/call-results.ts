/**
 * What an HttpResult means before any venue's own words are read: for a read a failure code, for an order whether
 * it was refused, or may have been executed. The same for all rooms.
 */
import type { PlaceOutcome, Refused } from "../../../engine/domain/order.js";
import type { Read, ReadFailure } from "../../../engine/ports.js";
import type { HttpResult } from "./http.js";
import { parseRetryAfterMs } from "./retry-after.js";

export type HttpResponse = Extract<HttpResult, { kind: "response" }>;
export type FailedRead = Extract<Read<never>, { ok: false }>;
export type RejectedOrder = Extract<PlaceOutcome, { outcome: "rejected" }>;

const NOT_SENT_READ: Record<Extract<HttpResult, { kind: "notSent" }>["reason"], ReadFailure> = {
  BREAKER_OPEN: "BREAKER_OPEN",
  VENUE_LIMIT: "RATE_LIMITED",
  RATE_BUDGET: "RATE_LIMITED",
  QUEUE_FULL: "RATE_LIMITED",
  CLOSED: "VENUE_ERROR",
  CONNECT_FAILED: "VENUE_ERROR",
};

export function failedRead(code: ReadFailure, message: string, retryAfterMs: number | null = null): FailedRead {
  return { ok: false, code, message, retryAfterMs };
}

/** Names the account as the limited one where the answer does. */
export function ofLimit(result: Exclude<HttpResult, { kind: "noResponse" }>, failure: FailedRead): FailedRead {
  return result.isAccountLimit === true && failure.code === "RATE_LIMITED"
    ? { ...failure, isAccountLimit: true }
    : failure;
}

/** A text that a venue cannot have given as an order's id names no order there; nothing is asked. */
export function noSuchOrder(asOfMs: number): Extract<Read<null>, { ok: true }> {
  return { ok: true, value: null, asOfMs, source: "venue" };
}

/** Null for a response: the room reads it. */
export function readFailureOf(result: HttpResult): FailedRead | null {
  if (result.kind === "response") return null;
  if (result.kind === "notSent")
    return ofLimit(result, failedRead(NOT_SENT_READ[result.reason], result.reason, result.retryAfterMs));
  if (result.reason === "TIMEOUT") return failedRead("TIMEOUT", "no answer in time");
  if (result.reason === "BODY_TOO_LARGE") return failedRead("BAD_RESPONSE", "answer too large");
  return failedRead("VENUE_ERROR", "connection lost");
}

const LIMITS: ReadonlySet<string> = new Set(["VENUE_LIMIT", "RATE_BUDGET", "QUEUE_FULL"]);

/** Our own limiter, breaker or transport refused: nothing left this machine. */
export function notSentOrder(result: Extract<HttpResult, { kind: "notSent" }>): RejectedOrder {
  const isLimit = LIMITS.has(result.reason);
  return {
    outcome: "rejected",
    reason: isLimit ? "RATE_LIMITED" : "VENUE_STATE",
    venueCode: result.reason,
    venueText: "",
    sent: false,
    retryAfterMs: result.retryAfterMs,
  };
}

/**
 * Statuses by which a server or its proxy refuses a request before any of it is executed. All others that are not
 * 2xx do not decide the outcome of an order: 408 and 5xx by their meaning, the rest because nothing is known of them.
 */
const REFUSED_UNEXECUTED: ReadonlySet<number> = new Set([
  400, 401, 403, 404, 405, 411, 413, 414, 415, 418, 422, 429, 431,
]);

export function isRefusedUnexecuted(status: number): boolean {
  return REFUSED_UNEXECUTED.has(status);
}

export function isRateLimitStatus(status: number): boolean {
  return status === 429 || status === 418;
}

/** Null where the answer names no time. */
export function retryAfterMs(response: HttpResponse): number | null {
  return parseRetryAfterMs(response.headers["retry-after"], response.receivedAtMs);
}

const MAX_VENUE_TEXT = 300;
/** What is looked at of a long text: its end may be half of something that must not show, so the last word goes. */
const MAX_SCANNED_TEXT = 4_096;

/**
 * A venue's own words, fit for replies and logs: one line, cut, and without long words. A venue could echo a key or a
 * signature, and both are 64 characters or more; addresses and client ids are shorter and stay.
 */
export function venueText(text: string): string {
  const scanned =
    text.length > MAX_SCANNED_TEXT ? text.slice(0, MAX_SCANNED_TEXT).replace(/[0-9A-Za-z+/=_-]+$/, "") : text;
  return scanned
    .replace(/[^\x20-\x7e]+/g, " ")
    .replace(/[0-9A-Za-z+/=_-]{48,}/g, "[hidden]")
    .slice(0, MAX_VENUE_TEXT)
    .trim();
}

/** Our own check refused: nothing was sent. */
export function localReject(reason: RejectedOrder["reason"], venueCode: string, text: string): RejectedOrder {
  return { outcome: "rejected", reason, venueCode, venueText: text, sent: false, retryAfterMs: null };
}

/** Of a venue's classes of errors: P is for what is wrong in the order. */
export function lastingBy(errorClass: string): Pick<RejectedOrder, "isLasting"> {
  return errorClass === "P" ? { isLasting: true } : {};
}

/** The refusal of a cancel, a change or a setting. */
export function refusedOf(outcome: RejectedOrder): Refused {
  const { reason, venueCode, venueText: text, sent, retryAfterMs: afterMs } = outcome;
  const refused = { outcome: "rejected", reason, venueCode, venueText: text, sent } as const;
  return afterMs === null ? refused : { ...refused, retryAfterMs: afterMs };
}

/** An instruction that needed a read first, which failed: nothing was sent that changes anything. */
export function refusedByRead(failure: FailedRead): Refused {
  const isAuth = failure.code === "AUTH" || failure.code === "NEEDS_CREDENTIALS";
  const reason = isAuth ? "AUTH" : failure.code === "RATE_LIMITED" ? "RATE_LIMITED" : "VENUE_STATE";
  return refusedOf(localReject(reason, `READ_${failure.code}`, failure.message));
}
