/**
 * The router's question and its decision. Inputs and decisions are preallocated and reused; all fields exist from the
 * constructor on and keep their kind.
 *
 * Units: lots and ticks are the venue's own integers (domain/instrument.ts); a size or price from the caller is `units
 * × 10^-decimals` in canonical quoting; fees and penalties are integers of thousandths of a basis point (`milliBps`,
 * 10^-7); quote rates are integers of 10^-6; ages and latencies are ms; `nowNs` is the monotonic clock. Floats rank
 * (`impact`, `allIn`, with exact arithmetic near a border) and carry statistics; none reaches an order. They live in
 * typed arrays (`Scores`), not in fields or return values, because a double there may be boxed.
 */
import type { Side } from "../domain/order.js";
import { type Venue, VENUES } from "../domain/venue.js";
import { BOOK_EMPTY, type BookState } from "../market/book.js";
import { DepthWalk } from "../market/depth-walk.js";
import type { Market } from "../market/market.js";

/**
 * Why a venue is not eligible, in the order in which the checks run; "" while eligible. A venue that fails several
 * checks reports the first.
 */
export type ReasonCode =
  | "NO_CREDENTIALS"
  | "NOT_PREFERRED"
  | "CLIENT_SIDE_ONLY"
  | "SYMBOL_NOT_LISTED"
  | "NO_POSITION"
  | "DIRECTION_MISMATCH"
  /** Opens: the account holds the other direction, and the order would net it. */
  | "OPPOSITE_POSITION"
  /** Opens: the requested leverage is above what the contract allows, or the venue has no such setting. */
  | "LEVERAGE_NOT_SUPPORTED"
  /** Opens: the venue did not accept the setting. The decision itself never reports this. */
  | "LEVERAGE_NOT_SET"
  /** The venue holds less than the size, another one holds enough (or a split would be needed). */
  | "SIZE_EXCEEDS_POSITION"
  | "VENUE_UNHEALTHY"
  | "BOOK_INVALID"
  | "BOOK_STALE"
  | "DEPTH_INSUFFICIENT"
  /** The limit price, rounded to this venue's grid, is no price (below a tick, or beyond the safe range). */
  | "PRICE_OUT_OF_RANGE"
  | "SLIPPAGE_CAP"
  | "BELOW_MIN_SIZE"
  | "ABOVE_MAX_SIZE"
  /** Opens: the account's free margin does not carry the order. */
  | "INSUFFICIENT_MARGIN"
  | "RATE_BUDGET";

export type FeeSource = "account" | "config" | "venueDefault";
export type QuoteRateSource = "assumed" | "config";

/**
 * CLOSE_* need credentials and positions. CLOSE_STOP rests until its trigger: no part of it meets the book now. OPEN_*
 * need credentials; an entry fixes the exit venue, so their score includes the exit. QUOTE needs books only.
 */
export type RouteKind = "CLOSE_MARKET" | "CLOSE_LIMIT" | "CLOSE_STOP" | "OPEN_MARKET" | "OPEN_LIMIT" | "QUOTE";

/**
 * UNITS: the caller gave a size. PERCENT: a share of the open size; ALL is a share of 100 %. NOTIONAL: an entry's value
 * in the common quote.
 */
export type SizeMode = "UNITS" | "PERCENT" | "NOTIONAL";

/** 100 % in the unit of `RouteInput.sizePercentE4`. */
export const FULL_PERCENT_E4 = 1_000_000;
/** 100 % in thousandths of a basis point. */
export const ONE_MILLI_BPS = 10_000_000;
/** A quote rate of 1. */
export const QUOTE_RATE_ONE_PPM = 1_000_000;
/** Candidates within this of the best count as tied with it: 0.5 bps of the reference mid. */
export const TIE_MILLI_BPS = 500;
/** Default weight k of the latency penalty k × σ × √(p90 seconds). */
export const DEFAULT_LATENCY_FACTOR = 0.5;
/** One candidate per venue at most. */
export const MAX_CANDIDATES = 8;

