/** What the rest of the program shows of a ticker of venueone, under the names of interface spec 2.8. */
import { scaleText } from "../../engine/domain/decimal.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import { addedFields, commonFields } from "../shared/room/ticker-fields.js";

export function tickerFields(market: Market, state: FeedState, ageMs: number) {
  const { ticker, instrument } = market;
  return {
    ...commonFields(market),
    fundingRate: scaleText(ticker.fundingRate, 0),
    openInterest: scaleText(ticker.openInterest, instrument.multiplierExp10),
    ...addedFields(market, state, ageMs),
  };
}
