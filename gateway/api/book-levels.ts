// hot path
/**
 * The levels a reader sees: touch overlay, main tier and, where it is needed and fresh, the deep tier, merged as
 * the router walks them. REST book replies and the stream's book topic read through this one walk, so they agree.
 *
 * Levels are flat pairs `[ticks, lots, ticks, lots, …]`, best first. Only a LIVE book has any. A reader gets an
 * array of its own; the scratch arrays are shared, which is safe because the walk is synchronous.
 */
import { BOOK_LIVE } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { LadderSide } from "../../engine/market/ladder-side.js";
import type { Market } from "../../engine/market/market.js";
import { isTouchNewer } from "../../engine/market/touch.js";

export type SideName = "bids" | "asks";

const INITIAL_SCRATCH_LEVELS = 1024;
let scratchKeys = new Float64Array(INITIAL_SCRATCH_LEVELS);
let scratchLots = new Float64Array(INITIAL_SCRATCH_LEVELS);

/** The main tier is the fresher one; the deep tier is read only beyond it, and only while fresh itself. */
export function needsDeep(market: Market, depth: number, nowNs: number): boolean {
  const { book, deep } = market;
  if (deep === null || deep.state !== BOOK_LIVE || book.state !== BOOK_LIVE) return false;
  if (ageMs(deep.tsProvenNs, nowNs) > market.maxDeepAgeMs) return false;
  return depth > Math.min(book.bidCount, book.askCount);
}

/** At most `depth` levels of a side. */
export function readLevels(market: Market, side: SideName, depth: number, useDeep: boolean): number[] {
  const { book, deep, touch } = market;
  const levels: number[] = [];
  if (book.state !== BOOK_LIVE) return levels;
  const isBid = side === "bids";
  // A key is the price for bids and minus the price for asks: greater is better on both sides.
  let belowKey = Number.POSITIVE_INFINITY;
  if (isTouchNewer(touch, book)) {
    const lots = isBid ? touch.bidLots : touch.askLots;
    // The newer touch has no price on this side: no quote is left there.
    if (lots === 0) return levels;
    const ticks = isBid ? touch.bidTicks : touch.askTicks;
    levels.push(ticks, lots);
    belowKey = isBid ? ticks : -ticks;
  }
  belowKey = appendBelow(levels, isBid ? book.bids : book.asks, belowKey, depth, isBid);
  if (useDeep && deep !== null) appendBelow(levels, isBid ? deep.bids : deep.asks, belowKey, depth, isBid);
  return levels;
}

/** Appends levels worse than `belowKey` until there are `depth`; returns the key of the last level. */
function appendBelow(levels: number[], side: LadderSide, belowKey: number, depth: number, isBid: boolean): number {
  const wanted = depth - levels.length / 2;
  if (wanted <= 0) return belowKey;
  let copied = 0;
  let skipped = 0;
  // Levels better than the touch are skipped; each round reads as many more as the last one skipped.
  for (let room = wanted; ; room = wanted + skipped) {
    copied = copyLevels(side, room);
    while (skipped < copied && (scratchKeys[skipped] as number) >= belowKey) skipped++;
    if (copied < room || copied - skipped >= wanted) break;
  }
  let lastKey = belowKey;
  const end = Math.min(copied, skipped + wanted);
  for (let index = skipped; index < end; index++) {
    lastKey = scratchKeys[index] as number;
    levels.push(isBid ? lastKey : -lastKey, scratchLots[index] as number);
  }
  return lastKey;
}

/** Fills the scratch arrays, best first. */
function copyLevels(side: LadderSide, maxCount: number): number {
  if (maxCount > scratchKeys.length) {
    scratchKeys = new Float64Array(maxCount * 2);
    scratchLots = new Float64Array(maxCount * 2);
  }
  return side.copyLevels(maxCount, scratchKeys, scratchLots);
}
