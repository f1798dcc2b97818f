// hot path
/**
 * A venue's band of prices (`Instrument.bandUpPpm`, `bandDownPpm`): around its mark for orders that are live at once,
 * around the trigger for the limit of a stop.
 *
 * The venue checks against its mark when the order arrives, and ours is older by then. A bound that we set keeps a
 * margin from the edge: an eighth of the band's width, more where the market's own movement requires it (six standard
 * deviations over the mark's age and the order's flight), at most half of the width. The venue refuses an order that
 * crosses even that, and orders/send/band-retry.ts prices it once more with a fresh mark. A refusal of our own keeps
 * the same distance on the other side, at least half of the width and without an upper limit: it must be right wherever
 * the mark moves.
 */
import { multiplyDivide, parseScaledRounded } from "../domain/decimal.js";
import type { Instrument } from "../domain/instrument.js";
import type { Side } from "../domain/order.js";
import type { Market } from "../market/market.js";

const PPM = 1_000_000;
/** An older mark no longer shows where the venue's band is; marks come every 1 to 3 s. */
const MAX_MARK_AGE_NS = 15e9;
/** Smallest and largest margin, as divisors of the band's width. */
const LEAST_MARGIN_DIVISOR = 8;
const MOST_MARGIN_DIVISOR = 2;
const MARGIN_SIGMAS = 6;
/** One interval in which the venue may have made a mark that we have not seen, plus the order's flight. */
const FLIGHT_SECONDS = 4;
/** Written and read in the same turn. */
const sigma = new Float64Array(1);

/** The side and time of the bound. Fields are read in place, because doubles passed to a call may be boxed. */
interface BandAsk {
  readonly side: Side;
  readonly nowNs: number;
}

/**
 * Returns the bound that keeps its margin inside the band, in ticks; 0 where the venue has no band, or the mark is
 * unknown or old.
 */
export function bandTicks(ask: BandAsk, market: Market): number {
  const edgePpm = edgePpmOf(market.instrument, ask.side);
  if (edgePpm === 0 || !isMarkUsable(ask, market)) return 0;
  const marginPpm = marginPpmOf(ask, market, edgePpm);
  return aroundMark(ask, market, ask.side === "SELL" ? edgePpm + marginPpm : edgePpm - marginPpm);
}

/** Returns the exact edge of the band by our mark; 0 in the same cases. */
export function bandEdgeTicks(ask: BandAsk, market: Market): number {
  const edgePpm = edgePpmOf(market.instrument, ask.side);
  return edgePpm === 0 || !isMarkUsable(ask, market) ? 0 : aroundMark(ask, market, edgePpm);
}

/**
 * Returns the price beyond which the venue is sure to refuse the order for its band, however far the mark moves before
 * the order arrives; 0 where the venue has no band, or nothing is certain.
 */
export function outerBandTicks(ask: BandAsk, market: Market): number {
  const edgePpm = edgePpmOf(market.instrument, ask.side);
  if (edgePpm === 0 || !isMarkUsable(ask, market)) return 0;
  const least = Math.ceil(Math.abs(PPM - edgePpm) / MOST_MARGIN_DIVISOR);
  const moves = movesPpmOf(ask, market);
  // Invalid statistics cause no refusal.
  if (!(moves < PPM)) return 0;
  const marginPpm = moves > least ? moves : least;
  const ppm = ask.side === "SELL" ? edgePpm - marginPpm : edgePpm + marginPpm;
  return ppm > 0 ? aroundMark(ask, market, ppm, ask.side === "SELL" ? "floor" : "ceil") : 0;
}

/** Returns our mark in ticks; 0 where it is unknown or old. */
export function usableMarkTicks(ask: BandAsk, market: Market, rounding: "floor" | "ceil"): number {
  if (!isMarkUsable(ask, market)) return 0;
  const mark = parseScaledRounded(market.ticker.markPrice, market.instrument.priceDecimals, rounding);
  return mark > 0 ? mark : 0;
}

/** Returns the last limit that a stop with this trigger may have; 0 where the venue has no band. */
export function stopEdgeTicks(instrument: Instrument, side: Side, triggerTicks: number): number {
  const edgePpm = edgePpmOf(instrument, side);
  if (edgePpm === 0) return 0;
  const edge = multiplyDivide(triggerTicks, edgePpm, PPM, side === "SELL" ? "ceil" : "floor");
  return edge > 0 ? edge : 0;
}

function edgePpmOf(instrument: Instrument, side: Side): number {
  const ppm = side === "SELL" ? instrument.bandDownPpm : instrument.bandUpPpm;
  return ppm > 0 ? ppm : 0;
}

function isMarkUsable(ask: BandAsk, market: Market): boolean {
  const ticker = market.ticker;
  return ticker.markPrice !== "" && ask.nowNs - ticker.tsRecvNs <= MAX_MARK_AGE_NS;
}

/** Rounds the mark and the bound the same way, so that the result is never on the wrong side of the edge. */
function aroundMark(
  ask: BandAsk,
  market: Market,
  ppm: number,
  rounding: "floor" | "ceil" = ask.side === "SELL" ? "ceil" : "floor",
): number {
  const mark = parseScaledRounded(market.ticker.markPrice, market.instrument.priceDecimals, rounding);
  const bound = mark > 0 ? multiplyDivide(mark, ppm, PPM, rounding) : 0;
  return bound > 0 ? bound : 0;
}

function marginPpmOf(ask: BandAsk, market: Market, edgePpm: number): number {
  const width = Math.abs(PPM - edgePpm);
  const least = Math.ceil(width / LEAST_MARGIN_DIVISOR);
  const most = Math.ceil(width / MOST_MARGIN_DIVISOR);
  const moves = movesPpmOf(ask, market);
  if (moves <= least) return least;
  // Invalid statistics give the largest margin: a tighter bound never harms the caller.
  return moves < most ? moves : most;
}

/** Returns how far the mark may have moved from ours when the order arrives. */
function movesPpmOf(ask: BandAsk, market: Market): number {
  market.stats.sigmaInto(sigma, 0);
  const ageNs = ask.nowNs - market.ticker.tsRecvNs;
  const seconds = FLIGHT_SECONDS + (ageNs > 0 ? ageNs / 1e9 : 0);
  return Math.ceil(MARGIN_SIGMAS * (sigma[0] as number) * Math.sqrt(seconds) * PPM);
}
