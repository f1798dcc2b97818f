/**
 * Divides a size over several venues, where the caller allows it (routing design 1.7): after the decision for one
 * venue, the cheapest division is computed from the same books, level by level, including fees and penalties.
 *
 * Invariants: the reference mid is a leg's; each leg is on its venue's step and at most its position; a leg is at least
 * the venue's minimum and a tenth of the size; no leg meets a level beyond its worst price; legs and the unplaced rest
 * add up to the size, which is at most the sum of all positions; a split saves more than the tie distance.
 *
 * Allocates: a split runs only on request, and costs a few hundred bigint operations.
 */
import { parseScaled, pow10, pow10Big, rescale } from "../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import { floorQty } from "../domain/price-grid.js";
import { doubleMidTicks, NO_CAP_TICKS, walkDepth } from "../market/depth-walk.js";
import type { Market } from "../market/market.js";
import { holdTogether, isBookUsable, isDeepUsable } from "./eligibility.js";
import { priceExit, protectCandidate } from "./pricing.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  ONE_MILLI_BPS,
  type ReasonCode,
  type RouteInput,
  TIE_MILLI_BPS,
} from "./route-types.js";
import { scoreAllIn, scoreImpact, scoreReference } from "./scoring.js";
import { levelsOf } from "./split-levels.js";
import { planSplit, type CostSegment, type SplitPlan, type SplitVenue } from "./split-plan.js";

export const MAX_LEGS = 3;
/** A leg below this share of the size is not worth an order of its own. */
const MIN_SHARE = 10;

/** May turn the decision just made into a split; leaves it unchanged where one venue alone is as good. */
export function splitRoute(input: RouteInput, decision: Decision, legsMax: number): void {
  if (input.rests || input.preferred !== "" || legsMax < 2 || !Number.isSafeInteger(decision.sizeUnits)) return;
  // The size rule applies in full to a split too: a size beyond all positions is not rounding.
  if (!input.opens && input.kind !== "QUOTE" && !holdTogether(input, decision)) return;
  const members: number[] = [];
  for (let index = 0; index < input.candidateCount; index++)
    if (mayTakePart(input, decision, index)) members.push(index);
  if (members.length < 2) return;
  const decimals = Math.max(
    decision.sizeDecimals,
    ...members.map((index) => canonicalQtyDecimals(instrumentAt(input, index))),
  );
  const sizeUnits = rescale(decision.sizeUnits, decision.sizeDecimals, decimals, "floor");
  if (!(sizeUnits > 0)) return;
  const asDecided = remember(decision, members);
  const legs = divide(input, decision, members, sizeUnits, decimals, legsMax);
  if (legs === null) {
    // Undoes what was only tried.
    asDecided.restore();
    return;
  }
  const single = decision.selected;
  for (const { index, units } of legs) {
    const { instrument } = marketAt(input, index);
    takeLeg(input, decision, index, rescale(units, decimals, canonicalQtyDecimals(instrument), "floor"));
  }
  legs.sort((left, right) => right.units - left.units);
  decision.legs.push(...legs.map(({ index }) => index));
  if (decision.reference !== asDecided.reference) remeasure(input, decision);
  decision.outcome = "SELECTED";
  decision.reason = "BEST_SPLIT";
  decision.selected = decision.legs[0] as number;
  // The savings of a report compare venues for one size; a split has no runner-up for its size.
  decision.runnerUp = -1;
  rankLegs(input, decision, single);
}

interface LegShare {
  readonly index: number;
  readonly units: number;
}

/**
 * Returns the cheapest division whose reference is one of its legs. Each round that ends with another reference
 * continues among its own legs alone, so there are at most as many rounds as members. Returns null if one venue alone
 * is as good, or no division exists.
 */
