/**
 * What became of a signed request, in the words of every room: `rejected` only for what was refused before execution, by
 * the venue or on our own side; `unknown` for all that may have been executed; else the venue's answer.
 */
import type { Refused, Unclear } from "../../../engine/domain/order.js";
import type { CallOptions } from "../../../engine/ports.js";
import {
  failedRead,
  type FailedRead,
  type HttpResponse,
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  notSentOrder,
  refusedOf,
  type RejectedOrder,
  retryAfterMs,
} from "../net/call-results.js";
import type { Deadline } from "../net/deadline.js";
import type { HttpResult } from "../net/http.js";

export interface RejectedExchange {
  readonly kind: "rejected";
  readonly rejected: RejectedOrder;
}

export interface UnknownExchange {
  readonly kind: "unknown";
  readonly cause: string;
}

export interface AnsweredExchange<Answer> {
  readonly kind: "answered";
  readonly answer: Answer;
}

/** `Bound`: what is known of the request alone, whatever became of it. */
export type ExchangeOutcome<Answer, Bound = unknown> =
  | RejectedExchange
  | (UnknownExchange & Bound)
  | (AnsweredExchange<Answer> & Bound);

/** Of a request that names its own end: after this moment of our wall clock the venue can no longer take it. */
export interface EndingRequest {
  readonly notPlacedAfterMs: number;
}

export function rejectedExchange(rejected: RejectedOrder): RejectedExchange {
  return { kind: "rejected", rejected };
}

export function unknownExchange(cause: string): UnknownExchange {
  return { kind: "unknown", cause };
}

export function endingAt<Answer>(
  outcome: ExchangeOutcome<Answer>,
  notPlacedAfterMs: number,
): ExchangeOutcome<Answer, EndingRequest> {
  return outcome.kind === "rejected" ? outcome : { ...outcome, notPlacedAfterMs };
}

export const FOREIGN_SESSION: RejectedExchange = rejectedExchange(
  localReject("AUTH", "SESSION", "session of another venue"),
);
export const CLOSED_SESSION: RejectedExchange = rejectedExchange(localReject("AUTH", "SESSION", "session is closed"));
export const OUT_OF_TIME: RejectedExchange = rejectedExchange(
  localReject("VENUE_STATE", "DEADLINE", "no time left before sending"),
);

/** No response came. */
export function unansweredExchange(
  result: Exclude<HttpResult, { readonly kind: "response" }>,
): RejectedExchange | UnknownExchange {
  return result.kind === "notSent" ? rejectedExchange(notSentOrder(result)) : unknownExchange(result.reason);
}

/** A response with no content of the venue's own: a server or proxy on the way, or nothing at all. */
export function wordlessExchange(
  response: HttpResponse,
  refusedAs: RejectedOrder["reason"],
  text: string,
): RejectedExchange | UnknownExchange {
  const code = `HTTP_${response.status}`;
  if (!isRefusedUnexecuted(response.status)) return unknownExchange(code);
  return rejectedExchange({
    outcome: "rejected",
    reason: isRateLimitStatus(response.status) ? "RATE_LIMITED" : refusedAs,
    venueCode: code,
    venueText: text,
    sent: true,
    retryAfterMs: retryAfterMs(response),
  });
}

/** What a cancel, a change or a setting reports where an order would report more. */
export function failureOf(outcome: RejectedExchange | UnknownExchange): Refused | Unclear {
  return outcome.kind === "rejected" ? refusedOf(outcome.rejected) : { outcome: "unknown", cause: outcome.cause };
}

/** A signed request that only asked whether the key acts for the account proved nothing. `text`: of a refusal of the key. */
export function unprovenBy(outcome: RejectedExchange | UnknownExchange, text: string): FailedRead {
  if (outcome.kind === "unknown")
    return failedRead(outcome.cause === "TIMEOUT" ? "TIMEOUT" : "VENUE_ERROR", outcome.cause);
  const { reason, retryAfterMs: afterMs, venueCode } = outcome.rejected;
  if (reason === "AUTH") return failedRead("AUTH", text);
  return failedRead(reason === "RATE_LIMITED" ? "RATE_LIMITED" : "VENUE_ERROR", venueCode, afterMs);
}

export interface ClockedSend<Outcome> {
  readonly send: (left: CallOptions) => Promise<Outcome>;
  /** Refused before execution because its time was wrong by the venue's clock. */
  readonly isClockRefusal: (rejected: RejectedOrder) => boolean;
  /** Measures the venue's clock again, within this time. */
  readonly remeasure: (maxMs: number) => Promise<void>;
}

/** Sends; what is refused for our clock is sent once more after that was measured, where there is time. */
export async function sendByClock<Outcome extends ExchangeOutcome<unknown>>(
  deadline: Deadline,
  { send, isClockRefusal, remeasure }: ClockedSend<Outcome>,
): Promise<Outcome | RejectedExchange> {
  const left = deadline.left();
  if (left === null) return OUT_OF_TIME;
  const first = await send(left);
  if (first.kind !== "rejected" || !isClockRefusal(first.rejected)) return first;
  await remeasure(Math.max(0, deadline.leftMs()));
  const second = deadline.left();
  return second === null ? first : send(second);
}
