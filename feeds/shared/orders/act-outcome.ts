/**
 * What became of an act of a wallet (engine/key-registrar.ts, engine/venue-money.ts), before any venue's own words are
 * read. The same for all rooms.
 */
import type { ActRefusal, RefusedAct } from "../../../engine/key-registrar.js";
import {
  type HttpResponse,
  isRateLimitStatus,
  isRefusedUnexecuted,
  retryAfterMs,
  venueText,
} from "../net/call-results.js";
import type { HttpResult } from "../net/http.js";

export interface NotSentAct {
  readonly kind: "notSent";
  readonly problem: string;
  readonly retryAfterMs: number | null;
}

export interface UnknownAct {
  readonly kind: "unknown";
}

export type FailedAct<Reason extends string = ActRefusal> = RefusedAct<Reason> | NotSentAct | UnknownAct;

export const DONE_ACT: { readonly kind: "done" } = { kind: "done" };
export const REPEATED_ACT: { readonly kind: "repeated" } = { kind: "repeated" };
export const UNKNOWN_ACT: UnknownAct = { kind: "unknown" };

/** For all that is known, the same bytes may act another time. */
export function refusedAct<Reason extends string>(
  reason: Reason,
  text: string,
  afterMs: number | null = null,
): RefusedAct<Reason> {
  return { kind: "refused", reason, venueText: venueText(text), retryAfterMs: afterMs, isSpent: false };
}

/** The bytes never act. */
export function spentAct<Reason extends string>(
  reason: Reason,
  text: string,
  afterMs: number | null = null,
): RefusedAct<Reason> {
  return { ...refusedAct(reason, text, afterMs), isSpent: true };
}

export function notSentAct(problem: string, afterMs: number | null = null): NotSentAct {
  return { kind: "notSent", problem, retryAfterMs: afterMs };
}

/** No response came. */
export function unansweredAct(result: Exclude<HttpResult, { readonly kind: "response" }>): NotSentAct | UnknownAct {
  return result.kind === "notSent" ? notSentAct(result.reason, result.retryAfterMs) : UNKNOWN_ACT;
}

/** A response without words of the venue's own: a server or proxy on the way, or nothing at all. */
export function wordlessAct(response: HttpResponse): RefusedAct<"RATE_LIMITED" | "OTHER"> | UnknownAct {
  if (!isRefusedUnexecuted(response.status)) return UNKNOWN_ACT;
  const reason = isRateLimitStatus(response.status) ? "RATE_LIMITED" : "OTHER";
  return refusedAct(reason, `HTTP ${response.status}`, retryAfterMs(response));
}
