// hot path
/**
 * Orders and cancels of venuetwo. Outcomes are exact: `rejected` only for what was refused before execution,
 * `unknown` for every 5xx, lost answer, unreadable answer and for the codes that say so. MARKET commands go out as
 * IOC limits at the worst price, so the venue never trades beyond it.
 *
 * Allocates per order: the request text, its signature, the reply's JSON.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { formatScaled } from "../../engine/domain/decimal.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { CancelOutcome, OrderCommand, PlaceOutcome, TimeInForce } from "../../engine/domain/order.js";
import type { LatencyWindow } from "../../engine/market/latency-window.js";
import type { AccountSession, CallOptions, OrderRef, OrderSender } from "../../engine/ports.js";
import {
  isRateLimitStatus,
  isRefusedUnexecuted,
  notSentOrder,
  venueText,
  type HttpResponse,
  type RejectedOrder,
} from "../shared/call-results.js";
import { Deadline } from "../shared/deadline.js";
import { decodeJson } from "../shared/wire-fields.js";
import { normalizeOrder } from "./account-normalize.js";
import { decodeOrder, readError, type VenuetwoWireError } from "./account-wire.js";
import { cancelOrderCall, newOrderCall, orderKey } from "./calls.js";
import { classifyError, isClockError, isOutcomeUnknown } from "./errors.js";
import { limitRetryAfterMs, validityBoundMs, type Sent, type VenuetwoCall, type VenuetwoRest } from "./rest.js";
import { VenuetwoSession } from "./session.js";
import type { FormParams } from "./sign.js";

/** After the request's own window: error of our clock offset, and the engine behind the gateway, which may lag it. */
const VALIDITY_MARGIN_MS = 3_000;

const TIF: Readonly<Record<TimeInForce, string>> = { IOC: "IOC", GTC: "GTC", POST_ONLY: "GTX", FOK: "FOK" };

export interface VenuetwoOrdersDeps {
  readonly rest: VenuetwoRest;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly logger: Logger;
  readonly ackLatency: LatencyWindow;
}

type Answer =
  | { readonly kind: "rejected"; readonly rejected: RejectedOrder }
  | { readonly kind: "unknown"; readonly cause: string; readonly notPlacedAfterMs: number }
  | { readonly kind: "ok"; readonly response: HttpResponse; readonly notPlacedAfterMs: number };

export class VenuetwoOrders implements OrderSender {
  readonly #deps: VenuetwoOrdersDeps;

  constructor(deps: VenuetwoOrdersDeps) {
    this.#deps = deps;
  }

  /** The venue takes ^[\.A-Z\:/a-z0-9_-]{1,36}$: the 32 digits fit as they are. */
  venueClientOrderId(clientIdHex: string): string {
    return clientIdHex;
  }

  placeBoundMs(session: AccountSession, timeoutMs: number): number {
    return validityBoundMs(session, timeoutMs) + VALIDITY_MARGIN_MS;
  }

  async place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome> {
    const problem = commandProblem(command);
    if (problem !== null) return problem;
    const answer = await this.#send(session, newOrderCall(orderParams(command)), options);
    if (answer.kind === "rejected") return answer.rejected;
    const { notPlacedAfterMs } = answer;
    if (answer.kind === "unknown") return { outcome: "unknown", cause: answer.cause, notPlacedAfterMs };
    const outcome = this.#placed(command, answer.response);
    if (typeof outcome !== "string") return outcome;
    this.#deps.logger.error("venuetwo.order.reply", { problem: outcome });
    return { outcome: "unknown", cause: outcome, notPlacedAfterMs };
  }

  async cancel(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<CancelOutcome> {
    const key = orderKey(ref);
    if (key === null) return rejectedCancel(localReject("NOT_FOUND", "BAD_REF", "not an order id of this venue"));
    const answer = await this.#send(session, cancelOrderCall(instrument.nativeSymbol, key), options);
    if (answer.kind === "rejected") return rejectedCancel(answer.rejected);
    if (answer.kind === "unknown") return { outcome: "unknown", cause: answer.cause };
    const order = decodeJson(answer.response.body, decodeOrder);
    if (!order.ok) return { outcome: "unknown", cause: "REPLY_UNREADABLE" };
    return order.value.status === "CANCELED" ? { outcome: "accepted" } : { outcome: "unknown", cause: "REPLY_STATUS" };
  }

  /** Sends; a request refused for our clock or nonce was not executed, so it is measured again and sent once more. */
  async #send(session: AccountSession, call: VenuetwoCall, options: CallOptions): Promise<Answer> {
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
      this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
      if (isOutcomeUnknown(error.code)) return { kind: "unknown", cause: String(error.code), notPlacedAfterMs };
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
    const { reason } = classifyError(error.code, error.msg);
    const venueNowMs = this.#deps.clock.wallMs() + this.#deps.clockOffsetMs();
    return {
      outcome: "rejected",
      reason: isLimited ? "RATE_LIMITED" : reason,
      venueCode: String(error.code),
      venueText: venueText(error.msg),
      sent: true,
      retryAfterMs: isLimited || reason === "RATE_LIMITED" ? limitRetryAfterMs(response, error, venueNowMs) : null,
    };
  }

