/**
 * Orders at a venue that gives an order a new id, and the size that is left of it, with each change: what filled under all
 * of its ids is what the order filled. Pure.
 *
 * Invariant: what an id filled never shrinks, and is counted once.
 *
 * Bounds: MAX_PARTS ids, those that filled nothing go first; MAX_OTHER_IDS that were named and are not read yet.
 */
import { formatScaledBig, isPlainDecimal, parseScaledBig } from "../domain/decimal.js";
import { addRatio, divideRatio, formatRatio, multiplyRatio, ratio, ratioFromText } from "../domain/decimal-ratio.js";
import type { OrderStatus, VenueOrder } from "../domain/order.js";

/** What the order was under one of its ids, as it was last seen. */
export type OrderPart = Pick<VenueOrder, "venueOrderId" | "qtyLots" | "filledLots" | "averagePrice" | "fee">;

/** What is known of such an order; each but `order` is absent for orders that keep their id. */
interface PartedOrder {
  readonly order: VenueOrder | null;
  readonly newIdPerChange?: true;
  /** Ids that it was named under and that nobody has read yet, oldest first. */
  readonly otherIds?: readonly string[];
  /** Oldest first; absent: it has had one id. */
  readonly parts?: readonly OrderPart[];
}

const MAX_PARTS = 64;
export const MAX_OTHER_IDS = 64;
const AVERAGE_PLACES = 8;
/** Scale that holds any fee text exactly. */
const FEE_PLACES = 24;

/** The order as `seen` adds to what is known of it; `parts`: of all its ids. `isReplaced`: another id is in its place. */
export function wholeOrder(
  { newIdPerChange, order: known, parts }: PartedOrder,
  seen: VenueOrder,
  isReplaced = false,
): { readonly order: VenueOrder; readonly parts?: readonly OrderPart[] } {
  if (newIdPerChange !== true || known === null || known.venueOrderId === "" || seen.venueOrderId === "")
    return { order: seen };
  const before = parts ?? [partOf(known)];
  const after = withPart(before, partOf(seen), isReplaced);
  const newest = after.at(-1);
  if (after.length === 1 || newest === undefined) return { order: seen };
  const filledLots = after.reduce((sum, part) => sum + part.filledLots, 0);
  const base = newest.venueOrderId === seen.venueOrderId ? seen : known;
  const order = {
    ...base,
    status: statusOf(base.status, filledLots),
    qtyLots: filledLots - newest.filledLots + newest.qtyLots,
    filledLots,
    averagePrice: averageOf(after),
    fee: feeOf(after),
  };
  return { order, parts: after };
}

/** Less filled than is known, with what the other ids filled: a read that lags behind proves nothing. */
export function isBehind({ order: known = null, ...of }: Partial<PartedOrder>, seen: VenueOrder): boolean {
  return known !== null && wholeOrder({ ...of, order: known }, seen).order.filledLots < known.filledLots;
}

/** The id in whose place `seen` is under the same client id; null: that is not seen, or is known already. */
export function replacedId(
  { newIdPerChange, order: known, parts }: Partial<PartedOrder>,
  seen: VenueOrder,
): string | null {
  if (
    newIdPerChange !== true ||
    known === null ||
    known === undefined ||
    known.venueOrderId === "" ||
    seen.venueOrderId === ""
  )
    return null;
  const isKnown = (parts ?? [known]).some(({ venueOrderId }) => venueOrderId === seen.venueOrderId);
  return isKnown ? null : known.venueOrderId;
}

/** Is another id than those known that of the order, by the client id that both have? */
export function isOtherId(
  { newIdPerChange, order: known, parts }: Partial<PartedOrder>,
  venueOrderId: string,
): boolean {
  if (newIdPerChange !== true || known === null || known === undefined || known.venueOrderId === "") return false;
  return venueOrderId !== "" && !(parts ?? [known]).some((part) => part.venueOrderId === venueOrderId);
}

/** Ids to be read before `seen` is taken: what they filled may be missing. */
export function unreadIds(attempt: Partial<PartedOrder>, seen: VenueOrder): readonly string[] {
  const replaced = replacedId(attempt, seen);
  const others = (attempt.otherIds ?? []).filter((id) => id !== seen.venueOrderId && isOtherId(attempt, id));
  return replaced === null ? others : [replaced, ...others];
}

