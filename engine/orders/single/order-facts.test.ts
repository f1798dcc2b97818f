import { describe, expect, it } from "vitest";
import type { Instrument } from "../../domain/instrument.js";
import type { VenueOrder } from "../../domain/order.js";
import { factsOfVenueOrder, NO_TERMS, instrumentOf, isUnsupported } from "./order-facts.js";
import { anInstrument } from "../../domain/test/instruments.js";

/** One contract is a thousand PEPE: native 0.0123 is 0.0000123 for one. */
const kilo: Instrument = {
  ...anInstrument(),
  symbol: "PEPE",
  nativeSymbol: "kPEPE",
  multiplierExp10: 3,
  priceDecimals: 4,
  qtyDecimals: 0,
};

function order(overrides: Partial<VenueOrder> = {}): VenueOrder {
  return {
    venue: "venueone",
    nativeSymbol: "kPEPE",
    venueOrderId: "90071992547409931",
    venueClientOrderId: null,
    side: "BUY",
    type: "STOP_LIMIT",
    status: "PARTIALLY_FILLED",
    venueStatus: "native",
    priceTicks: 123,
    qtyLots: 12,
    filledLots: 4,
    averagePrice: "0.01225",
    reduceOnly: true,
    triggerPrice: "0.0122",
    triggerKind: "TAKE_PROFIT",
    tsVenueMs: 5,
    fee: null,
    ...overrides,
  };
}

describe("an order read from a venue", () => {
  it("is reported in base units, with every digit of its id", () => {
    expect(factsOfVenueOrder(kilo, order(), { clientOrderId: "mine", isMarket: false })).toMatchObject({
      symbol: "PEPE",
      orderId: "90071992547409931",
      clientOrderId: "mine",
      type: "TAKE_PROFIT_LIMIT",
      price: "0.0000123",
      triggerPrice: "0.0000122",
      quantity: "12000",
      filledQuantity: "4000",
      averagePrice: "0.00001225",
      filledNotional: "0.049",
      native: { priceDecimals: 4, qtyDecimals: 0, multiplierExp10: 3 },
    });
  });

  it("leaves out a figure that the venue printed badly", () => {
    const facts = factsOfVenueOrder(
      kilo,
      order({ averagePrice: "n/a", triggerPrice: "soon", venueOrderId: "" }),
      NO_TERMS,
    );
    expect(facts).toMatchObject({ averagePrice: null, triggerPrice: null, filledNotional: "0", orderId: null });
  });

  it("belongs to the contract of its native name", () => {
    const markets = new Map([["PEPE", { instrument: kilo }]]);
    expect(instrumentOf(markets, "kPEPE")).toBe(kilo);
    expect(instrumentOf(markets, "PEPE")).toBeNull();
  });
});

it.each([
  ["NOT_SUPPORTED", true],
  ["NO_FOK", true],
  ["POSITION_SIDE", true],
  ["NONCE_BUSY", false],
  ["", false],
])("a room's word %s means that its venue has no such thing: %s", (venueCode, expected) => {
  expect(isUnsupported(venueCode)).toBe(expected);
});
