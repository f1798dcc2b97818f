/** What every report says of one order, whatever it was sent for. */
import { formatScaled } from "../domain/decimal.js";
import type { OrderStatus } from "../domain/order.js";
import type { OrderAttempt } from "./trade-run.js";

export function statusOf(attempt: OrderAttempt): OrderStatus {
  if (attempt.outcome === "CONFIRMED") return attempt.order?.status ?? "UNKNOWN";
  return attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT" ? "REJECTED" : "UNKNOWN";
}

export function filledLots(attempt: OrderAttempt): number {
  return attempt.order?.filledLots ?? 0;
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
export function orderPrice({ priceDecimals, priceTicks, unpriced }: OrderAttempt): string {
  return unpriced === true ? "0" : formatScaled(priceTicks, priceDecimals);
}

/** The bound that the order carried; null where its venue takes none with such orders. */
export function worstPrice({ priceDecimals, priceTicks, unpriced }: OrderAttempt): string | null {
  return unpriced === true ? null : formatScaled(priceTicks, priceDecimals);
}
