/**
 * Changes to orders that are open at the venue: cancel, amend, cancel all. Each is idempotent by nature, so an outcome
 * that is not known is reported as such and may be asked for again; nothing here is ever repeated on its own, save a
 * cancel that named the wrong symbol.
 */
import { logUnsentCall } from "../send/debug-lines.js";
import type { RecentOrders } from "./recent-orders.js";
import type { Logger } from "../../domain/logger.js";
import type { Clock } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { AmendOutcome, CancelOutcome, OrderChange, Refused, VenueOrder } from "../../domain/order.js";
import type { OrderRef } from "../../ports.js";
import { problemOf } from "../background.js";
import type { Deadline } from "../../domain/deadline.js";
import type { OrderListeners } from "../follow/order-listeners.js";
import { redactVenueText } from "../redact.js";
import { guardChange, releaseReservation, type AmendGuardParts } from "./amend-guard.js";
import { cancelAllOrders } from "./cancel-all.js";
import { callOptions, isInstrument, listedInstrument, type OpenedAccount } from "./open-account.js";
import { limitBandRefusal } from "./limit-band.js";
import { checkPrice, checkQuantity, invalid, refusal } from "./order-check.js";
import type {
  AmendAnswer,
  AmendRequest,
  CancelAllAnswer,
  CancelAllRequest,
  CancelAnswer,
  OrderRequestContext,
  OrderName,
  OrderRefusal,
} from "./order-desk.js";
import { factsOfVenueOrder, instrumentOf, isUnsupported } from "./order-facts.js";
import {
  lookRefusal,
  lookUp,
  nameOrder,
  type Look,
  type NamedOrder,
  ownTerms,
  settleNamed,
  type OwnTermsParts,
  type NameParts,
} from "./order-lookup.js";
import type { SingleConclusion } from "./single-conclude.js";
import { lastAttempt } from "./single-run.js";
import type { SettleParts } from "./single-settle.js";

/** What cancels an order. */
export interface CancelParts extends OwnTermsParts, NameParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recent: RecentOrders;
  /** Who follows the order learns of a new id of it. */
  readonly listeners: Pick<OrderListeners, "hasListener" | "name">;
}

/** What amends an order. */
export type AmendParts = CancelParts & AmendGuardParts & SettleParts;

export async function cancelOrder(
  parts: CancelParts,
  opened: OpenedAccount,
  request: OrderName,
  deadline: Deadline,
): Promise<CancelAnswer> {
  const named = await nameOrder(parts, opened, request);
  const [ref] = named.refs;
  if (ref === undefined) return refusal("ORDER_NOT_FOUND", { orderId: request.orderId, exchange: request.venue });
  // More than one reading of the name, or no symbol: only a look tells which order is meant.
  if (named.instrument === null || named.refs.length > 1)
    return cancelFound(parts, opened, request, named, deadline, null);
  const outcome = await sendCancel(parts, opened, named.instrument, ref, deadline);
  if (outcome.outcome === "rejected" && outcome.reason === "NOT_FOUND") {
    return cancelFound(parts, opened, request, named, deadline, named.instrument);
  }
  return cancelAnswer(opened, request, named.instrument, outcome);
}

