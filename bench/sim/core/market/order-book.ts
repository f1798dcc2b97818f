/**
 * Price-time priority book of one symbol. Holds resting quantity of users and of the house (owner null)
 * in one FIFO per level. Invariants: a level is in the book exactly while its quantity is positive; sides never
 * cross (the matching engine takes before it rests); every visible change has an update id of its own.
 */
import { BookHistory, type LevelMap } from "./book-history.js";
import type { OrderState, Resting } from "../model/state.js";
import type { SimBookSnapshot, SimLevel, SimSide } from "../model/types.js";

interface Level {
  readonly priceTicks: number;
  lots: number;
  readonly orders: Resting[];
}

class BookSide {
  readonly side: SimSide;
  readonly levels = new Map<number, Level>();
  /** Best last, so that changes near the top move few entries. */
  readonly prices: number[] = [];

  constructor(side: SimSide) {
    this.side = side;
  }

  /** Index of the price, or where it belongs. */
  indexOf(priceTicks: number): number {
    let low = 0;
    let high = this.prices.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const price = this.prices[middle] ?? 0;
      if (this.side === "BUY" ? price < priceTicks : price > priceTicks) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  best(): Level | null {
    const price = this.prices[this.prices.length - 1];
    return price === undefined ? null : (this.levels.get(price) ?? null);
  }
}

export interface BookSink {
  nextSeq(): number;
  nowMs(): number;
  onLevel(symbol: string, side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void;
}

export class OrderBook {
  readonly symbol: string;
  readonly #sink: BookSink;
  readonly #bids = new BookSide("BUY");
  readonly #asks = new BookSide("SELL");
  readonly history: BookHistory;
  #seq: number;
  #tsMs: number;

  constructor(symbol: string, sink: BookSink) {
    this.symbol = symbol;
    this.#sink = sink;
    this.#seq = sink.nextSeq();
    this.#tsMs = sink.nowMs();
    this.history = new BookHistory(this.#seq);
  }

  get seq(): number {
    return this.#seq;
  }

  levelCount(side: SimSide): number {
    return this.#side(side).prices.length;
  }

  /** Price of the level at `rank` from the top, or null. */
  priceAt(side: SimSide, rank: number): number | null {
    const prices = this.#side(side).prices;
    return prices[prices.length - 1 - rank] ?? null;
  }

  best(side: SimSide): SimLevel | null {
    const level = this.#side(side).best();
    return level === null
      ? null
      : { priceTicks: level.priceTicks, qtyLots: level.lots, orderCount: level.orders.length };
  }

  bestPrice(side: SimSide): number | null {
    return this.priceAt(side, 0);
  }

  /** First in the queue of the best level. */
  front(side: SimSide): Resting | null {
    return this.#side(side).best()?.orders[0] ?? null;
  }

  /** Quantity that a taker of `takerSide` could get at `limitTicks` or better, up to `wantedLots`. */
  takeable(takerSide: SimSide, limitTicks: number | null, wantedLots: number): number {
    const side = this.#side(takerSide === "BUY" ? "SELL" : "BUY");
    let total = 0;
    for (let index = side.prices.length - 1; index >= 0 && total < wantedLots; index--) {
      const price = side.prices[index] ?? 0;
      if (limitTicks !== null && (takerSide === "BUY" ? price > limitTicks : price < limitTicks)) break;
      total += side.levels.get(price)?.lots ?? 0;
    }
    return Math.min(total, wantedLots);
  }

  /** Rests quantity at the back of its level. */
  add(side: SimSide, priceTicks: number, lots: number, owner: OrderState | null): Resting {
    const bookSide = this.#side(side);
    const resting: Resting = { side, priceTicks, lots, owner };
    let level = bookSide.levels.get(priceTicks);
    if (level === undefined) {
      level = { priceTicks, lots: 0, orders: [] };
      bookSide.levels.set(priceTicks, level);
      bookSide.prices.splice(bookSide.indexOf(priceTicks), 0, priceTicks);
    }
    this.#change(bookSide, level, () => {
      level.orders.push(resting);
      level.lots += lots;
    });
    return resting;
  }