  /** A text: why the reply cannot be taken for an answer to this order. */
  #placed(command: OrderCommand, response: HttpResponse): PlaceOutcome | string {
    const decoded = decodeJson(response.body, (value) => {
      const wire = decodeOrder(value);
      return { wire, order: normalizeOrder(wire, command.instrument) };
    });
    if (!decoded.ok) return "REPLY_UNREADABLE";
    const { order, wire } = decoded.value;
    if (wire.clientOrderId !== command.clientIdHex || wire.side !== command.side) return "REPLY_OF_ANOTHER_ORDER";
    if (order.filledLots > command.qtyLots) return "REPLY_OVERFILL";
    if (order.status === "UNKNOWN") return "REPLY_STATUS";
    const ackMs = response.receivedAtMs - response.sentAtMs;
    if (order.status === "REJECTED") {
      return { ...localReject("VENUE_STATE", wire.status, "the venue rejected the order"), sent: true };
    }
    // What was meant, where the wire form differs from it: a MARKET as IOC limit, a hedge close without the flag.
    return { outcome: "accepted", order: { ...order, type: command.type, reduceOnly: command.reduceOnly }, ackMs };
  }
}

/** Parameters of a new order; texts on the instrument's grid. */
export function orderParams(command: OrderCommand): FormParams {
  const { instrument } = command;
  return [
    ["symbol", instrument.nativeSymbol],
    ["side", command.side],
    // Hedge mode forbids reduceOnly: the closed side says it. One-way accounts take the flag and no side.
    ...(command.positionSide === "BOTH"
      ? ([["reduceOnly", command.reduceOnly ? "true" : "false"]] as const)
      : ([["positionSide", command.positionSide]] as const)),
    ["type", "LIMIT"],
    ["timeInForce", TIF[command.timeInForce]],
    ["quantity", formatScaled(command.qtyLots, instrument.qtyDecimals)],
    ["price", formatScaled(command.priceTicks, instrument.priceDecimals)],
    ["newClientOrderId", command.clientIdHex],
    // The default answer would say NEW with nothing filled, whatever happened.
    ["newOrderRespType", "RESULT"],
  ];
}

/** What must hold before anything is signed: a wrong number here is a fault of ours, and must not leave. */
function commandProblem(command: OrderCommand): RejectedOrder | null {
  const { instrument, positionSide, side } = command;
  if (instrument.venue !== "venuetwo")
    return localReject("VENUE_STATE", "INSTRUMENT", "not an instrument of this venue");
  if (!Number.isSafeInteger(command.priceTicks) || command.priceTicks <= 0)
    return localReject("PRICE", "PRICE", "price is not a positive number of ticks");
  if (!Number.isSafeInteger(command.qtyLots) || command.qtyLots <= 0)
    return localReject("SIZE", "SIZE", "size is not a positive number of lots");
  if (!/^[0-9a-f]{32}$/.test(command.clientIdHex))
    return localReject("VENUE_STATE", "CLIENT_ID", "client id is not 128 bits of hex");
  const closes = (positionSide === "LONG" && side === "SELL") || (positionSide === "SHORT" && side === "BUY");
  if (command.reduceOnly && positionSide !== "BOTH" && !closes) {
    // Without the flag nothing at the venue would stop this order from adding to the position.
    return localReject("REDUCE_ONLY", "HEDGE_SIDE", "this side would add to the position");
  }
  return null;
}

function rejected(outcome: RejectedOrder): Answer {
  return { kind: "rejected", rejected: outcome };
}

function localReject(reason: RejectedOrder["reason"], venueCode: string, text: string): RejectedOrder {
  return { outcome: "rejected", reason, venueCode, venueText: text, sent: false, retryAfterMs: null };
}

function rejectedCancel(outcome: RejectedOrder): CancelOutcome {
  const { reason, venueCode, venueText: text, sent } = outcome;
  return { outcome: "rejected", reason, venueCode, venueText: text, sent };
}
