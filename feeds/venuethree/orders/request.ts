// hot path
/**
 * Commands of the core → transactions of the venue, each checked against the venue's ranges before it is signed. Pure.
 * What is left open here is what the sender adds: account, key, nonce and expiry.
 */
import { parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderChange, OrderCommand, TimeInForce, VenueOrder } from "../../../engine/domain/order.js";
import type { OrderRef } from "../../../engine/ports.js";
import { localReject, type RejectedOrder } from "../../shared/net/call-results.js";
import { commandProblem, type CommandRules } from "../../shared/orders/check-command.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import {
  type TxAttributes,
  TX_CANCEL_ALL,
  TX_CANCEL_ORDER,
  TX_CREATE_ORDER,
  TX_MODIFY_ORDER,
  TX_UPDATE_LEVERAGE,
  type TxInteger,
} from "../sign/tx.js";
import { clientIdHexOf, clientOrderIndexOf } from "../account/client-id.js";
import { MAX_BASE_AMOUNT, MAX_PERP_MARKET_ID, MAX_PRICE_TICKS } from "../rules/limits.js";

export interface PreparedTx {
  readonly type: number;
  /** Without AccountIndex, ApiKeyIndex, ExpiredAt and Nonce. */
  readonly fields: Readonly<Record<string, TxInteger>>;
  readonly attributes: TxAttributes | null;
}

export type Prepared =
  | { readonly ok: true; readonly tx: PreparedTx }
  | { readonly ok: false; readonly why: RejectedOrder };

/** Values of `Type`. */
const TYPE_LIMIT = 0;
const TYPE_MARKET = 1;
const TYPE_STOP_LOSS = 2;
const TYPE_STOP_LOSS_LIMIT = 3;
const TYPE_TAKE_PROFIT = 4;
const TYPE_TAKE_PROFIT_LIMIT = 5;

/** There is no fill-or-kill. */
const TIME_IN_FORCE: Readonly<Record<Exclude<TimeInForce, "FOK">, number>> = { IOC: 0, GTC: 1, POST_ONLY: 2 };

/** Orders that wait live this long (the venue's own tools; at most 30 days are taken). */
const ORDER_LIFE_MS = 28 * 86_400_000;
/** A scheduled cancel lies 5 minutes to 15 days ahead; the room's margin covers clocks. */
export const SCHEDULE_MIN_MS = 5 * 60_000;
export const SCHEDULE_MAX_MS = 15 * 86_400_000;

const CANCEL_ALL_NOW = 0;
const CANCEL_ALL_SCHEDULED = 1;
const CANCEL_ALL_ABORT = 2;
/** Restricts an immediate cancel-all to one market. */
const ATTRIBUTE_CANCEL_ALL_MARKET = 5;
/** Units of margin fractions. */
const MARGIN_UNITS = 10_000;
const MARGIN_MODES = { cross: 0, isolated: 1 } as const;

export function createOrderTx(command: OrderCommand, venueNowMs: number): Prepared {
  const problem = commandProblem(command, RULES);
  if (problem !== null) return { ok: false, why: problem };
  const { instrument, timeInForce, trigger } = command;
  if (timeInForce === "FOK") return refused("VENUE_STATE", "NO_FOK", "fill-or-kill is not offered");
  // A market order is immediate, also when it waits for its trigger.
  const tif = command.type === "MARKET" ? TIME_IN_FORCE.IOC : TIME_IN_FORCE[timeInForce];
  const rests = trigger !== undefined || tif !== TIME_IN_FORCE.IOC;
  return prepared(TX_CREATE_ORDER, {
    MarketIndex: instrument.nativeId,
    ClientOrderIndex: clientOrderIndexOf(command.clientIdHex),
    BaseAmount: command.qtyLots,
    Price: command.priceTicks,
    IsAsk: command.side === "SELL" ? 1 : 0,
    Type: orderType(command),
    TimeInForce: tif,
    ReduceOnly: command.reduceOnly ? 1 : 0,
    TriggerPrice: trigger?.priceTicks ?? 0,
    OrderExpiry: rests ? venueNowMs + ORDER_LIFE_MS : 0,
  });
}

function orderType({ type, trigger }: OrderCommand): number {
  if (trigger === undefined) return type === "MARKET" ? TYPE_MARKET : TYPE_LIMIT;
  if (trigger.kind === "STOP") return type === "MARKET" ? TYPE_STOP_LOSS : TYPE_STOP_LOSS_LIMIT;
  return type === "MARKET" ? TYPE_TAKE_PROFIT : TYPE_TAKE_PROFIT_LIMIT;
}

/** The venue has one-way accounts only. */
const RULES: CommandRules = {
  isOurs: isMarket,
  isPrice,
  isSize,
  priceText: "in the venue's range of ticks",
  sizeText: "in the venue's range of lots",
  isOneWay: true,
};

export function cancelTx(instrument: Instrument, ref: OrderRef): Prepared {
  if (!isMarket(instrument)) return refused("VENUE_STATE", "INSTRUMENT", "not an instrument of this venue");
  const index = orderIndexOf(ref);
  if (index === null) return refused("NOT_FOUND", "BAD_REF", "not an order id of this venue");
  return prepared(TX_CANCEL_ORDER, { MarketIndex: instrument.nativeId, Index: index });
}

