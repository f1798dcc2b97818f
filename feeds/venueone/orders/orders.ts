// hot path
/**
 * Orders and cancels of venueone. Outcomes are exact: `rejected` only for what the venue (or our own limiter) refused
 * before execution, `unknown` for everything that may have been executed. An order carries `expiresAfter`, so an
 * unknown one has a moment after which it provably was not placed. What changes orders that rest is in
 * orders/changes.ts, what signs and sends in exchange.ts.
 */
import { formatScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type {
  AmendOutcome,
  CancelAllOutcome,
  CancelOutcome,
  OrderChange,
  OrderCommand,
  PlaceOutcome,
  TimeInForce,
  VenueOrder,
} from "../../../engine/domain/order.js";
import type { AccountSession, CallOptions, OrderRef, OrderSender } from "../../../engine/ports.js";
import { localReject, refusedOf } from "../../shared/net/call-results.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import { outdatedChange, outdatedProblem } from "../../shared/room/listing-terms.js";
import { classifyText } from "../rules/errors.js";
import type { PreparedAction, VenueoneExchange } from "./exchange.js";
import type { VenueoneOrderChanges } from "./changes.js";
import {
  cancelAction,
  limitOrderJson,
  orderAction,
  orderProblem,
  placeOutcome,
  refusal,
  triggerItem,
} from "./request.js";
import { type L1Signer, limitOrderAction, type WireLimitOrder, type WireTif } from "../sign/sign.js";

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
  readonly exchange: VenueoneExchange;
  readonly signer: L1Signer;
  readonly changes: VenueoneOrderChanges;
  /** What the venue lists now, by canonical symbol. */
  readonly listed: () => ReadonlyMap<string, Instrument>;
  readonly logger: Logger;
  readonly clockOffsetMs: () => number;
}

export class VenueoneOrders implements OrderSender {
  readonly #deps: VenueoneOrdersDeps;

  constructor(deps: VenueoneOrdersDeps) {
    this.#deps = deps;
  }

  venueClientOrderId(clientIdHex: string): string {
    return `0x${clientIdHex}`;
  }

  parseClientOrderId(text: string): string | null {
    return /^0x[0-9a-f]{32}$/i.test(text) ? text.slice(2).toLowerCase() : null;
  }

  placeBoundMs(_session: AccountSession, timeoutMs: number): number {
    return expiryMs(timeoutMs) + EXPIRY_MARGIN_MS + ROUNDING_MS;
  }

  async place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome> {
    const problem = orderProblem(command) ?? outdatedProblem(command, this.#deps.listed());
    if (problem !== null) return problem;
    // Fixed here, before anything is waited for: placeBoundMs rests on it.
    const expiresAfterMs = this.#deps.exchange.venueNowMs() + expiryMs(options.timeoutMs);
    const action = this.#prepare(command, expiresAfterMs);
    if (action === null) return localReject("VENUE_STATE", "NO_FOK", "fill-or-kill is not offered");
    const exchanged = await this.#deps.exchange.send(session, action, options);
    const notPlacedAfterMs = Math.ceil(expiresAfterMs - this.#deps.clockOffsetMs()) + EXPIRY_MARGIN_MS;
    if (exchanged.kind === "rejected") return exchanged.rejected;
    if (exchanged.kind === "unknown") return { outcome: "unknown", cause: exchanged.cause, notPlacedAfterMs };
    const { response, statuses, type } = exchanged.answer;
    const outcome = placeOutcome(command, type, statuses, response, this.#deps.clockOffsetMs());
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
    const { exchange } = this.#deps;
    const action = cancelAction(instrument, ref);
    if (action === null) return refusedOf(localReject("NOT_FOUND", "BAD_REF", "not an order id of this venue"));
    // No expiry: a late cancel does no harm, an expired action costs extra budget.
    const exchanged = await exchange.send(session, exchange.prepare(action, null), options);
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const { statuses, type } = exchanged.answer;
    const [status] = statuses;
    if (type !== "cancel" || status === undefined || statuses.length !== 1)
      return { outcome: "unknown", cause: "REPLY_SHAPE" };
    if (status.kind === "success") return { outcome: "accepted" };
    if (status.kind === "error") return refusedOf(refusal(classifyText(status.text), status.text, null));
    return { outcome: "unknown", cause: "REPLY_SHAPE" };
  }

  amend(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
  ): Promise<AmendOutcome> {
    const problem = outdatedChange(instrument, current, change, this.#deps.listed());
    if (problem !== null) return Promise.resolve(problem);
    return this.#deps.changes.amend(session, instrument, current, change, options, expiryMs(options.timeoutMs));
  }

  cancelAll(session: AccountSession, instrument: Instrument | null, options: CallOptions): Promise<CancelAllOutcome> {
    return this.#deps.changes.cancelAll(session, instrument, options);
  }

  scheduleCancel(session: AccountSession, atMs: number | null, options: CallOptions): Promise<CancelOutcome> {
    return this.#deps.changes.scheduleCancel(session, atMs, options, expiryMs(options.timeoutMs));
  }

  /** Null means fill-or-kill, which the venue does not have. */
  #prepare(command: OrderCommand, expiresAfterMs: number): PreparedAction | null {
    const { instrument, timeInForce } = command;
    if (command.trigger !== undefined) {
      return this.#deps.exchange.prepare(orderAction(triggerItem(command, command.trigger)), expiresAfterMs);
    }
    if (timeInForce === "FOK") return null;
    const order: WireLimitOrder = {
      asset: instrument.nativeId,
      isBuy: command.side === "BUY",
      price: formatScaled(command.priceTicks, instrument.priceDecimals),
      size: formatScaled(command.qtyLots, instrument.qtyDecimals),
      reduceOnly: command.reduceOnly,
      tif: TIF[timeInForce],
      cloid: this.venueClientOrderId(command.clientIdHex),
    };
    const action = limitOrderAction(order);
    return {
      json: limitOrderJson(order),
      hash: (nonce, vault, expiry) => this.#deps.signer.hashAction(action, nonce, vault, expiry),
      expiresAfterMs,
      itemCount: 1,
    };
  }
}

function expiryMs(timeoutMs: number): number {
  return Math.min(Math.max(Math.ceil(timeoutMs), MIN_EXPIRY_MS), MAX_EXPIRY_MS);
}
