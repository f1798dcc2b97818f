// hot path
/**
 * What each venue would pay for the size: depth walk, latency penalty, reference mid, worst acceptable price (routing
 * design 1.3 to 1.6). Prices that reach an order are integers throughout; sigma and latency are float statistics and
 * become an integer penalty.
 */
import { divideBig, multiplyDivide, multiplySafe, pow10, pow10Big, rescale, toSafeNumber } from "../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import type { Side } from "../domain/order.js";
import { floorQty, protectPrice, tighterPrice } from "../domain/price-grid.js";
import { BOOK_LIVE } from "../market/book.js";
import { bestTicks, doubleMidTicks, NO_CAP_TICKS, walkDepth } from "../market/depth-walk.js";
import { ageMs } from "../market/freshness.js";
import type { Market } from "../market/market.js";
import { isBookUsable, isDeepUsable } from "./eligibility.js";
import { bandEdgeTicks, bandTicks } from "./price-band.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  ONE_MILLI_BPS,
  type ReasonCode,
  type RouteInput,
} from "./route-types.js";
import { scoreImpact } from "./scoring.js";

/** Ceiling of the penalty: 100 %. Invalid statistics must not overflow a rank. */
const MAX_PENALTY_MILLI_BPS = 10_000_000;
const PPM = 1_000_000;

/**
 * Walks every venue with a usable book, eligible or not: the report shows what the others would have
 * paid. Reasons found here: BOOK_STALE of the deep tier, DEPTH_INSUFFICIENT, a market without a mid.
 */
export function priceCandidates(input: RouteInput, decision: Decision): void {
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    const market = candidate.market;
    if (market === null) continue;
    const instrument = market.instrument;
    const wanted = rescale(decision.sizeUnits, decision.sizeDecimals, canonicalQtyDecimals(instrument), "floor");
    result.orderLots = wanted > 0 ? floorQty(instrument, wanted) : 0;
    if (!isBookUsable(input, candidate, result)) continue;
    result.topTicks = bestTicks(market, input.side);
    result.doubleMidTicks = doubleMidTicks(market);
    setLatencyPenalty(input, decision, index, market);
    const reason = input.rests
      ? priceLimit(input, candidate, result, market)
      : priceMarket(input, candidate, result, market, wanted);
    if (result.priced) {
      scoreImpact(decision, index);
      if (input.opens) priceExit(input, candidate, result, market);
    }
    if (result.reason === "") result.reason = reason;
  }
}

function priceMarket(
  input: RouteInput,
  candidate: Candidate,
  result: CandidateResult,
  market: Market,
  wanted: number,
): ReasonCode | "" {
  // A size beyond the safe range is more than any book holds.
  if (result.topTicks === 0 || Number.isNaN(wanted)) return "DEPTH_INSUFFICIENT";
  // Without the other side there is no mid to measure against.
  if (result.doubleMidTicks === 0) return "BOOK_INVALID";
  // Below one lot: nothing to walk, BELOW_MIN_SIZE follows.
  if (result.orderLots === 0) return "";
  const deepUsable = isDeepUsable(input, candidate);
  const walk = result.walk;
  walkDepth(market, input.side, result.orderLots, NO_CAP_TICKS, deepUsable, walk);
  if (walk.neededDeep && market.deep !== null) result.depthAgeMs = ageMs(market.deep.tsProvenNs, input.nowNs);
  if (walk.filledLots === result.orderLots) {
    result.priced = true;
    return "";
  }
  return walk.neededDeep && !deepUsable && market.deep !== null && market.deep.state === BOOK_LIVE
    ? "BOOK_STALE"
    : "DEPTH_INSUFFICIENT";
}

/** Walks the exit of an entry: the size over the other side of the same book, as far as that side goes. */
export function priceExit(input: RouteInput, candidate: Candidate, result: CandidateResult, market: Market): void {
  const side = input.side === "SELL" ? "BUY" : "SELL";
  walkDepth(market, side, result.orderLots, NO_CAP_TICKS, isDeepUsable(input, candidate), result.exitWalk);
}

function priceLimit(input: RouteInput, candidate: Candidate, result: CandidateResult, market: Market): ReasonCode | "" {
  const instrument = market.instrument;
  const limitTicks = rescale(
    input.limitUnits,
    input.limitDecimals,
    canonicalPriceDecimals(instrument),
    input.side === "SELL" ? "ceil" : "floor",
  );
  setProtectedPrice(input, market, result, limitTicks);
  // A limit that has no grid price on its protective side (below one tick, beyond the safe range) cannot be sent here.
  if (!(result.priceTicks > 0)) return "PRICE_OUT_OF_RANGE";
  if (result.orderLots === 0) return "";
  if (input.kind === "CLOSE_STOP") {
    // No part of it meets today's book.
    result.priced = true;
    return "";
  }
  walkDepth(market, input.side, result.orderLots, result.priceTicks, isDeepUsable(input, candidate), result.walk);
  if (result.walk.neededDeep && market.deep !== null) result.depthAgeMs = ageMs(market.deep.tsProvenNs, input.nowNs);
  result.priced = true;
  return "";
}

/** k × σ × √(p90 seconds) in thousandths of a basis point, rounded to one of them. */
function setLatencyPenalty(input: RouteInput, decision: Decision, index: number, market: Market): void {
  const candidate = input.candidates[index] as Candidate;
  const result = decision.results[index] as CandidateResult;
  const sigma = decision.scores.sigma;
  market.stats.sigmaInto(sigma, index);
  const seconds = (candidate.latencyMsP90 + candidate.takerDelayMs) / 1000;
  const penalty = Math.round(input.latencyFactor * (sigma[index] as number) * Math.sqrt(seconds) * ONE_MILLI_BPS);
  result.latencyPenaltyMilliBps = penalty <= MAX_PENALTY_MILLI_BPS ? penalty : MAX_PENALTY_MILLI_BPS;
}

