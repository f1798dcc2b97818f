// hot path
/**
 * Orders and cancels of venuetwo. Outcomes are exact: `rejected` only for what was refused before execution,
 * `unknown` for every 5xx, lost answer, unreadable answer and for the codes that say so (orders/exchange.ts). MARKET
 * commands go out as IOC limits at the worst price, so the venue never trades beyond it. What changes orders that rest
 * is in orders/changes.ts.
 *
 * Allocates per order: the request text, its signature, the reply's JSON.
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
  ScheduleOutcome,
  TimeInForce,
  VenueOrder,
} from "../../../engine/domain/order.js";
import type { AccountSession, CallOptions, OrderRef, OrderSender } from "../../../engine/ports.js";
import { localReject, refusedOf, type HttpResponse, type RejectedOrder } from "../../shared/net/call-results.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import { commandProblem, type CommandRules, POSITIVE } from "../../shared/orders/check-command.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import { decodeJson } from "../../shared/room/wire-fields.js";
import { outdatedChange, outdatedProblem } from "../../shared/room/listing-terms.js";
import { normalizeOrder } from "../account/normalize.js";
import { decodeOrder } from "../account/wire.js";
import { cancelOrderCall, newOrderCall, orderKey } from "../account/calls.js";
import { VALIDITY_MARGIN_MS, type VenuetwoExchange } from "./exchange.js";
import type { VenuetwoOrderChanges } from "./changes.js";
import type { OrderMemory } from "../account/order-memory.js";
import { validityBoundMs } from "../account/rest.js";
import type { FormParams } from "../sign/sign.js";

const TIF: Readonly<Record<TimeInForce, string>> = { IOC: "IOC", GTC: "GTC", POST_ONLY: "GTX", FOK: "FOK" };

export interface VenuetwoOrdersDeps {
  readonly exchange: VenuetwoExchange;
  readonly changes: VenuetwoOrderChanges;
  /** What the venue lists now, by canonical symbol. */
  readonly listed: () => ReadonlyMap<string, Instrument>;
  readonly memory: OrderMemory;
  readonly logger: Logger;
}

export class VenuetwoOrders implements OrderSender {
  readonly #deps: VenuetwoOrdersDeps;

  constructor(deps: VenuetwoOrdersDeps) {
    this.#deps = deps;
  }

  /** The venue takes ^[\.A-Z\:/a-z0-9_-]{1,36}$: the 32 digits fit as they are. */
  venueClientOrderId(clientIdHex: string): string {
    return clientIdHex;
  }

  parseClientOrderId(text: string): string | null {
    return isClientIdHex(text) ? text : null;
  }

  placeBoundMs(session: AccountSession, timeoutMs: number): number {
    return validityBoundMs(session, timeoutMs) + VALIDITY_MARGIN_MS;
  }