function divide(
  input: RouteInput,
  decision: Decision,
  members: readonly number[],
  sizeUnits: number,
  decimals: number,
  legsMax: number,
): LegShare[] | null {
  let alone: SplitPlan | null = null;
  for (let among = members; among.length > 1; ) {
    if (!among.includes(decision.reference)) chooseSplitReference(input, decision, among);
    const venues: SplitVenue[] = [];
    const indexes: number[] = [];
    for (const index of among) {
      const venue = venueOf(input, decision, index, sizeUnits, decimals);
      if (venue === null) continue;
      venues.push(venue);
      indexes.push(index);
    }
    if (among === members && decision.selected >= 0) alone = planSplit(venues, sizeUnits, 1);
    const plan = planSplit(venues, sizeUnits, Math.min(legsMax, MAX_LEGS));
    if (plan === null || isAsGood(alone, plan, tieCost(input, decision, sizeUnits))) return null;
    const legs = indexes.map((index, at) => ({ index, units: plan.units[at] ?? 0 })).filter(({ units }) => units > 0);
    if (legs.length < 2) return null;
    if (legs.some(({ index }) => index === decision.reference)) return legs;
    among = legs.map(({ index }) => index);
  }
  return null;
}

/** A division within the tie distance of the best single venue is not worth its extra orders. */
function isAsGood(alone: SplitPlan | null, plan: SplitPlan, tie: bigint): boolean {
  return alone !== null && alone.remainderUnits <= plan.remainderUnits && alone.cost - plan.cost <= tie;
}

/** Returns TIE_MILLI_BPS of the reference mid for the whole size, in the denominator of `segmentsOf`. */
function tieCost(input: RouteInput, decision: Decision, sizeUnits: number): bigint {
  return scaledMid(input, decision, placesOf(input)) * BigInt(TIE_MILLI_BPS) * BigInt(sizeUnits);
}

/** Saves what must be restored if no division is chosen. */
function remember(decision: Decision, members: readonly number[]) {
  const { reference, scores } = decision;
  const mids = [...scores.benchmark];
  const results = members.map((index) => {
    const { priceTicks, bandClamped, doubleMidTicks: doubleMid } = resultAt(decision, index);
    return { index, priceTicks, bandClamped, doubleMidTicks: doubleMid };
  });
  return {
    reference,
    restore(): void {
      decision.reference = reference;
      scores.benchmark.set(mids);
      for (const { index, ...figures } of results) Object.assign(resultAt(decision, index), figures);
    },
  };
}

/** The figures of venues that are not legs use the reference of the legs too. */
function remeasure(input: RouteInput, decision: Decision): void {
  for (let index = 0; index < input.candidateCount; index++) {
    if (decision.legs.includes(index) || !resultAt(decision, index).priced) continue;
    protectCandidate(input, decision, index);
    scoreAllIn(input, decision, index);
  }
}

/** Reports whether only the size, or the price at that size, keeps the venue from taking all. */
function mayTakePart(input: RouteInput, decision: Decision, index: number): boolean {
  const candidate = input.candidates[index] as Candidate;
  const result = resultAt(decision, index);
  if (!isSizeReason(result.reason) || candidate.market === null || !candidate.budgetAvailable) return false;
  return isBookUsable(input, candidate, result) && doubleMidTicks(candidate.market) > 0;
}

function isSizeReason(reason: ReasonCode | ""): boolean {
  switch (reason) {
    case "":
    case "SIZE_EXCEEDS_POSITION":
    case "DEPTH_INSUFFICIENT":
    case "SLIPPAGE_CAP":
    case "ABOVE_MAX_SIZE":
    case "INSUFFICIENT_MARGIN":
      return true;
    default:
      return false;
  }
}

/** Chooses the narrowest spread: none of these venues need have been walked for the whole size. */
function chooseSplitReference(input: RouteInput, decision: Decision, among: readonly number[]): void {
  let best = -1;
  let bestSpread = Number.POSITIVE_INFINITY;
  for (const index of among) {
    const market = marketAt(input, index);
    const result = resultAt(decision, index);
    result.doubleMidTicks = doubleMidTicks(market);
    const spread = Math.abs(2 * result.topTicks - result.doubleMidTicks) / result.doubleMidTicks;
    if (best < 0 || spread < bestSpread) [best, bestSpread] = [index, spread];
  }
  decision.reference = best;
  scoreReference(input, decision);
}

