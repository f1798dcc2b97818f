// hot path
/**
 * All-in prices and their order (routing design 1.3, 1.4, 1.7, 1.9).
 *
 * Ranking runs in doubles whose relative error is far below GUARD. Where a figure lies nearer than that to the border
 * of a decision, exact rational arithmetic decides. So every choice equals the exact one, and steady state allocates
 * nothing.
 */
import { pow10 } from "../domain/decimal.js";
import {
  absRatio,
  addRatio,
  compareRatio,
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
  ONE_MILLI_BPS,
  QUOTE_RATE_ONE_PPM,
  type RouteInput,
  TIE_MILLI_BPS,
} from "./route-types.js";

/** Doubles decide only beyond this relative distance; their error here is about 1e-15. */
const GUARD = 1e-12;

function instrumentAt(input: RouteInput, index: number): Instrument {
  const market = (input.candidates[index] as Candidate).market;
  // Only priced candidates are scored, and pricing needs a market.
  if (market === null) throw new TypeError("scored a candidate without a market");
  return market.instrument;
}

// ---------------------------------------------------------------- reference mid

/** Scores how far the size moves this venue, |VWAP − own mid| / own mid; the touch alone where nothing is walked. */
export function scoreImpact(decision: Decision, index: number): void {
  const result = decision.results[index] as CandidateResult;
  const walk = result.walk;
  let price = result.topTicks;
  if (walk.filledLots > 0) {
    const away = walk.offset / walk.filledLots;
    price = walk.side === "SELL" ? walk.topTicks - away : walk.topTicks + away;
    decision.scores.vwapTicks[index] = price;
  }
  decision.scores.impact[index] = Math.abs(2 * price - result.doubleMidTicks) / result.doubleMidTicks;
}

/** Reports whether candidate `left` has the smaller impact. A tie keeps the earlier candidate. */
export function hasSmallerImpact(decision: Decision, left: number, right: number): boolean {
  const impact = decision.scores.impact;
  // 2·VWAP − 2·mid cancels, so the error is relative to 1, not to the impact.
  if (Math.abs((impact[left] as number) - (impact[right] as number)) > GUARD)
    return (impact[left] as number) < (impact[right] as number);
  return (
    compareRatio(
      exactImpact(decision.results[left] as CandidateResult),
      exactImpact(decision.results[right] as CandidateResult),
    ) < 0
  );
}

function exactImpact(result: CandidateResult): Ratio {
  const mid = ratio(BigInt(result.doubleMidTicks), 2n);
  return absRatio(subtractRatio(multiplyRatio(exactVwapTicks(result), ratio(mid.den, mid.num)), ratio(1n)));
}

function exactVwapTicks(result: CandidateResult): Ratio {
  return result.walk.filledLots > 0
    ? ratio(result.walk.notionalBig(), BigInt(result.walk.filledLots))
    : ratio(BigInt(result.topTicks));
}

/** Sets the benchmark and the measure for ties: the mid, or a LIMIT's price where no venue has a mid. */
export function scoreReference(input: RouteInput, decision: Decision): void {
  const benchmark = decision.scores.benchmark;
  const index = decision.reference;
  if (index < 0) {
    benchmark[1] = input.limitDecimals >= 0 ? input.limitUnits / pow10(input.limitDecimals) : input.limitUnits;
    return;
  }
  const result = decision.results[index] as CandidateResult;
  const rate = (input.candidates[index] as Candidate).quoteRatePpm / QUOTE_RATE_ONE_PPM;
  const decimals = canonicalPriceDecimals(instrumentAt(input, index));
  const native = result.doubleMidTicks / 2;
  benchmark[0] = decimals >= 0 ? (native / pow10(decimals)) * rate : native * pow10(-decimals) * rate;
  benchmark[1] = benchmark[0] as number;
}

/** Returns the exact benchmark in common quote. */
export function exactReferenceMid(input: RouteInput, decision: Decision): Ratio | null {
  const index = decision.reference;
  if (index < 0) return null;
  const result = decision.results[index] as CandidateResult;
  const candidate = input.candidates[index] as Candidate;
  const native = multiplyRatio(
    ratio(BigInt(result.doubleMidTicks), 2n),
    ratioFromScaled(1, canonicalPriceDecimals(instrumentAt(input, index))),
  );
  return multiplyRatio(native, ratio(BigInt(candidate.quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM)));
}

