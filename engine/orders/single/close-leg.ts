/**
 * One leg of a close: a live position reduced by one order, always reduce-only, its side derived, its size at most what
 * is held. "Reduce only would increase" means that the position is not what was read: it is read again, once.
 */
import type { Clock } from "../../domain/clock.js";
import { formatScaled } from "../../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import { closingSide, type Direction, type PositionSide, type Side } from "../../domain/order.js";
import { floorQty } from "../../domain/price-grid.js";
import type { VenuePosition } from "../../domain/position.js";
import type { AccountSession, Read, VenueRoom } from "../../ports.js";
import { within, type Deadline } from "../../domain/deadline.js";
import { verifiedPositions } from "../decide/readings.js";
import { POSITIONS_DEADLINE_MS } from "../limits.js";
import { boundMarket } from "./market-bound.js";
import { readRefusal } from "./open-account.js";
import { checkBound, checkPrice, refusal } from "./order-check.js";
import type {
  CloseLeg,
  CloseLegStatus,
  OrderAccount,
  OrderAdjustment,
  OrderAnswer,
  OrderRequestContext,
  OrderFacts,
  OrderRefusal,
} from "./order-desk.js";
import type { HeldBound } from "./order-price.js";
import type { Planned, SinglePlacements } from "./single-place.js";

/** Which position, and how much of it. Plain data: kept with an idempotency key. */
export interface LegPlan {
  readonly venue: OrderAccount["venue"];
  readonly symbol: string;
  readonly nativeSymbol: string;
  readonly direction: Direction;
  readonly positionSide: PositionSide;
  readonly positionLots: number;
  readonly qtyLots: number;
}

/** How legs are closed: the same for all legs of a request. */
export interface LegTerms {
  readonly type: "MARKET" | "LIMIT";
  /** LIMIT: the price, on the grid. MARKET: the caller's own worst price, or null. */
  readonly price: string | null;
  readonly maxSlippageBps: number;
  readonly clientOrderId: string | null;
  readonly idempotencyKey: string | null;
  readonly context: OrderRequestContext;
  readonly deadline: Deadline;
}

/** `read`: the position as this request read it; null: read it again first (a crash lies between). */
export async function closeLeg(
  parts: { readonly clock: Clock },
  placements: SinglePlacements,
  account: OrderAccount,
  room: VenueRoom,
  leg: LegPlan,
  terms: LegTerms,
  read: VenuePosition | null,
): Promise<CloseLeg> {
  const instrument = room.markets.get(leg.symbol)?.instrument;
  if (instrument === undefined || instrument.nativeSymbol !== leg.nativeSymbol) return notFollowed(room, leg);
  const { clientOrderId, context, deadline, idempotencyKey } = terms;
  const held: HeldBound = { ticks: null };
  const perform = (inPlaceOf: string | null, known: VenuePosition | null): Promise<OrderAnswer> =>
    placements.perform(
      {
        account,
        room,
        instrument,
        clientOrderId,
        inPlaceOf,
        held,
        deadline,
        idempotencyKey: idempotencyKey === null ? null : legKey(idempotencyKey, leg, inPlaceOf !== null),
        plan: ({ session }) => planLeg(parts, room, session, instrument, leg, terms, known),
      },
      context,
    );
  let answer = await perform(null, read);
  if (!answer.ok && answer.code === "VENUE_REJECTED" && answer.details.reason === "REDUCE_ONLY") {
    answer = await perform(String(answer.details.orderRef), null);
  }
  const closed = legOf(leg, instrument, answer);
  // Venues end an order for want of a position with the same word, or none, as an order in a thin book.
  if (!mayLackPosition(answer, closed) || !(await isGone(parts, account, room, instrument, leg, terms))) return closed;
  if (closed.status === "PARTIAL") return { ...closed, note: "ALREADY_FLAT" };
  return { ...closed, status: "CLOSED", note: "ALREADY_FLAT", order: null, error: null };
}

/** Ended at the venue with lots unfilled, and not for a reason that is another one. */
function mayLackPosition(answer: OrderAnswer, { status }: CloseLeg): boolean {
  if (answer.ok) return status === "FAILED" || status === "PARTIAL";
  const { reason } = answer.details;
  return answer.code === "VENUE_REJECTED" && (reason === "REDUCE_ONLY" || reason === "VENUE_STATE");
}

