/**
 * The `routing` object of replies (routing design, section 3): the types, and the builder that turns a
 * decision into decimal strings. Allocates; runs after the decision, off the hot path.
 */
import { formatScaled } from "../domain/decimal.js";
import {
  addRatio,
  compareRatio,
  divideRatio,
  formatRatio,
  multiplyRatio,
  ratio,
  ratioFromScaled,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import type { RoutableVenue, Venue } from "../domain/venue.js";
import { BOOK_EMPTY, BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING, type BookState } from "../market/book.js";
import { depthWithinCap } from "../market/depth-walk.js";
import { NEVER_PROVEN_MS } from "../market/freshness.js";
import { addEntryFigures, type EntryFigures } from "./entry-figures.js";
import { isContender } from "./decide.js";
import { isDeepUsable, isHolder } from "./eligibility.js";
import {
  exactAllInText,
  exactCostText,
  exactExpectedText,
  exactMidText,
  exactSavingsPercentText,
  exactSavingsText,
  exactSlippageText,
  exactVwapText,
} from "./figures-exact.js";
import {
  nearAllInText,
  nearCostText,
  nearExpectedText,
  nearMidText,
  nearSavingsPercentText,
  nearSavingsText,
  nearSlippageText,
  nearVwapText,
} from "./figures-near.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  type DecisionReason,
  type FeeSource,
  QUOTE_RATE_ONE_PPM,
  type QuoteRateSource,
  type ReasonCode,
  type RouteInput,
} from "./route-types.js";
import { commonWorstPrice } from "./worst-price.js";

/** The unit of the reference mid and all-in prices; the quote asset of every venue counts as it. */
const COMMON_QUOTE = "USD";

export interface RoutingCandidate extends EntryFigures {
  exchange: Venue;
  eligible: boolean;
  /** Only on ineligible venues. */
  reasonCode?: ReasonCode;
  /** What is wrong with the credentials given for it. */
  problem?: string;
  /** Null where no position was read (no credentials, public quote, failed read). */
  positionSize: string | null;
  selected?: boolean;
  /** 1 is the selected venue; only on eligible ones. */
  rank?: number;
  /** The size sent to this venue: "0" on all but the selected ones. */
  routedSize?: string;
  topOfBook?: string | null;
  /** Volume-weighted price of the size (LIMIT: of its marketable part, null if none). */
  vwap?: string | null;
  worstLevel?: string | null;
  levelsUsed?: number;
  depthWithinCap?: string;
  /** LIMIT only: the part that would fill at once. */
  marketableSize?: string;
  feeBps?: string;
  makerFeeBps?: string;
  feeSource?: FeeSource;
  latencyMsP90?: number;
  latencyPenaltyBps?: string;
  allInPrice?: string;
  slippageBps?: string | null;
  costBps?: string | null;
  quoteAsset?: string;
  quoteRate?: string;
  quoteRateSource?: QuoteRateSource;
  book?: RoutingBook;
}

export interface RoutingBook {
  state: "EMPTY" | "SYNCING" | "LIVE" | "INVALID";
  /** Null if never proven current. */
  ageMs: number | null;
  /** Age of the deeper tier, where the size needed it. */
  depthAgeMs?: number;
  /** Exact digits; null where the venue has no sequence. */
  venueSeq: string | null;
  source: "ws" | "rest";
}

export interface RoutingReport {
  routeId: string;
  mode: "BEST_EXIT" | "BEST_ENTRY";
  decidedAt: number;
  /** True if the caller named the venue. */
  forced: boolean;
  split: boolean;
  /** Null when no venue was chosen. */
  recommended: RoutableVenue | null;
  reason: DecisionReason | null;
  /** Expected price before fees in the recommended venue's quote asset; null when no venue was chosen. */
  price: string | null;
  /**
   * All-in difference to the runner-up × size; "0" without a runner-up, negative if a tie rule preferred a more
   * expensive venue.
   */
  savings: string;
  /** In percent of the runner-up's all-in price. */
  savingsPercent: string;
  /** Null when no eligible venue has a mid. */
  reference: { mid: string; exchange: RoutableVenue; quoteAsset: string } | null;
  limits: { maxSlippageBps: number; maxQuoteAgeMs: number; worstPrice: string | null };
  candidates: RoutingCandidate[];
  alternatives: Partial<Record<Venue, { price: string | null; available: boolean }>>;
}

