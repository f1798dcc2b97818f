/** What is known of an order, by its venue's answer or by a later look, written into its attempt: the same for whoever learns it. */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import { NO_PROOF_OF_ABSENCE } from "./absence-proof.js";
import type { IntentOutcome } from "../durable/intent-log.js";
import type { Resolution } from "./resolver.js";
import { wholeOrder } from "../order-parts.js";
import { isGuard, isSettled, mayRest, type OrderAttempt } from "../run.js";
import {
  recordAck,
  recordBound,
  recordNotPlaced,
  recordOrder,
  recordUnknownStatus,
  recordVerdict,
} from "../run-writes.js";

export interface OutcomeParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Of a venue's own word. */
const MAX_STATUS_CHARS = 100;

/** Writes what the resolver found into the attempt; false: still unknown. */
export function applyResolution(parts: OutcomeParts, attempt: OrderAttempt, resolution: Resolution): boolean {
  if (resolution.kind === "found") {
    confirm(parts, attempt, resolution.order, resolution.isReplaced);
    if (attempt.ackAtMs === null) recordAck(attempt, parts.clock.wallMs());
  } else if (resolution.kind === "notPlaced") {
    recordNotPlaced(attempt);
  } else {
    // Known to exist, still working: the latest sight of it is worth keeping.
    const { order } = resolution;
    if (order !== null && (attempt.outcome === "CONFIRMED" || order.status === "UNKNOWN"))
      confirm(parts, attempt, order);
    return false;
  }
  return true;
}

/** How the intent log remembers the attempt's end; null: it has none yet. */
export function intentOutcome(attempt: OrderAttempt): IntentOutcome | null {
  switch (attempt.outcome) {
    case "CONFIRMED":
      return attempt.order !== null && isSettled(attempt.order, mayRest(attempt)) ? "CONFIRMED" : null;
    case "NOT_SENT":
      return "NOT_SENT";
    case "REJECTED":
      return attempt.reason === "NOT_PLACED" ? "NOT_PLACED" : "REJECTED";
    default:
      return null;
  }
}

/** What a reply computes with is checked here, once: a venue's odd figure must not fail an order that happened. */
export function confirm(
  parts: Pick<OutcomeParts, "logger">,
  attempt: OrderAttempt,
  shown: VenueOrder,
  isReplaced?: true,
): void {
  const { order } = wholeOrder(attempt, shown, isReplaced);
  const wasShown = attempt.order !== null && attempt.order.venueOrderId !== "";
  const { averagePrice, filledLots } = recordOrder(attempt, shown, isReplaced);
  if (filledLots !== order.filledLots || averagePrice !== order.averagePrice)
    parts.logger.error("venue_order_implausible", { venue: attempt.venue, clientId: attempt.clientIdHex });
  if (order.status === "UNKNOWN") {
    // It exists, in a state that looks like an open one: not refused, and it may yet fill.
    recordUnknownStatus(attempt);
    recordBound(attempt, NO_PROOF_OF_ABSENCE);
    const word = order.venueStatus.slice(0, MAX_STATUS_CHARS);
    parts.logger.error("order_status_unknown", { venue: attempt.venue, clientId: attempt.clientIdHex, word });
    return;
  }
  // A venue that takes orders before it judges them refuses some of these later: a refusal like any other.
  const isRefused =
    filledLots === 0 &&
    (order.status === "REJECTED" ||
      isForWantOfPosition(order, mayRest(attempt)) ||
      (isGuard(attempt) && !wasShown && isEndedByVenue(order)));
  const reason = order.endReason ?? "VENUE_STATE";
  const venueText = order.venueStatus.slice(0, MAX_STATUS_CHARS);
  recordVerdict(attempt, isRefused ? { outcome: "REJECTED", reason, venueText } : { outcome: "CONFIRMED" });
}

/** One that may rest was open there before, however it ended. */
function isForWantOfPosition({ endReason, status }: VenueOrder, rests: boolean): boolean {
  return status === "CANCELED" && endReason === "REDUCE_ONLY" && !rests;
}

/** The owner's own cancel comes without a reason. */
function isEndedByVenue({ endReason, status }: VenueOrder): boolean {
  return status === "CANCELED" && endReason !== undefined;
}