/** Returns null when the venue could not take even its smallest leg. */
function venueOf(
  input: RouteInput,
  decision: Decision,
  index: number,
  sizeUnits: number,
  decimals: number,
): SplitVenue | null {
  const candidate = input.candidates[index] as Candidate;
  const result = resultAt(decision, index);
  const market = marketAt(input, index);
  const { instrument } = market;
  protectCandidate(input, decision, index);
  if (!(result.priceTicks > 0)) return null;
  const perLot = pow10(decimals - canonicalQtyDecimals(instrument));
  const capLots = floorQty(instrument, capOf(input, candidate, result, instrument, Math.ceil(sizeUnits / perLot)));
  const leastLots = leastLot(input, result, instrument, Math.ceil(sizeUnits / MIN_SHARE / perLot));
  if (leastLots > capLots || !Number.isSafeInteger(capLots * perLot)) return null;
  return {
    stepUnits: instrument.qtyStepLots * perLot,
    minUnits: leastLots * perLot,
    capUnits: capLots * perLot,
    segments: segmentsOf(input, decision, index, capLots, perLot),
  };
}

function capOf(
  input: RouteInput,
  candidate: Candidate,
  result: CandidateResult,
  instrument: Instrument,
  sizeLots: number,
): number {
  const most = Math.min(sizeLots, instrument.maxQtyLots);
  if (!input.opens) return input.kind === "QUOTE" ? most : Math.min(most, result.positionLots);
  if (candidate.buyingPower === Number.POSITIVE_INFINITY) return most;
  const { priceDecimals, qtyDecimals } = instrument;
  return Math.min(
    most,
    Math.floor((candidate.buyingPower * pow10(priceDecimals + qtyDecimals)) / (result.doubleMidTicks / 2)),
  );
}

/**
 * Returns the larger of the venue's minimum size, its minimum value and a tenth of the whole, rounded up to the step.
 */
function leastLot(input: RouteInput, result: CandidateResult, instrument: Instrument, shareLots: number): number {
  let lots = Math.max(1, instrument.minQtyLots, shareLots);
  if (input.opens || instrument.minNotionalOnReduceOnly !== "no") {
    const minimum = parseScaled(instrument.minNotional, instrument.priceDecimals + instrument.qtyDecimals);
    if (minimum > 0) lots = Math.max(lots, Math.ceil(minimum / result.priceTicks));
  }
  const over = lots % instrument.qtyStepLots;
  return over === 0 ? lots : lots - over + instrument.qtyStepLots;
}

/**
 * Returns the venue's levels with the cost of one unit at each, worst price and cap applied. All venues share one
 * denominator: twice the common quote × 10^places × fee whole × rate whole, so costs compare as integers. A SELL's
 * proceeds are negative costs.
 */
