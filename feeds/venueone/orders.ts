// hot path
/**
 * Orders and cancels of venueone. Outcomes are exact: `rejected` only for what the venue (or our own limiter) refused
 * before execution, `unknown` for everything that may have been executed. An order carries `expiresAfter`, so an
 * unknown one has a moment after which it provably was not placed.
 *
 * Allocates per order: the request text, hex of the signature, the reply's JSON. All else is reused.
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
  retryAfterMs,
  venueText,
  type HttpResponse,
  type RejectedOrder,
} from "../shared/call-results.js";
import type { HttpResult } from "../shared/http.js";
import type { NonceSequencer } from "../shared/nonce-sequencer.js";
import { decodeJson } from "../shared/wire-fields.js";
import type { AccountResolver } from "./account-resolver.js";
import { decodeExchange, type VenueoneWireStatus } from "./account-wire.js";
import { classifyText, isSignerProblem, nonceProblem } from "./errors.js";
import {
  cancelAction,
  commandProblem,
  envelope,
  limitOrderJson,
  localReject,
  placeOutcome,
  refusal,
} from "./order-wire.js";
import type { VenueoneRest } from "./rest.js";
import { VenueoneSession } from "./session.js";
import type { L1Signer, WireLimitOrder, WireTif } from "./sign.js";

/** An order must reach a block within its caller's timeout; below this, clock error alone could expire it (at 5 times the address budget). */
const MIN_EXPIRY_MS = 3_000;
const MAX_EXPIRY_MS = 60_000;
/**
 * After `expiresAfter`: 3 s for block time against wall time and our offset's error, 2 s for the lag with which a
 * placed order becomes findable (measured 0.4 to 1.1 s).
 */
const EXPIRY_MARGIN_MS = 5_000;

/** The venue's now is rounded, and so is the end in our time. */
const ROUNDING_MS = 2;

const TIF: Readonly<Record<Exclude<TimeInForce, "FOK">, WireTif>> = { IOC: "Ioc", GTC: "Gtc", POST_ONLY: "Alo" };

export interface VenueoneOrdersDeps {
  readonly rest: VenueoneRest;
  readonly signer: L1Signer;
  readonly nonces: NonceSequencer;
  readonly accounts: AccountResolver;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackLatency: LatencyWindow;
  readonly clockOffsetMs: () => number;
  /** The venue called our nonces too far ahead: our clock, or its measured offset, is wrong. */
  readonly onClockError: () => void;
}

/** An action ready to be signed with whatever nonce it gets. */
interface PreparedAction {
  readonly json: string;
  /** Hash of action, nonce, vault, expiry; valid until the signer's next call. */
  readonly hash: (nonce: number, vaultAddress: string | null, expiresAfterMs: number | null) => Uint8Array;
  readonly expiresAfterMs: number | null;
}

type Exchanged =
  | { readonly kind: "rejected"; readonly rejected: RejectedOrder }
  | { readonly kind: "unknown"; readonly cause: string }
  | {
      readonly kind: "answered";
      readonly type: string;
      readonly statuses: readonly VenueoneWireStatus[];
      readonly response: HttpResponse;
    };

export class VenueoneOrders implements OrderSender {
  readonly #deps: VenueoneOrdersDeps;

  constructor(deps: VenueoneOrdersDeps) {
    this.#deps = deps;
  }

  venueClientOrderId(clientIdHex: string): string {
    return `0x${clientIdHex}`;
  }

  placeBoundMs(_session: AccountSession, timeoutMs: number): number {
    return expiryMs(timeoutMs) + EXPIRY_MARGIN_MS + ROUNDING_MS;
  }

  async place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome> {
    const problem = commandProblem(command);
    if (problem !== null) return problem;
    const { timeInForce } = command;
    if (timeInForce === "FOK") return localReject("VENUE_STATE", "NO_FOK", "fill-or-kill is not offered");
    const { instrument } = command;
    const order: WireLimitOrder = {
      asset: instrument.nativeId,
      isBuy: command.side === "BUY",
      price: formatScaled(command.priceTicks, instrument.priceDecimals),
      size: formatScaled(command.qtyLots, instrument.qtyDecimals),
      reduceOnly: command.reduceOnly,
      tif: TIF[timeInForce],
      cloid: this.venueClientOrderId(command.clientIdHex),
    };
    // Fixed here, before anything is waited for: placeBoundMs rests on it.
    const expiresAfterMs = this.#venueNowMs() + expiryMs(options.timeoutMs);
    const exchanged = await this.#send(
      session,
      {
        json: limitOrderJson(order),
        hash: (nonce, vault, expiry) => this.#deps.signer.hashLimitOrder(order, nonce, vault, expiry),
        expiresAfterMs,
      },
      options,
    );
    const notPlacedAfterMs = Math.ceil(expiresAfterMs - this.#deps.clockOffsetMs()) + EXPIRY_MARGIN_MS;
    if (exchanged.kind === "rejected") return exchanged.rejected;
    if (exchanged.kind === "unknown") return { outcome: "unknown", cause: exchanged.cause, notPlacedAfterMs };
    const outcome = placeOutcome(
      command,
      exchanged.type,
      exchanged.statuses,
      exchanged.response,
      this.#deps.clockOffsetMs(),
    );
    if (typeof outcome !== "string") return outcome;
    // The reply is there but is not what an order is answered with: it may have been executed.
    this.#deps.logger.error("venueone.order.reply", { problem: outcome });
    return { outcome: "unknown", cause: outcome, notPlacedAfterMs };
  }