/** True only where the venue shows that nothing of the leg is held any more. */
async function isGone(
  parts: { readonly clock: Clock },
  account: OrderAccount,
  room: VenueRoom,
  instrument: Instrument,
  leg: LegPlan,
  { context, deadline }: Pick<LegTerms, "context" | "deadline">,
): Promise<boolean> {
  const opened = room.openSession(account.credentials, context.payer);
  if (!opened.ok) return false;
  try {
    const timeoutMs = Math.max(1, Math.min(POSITIONS_DEADLINE_MS, deadline.leftMs()));
    const reading = verifiedPositions(room, opened.session, instrument, { timeoutMs, lane: "exit" });
    const read = await within(parts.clock, reading, timeoutMs);
    return read.done && read.value.ok && !read.value.value.some((held) => held.qtyLots > 0 && isOfLeg(held, leg));
  } finally {
    opened.session.close();
  }
}

async function planLeg(
  parts: { readonly clock: Clock },
  room: VenueRoom,
  session: AccountSession,
  instrument: Instrument,
  leg: LegPlan,
  terms: LegTerms,
  known: VenuePosition | null,
): Promise<Planned> {
  let held = known;
  if (held === null) {
    // Flat turns on it.
    const read = await readLive(parts, room, session, instrument, terms.deadline, "verified");
    if (!read.ok) return positionsRefusal(leg.venue, read);
    held = read.value.find((position) => isOfLeg(position, leg)) ?? null;
  }
  return planHeld(instrument, leg, terms, held);
}

/** The order that reduces what is held now, its price still to be bounded. */
function planHeld(
  instrument: Instrument,
  leg: LegPlan,
  terms: Pick<LegTerms, "type" | "price" | "maxSlippageBps">,
  held: VenuePosition | null,
): Planned {
  const heldLots = held?.qtyLots ?? 0;
  if (held === null || heldLots === 0) return flat();
  const size = clampedSize(instrument, leg, heldLots);
  if (!size.ok) return size;
  const side = closingSide(leg.direction);
  const price = legPrice(instrument, side, terms);
  if (!price.ok) return price;
  const isLimit = terms.type === "LIMIT";
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const { entryPrice, positionSide } = held;
  return {
    ok: true,
    order: {
      type: terms.type,
      side,
      direction: leg.direction,
      positionSide,
      reduceOnly: true,
      timeInForce: isLimit ? "GTC" : "IOC",
      qtyLots: size.qtyLots,
      trigger: null,
      priceTicks: isLimit ? price.ticks : null,
      worstTicks: isLimit ? null : price.ticks,
      maxSlippageBps: terms.maxSlippageBps,
      adjustments: [...size.adjustments, ...price.adjustments],
    },
    positionsBefore: [{ venue: leg.venue, qtyLots: heldLots, qtyDecimals, entryPrice }],
  };
}

/** The leg's size, at most what is held and what one order may be. */
function clampedSize(
  instrument: Instrument,
  leg: LegPlan,
  heldLots: number,
): { readonly ok: true; readonly qtyLots: number; readonly adjustments: readonly OrderAdjustment[] } | OrderRefusal {
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const sizeText = (lots: number): string => formatScaled(lots, qtyDecimals);
  const adjustments: OrderAdjustment[] = [];
  let qtyLots = leg.qtyLots;
  const clampTo = (lots: number, rule: string): void => {
    if (lots === qtyLots) return;
    adjustments.push({ field: "size", from: sizeText(qtyLots), to: sizeText(lots), rule });
    qtyLots = lots;
  };
  clampTo(Math.min(qtyLots, heldLots), "POSITION_SIZE");
  clampTo(Math.min(qtyLots, instrument.maxQtyLots), "MAX_SIZE");
  clampTo(floorQty(instrument, qtyLots), "LOT_SIZE");
  if (qtyLots < Math.max(1, instrument.minQtyLots)) {
    return refusal("BELOW_MIN_SIZE", {
      exchange: leg.venue,
      minimum: sizeText(instrument.minQtyLots),
      reason: "DUST_REMAINDER",
    });
  }
  return { ok: true, qtyLots, adjustments };
}

