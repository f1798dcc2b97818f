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
  localReject,
  venueText,
  type HttpResponse,
  type RejectedOrder,
  lastingBy,
} from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import {
  endingAt,
  type EndingRequest,
  type ExchangeOutcome,
  FOREIGN_SESSION,
  rejectedExchange,
  sendByClock,
  unansweredExchange,
  unknownExchange,
  wordlessExchange,
} from "../../shared/orders/exchange-outcome.js";
import { readError, type VenuetwoWireError } from "../account/wire.js";
import { classifyError, isClockError, isOutcomeUnknown } from "../rules/errors.js";
import { limitRetryAfterMs, type Sent, type VenuetwoCall, type VenuetwoRest } from "../account/rest.js";
import { VenuetwoSession } from "../account/session.js";

/** After the request's own window: error of our clock offset, and the engine behind the gateway, which may lag it. */
export const VALIDITY_MARGIN_MS = 3_000;

export interface VenuetwoExchangeDeps {
  readonly rest: VenuetwoRest;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly ackLatency: LatencyWindow;
}

type Exchanged = ExchangeOutcome<HttpResponse, EndingRequest>;

export class VenuetwoExchange {
  readonly #deps: VenuetwoExchangeDeps;

  constructor(deps: VenuetwoExchangeDeps) {
    this.#deps = deps;
  }

  /** Sends; a request refused for our clock or nonce was not executed, so it is measured again and sent once more. */
  async send(session: AccountSession, call: VenuetwoCall, options: CallOptions): Promise<Exchanged> {
    const { clock, rest } = this.#deps;
    if (!(session instanceof VenuetwoSession)) return FOREIGN_SESSION;
    return sendByClock(new Deadline(clock, options), {
      send: async (left) => this.#read(await rest.send(session, call, left)),
      isClockRefusal: ({ venueCode }) => isClockError(Number(venueCode)),
      remeasure: (maxMs) => rest.remeasureClock(maxMs),
    });
  }

  #read(sent: Sent): Exchanged {
    if (sent.kind === "local") {
      const reason = sent.code === "SESSION" ? "AUTH" : "VENUE_STATE";
      const why = localReject(reason, sent.code, "nothing was sent");
      return rejectedExchange({ ...why, retryAfterMs: sent.retryAfterMs });
    }
    return endingAt(this.#judge(sent), sent.validUntilMs + VALIDITY_MARGIN_MS);
  }

  #judge({ isRepeated, result }: Extract<Sent, { kind: "sent" }>): ExchangeOutcome<HttpResponse> {
    if (result.kind !== "response") return unansweredExchange(result);
    // 503 is "sent on, no answer in time" by the venue's own words; nothing is known of any other 5xx.
    if (result.status >= 500) return unknownExchange(`HTTP_${result.status}`);
    const error = readError(result.body);
    const isOk = result.status >= 200 && result.status < 300;
    // HTML or nothing.
    if (error === null && !isOk) return wordlessExchange(result, result.status === 401 ? "AUTH" : "VENUE_STATE", "");
    if (isRepeated !== true) this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
    if (error === null) return { kind: "answered", answer: result };
    if (isOutcomeUnknown(error.code, error.msg)) return unknownExchange(String(error.code));
    return rejectedExchange(this.#refusal(error, result));
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