/** One venue as the close service sees it at the time of the decision. */
export class Candidate {
  venue: Venue = VENUES[0];
  /** Null when the venue does not list the symbol. */
  market: Market | null = null;
  /** Whether there are usable credentials. Ignored for QUOTE. */
  hasCredentials = false;
  /** What is wrong with the credentials given for it, for the report; "" if nothing. */
  problem = "";
  /** Named in excludeExchanges: reported as NOT_PREFERRED. */
  excluded = false;
  /** Orders are signed by the caller's own wallet (venuefive). */
  clientSideOnly = false;
  /** True while the breaker is closed and authentication works. */
  healthy = true;
  /** Whether the live position read succeeded in time. false is VENUE_UNHEALTHY, never flat. Ignored for QUOTE. */
  positionKnown = false;
  /** Open sizes, both ≥ 0; a hedge-mode account may hold both. */
  longLots = 0;
  shortLots = 0;
  takerFeeMilliBps = 0;
  makerFeeMilliBps = 0;
  feeSource: FeeSource = "venueDefault";
  /** 90th percentile of send-to-acknowledgement. */
  latencyMsP90 = 0;
  /** Documented delay the venue adds to taker orders on some tiers. */
  takerDelayMs = 0;
  /** Quote asset → common quote (USD). */
  quoteRatePpm = QUOTE_RATE_ONE_PPM;
  quoteRateSource: QuoteRateSource = "assumed";
  /** Whether the order's lane has room for it. */
  budgetAvailable = true;
  /**
   * Opens: whether the order would net a position in the other direction. Never on hedge-mode accounts, nor where the
   * caller allows it.
   */
  netsOpposite = false;
  /** Opens: the requested leverage cannot be set here. */
  leverageUnsupported = false;
  /**
   * Opens: what the free margin carries at the leverage, in the venue's quote. Infinity while unknown: the venue then
   * decides.
   */
  buyingPower = Number.POSITIVE_INFINITY;
  /** Opens: funding over the expected hold of a long, in thousandths of a basis point; 0 where it does not count. */
  fundingMilliBps = 0;
  /** Where the book comes from, for the report. */
  bookSource: "ws" | "rest" = "ws";

  reset(venue: Venue, market: Market | null): void {
    this.venue = venue;
    this.market = market;
    this.hasCredentials = false;
    this.problem = "";
    this.excluded = false;
    this.clientSideOnly = false;
    this.healthy = true;
    this.positionKnown = false;
    this.longLots = 0;
    this.shortLots = 0;
    this.takerFeeMilliBps = market === null ? 0 : market.instrument.takerFeeMilliBps;
    this.makerFeeMilliBps = market === null ? 0 : market.instrument.makerFeeMilliBps;
    this.feeSource = "venueDefault";
    this.latencyMsP90 = 0;
    this.takerDelayMs = 0;
    this.quoteRatePpm = QUOTE_RATE_ONE_PPM;
    this.quoteRateSource = "assumed";
    this.budgetAvailable = true;
    this.netsOpposite = false;
    this.leverageUnsupported = false;
    this.buyingPower = Number.POSITIVE_INFINITY;
    this.fundingMilliBps = 0;
    this.bookSource = "ws";
  }
}

/** One question to the router. Fill with `reset`, the setters of route-input.ts, and `addCandidate`. */
export class RouteInput {
  kind: RouteKind = "CLOSE_MARKET";
  /** Whether it is an entry. Follows from the kind. */
  opens = false;
  /** Whether it brings its own price and may rest. Follows from the kind. */
  rests = false;
  /** Side of the order: SELL closes a LONG, or opens a SHORT. */
  side: Side = "SELL";
  sizeMode: SizeMode = "UNITS";
  /** Size = sizeUnits × 10^-sizeDecimals base units (UNITS). */
  sizeUnits = 0;
  sizeDecimals = 0;
  /** Percent × 10^4 of the open size (PERCENT): 1_000_000 is 100 %. */
  sizePercentE4 = 0;
  /** Limit = limitUnits × 10^-limitDecimals (for orders that may rest). */
  limitUnits = 0;
  limitDecimals = 0;
  /**
   * A worst price set earlier (by a quote, by an execution's first decision), boundUnits × 10^-boundDecimals in the
   * common quote. The tighter of this and the price from mid and slippage applies. 0 units: none.
   */
  boundUnits = 0;
  boundDecimals = 0;
  /** Whether candidates are also priced for the part of the size that each could take. */
  allowSplit = false;
  /** At most three decimals count. */
  maxSlippageBps = 100;
  maxQuoteAgeMs = 2000;
  latencyFactor = DEFAULT_LATENCY_FACTOR;
  /** "" when none is preferred. */
  preferred: Venue | "" = "";
  /** Monotonic time of the decision. */
  nowNs = 0;
  candidateCount = 0;
  readonly candidates: readonly Candidate[] = Array.from({ length: MAX_CANDIDATES }, () => new Candidate());

