// hot path
/**
 * The decision: which venue takes a close or an entry, at which worst price (routing design, section 1, rules 1 to 7
 * and 9). A pure function of the input and the books it points to; writes only into `decision`.
 *
 * Order of work: credentials, positions, health → size rule → depth walks → reference mid → worst prices → slippage
 * cap, minimum, budget → ranking. The reference is chosen among candidates that pass every check but SLIPPAGE_CAP, the
 * only one that needs the reference.
 */
import { multiplySafe, parseScaled, pow10 } from "../domain/decimal.js";
import type { ErrorCode } from "../domain/errors.js";
import type { Instrument } from "../domain/instrument.js";
import { applySizeRule, checkCandidates } from "./eligibility.js";
import { priceCandidates, protectCandidates, worstTicks } from "./pricing.js";
import type {
  Candidate,
  CandidateResult,
  Decision,
  DecisionOutcome,
  DecisionReason,
  ReasonCode,
  RouteInput,
} from "./route-types.js";
import { comparePositions, hasSmallerImpact, isBetter, isTied, scoreAllIn, scoreReference } from "./scoring.js";

/** Decides a close, an entry or a public quote. Synchronous; a close allocates nothing in steady state. */
export function decideRoute(input: RouteInput, decision: Decision): void {
  decision.reset(input.candidateCount);
  checkCandidates(input, decision);
  const refused = applySizeRule(input, decision);
  priceCandidates(input, decision);
  decision.reference = chooseReference(input, decision);
  protectCandidates(input, decision);
  scoreReference(input, decision);
  for (let index = 0; index < input.candidateCount; index++) finishCandidate(input, decision, index, refused);
  if (refused !== "") {
    decision.outcome = refused;
    return;
  }
  select(input, decision);
  if (decision.selected < 0) decision.outcome = explainNone(input, decision);
}

// ---------------------------------------------------------------- checks with prices

/**
 * Returns the venue with the smallest impact among those that may take the order. Where none may, it is chosen among
 * all priced venues, so that a refusal can still show figures. -1 if none has a mid.
 */
function chooseReference(input: RouteInput, decision: Decision): number {
  let best = -1;
  let bestFallback = -1;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    if (!result.priced || result.doubleMidTicks === 0) continue;
    if (bestFallback < 0 || hasSmallerImpact(decision, index, bestFallback)) bestFallback = index;
    if (result.reason !== "" || !mayBeReference(input, candidate, result)) continue;
    if (best < 0 || hasSmallerImpact(decision, index, best)) best = index;
  }
  return best >= 0 ? best : bestFallback;
}

/**
 * Runs all checks of `lastReason` but the cap. A minimum value is checked at the price that the candidate's own mid
 * would give.
 */
function mayBeReference(input: RouteInput, candidate: Candidate, result: CandidateResult): boolean {
  if (sizeReason(candidate, result) !== "" || !candidate.budgetAvailable) return false;
  if (input.opens && isBeyondMargin(candidate, result)) return false;
  if (input.kind === "QUOTE" || candidate.market === null) return true;
  const { instrument } = candidate.market;
  if (!input.opens && instrument.minNotionalOnReduceOnly === "no") return true;
  const { quoteRatePpm } = candidate;
  const priceTicks = input.rests
    ? result.priceTicks
    : worstTicks(
        input.side,
        input.maxSlippageBps,
        result.doubleMidTicks,
        instrument,
        quoteRatePpm,
        instrument,
        quoteRatePpm,
      );
  return !isBelowMinNotional(input, candidate, result, priceTicks);
}

/**
 * Finds reasons that need the worst price, then the all-in price. `refused`: the outcome of the size rule if it already
 * refused.
 */
function finishCandidate(input: RouteInput, decision: Decision, index: number, refused: DecisionOutcome | ""): void {
  const candidate = input.candidates[index] as Candidate;
  const result = decision.results[index] as CandidateResult;
  if (result.reason === "") result.reason = lastReason(input, candidate, result);
  if (result.priced) scoreAllIn(input, decision, index);
  result.eligible = refused === "" && result.reason === "" && result.priced;
}

function lastReason(input: RouteInput, candidate: Candidate, result: CandidateResult): ReasonCode | "" {
  if (!input.rests && result.priced && isBeyondWorst(input, result)) return "SLIPPAGE_CAP";
  const size = sizeReason(candidate, result);
  if (size !== "") return size;
  if (input.rests && input.opens && isBelowResting(candidate, result)) return "BELOW_MIN_SIZE";
  if (input.kind !== "QUOTE" && isBelowMinNotional(input, candidate, result, result.priceTicks))
    return "BELOW_MIN_SIZE";
  if (input.opens && isBeyondMargin(candidate, result)) return "INSUFFICIENT_MARGIN";
  return candidate.budgetAvailable ? "" : "RATE_BUDGET";
}

