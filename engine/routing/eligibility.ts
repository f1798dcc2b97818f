// hot path
/**
 * Which venues may take the order: the checks that need no price (routing design 1.1 up to BOOK_STALE), and the size
 * rule (1.2). Every failure is a reason code on the candidate's result; a position that could not be read is
 * VENUE_UNHEALTHY, never flat.
 */
import { divideBig, multiplyDivide, multiplySafe, rescale, toSafeNumber } from "../domain/decimal.js";
import {
  addRatio,
  compareRatio,
  divideRatio,
  multiplyRatio,
  type Ratio,
  ratio,
  ratioFromScaled,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../domain/instrument.js";
import { BOOK_LIVE } from "../market/book.js";
import { doubleMidTicks } from "../market/depth-walk.js";
import { ageMs, deepAgeLimitMs, mainAgeLimitMs } from "../market/freshness.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  type DecisionOutcome,
  FULL_PERCENT_E4,
  QUOTE_RATE_ONE_PPM,
  type ReasonCode,
  type RouteInput,
} from "./route-types.js";

/** Fills in positions, book facts and the first reason codes of every candidate. */
export function checkCandidates(input: RouteInput, decision: Decision): void {
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    readBookFacts(input, candidate, result);
    if (input.kind !== "QUOTE" && candidate.hasCredentials && candidate.positionKnown) {
      // A close sells a long, an entry adds to it by buying.
      result.positionLots = (input.side === "SELL") !== input.opens ? candidate.longLots : candidate.shortLots;
    }
    result.reason = firstReason(input, candidate, result);
  }
}

function readBookFacts(input: RouteInput, candidate: Candidate, result: CandidateResult): void {
  const market = candidate.market;
  if (market === null) return;
  result.bookState = market.book.state;
  result.bookAgeMs = ageMs(market.book.tsProvenNs, input.nowNs);
  result.venueSeq = market.book.seq;
}

function firstReason(input: RouteInput, candidate: Candidate, result: CandidateResult): ReasonCode | "" {
  const quote = input.kind === "QUOTE";
  if (!quote && !candidate.hasCredentials) return "NO_CREDENTIALS";
  if (candidate.excluded || (input.preferred !== "" && input.preferred !== candidate.venue)) return "NOT_PREFERRED";
  // Before the position checks: this service has no orders, positions or book of such a venue.
  if (candidate.clientSideOnly) return "CLIENT_SIDE_ONLY";
  const market = candidate.market;
  if (market === null) return "SYMBOL_NOT_LISTED";
  if (!quote) {
    if (!candidate.positionKnown) return "VENUE_UNHEALTHY";
    if (input.opens) {
      if (candidate.netsOpposite) return "OPPOSITE_POSITION";
      if (candidate.leverageUnsupported) return "LEVERAGE_NOT_SUPPORTED";
    } else if (!(result.positionLots > 0)) {
      return candidate.longLots > 0 || candidate.shortLots > 0 ? "DIRECTION_MISMATCH" : "NO_POSITION";
    }
  }
  if (!candidate.healthy || market.instrument.status !== "TRADING") return "VENUE_UNHEALTHY";
  if (result.bookState !== BOOK_LIVE) return "BOOK_INVALID";
  if (result.bookAgeMs > mainAgeLimitMs(market.maxBookAgeMs, input.maxQuoteAgeMs)) return "BOOK_STALE";
  return "";
}

/** Reports whether the main tier is LIVE and within its age limit. */
export function isBookUsable(input: RouteInput, candidate: Candidate, result: CandidateResult): boolean {
  return (
    candidate.market !== null &&
    result.bookState === BOOK_LIVE &&
    result.bookAgeMs <= mainAgeLimitMs(candidate.market.maxBookAgeMs, input.maxQuoteAgeMs)
  );
}

/** Reports whether there is a deep tier that is LIVE and within its own age limit. */
export function isDeepUsable(input: RouteInput, candidate: Candidate): boolean {
  const market = candidate.market;
  if (market === null || market.deep === null || market.deep.state !== BOOK_LIVE) return false;
  const limitMs = deepAgeLimitMs(market.maxDeepAgeMs, market.maxBookAgeMs, input.maxQuoteAgeMs);
  return ageMs(market.deep.tsProvenNs, input.nowNs) <= limitMs;
}

/** Reports whether the candidate holds a position that the order may reduce, whatever the state of its book. */
export function isHolder(candidate: Candidate, result: CandidateResult): boolean {
  switch (result.reason) {
    case "NO_CREDENTIALS":
    case "NOT_PREFERRED":
    case "CLIENT_SIDE_ONLY":
    case "SYMBOL_NOT_LISTED":
    case "NO_POSITION":
    case "DIRECTION_MISMATCH":
      return false;
    default:
      return candidate.market !== null && result.positionLots > 0;
  }
}

/**
 * Resolves the size and applies the size rule; returns "" when the close may go on. Marks holders that hold less than
 * the size. Holders count whatever their health: a stale book does not shrink a position.
 */
