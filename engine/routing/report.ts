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
  magnitude,
  multiplyRatio,
  type Ratio,
  ratio,
  ratioFromScaled,
  subtractRatio,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import type { RoutableVenue, Venue } from "../domain/venue.js";
import { BOOK_EMPTY, BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING, type BookState } from "../market/book.js";
import { depthWithinCap } from "../market/depth-walk.js";
import { NEVER_PROVEN_MS } from "../market/freshness.js";
import { isContender } from "./decide.js";
import { isDeepUsable, isHolder } from "./eligibility.js";
import {
  type Candidate,
  type CandidateResult,
  type Decision,
  type DecisionReason,
  type FeeSource,
  ONE_MILLI_BPS,
  QUOTE_RATE_ONE_PPM,
  type QuoteRateSource,
  type ReasonCode,
  type RouteInput,
} from "./route-types.js";
import { exactAllIn, exactReferenceMid } from "./scoring.js";

/** The reference mid and all-in prices are in this; single venues quote in what counts as it. */
const COMMON_QUOTE = "USD";
/** Derived prices show at least this many significant figures, and one decimal more than the venue's tick. */
const PRICE_FIGURES = 7;
const BPS_PLACES = 1;
const SAVINGS_PLACES = 2;
const SAVINGS_FIGURES = 3;
const PERCENT_PLACES = 4;