/**
 * Reports whether the last level needed lies beyond the worst price: the order could then not fill within the cap.
 * Fails closed.
 */
function isBeyondWorst(input: RouteInput, result: CandidateResult): boolean {
  if (!(result.priceTicks > 0)) return true;
  return input.side === "SELL"
    ? result.walk.worstTicks < result.priceTicks
    : result.walk.worstTicks > result.priceTicks;
}

function sizeReason(candidate: Candidate, result: CandidateResult): ReasonCode | "" {
  if (candidate.market === null) return "SYMBOL_NOT_LISTED";
  const instrument = candidate.market.instrument;
  if (result.orderLots === 0 || result.orderLots < instrument.minQtyLots) return "BELOW_MIN_SIZE";
  return result.orderLots > instrument.maxQtyLots ? "ABOVE_MAX_SIZE" : "";
}

/** Venues that apply the minimum value to closes too make an exception for closing the whole position. */
function isBelowMinNotional(
  input: RouteInput,
  candidate: Candidate,
  result: CandidateResult,
  priceTicks: number,
): boolean {
  if (candidate.market === null) return false;
  const instrument = candidate.market.instrument;
  if (input.opens) return notionalBelow(instrument, instrument.minNotional, result.orderLots, priceTicks);
  if (instrument.minNotionalOnReduceOnly === "no" || result.orderLots === result.positionLots) return false;
  return notionalBelow(instrument, instrument.minNotional, result.orderLots, priceTicks);
}

/** Some venues have higher minimums for orders that rest than for those that take. */
function isBelowResting({ market }: Candidate, { orderLots, priceTicks }: CandidateResult): boolean {
  const minimum = market?.instrument.restingMinimum;
  if (market === null || minimum === undefined) return false;
  return orderLots < minimum.qtyLots || notionalBelow(market.instrument, minimum.notional, orderLots, priceTicks);
}

/**
 * Reports whether the order's value at the mid (a LIMIT's at its own price) exceeds what the free margin carries. In
 * doubles: only the clear case is refused here, and the venue decides the rest.
 */
function isBeyondMargin(candidate: Candidate, result: CandidateResult): boolean {
  if (candidate.market === null || candidate.buyingPower === Number.POSITIVE_INFINITY) return false;
  const { priceDecimals, qtyDecimals } = candidate.market.instrument;
  const ticks = result.doubleMidTicks > 0 ? result.doubleMidTicks / 2 : result.priceTicks;
  return (result.orderLots * ticks) / pow10(priceDecimals + qtyDecimals) > candidate.buyingPower;
}

/** Measured at the price that is sent, like the venue's own check. */
function notionalBelow(instrument: Instrument, minNotional: string, lots: number, ticks: number): boolean {
  const minimum = parseScaled(minNotional, instrument.priceDecimals + instrument.qtyDecimals);
  const notional = multiplySafe(lots, ticks);
  // A notional beyond the safe range is above any minimum; a minimum that cannot be read is not enforced here, since
  // the venue enforces it.
  return notional < minimum;
}

// ---------------------------------------------------------------- choice

function select(input: RouteInput, decision: Decision): void {
  let best = -1;
  let eligibleCount = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    if (!(decision.results[index] as CandidateResult).eligible) continue;
    eligibleCount++;
    if (best < 0 || isBetter(input, decision, index, best)) best = index;
  }
  if (best < 0) return;
  let selected = best;
  let reason: DecisionReason = "BEST_ALL_IN_PRICE";
  for (let index = 0; index < input.candidateCount; index++) {
    if (index === selected || !(decision.results[index] as CandidateResult).eligible) continue;
    if (!isTied(input, decision, index, best)) continue;
    const preference = tiePreference(input, decision, index, selected);
    if (preference === "") continue;
    selected = index;
    reason = preference;
  }
  if (selected === best) reason = "BEST_ALL_IN_PRICE";
  if (eligibleCount === 1) reason = "ONLY_ELIGIBLE_VENUE";
  if (input.preferred !== "") reason = "PREFERRED_EXCHANGE";
  decision.outcome = "SELECTED";
  decision.selected = selected;
  decision.reason = reason;
  rank(input, decision);
}

/**
 * Returns the rule that prefers `index` among tied venues: the lower latency, then the larger position, then the better
 * price; "" if `index` does not replace `current`.
 */