  /** Takes `lots` off a resting order in place, and removes it at zero. */
  reduce(resting: Resting, lots: number): void {
    const bookSide = this.#side(resting.side);
    const level = bookSide.levels.get(resting.priceTicks);
    if (level === undefined) throw new RangeError("resting order is not in its level");
    this.#change(bookSide, level, () => {
      resting.lots -= lots;
      level.lots -= lots;
      if (resting.lots === 0) level.orders.splice(level.orders.indexOf(resting), 1);
    });
  }

  remove(resting: Resting): void {
    if (resting.lots > 0) this.reduce(resting, resting.lots);
  }

  /** The house's orders at a level, in queue order. */
  houseAt(side: SimSide, priceTicks: number): Resting[] {
    return (this.#side(side).levels.get(priceTicks)?.orders ?? []).filter((resting) => resting.owner === null);
  }

  /** The first `count` orders of a side, best price first, in queue order. */
  resting(side: SimSide, count: number): Resting[] {
    const { prices, levels } = this.#side(side);
    const found: Resting[] = [];
    for (let index = prices.length - 1; index >= 0 && found.length < count; index--)
      found.push(...(levels.get(prices[index] ?? 0)?.orders ?? []));
    return found.slice(0, count);
  }

  snapshot(depth: number): SimBookSnapshot {
    return {
      symbol: this.symbol,
      seq: this.#seq,
      tsMs: this.#tsMs,
      bids: top(this.#bids, depth),
      asks: top(this.#asks, depth),
    };
  }

  trueSnapshot(seq: number, depth: number): SimBookSnapshot | null {
    const bids = levelMap(this.#bids);
    const asks = levelMap(this.#asks);
    const reached = this.history.undoTo(seq, bids, asks);
    if (reached === null) return null;
    return {
      symbol: this.symbol,
      seq: reached.seq,
      tsMs: reached.tsMs,
      bids: sorted(bids, -1, depth),
      asks: sorted(asks, 1, depth),
    };
  }

  #side(side: SimSide): BookSide {
    return side === "BUY" ? this.#bids : this.#asks;
  }

  #change(bookSide: BookSide, level: Level, apply: () => void): void {
    const oldLots = level.lots;
    const oldOrders = level.orders.length;
    apply();
    this.#seq = this.#sink.nextSeq();
    this.#tsMs = this.#sink.nowMs();
    this.history.record(this.#seq, this.#tsMs, bookSide.side, level.priceTicks, oldLots, oldOrders);
    if (level.lots === 0) {
      bookSide.levels.delete(level.priceTicks);
      bookSide.prices.splice(bookSide.indexOf(level.priceTicks), 1);
    }
    this.#sink.onLevel(this.symbol, bookSide.side, level.priceTicks, level.lots, this.#seq, this.#tsMs);
  }
}

function top(side: BookSide, depth: number): SimLevel[] {
  const levels: SimLevel[] = [];
  for (let index = side.prices.length - 1; index >= 0 && levels.length < depth; index--) {
    const level = side.levels.get(side.prices[index] ?? 0);
    if (level !== undefined)
      levels.push({ priceTicks: level.priceTicks, qtyLots: level.lots, orderCount: level.orders.length });
  }
  return levels;
}

function levelMap(side: BookSide): LevelMap {
  const map: LevelMap = new Map();
  for (const level of side.levels.values())
    map.set(level.priceTicks, { qtyLots: level.lots, orderCount: level.orders.length });
  return map;
}

function sorted(map: LevelMap, direction: 1 | -1, depth: number): SimLevel[] {
  return [...map]
    .sort((left, right) => direction * (left[0] - right[0]))
    .slice(0, depth)
    .map(([priceTicks, level]) => ({ priceTicks, qtyLots: level.qtyLots, orderCount: level.orderCount }));
}
