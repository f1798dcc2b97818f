import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { OrderState } from "./order-state.js";
import { AccountState } from "./state.js";
import { uncounted } from "./normalize.js";

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
    const state = new OrderState();
    state.adoptOrder(order());
    expect(state.openOrders().map(({ venueOrderId }) => venueOrderId)).toEqual(["7"]);
    state.adoptOrder(order({ status: "FILLED", venueStatus: "FILLED", filledLots: 20 }));
    expect(state.openOrders()).toEqual([]);
  });
});

describe("an order that has ended", () => {
  it("is not opened again by an answer of REST that lags behind its end", () => {
    const state = new OrderState();
    const open = order({ status: "OPEN", venueStatus: "NEW", filledLots: 0 });
    const canceled = order({ status: "CANCELED", venueStatus: "CANCELED", filledLots: 0, tsVenueMs: 5 });
    state.adoptOrder(canceled);
    expect(state.adoptOrder(open)).toBe(false);
    expect([state.openOrders(), state.orderOf(open)?.status]).toEqual([[], "CANCELED"]);
  });
});

describe("what only REST says of a position", () => {
  const BTC = { symbol: "BTC", nativeSymbol: "BTCUSDT", multiplierExp10: 0, priceDecimals: 1, qtyDecimals: 3 };
  const NATIVE = {
    leverage: "5",
    maxNotionalValue: "40000",
    isAutoAddMargin: "true",
    notional: "500",
    marginType: "cross",
  };
  const row = (pa: string) => ({ s: "BTCUSDT", pa, ep: "100.0", up: "0", mt: "cross", iw: "0", ps: "BOTH" }) as const;
  const listed = (name: string): Instrument | null => (name === "BTCUSDT" ? (BTC as unknown as Instrument) : null);
  const read = (native: Readonly<Record<string, string>> = NATIVE): VenuePosition =>
    ({ ...BTC, venue: "venuetwo", positionSide: "BOTH", qtyLots: 5, entryPrice: "100", leverage: 5, native }) as never;

  it("stays with it through a push, but for what moved with its size", () => {
    const state = new AccountState();
    state.adoptPositions([read()], 0);
    state.applyPositions([row("0.007")], 10, listed);
    expect(state.positions()).toMatchObject([{ qtyLots: 7, leverage: 5 }]);
    expect(state.positions()[0]?.native).toEqual({ maxNotionalValue: "40000", isAutoAddMargin: "true" });
    // Closed and opened again.
    state.applyPositions([row("0")], 20, listed);
    state.applyPositions([row("0.002")], 30, listed);
    expect(state.positions()[0]?.native).toEqual({ maxNotionalValue: "40000", isAutoAddMargin: "true" });
  });

  it("ends with the leverage it was said for", () => {
    const state = new AccountState();
    state.adoptPositions([read()], 0);
    state.applyLeverage("BTCUSDT", 5);
    expect(state.positions()[0]?.native).toMatchObject({ maxNotionalValue: "40000" });
    state.applyLeverage("BTCUSDT", 9);
    expect(state.positions()[0]).toMatchObject({ leverage: 9, native: { isAutoAddMargin: "true" } });
    expect(state.positions()[0]?.native).not.toHaveProperty("maxNotionalValue");
  });

  it("stays with a holding that is not listed", () => {
    const state = new AccountState();
    const wire = { symbol: "OLDUSDT", positionAmt: "3", positionSide: "BOTH", entryPrice: "2", updateTime: 1 } as const;
    const held = uncounted({ ...wire, native: NATIVE });
    state.adoptPositions(held === null ? [] : [held], 0);
    state.applyPositions([{ ...row("4"), s: "OLDUSDT" }], 10, listed);
    expect(state.positions()).toMatchObject([{ uncounted: "4", native: { maxNotionalValue: "40000" } }]);
  });
});