export interface ReportStamp {
  readonly routeId: string;
  /** Wall clock, Unix ms. */
  readonly decidedAtMs: number;
}

/** Builds the report of the decision just made on `input`; both must be unchanged since. */
export function buildRoutingReport(input: RouteInput, decision: Decision, stamp: ReportStamp): RoutingReport {
  const selected = decision.selected;
  const chosen = selected < 0 ? null : instrumentOf(input, selected);
  const other = decision.runnerUp < 0 ? null : instrumentOf(input, decision.runnerUp);
  const compared = chosen !== null && other !== null;
  const alternatives: RoutingReport["alternatives"] = {};
  const candidates: RoutingCandidate[] = [];
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = candidateAt(input, index);
    candidates.push(candidateReport(input, decision, index));
    if (isChosen(decision, index)) continue;
    alternatives[candidate.venue] = {
      price: priceText(input, decision, index),
      available: resultAt(decision, index).eligible,
    };
  }
  return {
    routeId: stamp.routeId,
    mode: input.opens ? "BEST_ENTRY" : "BEST_EXIT",
    decidedAt: stamp.decidedAtMs,
    forced: input.preferred !== "",
    split: decision.legs.length > 1,
    recommended: chosen === null ? null : chosen.venue,
    reason: selected < 0 ? null : decision.reason,
    price: selected < 0 ? null : expectedText(input, decision),
    savings: compared
      ? (nearSavingsText(input, decision, chosen, other) ?? exactSavingsText(input, decision, chosen))
      : "0",
    savingsPercent: compared
      ? (nearSavingsPercentText(input, decision, chosen, other) ?? exactSavingsPercentText(input, decision))
      : "0",
    reference: referenceReport(input, decision),
    limits: {
      maxSlippageBps: input.maxSlippageBps,
      maxQuoteAgeMs: input.maxQuoteAgeMs,
      worstPrice: boundText(input, decision),
    },
    candidates,
    alternatives,
  };
}

/**
 * Returns the price sent to the selected venue (for a split: the largest leg's), canonical quoting; null when none was
 * selected.
 */
export function worstPriceText(input: RouteInput, decision: Decision): string | null {
  const instrument = decision.selected < 0 ? null : instrumentOf(input, decision.selected);
  if (instrument === null) return null;
  return formatScaled(resultAt(decision, decision.selected).priceTicks, canonicalPriceDecimals(instrument));
}

/** The requested size, PERCENT resolved, in base units. */
export function requestedSizeText(decision: Decision): string {
  return formatScaled(decision.sizeUnits, decision.sizeDecimals);
}

/** Details of SIZE_EXCEEDS_POSITION: the largest open size of one venue, and of all together. */
export function sizeMaxima(
  input: RouteInput,
  decision: Decision,
): { maxSingleVenueSize: string; maxTotalSize: string } {
  let single = ratio(0n);
  let total = ratio(0n);
  for (let index = 0; index < input.candidateCount; index++) {
    const result = resultAt(decision, index);
    const instrument = instrumentOf(input, index);
    if (instrument === null || !isHolder(candidateAt(input, index), result)) continue;
    const size = ratioFromScaled(result.positionLots, canonicalQtyDecimals(instrument));
    if (compareRatio(size, single) > 0) single = size;
    total = addRatio(total, size);
  }
  // Sizes are decimals of at most MAX_ABS_DECIMALS places: printed exactly.
  return { maxSingleVenueSize: formatRatio(single, 22, "floor"), maxTotalSize: formatRatio(total, 22, "floor") };
}

// ---------------------------------------------------------------- parts