/** Looks the order up first. `tried`: the symbol under which the venue knew no such order. */
async function cancelFound(
  parts: CancelParts,
  opened: OpenedAccount,
  request: OrderName,
  named: NamedOrder,
  deadline: Deadline,
  tried: Instrument | null,
): Promise<CancelAnswer> {
  const { orderId, venue } = request;
  const look = await lookUpNewest(parts, opened, named, deadline);
  if (look.kind === "failed") return lookRefusal(venue, look);
  if (look.kind === "absent") {
    const { unsettled } = named;
    // On its way still, or just accepted and not listed yet: that the venue does not know it now proves nothing of later.
    const run = unsettled?.run ?? parts.recent.find(opened.accountHashes, orderId);
    if (run !== null) return { ok: true, outcome: "UNKNOWN", orderId, symbol: run.symbol, order: null };
    return refusal("ORDER_NOT_FOUND", { orderId, exchange: venue });
  }
  const { order, instrument } = look;
  const facts = factsOfVenueOrder(instrument, order, await ownTerms(parts, opened, order, named.clientOrderId));
  if (order.status !== "OPEN" && order.status !== "PARTIALLY_FILLED" && order.status !== "UNKNOWN") {
    return refusal("ORDER_NOT_OPEN", { orderId, exchange: venue, status: order.status, symbol: instrument.symbol });
  }
  if (tried?.nativeSymbol === instrument.nativeSymbol && order.venueOrderId === "") {
    return { ok: true, outcome: "UNKNOWN", orderId, symbol: instrument.symbol, order: facts };
  }
  const ref: OrderRef | undefined = order.venueOrderId === "" ? named.refs[0] : { venueOrderId: order.venueOrderId };
  if (ref === undefined) return refusal("ORDER_NOT_FOUND", { orderId, exchange: venue });
  const outcome = await sendCancel(parts, opened, instrument, ref, deadline);
  const answer = cancelAnswer(opened, request, instrument, outcome);
  return answer.ok ? { ...answer, order: facts } : answer;
}

/**
 * Where the id is a canceled one of an order of ours that its venue has under another since it was amended, that: whoever
 * has not learnt the new id is told of no end that is none.
 */
async function lookUpNewest(
  parts: Pick<CancelParts, "clock" | "listeners">,
  opened: OpenedAccount,
  named: NamedOrder,
  deadline: Deadline,
): Promise<Look> {
  const look = await lookUp(parts, opened, named, deadline);
  const { newIdPerChange, orders, venue } = opened.room;
  if (look.kind !== "found" || newIdPerChange !== true || look.order.status !== "CANCELED") return look;
  const { venueClientOrderId } = look.order;
  if (venueClientOrderId === null || !parts.listeners.hasListener(venue, venueClientOrderId)) return look;
  const clientIdHex = orders.parseClientOrderId?.(venueClientOrderId) ?? null;
  if (clientIdHex === null) return look;
  const newest = await lookUp(parts, opened, { ...named, refs: [{ clientIdHex }] }, deadline);
  return newest.kind === "absent" ? look : newest;
}

async function sendCancel(
  parts: Pick<CancelParts, "logger">,
  { room, session }: OpenedAccount,
  instrument: Instrument,
  ref: OrderRef,
  deadline: Deadline,
): Promise<CancelOutcome> {
  try {
    const outcome = await room.orders.cancel(session, instrument, ref, callOptions(deadline, "exit"));
    logUnsentCall(parts, { what: "cancel", venue: room.venue, symbol: instrument.symbol }, outcome);
    return outcome;
  } catch (error) {
    // A room that throws is a bug of ours, and by now the cancel may be out.
    parts.logger.error("cancel_threw", { venue: room.venue, problem: problemOf(error) });
    return { outcome: "unknown", cause: "INTERNAL" };
  }
}

function cancelAnswer(
  { secrets }: OpenedAccount,
  { orderId }: OrderName,
  instrument: Instrument,
  outcome: CancelOutcome,
): CancelAnswer {
  const { symbol, venue } = instrument;
  if (outcome.outcome === "rejected") {
    if (outcome.reason === "NOT_FOUND") return refusal("ORDER_NOT_FOUND", { orderId, exchange: venue });
    return refusedBy("CANCEL_REJECTED", venue, outcome, secrets);
  }
  if (outcome.outcome === "unknown") return { ok: true, outcome: "UNKNOWN", orderId, symbol, order: null };
  const pending = outcome.isPending === true ? ({ isPending: true } as const) : {};
  return { ok: true, outcome: "ACCEPTED", ...pending, orderId, symbol, order: null };
}

/** An order that may still be changed. */
interface OpenOrder {
  readonly ok: true;
  readonly current: VenueOrder;
  readonly instrument: Instrument;
}

