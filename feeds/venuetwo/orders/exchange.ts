// hot path
/**
 * Signed instructions of venuetwo: one request, and what its reply means. `rejected` only for what was refused before
 * execution, `unknown` for every 5xx, lost answer and for the codes that say so.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions } from "../../../engine/ports.js";
import {
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  notSentOrder,
  venueText,
  type HttpResponse,
  type RejectedOrder,
  lastingBy,
} from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { readError, type VenuetwoWireError } from "../account/wire.js";
import { classifyError, isClockError, isOutcomeUnknown } from "../rules/errors.js";
import { limitRetryAfterMs, type Sent, type VenuetwoCall, type VenuetwoRest } from "../account/rest.js";
import { VenuetwoSession } from "../account/session.js";

/** After the request's own window: error of our clock offset, and the engine behind the gateway, which may lag it. */
export const VALIDITY_MARGIN_MS = 3_000;

export interface VenuetwoInstructionsDeps {
  readonly rest: VenuetwoRest;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly ackLatency: LatencyWindow;
}

export type Answer =
  | { readonly kind: "rejected"; readonly rejected: RejectedOrder }
  | { readonly kind: "unknown"; readonly cause: string; readonly notPlacedAfterMs: number }
  | { readonly kind: "ok"; readonly response: HttpResponse; readonly notPlacedAfterMs: number };

export class VenuetwoInstructions {
  readonly #deps: VenuetwoInstructionsDeps;

  constructor(deps: VenuetwoInstructionsDeps) {
    this.#deps = deps;
  }

  /** Sends; a request refused for our clock or nonce was not executed, so it is measured again and sent once more. */
  async send(session: AccountSession, call: VenuetwoCall, options: CallOptions): Promise<Answer> {
    if (!(session instanceof VenuetwoSession))
      return rejected(localReject("AUTH", "SESSION", "session of another venue"));
    const deadline = new Deadline(this.#deps.clock, options);
    let clockRefusal: RejectedOrder | null = null;
    for (let attempt = 1; ; attempt++) {
      const left = deadline.left();
      if (left === null)
        return rejected(clockRefusal ?? localReject("VENUE_STATE", "DEADLINE", "no time left before sending"));
      const sent = await this.#deps.rest.send(session, call, left);
      const answer = this.#read(sent);
      if (answer.kind !== "rejected" || attempt === 2 || !isClockError(Number(answer.rejected.venueCode)))
        return answer;
      clockRefusal = answer.rejected;
      await this.#deps.rest.remeasureClock(deadline.leftMs());
    }
  }

  #read(sent: Sent): Answer {
    if (sent.kind === "local") {
      const reason = sent.code === "SESSION" ? "AUTH" : "VENUE_STATE";
      return rejected({ ...localReject(reason, sent.code, "nothing was sent"), retryAfterMs: sent.retryAfterMs });
    }
    const { result } = sent;
    const notPlacedAfterMs = sent.validUntilMs + VALIDITY_MARGIN_MS;
    if (result.kind === "notSent") return rejected(notSentOrder(result));
    if (result.kind === "noResponse") return { kind: "unknown", cause: result.reason, notPlacedAfterMs };
    // 503 is "sent on, no answer in time" by the venue's own words; nothing is known of any other 5xx.
    if (result.status >= 500) return { kind: "unknown", cause: `HTTP_${result.status}`, notPlacedAfterMs };
    const error = readError(result.body);
    if (error !== null) {
      if (sent.isRepeated !== true) this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
      if (isOutcomeUnknown(error.code, error.msg))
        return { kind: "unknown", cause: String(error.code), notPlacedAfterMs };
      return rejected(this.#refusal(error, result));
    }
    if (result.status >= 200 && result.status < 300) {
      this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
      return { kind: "ok", response: result, notPlacedAfterMs };
    }
    // HTML or nothing: only statuses that precede execution count as refusals.
    if (!isRefusedUnexecuted(result.status))
      return { kind: "unknown", cause: `HTTP_${result.status}`, notPlacedAfterMs };
    return rejected({
      outcome: "rejected",
      reason: isRateLimitStatus(result.status) ? "RATE_LIMITED" : result.status === 401 ? "AUTH" : "VENUE_STATE",
      venueCode: `HTTP_${result.status}`,
      venueText: "",
      sent: true,
      retryAfterMs: limitRetryAfterMs(result, null, 0),
    });
  }

  #refusal(error: VenuetwoWireError, response: HttpResponse): RejectedOrder {
    const isLimited = isRateLimitStatus(response.status);
    const { errorClass, reason } = classifyError(error.code, error.msg);
    const venueNowMs = this.#deps.clock.wallMs() + this.#deps.clockOffsetMs();
    return {
      outcome: "rejected",
      reason: isLimited ? "RATE_LIMITED" : reason,
      venueCode: String(error.code),
      venueText: venueText(error.msg),
      sent: true,
      retryAfterMs: isLimited || reason === "RATE_LIMITED" ? limitRetryAfterMs(response, error, venueNowMs) : null,
      // Outside the band of its mark: the next mark may hold it.
      ...(isLimited || reason === "PRICE_BAND" ? {} : lastingBy(errorClass)),
    };
  }
}

function rejected(outcome: RejectedOrder): Answer {
  return { kind: "rejected", rejected: outcome };
}