/** The worst price of all orders: the selected venue's; for a split the loosest of its legs, in the common quote. */
function boundText(input: RouteInput, decision: Decision): string | null {
  return decision.legs.length > 1 ? commonWorstPrice(input, decision) : worstPriceText(input, decision);
}

function candidateReport(input: RouteInput, decision: Decision, index: number): RoutingCandidate {
  const candidate = candidateAt(input, index);
  const result = resultAt(decision, index);
  const instrument = instrumentOf(input, index);
  if (instrument === null) return refusedCandidate(candidate, result, null);
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const positionSize = result.positionLots >= 0 ? formatScaled(result.positionLots, qtyDecimals) : null;
  const selected = isChosen(decision, index);
  // Venues that could not take the order stay short: reason and position only.
  const isShort = !result.eligible && !isContender(result.reason) && result.reason !== "SIZE_EXCEEDS_POSITION";
  const routedSize = selected ? formatScaled(result.orderLots, qtyDecimals) : "0";
  if (result.priced && !isShort)
    return pricedCandidate(input, decision, index, instrument, { positionSize, selected, routedSize });
  const report = refusedCandidate(candidate, result, positionSize);
  report.selected = selected;
  if (isShort) return report;
  if (result.eligible) report.rank = result.rank;
  report.routedSize = routedSize;
  report.book = bookReport(candidate, result);
  return report;
}

function refusedCandidate(
  candidate: Candidate,
  result: CandidateResult,
  positionSize: string | null,
): RoutingCandidate {
  const report: RoutingCandidate = { exchange: candidate.venue, eligible: result.eligible, positionSize };
  if (!result.eligible && result.reason !== "") report.reasonCode = result.reason;
  if (candidate.problem !== "") report.problem = candidate.problem;
  return report;
}

/**
 * One literal with all fields that every such candidate has: fields added one by one would each reallocate the object.
 */
function pricedCandidate(
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
  { positionSize, selected, routedSize }: { positionSize: string | null; selected: boolean; routedSize: string },
): RoutingCandidate {
  const candidate = candidateAt(input, index);
  const result = resultAt(decision, index);
  const priceDecimals = canonicalPriceDecimals(instrument);
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const walk = result.walk;
  const hasReference = decision.reference >= 0;
  const report: RoutingCandidate = {
    exchange: candidate.venue,
    eligible: result.eligible,
    positionSize,
    selected,
    routedSize,
    topOfBook: result.topTicks > 0 ? formatScaled(result.topTicks, priceDecimals) : null,
    vwap: walk.filledLots > 0 ? (nearVwapText(result, instrument) ?? exactVwapText(result, instrument)) : null,
    worstLevel: walk.filledLots > 0 ? formatScaled(walk.worstTicks, priceDecimals) : null,
    levelsUsed: walk.levelsUsed,
    depthWithinCap: formatScaled(depthAtWorstPrice(input, candidate, result), qtyDecimals),
    feeBps: formatScaled(candidate.takerFeeMilliBps, 3),
    feeSource: candidate.feeSource,
    latencyMsP90: candidate.latencyMsP90,
    latencyPenaltyBps: formatScaled(result.latencyPenaltyMilliBps, 3),
    allInPrice: nearAllInText(input, decision, index, instrument) ?? exactAllInText(input, decision, index, instrument),
    slippageBps: hasReference
      ? (nearSlippageText(input, decision, index, instrument) ?? exactSlippageText(input, decision, index, instrument))
      : null,
    costBps: hasReference
      ? (nearCostText(input, decision, index, instrument) ?? exactCostText(input, decision, index))
      : null,
    quoteAsset: instrument.quoteAsset,
    quoteRate: formatScaled(candidate.quoteRatePpm, 6),
    quoteRateSource: candidate.quoteRateSource,
    book: bookReport(candidate, result),
  };
  if (result.eligible) report.rank = result.rank;
  else if (result.reason !== "") report.reasonCode = result.reason;
  if (candidate.problem !== "") report.problem = candidate.problem;
  if (input.rests) {
    report.marketableSize = formatScaled(walk.filledLots, qtyDecimals);
    report.makerFeeBps = formatScaled(candidate.makerFeeMilliBps, 3);
  }
  if (input.opens) addEntryFigures(report, candidate, result, instrument);
  return report;
}

