// hot path
/**
 * venueone's order requests as text and its answers as outcomes: the pure half of orders.ts. Every text written here
 * is digits, hex or a word of the venue, so nothing needs escaping.
 */
import { formatScaled, parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderCommand, OrderTrigger, PlaceOutcome, VenueOrder } from "../../../engine/domain/order.js";
import type { OrderRef } from "../../../engine/ports.js";
import {
  type HttpResponse,
  lastingBy,
  localReject,
  type RejectedOrder,
  venueText,
} from "../../shared/net/call-results.js";
import { commandProblem, type CommandRules, POSITIVE } from "../../shared/orders/check-command.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import type { VenueoneWireStatus } from "../account/wire.js";
import { classifyText, type VenueError } from "../rules/errors.js";
import type { MsgpackValue } from "../sign/msgpack.js";
import type { WireLimitOrder, WireSignature, WireTif } from "../sign/sign.js";

/** The venue has one-way accounts only. */
const RULES: CommandRules = {
  ...POSITIVE,
  isOurs: ({ nativeId, venue }) => venue === "venueone" && nativeId >= 0,
  isOneWay: true,
};

export function orderProblem(command: OrderCommand): RejectedOrder | null {
  return commandProblem(command, RULES) ?? triggerProblem(command);
}

/**
 * Rules of stop and take-profit orders here: the venue's trigger carries no time in force (a market becomes IOC at its
 * worst price, a limit rests) and fires on the mark whatever source was asked for.
 */
function triggerProblem(command: OrderCommand): RejectedOrder | null {
  const { instrument, side, timeInForce, trigger, type } = command;
  if (trigger === undefined) return null;
  if (type === "LIMIT" && timeInForce !== "GTC")
    return localReject("VENUE_STATE", "NO_TRIGGER_TIF", `a triggered limit order is GTC here, not ${timeInForce}`);
  if (type === "MARKET" && (timeInForce === "FOK" || timeInForce === "POST_ONLY"))
    return localReject("VENUE_STATE", "NO_TRIGGER_TIF", `a triggered market order is IOC here, not ${timeInForce}`);
  const isShort = side === "BUY" ? command.priceTicks < trigger.priceTicks : command.priceTicks > trigger.priceTicks;
  if (type === "MARKET" && isShort) {
    const limit = formatScaled(command.priceTicks, instrument.priceDecimals);
    return localReject("PRICE", "TRIGGER_WORST_PRICE", `a worst price of ${limit} lies before the trigger`);
  }
  return null;
}

/** One item of `orders` or of a modification, keys in the venue's order (sheet 5.1). */
export type WireOrderItem = {
  readonly a: number;
  readonly b: boolean;
  readonly p: string;
  readonly s: string;
  readonly r: boolean;
  readonly t:
    | { readonly limit: { readonly tif: WireTif } }
    | { readonly trigger: { readonly isMarket: boolean; readonly triggerPx: string; readonly tpsl: "tp" | "sl" } };
  /** Left out of JSON and of what is hashed when there is none. */
  readonly c?: string;
};

export function triggerItem(command: OrderCommand, trigger: OrderTrigger): WireOrderItem {
  const { instrument } = command;
  return {
    a: instrument.nativeId,
    b: command.side === "BUY",
    p: formatScaled(command.priceTicks, instrument.priceDecimals),
    s: formatScaled(command.qtyLots, instrument.qtyDecimals),
    r: command.reduceOnly,
    t: {
      trigger: {
        isMarket: command.type === "MARKET",
        triggerPx: formatScaled(trigger.priceTicks, instrument.priceDecimals),
        tpsl: trigger.kind === "STOP" ? "sl" : "tp",
      },
    },
    c: `0x${command.clientIdHex}`,
  };
}

export function orderAction(item: WireOrderItem): MsgpackValue {
  return { type: "order", orders: [{ ...item }], grouping: "na" };
}

/** The action's JSON; every text in it is digits or hex, so nothing needs escaping. */
export function limitOrderJson(order: WireLimitOrder): string {
  return (
    `{"type":"order","orders":[{"a":${order.asset},"b":${order.isBuy},"p":"${order.price}","s":"${order.size}",` +
    `"r":${order.reduceOnly},"t":{"limit":{"tif":"${order.tif}"}},"c":"${order.cloid}"}],"grouping":"na"}`
  );
}

export function envelope(
  actionJson: string,
  nonce: number,
  signature: WireSignature,
  vaultAddress: string | null,
  expiresAfterMs: number | null,
): string {
  return (
    `{"action":${actionJson},"nonce":${nonce},"signature":{"r":"${signature.r}","s":"${signature.s}","v":${signature.v}},` +
    `"vaultAddress":${vaultAddress === null ? "null" : `"${vaultAddress}"`},"expiresAfter":${expiresAfterMs ?? "null"}}`
  );
}

