import type { Instrument } from "../../domain/instrument.js";
import type { RoutableVenue } from "../../domain/venue.js";

/** Prices with one decimal, sizes with three: 1_000_000 ticks are 100000.0, 250 lots are 0.250. */
export function fakeInstrument(venue: RoutableVenue): Instrument {
  return {
    venue,
    symbol: "BTC",
    nativeSymbol: venue === "venueone" ? "BTC" : "BTCUSDT",
    nativeId: 0,
    multiplierExp10: 0,
    priceDecimals: 1,
    qtyDecimals: 3,
    priceRule: "step",
    priceStepTicks: 1,
    qtyStepLots: 1,
    minQtyLots: 1,
    maxQtyLots: 1_000_000,
    minNotional: "0",
    minNotionalOnReduceOnly: "no",
    bandUpPpm: 0,
    bandDownPpm: 0,
    quoteAsset: venue === "venueone" ? "USDC" : "USDT",
    takerFeeMilliBps: 4_500,
    makerFeeMilliBps: 1_500,
    maxLeverage: 50,
    status: "TRADING",
  };
}