function isChosen(decision: Decision, index: number): boolean {
  return index === decision.selected || decision.legs.includes(index);
}

/** Expected price before fees: the selected venue's; for a split over all legs by size, in the common quote. */
function expectedText(input: RouteInput, decision: Decision): string | null {
  if (decision.legs.length < 2) return priceText(input, decision, decision.selected);
  let size = ratio(0n);
  let notional = ratio(0n);
  let places = 0;
  for (const index of decision.legs) {
    const result = resultAt(decision, index);
    const instrument = instrumentOf(input, index);
    if (instrument === null || result.walk.filledLots === 0) return null;
    const priceDecimals = canonicalPriceDecimals(instrument);
    const qtyDecimals = canonicalQtyDecimals(instrument);
    const rate = ratio(BigInt(candidateAt(input, index).quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM));
    const value = ratioFromScaled(result.walk.notionalBig(), priceDecimals + qtyDecimals);
    notional = addRatio(notional, multiplyRatio(value, rate));
    size = addRatio(size, ratioFromScaled(result.walk.filledLots, qtyDecimals));
    places = Math.max(places, priceDecimals + 2);
  }
  return formatRatio(divideRatio(notional, size), places, "halfUp");
}

function bookReport(candidate: Candidate, result: CandidateResult): RoutingBook {
  const report: RoutingBook = {
    state: BOOK_STATE_NAMES[result.bookState],
    ageMs: result.bookAgeMs === NEVER_PROVEN_MS ? null : result.bookAgeMs,
    venueSeq: result.venueSeq === 0 ? null : String(result.venueSeq),
    source: candidate.bookSource,
  };
  if (result.depthAgeMs >= 0 && result.depthAgeMs !== NEVER_PROVEN_MS) report.depthAgeMs = result.depthAgeMs;
  return report;
}

/** Lots at the worst price or better; counted for the report only, the decision does not use it. */
function depthAtWorstPrice(input: RouteInput, candidate: Candidate, result: CandidateResult): number {
  if (candidate.market === null || result.priceTicks === 0) return 0;
  return depthWithinCap(candidate.market, input.side, result.priceTicks, isDeepUsable(input, candidate));
}

export const BOOK_STATE_NAMES: Readonly<Record<BookState, RoutingBook["state"]>> = {
  [BOOK_EMPTY]: "EMPTY",
  [BOOK_SYNCING]: "SYNCING",
  [BOOK_LIVE]: "LIVE",
  [BOOK_INVALID]: "INVALID",
};

function referenceReport(input: RouteInput, decision: Decision): RoutingReport["reference"] {
  const instrument = decision.reference < 0 ? null : instrumentOf(input, decision.reference);
  if (instrument === null) return null;
  return {
    mid: nearMidText(decision, instrument) ?? exactMidText(input, decision, instrument),
    exchange: instrument.venue,
    quoteAsset: COMMON_QUOTE,
  };
}

/** Expected price before fees, as text; null where the size cannot be priced. */
function priceText(input: RouteInput, decision: Decision, index: number): string | null {
  const result = resultAt(decision, index);
  const instrument = instrumentOf(input, index);
  if (instrument === null || !result.priced) return null;
  return nearExpectedText(input, result, instrument) ?? exactExpectedText(input, result, instrument);
}

export function candidateAt(input: RouteInput, index: number): Candidate {
  return input.candidates[index] as Candidate;
}

export function resultAt(decision: Decision, index: number): CandidateResult {
  return decision.results[index] as CandidateResult;
}

export function instrumentOf(input: RouteInput, index: number): Instrument | null {
  return candidateAt(input, index).market?.instrument ?? null;
}
