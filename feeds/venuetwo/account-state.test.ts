import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../engine/domain/order.js";
import { AccountState } from "./account-state.js";

function order(changes: Partial<VenueOrder> = {}): VenueOrder {
  return {
    venue: "venuetwo",
    nativeSymbol: "BTCUSDT",
    venueOrderId: "7",
    venueClientOrderId: null,
    side: "BUY",
    type: "LIMIT",
    status: "UNKNOWN",
    venueStatus: "PONDERING",
    priceTicks: 60_000,
    qtyLots: 20,
    filledLots: 5,
    averagePrice: null,
    reduceOnly: false,
    triggerPrice: null,
    tsVenueMs: 1,
    fee: null,
    ...changes,
  };
}

describe("an order with a status that is not known", () => {
  it("counts as open, and ends with the first word that is known", () => {
    const state = new AccountState();
    state.adoptOrder(order());
    expect(state.openOrders().map(({ venueOrderId }) => venueOrderId)).toEqual(["7"]);
    state.adoptOrder(order({ status: "FILLED", venueStatus: "FILLED", filledLots: 20 }));
    expect(state.openOrders()).toEqual([]);
  });
});
