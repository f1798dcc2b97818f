/**
 * The worst price over all orders of a decision: it is reported for a split, and bound by a quote. Exact; off the hot
 * path.
 */
import { formatScaled } from "../domain/decimal.js";
import {
  compareRatio,
  formatRatio,
  multiplyRatio,
  type Ratio,
  ratio,
  ratioFromScaled,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals } from "../domain/instrument.js";
import { type Decision, QUOTE_RATE_ONE_PPM, type RouteInput } from "./route-types.js";

/** Returns the loosest price of the legs, in the common quote. */
export function commonWorstPrice(input: RouteInput, decision: Decision): string {
  const selected = input.candidates[decision.selected];
  const ticks = decision.results[decision.selected]?.priceTicks ?? 0;
  // One venue that quotes in the common quote: its own price, as text.
  if (decision.legs.length === 0 && selected?.quoteRatePpm === QUOTE_RATE_ONE_PPM && selected.market !== null)
    return formatScaled(ticks, canonicalPriceDecimals(selected.market.instrument));
  let worst: Ratio | null = null;
  let places = 0;
  for (const index of decision.legs.length > 0 ? decision.legs : [decision.selected]) {
    const candidate = input.candidates[index];
    const instrument = candidate?.market?.instrument;
    if (candidate === undefined || instrument === undefined) continue;
    const native = ratioFromScaled(decision.results[index]?.priceTicks ?? 0, canonicalPriceDecimals(instrument));
    const price = multiplyRatio(native, ratio(BigInt(candidate.quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM)));
    places = Math.max(
      places,
      canonicalPriceDecimals(instrument) + (candidate.quoteRatePpm === QUOTE_RATE_ONE_PPM ? 0 : 6),
    );
    if (worst === null || (input.side === "SELL") === compareRatio(price, worst) < 0) worst = price;
  }
  return worst === null ? "0" : formatRatio(worst, places, input.side === "SELL" ? "floor" : "ceil");
}
