/** Public market data as the venue prints it, shared by the REST routes and the streams. */
import { moneyText, notionalE12, pow10, priceText, qtyText, scaledText } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimCandle, SimInstrument, SimLevel, SimMark, SimTicker } from "../../core/model/types.js";
import type { AggregateTrade } from "../records/aggregate-tape.js";

export const INTERVALS: ReadonlyMap<string, number> = new Map([
  ["1m", 60_000],
  ["3m", 180_000],
  ["5m", 300_000],
  ["15m", 900_000],
  ["30m", 1_800_000],
  ["1h", 3_600_000],
  ["2h", 7_200_000],
  ["4h", 14_400_000],
  ["6h", 21_600_000],
  ["8h", 28_800_000],
  ["12h", 43_200_000],
  ["1d", 86_400_000],
  ["3d", 259_200_000],
  ["1w", 604_800_000],
  ["1M", 2_592_000_000],
]);

const ZERO_ONE_SIDED = { price: "0.000000", qty: "0.0" };

export function printLevels(instrument: SimInstrument, levels: readonly SimLevel[]): [string, string][] {
  return levels.map((level) => [priceText(instrument, level.priceTicks), qtyText(instrument, level.qtyLots)]);
}

/** E8 value as the venue prints marks, rates and index prices. */
export function e8Text(value: number): string {
  return scaledText(value, 8);
}

interface Change {
  readonly change: string;
  readonly percent: string;
  readonly average: string;
}

function change(instrument: SimInstrument, ticker: SimTicker): Change {
  const difference = ticker.lastTicks - ticker.openTicks;
  const percent = ticker.openTicks === 0 ? 0n : (BigInt(difference) * 100_000n) / BigInt(ticker.openTicks);
  const average =
    ticker.volumeLots === 0 ? 0n : (ticker.quoteVolumeE12 * pow10(instrument.qtyDecimals)) / BigInt(ticker.volumeLots);
  return {
    change: priceText(instrument, difference),
    percent: scaledText(percent, 3),
    average: moneyText(average, instrument.priceDecimals),
  };
}

export function printTicker(instrument: SimInstrument, ticker: SimTicker): Record<string, unknown> {
  const moved = change(instrument, ticker);
  return {
    symbol: ticker.symbol,
    priceChange: moved.change,
    priceChangePercent: moved.percent,
    weightedAvgPrice: moved.average,
    lastPrice: priceText(instrument, ticker.lastTicks),
    lastQty: qtyText(instrument, ticker.lastLots),
    openPrice: priceText(instrument, ticker.openTicks),
    highPrice: priceText(instrument, ticker.highTicks),
    lowPrice: priceText(instrument, ticker.lowTicks),
    volume: qtyText(instrument, ticker.volumeLots),
    quoteVolume: moneyText(ticker.quoteVolumeE12, instrument.priceDecimals),
    openTime: ticker.openMs,
    closeTime: ticker.closeMs,
    firstId: ticker.firstTradeId,
    lastId: ticker.lastTradeId,
    count: ticker.tradeCount,
  };
}

export function tickerEvent(instrument: SimInstrument, ticker: SimTicker, eventMs: number): Record<string, unknown> {
  const moved = change(instrument, ticker);
  return {
    e: "24hrTicker",
    E: eventMs,
    s: ticker.symbol,
    p: moved.change,
    P: moved.percent,
    w: moved.average,
    c: priceText(instrument, ticker.lastTicks),
    Q: qtyText(instrument, ticker.lastLots),
    o: priceText(instrument, ticker.openTicks),
    h: priceText(instrument, ticker.highTicks),
    l: priceText(instrument, ticker.lowTicks),
    v: qtyText(instrument, ticker.volumeLots),
    q: moneyText(ticker.quoteVolumeE12, instrument.priceDecimals),
    O: ticker.openMs,
    C: ticker.closeMs,
    F: ticker.firstTradeId,
    L: ticker.lastTradeId,
    n: ticker.tradeCount,
  };
}

export function miniTickerEvent(
  instrument: SimInstrument,
  ticker: SimTicker,
  eventMs: number,
): Record<string, unknown> {
  return {
    e: "24hrMiniTicker",
    E: eventMs,
    s: ticker.symbol,
    c: priceText(instrument, ticker.lastTicks),
    o: priceText(instrument, ticker.openTicks),
    h: priceText(instrument, ticker.highTicks),
    l: priceText(instrument, ticker.lowTicks),
    v: qtyText(instrument, ticker.volumeLots),
    q: moneyText(ticker.quoteVolumeE12, instrument.priceDecimals),
  };
}

