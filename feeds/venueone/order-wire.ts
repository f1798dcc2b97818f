// hot path
/**
 * venueone's order requests as text and its answers as outcomes: the pure half of orders.ts. Every text written here
 * is digits, hex or a word of the venue, so nothing needs escaping.
 */
import { parseScaled } from "../../engine/domain/decimal.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../engine/domain/order.js";
import type { OrderRef } from "../../engine/ports.js";
import { type HttpResponse, type RejectedOrder, venueText } from "../shared/call-results.js";
import type { VenueoneWireStatus } from "./account-wire.js";
import { classifyText, type VenueError } from "./errors.js";
import type { WireLimitOrder, WireSignature } from "./sign.js";

/** What must hold before anything is signed: a wrong number here is a fault of ours, and must not leave. */
export function commandProblem(command: OrderCommand): RejectedOrder | null {
  const { instrument } = command;
  if (instrument.venue !== "venueone" || instrument.nativeId < 0)
    return localReject("VENUE_STATE", "INSTRUMENT", "not an instrument of this venue");
  if (!Number.isSafeInteger(command.priceTicks) || command.priceTicks <= 0)
    return localReject("PRICE", "PRICE", "price is not a positive number of ticks");
  if (!Number.isSafeInteger(command.qtyLots) || command.qtyLots <= 0)
    return localReject("SIZE", "SIZE", "size is not a positive number of lots");
  if (!/^[0-9a-f]{32}$/.test(command.clientIdHex))
    return localReject("VENUE_STATE", "CLIENT_ID", "client id is not 128 bits of hex");
  // The venue has one-way accounts only.
  if (command.positionSide !== "BOTH")
    return localReject("VENUE_STATE", "POSITION_SIDE", "this venue has no hedge mode");
  return null;
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
    if (!/^[0-9a-f]{32}$/.test(ref.clientIdHex)) return null;
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
    type: command.type,
    // `filled` is also the venue's word for an IOC whose remainder was dropped, and for a clamped reduce-only order.
    status: status.kind !== "filled" ? "OPEN" : filledLots === command.qtyLots ? "FILLED" : "CANCELED",
    venueStatus: status.kind === "waiting" ? status.word : status.kind,
    priceTicks: command.priceTicks,
    qtyLots: command.qtyLots,
    filledLots,
    averagePrice: status.kind === "filled" ? status.avgPx : null,
    reduceOnly: command.reduceOnly,
    triggerPrice: null,
    tsVenueMs: Math.round(response.receivedAtMs + clockOffsetMs),
    fee: null,
  };
  return { outcome: "accepted", order, ackMs: response.receivedAtMs - response.sentAtMs };
}

export function refusal(error: VenueError, text: string, retryAfter: number | null): RejectedOrder {
  return {
    outcome: "rejected",
    reason: error.reason,
    venueCode: error.code,
    venueText: venueText(text),
    sent: true,
    retryAfterMs: retryAfter,
  };
}

export function localReject(reason: RejectedOrder["reason"], venueCode: string, text: string): RejectedOrder {
  return { outcome: "rejected", reason, venueCode, venueText: text, sent: false, retryAfterMs: null };
}
