// hot path
/**
 * A venue's band of prices (`Instrument.bandUpPpm`, `bandDownPpm`): around its mark for orders that are live at once,
 * around the trigger for the limit of a stop.
 *
 * The venue judges by the mark that it has when the order arrives, and ours is older by then. A bound of our own making
 * keeps a margin from the edge: an eighth of the band's width, more where the market's own movement asks for it (six
 * standard deviations over the mark's age and the order's flight), at most half of the width. What crosses even that is
 * refused by the venue, and priced once more by a fresh mark (orders/band-retry.ts). A refusal of our own keeps the same
 * distance on the other side, at least half of the width and without a limit: it must hold whatever the mark does.
 */
import { multiplyDivide, parseScaledRounded } from "../domain/decimal.js";
import type { Instrument } from "../domain/instrument.js";
import type { Side } from "../domain/order.js";
import type { Market } from "../market/market.js";

const PPM = 1_000_000;
/** An older mark no longer says where the venue's band is; marks come every 1 to 3 s. */
const MAX_MARK_AGE_NS = 15e9;
/** Least and largest margin, as shares of the band's width. */
const LEAST_MARGIN_DIVISOR = 8;
const MOST_MARGIN_DIVISOR = 2;
const MARGIN_SIGMAS = 6;
/** One interval in which the venue may have made a mark that we have not seen, and the order's own way. */
const FLIGHT_SECONDS = 4;
/** Written and read in the same turn. */
const sigma = new Float64Array(1);

/** Whose bound, and when; fields are read in place, because doubles handed to a call may be boxed. */
interface BandAsk {
  readonly side: Side;
  readonly nowNs: number;
}

/** The bound that keeps its margin inside the band, in ticks; 0 where the venue has no band, or the mark is unknown or old. */
export function bandTicks(ask: BandAsk, market: Market): number {
  const edgePpm = edgePpmOf(market.instrument, ask.side);
  if (edgePpm === 0 || !isMarkUsable(ask, market)) return 0;
  const marginPpm = marginPpmOf(ask, market, edgePpm);
  return aroundMark(ask, market, ask.side === "SELL" ? edgePpm + marginPpm : edgePpm - marginPpm);
}

/** The band's very edge by the mark that we have; 0 as above. */
export function bandEdgeTicks(ask: BandAsk, market: Market): number {
  const edgePpm = edgePpmOf(market.instrument, ask.side);
  return edgePpm === 0 || !isMarkUsable(ask, market) ? 0 : aroundMark(ask, market, edgePpm);
}

/**
 * What lies beyond it the venue refuses for its band, however far the mark moves until the order is there; 0 where the
 * venue has no band, or nothing is known for certain.
 */
export function outerBandTicks(ask: BandAsk, market: Market): number {
  const edgePpm = edgePpmOf(market.instrument, ask.side);
  if (edgePpm === 0 || !isMarkUsable(ask, market)) return 0;
  const least = Math.ceil(Math.abs(PPM - edgePpm) / MOST_MARGIN_DIVISOR);
  const moves = movesPpmOf(ask, market);
  // Statistics gone wrong give no refusal.
  if (!(moves < PPM)) return 0;
  const marginPpm = moves > least ? moves : least;
  const ppm = ask.side === "SELL" ? edgePpm - marginPpm : edgePpm + marginPpm;
  return ppm > 0 ? aroundMark(ask, market, ppm, ask.side === "SELL" ? "floor" : "ceil") : 0;
}

/** The mark that we have, in ticks; 0 where it is unknown or old. */
export function usableMarkTicks(ask: BandAsk, market: Market, rounding: "floor" | "ceil"): number {
  if (!isMarkUsable(ask, market)) return 0;
  const mark = parseScaledRounded(market.ticker.markPrice, market.instrument.priceDecimals, rounding);
  return mark > 0 ? mark : 0;
}

/** The last limit that a stop with this trigger may have; 0 where the venue has no band. */
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

/** Rounding the mark and the bound the same way stays inside, or outside. */
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
  // Statistics gone wrong give the largest margin: a tighter bound is never the caller's loss.
  return moves < most ? moves : most;
}

/** How far the mark may be from ours when the order is there. */
function movesPpmOf(ask: BandAsk, market: Market): number {
  market.stats.sigmaInto(sigma, 0);
  const ageNs = ask.nowNs - market.ticker.tsRecvNs;
  const seconds = FLIGHT_SECONDS + (ageNs > 0 ? ageNs / 1e9 : 0);
  return Math.ceil(MARGIN_SIGMAS * (sigma[0] as number) * Math.sqrt(seconds) * PPM);
}