  async cancel(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<CancelOutcome> {
    const action = cancelAction(instrument, ref);
    if (action === null) return rejectedCancel(localReject("NOT_FOUND", "BAD_REF", "not an order id of this venue"));
    const exchanged = await this.#send(
      session,
      {
        json: JSON.stringify(action),
        hash: (nonce, vault, expiry) => this.#deps.signer.hashAction(action, nonce, vault, expiry),
        // A late cancel does no harm, an expired action costs extra budget.
        expiresAfterMs: null,
      },
      options,
    );
    if (exchanged.kind === "rejected") return rejectedCancel(exchanged.rejected);
    if (exchanged.kind === "unknown") return { outcome: "unknown", cause: exchanged.cause };
    const status = exchanged.statuses[0];
    if (exchanged.type !== "cancel" || status === undefined || exchanged.statuses.length !== 1) {
      return { outcome: "unknown", cause: "REPLY_SHAPE" };
    }
    if (status.kind === "success") return { outcome: "accepted" };
    if (status.kind === "error") return rejectedCancel(refusal(classifyText(status.text), status.text, null));
    return { outcome: "unknown", cause: "REPLY_SHAPE" };
  }

  #venueNowMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }

  /** Signs, sends, reads the reply. A nonce the venue calls too low was refused before execution: once more with a higher one. */
  async #send(session: AccountSession, action: PreparedAction, options: CallOptions): Promise<Exchanged> {
    if (!(session instanceof VenueoneSession))
      return rejected(localReject("AUTH", "SESSION", "session of another venue"));
    const startNs = this.#deps.clock.monoNs();
    for (let attempt = 1; ; attempt++) {
      const leftMs = Math.floor(options.timeoutMs - (this.#deps.clock.monoNs() - startNs) / 1e6);
      if (leftMs <= 0) return rejected(localReject("VENUE_STATE", "DEADLINE", "no time left before sending"));
      const sent = await this.#sendOnce(session, action, { ...options, timeoutMs: leftMs });
      if (sent !== "again") return sent;
      if (attempt === 2) return rejected(refusal(classifyText(NONCE_TOO_LOW), NONCE_TOO_LOW, null));
    }
  }

  async #sendOnce(
    session: VenueoneSession,
    action: PreparedAction,
    options: CallOptions,
  ): Promise<Exchanged | "again"> {
    const { accounts, nonces, rest, signer } = this.#deps;
    const next = await nonces.next(session.signerAddress);
    if (!next.ok)
      return rejected({
        ...localReject("VENUE_STATE", `NONCE_${next.problem}`, "no nonce"),
        retryAfterMs: next.retryAfterMs,
      });
    const { expiresAfterMs } = action;
    const signature = session.withKey((privateKey) =>
      signer.signConnectionId(action.hash(next.nonce, session.vaultAddress, expiresAfterMs), privateKey),
    );
    if (signature === null) return rejected(localReject("AUTH", "SESSION", "session is closed"));
    const body = envelope(action.json, next.nonce, signature, session.vaultAddress, expiresAfterMs);
    const result = await rest.exchange(body, accounts.peek(session), 1, options);
    try {
      return this.#read(session, result);
    } catch (error) {
      // Whatever fails here fails after the send.
      this.#deps.logger.error("venueone.exchange.fault", { name: error instanceof Error ? error.name : "unknown" });
      return { kind: "unknown", cause: "FAULT" };
    }
  }

  #read(session: VenueoneSession, result: HttpResult): Exchanged | "again" {
    if (result.kind === "notSent") return rejected(notSentOrder(result));
    if (result.kind === "noResponse") return { kind: "unknown", cause: result.reason };
    if (result.status !== 200) return unreadable(result);
    const decoded = decodeJson(result.body, decodeExchange);
    if (!decoded.ok) return { kind: "unknown", cause: "REPLY_UNREADABLE" };
    this.#deps.ackLatency.record(result.receivedAtMs - result.sentAtMs);
    if (decoded.value.kind === "ok") {
      return { kind: "answered", type: decoded.value.type, statuses: decoded.value.statuses, response: result };
    }
    const { text } = decoded.value;
    const nonce = nonceProblem(text);
    if (nonce?.kind === "tooHigh") this.#deps.onClockError();
    else if (nonce !== null) this.#deps.nonces.raise(session.signerAddress, nonce.seenNonce);
    if (nonce?.kind === "tooLow") return "again";
    const error = classifyText(text);
    if (isSignerProblem(error)) this.#deps.accounts.forget(session);
    return rejected(refusal(error, text, null));
  }
}

function expiryMs(timeoutMs: number): number {
  return Math.min(Math.max(Math.ceil(timeoutMs), MIN_EXPIRY_MS), MAX_EXPIRY_MS);
}

const NONCE_TOO_LOW = "Invalid nonce: nonce too low";

function rejected(outcome: RejectedOrder): Exchanged {
  return { kind: "rejected", rejected: outcome };
}

/** Not 200. 4xx come from the parser or the proxy, before anything is executed. */
function unreadable(response: HttpResponse): Exchanged {
  const code = `HTTP_${response.status}`;
  if (!isRefusedUnexecuted(response.status)) return { kind: "unknown", cause: code };
  return rejected({
    outcome: "rejected",
    reason: isRateLimitStatus(response.status) ? "RATE_LIMITED" : "VENUE_STATE",
    venueCode: code,
    venueText: venueText(response.body),
    sent: true,
    retryAfterMs: retryAfterMs(response),
  });
}

function rejectedCancel(outcome: RejectedOrder): CancelOutcome {
  const { reason, venueCode, venueText: text, sent } = outcome;
  return { outcome: "rejected", reason, venueCode, venueText: text, sent };
}