  reset(kind: RouteKind, side: Side, nowNs: number): void {
    this.kind = kind;
    this.opens = kind === "OPEN_MARKET" || kind === "OPEN_LIMIT";
    this.rests = kind === "CLOSE_LIMIT" || kind === "CLOSE_STOP" || kind === "OPEN_LIMIT";
    this.side = side;
    this.sizeMode = "UNITS";
    this.sizeUnits = 0;
    this.sizeDecimals = 0;
    this.sizePercentE4 = 0;
    this.limitUnits = 0;
    this.limitDecimals = 0;
    this.boundUnits = 0;
    this.boundDecimals = 0;
    this.allowSplit = false;
    this.maxSlippageBps = 100;
    this.maxQuoteAgeMs = 2000;
    this.latencyFactor = DEFAULT_LATENCY_FACTOR;
    this.preferred = "";
    this.nowNs = nowNs;
    this.candidateCount = 0;
  }

  /** Returns the next candidate, reset for `venue`. Throws RangeError beyond MAX_CANDIDATES: there are fewer venues. */
  addCandidate(venue: Venue, market: Market | null): Candidate {
    const candidate = this.candidates[this.candidateCount];
    if (candidate === undefined) throw new RangeError("more candidates than venues");
    this.candidateCount++;
    candidate.reset(venue, market);
    return candidate;
  }
}

/** What the router found about the candidate of the same index. */
export class CandidateResult {
  eligible = false;
  reason: ReasonCode | "" = "";
  /** 1 is the selected venue; 0 while not eligible. */
  rank = 0;
  /** Open size in the direction closed or added to; -1 when unknown or not read (QUOTE). */
  positionLots = -1;
  /** Size of an order here: the requested size floored to the venue's step. */
  orderLots = 0;
  /** Best price the order meets; 0 if that side is empty. */
  topTicks = 0;
  /** Best bid + best ask, 0 unless both are there. */
  doubleMidTicks = 0;
  /** Walk for orderLots; for a LIMIT its marketable part. */
  readonly walk: DepthWalk = new DepthWalk();
  /** Opens: the exit of orderLots, over the other side of the same book. */
  readonly exitWalk: DepthWalk = new DepthWalk();
  /**
   * Whether the walk filled the size (for a LIMIT: whether the book was usable). The prices below are valid only then.
   */
  priced = false;
  /** MARKET: worst acceptable price, on the grid. LIMIT: the limit price on the grid. 0 while unknown. */
  priceTicks = 0;
  /** The quote's bound in ticks, before the grid; 0: none. */
  quotedTicks = 0;
  /** Whether the venue's price band moved priceTicks. */
  bandClamped = false;
  latencyPenaltyMilliBps = 0;
  bookState: BookState = BOOK_EMPTY;
  bookAgeMs = 0;
  /** Age of the deep tier where the size needed it, else -1. */
  depthAgeMs = -1;
  /** 0 where the venue has none. */
  venueSeq = 0;

  reset(): void {
    this.eligible = false;
    this.reason = "";
    this.rank = 0;
    this.positionLots = -1;
    this.orderLots = 0;
    this.topTicks = 0;
    this.doubleMidTicks = 0;
    this.walk.reset("SELL");
    this.exitWalk.reset("SELL");
    this.priced = false;
    this.priceTicks = 0;
    this.quotedTicks = 0;
    this.bandClamped = false;
    this.latencyPenaltyMilliBps = 0;
    this.bookState = BOOK_EMPTY;
    this.bookAgeMs = 0;
    this.depthAgeMs = -1;
    this.venueSeq = 0;
  }
}

