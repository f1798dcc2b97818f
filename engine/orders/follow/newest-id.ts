/**
 * Which of the ids of an order is its newest, at a venue that gives it a new one with each change: a look by client id may
 * find one that has another in its place, which the venue's index of client ids lacks.
 */
import type { VenueOrder } from "../../domain/order.js";
import { asProgress, isOver, unreadIds } from "../order-parts.js";
import type { OrderAttempt } from "../run.js";
import { dropOtherId } from "../run-writes.js";

export interface IdReads {
  /** By the venue's id. Null: it did not answer, or nobody looks for the order any more. */
  read(venueOrderId: string): Promise<{ readonly order: VenueOrder | null } | null>;
  /** What an id filled that has another in its place; no end of the order. False: its price is to be read first. */
  seeReplaced(progress: VenueOrder): boolean;
}

/**
 * The order under its newest id, once what the others filled is seen: `found`, or one that is in its place. Null where that
 * cannot be learnt now.
 */
export async function newestOf(attempt: OrderAttempt, found: VenueOrder, reads: IdReads): Promise<VenueOrder | null> {
  let newest = found;
  for (const venueOrderId of unreadIds(attempt, found)) {
    const read = await reads.read(venueOrderId);
    if (read === null) return null;
    const { order } = read;
    const isKnown = venueOrderId === attempt.order?.venueOrderId;
    if (order !== null && !isKnown && !isOver(order)) {
      // Beside one that is not over it is newer still: the next look finds it.
      if (isOver(found)) newest = order;
      continue;
    }
    if (order !== null && !reads.seeReplaced(asProgress(order))) return null;
    dropOtherId(attempt, venueOrderId);
  }
  return newest === found || reads.seeReplaced(asProgress(found)) ? newest : null;
}
