/**
 * A size over several venues, where the caller allows it (routing design 1.7): after the decision for one venue, the
 * same books are asked what the cheapest division would cost, level by level with fees and penalties in it.
 *
 * Invariants: each leg is on its venue's step and at most its position; a leg is at least the venue's minimum and a
 * tenth of the size; no leg meets a level beyond its worst price; legs and what stays unplaced make the size.
 *
 * Allocates: a split is asked for by name, and costs a few hundred bigint operations.
 */
import { parseScaled, pow10, pow10Big, rescale } from "../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import { floorQty } from "../domain/price-grid.js";
import { BOOK_LIVE } from "../market/book.js";
import { doubleMidTicks, NO_CAP_TICKS, walkDepth } from "../market/depth-walk.js";
import type { LadderSide } from "../market/ladder-side.js";
import type { Market } from "../market/market.js";
import { isTouchNewer } from "../market/touch.js";
import { isBookUsable, isDeepUsable } from "./eligibility.js";
import { priceExit, protectCandidate } from "./pricing.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  ONE_MILLI_BPS,
  type ReasonCode,
  type RouteInput,
} from "./route-types.js";
import { scoreAllIn, scoreImpact, scoreReference } from "./scoring.js";
import { planSplit, type CostSegment, type SplitVenue } from "./split-plan.js";

export const MAX_LEGS = 3;
/** A leg below this share of the size is not worth an order of its own. */
const MIN_SHARE = 10;
/** Levels of a side that a split looks at; what lies deeper counts as not there. */
const MAX_LEVELS = 1_024;

const scratchKeys = new Float64Array(MAX_LEVELS);
const scratchLots = new Float64Array(MAX_LEVELS);

/** May turn the decision just taken into a split; leaves it as it is where one venue alone is at least as good. */
export function splitRoute(input: RouteInput, decision: Decision, legsMax: number): void {
  if (input.rests || input.preferred !== "" || legsMax < 2 || !Number.isSafeInteger(decision.sizeUnits)) return;
  const members: number[] = [];
  for (let index = 0; index < input.candidateCount; index++)
    if (mayTakePart(input, decision, index)) members.push(index);
  if (members.length < 2) return;
  if (decision.reference < 0 && !chooseSplitReference(input, decision, members)) return;
  const decimals = Math.max(
    decision.sizeDecimals,
    ...members.map((index) => canonicalQtyDecimals(instrumentAt(input, index))),
  );
  const sizeUnits = rescale(decision.sizeUnits, decision.sizeDecimals, decimals, "floor");
  if (!(sizeUnits > 0)) return;
  const venues: SplitVenue[] = [];
  const indexes: number[] = [];
  const before = members.map((index) => resultAt(decision, index).priceTicks);
  for (const index of members) {
    const venue = venueOf(input, decision, index, sizeUnits, decimals);
    if (venue === null) continue;
    venues.push(venue);
    indexes.push(index);
  }
  const plan = planSplit(venues, sizeUnits, Math.min(legsMax, MAX_LEGS));
  const legs = indexes.filter((_, at) => (plan?.units[at] ?? 0) > 0);
  if (plan === null || legs.length < 2) {
    // As the decision had them: what was only tried must not show.
    for (const [at, index] of members.entries()) resultAt(decision, index).priceTicks = before[at] ?? 0;
    return;
  }
  const single = decision.selected;
  for (const [at, index] of indexes.entries()) {
    const units = plan.units[at] ?? 0;
    if (units > 0)
      takeLeg(
        input,
        decision,
        index,
        rescale(units, decimals, canonicalQtyDecimals(instrumentAt(input, index)), "floor"),
      );
  }
  legs.sort((left, right) => (plan.units[indexes.indexOf(right)] ?? 0) - (plan.units[indexes.indexOf(left)] ?? 0));
  decision.outcome = "SELECTED";
  decision.reason = "BEST_SPLIT";
  decision.selected = legs[0] as number;
  // The savings of a report compare venues for one size; a split has no one to be compared with there.
  decision.runnerUp = -1;
  decision.legs.push(...legs);
  rankLegs(input, decision, single);
}

/** Only the size, or what the size does to its price, keeps it from taking all. */
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

