/** What the rest of the program shows of a ticker of venuetwo, under the names of interface spec 2.8. */
import { scaleText } from "../../engine/domain/decimal.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import { addedFields, commonFields } from "../shared/room/ticker-fields.js";

export function tickerFields(market: Market, state: FeedState, ageMs: number) {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  return {
    ...commonFields(market),
    asterSymbol: instrument.nativeSymbol,
    indexPrice: scaleText(ticker.indexPrice, -exponent),
    openPrice: scaleText(ticker.openPrice, -exponent),
    high24h: scaleText(ticker.high24h, -exponent),
    low24h: scaleText(ticker.low24h, -exponent),
    fundingRate: scaleText(ticker.fundingRate, 0),
    nextFundingTime: ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null,
    volumeBase: scaleText(ticker.volumeBase, exponent),
    ...addedFields(market, state, ageMs),
  };
}
