/**
 * Orders this process sent, by account and client order index, with the hash of their transaction. The venue accepts a
 * transaction first and lets its sequencer refuse it later; such an order is in no list, and only its transaction shows
 * it.
 *
 * Bounded: the oldest is forgotten, and then no more is known of it than the venue's lists say.
 */
import { LRUCache } from "lru-cache";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { formatScaled } from "../../../engine/domain/decimal.js";
import { clientOrderIndexOf } from "./client-id.js";

export interface SentOrder {
  /** 80 hex digits. Of the last attempt: earlier ones were refused for their nonce. */
  txHash: string;
  readonly order: VenueOrder;
}

const MAX_SENT = 16_384;

export class SentOrders {
  readonly #sent = new LRUCache<string, SentOrder>({ max: MAX_SENT });

  /** Before it is sent. */
  note(accountIndex: number, command: OrderCommand, txHash: string, tsVenueMs: number): void {
    const index = clientOrderIndexOf(command.clientIdHex);
    this.#sent.set(nameOf(accountIndex, String(index)), { txHash, order: orderOf(command, index, tsVenueMs) });
  }

  find(accountIndex: number, venueClientOrderId: string): SentOrder | null {
    return this.#sent.peek(nameOf(accountIndex, venueClientOrderId)) ?? null;
  }
}

/** Its state once the venue has taken it: nothing filled, no order id yet. */
export function orderOf(command: OrderCommand, clientOrderIndex: number, tsVenueMs: number): VenueOrder {
  const { instrument, trigger } = command;
  const isStop = trigger !== undefined;
  return {
    venue: "venuethree",
    nativeSymbol: instrument.nativeSymbol,
    venueOrderId: "",
    venueClientOrderId: String(clientOrderIndex),
    side: command.side,
    type: isStop ? (command.type === "MARKET" ? "STOP_MARKET" : "STOP_LIMIT") : command.type,
    status: "OPEN",
    venueStatus: "submitted",
    priceTicks: command.priceTicks,
    qtyLots: command.qtyLots,
    filledLots: 0,
    averagePrice: null,
    reduceOnly: command.reduceOnly,
    triggerPrice: isStop ? formatScaled(trigger.priceTicks, instrument.priceDecimals) : null,
    timeInForce: command.type === "MARKET" ? "IOC" : command.timeInForce,
    ...(isStop ? { triggerKind: trigger.kind } : {}),
    tsVenueMs,
    fee: null,
  };
}

function nameOf(accountIndex: number, clientOrderIndex: string): string {
  return `${accountIndex} ${clientOrderIndex}`;
}