function exactTieScale(input: RouteInput, decision: Decision): Ratio {
  return exactReferenceMid(input, decision) ?? ratioFromScaled(input.limitUnits, input.limitDecimals);
}

// ---------------------------------------------------------------- all-in price

/**
 * All-in price per base unit in common quote. MARKET: the walked part is the whole size, taker fee and
 * latency penalty. LIMIT: the marketable part at the taker fee, the rest at the limit at the maker fee.
 */
export function scoreAllIn(input: RouteInput, decision: Decision, index: number): void {
  const candidate = input.candidates[index] as Candidate;
  const result = decision.results[index] as CandidateResult;
  const { vwapTicks, allIn, rank, benchmark } = decision.scores;
  const sign = input.side === "SELL" ? -1 : 1;
  const rate = candidate.quoteRatePpm / QUOTE_RATE_ONE_PPM;
  const decimals = canonicalPriceDecimals(instrumentAt(input, index));
  const unit = decimals >= 0 ? rate / pow10(decimals) : rate * pow10(-decimals);
  const takerFactor = 1 + (sign * candidate.takerFeeMilliBps) / ONE_MILLI_BPS;
  if (!input.rests) {
    const penalty = (result.latencyPenaltyMilliBps / ONE_MILLI_BPS) * (benchmark[0] as number);
    allIn[index] = (vwapTicks[index] as number) * unit * takerFactor + sign * penalty;
    rank[index] = allIn[index] as number;
    if (input.opens) addExitCost(input, decision, index);
    return;
  }
  const makerFactor = 1 + (sign * candidate.makerFeeMilliBps) / ONE_MILLI_BPS;
  const walked = result.walk.filledLots;
  const share = walked / result.orderLots;
  const taken = walked > 0 ? (vwapTicks[index] as number) * takerFactor * share : 0;
  allIn[index] = (taken + result.priceTicks * makerFactor * (1 - share)) * unit;
  rank[index] = allIn[index] as number;
  if (input.opens) addExitCost(input, decision, index);
}

/**
 * An entry fixes the exit venue. So its rank adds the estimated exit (other side of the same book, taker fee, measured
 * from the shared mid) and the funding of the expected hold. Without a mid there is no measure for them.
 */
function addExitCost(input: RouteInput, decision: Decision, index: number): void {
  const { rank, benchmark } = decision.scores;
  const mid = benchmark[0] as number;
  const result = decision.results[index] as CandidateResult;
  if (Number.isNaN(mid) || result.exitWalk.filledLots === 0) return;
  const candidate = input.candidates[index] as Candidate;
  const sign = input.side === "SELL" ? -1 : 1;
  const fee = 1 - (sign * candidate.takerFeeMilliBps) / ONE_MILLI_BPS;
  // As in scoreAllIn: a double that is passed may be boxed.
  const rate = candidate.quoteRatePpm / QUOTE_RATE_ONE_PPM;
  const decimals = canonicalPriceDecimals(instrumentAt(input, index));
  const unit = decimals >= 0 ? rate / pow10(decimals) : rate * pow10(-decimals);
  const left = result.orderLots - result.exitWalk.filledLots;
  const ticks =
    (result.exitWalk.vwapTicks() * result.exitWalk.filledLots + result.exitWalk.worstTicks * left) / result.orderLots;
  rank[index] = (rank[index] as number) + mid - ticks * unit * fee + (candidate.fundingMilliBps / ONE_MILLI_BPS) * mid;
}

/** Returns the exact price that ranks. */
export function exactRank(input: RouteInput, decision: Decision, index: number): Ratio {
  const price = exactAllIn(input, decision, index);
  const mid = exactReferenceMid(input, decision);
  const result = decision.results[index] as CandidateResult;
  if (!input.opens || mid === null || result.exitWalk.filledLots === 0) return price;
  const candidate = input.candidates[index] as Candidate;
  const whole = BigInt(ONE_MILLI_BPS);
  const share = whole - BigInt((input.side === "SELL" ? -1 : 1) * candidate.takerFeeMilliBps);
  const left = BigInt(result.orderLots) - BigInt(result.exitWalk.filledLots);
  const ticks = ratio(
    (result.exitWalk.notionalBig() + BigInt(result.exitWalk.worstTicks) * left) * share,
    BigInt(result.orderLots) * whole,
  );
  const native = multiplyRatio(ticks, ratioFromScaled(1, canonicalPriceDecimals(instrumentAt(input, index))));
  const exit = multiplyRatio(native, ratio(BigInt(candidate.quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM)));
  const funding = multiplyRatio(mid, ratio(BigInt(candidate.fundingMilliBps), whole));
  return addRatio(subtractRatio(addRatio(price, mid), exit), funding);
}

