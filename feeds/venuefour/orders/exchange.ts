// hot path
/**
 * Signed operations of venuefour with exact outcomes: `rejected` only for what was refused before execution, `unknown`
 * for every 5xx, lost answer, unreadable answer and for the words that leave it open. Orders, cancels, changes and
 * settings all go this way.
 *
 * Allocates per operation: the signed text, the body, the reply's JSON.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions } from "../../../engine/ports.js";
import {
  type HttpResponse,
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  type RejectedOrder,
  venueText,
  lastingBy,
} from "../../shared/net/call-results.js";
import { Deadline, settleWithin } from "../../shared/net/deadline.js";
import {
  endingAt,
  type EndingRequest,
  type ExchangeOutcome,
  FOREIGN_SESSION,
  rejectedExchange,
  sendByClock,
  unansweredExchange,
  unknownExchange,
} from "../../shared/orders/exchange-outcome.js";
import { decodeJson, asFields, type Fields } from "../../shared/room/wire-fields.js";
import { type AccountRest, expiryWindowMs, type Sent } from "../account/rest.js";
import { classifyError, readError } from "../rules/errors.js";
import { EXPIRY_MARGIN_MS } from "../rules/limits.js";
import { limitRetryAfterMs } from "../market/rest.js";
import { VenuefourSession } from "../account/session.js";
import type { OperationType, SignedFields } from "../sign/sign.js";

export interface VenuefourExchangeDeps {
  readonly rest: AccountRest;
  readonly clock: Clock;
  readonly ackLatency: LatencyWindow;
  /** The venue found our clock wrong: measure it again. Resolves when the estimate is up to date; may fail. */
  readonly onClockError: () => Promise<void>;
}

interface Decoded<T> {
  readonly value: T;
  readonly ackMs: number;
}

export type Exchanged<T> = ExchangeOutcome<Decoded<T>, EndingRequest>;

/** Refused before execution because its time was wrong by the venue's clock: ours is measured and it is sent once more. */
const CLOCK_CODE = "INVALID_MESSAGE";

export class VenuefourExchange {
  readonly #deps: VenuefourExchangeDeps;

  constructor(deps: VenuefourExchangeDeps) {
    this.#deps = deps;
  }

  async send<T>(
    session: AccountSession,
    type: OperationType,
    payload: SignedFields,
    credits: number,
    decode: (envelope: Fields) => T,
    options: CallOptions,
  ): Promise<Exchanged<T>> {
    const { clock, onClockError, rest } = this.#deps;
    if (!(session instanceof VenuefourSession)) return FOREIGN_SESSION;
    // The end of the window is set once: a second send must not outlive what was promised for the first.
    const expiresAtMs = clock.wallMs() + expiryWindowMs(options.timeoutMs);
    return sendByClock<Exchanged<T>>(new Deadline(clock, options), {
      send: async (left) => {
        const sent = await rest.send(session, type, payload, credits, expiresAtMs, left);
        return endingAt(this.#read(sent, session, decode), expiresAtMs + EXPIRY_MARGIN_MS);
      },
      isClockRefusal: ({ venueCode }) => venueCode === CLOCK_CODE,
      remeasure: (maxMs) => settleWithin(clock, onClockError(), maxMs),
    });
  }

  #read<T>(sent: Sent, session: VenuefourSession, decode: (envelope: Fields) => T): ExchangeOutcome<Decoded<T>> {
    if (sent.kind === "local") {
      const text = session.isOpen ? "an address alone can not sign" : "session is closed";
      return rejectedExchange(localReject("AUTH", session.isOpen ? "NEEDS_CREDENTIALS" : "SESSION", text));
    }
    const { result } = sent;
    if (result.kind !== "response") return unansweredExchange(result);
    // Also "Internal server error", which is how the venue of 2025 answered what it should have refused.
    if (result.status >= 500) return unknownExchange(`HTTP_${result.status}`);
    const refusal = readRefusal(result);
    const ackMs = result.receivedAtMs - result.sentAtMs;
    if (refusal !== null) {
      if ("cause" in refusal) return unknownExchange(refusal.cause);
      if (sent.isRepeated !== true) this.#deps.ackLatency.record(ackMs);
      return rejectedExchange(refusal);
    }
    this.#deps.ackLatency.record(ackMs);
    const decoded = decodeJson(result.body, (value) => {
      const envelope = asFields(value, "envelope");
      // Not the venue's word: some proxy's page, or another API's.
      return envelope["success"] === true ? { value: decode(envelope) } : null;
    });
    if (!decoded.ok || decoded.value === null) return unknownExchange("REPLY_UNREADABLE");
    return { kind: "answered", answer: { value: decoded.value.value, ackMs } };
  }
}

/** Returns null for a success; a cause where the answer does not decide the outcome. */
function readRefusal(response: HttpResponse): RejectedOrder | { readonly cause: string } | null {
  const error = readError(response.status, response.body);
  if (error === null) return null;
  const known = classifyError(response.status, error);
  if (known.errorClass === "U") return { cause: known.code };
  const isSuccessStatus = response.status >= 200 && response.status < 300;
  // Words in an envelope are the venue's own; a bare status counts only where it precedes execution.
  const isWorded = error.code !== null || error.errorId !== null;
  if (!isSuccessStatus && !isWorded && !isRefusedUnexecuted(response.status))
    return { cause: `HTTP_${response.status}` };
  const isLimited = isRateLimitStatus(response.status) || known.reason === "RATE_LIMITED";
  return {
    outcome: "rejected",
    reason: isLimited ? "RATE_LIMITED" : known.reason,
    venueCode: known.code,
    venueText: venueText(error.text),
    sent: true,
    retryAfterMs: isLimited ? limitRetryAfterMs(response, response.receivedAtMs) : null,
    ...(isLimited ? {} : lastingBy(known.errorClass)),
  };
}