/** A LIMIT's price, or the caller's own bound; null ticks where it brings none. */
function legPrice(
  instrument: Instrument,
  side: Side,
  { price, type }: Pick<LegTerms, "type" | "price">,
):
  | { readonly ok: true; readonly ticks: number | null; readonly adjustments: readonly OrderAdjustment[] }
  | OrderRefusal {
  if (price === null) return { ok: true, ticks: null, adjustments: [] };
  return type === "LIMIT" ? checkPrice(instrument, "price", price) : checkBound(instrument, side, price);
}

/** What a MARKET leg would send now: its size and its bound, or why it could not. */
export function simulateLeg(
  parts: { readonly clock: Clock },
  room: VenueRoom,
  leg: LegPlan,
  terms: Pick<LegTerms, "type" | "price" | "maxSlippageBps">,
  held: VenuePosition | null,
): CloseLeg {
  const market = room.markets.get(leg.symbol);
  if (market === undefined || market.instrument.nativeSymbol !== leg.nativeSymbol) return notFollowed(room, leg);
  const { instrument } = market;
  const planned = planHeld(instrument, leg, terms, held);
  if (!planned.ok) return legOf(leg, instrument, planned);
  const { side, qtyLots, worstTicks } = planned.order;
  const ask = { side, qtyLots, worstTicks, maxSlippageBps: terms.maxSlippageBps, heldTicks: null };
  const bound = boundMarket(market, ask, parts.clock.monoNs());
  if (!bound.ok) return legOf(leg, instrument, bound);
  const size = formatScaled(qtyLots, canonicalQtyDecimals(instrument));
  const worstPrice = formatScaled(bound.priceTicks, canonicalPriceDecimals(instrument));
  return {
    ...legHead(leg, instrument),
    requestedSize: size,
    worstPrice,
    filledSize: "0",
    status: "SIMULATED",
    note: null,
    order: null,
    error: null,
  };
}

/**
 * Live positions: streamed where that may replace a read, or read now; `verified`: by the venue itself. Null reads
 * every symbol, holdings that nobody can count included.
 */
export async function readLive(
  parts: { readonly clock: Clock },
  room: VenueRoom,
  session: AccountSession,
  instrument: Instrument | null,
  deadline: Deadline,
  how: "streamed" | "verified",
): Promise<Read<readonly VenuePosition[]>> {
  const { reader } = room;
  const isVerified = how === "verified";
  const streamed = instrument === null || isVerified ? null : (reader.heldPositions?.(session, instrument) ?? null);
  const timeoutMs = Math.max(1, Math.min(POSITIONS_DEADLINE_MS, deadline.leftMs()));
  const options = { timeoutMs, lane: "exit" } as const;
  const read =
    streamed ??
    (await within(
      parts.clock,
      isVerified
        ? verifiedPositions(room, session, instrument, options)
        : reader.readPositions(session, instrument, options),
      timeoutMs,
    ));
  const answer: Read<readonly VenuePosition[]> =
    "done" in read ? (read.done ? read.value : { ok: false, code: "TIMEOUT", message: "", retryAfterMs: null }) : read;
  if (!answer.ok) return answer;
  const isWanted = ({ nativeSymbol, qtyLots, uncounted }: VenuePosition): boolean =>
    instrument === null
      ? qtyLots > 0 || uncounted !== undefined
      : qtyLots > 0 && nativeSymbol === instrument.nativeSymbol;
  return { ...answer, value: answer.value.filter(isWanted) };
}

/** Positions that cannot be read: nothing is closed, and that is no "flat". */
export function positionsRefusal(
  exchange: OrderAccount["venue"],
  failure: Extract<Read<unknown>, { ok: false }>,
): OrderRefusal {
  const code = failure.code === "RATE_LIMITED" ? "VENUE_RATE_LIMITED" : "VENUE_UNAVAILABLE";
  return readRefusal(code, exchange, failure);
}

/** `held`: what is open of the contract, if only in the other direction. */
export function flat(held: readonly VenuePosition[] = []): OrderRefusal {
  const reason = held.some(({ qtyLots }) => qtyLots > 0) ? "DIRECTION_MISMATCH" : "NO_POSITION";
  return refusal("SIZE_EXCEEDS_POSITION", { maxSingleVenueSize: "0", maxTotalSize: "0", reason });
}