type CancelAction =
  | { readonly type: "cancelByCloid"; readonly cancels: readonly [{ readonly asset: number; readonly cloid: string }] }
  | { readonly type: "cancel"; readonly cancels: readonly [{ readonly a: number; readonly o: number }] };

export function cancelAction(instrument: Instrument, ref: OrderRef): CancelAction | null {
  if ("clientIdHex" in ref) {
    if (!isClientIdHex(ref.clientIdHex)) return null;
    return { type: "cancelByCloid", cancels: [{ asset: instrument.nativeId, cloid: `0x${ref.clientIdHex}` }] };
  }
  const oid = Number(ref.venueOrderId);
  if (!/^\d+$/.test(ref.venueOrderId) || !Number.isSafeInteger(oid)) return null;
  return { type: "cancel", cancels: [{ a: instrument.nativeId, o: oid }] };
}

/** A text: why the reply cannot be taken for an answer to this order. */
export function placeOutcome(
  command: OrderCommand,
  type: string,
  statuses: readonly VenueoneWireStatus[],
  response: HttpResponse,
  clockOffsetMs: number,
): PlaceOutcome | string {
  const status = statuses[0];
  if (type !== "order" || status === undefined || statuses.length !== 1) return "REPLY_SHAPE";
  if (status.kind === "error") return refusal(classifyText(status.text), status.text, null);
  if (status.kind === "success") return "REPLY_SHAPE";
  const cloid = `0x${command.clientIdHex}`;
  if (status.kind !== "waiting" && status.cloid !== null && status.cloid.toLowerCase() !== cloid)
    return "REPLY_OF_ANOTHER_ORDER";
  const filledLots = status.kind === "filled" ? parseScaled(status.totalSz, command.instrument.qtyDecimals) : 0;
  if (status.kind === "filled" && !(filledLots > 0)) return "REPLY_FILL";
  // More than was asked for breaks what the whole close path rests on: never reported as a normal fill.
  if (filledLots > command.qtyLots) return "REPLY_OVERFILL";
  const order: VenueOrder = {
    venue: "venueone",
    nativeSymbol: command.instrument.nativeSymbol,
    venueOrderId: status.kind === "waiting" ? "" : String(status.oid),
    venueClientOrderId: cloid,
    side: command.side,
    type: typeOf(command),
    // `filled` is also the venue's word for an IOC whose remainder was dropped, and for a clamped reduce-only order.
    status: status.kind !== "filled" ? "OPEN" : filledLots === command.qtyLots ? "FILLED" : partStatus(command),
    venueStatus: status.kind === "waiting" ? status.word : status.kind,
    priceTicks: command.priceTicks,
    qtyLots: command.qtyLots,
    filledLots,
    averagePrice: status.kind === "filled" ? status.avgPx : null,
    reduceOnly: command.reduceOnly,
    ...triggerOf(command),
    tsVenueMs: Math.round(response.receivedAtMs + clockOffsetMs),
    fee: null,
  };
  return { outcome: "accepted", order, ackMs: response.receivedAtMs - response.sentAtMs };
}

/** Nothing shows that the remainder of an entry that may rest was dropped: it is read again. */
function partStatus({ reduceOnly, timeInForce, trigger }: OrderCommand): "CANCELED" | "PARTIALLY_FILLED" {
  return trigger === undefined && timeInForce !== "IOC" && !reduceOnly ? "PARTIALLY_FILLED" : "CANCELED";
}

function typeOf({ trigger, type }: OrderCommand): VenueOrder["type"] {
  if (trigger === undefined) return type;
  return type === "MARKET" ? "STOP_MARKET" : "STOP_LIMIT";
}

function triggerOf({
  instrument,
  timeInForce,
  trigger,
}: OrderCommand): Pick<VenueOrder, "timeInForce" | "triggerKind" | "triggerPrice"> {
  if (trigger === undefined) return { triggerPrice: null, timeInForce };
  const triggerPrice = formatScaled(trigger.priceTicks, instrument.priceDecimals);
  return { triggerPrice, triggerKind: trigger.kind, timeInForce };
}

export function refusal(error: VenueError, text: string, retryAfter: number | null): RejectedOrder {
  return {
    outcome: "rejected",
    reason: error.reason,
    venueCode: error.code,
    venueText: venueText(text),
    sent: true,
    retryAfterMs: retryAfter,
    ...lastingBy(error.errorClass),
  };
}
