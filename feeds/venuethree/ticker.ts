/** What the rest of the program shows of a ticker of venuethree, under the names of interface spec 2.8. */
import { scaleText } from "../../engine/domain/decimal.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import { addedFields, commonFields } from "../shared/room/ticker-fields.js";

const NOTE = "markPrice is the last trade price; the venue's own mark is venueMarkPrice.";

/** Interface spec 2.8: here the mark price is the last trade price. */
export function tickerFields(market: Market, state: FeedState, ageMs: number) {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  const common = commonFields(market);
  return {
    ...common,
    markPrice: common.lastPrice,
    marketId: instrument.nativeId,
    indexPrice: scaleText(ticker.indexPrice, -exponent),
    high24h: scaleText(ticker.high24h, -exponent),
    low24h: scaleText(ticker.low24h, -exponent),
    note: NOTE,
    venueMarkPrice: scaleText(ticker.markPrice, -exponent),
    fundingRate: scaleText(ticker.fundingRate, 0),
    nextFundingTime: ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null,
    // A value in the quote asset: the multiplier cancels out.
    openInterest: scaleText(ticker.openInterest, 0),
    ...addedFields(market, state, ageMs),
  };
}
