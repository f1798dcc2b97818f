/** What a reconcile found and nobody has received yet: none of it goes in silence. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { MAX_EVENTS, PendingNews } from "./pending-news.js";

const ORDER: VenueOrder = {
  venue: "venuetwo",
  nativeSymbol: "BTCUSDT",
  venueOrderId: "1",
  venueClientOrderId: null,
  side: "SELL",
  type: "LIMIT",
  status: "OPEN",
  venueStatus: "NEW",
  priceTicks: 1_000,
  qtyLots: 10,
  filledLots: 0,
  averagePrice: null,
  reduceOnly: true,
  triggerPrice: null,
  tsVenueMs: 1,
  fee: null,
};

function orderEvent(id: number, changes: Partial<VenueOrder> = {}): AccountEvent {
  return { kind: "order", order: { ...ORDER, venueOrderId: String(id), ...changes } };
}

function fillEvent(id: number): AccountEvent {
  return { kind: "fill", order: ORDER, qtyLots: 1, price: "100", fee: null, tradeId: String(id) };
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("news of a reconcile that nobody has received", () => {
  it("keep the fills before the orders, whose state the account has, and tell how many went", () => {
    const dropped: number[] = [];
    const news = new PendingNews((count) => void dropped.push(count));
    news.add([fillEvent(0), ...range(MAX_EVENTS).map((id) => orderEvent(id))]);
    news.add([fillEvent(1)]);
    const events = news.take(() => true);
    expect(events).toHaveLength(MAX_EVENTS);
    expect(events.filter(({ kind }) => kind === "fill")).toEqual([fillEvent(0), fillEvent(1)]);
    expect(dropped).toEqual([2]);
    news.take(() => true);
    expect(dropped).toEqual([2]);
  });

  it("tell of fills that went, of which there are more than may wait", () => {
    const dropped: number[] = [];
    const news = new PendingNews((count) => void dropped.push(count));
    news.add(range(MAX_EVENTS + 3).map(fillEvent));
    expect(news.take(() => true)).toEqual(range(MAX_EVENTS).map((id) => fillEvent(id + 3)));
    expect(dropped).toEqual([3]);
  });

  it("hold each order once, as it was last", () => {
    const dropped: number[] = [];
    const news = new PendingNews((count) => void dropped.push(count));
    for (const _ of range(MAX_EVENTS + 1)) news.add([orderEvent(1), orderEvent(1, { nativeSymbol: "ETHUSDT" })]);
    news.add([orderEvent(1, { status: "CANCELED" })]);
    const held = [orderEvent(1, { nativeSymbol: "ETHUSDT" }), orderEvent(1, { status: "CANCELED" })];
    expect(news.take(() => true)).toEqual(held);
    expect(dropped).toEqual([]);
  });
});