export async function amendOrder(
  parts: AmendParts,
  conclusion: SingleConclusion,
  opened: OpenedAccount,
  request: AmendRequest,
  context: OrderRequestContext,
  deadline: Deadline,
): Promise<AmendAnswer> {
  const { room, session, secrets } = opened;
  const { orders } = room;
  const { orderId, venue } = request;
  if (request.price === null && request.quantity === null) return nothingToChange();
  const { amend } = orders;
  if (amend === undefined) return refusal("NOT_SUPPORTED", { what: `changing orders on ${venue}` });
  const named = await nameOrder(parts, opened, request);
  await settleNamed(parts, conclusion, opened, named, request, deadline);
  const look = await lookUp(parts, opened, named, deadline);
  if (look.kind === "failed") return lookRefusal(venue, look);
  const found = openOrder(parts, opened, request, look);
  if (!found.ok) return found;
  const { current, instrument } = found;
  const checked = changeOf(instrument, current, request);
  if (!checked.ok) return checked;
  const { change } = checked;
  const beyond = request.price === null ? null : beyondBand(parts, opened, found, change);
  if (beyond !== null) return beyond;
  // Before it is counted: a read that fails leaves nothing to release.
  const own = await ownTerms(parts, opened, current, named.clientOrderId);
  const guarded = await guardChange(parts, opened, context, callOptions(deadline, "trade").timeoutMs, found, change);
  if (!guarded.ok) return guarded;
  const stop = guarded.reservation.stoppedBy();
  if (stop !== null) {
    // While the change was being written down.
    releaseReservation(parts, guarded.reservation);
    return refusal(stop, { exchange: venue });
  }
  const outcome = await outcomeOf(parts, venue, () => {
    const lane = current.reduceOnly ? "exit" : "trade";
    return amend.call(orders, session, instrument, current, change, callOptions(deadline, lane));
  });
  if (outcome.outcome === "rejected") {
    logUnsentCall(parts, { what: "amend", venue, symbol: instrument.symbol }, outcome);
    releaseReservation(parts, guarded.reservation);
    if (outcome.reason === "NOT_FOUND") return refusal("ORDER_NOT_OPEN", { orderId, exchange: venue });
    return refusedBy("AMEND_REJECTED", venue, outcome, secrets);
  }
  const shown = noteChange(parts, opened, current, change, outcome);
  const order = factsOfVenueOrder(instrument, shown, own);
  return { ok: true, outcome: outcome.outcome === "accepted" ? "ACCEPTED" : "UNKNOWN", order };
}

/** Returns the order as its venue took the change, as far as it says. */
function noteChange(
  { listeners, recent }: Pick<AmendParts, "listeners" | "recent">,
  { room, venueAccountHash }: OpenedAccount,
  current: VenueOrder,
  change: OrderChange,
  outcome: Exclude<AmendOutcome, Refused>,
): VenueOrder {
  const successor = outcome.outcome === "accepted" ? outcome.order : null;
  if (room.newIdPerChange !== true) recent.change(venueAccountHash, current, change);
  else {
    recent.change(venueAccountHash, current, change, { successor });
    if (successor !== null) listeners.name(room.venue, successor);
  }
  return successor ?? current;
}

function nothingToChange(): OrderRefusal {
  const problem = "price or quantity is required";
  return refusal("MISSING_PARAMETERS", {
    fields: [
      { path: "price", problem },
      { path: "quantity", problem },
    ],
  });
}

/** The order as it is to be changed: as its venue lists it, or as we sent it while it is not listed yet. */
function openOrder(
  parts: Pick<AmendParts, "recent">,
  opened: OpenedAccount,
  { orderId, venue }: AmendRequest,
  look: Exclude<Look, { readonly kind: "failed" }>,
): OpenOrder | OrderRefusal {
  const meant = look.kind === "found" ? look : justSent(parts, opened, orderId);
  if (meant === null) return refusal("ORDER_NOT_FOUND", { orderId, exchange: venue });
  const current = parts.recent.asChanged(opened.venueAccountHash, meant.order);
  if (current.status !== "OPEN" && current.status !== "PARTIALLY_FILLED") {
    return refusal("ORDER_NOT_OPEN", { orderId, exchange: venue, status: current.status });
  }
  return { ok: true, current, instrument: meant.instrument };
}

/** Checks the new price of a LIMIT without a trigger; every other order passes. */
function beyondBand(
  { clock }: Pick<AmendParts, "clock">,
  { room }: OpenedAccount,
  { current, instrument }: OpenOrder,
  { priceTicks }: OrderChange,
): OrderRefusal | null {
  if (current.type !== "LIMIT" || current.triggerPrice !== null) return null;
  return limitBandRefusal(room.markets.get(instrument.symbol), current.side, priceTicks, clock.monoNs());
}