/**
 * Sets the worst acceptable price of every priced candidate: from the shared reference mid, or from a bound set earlier
 * where that is tighter. A LIMIT brings its own.
 */
export function protectCandidates(input: RouteInput, decision: Decision): void {
  if (decision.reference < 0 || input.rests) return;
  for (let index = 0; index < input.candidateCount; index++) {
    if ((decision.results[index] as CandidateResult).priced) protectCandidate(input, decision, index);
  }
}

/** Sets one candidate's worst acceptable price; there must be a reference. */
export function protectCandidate(input: RouteInput, decision: Decision, index: number): void {
  const candidate = input.candidates[index] as Candidate;
  const result = decision.results[index] as CandidateResult;
  const reference = decision.results[decision.reference] as CandidateResult;
  const referenceCandidate = input.candidates[decision.reference] as Candidate;
  if (candidate.market === null || referenceCandidate.market === null) return;
  let worst = worstTicks(
    input.side,
    input.maxSlippageBps,
    reference.doubleMidTicks,
    referenceCandidate.market.instrument,
    referenceCandidate.quoteRatePpm,
    candidate.market.instrument,
    candidate.quoteRatePpm,
  );
  if (input.boundUnits > 0) {
    result.quotedTicks = boundTicks(input, candidate, candidate.market.instrument);
    // The tighter of both. A bound beyond the safe range (NaN) is no price, and makes the result none.
    worst = input.side === "SELL" ? Math.max(worst, result.quotedTicks) : Math.min(worst, result.quotedTicks);
  }
  setProtectedPrice(input, candidate.market, result, worst);
}

/**
 * Returns a bound set earlier, in ticks of the venue, rounded to the protective side. Cold: only calls with a quote and
 * later orders of an execution come here.
 */
function boundTicks(input: RouteInput, candidate: Candidate, instrument: Instrument): number {
  const shift = canonicalPriceDecimals(instrument) - input.boundDecimals;
  const numerator = BigInt(input.boundUnits) * BigInt(PPM) * pow10Big(Math.max(0, shift));
  const denominator = BigInt(candidate.quoteRatePpm) * pow10Big(Math.max(0, -shift));
  return toSafeNumber(divideBig(numerator, denominator, input.side === "SELL" ? "ceil" : "floor"));
}

/**
 * Returns referenceMid × (1 ∓ maxSlippage) in ticks of `instrument`, rounded to the protective side: up for a SELL,
 * down for a BUY. Exact; quote rates convert the reference's quote asset into the venue's.
 */
export function worstTicks(
  side: Side,
  maxSlippageBps: number,
  referenceDoubleMid: number,
  referenceInstrument: Instrument,
  referenceRatePpm: number,
  instrument: Instrument,
  ratePpm: number,
): number {
  const slippage = Math.round(maxSlippageBps * 1000);
  const share = side === "SELL" ? ONE_MILLI_BPS - slippage : ONE_MILLI_BPS + slippage;
  const rounding = side === "SELL" ? "ceil" : "floor";
  const shift = canonicalPriceDecimals(instrument) - canonicalPriceDecimals(referenceInstrument);
  // Twice the mid × share / (2 × whole), then scale and rate: in doubles while every product stays a safe integer.
  if (referenceRatePpm === ratePpm && share % 1000 === 0) {
    const scaled = multiplySafe(referenceDoubleMid, shift > 0 ? pow10(shift) : 1);
    const divisor = multiplySafe(20_000, shift < 0 ? pow10(-shift) : 1);
    if (scaled * (share / 1000) <= Number.MAX_SAFE_INTEGER && divisor > 0) {
      return multiplyDivide(scaled, share / 1000, divisor, rounding);
    }
  }
  return worstTicksBig(referenceDoubleMid, share, referenceRatePpm, ratePpm, shift, rounding);
}

/** The same over bigint: unequal quote rates or extreme scales. */
function worstTicksBig(
  doubleMid: number,
  share: number,
  fromRate: number,
  toRate: number,
  shift: number,
  rounding: "floor" | "ceil",
): number {
  const numerator = BigInt(doubleMid) * BigInt(share) * BigInt(fromRate) * pow10Big(Math.max(0, shift));
  const denominator = 2n * BigInt(ONE_MILLI_BPS) * BigInt(toRate) * pow10Big(Math.max(0, -shift));
  return toSafeNumber(divideBig(numerator, denominator, rounding));
}

/**
 * Rounds to the grid toward the protective side; where the venue has a price band around its mark, the tighter bound
 * applies.
 */
function setProtectedPrice(input: RouteInput, market: Market, result: CandidateResult, ticks: number): void {
  const band = isOutsideBand(input, market, ticks) ? bandTicks(input, market) : 0;
  result.bandClamped = band > 0;
  const onGrid = protectPrice(market.instrument, input.side, band > 0 ? band : ticks);
  result.priceTicks = onGrid > 0 ? onGrid : 0;
}

/**
 * Reports whether the venue's band replaces the bound. A caller's LIMIT is replaced only where it lies outside the band
 * by our mark. A stop's limit never is: the venue checks it around the trigger (orders/decide/stop-limit.ts).
 */
function isOutsideBand(input: RouteInput, market: Market, ticks: number): boolean {
  if (input.kind === "CLOSE_STOP") return false;
  const edge = input.rests ? bandEdgeTicks(input, market) : bandTicks(input, market);
  return edge > 0 && ticks !== tighterPrice(input.side, edge, ticks);
}
