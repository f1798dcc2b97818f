/**
 * What the history knows of limit orders that rest: their type, which is in no state of the chain, and their placing, whose
 * block is their number. Only of those whose last change it has seen: a slot may have another order since. Nor of one that
 * was placed after that change: the slot had another order before.
 */
import type { ClientSignedOrder, ClientSignedRoom } from "../../../engine/client-signed-room.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { PlacedOrder } from "./normalize.js";
import type { OrderRow } from "./slots.js";

export type OrderHistory = Pick<ClientSignedRoom, "readOrders">;
export type PlacedLookup = (row: Pick<OrderRow, "pairIndex" | "index" | "block">) => PlacedOrder | null;

/** The newest orders of a wallet, of every status; an older one that still rests is shown without its type. */
const ORDERS_MAX = 1_000;
const NOTHING_KNOWN: PlacedLookup = () => null;

/** Where it cannot be read, the chain's state is shown alone. */
export async function placedOrders(
  history: OrderHistory,
  address: string,
  options: CallOptions,
): Promise<PlacedLookup> {
  const read = await history.readOrders(address, { limit: ORDERS_MAX, cursor: null, symbol: null }, options);
  if (!read.ok) return NOTHING_KNOWN;
  const { rows, toBlock } = read.value;
  const resting = new Map(rows.flatMap((row) => (row.status === "OPEN" ? [placedOf(row)] : [])));
  return ({ pairIndex, index, block }) => {
    const placed = resting.get(`${pairIndex}:${index}`);
    return placed !== undefined && placed.block <= block && block <= toBlock ? placed : null;
  };
}

function placedOf({ orderId, orderType, timestampMs, txHash }: ClientSignedOrder): readonly [string, PlacedOrder] {
  const [pairIndex = "", index = "", block = ""] = orderId.split(":");
  return [`${pairIndex}:${index}`, { block: Number(block), orderType, timestampMs, txHash }];
}
