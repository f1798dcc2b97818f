/**
 * Prints the figures of figures-exact.ts from the doubles that the decision ranked by, with a bound on their error.
 * Each function returns the same text, or null where the error could change it (about one figure in a thousand; nearly
 * all lie on a rounding border). Rational arithmetic for every figure would cost a hundred times the decision itself.
 *
 * The bound: each value here results from fewer than 32 roundings of 2^-53, none of a term larger than `scaleOf`, so
 * 2^-53 × 32 × scale covers it; ERROR is more than twice that.
 */
import { magnitudeNear, printNear } from "../domain/decimal-near.js";
import { pow10 } from "../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import { BPS_PLACES, PERCENT_PLACES, PRICE_FIGURES, SAVINGS_FIGURES, SAVINGS_PLACES } from "./figures-exact.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  QUOTE_RATE_ONE_PPM,
  type RouteInput,
} from "./route-types.js";

const ERROR = 1e-14;

export function nearVwapText(result: CandidateResult, instrument: Instrument): string | null {
  const price = inPrice(result.walk.vwapTicks(), instrument);
  return priceText(price, ERROR * ticksScale(result, instrument), instrument);
}

export function nearExpectedText(input: RouteInput, result: CandidateResult, instrument: Instrument): string | null {
  return priceText(expected(input, result, instrument), ERROR * ticksScale(result, instrument), instrument);
}

export function nearAllInText(
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
): string | null {
  const price = decision.scores.allIn[index] as number;
  return priceText(price, ERROR * scaleOf(input, decision, index, instrument), instrument);
}

export function nearMidText(decision: Decision, instrument: Instrument): string | null {
  const mid = decision.scores.benchmark[0] as number;
  return priceText(mid, ERROR * mid, instrument);
}

export function nearSlippageText(
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
): string | null {
  const rate = (input.candidates[index] as Candidate).quoteRatePpm / QUOTE_RATE_ONE_PPM;
  const price = expected(input, decision.results[index] as CandidateResult, instrument) * rate;
  return bpsText(input, decision, index, instrument, price);
}

export function nearCostText(
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
): string | null {
  return bpsText(input, decision, index, instrument, decision.scores.rank[index] as number);
}

/** `instrument` is the selected venue's, `other` the runner-up's. */
export function nearSavingsText(
  input: RouteInput,
  decision: Decision,
  instrument: Instrument,
  other: Instrument,
): string | null {
  const { orderLots } = decision.results[decision.selected] as CandidateResult;
  const decimals = canonicalQtyDecimals(instrument);
  const size = decimals >= 0 ? orderLots / pow10(decimals) : orderLots * pow10(-decimals);
  const saving = savingPerUnit(input, decision) * size;
  const error = savingError(input, decision, instrument, other) * size;
  const exponent = magnitudeNear(saving, error);
  return printNear(saving, error, Math.max(SAVINGS_PLACES, SAVINGS_FIGURES - 1 - exponent));
}

export function nearSavingsPercentText(
  input: RouteInput,
  decision: Decision,
  instrument: Instrument,
  other: Instrument,
): string | null {
  const price = decision.scores.rank[decision.runnerUp] as number;
  const error = savingError(input, decision, instrument, other);
  // A runner-up whose price is near zero would make the quotient's error unbounded; no real price is that small.
  if (!(price > error * 1e6)) return null;
  const saving = savingPerUnit(input, decision);
  return printNear((saving / price) * 100, ((2 * error) / price) * 100, PERCENT_PLACES);
}

function priceText(price: number, error: number, instrument: Instrument): string | null {
  const exponent = magnitudeNear(price, error);
  // NaN, an uncertain magnitude, makes every comparison of printNear fail.
  return printNear(price, error, Math.max(canonicalPriceDecimals(instrument) + 1, PRICE_FIGURES - 1 - exponent, 0));
}

function bpsText(
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
  price: number,
): string | null {
  const mid = decision.scores.benchmark[0] as number;
  const worse = input.side === "SELL" ? mid - price : price - mid;
  const error = ERROR * scaleOf(input, decision, index, instrument);
  return printNear((worse / mid) * 10_000, ((2 * error) / mid) * 10_000, BPS_PLACES);
}

function savingPerUnit(input: RouteInput, decision: Decision): number {
  const chosen = decision.scores.rank[decision.selected] as number;
  const other = decision.scores.rank[decision.runnerUp] as number;
  return input.side === "SELL" ? chosen - other : other - chosen;
}

function savingError(input: RouteInput, decision: Decision, instrument: Instrument, other: Instrument): number {
  return (
    ERROR *
    (scaleOf(input, decision, decision.selected, instrument) + scaleOf(input, decision, decision.runnerUp, other))
  );
}

function expected(input: RouteInput, result: CandidateResult, instrument: Instrument): number {
  const walk = result.walk;
  if (!input.rests) return inPrice(walk.vwapTicks(), instrument);
  const share = walk.filledLots / result.orderLots;
  const taken = walk.filledLots > 0 ? walk.vwapTicks() * share : 0;
  return inPrice(taken + result.priceTicks * (1 - share), instrument);
}

function inPrice(ticks: number, instrument: Instrument): number {
  const decimals = canonicalPriceDecimals(instrument);
  return decimals >= 0 ? ticks / pow10(decimals) : ticks * pow10(-decimals);
}

/** The largest price that the walk uses, in the venue's quote. */
function ticksScale(result: CandidateResult, instrument: Instrument): number {
  return inPrice(result.topTicks + result.walk.worstTicks + result.priceTicks, instrument);
}

/**
 * Upper bound on every term in an all-in price and its distance from the mid, common quote; fees and penalty at most
 * double a price. An entry adds the exit, the mid and the funding.
 */
function scaleOf(input: RouteInput, decision: Decision, index: number, instrument: Instrument): number {
  const rate = (input.candidates[index] as Candidate).quoteRatePpm / QUOTE_RATE_ONE_PPM;
  const mid = decision.reference < 0 ? 0 : (decision.scores.benchmark[0] as number);
  const result = decision.results[index] as CandidateResult;
  const entry = 2 * (ticksScale(result, instrument) * rate + mid);
  if (!input.opens) return entry;
  const exit = inPrice(result.exitWalk.topTicks + result.exitWalk.worstTicks, instrument) * rate;
  return entry + 2 * (exit + 2 * mid);
}