/**
 * Does what is seen of one id tell too little of the order? Another id may be missing what the one before it filled, an id
 * that is canceled may have another in its place, and one that was named may have filled.
 */
export function isOneIdAlone(known: Partial<PartedOrder>, seen: VenueOrder): boolean {
  if (known.newIdPerChange !== true) return false;
  return seen.status === "CANCELED" || unreadIds(known, seen).length > 0;
}

/** It fills no more, and may have another in its place. */
export function isOver({ status }: VenueOrder): boolean {
  return status === "CANCELED" || status === "REJECTED";
}

/** What an id filled that has another in its place: no end of the order. */
export function asProgress(replaced: VenueOrder): VenueOrder {
  return { ...replaced, status: replaced.filledLots > 0 ? "PARTIALLY_FILLED" : "OPEN" };
}

function partOf({ averagePrice, fee, filledLots, qtyLots, venueOrderId }: VenueOrder): OrderPart {
  const isPlain = averagePrice !== null && isPlainDecimal(averagePrice);
  return { venueOrderId, qtyLots, filledLots, averagePrice: isPlain ? averagePrice : null, fee };
}

function withPart(parts: readonly OrderPart[], seen: OrderPart, isReplaced: boolean): readonly OrderPart[] {
  if (!parts.some(({ venueOrderId }) => venueOrderId === seen.venueOrderId))
    return withinBound(isReplaced ? [...parts.slice(0, -1), seen, ...parts.slice(-1)] : [...parts, seen]);
  return parts.map((part) => (part.venueOrderId === seen.venueOrderId ? later(part, seen) : part));
}

/** Ids of long ago are not seen again: those that filled nothing go, then two that filled become one. */
function withinBound(parts: readonly OrderPart[]): readonly OrderPart[] {
  if (parts.length <= MAX_PARTS) return parts;
  const unfilled = parts.findIndex(({ filledLots }, index) => filledLots === 0 && index < parts.length - 2);
  if (unfilled !== -1) return parts.filter((_, index) => index !== unfilled);
  const [first, second, ...rest] = parts;
  if (first === undefined || second === undefined) return parts;
  const both = [first, second];
  const filledLots = first.filledLots + second.filledLots;
  return [{ ...second, filledLots, qtyLots: filledLots, averagePrice: averageOf(both), fee: feeOf(both) }, ...rest];
}

/** Of two sights of one id the one that shows more, by its fills, then by their price. */
function later(known: OrderPart, seen: OrderPart): OrderPart {
  if (seen.filledLots !== known.filledLots) return seen.filledLots > known.filledLots ? seen : known;
  return { ...seen, averagePrice: seen.averagePrice ?? known.averagePrice, fee: seen.fee ?? known.fee };
}

function statusOf(status: OrderStatus, filledLots: number): OrderStatus {
  if (filledLots === 0) return status;
  if (status === "OPEN") return "PARTIALLY_FILLED";
  return status === "REJECTED" ? "CANCELED" : status;
}

/** Null while the price of one fill is not known. */
function averageOf(parts: readonly OrderPart[]): string | null {
  let lots = ratio(0n);
  let value = ratio(0n);
  for (const { averagePrice, filledLots } of parts) {
    if (filledLots === 0) continue;
    if (averagePrice === null) return null;
    const filled = ratio(BigInt(filledLots));
    lots = addRatio(lots, filled);
    value = addRatio(value, multiplyRatio(ratioFromText(averagePrice), filled));
  }
  return lots.num === 0n ? null : formatRatio(divideRatio(value, lots), AVERAGE_PLACES, "floor");
}

/** Null where one is not reported, or they are not of one asset. */
function feeOf(parts: readonly OrderPart[]): VenueOrder["fee"] {
  let sum = 0n;
  let asset: string | null = null;
  for (const { fee, filledLots } of parts) {
    if (filledLots === 0) continue;
    const amount = fee === null ? null : parseScaledBig(fee.amount, FEE_PLACES);
    if (fee === null || amount === null || (asset !== null && asset !== fee.asset)) return null;
    sum += amount;
    asset = fee.asset;
  }
  return asset === null ? null : { amount: formatScaledBig(sum, FEE_PLACES), asset };
}
