/** The two contracts that the in-process scenarios trade, as the first two venues list them. */
import type { Instrument } from "../../engine/domain/instrument.js";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";

const [FIRST, SECOND] = ROUTABLE_VENUES;

/** Whose book recorded frames drive. */
export const DRIVEN_BTC: Instrument = {
  venue: SECOND,
  symbol: "BTC",
  nativeSymbol: "BTCUSDT",
  nativeId: -1,
  multiplierExp10: 0,
  priceDecimals: 2,
  qtyDecimals: 3,
  priceRule: "step",
  priceStepTicks: 10,
  qtyStepLots: 1,
  minQtyLots: 1,
  maxQtyLots: 1_000_000,
  minNotional: "5",
  minNotionalOnReduceOnly: "no",
  bandUpPpm: 1_020_000,
  bandDownPpm: 980_000,
  quoteAsset: "USDT",
  takerFeeMilliBps: 3_500,
  makerFeeMilliBps: 1_000,
  maxLeverage: 125,
  status: "TRADING",
};

/** Beside it. */
export const STANDING_BTC: Instrument = {
  ...DRIVEN_BTC,
  venue: FIRST,
  nativeSymbol: "BTC",
  nativeId: 0,
  priceDecimals: 1,
  qtyDecimals: 5,
  priceRule: "sigfigs5",
  priceStepTicks: 1,
  maxQtyLots: Number.MAX_SAFE_INTEGER,
  minNotional: "10",
  minNotionalOnReduceOnly: "exceptFullClose",
  bandUpPpm: 0,
  bandDownPpm: 0,
  quoteAsset: "USDC",
  takerFeeMilliBps: 4_500,
  makerFeeMilliBps: 1_500,
  maxLeverage: 40,
};
