/** Lists the levels of a book one by one, for a split to divide. */
import { BOOK_LIVE } from "../market/book.js";
import { NO_CAP_TICKS } from "../market/depth-walk.js";
import type { LadderSide } from "../market/ladder-side.js";
import type { Market } from "../market/market.js";
import { isTouchNewer } from "../market/touch.js";

/** A split uses at most this many levels of a side; deeper levels count as absent. */
const MAX_LEVELS = 1_024;

const scratchKeys = new Float64Array(MAX_LEVELS);
const scratchLots = new Float64Array(MAX_LEVELS);

interface Level {
  readonly ticks: number;
  readonly lots: number;
}

/** Returns the levels an order of `side` would meet, as walkDepth meets them, until they hold `lotsMax`. */
export function levelsOf(
  market: Market,
  side: "BUY" | "SELL",
  lotsMax: number,
  capTicks: number,
  allowDeep: boolean,
): Level[] {
  const { book, deep, touch } = market;
  const levels: Level[] = [];
  if (book.state !== BOOK_LIVE) return levels;
  const sell = side === "SELL";
  const capKey = capTicks === NO_CAP_TICKS ? Number.NEGATIVE_INFINITY : sell ? capTicks : -capTicks;
  let belowKey = Number.POSITIVE_INFINITY;
  let left = lotsMax;
  const take = (key: number, lots: number): void => {
    const taken = Math.min(left, lots);
    if (taken > 0) levels.push({ ticks: Math.abs(key), lots: taken });
    left -= taken;
  };
  if (isTouchNewer(touch, book)) {
    const lots = sell ? touch.bidLots : touch.askLots;
    belowKey = sell ? touch.bidTicks : -touch.askTicks;
    if (lots === 0 || belowKey < capKey) return levels;
    take(belowKey, lots);
  }
  const takeSide = (ladder: LadderSide): void => {
    const count = ladder.copyLevels(MAX_LEVELS, scratchKeys, scratchLots);
    for (let at = 0; at < count && left > 0; at++) {
      const key = scratchKeys[at] as number;
      if (key < capKey) return;
      if (key < belowKey) take(key, scratchLots[at] as number);
    }
  };
  const main = sell ? book.bids : book.asks;
  takeSide(main);
  if (left > 0 && allowDeep && deep !== null && deep.state === BOOK_LIVE && main.count > 0) {
    belowKey = Math.min(belowKey, main.worstKey);
    takeSide(sell ? deep.bids : deep.asks);
  }
  return levels;
}
