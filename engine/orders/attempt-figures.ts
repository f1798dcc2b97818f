/** What every report says of one order, whatever it was sent for. */
import type { OrderStatus } from "../domain/order.js";
import type { Attempt } from "./trade-run.js";

export function statusOf(attempt: Attempt): OrderStatus {
  if (attempt.outcome === "CONFIRMED") return attempt.order?.status ?? "UNKNOWN";
  return attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT" ? "REJECTED" : "UNKNOWN";
}

export function filledLots(attempt: Attempt): number {
  return attempt.order?.filledLots ?? 0;
}

/** Exact digits; null while the venue has given none. */
export function orderId(attempt: Attempt): string | null {
  const id = attempt.order?.venueOrderId ?? "";
  return id === "" ? null : id;
}
