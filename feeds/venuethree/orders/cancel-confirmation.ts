/**
 * The outcome of a cancel that the venue's API took (orders/tx-confirmation.ts): canceled; refused, as there was no
 * such order to cancel (any more); not known within the time, which is `isPending`.
 */
import type { CancelOutcome, VenueOrder } from "../../../engine/domain/order.js";
import type { CallOptions } from "../../../engine/ports.js";
import { confirmTx, type TxConfirmationDeps } from "./tx-confirmation.js";

const PENDING: CancelOutcome = { outcome: "accepted", isPending: true };
const CANCELED: CancelOutcome = { outcome: "accepted" };

/** `streamed`: the order's end, once the stream has reported it. */
export async function confirmCancel(
  deps: TxConfirmationDeps,
  txHash: string,
  streamed: () => VenueOrder | null,
  options: CallOptions,
): Promise<CancelOutcome> {
  const end = await confirmTx(deps, txHash, streamed, options);
  switch (end.kind) {
    case "streamed":
      return endOf(end.value);
    case "executed":
      return CANCELED;
    case "refused":
      return end.refused;
    case "pending":
      return PENDING;
  }
}

function endOf(order: VenueOrder): CancelOutcome {
  return order.status === "CANCELED" ? CANCELED : { ...NO_LONGER_OPEN, venueCode: order.status, sent: true };
}

/** For an order whose end was known before: nothing is sent. */
export function hadEnded(order: VenueOrder): CancelOutcome {
  return { ...NO_LONGER_OPEN, venueCode: order.status, sent: false };
}

const NO_LONGER_OPEN = {
  outcome: "rejected",
  reason: "NOT_FOUND",
  venueText: "the order had ended before it could be canceled",
} as const;