export function applySizeRule(input: RouteInput, decision: Decision): DecisionOutcome | "" {
  if (input.kind === "QUOTE") {
    decision.sizeUnits = input.sizeUnits;
    decision.sizeDecimals = input.sizeDecimals;
    return "";
  }
  if (input.opens) return applyEntrySize(input, decision);
  // Comes first, because a refusal also shows what the size would have fetched.
  resolveSize(input, decision);
  let holders = 0;
  let unknown = 0;
  let flat = 0;
  let mismatched = 0;
  let credentialed = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    if (candidate.hasCredentials) credentialed++;
    else if (candidate.venue === input.preferred) return "PREFERRED_WITHOUT_CREDENTIALS";
    if (isHolder(candidate, result)) holders++;
    else if (result.reason === "NO_POSITION") flat++;
    else if (result.reason === "DIRECTION_MISMATCH") mismatched++;
    else if (result.reason === "VENUE_UNHEALTHY") unknown++;
  }
  if (credentialed === 0) return "NO_CREDENTIALS";
  if (holders === 0) {
    // Flat on all venues is a result; a venue that did not answer, or one that holds the other direction, is not flat.
    return flat > 0 && unknown === 0 && mismatched === 0 ? "SIZE_EXCEEDS_POSITION" : "NO_ELIGIBLE_VENUE";
  }
  let covering = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    if (!isHolder(candidate, result)) continue;
    if (holdsSize(decision, candidate, result)) covering++;
    else result.reason = "SIZE_EXCEEDS_POSITION";
  }
  if (covering > 0 || (input.allowSplit && holdTogether(input, decision))) return "";
  return unknown > 0 ? "NO_ELIGIBLE_VENUE" : "SIZE_EXCEEDS_POSITION";
}

/** An entry needs no position, only an account to send it from. */
function applyEntrySize(input: RouteInput, decision: Decision): DecisionOutcome | "" {
  // Comes first, as for a close.
  decision.sizeUnits = input.sizeUnits;
  decision.sizeDecimals = input.sizeDecimals;
  if (input.sizeMode === "NOTIONAL") resolveNotional(input, decision);
  let credentialed = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    if (candidate.hasCredentials) credentialed++;
    else if (candidate.venue === input.preferred) return "PREFERRED_WITHOUT_CREDENTIALS";
  }
  return credentialed === 0 ? "NO_CREDENTIALS" : "";
}

/**
 * Notional ÷ the highest mid of those who may take the order, floored at the finest of their lots: worth at most the
 * notional at any of them. If none has a mid, the size is 0, and each candidate's reason explains why it has none.
 */
function resolveNotional(input: RouteInput, decision: Decision): void {
  let highest = -1;
  let decimals = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    if (candidate.market === null || result.reason !== "" || doubleMidTicks(candidate.market) === 0) continue;
    decimals = Math.max(decimals, canonicalQtyDecimals(candidate.market.instrument));
    if (highest < 0 || compareRatio(midOf(candidate), midOf(input.candidates[highest] as Candidate)) > 0)
      highest = index;
  }
  decision.sizeUnits = 0;
  decision.sizeDecimals = 0;
  if (highest < 0) return;
  const notional = ratioFromScaled(input.sizeUnits, input.sizeDecimals);
  const size = divideRatio(notional, midOf(input.candidates[highest] as Candidate));
  const scaled = multiplyRatio(size, ratioFromScaled(1, -decimals));
  decision.sizeUnits = toSafeNumber(divideBig(scaled.num, scaled.den, "floor"));
  decision.sizeDecimals = decimals;
}

/** Canonical mid in the common quote. */
function midOf(candidate: Candidate): Ratio {
  const market = candidate.market;
  if (market === null) throw new TypeError("the mid of a venue without a market");
  const native = ratioFromScaled(doubleMidTicks(market), canonicalPriceDecimals(market.instrument));
  return multiplyRatio(native, ratio(BigInt(candidate.quoteRatePpm), 2n * BigInt(QUOTE_RATE_ONE_PPM)));
}

/** Reports whether the size is at most the sum of the holders' positions. Exact. */
export function holdTogether(input: RouteInput, decision: Decision): boolean {
  let total = ratio(0n);
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    if (candidate.market === null || !isHolder(candidate, result)) continue;
    total = addRatio(total, ratioFromScaled(result.positionLots, canonicalQtyDecimals(candidate.market.instrument)));
  }
  return (
    Number.isSafeInteger(decision.sizeUnits) &&
    compareRatio(ratioFromScaled(decision.sizeUnits, decision.sizeDecimals), total) <= 0
  );
}

/** Reports whether size ≤ position, exactly. No position holds a size out of the safe range (NaN). */
function holdsSize(decision: Decision, candidate: Candidate, result: CandidateResult): boolean {
  if (candidate.market === null) return false;
  const qtyDecimals = canonicalQtyDecimals(candidate.market.instrument);
  return rescale(decision.sizeUnits, decision.sizeDecimals, qtyDecimals, "ceil") <= result.positionLots;
}

/** PERCENT is taken of the sum over holders, and floored at the finest of their lots. */
function resolveSize(input: RouteInput, decision: Decision): void {
  if (input.sizeMode === "UNITS") {
    decision.sizeUnits = input.sizeUnits;
    decision.sizeDecimals = input.sizeDecimals;
    return;
  }
  let decimals = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    if (candidate.market === null || !isHolder(candidate, decision.results[index] as CandidateResult)) continue;
    decimals = Math.max(decimals, canonicalQtyDecimals(candidate.market.instrument));
  }
  if (decimals === Number.NEGATIVE_INFINITY) return;
  let total = 0;
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = input.candidates[index] as Candidate;
    const result = decision.results[index] as CandidateResult;
    if (candidate.market === null || !isHolder(candidate, result)) continue;
    const units = rescale(result.positionLots, canonicalQtyDecimals(candidate.market.instrument), decimals, "floor");
    // Multiplying by 1 checks the range of the sum: beyond it the size becomes NaN, which no position holds.
    total = multiplySafe(total + units, 1);
  }
  decision.sizeUnits = multiplyDivide(total, input.sizePercentE4, FULL_PERCENT_E4, "floor");
  decision.sizeDecimals = decimals;
}
