/**
 * What became of an act of a wallet (engine/key-registrar.ts), before any venue's own words are read. The same for all
 * rooms.
 */
import type { ActOutcome, ActRefusal } from "../../../engine/key-registrar.js";
import {
  type HttpResponse,
  isRateLimitStatus,
  isRefusedUnexecuted,
  retryAfterMs,
  venueText,
} from "../net/call-results.js";
import type { HttpResult } from "../net/http.js";

export type FailedAct = Exclude<ActOutcome, { readonly kind: "done" | "repeated" }>;

export const DONE_ACT: ActOutcome = { kind: "done" };
export const REPEATED_ACT: ActOutcome = { kind: "repeated" };
export const UNKNOWN_ACT: FailedAct = { kind: "unknown" };

type RefusedAct = Extract<ActOutcome, { readonly kind: "refused" }>;

/** For all that is known, the same bytes may act another time. */
export function refusedAct(reason: ActRefusal, text: string, afterMs: number | null = null): RefusedAct {
  return { kind: "refused", reason, venueText: venueText(text), retryAfterMs: afterMs, isSpent: false };
}

/** The bytes never act. */
export function spentAct(reason: ActRefusal, text: string, afterMs: number | null = null): RefusedAct {
  return { ...refusedAct(reason, text, afterMs), isSpent: true };
}

export function notSentAct(problem: string, afterMs: number | null = null): FailedAct {
  return { kind: "notSent", problem, retryAfterMs: afterMs };
}

/** No response came. */
export function unansweredAct(result: Exclude<HttpResult, { readonly kind: "response" }>): FailedAct {
  return result.kind === "notSent" ? notSentAct(result.reason, result.retryAfterMs) : UNKNOWN_ACT;
}

/** A response without words of the venue's own: a server or proxy on the way, or nothing at all. */
export function wordlessAct(response: HttpResponse): FailedAct {
  if (!isRefusedUnexecuted(response.status)) return UNKNOWN_ACT;
  const reason = isRateLimitStatus(response.status) ? "RATE_LIMITED" : "OTHER";
  return refusedAct(reason, `HTTP ${response.status}`, retryAfterMs(response));
}
