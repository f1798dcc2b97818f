/** Contracts for tests. A test states the fields that it is about and leaves the rest to the builder. */
import type { Instrument } from "../instrument.js";
import type { RoutableVenue } from "../venue.js";

/** BTC on venueone, with one price decimal, three size decimals and no rule of the venue beside them. */
export function anInstrument(fields: Partial<Instrument> = {}): Instrument {
  const { venue = "venueone", symbol = "BTC" } = fields;
  return {
    venue,
    symbol,
    nativeSymbol: venue === "venuetwo" ? `${symbol}USDT` : symbol,
    nativeId: venue === "venueone" || venue === "venuethree" ? 0 : -1,
    multiplierExp10: 0,
    priceDecimals: 1,
    qtyDecimals: 3,
    priceRule: "step",
    priceStepTicks: 1,
    qtyStepLots: 1,
    minQtyLots: 1,
    maxQtyLots: Number.MAX_SAFE_INTEGER,
    minNotional: "0",
    minNotionalOnReduceOnly: "no",
    bandUpPpm: 0,
    bandDownPpm: 0,
    quoteAsset: venue === "venuetwo" ? "USDT" : "USDC",
    takerFeeMilliBps: 4_500,
    makerFeeMilliBps: 1_500,
    maxLeverage: 50,
    status: "TRADING",
    ...fields,
  };
}

/** BTC with the rules that each venue lists it with. */
export const LISTED_BTC: Readonly<Record<RoutableVenue, Instrument>> = {
  venueone: anInstrument({
    qtyDecimals: 5,
    priceRule: "sigfigs5",
    minNotional: "10",
    minNotionalOnReduceOnly: "exceptFullClose",
    maxLeverage: 40,
  }),
  venuetwo: anInstrument({
    venue: "venuetwo",
    priceDecimals: 2,
    priceStepTicks: 10,
    maxQtyLots: 1_000_000,
    minNotional: "5",
    bandUpPpm: 1_020_000,
    bandDownPpm: 980_000,
    takerFeeMilliBps: 3_500,
    makerFeeMilliBps: 1_000,
    maxLeverage: 125,
  }),
  venuethree: anInstrument({
    venue: "venuethree",
    nativeId: 1,
    qtyDecimals: 5,
    maxQtyLots: 2 ** 48 - 1,
    takerFeeMilliBps: 0,
    makerFeeMilliBps: 0,
  }),
  venuefour: anInstrument({
    venue: "venuefour",
    priceDecimals: 0,
    qtyDecimals: 5,
    minNotional: "10",
    minNotionalOnReduceOnly: "exceptFullClose",
    takerFeeMilliBps: 4_000,
  }),
};