/** Price and size again; a trigger stays what it was. */
export function modifyTx(instrument: Instrument, current: VenueOrder, change: OrderChange): Prepared {
  if (!isMarket(instrument) || current.nativeSymbol !== instrument.nativeSymbol)
    return refused("VENUE_STATE", "INSTRUMENT", "the order is not of this instrument");
  if (!isPrice(change.priceTicks)) return refused("PRICE", "PRICE", "price is not in the venue's range of ticks");
  if (!isSize(change.qtyLots)) return refused("SIZE", "SIZE", "size is not in the venue's range of lots");
  if (change.qtyLots <= current.filledLots) return refused("SIZE", "SIZE", "the order has filled as much already");
  // One just sent has no id of the venue yet, and is called by the caller's.
  const index =
    current.venueOrderId === "" ? ownIndexOf(current) : orderIndexOf({ venueOrderId: current.venueOrderId });
  if (index === null) return refused("NOT_FOUND", "BAD_REF", "the order has no id of this venue yet");
  const trigger = current.triggerPrice === null ? 0 : parseScaled(current.triggerPrice, instrument.priceDecimals);
  if (trigger !== 0 && !isPrice(trigger))
    return refused("PRICE", "TRIGGER_PRICE", "the trigger price is not on the grid");
  return prepared(TX_MODIFY_ORDER, {
    MarketIndex: instrument.nativeId,
    Index: index,
    BaseAmount: change.qtyLots,
    Price: change.priceTicks,
    TriggerPrice: trigger,
  });
}

/** Null means every market. */
export function cancelAllTx(instrument: Instrument | null): Prepared {
  if (instrument !== null && !isMarket(instrument))
    return refused("VENUE_STATE", "INSTRUMENT", "not an instrument of this venue");
  const attributes = instrument === null ? null : new Map([[ATTRIBUTE_CANCEL_ALL_MARKET, instrument.nativeId]]);
  return prepared(TX_CANCEL_ALL, { TimeInForce: CANCEL_ALL_NOW, Time: 0 }, attributes);
}

/** `atVenueMs` on the venue's clock; null takes the schedule back. */
export function scheduleCancelTx(atVenueMs: number | null, venueNowMs: number): Prepared {
  if (atVenueMs === null) return prepared(TX_CANCEL_ALL, { TimeInForce: CANCEL_ALL_ABORT, Time: 0 });
  const aheadMs = atVenueMs - venueNowMs;
  if (!(aheadMs >= SCHEDULE_MIN_MS && aheadMs <= SCHEDULE_MAX_MS))
    return refused("VENUE_STATE", "SCHEDULE_RANGE", "a cancel is scheduled 5 minutes to 15 days ahead");
  return prepared(TX_CANCEL_ALL, { TimeInForce: CANCEL_ALL_SCHEDULED, Time: Math.round(atVenueMs) });
}

/** `marginFraction` in units of 1e-4. */
export function leverageTx(instrument: Instrument, marginFraction: number, mode: "cross" | "isolated"): Prepared {
  if (!isMarket(instrument)) return refused("VENUE_STATE", "INSTRUMENT", "not an instrument of this venue");
  if (!Number.isSafeInteger(marginFraction) || marginFraction < 1 || marginFraction > MARGIN_UNITS)
    return refused("VENUE_STATE", "MARGIN_FRACTION", "margin fraction is not from 1 to 10000");
  return prepared(TX_UPDATE_LEVERAGE, {
    MarketIndex: instrument.nativeId,
    InitialMarginFraction: marginFraction,
    MarginMode: MARGIN_MODES[mode],
  });
}

/** Times → units of 1e-4, up: never more leverage than was asked for. */
export function marginFractionFor(leverage: number): number {
  return Math.ceil(MARGIN_UNITS / leverage);
}

/** Below 2^48 an index is the client's, from there on the venue's own, which may leave the range of a double. */
function ownIndexOf({ venueClientOrderId }: VenueOrder): TxInteger | null {
  const clientIdHex = venueClientOrderId === null ? null : clientIdHexOf(venueClientOrderId);
  return clientIdHex === null ? null : orderIndexOf({ clientIdHex });
}

function orderIndexOf(ref: OrderRef): TxInteger | null {
  if ("clientIdHex" in ref) return isClientIdHex(ref.clientIdHex) ? clientOrderIndexOf(ref.clientIdHex) : null;
  if (!/^[1-9]\d{14,18}$/.test(ref.venueOrderId)) return null;
  const index = BigInt(ref.venueOrderId);
  return index >= MIN_ORDER_INDEX && index <= MAX_ORDER_INDEX ? index : null;
}

const MIN_ORDER_INDEX = 1n << 48n;
const MAX_ORDER_INDEX = (1n << 60n) - 1n;

function isMarket({ venue, nativeId }: Instrument): boolean {
  return venue === "venuethree" && Number.isSafeInteger(nativeId) && nativeId >= 0 && nativeId <= MAX_PERP_MARKET_ID;
}

function isPrice(ticks: number): boolean {
  return Number.isSafeInteger(ticks) && ticks >= 1 && ticks <= MAX_PRICE_TICKS;
}

/** 0 would mean the whole position: never by accident. */
function isSize(lots: number): boolean {
  return Number.isSafeInteger(lots) && lots >= 1 && lots <= MAX_BASE_AMOUNT;
}

function prepared(
  type: number,
  fields: Readonly<Record<string, TxInteger>>,
  attributes: TxAttributes | null = null,
): Prepared {
  return { ok: true, tx: { type, fields, attributes } };
}

function refused(reason: RejectedOrder["reason"], venueCode: string, text: string): Prepared {
  return { ok: false, why: localReject(reason, venueCode, text) };
}