function segmentsOf(
  input: RouteInput,
  decision: Decision,
  index: number,
  capLots: number,
  perLot: number,
): CostSegment[] {
  const candidate = input.candidates[index] as Candidate;
  const result = resultAt(decision, index);
  const market = marketAt(input, index);
  const deep = isDeepUsable(input, candidate);
  const sign = input.side === "SELL" ? -1n : 1n;
  const places = placesOf(input);
  const scale = 2n * BigInt(candidate.quoteRatePpm) * pow10Big(places - canonicalPriceDecimals(market.instrument));
  const whole = BigInt(ONE_MILLI_BPS);
  const fee = BigInt(candidate.takerFeeMilliBps);
  const penalty = penaltyOf(input, decision, index, places);
  const segments: CostSegment[] = [];
  const out = input.opens ? levelsOf(market, input.side === "SELL" ? "BUY" : "SELL", capLots, NO_CAP_TICKS, deep) : [];
  let outAt = 0;
  let outUsed = 0;
  for (const level of levelsOf(market, input.side, capLots, result.priceTicks, deep)) {
    for (let left = level.lots; left > 0; ) {
      const exit = out[Math.min(outAt, out.length - 1)];
      const here = exit === undefined || outAt >= out.length ? left : Math.min(left, exit.lots - outUsed);
      let unitCost = sign * BigInt(level.ticks) * scale * (whole + sign * fee) + penalty;
      if (exit !== undefined) unitCost -= sign * BigInt(exit.ticks) * scale * (whole - sign * fee);
      segments.push({ units: here * perLot, unitCost });
      left -= here;
      outUsed += here;
      if (exit !== undefined && outUsed >= exit.lots) [outAt, outUsed] = [outAt + 1, 0];
    }
  }
  return segments;
}

/**
 * Latency and, for entries, the funding of the hold: the same for each unit. A short's funding has the opposite sign.
 */
function penaltyOf(input: RouteInput, decision: Decision, index: number, places: number): bigint {
  const candidate = input.candidates[index] as Candidate;
  const funding = input.opens ? BigInt(candidate.fundingMilliBps) * (input.side === "SELL" ? -1n : 1n) : 0n;
  return scaledMid(input, decision, places) * (BigInt(resultAt(decision, index).latencyPenaltyMilliBps) + funding);
}

/** The mid of one unit, in the denominator of `segmentsOf` without the fee's whole. */
function scaledMid(input: RouteInput, decision: Decision, places: number): bigint {
  const reference = input.candidates[decision.reference] as Candidate;
  const instrument = instrumentAt(input, decision.reference);
  return (
    BigInt(resultAt(decision, decision.reference).doubleMidTicks) *
    BigInt(reference.quoteRatePpm) *
    pow10Big(places - canonicalPriceDecimals(instrument))
  );
}

/** Price places that can hold every venue's ticks. */
function placesOf(input: RouteInput): number {
  let places = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const market = (input.candidates[index] as Candidate).market;
    if (market !== null) places = Math.max(places, canonicalPriceDecimals(market.instrument));
  }
  return places;
}

/** Computes the candidate's figures for its leg alone. */
function takeLeg(input: RouteInput, decision: Decision, index: number, lots: number): void {
  const candidate = input.candidates[index] as Candidate;
  const result = resultAt(decision, index);
  const market = marketAt(input, index);
  result.orderLots = lots;
  walkDepth(market, input.side, lots, NO_CAP_TICKS, isDeepUsable(input, candidate), result.walk);
  result.priced = true;
  result.reason = "";
  result.eligible = true;
  result.doubleMidTicks = doubleMidTicks(market);
  scoreImpact(decision, index);
  if (input.opens) priceExit(input, candidate, result, market);
  scoreAllIn(input, decision, index);
}

/** Ranks legs by size, then the venues that could have taken all, starting with the one that would have been chosen. */
function rankLegs(input: RouteInput, decision: Decision, single: number): void {
  let rank = 0;
  for (const index of decision.legs) resultAt(decision, index).rank = ++rank;
  const others: number[] = [];
  for (let index = 0; index < input.candidateCount; index++)
    if (resultAt(decision, index).eligible && !decision.legs.includes(index)) others.push(index);
  others.sort((left, right) => (left === single ? -1 : right === single ? 1 : left - right));
  for (const index of others) resultAt(decision, index).rank = ++rank;
}

function marketAt(input: RouteInput, index: number): Market {
  const market = (input.candidates[index] as Candidate).market;
  if (market === null) throw new TypeError("a leg on a venue without a market");
  return market;
}

function instrumentAt(input: RouteInput, index: number): Instrument {
  return marketAt(input, index).instrument;
}

function resultAt(decision: Decision, index: number): CandidateResult {
  return decision.results[index] as CandidateResult;
}