export function printBookTicker(exchange: SimExchange, instrument: SimInstrument): Record<string, unknown> {
  const bid = exchange.market.bestBid(instrument.symbol);
  const ask = exchange.market.bestAsk(instrument.symbol);
  return {
    symbol: instrument.symbol,
    bidPrice: bid === null ? ZERO_ONE_SIDED.price : priceText(instrument, bid.priceTicks),
    bidQty: bid === null ? ZERO_ONE_SIDED.qty : qtyText(instrument, bid.qtyLots),
    askPrice: ask === null ? ZERO_ONE_SIDED.price : priceText(instrument, ask.priceTicks),
    askQty: ask === null ? ZERO_ONE_SIDED.qty : qtyText(instrument, ask.qtyLots),
    time: exchange.nowMs(),
    lastUpdateId: exchange.market.seq(instrument.symbol),
  };
}

export function printPremiumIndex(mark: SimMark): Record<string, unknown> {
  return {
    symbol: mark.symbol,
    markPrice: e8Text(mark.markE8),
    indexPrice: e8Text(mark.indexE8),
    estimatedSettlePrice: e8Text(mark.indexE8),
    lastFundingRate: e8Text(mark.fundingRateE8),
    interestRate: "0.00010000",
    nextFundingTime: mark.nextFundingMs,
    time: mark.tsMs,
  };
}

export function markPriceEvent(mark: SimMark, eventMs: number): Record<string, unknown> {
  return {
    e: "markPriceUpdate",
    E: eventMs,
    s: mark.symbol,
    p: e8Text(mark.markE8),
    P: e8Text(mark.indexE8),
    i: e8Text(mark.indexE8),
    r: e8Text(mark.fundingRateE8),
    T: mark.nextFundingMs,
  };
}

export function printAggregate(instrument: SimInstrument, trade: AggregateTrade): Record<string, unknown> {
  return {
    a: trade.id,
    p: priceText(instrument, trade.priceTicks),
    q: qtyText(instrument, trade.qtyLots),
    f: trade.firstId,
    l: trade.lastId,
    T: trade.tsMs,
    m: trade.buyerIsMaker,
  };
}

/** Rows of klines: twelve entries, the last one unused by the venue. */
export function printKline(instrument: SimInstrument, candle: SimCandle, priceDecimals: number): unknown[] {
  const quoteDecimals = instrument.priceDecimals + instrument.qtyDecimals;
  return [
    candle.openMs,
    scaledText(candle.openTicks, priceDecimals),
    scaledText(candle.highTicks, priceDecimals),
    scaledText(candle.lowTicks, priceDecimals),
    scaledText(candle.closeTicks, priceDecimals),
    qtyText(instrument, candle.volumeLots),
    candle.closeMs,
    moneyText(candle.quoteVolumeE12, quoteDecimals),
    candle.tradeCount,
    qtyText(instrument, candle.takerBuyLots),
    moneyText(candle.takerBuyQuoteE12, quoteDecimals),
    "0",
  ];
}

export function klineEvent(
  instrument: SimInstrument,
  candle: SimCandle,
  interval: string,
  eventMs: number,
): Record<string, unknown> {
  const quoteDecimals = instrument.priceDecimals + instrument.qtyDecimals;
  return {
    e: "kline",
    E: eventMs,
    s: instrument.symbol,
    k: {
      t: candle.openMs,
      T: candle.closeMs,
      s: instrument.symbol,
      i: interval,
      f: candle.firstTradeId,
      L: candle.lastTradeId,
      o: priceText(instrument, candle.openTicks),
      c: priceText(instrument, candle.closeTicks),
      h: priceText(instrument, candle.highTicks),
      l: priceText(instrument, candle.lowTicks),
      v: qtyText(instrument, candle.volumeLots),
      n: candle.tradeCount,
      x: eventMs > candle.closeMs,
      q: moneyText(candle.quoteVolumeE12, quoteDecimals),
      V: qtyText(instrument, candle.takerBuyLots),
      Q: moneyText(candle.takerBuyQuoteE12, quoteDecimals),
      B: "0",
    },
  };
}

/** Rows of trades; the quote quantity has the decimals of both factors. */
export function printTrade(
  instrument: SimInstrument,
  trade: { tradeId: number; priceTicks: number; qtyLots: number; tsMs: number; takerSide: "BUY" | "SELL" },
): Record<string, unknown> {
  const quote = notionalE12(instrument, trade.priceTicks, trade.qtyLots);
  return {
    id: trade.tradeId,
    price: priceText(instrument, trade.priceTicks),
    qty: qtyText(instrument, trade.qtyLots),
    quoteQty: moneyText(quote, instrument.priceDecimals + instrument.qtyDecimals),
    baseQty: qtyText(instrument, trade.qtyLots),
    time: trade.tsMs,
    isBuyerMaker: trade.takerSide === "SELL",
  };
}
