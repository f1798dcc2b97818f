/**
 * The prices and costs of a report as texts, in exact rational arithmetic. figures-near.ts returns the same texts where
 * it returns one; these functions decide where it returns null.
 */
import {
  divideRatio,
  formatRatio,
  magnitude,
  multiplyRatio,
  type Ratio,
  ratio,
  ratioFromScaled,
  subtractRatio,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  QUOTE_RATE_ONE_PPM,
  type RouteInput,
} from "./route-types.js";
import { exactAllIn, exactRank, exactReferenceMid } from "./scoring.js";

/** Derived prices show at least this many significant figures, and one decimal more than the venue's tick. */
export const PRICE_FIGURES = 7;
export const BPS_PLACES = 1;
export const SAVINGS_PLACES = 2;
export const SAVINGS_FIGURES = 3;
export const PERCENT_PLACES = 4;

/** Volume-weighted price of the walked part, in the venue's quote. The walk must have filled something. */
export function exactVwapText(result: CandidateResult, instrument: Instrument): string {
  return formatPrice(vwap(result, instrument), canonicalPriceDecimals(instrument));
}

/** Expected price before fees, venue's quote. */
export function exactExpectedText(input: RouteInput, result: CandidateResult, instrument: Instrument): string {
  return formatPrice(expectedPrice(input, result, instrument), canonicalPriceDecimals(instrument));
}

export function exactAllInText(input: RouteInput, decision: Decision, index: number, instrument: Instrument): string {
  return formatPrice(exactAllIn(input, decision, index), canonicalPriceDecimals(instrument));
}

/** The benchmark price; `instrument` is the reference venue's. */
export function exactMidText(input: RouteInput, decision: Decision, instrument: Instrument): string {
  return formatPrice(mid(input, decision), canonicalPriceDecimals(instrument));
}

/** Expected price against the mid, in bps of it; negative when better. There must be a mid. */
export function exactSlippageText(
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
): string {
  const candidate = input.candidates[index] as Candidate;
  const expected = expectedPrice(input, decision.results[index] as CandidateResult, instrument);
  const rate = ratio(BigInt(candidate.quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM));
  return bpsAway(input, mid(input, decision), multiplyRatio(expected, rate));
}

/** The price that ranks (the all-in price; for an entry including the exit) against the mid, likewise. */
export function exactCostText(input: RouteInput, decision: Decision, index: number): string {
  return bpsAway(input, mid(input, decision), exactRank(input, decision, index));
}

/** All-in advantage of the selected venue over the runner-up × size. Both must exist. */
export function exactSavingsText(input: RouteInput, decision: Decision, instrument: Instrument): string {
  const { orderLots } = decision.results[decision.selected] as CandidateResult;
  const size = ratioFromScaled(orderLots, canonicalQtyDecimals(instrument));
  const saving = multiplyRatio(savingPerUnit(input, decision), size);
  return formatRatio(saving, Math.max(SAVINGS_PLACES, SAVINGS_FIGURES - 1 - magnitude(saving)), "halfUp");
}

/** The same advantage per unit, in percent of the runner-up's all-in price. */
export function exactSavingsPercentText(input: RouteInput, decision: Decision): string {
  const share = divideRatio(savingPerUnit(input, decision), exactRank(input, decision, decision.runnerUp));
  return formatRatio(multiplyRatio(share, ratio(100n)), PERCENT_PLACES, "halfUp");
}

function mid(input: RouteInput, decision: Decision): Ratio {
  const value = exactReferenceMid(input, decision);
  if (value === null) throw new TypeError("a figure against the mid where there is none");
  return value;
}

/** MARKET: VWAP. LIMIT: VWAP of the marketable part and the limit for the rest, by size. Venue's quote, canonical. */
function expectedPrice(input: RouteInput, result: CandidateResult, instrument: Instrument): Ratio {
  if (!input.rests) return vwap(result, instrument);
  const resting = BigInt(result.orderLots) - BigInt(result.walk.filledLots);
  const ticks = ratio(result.walk.notionalBig() + BigInt(result.priceTicks) * resting, BigInt(result.orderLots));
  return multiplyRatio(ticks, ratioFromScaled(1, canonicalPriceDecimals(instrument)));
}

function vwap(result: CandidateResult, instrument: Instrument): Ratio {
  const ticks = ratio(result.walk.notionalBig(), BigInt(result.walk.filledLots));
  return multiplyRatio(ticks, ratioFromScaled(1, canonicalPriceDecimals(instrument)));
}

/** Returns how much worse than the mid a price is, in bps of it; negative when better. */
function bpsAway(input: RouteInput, benchmark: Ratio, price: Ratio): string {
  const worse = input.side === "SELL" ? subtractRatio(benchmark, price) : subtractRatio(price, benchmark);
  return formatRatio(multiplyRatio(divideRatio(worse, benchmark), ratio(10_000n)), BPS_PLACES, "halfUp");
}

/** All-in advantage of the selected venue over the runner-up per base unit. */
function savingPerUnit(input: RouteInput, decision: Decision): Ratio {
  const chosen = exactRank(input, decision, decision.selected);
  const other = exactRank(input, decision, decision.runnerUp);
  return input.side === "SELL" ? subtractRatio(chosen, other) : subtractRatio(other, chosen);
}

function formatPrice(price: Ratio, tickDecimals: number): string {
  return formatRatio(price, Math.max(tickDecimals + 1, PRICE_FIGURES - 1 - magnitude(price), 0), "halfUp");
}
