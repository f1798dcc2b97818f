// hot path
/**
 * Computes what a size would fetch right now. Walks a market's levels for one side of an order, best first:
 *
 *   touch (while newer than the book) → main tier → deep tier beyond the main tier's last price
 *
 * While the touch is newer, book levels at or better than it are skipped: the better ones are gone,
 * the equal one has the touch's size. An empty touch side means an empty side. Sums are exact: the
 * notional is kept as Σ|price − top| × lots, which is small, and moves to bigint if it must.
 * Steady state allocates nothing.
 */
import type { Side } from "../domain/order.js";
import { BOOK_LIVE } from "./book.js";
import type { LadderSide } from "./ladder-side.js";
import type { Market } from "./market.js";
import { isTouchNewer } from "./touch.js";

/** A cap that never stops the walk. */
export const NO_CAP_TICKS = 0;

export class DepthWalk {
  filledLots = 0;
  levelsUsed = 0;
  /** First and last price taken; 0 when nothing was. */
  topTicks = 0;
  worstTicks = 0;
  /** The main tier did not suffice (whether or not there was a deep tier to continue on). */
  neededDeep = false;
  /** The price cap stopped the walk, not a lack of levels. */
  capped = false;
  /** Σ|price − top| × lots; exact while `offsetExact`, else `offsetBig` holds the exact sum. */
  offset = 0;
  offsetExact = true;
  offsetBig = 0n;
  side: Side = "SELL";

  reset(side: Side): void {
    this.filledLots = 0;
    this.levelsUsed = 0;
    this.topTicks = 0;
    this.worstTicks = 0;
    this.neededDeep = false;
    this.capped = false;
    this.offset = 0;
    this.offsetExact = true;
    this.offsetBig = 0n;
    this.side = side;
  }

  /** Volume-weighted price in ticks as a float, for ranking; NaN when nothing was filled. */
  vwapTicks(): number {
    if (this.filledLots === 0) return Number.NaN;
    const away = this.offset / this.filledLots;
    return this.side === "SELL" ? this.topTicks - away : this.topTicks + away;
  }

  /** Exact Σ price × lots in ticks × lots. Allocates: for reports and close calls. */
  notionalBig(): bigint {
    const top = BigInt(this.topTicks) * BigInt(this.filledLots);
    const away = this.offsetExact ? BigInt(this.offset) : this.offsetBig;
    return this.side === "SELL" ? top - away : top + away;
  }
}

/**
 * Walks for `qtyLots` (a safe integer). An order of `side` SELL takes bids. `capTicks`: worst price to take, or
 * NO_CAP_TICKS. `allowDeep`: whether the deep tier may be used (the caller has checked its age). A book that is not
 * LIVE fills nothing.
 */
export function walkDepth(
  market: Market,
  side: Side,
  qtyLots: number,
  capTicks: number,
  allowDeep: boolean,
  out: DepthWalk,
): void {
  out.reset(side);
  const book = market.book;
  if (book.state !== BOOK_LIVE) return;
  const sell = side === "SELL";
  const main = sell ? book.bids : book.asks;
  const capKey = capTicks === NO_CAP_TICKS ? Number.NEGATIVE_INFINITY : sell ? capTicks : -capTicks;
  let belowKey = Number.POSITIVE_INFINITY;
  if (isTouchNewer(market.touch, book)) {
    const touchLots = sell ? market.touch.bidLots : market.touch.askLots;
    if (touchLots === 0) return;
    belowKey = sell ? market.touch.bidTicks : -market.touch.askTicks;
    if (belowKey < capKey) {
      out.capped = true;
      return;
    }
    takeLevel(out, belowKey, touchLots, qtyLots);
  }
  takeSide(out, main, belowKey, capKey, qtyLots);
  if (out.capped || out.filledLots === qtyLots || main.count === 0) return;
  out.neededDeep = true;
  const deep = market.deep;
  if (!allowDeep || deep === null || deep.state !== BOOK_LIVE) return;
  const lastKey = main.worstKey;
  takeSide(out, sell ? deep.bids : deep.asks, lastKey < belowKey ? lastKey : belowKey, capKey, qtyLots);
}