/** A room that throws is a bug of ours, and by then the change may be out. */
async function outcomeOf(
  { logger }: Pick<AmendParts, "logger">,
  venue: Instrument["venue"],
  amend: () => Promise<AmendOutcome>,
): Promise<AmendOutcome> {
  try {
    return await amend();
  } catch (error) {
    logger.error("amend_threw", { venue, problem: problemOf(error) });
    return { outcome: "unknown", cause: "INTERNAL" };
  }
}

function justSent(
  parts: Pick<AmendParts, "recent">,
  { accountHashes, room }: OpenedAccount,
  orderId: string,
): { readonly order: VenueOrder; readonly instrument: Instrument } | null {
  const run = parts.recent.find(accountHashes, orderId);
  const order = run === null ? null : (lastAttempt(run)?.order ?? null);
  const instrument = order === null ? null : instrumentOf(room.markets, order.nativeSymbol);
  return order === null || instrument === null ? null : { order, instrument };
}

/** The change in full, on the venue's grid. */
function changeOf(
  instrument: Instrument,
  current: VenueOrder,
  request: AmendRequest,
): { readonly ok: true; readonly change: OrderChange } | OrderRefusal {
  let { priceTicks, qtyLots } = current;
  if (request.price !== null) {
    const price = checkPrice(instrument, "price", request.price);
    if (!price.ok) return price;
    priceTicks = price.ticks;
  }
  if (request.quantity !== null) {
    const qty = checkQuantity(instrument, "quantity", request.quantity);
    if (!qty.ok) return qty;
    qtyLots = qty.lots;
  }
  if (qtyLots <= current.filledLots) return invalid("quantity", "must be above what has filled already");
  return { ok: true, change: { priceTicks, qtyLots } };
}

export async function cancelEverything(
  parts: Pick<CancelParts, "logger">,
  opened: OpenedAccount,
  request: CancelAllRequest,
  deadline: Deadline,
): Promise<CancelAllAnswer> {
  const { room, session, secrets } = opened;
  let instrument: Instrument | null = null;
  if (request.symbol !== null) {
    const listed = listedInstrument(room, request.symbol);
    if (!isInstrument(listed)) return listed;
    instrument = listed;
  }
  const outcome = await cancelAllOrders(parts, room, session, instrument, callOptions(deadline, "exit"));
  if (outcome.outcome === "rejected") return refusedBy("CANCEL_REJECTED", request.venue, outcome, secrets);
  if (outcome.outcome === "unknown") return { ok: true, outcome: "UNKNOWN", canceledCount: null, failed: [] };
  const failed = outcome.failed.map(({ reason, venueCode, venueText }) => ({
    reason,
    venueCode: redactVenueText(venueCode, secrets),
    venueText: redactVenueText(venueText, secrets),
  }));
  return { ok: true, outcome: "ACCEPTED", canceledCount: outcome.canceledCount, failed };
}

/** A definitive no. What our own side stopped is another code: it is worth trying again. */
export function refusedBy(
  code: OrderRefusal["code"],
  exchange: Instrument["venue"],
  outcome: Refused,
  secrets: readonly string[],
): OrderRefusal {
  const { reason, sent } = outcome;
  const venueText = redactVenueText(outcome.venueText, secrets);
  const venueCode = redactVenueText(outcome.venueCode, secrets);
  const { retryAfterMs } = outcome;
  const when = retryAfterMs === undefined ? {} : { retryAfterMs };
  const details = { exchange, reason, venueCode, venueText, ...when };
  if (reason === "AUTH") return refusal("MISSING_CREDENTIALS", details);
  if (sent) return refusal(code, details);
  if (reason === "RATE_LIMITED") return refusal("VENUE_RATE_LIMITED", details);
  if (reason === "PRICE" || reason === "SIZE") return refusal("INVALID_PARAMETERS", details);
  return isUnsupported(venueCode)
    ? refusal("NOT_SUPPORTED", { ...details, what: venueText })
    : refusal("VENUE_UNAVAILABLE", details);
}
