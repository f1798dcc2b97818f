/** Public market data as the venue prints it, shared by the REST routes and the streams: decimals without idle zeros. */
import { moneyText, priceText, qtyText, scaledText, trimZeros } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimBookSnapshot, SimCandle, SimInstrument, SimLevel, SimTrade } from "../../core/model/types.js";

export type Row = Readonly<Record<string, unknown>>;

export const INTERVALS: ReadonlyMap<string, number> = new Map([
  ["1m", 60_000],
  ["3m", 180_000],
  ["5m", 300_000],
  ["15m", 900_000],
  ["30m", 1_800_000],
  ["1h", 3_600_000],
  ["2h", 7_200_000],
  ["4h", 14_400_000],
  ["8h", 28_800_000],
  ["12h", 43_200_000],
  ["1d", 86_400_000],
]);

const LEVELS_SHOWN = 10;
const PRICE_DECIMALS = 6;
/** History ids of the venue count over all markets, the engine's trade ids per market. */
const FIRST_HISTORY_ID = 68_000_000;
const MARKETS_MAX = 128;

export function price(instrument: SimInstrument, ticks: number): string {
  return trimZeros(priceText(instrument, ticks));
}

export function amount(instrument: SimInstrument, lots: number): string {
  return trimZeros(qtyText(instrument, lots));
}

/** Marks, oracle prices and rates are finer than the tick. Nearest at `decimals`. */
export function e8(value: number, decimals = PRICE_DECIMALS): string {
  return trimZeros(scaledText(Math.round(value / 10 ** (8 - decimals)), decimals));
}

/* ------------------------------------------------------------------ books */

export interface Level {
  readonly a: string;
  readonly n: number;
  readonly p: string;
}

export type BookLevels = readonly [bids: readonly Level[], asks: readonly Level[]];

/** Ten levels a side; in buckets of `aggLevel` ticks a bid shows the highest price of its bucket, an ask the lowest. */
export function aggregate(instrument: SimInstrument, book: SimBookSnapshot, aggLevel: number): BookLevels {
  return [side(instrument, book.bids, aggLevel), side(instrument, book.asks, aggLevel)];
}

function side(instrument: SimInstrument, levels: readonly SimLevel[], aggLevel: number): Level[] {
  const step = instrument.priceStepTicks * aggLevel;
  const buckets: { bucket: number; priceTicks: number; lots: number; orderCount: number }[] = [];
  // Best first: the first level of a bucket has the price it shows.
  for (const level of levels) {
    const bucket = Math.floor(level.priceTicks / step);
    const last = buckets[buckets.length - 1];
    if (last?.bucket === bucket) {
      last.lots += level.qtyLots;
      last.orderCount += level.orderCount;
    } else if (buckets.length < LEVELS_SHOWN) {
      const { priceTicks, qtyLots: lots, orderCount } = level;
      buckets.push({ bucket, priceTicks, lots, orderCount });
    } else break;
  }
  return buckets.map(({ priceTicks, lots, orderCount }) => ({
    a: amount(instrument, lots),
    n: orderCount,
    p: price(instrument, priceTicks),
  }));
}

export interface Touch {
  readonly A: string;
  readonly B: string;
  readonly a: string;
  readonly b: string;
}

export function printTouch(instrument: SimInstrument, bid: SimLevel | null, ask: SimLevel | null): Touch {
  return {
    A: ask === null ? "0" : amount(instrument, ask.qtyLots),
    B: bid === null ? "0" : amount(instrument, bid.qtyLots),
    a: ask === null ? "0" : price(instrument, ask.priceTicks),
    b: bid === null ? "0" : price(instrument, bid.priceTicks),
  };
}

/* ------------------------------------------------------------------ prices and funding */

/** Row of `/info/prices` and of the `prices` stream. */
export function printPrices(exchange: SimExchange, instrument: SimInstrument): Row {
  const { symbol } = instrument;
  const mark = exchange.market.mark(symbol);
  const ticker = exchange.market.ticker(symbol);
  const history = exchange.market.fundingHistory(symbol);
  const bid = exchange.market.bestBid(symbol);
  const ask = exchange.market.bestAsk(symbol);
  const mid =
    bid === null || ask === null
      ? e8(mark.markE8)
      : trimZeros(scaledText((bid.priceTicks + ask.priceTicks) * 5, instrument.priceDecimals + 1));
  return {
    funding: e8(history[history.length - 1]?.rateE8 ?? 0, 8),
    mark: e8(mark.markE8),
    mid,
    next_funding: e8(mark.fundingRateE8, 8),
    open_interest: amount(instrument, mark.openInterestLots),
    oracle: e8(mark.indexE8),
    symbol,
    timestamp: exchange.nowMs(),
    volume_24h: trimZeros(moneyText(ticker.quoteVolumeE12, PRICE_DECIMALS)),
    yesterday_price: price(instrument, ticker.openTicks),
  };
}

/* ------------------------------------------------------------------ trades and candles */

/** Whether a taker opened or closed is not modelled for the crowd: every other one closes. */
export function takerSide(trade: SimTrade): "open_long" | "open_short" | "close_long" | "close_short" {
  const closes = trade.takerId % 2 === 0;
  if (trade.takerSide === "BUY") return closes ? "close_short" : "open_long";
  return closes ? "close_long" : "open_short";
}

export function printTrade(instrument: SimInstrument, trade: SimTrade, cause: string): Row {
  return {
    event_type: "fulfill_taker",
    price: price(instrument, trade.priceTicks),
    amount: amount(instrument, trade.qtyLots),
    side: takerSide(trade),
    cause,
    created_at: trade.tsMs,
  };
}

export function tradeFrameRow(
  instrument: SimInstrument,
  trade: SimTrade,
  cause: string,
  marketIndex: number,
  li: number,
): Row {
  return {
    a: amount(instrument, trade.qtyLots),
    d: takerSide(trade),
    h: FIRST_HISTORY_ID + trade.tradeId * MARKETS_MAX + marketIndex,
    it: 0,
    li,
    p: price(instrument, trade.priceTicks),
    s: instrument.symbol,
    t: trade.tsMs,
    tc: cause,
  };
}

/** Candles of trades, or of the mark, whose ticks are E8 and which have no volume. */
export function printCandle(
  instrument: SimInstrument,
  candle: SimCandle,
  interval: string,
  source: "last" | "mark",
): Row {
  const text = (ticks: number): string =>
    source === "mark" ? scaledText(Math.round(ticks / 100), PRICE_DECIMALS) : price(instrument, ticks);
  return {
    t: candle.openMs,
    T: candle.closeMs + 1,
    s: instrument.symbol,
    i: interval,
    o: text(candle.openTicks),
    c: text(candle.closeTicks),
    h: text(candle.highTicks),
    l: text(candle.lowTicks),
    v: source === "mark" ? "0" : amount(instrument, candle.volumeLots),
    n: source === "mark" ? 0 : candle.tradeCount,
  };
}
