/**
 * Depth of one symbol over the venues: cumulative curves for the chart and one ladder for all. Curves are numbers, for
 * pixels only; the ladder's figures are exact decimal texts.
 */
import {
  addDecimal,
  comparePriceText,
  type Decimal,
  divideDecimal,
  multiplyDecimal,
  parseDecimal,
  printDecimal,
} from "../decimal.js";
import type { Level, Side } from "../stream/book-side.js";
import type { BookData } from "../stream/topics.js";
import { VENUES, type VenueName } from "./venues.js";

/** A price and the cumulative size up to it, best first. */
export interface CurvePoint {
  readonly price: number;
  readonly total: number;
}

export interface VenueCurve {
  readonly venue: VenueName;
  readonly bids: readonly CurvePoint[];
  readonly asks: readonly CurvePoint[];
}

export interface LadderLevel {
  readonly price: string;
  readonly size: string;
  /** Cumulative from the best level. */
  readonly total: string;
  readonly venues: readonly { readonly venue: VenueName; readonly size: string }[];
  /** Shares for bars: this level and the cumulative sum, relative to the deeper side's last total. */
  readonly totalShare: number;
}

export interface Ladder {
  /** Best first. */
  readonly bids: readonly LadderLevel[];
  readonly asks: readonly LadderLevel[];
  readonly mid: string | null;
  /** Best ask minus best bid; below zero where venues cross each other. */
  readonly spread: string | null;
  readonly spreadBps: string | null;
}

/** Venues whose levels may be shown: a book that is not live counts as no depth. */
function liveVenues(data: BookData): { readonly venue: VenueName; readonly bids: Side; readonly asks: Side }[] {
  const live: { venue: VenueName; bids: Side; asks: Side }[] = [];
  for (const venue of VENUES) {
    const book = data.venues.get(venue);
    if (book?.state === "LIVE") live.push({ venue, bids: book.bids, asks: book.asks });
  }
  return live;
}

export function curvesOf(data: BookData): VenueCurve[] {
  return liveVenues(data).map(({ venue, bids, asks }) => ({ venue, bids: curve(bids), asks: curve(asks) }));
}

function curve(side: Side): CurvePoint[] {
  let total = 0;
  return side.map(([price, size]) => {
    total += Number(size);
    return { price: Number(price), total };
  });
}

/** Returns the size a venue shows up to a price; 0 before its first level. */
export function totalAt(points: readonly CurvePoint[], price: number, bids: boolean): number {
  let total = 0;
  for (const point of points) {
    if (bids ? point.price < price : point.price > price) break;
    total = point.total;
  }
  return total;
}

export interface ChartBounds {
  readonly low: number;
  readonly high: number;
  readonly totalMax: number;
}

/**
 * Symmetric around the mid, as wide as every venue with depth on both sides reaches, so that a shallow book does not
 * end in the middle of the picture. Returns null without two sides.
 */
export function boundsOf(curves: readonly VenueCurve[]): ChartBounds | null {
  let bestBid = 0;
  let bestAsk = Number.POSITIVE_INFINITY;
  for (const { bids, asks } of curves) {
    bestBid = Math.max(bestBid, bids[0]?.price ?? 0);
    bestAsk = Math.min(bestAsk, asks[0]?.price ?? Number.POSITIVE_INFINITY);
  }
  if (bestBid <= 0 || !Number.isFinite(bestAsk)) return null;
  const mid = (bestBid + bestAsk) / 2;
  const reaches = curves.flatMap(({ bids, asks }) => [
    mid - (bids.at(-1)?.price ?? mid),
    (asks.at(-1)?.price ?? mid) - mid,
  ]);
  reaches.sort((a, b) => a - b);
  // The upper median: one far-off level of one venue does not squeeze the rest into a line.
  const reach = Math.max(reaches[Math.floor(reaches.length / 2)] ?? 0, Math.abs(bestAsk - bestBid), mid * 1e-5);
  const low = mid - reach * 1.05;
  const high = mid + reach * 1.05;
  let totalMax = 0;
  for (const { bids, asks } of curves)
    totalMax = Math.max(totalMax, totalAt(bids, low, true), totalAt(asks, high, false));
  return totalMax > 0 ? { low, high, totalMax } : null;
}

/** One ladder of all live venues, equal prices summed, at most `levelCount` levels a side. */
export function ladderOf(data: BookData, levelCount: number): Ladder {
  const live = liveVenues(data);
  const bids = mergeLevels(
    live.map(({ venue, bids: side }) => ({ venue, side })),
    true,
    levelCount,
  );
  const asks = mergeLevels(
    live.map(({ venue, asks: side }) => ({ venue, side })),
    false,
    levelCount,
  );
  const deepest = Math.max(Number(bids.at(-1)?.total ?? 0), Number(asks.at(-1)?.total ?? 0));
  const share = (level: Omit<LadderLevel, "totalShare">): LadderLevel => ({
    ...level,
    totalShare: deepest > 0 ? Number(level.total) / deepest : 0,
  });
  return { bids: bids.map(share), asks: asks.map(share), ...spreadOf(bids[0]?.price, asks[0]?.price) };
}

function mergeLevels(
  sides: readonly { readonly venue: VenueName; readonly side: Side }[],
  bids: boolean,
  levelCount: number,
): Omit<LadderLevel, "totalShare">[] {
  const next = sides.map(() => 0);
  const levels: Omit<LadderLevel, "totalShare">[] = [];
  let total: Decimal = { units: 0n, places: 0 };
  while (levels.length < levelCount) {
    let best: string | null = null;
    for (const [index, { side }] of sides.entries()) {
      const price = side[next[index] as number]?.[0];
      if (price === undefined) continue;
      const order = best === null ? 0 : comparePriceText(price, best);
      if (best === null || (bids ? order > 0 : order < 0)) best = price;
    }
    if (best === null) break;
    const venues: { venue: VenueName; size: string }[] = [];
    let size: Decimal = { units: 0n, places: 0 };
    for (const [index, { venue, side }] of sides.entries()) {
      const level: Level | undefined = side[next[index] as number];
      if (level === undefined || comparePriceText(level[0], best) !== 0) continue;
      next[index] = (next[index] as number) + 1;
      venues.push({ venue, size: level[1] });
      size = addDecimal(size, parseDecimal(level[1]) ?? { units: 0n, places: 0 });
    }
    total = addDecimal(total, size);
    levels.push({ price: best, size: printDecimal(size), total: printDecimal(total), venues });
  }
  return levels;
}

function spreadOf(bid: string | undefined, ask: string | undefined): Pick<Ladder, "mid" | "spread" | "spreadBps"> {
  const low = parseDecimal(bid);
  const high = parseDecimal(ask);
  if (low === null || high === null) return { mid: null, spread: null, spreadBps: null };
  const spread = addDecimal(high, { units: -low.units, places: low.places });
  const mid = multiplyDecimal(addDecimal(high, low), { units: 5n, places: 1 });
  const bps = divideDecimal(multiplyDecimal(spread, { units: 10_000n, places: 0 }), mid, 2);
  return { mid: printDecimal(mid), spread: printDecimal(spread), spreadBps: bps === null ? null : printDecimal(bps) };
}
