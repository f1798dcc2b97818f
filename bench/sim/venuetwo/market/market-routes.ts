/** Public market data, fact sheet 5.1. */
import type { SimInstrument } from "../../core/model/types.js";
import { type Call, RawJson, type Route, tradedRules } from "../records/context.js";
import { refuse, refuseMandatory } from "../wire/errors.js";
import {
  e8Text,
  INTERVALS,
  printAggregate,
  printBookTicker,
  printKline,
  printLevels,
  printPremiumIndex,
  printTicker,
  printTrade,
} from "./market-view.js";
import { priceText } from "../../core/model/fixed.js";
import type { Params } from "../wire/params.js";

const DEPTH_WEIGHTS: ReadonlyMap<number, number> = new Map([
  [5, 2],
  [10, 2],
  [20, 2],
  [50, 2],
  [100, 5],
  [500, 10],
  [1000, 20],
]);
const HOUR_MS = 3_600_000;

export const MARKET_ROUTES: Readonly<Record<string, Route>> = {
  "GET ping": { weight: 1, security: "none", answer: () => ({}) },
  "GET time": { weight: 1, security: "none", answer: ({ context }) => ({ serverTime: context.exchange.nowMs() }) },
  "GET exchangeInfo": {
    weight: 1,
    security: "none",
    // The listing prints it itself, with the server time in its place.
    answer: ({ context }) => new RawJson(context.listing.print(context.exchange.nowMs())),
  },
  "GET depth": {
    weight: (params) => DEPTH_WEIGHTS.get(params.integer("limit") ?? 500) ?? 1,
    security: "none",
    answer: depth,
  },
  "GET trades": { weight: 1, security: "none", answer: (call) => trades(call, null) },
  "GET historicalTrades": {
    weight: 20,
    security: "key",
    answer: (call) => trades(call, call.params.integer("fromId")),
  },
  "GET aggTrades": { weight: 20, security: "none", answer: aggTrades },
  "GET klines": { weight: klineWeight, security: "none", answer: (call) => klines(call, instrumentOf(call), "last") },
  "GET markPriceKlines": {
    weight: klineWeight,
    security: "none",
    answer: (call) => klines(call, instrumentOf(call), "mark"),
  },
  "GET indexPriceKlines": {
    weight: klineWeight,
    security: "none",
    answer: (call) => klines(call, instrumentOf(call, "pair"), "index"),
  },
  "GET premiumIndex": {
    weight: 1,
    security: "none",
    answer: (call) =>
      oneOrAll(call, (instrument) => printPremiumIndex(call.context.exchange.market.mark(instrument.symbol))),
  },
  "GET fundingRate": { weight: 1, security: "none", answer: fundingRate },
  "GET fundingInfo": { weight: 1, security: "none", answer: fundingInfo },
  "GET ticker/24hr": {
    weight: (params) => (params.has("symbol") ? 1 : 40),
    security: "none",
    answer: (call) =>
      oneOrAll(call, (instrument) => printTicker(instrument, call.context.exchange.market.ticker(instrument.symbol))),
  },
  "GET ticker/price": {
    weight: (params) => (params.has("symbol") ? 1 : 2),
    security: "none",
    answer: (call) =>
      oneOrAll(call, (instrument) => ({
        symbol: instrument.symbol,
        price: priceText(instrument, call.context.exchange.market.ticker(instrument.symbol).lastTicks),
        time: call.context.exchange.nowMs(),
      })),
  },
  "GET ticker/bookTicker": {
    weight: (params) => (params.has("symbol") ? 1 : 2),
    security: "none",
    answer: (call) => oneOrAll(call, (instrument) => printBookTicker(call.context.exchange, instrument)),
  },
  "GET openInterest": {
    weight: 1,
    security: "none",
    answer: (call) => {
      const instrument = instrumentOf(call);
      const mark = call.context.exchange.market.mark(instrument.symbol);
      return {
        symbol: instrument.symbol,
        openInterest: (mark.openInterestLots / 10 ** instrument.qtyDecimals).toFixed(instrument.qtyDecimals),
        time: mark.tsMs,
      };
    },
  },
};

function instrumentOf(call: Call, name = "symbol"): SimInstrument {
  const value = call.params.text(name);
  if (value === null) throw refuseMandatory(name);
  const instrument = call.context.exchange.instruments.get(value);
  if (instrument === undefined) throw refuse("symbol");
  return instrument;
}

