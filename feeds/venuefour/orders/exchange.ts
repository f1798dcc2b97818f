// hot path
/**
 * Signed operations of venuefour with exact outcomes: `rejected` only for what was refused before execution, `unknown`
 * for every 5xx, lost answer, unreadable answer and for the words that leave it open. Orders, cancels, changes and
 * settings all go this way.
 *
 * Allocates per operation: the signed text, the body, the reply's JSON.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Refused, Unclear } from "../../../engine/domain/order.js";
import type { LatencyWindow } from "../../../engine/market/latency-window.js";
import type { AccountSession, CallOptions } from "../../../engine/ports.js";
import {
  type HttpResponse,
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  notSentOrder,
  refusedOf,
  type RejectedOrder,
  venueText,
  lastingBy,
} from "../../shared/net/call-results.js";
import { Deadline, settleWithin } from "../../shared/net/deadline.js";
import { decodeJson, asFields, type Fields } from "../../shared/room/wire-fields.js";
import { type AccountRest, expiryWindowMs, type Sent } from "../account/rest.js";
import { classifyError, readError } from "../rules/errors.js";
import { EXPIRY_MARGIN_MS } from "../rules/limits.js";
import { limitRetryAfterMs } from "../market/rest.js";
import { VenuefourSession } from "../account/session.js";
import type { OperationType, SignedFields } from "../sign/sign.js";

export interface SenderDeps {
  readonly rest: AccountRest;
  readonly clock: Clock;
  readonly ackLatency: LatencyWindow;
  /** The venue found our clock wrong: measure it again. Resolves when the estimate is up to date; may fail. */
  readonly onClockError: () => Promise<void>;
}

export type Answer<T> =
  | { readonly kind: "rejected"; readonly rejected: RejectedOrder }
  | { readonly kind: "unknown"; readonly cause: string; readonly notPlacedAfterMs: number }
  | { readonly kind: "ok"; readonly value: T; readonly ackMs: number; readonly notPlacedAfterMs: number };

/** Refused before execution because its time was wrong by the venue's clock: ours is measured and it is sent once more. */
const CLOCK_CODE = "INVALID_MESSAGE";

export class Sender {
  readonly #deps: SenderDeps;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  async send<T>(
    session: AccountSession,
    type: OperationType,
    payload: SignedFields,
    credits: number,
    decode: (envelope: Fields) => T,
    options: CallOptions,
  ): Promise<Answer<T>> {
    if (!(session instanceof VenuefourSession)) return rejected("AUTH", "SESSION", "session of another venue");
    const deadline = new Deadline(this.#deps.clock, options);
    // The end of the window is set once: a second send must not outlive what was promised for the first.
    const expiresAtMs = this.#deps.clock.wallMs() + expiryWindowMs(options.timeoutMs);
    let clockRefusal: Answer<T> | null = null;
    for (let attempt = 1; ; attempt++) {
      const left = deadline.left();
      if (left === null) return clockRefusal ?? rejected("VENUE_STATE", "DEADLINE", "no time left before sending");
      const sent = await this.#deps.rest.send(session, type, payload, credits, expiresAtMs, left);
      const answer = this.#read(sent, session, expiresAtMs + EXPIRY_MARGIN_MS, decode);
      if (answer.kind !== "rejected" || answer.rejected.venueCode !== CLOCK_CODE || attempt === 2) return answer;
      clockRefusal = answer;
      await settleWithin(this.#deps.clock, this.#deps.onClockError(), Math.max(0, deadline.leftMs()));
    }
  }

  #read<T>(
    sent: Sent,
    session: VenuefourSession,
    notPlacedAfterMs: number,
    decode: (envelope: Fields) => T,
  ): Answer<T> {
    if (sent.kind === "local") {
      const text = session.isOpen ? "an address alone can not sign" : "session is closed";
      return rejected("AUTH", session.isOpen ? "NEEDS_CREDENTIALS" : "SESSION", text);
    }
    const { result } = sent;
    if (result.kind === "notSent") return { kind: "rejected", rejected: notSentOrder(result) };
    if (result.kind === "noResponse") return { kind: "unknown", cause: result.reason, notPlacedAfterMs };
    // Also "Internal server error", which is how the venue of 2025 answered what it should have refused.
    if (result.status >= 500) return { kind: "unknown", cause: `HTTP_${result.status}`, notPlacedAfterMs };
    const refusal = readRefusal(result);
    if (refusal !== null) {
      if ("cause" in refusal) return { kind: "unknown", cause: refusal.cause, notPlacedAfterMs };
      if (sent.isRepeated !== true) this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
      return { kind: "rejected", rejected: refusal };
    }
    const ackMs = result.receivedAtMs - result.sentAtMs;
    this.#deps.ackLatency.record(ackMs);
    const decoded = decodeJson(result.body, (value) => {
      const envelope = asFields(value, "envelope");
      // Not the venue's word: some proxy's page, or another API's.
      return envelope["success"] === true ? { value: decode(envelope) } : null;
    });
    if (!decoded.ok || decoded.value === null) return { kind: "unknown", cause: "REPLY_UNREADABLE", notPlacedAfterMs };
    return { kind: "ok", value: decoded.value.value, ackMs, notPlacedAfterMs };
  }
}

/** What a cancel, a change or a setting says where an order would say more. */
export function failureOf(answer: Exclude<Answer<unknown>, { kind: "ok" }>): Refused | Unclear {
  return answer.kind === "rejected" ? refusedOf(answer.rejected) : { outcome: "unknown", cause: answer.cause };
}

/** Null for a success; a cause where the answer leaves the outcome open. */
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

function rejected(reason: RejectedOrder["reason"], venueCode: string, text: string): Answer<never> {
  return { kind: "rejected", rejected: localReject(reason, venueCode, text) };
}
