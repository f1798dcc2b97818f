/**
 * The outcome of a changed order, of a cancel of all orders and of changed settings that the venue's API took
 * (orders/tx-confirmation.ts). Refused by the sequencer is rejected. A change that is not decided in time stays the API's
 * yes, with no order. A cancel of all and settings that are not decided in time are unknown.
 */
import type { TrackedOrders } from "../account/source.js";
import type { AmendOutcome, CancelAllOutcome, OrderChange, VenueOrder } from "../../../engine/domain/order.js";
import type { CallOptions, SettingOutcome, SymbolSettings } from "../../../engine/ports.js";
import { confirmTx, type TxConfirmationDeps } from "./tx-confirmation.js";

/** `streamed`: the order as the stream shows it now, open or ended. */
export async function confirmAmend(
  deps: TxConfirmationDeps,
  txHash: string,
  current: VenueOrder,
  change: OrderChange,
  streamed: () => VenueOrder | null,
  options: CallOptions,
): Promise<AmendOutcome> {
  const isNews = change.priceTicks !== current.priceTicks || change.qtyLots !== current.qtyLots;
  /** Newer than what was changed: a row that the stream had not caught up with says nothing of this change. */
  const newer = (): VenueOrder | null => {
    const order = streamed();
    return order !== null && order.tsVenueMs > current.tsVenueMs ? order : null;
  };
  // Only a row that shows the change proves it; only the transaction says whether the change of an ended order was too
  // late.
  const changed = (): VenueOrder | null => {
    const order = isNews ? newer() : null;
    return order?.priceTicks === change.priceTicks && order.qtyLots === change.qtyLots ? order : null;
  };
  const end = await confirmTx(deps, txHash, changed, options);
  switch (end.kind) {
    case "streamed":
      return { outcome: "accepted", order: end.value };
    case "executed":
      return { outcome: "accepted", order: newer() };
    case "refused":
      return end.refused;
    case "pending":
      return { outcome: "accepted", order: null };
  }
}

/**
 * `open` is null where the account is not streamed: the number of its open orders is not known then. What is not decided
 * in time may still expire, and leave the orders open for good: a dead-man's switch tries again, and a close-all says so.
 */
export async function confirmCancelAll(
  deps: TxConfirmationDeps,
  txHash: string,
  open: TrackedOrders | null,
  options: CallOptions,
): Promise<CancelAllOutcome> {
  // With none known there is nothing to be reported; the venue may know of some.
  const canceledCount = (): number | null => (open === null || open.size === 0 ? null : open.canceledCount());
  const end = await confirmTx(deps, txHash, canceledCount, options);
  switch (end.kind) {
    case "streamed":
      return { outcome: "accepted", canceledCount: end.value, failed: [] };
    case "executed":
      return { outcome: "accepted", canceledCount: open?.canceledCount() ?? null, failed: [] };
    case "refused":
      return end.refused;
    case "pending":
      return CANCEL_ALL_PENDING;
  }
}

/** No stream reports settings. What is not decided in time is unknown: the next entry would rest on it. */
export async function confirmSettings(
  deps: TxConfirmationDeps,
  txHash: string,
  settings: SymbolSettings,
  options: CallOptions,
): Promise<SettingOutcome> {
  const end = await confirmTx(deps, txHash, NOT_STREAMED, options);
  switch (end.kind) {
    case "streamed":
    case "executed":
      return { outcome: "accepted", settings };
    case "refused":
      return end.refused;
    case "pending":
      return SETTINGS_PENDING;
  }
}

const NOT_STREAMED = (): null => null;
const NOT_DECIDED = { outcome: "unknown", cause: "TX_PENDING" } as const;
export const CANCEL_ALL_PENDING: CancelAllOutcome = NOT_DECIDED;
export const SETTINGS_PENDING: SettingOutcome = NOT_DECIDED;