function oneOrAll(call: Call, print: (instrument: SimInstrument) => unknown): unknown {
  if (call.params.has("symbol")) return print(instrumentOf(call));
  return tradedRules(call.context).map((rules) => print(rules.instrument));
}

function depth(call: Call): unknown {
  const instrument = instrumentOf(call);
  const limit = call.params.integer("limit") ?? 500;
  if (!DEPTH_WEIGHTS.has(limit)) throw refuse("depthLimit");
  const book = call.context.exchange.market.book(instrument.symbol, limit);
  return {
    lastUpdateId: book.seq,
    E: call.context.exchange.nowMs(),
    T: book.tsMs,
    bids: printLevels(instrument, book.bids),
    asks: printLevels(instrument, book.asks),
  };
}

function trades(call: Call, fromId: number | null): unknown {
  const instrument = instrumentOf(call);
  const limit = call.params.limit(500, 1000);
  const all = call.context.exchange.market.trades(instrument.symbol);
  const chosen = fromId === null ? all.slice(-limit) : all.filter((trade) => trade.tradeId >= fromId).slice(0, limit);
  return chosen.map((trade) => printTrade(instrument, trade));
}

function aggTrades(call: Call): unknown {
  const instrument = instrumentOf(call);
  const { params } = call;
  const limit = params.limit(500, 1000);
  const fromId = params.integer("fromId");
  const startTime = params.integer("startTime");
  const endTime = params.integer("endTime");
  if (startTime !== null && endTime !== null && endTime < startTime) throw refuse("startAfterEnd");
  if (startTime !== null && endTime !== null && endTime - startTime >= HOUR_MS) throw refuse("combination");
  const rows = (call.context.aggregates.get(instrument.symbol)?.rows ?? []).filter(
    (row) =>
      (fromId === null || row.id >= fromId) &&
      (startTime === null || row.tsMs >= startTime) &&
      (endTime === null || row.tsMs <= endTime),
  );
  // From an id or a start the oldest come first, else the newest rows.
  const chosen = fromId === null && startTime === null ? rows.slice(-limit) : rows.slice(0, limit);
  return chosen.map((row) => printAggregate(instrument, row));
}

function klineWeight(params: Params): number {
  const limit = params.integer("limit") ?? 500;
  return limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1000 ? 5 : 10;
}

function klines(call: Call, instrument: SimInstrument, source: "last" | "mark" | "index"): unknown {
  const { params } = call;
  const intervalMs = INTERVALS.get(params.required("interval"));
  if (intervalMs === undefined) throw refuse("interval");
  const limit = params.limit(500, 1500);
  const startTime = params.integer("startTime");
  const endTime = params.integer("endTime");
  const candles = call.context.exchange.market
    .candles(instrument.symbol, intervalMs, source)
    .filter(
      (candle) => (startTime === null || candle.openMs >= startTime) && (endTime === null || candle.openMs <= endTime),
    );
  const chosen = startTime === null ? candles.slice(-limit) : candles.slice(0, limit);
  const decimals = source === "last" ? instrument.priceDecimals : 8;
  return chosen.map((candle) => printKline(instrument, candle, decimals));
}

function fundingRate(call: Call): unknown {
  const { params, context } = call;
  const limit = params.limit(100, 1000);
  const startTime = params.integer("startTime");
  const endTime = params.integer("endTime");
  const chosen = params.has("symbol") ? [instrumentOf(call)] : tradedRules(context).map((rules) => rules.instrument);
  const rows = chosen.flatMap((instrument) =>
    context.exchange.market
      .fundingHistory(instrument.symbol)
      .filter((point) => (startTime === null || point.tsMs >= startTime) && (endTime === null || point.tsMs <= endTime))
      .map((point) => ({ symbol: instrument.symbol, fundingRate: e8Text(point.rateE8), fundingTime: point.tsMs })),
  );
  rows.sort((left, right) => left.fundingTime - right.fundingTime);
  return startTime === null ? rows.slice(-limit) : rows.slice(0, limit);
}

function fundingInfo(call: Call): unknown {
  const rows = call.params.has("symbol")
    ? [instrumentOf(call)]
    : tradedRules(call.context).map((rules) => rules.instrument);
  return rows.map((instrument) => ({
    symbol: instrument.symbol,
    interestRate: "0.00010000",
    time: call.context.exchange.nowMs(),
    fundingIntervalHours: instrument.fundingIntervalMs / HOUR_MS,
    fundingFeeCap: 0.03,
    fundingFeeFloor: -0.03,
  }));
}