/** Takes levels with belowKey > key ≥ capKey, best first, until `qtyLots` are filled. */
function takeSide(out: DepthWalk, levels: LadderSide, belowKey: number, capKey: number, qtyLots: number): void {
  const near = levels.near;
  for (let index = levels.bestIndex; index >= 0; index = levels.indexBelow(index)) {
    const key = levels.keyOf(index);
    if (key >= belowKey) continue;
    if (out.filledLots >= qtyLots) return;
    if (key < capKey) {
      out.capped = true;
      return;
    }
    takeLevel(out, key, near[index] as number, qtyLots);
  }
  const { keys, lots } = levels.far;
  for (let index = levels.far.count - 1; index >= 0; index--) {
    const key = keys[index] as number;
    if (key >= belowKey) continue;
    if (out.filledLots >= qtyLots) return;
    if (key < capKey) {
      out.capped = true;
      return;
    }
    takeLevel(out, key, lots[index] as number, qtyLots);
  }
}

function takeLevel(out: DepthWalk, key: number, levelLots: number, qtyLots: number): void {
  const open = qtyLots - out.filledLots;
  const taken = levelLots < open ? levelLots : open;
  if (taken === 0) return;
  const ticks = key < 0 ? -key : key;
  if (out.levelsUsed === 0) out.topTicks = ticks;
  const away = ticks < out.topTicks ? out.topTicks - ticks : ticks - out.topTicks;
  const offset = out.offset + away * taken;
  if (out.offsetExact && offset <= Number.MAX_SAFE_INTEGER) out.offset = offset;
  else addBigOffset(out, away, taken);
  out.filledLots += taken;
  out.levelsUsed++;
  out.worstTicks = ticks;
}

/** Cold path: only sums beyond 2^53 come here. `offset` then holds the nearest double. */
function addBigOffset(out: DepthWalk, away: number, taken: number): void {
  const before = out.offsetExact ? BigInt(out.offset) : out.offsetBig;
  out.offsetExact = false;
  out.offsetBig = before + BigInt(away) * BigInt(taken);
  out.offset = Number(out.offsetBig);
}

/** Counts the lots at `capTicks` or better, with touch and deep tier as in `walkDepth`; saturates at the safe range. */
export function depthWithinCap(market: Market, side: Side, capTicks: number, allowDeep: boolean): number {
  const book = market.book;
  if (book.state !== BOOK_LIVE) return 0;
  const sell = side === "SELL";
  const main = sell ? book.bids : book.asks;
  const capKey = sell ? capTicks : -capTicks;
  let belowKey = Number.POSITIVE_INFINITY;
  let lots = 0;
  if (isTouchNewer(market.touch, book)) {
    lots = sell ? market.touch.bidLots : market.touch.askLots;
    belowKey = sell ? market.touch.bidTicks : -market.touch.askTicks;
    if (lots === 0 || belowKey < capKey) return 0;
  }
  lots += lotsBetween(main, belowKey, capKey);
  const deep = market.deep;
  const lastKey = main.worstKey;
  if (allowDeep && deep !== null && deep.state === BOOK_LIVE && lastKey >= capKey) {
    lots += lotsBetween(sell ? deep.bids : deep.asks, lastKey < belowKey ? lastKey : belowKey, capKey);
  }
  return lots < Number.MAX_SAFE_INTEGER ? lots : Number.MAX_SAFE_INTEGER;
}

/** Sums the lots of levels with belowKey > key ≥ capKey. */
function lotsBetween(levels: LadderSide, belowKey: number, capKey: number): number {
  const near = levels.near;
  let sum = 0;
  for (let index = levels.bestIndex; index >= 0; index = levels.indexBelow(index)) {
    const key = levels.keyOf(index);
    if (key < capKey) return sum;
    if (key < belowKey) sum += near[index] as number;
  }
  const { keys, lots } = levels.far;
  for (let index = levels.far.count - 1; index >= 0; index--) {
    const key = keys[index] as number;
    if (key < capKey) return sum;
    if (key < belowKey) sum += lots[index] as number;
  }
  return sum;
}

/**
 * Returns the best price that an order of `side` meets, touch included; 0 if that side is empty or the book not LIVE.
 */
export function bestTicks(market: Market, side: Side): number {
  const book = market.book;
  if (book.state !== BOOK_LIVE) return 0;
  const sell = side === "SELL";
  if (isTouchNewer(market.touch, book)) return sell ? market.touch.bidTicks : market.touch.askTicks;
  const levels = sell ? book.bids : book.asks;
  if (levels.count === 0) return 0;
  const key = levels.bestKey;
  return key < 0 ? -key : key;
}

/** Returns best bid + best ask in ticks (twice the mid), touch included; 0 unless both sides have a price. */
export function doubleMidTicks(market: Market): number {
  const bid = bestTicks(market, "SELL");
  const ask = bestTicks(market, "BUY");
  return bid > 0 && ask > 0 ? bid + ask : 0;
}
