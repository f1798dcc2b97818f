/** What every report says of one order, whatever it was sent for. */
import { formatScaled } from "../domain/decimal.js";
import type { OrderStatus } from "../domain/order.js";
import { isOfUnknownOutcome, mayRest, positionAttempts, type OrderAttempt, type TradeRun } from "./run.js";

export function statusOf(attempt: OrderAttempt): OrderStatus {
  if (attempt.outcome === "CONFIRMED") return attempt.order?.status ?? "UNKNOWN";
  return attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT" ? "REJECTED" : "UNKNOWN";
}

export function filledLots(attempt: OrderAttempt): number {
  return attempt.order?.filledLots ?? 0;
}

/** The size that it has, or had at its end: as it was sent, or as it was changed to, and what filled at the least. */
export function submittedLots(attempt: OrderAttempt): number {
  const { changedLots, qtyLots } = attempt;
  return changedLots === undefined ? qtyLots : Math.max(changedLots, filledLots(attempt));
}

/** The price that it has, or had at its end: as it was sent, or as it was changed to. */
export function submittedTicks({ changedTicks, priceTicks }: OrderAttempt): number {
  return changedTicks ?? priceTicks;
}

/** Nothing of it was executed, nor can be. */
export function isUnfilled(attempt: OrderAttempt): boolean {
  if (attempt.outcome === "NOT_SENT" || attempt.outcome === "REJECTED") return true;
  const { order } = attempt;
  if (attempt.outcome !== "CONFIRMED" || order === null || order.filledLots > 0) return false;
  return order.status === "CANCELED" || order.status === "REJECTED";
}

/** Exact digits; null while the venue has given none. */
export function orderId(attempt: OrderAttempt): string | null {
  const id = attempt.order?.venueOrderId ?? "";
  return id === "" ? null : id;
}

/** Of the order as its venue has it: its limit or bound, "0" where it carries none. */
export function orderPrice(attempt: OrderAttempt): string {
  return worstPrice(attempt) ?? "0";
}

/** The bound that the order carries; null where its venue takes none with such orders. */
export function worstPrice(attempt: OrderAttempt): string | null {
  return attempt.unpriced === true ? null : formatScaled(submittedTicks(attempt), attempt.priceDecimals);
}

/** The venue has it, and it has not ended. */
export function isOpen({ order }: OrderAttempt): boolean {
  return order?.status === "OPEN" || order?.status === "PARTIALLY_FILLED";
}

/** By an order that was not meant to rest; what one that rests will fill is not waited for. */
export function mayYetFill(attempt: OrderAttempt): boolean {
  return isOfUnknownOutcome(attempt) || (isOpen(attempt) && !mayRest(attempt));
}

/** Of the entry, by an order that rests among others. */
export function mayFillMore(run: TradeRun): boolean {
  return positionAttempts(run).some((attempt) => mayYetFill(attempt) || isOpen(attempt));
}
