/** What the rest of the program shows of a ticker of venuefour, under the names of interface spec 2.8. */
import { scaleText } from "../../engine/domain/decimal.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import { addedFields, commonFields } from "../shared/room/ticker-fields.js";

export function tickerFields(market: Market, state: FeedState, ageMs: number) {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  return {
    // Its price of yesterday is the oracle's, and so is the one it is compared with.
    ...commonFields(market, ticker.indexPrice),
    indexPrice: scaleText(ticker.indexPrice, -exponent),
    fundingRate: scaleText(ticker.fundingRate, 0),
    nextFundingTime: ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null,
    // Without the multiplier: it would cancel out in USD, and which unit this is the documents do not agree.
    openInterest: scaleText(ticker.openInterest, 0),
    ...addedFields(market, state, ageMs),
  };
}