/** Returns the exact all-in price. */
export function exactAllIn(input: RouteInput, decision: Decision, index: number): Ratio {
  const candidate = input.candidates[index] as Candidate;
  const result = decision.results[index] as CandidateResult;
  const sign = input.side === "SELL" ? -1 : 1;
  const whole = BigInt(ONE_MILLI_BPS);
  const walked = BigInt(result.walk.filledLots);
  const resting = BigInt(result.orderLots) - walked;
  const takerShare = whole + BigInt(sign * candidate.takerFeeMilliBps);
  const makerShare = whole + BigInt(sign * candidate.makerFeeMilliBps);
  const value = result.walk.notionalBig() * takerShare + BigInt(result.priceTicks) * resting * makerShare;
  const ticks = ratio(value, BigInt(result.orderLots) * whole);
  const native = multiplyRatio(ticks, ratioFromScaled(1, canonicalPriceDecimals(instrumentAt(input, index))));
  const price = multiplyRatio(native, ratio(BigInt(candidate.quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM)));
  const mid = exactReferenceMid(input, decision);
  if (input.rests || mid === null) return price;
  return addRatio(price, multiplyRatio(mid, ratio(BigInt(sign * result.latencyPenaltyMilliBps), whole)));
}

// ---------------------------------------------------------------- order of candidates

/** Reports whether `left` is strictly better than `right`. */
export function isBetter(input: RouteInput, decision: Decision, left: number, right: number): boolean {
  return isBehindBy(input, decision, right, left, 0);
}

/** Reports whether `index` is within the tie distance of `best`. */
export function isTied(input: RouteInput, decision: Decision, index: number, best: number): boolean {
  return !isBehindBy(input, decision, index, best, TIE_MILLI_BPS);
}

/** Reports whether `left` is worse than `right` by more than `milliBps` of the reference mid. */
function isBehindBy(input: RouteInput, decision: Decision, left: number, right: number, milliBps: number): boolean {
  const a = decision.scores.rank[left] as number;
  const b = decision.scores.rank[right] as number;
  const scale = decision.scores.benchmark[1] as number;
  const behind = (input.side === "SELL" ? b - a : a - b) - (milliBps / ONE_MILLI_BPS) * scale;
  if (Math.abs(behind) > GUARD * scale) return behind > 0;
  return isBehindExactly(input, decision, left, right, milliBps);
}

function isBehindExactly(
  input: RouteInput,
  decision: Decision,
  left: number,
  right: number,
  milliBps: number,
): boolean {
  const a = exactRank(input, decision, left);
  const b = exactRank(input, decision, right);
  const behind = input.side === "SELL" ? subtractRatio(b, a) : subtractRatio(a, b);
  const allowed = multiplyRatio(exactTieScale(input, decision), ratio(BigInt(milliBps), BigInt(ONE_MILLI_BPS)));
  return compareRatio(behind, allowed) > 0;
}

/** -1, 0, 1: compares open sizes in base units; unknown positions (QUOTE) are equal. */
export function comparePositions(input: RouteInput, decision: Decision, left: number, right: number): number {
  const a = decision.results[left] as CandidateResult;
  const b = decision.results[right] as CandidateResult;
  if (a.positionLots < 0 || b.positionLots < 0) return 0;
  const shift = canonicalQtyDecimals(instrumentAt(input, left)) - canonicalQtyDecimals(instrumentAt(input, right));
  const leftUnits = a.positionLots * (shift < 0 ? pow10(-shift) : 1);
  const rightUnits = b.positionLots * (shift > 0 ? pow10(shift) : 1);
  return leftUnits < rightUnits ? -1 : leftUnits > rightUnits ? 1 : 0;
}
