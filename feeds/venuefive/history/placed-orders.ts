/**
 * What the history knows of limit orders that rest: their type, which is in no state of the chain, and their placing, whose
 * block is their number. Each is looked for by its slot and the block of its last change, so that a wallet's many orders of
 * before cost nothing, and another order of the same slot is not taken for it.
 */
import type { EventReader } from "./event-reader.js";
import { endsOrder } from "./event.js";
import { foldOrder } from "./fold.js";

/** A row of the chain's state; `block`: of its last change. */
export interface RestingSlot {
  readonly pairIndex: number;
  readonly index: number;
  readonly block: number;
}

/** What a known event adds to an order that rests on the chain. */
export interface PlacedOrder {
  /** Of its placing: the chain's own number changes with each change of the order. */
  readonly block: number;
  readonly orderType: ReturnType<typeof foldOrder>["orderType"];
  readonly timestampMs: number;
  readonly txHash: string | null;
}

export interface OrderHistory {
  /** Of orders that rest, as rows of the state: in their order, null where no event tells. Its address is in lower case. */
  placedOrders(trader: string, slots: readonly RestingSlot[]): Promise<readonly (PlacedOrder | null)[]>;
}

/** In the order of `slots`; null: no event of that block is known of an order that still rests. */
export async function placedOrders(
  reader: Pick<EventReader, "orderOf">,
  trader: string,
  slots: readonly RestingSlot[],
): Promise<readonly (PlacedOrder | null)[]> {
  const placed: (PlacedOrder | null)[] = [];
  for (const { pairIndex, index, block } of slots) {
    const events = await reader.orderOf({ trader, pairIndex, index }, block);
    if (events === null || endsOrder(events.latest)) {
      placed.push(null);
      continue;
    }
    const { orderType, timestampMs, txHash } = foldOrder(events, NO_SYMBOL, NO_DOLLAR);
    placed.push({ block: events.start.block, orderType, timestampMs, txHash });
  }
  return placed;
}

/** Neither is in what is taken of the record. */
const NO_SYMBOL = (): string => "";
const NO_DOLLAR = (): boolean => false;