function tiePreference(input: RouteInput, decision: Decision, index: number, current: number): DecisionReason | "" {
  const latency = effectiveLatency(input, index) - effectiveLatency(input, current);
  if (latency !== 0) return latency < 0 ? "TIE_LOWEST_LATENCY" : "";
  const position = comparePositions(input, decision, index, current);
  if (position !== 0) return position > 0 ? "TIE_LARGER_POSITION" : "";
  return isBetter(input, decision, index, current) ? "BEST_ALL_IN_PRICE" : "";
}

function effectiveLatency(input: RouteInput, index: number): number {
  const candidate = input.candidates[index] as Candidate;
  return candidate.latencyMsP90 + candidate.takerDelayMs;
}

/** Rank 1 is the selected venue, the others follow by all-in price. */
function rank(input: RouteInput, decision: Decision): void {
  (decision.results[decision.selected] as CandidateResult).rank = 1;
  for (let index = 0; index < input.candidateCount; index++) {
    const result = decision.results[index] as CandidateResult;
    if (!result.eligible || index === decision.selected) continue;
    let ahead = 0;
    for (let other = 0; other < input.candidateCount; other++) {
      if (other === index || other === decision.selected || !(decision.results[other] as CandidateResult).eligible)
        continue;
      // Equal prices keep the order of candidates.
      if (isBetter(input, decision, other, index) || (other < index && !isBetter(input, decision, index, other)))
        ahead++;
    }
    result.rank = 2 + ahead;
    if (ahead === 0) decision.runnerUp = index;
  }
}

// ---------------------------------------------------------------- refusals

/** No venue is eligible: returns the code that tells the caller most. */
function explainNone(input: RouteInput, decision: Decision): DecisionOutcome {
  let contenders = 0;
  let belowMinimum = 0;
  let belowLot = 0;
  let noBudget = 0;
  let unhealthy = 0;
  let refusal: DecisionOutcome | "" = "";
  let refusedAlike = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const result = decision.results[index] as CandidateResult;
    if (result.reason === "SLIPPAGE_CAP") return "SLIPPAGE_CAP";
    if (!isContender(result.reason)) continue;
    contenders++;
    if (isEntryRefusal(result.reason)) {
      if (refusal === "") refusal = result.reason;
      if (refusal === result.reason) refusedAlike++;
    }
    if (result.reason === "BELOW_MIN_SIZE") {
      belowMinimum++;
      if (result.orderLots === 0) belowLot++;
    } else if (result.reason === "RATE_BUDGET") noBudget++;
    else if (result.reason === "VENUE_UNHEALTHY") unhealthy++;
  }
  if (contenders === 0) return "NO_ELIGIBLE_VENUE";
  if (refusal !== "" && refusedAlike === contenders) return refusal;
  if (belowLot === contenders) return "SIZE_BELOW_LOT";
  if (belowMinimum === contenders) return "BELOW_MIN_SIZE";
  if (noBudget === contenders) return "VENUE_RATE_LIMITED";
  // With one venue named, an unhealthy venue is that venue's outage; with several, the list of candidates explains it.
  if (unhealthy === contenders && input.preferred !== "") return "VENUE_UNAVAILABLE";
  return "NO_ELIGIBLE_VENUE";
}

function isEntryRefusal(
  reason: ReasonCode | "",
): reason is "OPPOSITE_POSITION" | "LEVERAGE_NOT_SUPPORTED" | "INSUFFICIENT_MARGIN" {
  return reason === "OPPOSITE_POSITION" || reason === "LEVERAGE_NOT_SUPPORTED" || reason === "INSUFFICIENT_MARGIN";
}

/** Reports whether this venue could have taken the order, but for its state or the size. */
export function isContender(reason: ReasonCode | ""): boolean {
  switch (reason) {
    case "NO_CREDENTIALS":
    case "NOT_PREFERRED":
    case "CLIENT_SIDE_ONLY":
    case "SYMBOL_NOT_LISTED":
    case "NO_POSITION":
    case "DIRECTION_MISMATCH":
    case "SIZE_EXCEEDS_POSITION":
      return false;
    default:
      return true;
  }
}

/** Returns the error that answers a refused close; null when a venue was selected. */
export function decisionErrorCode(decision: Decision): ErrorCode | null {
  switch (decision.outcome) {
    case "SELECTED":
      return null;
    case "NO_CREDENTIALS":
      return "NO_ELIGIBLE_VENUE";
    case "PREFERRED_WITHOUT_CREDENTIALS":
      return "MISSING_CREDENTIALS";
    default:
      return decision.outcome;
  }
}