export interface RoutingCandidate {
  exchange: Venue;
  eligible: boolean;
  /** Only on venues that are not eligible. */
  reasonCode?: ReasonCode;
  /** Null where no position was read (no credentials, public quote, failed read). */
  positionSize: string | null;
  selected?: boolean;
  /** 1 is the selected venue; only on eligible ones. */
  rank?: number;
  /** What goes to this venue: "0" on all but the selected one. */
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
  /** The caller named the venue. */
  forced: boolean;
  split: boolean;
  /** Null when no venue was chosen. */
  recommended: RoutableVenue | null;
  reason: DecisionReason | null;
  /** Expected price before fees in the recommended venue's quote asset; null when no venue was chosen. */
  price: string | null;
  /** All-in difference to the runner-up × size; "0" without a runner-up, negative if a tie rule preferred a dearer venue. */
  savings: string;
  /** Of the runner-up's all-in price. */
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

/** Builds the report of the decision just taken on `input` (both still as the decision left them). */
export function buildRoutingReport(input: RouteInput, decision: Decision, stamp: ReportStamp): RoutingReport {
  const selected = decision.selected;
  const mid = exactReferenceMid(input, decision);
  const saving = selected < 0 || decision.runnerUp < 0 ? null : savingPerUnit(input, decision);
  const alternatives: RoutingReport["alternatives"] = {};
  const candidates: RoutingCandidate[] = [];
  for (let index = 0; index < input.candidateCount; index++) {
    const candidate = candidateAt(input, index);
    candidates.push(candidateReport(input, decision, index, mid));
    if (index === selected) continue;
    alternatives[candidate.venue] = {
      price: priceText(input, decision, index),
      available: resultAt(decision, index).eligible,
    };
  }
  return {
    routeId: stamp.routeId,
    mode: "BEST_EXIT",
    decidedAt: stamp.decidedAtMs,
    forced: input.preferred !== "",
    split: false,
    recommended: selected < 0 ? null : (instrumentOf(input, selected)?.venue ?? null),
    reason: selected < 0 ? null : decision.reason,
    price: selected < 0 ? null : priceText(input, decision, selected),
    savings: saving === null ? "0" : formatSaving(multiplyRatio(saving, orderSize(input, decision, selected))),
    savingsPercent:
      saving === null
        ? "0"
        : formatRatio(
            multiplyRatio(divideRatio(saving, exactAllIn(input, decision, decision.runnerUp)), ratio(100n)),
            PERCENT_PLACES,
            "halfUp",
          ),
    reference: referenceReport(input, decision, mid),
    limits: {
      maxSlippageBps: input.maxSlippageBps,
      maxQuoteAgeMs: input.maxQuoteAgeMs,
      worstPrice: selected < 0 ? null : worstPriceText(input, decision),
    },
    candidates,
    alternatives,
  };
}

/** The price that is sent to the selected venue, canonical quoting; null when none was selected. */
export function worstPriceText(input: RouteInput, decision: Decision): string | null {
  const instrument = decision.selected < 0 ? null : instrumentOf(input, decision.selected);
  if (instrument === null) return null;
  return formatScaled(resultAt(decision, decision.selected).priceTicks, canonicalPriceDecimals(instrument));
}

/** The size asked for, PERCENT resolved, in base units. */
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

export interface Adjustment {
  field: "price" | "size";
  from: string;
  to: string;
  rule: "TICK_SIZE" | "PRICE_BAND" | "LOT_SIZE";
}

/** What rounding and the venue's band changed between the caller's wish and the order of the selected venue. */
export function orderAdjustments(input: RouteInput, decision: Decision): Adjustment[] {
  const instrument = decision.selected < 0 ? null : instrumentOf(input, decision.selected);
  if (instrument === null) return [];
  const result = resultAt(decision, decision.selected);
  const adjustments: Adjustment[] = [];
  const wished = wishedPrice(input, decision);
  const sent = ratioFromScaled(result.priceTicks, canonicalPriceDecimals(instrument));
  if (wished !== null && compareRatio(wished, sent) !== 0) {
    adjustments.push({
      field: "price",
      from: formatRatio(wished, Math.max(0, canonicalPriceDecimals(instrument)) + 9, "halfUp"),
      to: worstPriceText(input, decision) as string,
      rule: result.bandClamped ? "PRICE_BAND" : "TICK_SIZE",
    });
  }
  const asked = requestedSizeText(decision);
  const ordered = formatScaled(result.orderLots, canonicalQtyDecimals(instrument));
  if (asked !== ordered) adjustments.push({ field: "size", from: asked, to: ordered, rule: "LOT_SIZE" });
  return adjustments;
}

/** The unrounded bound: the caller's limit, or reference mid × (1 ∓ slippage) in the venue's quote. */
function wishedPrice(input: RouteInput, decision: Decision): Ratio | null {
  if (input.kind === "CLOSE_LIMIT") return ratioFromScaled(input.limitUnits, input.limitDecimals);
  const mid = exactReferenceMid(input, decision);
  if (mid === null) return null;
  const slippage = Math.round(input.maxSlippageBps * 1000);
  const share = ratio(BigInt(ONE_MILLI_BPS + (input.side === "SELL" ? -slippage : slippage)), BigInt(ONE_MILLI_BPS));
  const rate = ratio(BigInt(candidateAt(input, decision.selected).quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM));
  return divideRatio(multiplyRatio(mid, share), rate);
}

// ---------------------------------------------------------------- parts

function candidateReport(input: RouteInput, decision: Decision, index: number, mid: Ratio | null): RoutingCandidate {
  const candidate = candidateAt(input, index);
  const result = resultAt(decision, index);
  const instrument = instrumentOf(input, index);
  const report: RoutingCandidate = { exchange: candidate.venue, eligible: result.eligible, positionSize: null };
  if (!result.eligible && result.reason !== "") report.reasonCode = result.reason;
  if (instrument === null) return report;
  if (result.positionLots >= 0)
    report.positionSize = formatScaled(result.positionLots, canonicalQtyDecimals(instrument));
  report.selected = index === decision.selected;
  // Venues out of the question stay short: why, and the position.
  if (!result.eligible && !isContender(result.reason) && result.reason !== "SIZE_EXCEEDS_POSITION") return report;
  if (result.eligible) report.rank = result.rank;
  report.routedSize =
    index === decision.selected ? formatScaled(result.orderLots, canonicalQtyDecimals(instrument)) : "0";
  if (result.priced) addFigures(report, input, decision, index, instrument, mid);
  report.book = bookReport(candidate, result);
  return report;
}

function addFigures(
  report: RoutingCandidate,
  input: RouteInput,
  decision: Decision,
  index: number,
  instrument: Instrument,
  mid: Ratio | null,
): void {
  const candidate = candidateAt(input, index);
  const result = resultAt(decision, index);
  const priceDecimals = canonicalPriceDecimals(instrument);
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const walk = result.walk;
  const limit = input.kind === "CLOSE_LIMIT";
  report.topOfBook = result.topTicks > 0 ? formatScaled(result.topTicks, priceDecimals) : null;
  report.vwap = walk.filledLots > 0 ? formatPrice(vwap(result, instrument), priceDecimals) : null;
  report.worstLevel = walk.filledLots > 0 ? formatScaled(walk.worstTicks, priceDecimals) : null;
  report.levelsUsed = walk.levelsUsed;
  report.depthWithinCap = formatScaled(depthAtWorstPrice(input, candidate, result), qtyDecimals);
  if (limit) report.marketableSize = formatScaled(walk.filledLots, qtyDecimals);
  report.feeBps = formatScaled(candidate.takerFeeMilliBps, 3);
  if (limit) report.makerFeeBps = formatScaled(candidate.makerFeeMilliBps, 3);
  report.feeSource = candidate.feeSource;
  report.latencyMsP90 = candidate.latencyMsP90;
  report.latencyPenaltyBps = formatScaled(result.latencyPenaltyMilliBps, 3);
  const allIn = exactAllIn(input, decision, index);
  report.allInPrice = formatPrice(allIn, priceDecimals);
  report.slippageBps =
    mid === null ? null : bpsAway(input, mid, inCommonQuote(candidate, expectedPrice(input, result, instrument)));
  report.costBps = mid === null ? null : bpsAway(input, mid, allIn);
  report.quoteAsset = instrument.quoteAsset;
  report.quoteRate = formatScaled(candidate.quoteRatePpm, 6);
  report.quoteRateSource = candidate.quoteRateSource;
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

/** Lots at the protection price or better; counted for the report alone, the decision has no use for it. */
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

function referenceReport(input: RouteInput, decision: Decision, mid: Ratio | null): RoutingReport["reference"] {
  const instrument = decision.reference < 0 ? null : instrumentOf(input, decision.reference);
  if (mid === null || instrument === null) return null;
  return {
    mid: formatPrice(mid, canonicalPriceDecimals(instrument)),
    exchange: instrument.venue,
    quoteAsset: COMMON_QUOTE,
  };
}

/** Expected price before fees, as text; null where the size cannot be priced. */
function priceText(input: RouteInput, decision: Decision, index: number): string | null {
  const result = resultAt(decision, index);
  const instrument = instrumentOf(input, index);
  if (instrument === null || !result.priced) return null;
  return formatPrice(expectedPrice(input, result, instrument), canonicalPriceDecimals(instrument));
}

/** MARKET: VWAP. LIMIT: VWAP of the marketable part and the limit for the rest, by size. Venue's quote, canonical. */
function expectedPrice(input: RouteInput, result: CandidateResult, instrument: Instrument): Ratio {
  if (input.kind !== "CLOSE_LIMIT") return vwap(result, instrument);
  const resting = BigInt(result.orderLots) - BigInt(result.walk.filledLots);
  const ticks = ratio(result.walk.notionalBig() + BigInt(result.priceTicks) * resting, BigInt(result.orderLots));
  return multiplyRatio(ticks, ratioFromScaled(1, canonicalPriceDecimals(instrument)));
}

function vwap(result: CandidateResult, instrument: Instrument): Ratio {
  const ticks = ratio(result.walk.notionalBig(), BigInt(result.walk.filledLots));
  return multiplyRatio(ticks, ratioFromScaled(1, canonicalPriceDecimals(instrument)));
}

function inCommonQuote(candidate: Candidate, price: Ratio): Ratio {
  return multiplyRatio(price, ratio(BigInt(candidate.quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM)));
}

/** How much worse than the mid, in bps of it; negative when better. */
function bpsAway(input: RouteInput, mid: Ratio, price: Ratio): string {
  const worse = input.side === "SELL" ? subtractRatio(mid, price) : subtractRatio(price, mid);
  return formatRatio(multiplyRatio(divideRatio(worse, mid), ratio(10_000n)), BPS_PLACES, "halfUp");
}

/** All-in advantage of the selected venue over the runner-up per base unit. */
function savingPerUnit(input: RouteInput, decision: Decision): Ratio {
  const chosen = exactAllIn(input, decision, decision.selected);
  const other = exactAllIn(input, decision, decision.runnerUp);
  return input.side === "SELL" ? subtractRatio(chosen, other) : subtractRatio(other, chosen);
}

function orderSize(input: RouteInput, decision: Decision, index: number): Ratio {
  const instrument = instrumentOf(input, index);
  return instrument === null
    ? ratio(0n)
    : ratioFromScaled(resultAt(decision, index).orderLots, canonicalQtyDecimals(instrument));
}

function formatSaving(saving: Ratio): string {
  return formatRatio(saving, Math.max(SAVINGS_PLACES, SAVINGS_FIGURES - 1 - magnitude(saving)), "halfUp");
}

function formatPrice(price: Ratio, tickDecimals: number): string {
  return formatRatio(price, Math.max(tickDecimals + 1, PRICE_FIGURES - 1 - magnitude(price), 0), "halfUp");
}

function candidateAt(input: RouteInput, index: number): Candidate {
  return input.candidates[index] as Candidate;
}

function resultAt(decision: Decision, index: number): CandidateResult {
  return decision.results[index] as CandidateResult;
}

function instrumentOf(input: RouteInput, index: number): Instrument | null {
  return candidateAt(input, index).market?.instrument ?? null;
}