  async place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome> {
    const problem = orderProblem(command) ?? outdatedProblem(command, this.#deps.listed());
    if (problem !== null) return problem;
    // Before the send: also an order of unknown outcome is found by its client id.
    this.#deps.memory.note(session, command.instrument.nativeSymbol, command.clientIdHex);
    const exchanged = await this.#deps.exchange.send(session, newOrderCall(orderParams(command)), options);
    if (exchanged.kind === "rejected") return exchanged.rejected;
    if (mayRest(command)) this.#deps.changes.follow(session, command.instrument.nativeSymbol);
    const { notPlacedAfterMs } = exchanged;
    if (exchanged.kind === "unknown") return { outcome: "unknown", cause: exchanged.cause, notPlacedAfterMs };
    const outcome = this.#placed(command, exchanged.answer);
    if (typeof outcome !== "string") {
      if (outcome.outcome === "accepted")
        this.#deps.memory.note(session, command.instrument.nativeSymbol, outcome.order.venueOrderId);
      return outcome;
    }
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
    if (key === null) return refusedOf(localReject("NOT_FOUND", "BAD_REF", "not an order id of this venue"));
    const exchanged = await this.#deps.exchange.send(session, cancelOrderCall(instrument.nativeSymbol, key), options);
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const order = decodeJson(exchanged.answer.body, decodeOrder);
    if (!order.ok) return { outcome: "unknown", cause: "REPLY_UNREADABLE" };
    return order.value.status === "CANCELED" ? { outcome: "accepted" } : { outcome: "unknown", cause: "REPLY_STATUS" };
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
    return this.#deps.changes.amend(session, instrument, current, change, options);
  }

  cancelAll(session: AccountSession, instrument: Instrument | null, options: CallOptions): Promise<CancelAllOutcome> {
    return this.#deps.changes.cancelAll(session, instrument, options);
  }

  scheduleCancel(session: AccountSession, atMs: number | null, options: CallOptions): Promise<ScheduleOutcome> {
    return this.#deps.changes.scheduleCancel(session, atMs, options);
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
    const ackMs = response.receivedAtMs - response.sentAtMs;
    // An unknown status is that of an existing order: its end is looked up, and no silence proves it absent.
    if (order.status === "UNKNOWN")
      this.#deps.logger.error("venuetwo.order.status", { word: wire.status.slice(0, 64) });
    if (order.status === "REJECTED") {
      return { ...localReject("VENUE_STATE", wire.status, "the venue rejected the order"), sent: true };
    }
    // What was meant, where the wire form differs from it: a MARKET as IOC limit, a hedge close without the flag.
    const type = command.trigger === undefined ? command.type : order.type;
    return { outcome: "accepted", order: { ...order, type, reduceOnly: command.reduceOnly }, ackMs };
  }
}

/** Only what rests can be left behind. */
function mayRest({ type, timeInForce, trigger }: OrderCommand): boolean {
  return trigger !== undefined || (type === "LIMIT" && timeInForce !== "IOC" && timeInForce !== "FOK");
}

/** Parameters of a new order; texts on the instrument's grid. */
export function orderParams(command: OrderCommand): FormParams {
  const { instrument } = command;
  return [
    ["symbol", instrument.nativeSymbol],
    ["side", command.side],
    // Hedge mode forbids reduceOnly: the position side replaces it. One-way accounts take the flag and no side.
    ...(command.positionSide === "BOTH"
      ? ([["reduceOnly", command.reduceOnly ? "true" : "false"]] as const)
      : ([["positionSide", command.positionSide]] as const)),
    ...typeParams(command),
    ["quantity", formatScaled(command.qtyLots, instrument.qtyDecimals)],
    ["newClientOrderId", command.clientIdHex],
    // The default answer would be NEW with nothing filled in every case.
    ["newOrderRespType", "RESULT"],
  ];
}

/**
 * A MARKET is an IOC limit at the worst price. What waits for a trigger is the venue's own type: a market stop takes no
 * price there, so that what protects a position is not left resting beyond it.
 */
function typeParams({ instrument, priceTicks, timeInForce, trigger, type }: OrderCommand): FormParams {
  const price = ["price", formatScaled(priceTicks, instrument.priceDecimals)] as const;
  if (trigger === undefined) return [["type", "LIMIT"], ["timeInForce", TIF[timeInForce]], price];
  const stop = [
    ["stopPrice", formatScaled(trigger.priceTicks, instrument.priceDecimals)],
    ["workingType", trigger.source === "MARK" ? "MARK_PRICE" : "CONTRACT_PRICE"],
  ] as const;
  if (type === "MARKET") return [["type", `${trigger.kind}_MARKET`], ...stop];
  return [["type", trigger.kind], ["timeInForce", TIF[timeInForce]], price, ...stop];
}

const RULES: CommandRules = { ...POSITIVE, isOurs: ({ venue }) => venue === "venuetwo", isOneWay: false };

function orderProblem(command: OrderCommand): RejectedOrder | null {
  const { positionSide, side, trigger } = command;
  const problem = commandProblem(command, RULES);
  if (problem !== null) return problem;
  if (
    trigger !== undefined &&
    command.type === "MARKET" &&
    (command.timeInForce === "FOK" || command.timeInForce === "POST_ONLY")
  )
    return localReject("VENUE_STATE", "NO_TRIGGER_TIF", `a triggered market order has no ${command.timeInForce} here`);
  const closes = (positionSide === "LONG" && side === "SELL") || (positionSide === "SHORT" && side === "BUY");
  if (command.reduceOnly && positionSide !== "BOTH" && !closes) {
    // Without the flag nothing at the venue would stop this order from adding to the position.
    return localReject("REDUCE_ONLY", "HEDGE_SIDE", "this side would add to the position");
  }
  return null;
}