/** Where no venue could be walked for the whole size: the narrowest one is the benchmark. */
function chooseSplitReference(input: RouteInput, decision: Decision, members: readonly number[]): boolean {
  let best = -1;
  let bestSpread = Number.POSITIVE_INFINITY;
  for (const index of members) {
    const market = marketAt(input, index);
    const result = resultAt(decision, index);
    result.doubleMidTicks = doubleMidTicks(market);
    const spread = Math.abs(2 * result.topTicks - result.doubleMidTicks) / result.doubleMidTicks;
    if (spread < bestSpread) [best, bestSpread] = [index, spread];
  }
  if (best < 0) return false;
  decision.reference = best;
  scoreReference(input, decision);
  return true;
}

/** Null: it could not take even its least leg. */
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

/** The venue's minimum size and value, and a tenth of the whole, up to the step. */
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
 * The venue's levels with what one unit there costs, worst price and cap applied. All venues share one denominator:
 * twice the common quote × 10^places × fee whole × rate whole, so costs compare as integers. A SELL's proceeds are
 * negative costs.
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

/** Latency and, for entries, the funding of the hold: the same for each unit. A short's funding has the other sign. */
function penaltyOf(input: RouteInput, decision: Decision, index: number, places: number): bigint {
  const candidate = input.candidates[index] as Candidate;
  const reference = input.candidates[decision.reference] as Candidate;
  const instrument = instrumentAt(input, decision.reference);
  const mid =
    BigInt(resultAt(decision, decision.reference).doubleMidTicks) *
    BigInt(reference.quoteRatePpm) *
    pow10Big(places - canonicalPriceDecimals(instrument));
  const funding = input.opens ? BigInt(candidate.fundingMilliBps) * (input.side === "SELL" ? -1n : 1n) : 0n;
  return mid * (BigInt(resultAt(decision, index).latencyPenaltyMilliBps) + funding);
}

/** Price places that hold every venue's ticks. */
function placesOf(input: RouteInput): number {
  let places = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const market = (input.candidates[index] as Candidate).market;
    if (market !== null) places = Math.max(places, canonicalPriceDecimals(market.instrument));
  }
  return places;
}

interface Level {
  readonly ticks: number;
  readonly lots: number;
}

/** The levels an order of `side` would meet, as walkDepth meets them, until they hold `lotsMax`. */
function levelsOf(
  market: Market,
  side: "BUY" | "SELL",
  lotsMax: number,
  capTicks: number,
  allowDeep: boolean,
): Level[] {
  const { book, deep, touch } = market;
  const levels: Level[] = [];
  if (book.state !== BOOK_LIVE) return levels;
  const sell = side === "SELL";
  const capKey = capTicks === NO_CAP_TICKS ? Number.NEGATIVE_INFINITY : sell ? capTicks : -capTicks;
  let belowKey = Number.POSITIVE_INFINITY;
  let left = lotsMax;
  const take = (key: number, lots: number): void => {
    const taken = Math.min(left, lots);
    if (taken > 0) levels.push({ ticks: Math.abs(key), lots: taken });
    left -= taken;
  };
  if (isTouchNewer(touch, book)) {
    const lots = sell ? touch.bidLots : touch.askLots;
    belowKey = sell ? touch.bidTicks : -touch.askTicks;
    if (lots === 0 || belowKey < capKey) return levels;
    take(belowKey, lots);
  }
  const takeSide = (ladder: LadderSide): void => {
    const count = ladder.copyLevels(MAX_LEVELS, scratchKeys, scratchLots);
    for (let at = 0; at < count && left > 0; at++) {
      const key = scratchKeys[at] as number;
      if (key < capKey) return;
      if (key < belowKey) take(key, scratchLots[at] as number);
    }
  };
  const main = sell ? book.bids : book.asks;
  takeSide(main);
  if (left > 0 && allowDeep && deep !== null && deep.state === BOOK_LIVE && main.count > 0) {
    belowKey = Math.min(belowKey, main.worstKey);
    takeSide(sell ? deep.bids : deep.asks);
  }
  return levels;
}

/** The candidate's figures for its leg alone. */
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

/** Legs by size, then whoever could have taken all, the one that would have been chosen first. */
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