function isOfLeg(position: VenuePosition, leg: LegPlan): boolean {
  return position.nativeSymbol === leg.nativeSymbol && position.direction === leg.direction;
}

function legKey(key: string, leg: LegPlan, again: boolean): string {
  return [key, leg.venue, leg.nativeSymbol, leg.direction, ...(again ? ["again"] : [])].join("|");
}

/** A leg that no order is sent for. */
export function unsentLeg(room: VenueRoom, leg: LegPlan, why: OrderRefusal): CloseLeg {
  return legOf(leg, room.markets.get(leg.symbol)?.instrument ?? null, why);
}

/** Held in a contract without a market: there is no live book that could bound the price of its close. */
function notFollowed(room: VenueRoom, leg: LegPlan): CloseLeg {
  const known = room.instruments?.get(leg.symbol);
  const instrument = known?.nativeSymbol === leg.nativeSymbol ? known : null;
  return legOf(leg, instrument, unlistedRefusal(leg.venue, leg.symbol, "NOT_FOLLOWED"));
}

/** A holding that cannot be counted: it is reported, and left as it is. */
export function uncountedLeg({ venue, symbol, direction, positionSide, uncounted = "0" }: VenuePosition): CloseLeg {
  const { code, details } = unlistedRefusal(venue, symbol, "NOT_LISTED");
  return {
    venue,
    symbol,
    direction,
    positionSide,
    positionSize: uncounted,
    requestedSize: uncounted,
    filledSize: "0",
    status: "FAILED",
    note: null,
    order: null,
    error: { code, details },
  };
}

function unlistedRefusal(
  exchange: OrderAccount["venue"],
  symbol: string,
  reason: "NOT_LISTED" | "NOT_FOLLOWED",
): OrderRefusal {
  const why = reason === "NOT_LISTED" ? "does not list" : "does not follow (SYMBOLS), so no live book bounds a close";
  return refusal("POSITION_UNLISTED", { exchange, symbol, reason, why });
}

type LegHead = Pick<CloseLeg, "venue" | "symbol" | "direction" | "positionSide" | "positionSize" | "requestedSize">;

function legHead(leg: LegPlan, instrument: Instrument | null): LegHead {
  const qtyDecimals = instrument === null ? 0 : canonicalQtyDecimals(instrument);
  const { venue, symbol, direction, positionSide } = leg;
  const positionSize = formatScaled(leg.positionLots, qtyDecimals);
  return {
    venue,
    symbol,
    direction,
    positionSide,
    positionSize,
    requestedSize: formatScaled(leg.qtyLots, qtyDecimals),
  };
}

function legOf(leg: LegPlan, instrument: Instrument | null, answer: OrderAnswer): CloseLeg {
  const { venue } = leg;
  const what = legHead(leg, instrument);
  if (!answer.ok) {
    const { code, details } = answer;
    // It was there when the request came, and is gone: that is what was asked for.
    const isFlat = code === "SIZE_EXCEEDS_POSITION";
    const error = isFlat ? null : { code, details };
    const status: CloseLegStatus = isFlat ? "CLOSED" : "FAILED";
    return { ...what, filledSize: "0", status, note: isFlat ? "ALREADY_FLAT" : null, order: null, error };
  }
  const { order } = answer;
  const filledLots = order.venueOrder?.filledLots ?? 0;
  const status = legStatus(order, filledLots, leg.qtyLots);
  const error =
    status === "FAILED"
      ? { code: "VENUE_REJECTED" as const, details: { exchange: venue, reason: "NO_LIQUIDITY" } }
      : null;
  return { ...what, filledSize: order.filledQuantity, status, note: null, order, error };
}

function legStatus(order: OrderFacts, filledLots: number, qtyLots: number): CloseLegStatus {
  if (order.outcome === "UNKNOWN" || order.status === "UNKNOWN") return "UNKNOWN";
  if (order.status === "OPEN" || order.status === "PARTIALLY_FILLED")
    return order.type === "LIMIT" ? "RESTING" : "UNKNOWN";
  if (filledLots >= qtyLots) return "CLOSED";
  return filledLots > 0 ? "PARTIAL" : "FAILED";
}