/** The floats that rank, by candidate index; NaN while a candidate is unpriced. */
export class Scores {
  /** Walked VWAP in ticks (NaN where nothing was walked). */
  readonly vwapTicks: Float64Array = new Float64Array(MAX_CANDIDATES);
  /** Standard deviation of the venue's 1 s returns; written before each read. */
  readonly sigma: Float64Array = new Float64Array(MAX_CANDIDATES);
  /** |VWAP − own mid| / own mid. */
  readonly impact: Float64Array = new Float64Array(MAX_CANDIDATES);
  /** All-in price, common quote per base unit. */
  readonly allIn: Float64Array = new Float64Array(MAX_CANDIDATES);
  /** The price that ranks: the all-in price; for an entry including the exit and the funding. */
  readonly rank: Float64Array = new Float64Array(MAX_CANDIDATES);
  /**
   * [0] the reference mid in common quote, NaN without one; [1] the measure for ties: the mid, else a LIMIT's price.
   */
  readonly benchmark: Float64Array = new Float64Array(2);

  /** A loop, because four calls of the native fill cost more than a whole walk. */
  reset(candidateCount: number): void {
    for (let index = 0; index < candidateCount; index++) {
      this.vwapTicks[index] = Number.NaN;
      this.impact[index] = Number.NaN;
      this.allIn[index] = Number.NaN;
      this.rank[index] = Number.NaN;
    }
    this.benchmark[0] = Number.NaN;
    this.benchmark[1] = Number.NaN;
  }
}

export type DecisionOutcome =
  | "SELECTED"
  | "NO_CREDENTIALS"
  | "PREFERRED_WITHOUT_CREDENTIALS"
  | "SIZE_EXCEEDS_POSITION"
  | "SLIPPAGE_CAP"
  | "SIZE_BELOW_LOT"
  | "BELOW_MIN_SIZE"
  | "VENUE_RATE_LIMITED"
  | "VENUE_UNAVAILABLE"
  | "OPPOSITE_POSITION"
  | "LEVERAGE_NOT_SUPPORTED"
  | "INSUFFICIENT_MARGIN"
  | "NO_ELIGIBLE_VENUE";

export type DecisionReason =
  | "PREFERRED_EXCHANGE"
  | "ONLY_ELIGIBLE_VENUE"
  | "BEST_ALL_IN_PRICE"
  | "TIE_LOWEST_LATENCY"
  | "TIE_LARGER_POSITION"
  /** Several venues together cost less than any single one, or no single one takes the size. */
  | "BEST_SPLIT";

/**
 * The router's decision; overwritten by the next question that reuses it. Copies everything it needs, so books may
 * change afterwards.
 */
export class Decision {
  outcome: DecisionOutcome = "NO_ELIGIBLE_VENUE";
  reason: DecisionReason = "BEST_ALL_IN_PRICE";
  /** Indexes into candidates; -1 for none. For a split: the largest leg. */
  selected = -1;
  runnerUp = -1;
  /** The candidate whose mid is the benchmark. */
  reference = -1;
  /** The requested size, PERCENT resolved: sizeUnits × 10^-sizeDecimals base units. */
  sizeUnits = 0;
  sizeDecimals = 0;
  candidateCount = 0;
  /** A split's candidates, the largest leg first; empty for one venue. Each leg's lots are its result's orderLots. */
  readonly legs: number[] = [];
  readonly scores: Scores = new Scores();
  readonly results: readonly CandidateResult[] = Array.from({ length: MAX_CANDIDATES }, () => new CandidateResult());

  reset(candidateCount: number): void {
    this.outcome = "NO_ELIGIBLE_VENUE";
    this.reason = "BEST_ALL_IN_PRICE";
    this.selected = -1;
    this.runnerUp = -1;
    this.reference = -1;
    this.sizeUnits = 0;
    this.sizeDecimals = 0;
    this.candidateCount = candidateCount;
    this.legs.length = 0;
    this.scores.reset(candidateCount);
    for (let index = 0; index < candidateCount; index++) (this.results[index] as CandidateResult).reset();
  }
}
