/** Public market data over REST, fact sheet 3.1. Bad parameters are refused with HTTP 400, code and message. */
import type { SimCandle } from "../../core/model/types.js";
import type { VenuethreeContext } from "../orders/context.js";
import { accountTrades } from "./account-trades.js";
import { CODE, refuseParameter, VenuethreeRefusal } from "../wire/errors.js";
import { heightAt } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";
import {
  printCandle,
  printCandlestick,
  printFunding,
  printOrderBook,
  printPerpDetails,
  printRestingOrder,
  printSpotDetails,
  printStats,
  RESOLUTIONS,
} from "./market-view.js";
import { integer, limitOf, required } from "../wire/params.js";
import { printTrade } from "./trade-view.js";

export interface Call {
  readonly context: VenuethreeContext;
  readonly params: URLSearchParams;
  /** As sent, not yet checked; null without one. */
  readonly token: string | null;
}

export type Route = (call: Call) => Row;

const OK = 200;
const ALL_MARKETS = 255;
const ORDERS_MAX = 250;
const TRADES_MAX = 100;
const CANDLES_MAX = 500;
const FUNDINGS_MAX = 100;
/** First timestamp the venue calls too late: the year 2286. */
const TIMESTAMP_MAX = 9_999_999_999_999;
const HOUR_MS = 3_600_000;
const FUNDING_RESOLUTIONS: ReadonlyMap<string, number> = new Map([
  ["1h", HOUR_MS],
  ["1d", 24 * HOUR_MS],
]);
const SORT_KEYS: ReadonlySet<string> = new Set(["block_height", "timestamp", "trade_id"]);

export const MARKET_ROUTES: Readonly<Record<string, Route>> = {
  orderBooks: (call) => ({ code: OK, order_books: chosenMarkets(call).map(printOrderBook) }),
  orderBookDetails,
  orderBookOrders,
  recentTrades,
  trades,
  exchangeStats,
  candles: (call) => ({
    code: OK,
    r: call.params.get("resolution"),
    c: candleRows(call, printCandle),
  }),
  candlesticks: (call) => ({
    code: OK,
    resolution: call.params.get("resolution"),
    candlesticks: candleRows(call, printCandlestick),
  }),
  "funding-rates": fundingRates,
  fundings,
  currentHeight: ({ context }) => ({ code: OK, height: heightAt(context.exchange.nowMs()) }),
  systemConfig: () => SYSTEM_CONFIG,
  assetDetails: () => ({ code: OK, asset_details: ASSETS }),
};

/** Root answers, outside `/api/v1`. */
export const ROOT_ROUTES: Readonly<Record<string, Route>> = {
  "/": ({ context }) => ({ status: OK, network_id: 1, timestamp: Math.floor(context.exchange.nowMs() / 1000) }),
  "/info": () => ({ contract_address: "0x3B4D794a66304F130a4Db8F2551B0070dfCf5ca7" }),
};

const SYSTEM_CONFIG: Row = {
  code: OK,
  liquidity_pool_index: 281_474_976_710_654,
  staking_pool_index: 281_474_976_624_800,
  funding_fee_rebate_account_index: 281_474_976_710_650,
  market_maker_incentive_account_index: 281_474_976_710_649,
  liquidity_pool_cooldown_period: 300_000,
  staking_pool_lockup_period: 259_200_000,
  max_integrator_perps_maker_fee: 1000,
  max_integrator_perps_taker_fee: 1000,
  max_integrator_spot_maker_fee: 10_000,
  max_integrator_spot_taker_fee: 10_000,
};

const ASSETS: readonly Row[] = [
  asset(1, "ETH", 18, "0.00001000", "0x0000000000000000000000000000000000000000"),
  asset(3, "USDC", 6, "1.000000", "0x95Fd23d5110f9D89A4b0B7d63D78F5B5Ea5074D1"),
];

function asset(id: number, symbol: string, l1Decimals: number, minimum: string, address: string): Row {
  return {
    asset_id: id,
    symbol,
    l1_decimals: l1Decimals,
    decimals: Math.min(8, l1Decimals),
    min_transfer_amount: minimum,
    min_withdrawal_amount: minimum,
    margin_mode: symbol === "USDC" ? "enabled" : "disabled",
    index_price: symbol === "USDC" ? "1.000000" : "0.000000",
    l1_address: address,
  };
}

/* ------------------------------------------------------------------ parameters */

function marketOf(call: Call): VenuethreeMarket {
  const market = call.context.listing.byId.get(required(call.params, "market_id"));
  if (market === undefined) throw new VenuethreeRefusal(CODE.marketIndex, "invalid market index");
  return market;
}

/** By `market_id` (255 or absent: all) and `filter`. */
function chosenMarkets({ context, params }: Call): readonly VenuethreeMarket[] {
  const filter = params.get("filter") ?? "all";
  if (filter !== "all" && filter !== "spot" && filter !== "perp") throw refuseParameter("filter");
  const id = integer(params, "market_id") ?? ALL_MARKETS;
  if (id !== ALL_MARKETS && !context.listing.byId.has(id))
    throw new VenuethreeRefusal(CODE.marketIndex, "invalid market index");
  return context.listing.markets.filter(
    (market) => (id === ALL_MARKETS || market.marketId === id) && (filter === "all" || market.type === filter),
  );
}

interface TimeRange {
  readonly startMs: number;
  readonly endMs: number;
}

function timeRange(params: URLSearchParams): TimeRange {
  const startMs = required(params, "start_timestamp");
  const endMs = required(params, "end_timestamp");
  if (startMs < 0 || endMs <= 0 || startMs > TIMESTAMP_MAX || endMs > TIMESTAMP_MAX) {
    throw new VenuethreeRefusal(
      CODE.timestamp,
      "invalid timestamp: timestamp must be greater than 0 and less than year 2286",
    );
  }
  if (endMs <= startMs) {
    throw new VenuethreeRefusal(
      CODE.timestampOrder,
      "invalid timestamps: end_timestamp must be greater than start_timestamp",
    );
  }
  return { startMs, endMs };
}

function resolutionOf(params: URLSearchParams, known: ReadonlyMap<string, number>): number {
  const intervalMs = known.get(params.get("resolution") ?? "");
  if (intervalMs === undefined)
    throw new VenuethreeRefusal(CODE.resolution, "invalid resolution: resolution unsupported");
  return intervalMs;
}

/* ------------------------------------------------------------------ routes */

function orderBookDetails(call: Call): Row {
  const chosen = chosenMarkets(call);
  const perps = chosen.filter((market) => market.type === "perp");
  const spots = chosen.filter((market) => market.type === "spot");
  return {
    code: OK,
    order_book_details: perps.map((market) => printPerpDetails(call.context, market)),
    spot_order_book_details: spots.map((market) => printSpotDetails(call.context, market)),
  };
}

/** One row per order, so that a client must add up a price. */
function orderBookOrders(call: Call): Row {
  const { context } = call;
  const market = marketOf(call);
  const limit = limitOf(call.params, ORDERS_MAX);
  const rows = (side: "BUY" | "SELL"): Row[] => {
    const { instrument } = market;
    if (instrument === null) return [];
    return context.exchange.market
      .restingOrders(market.symbol, side, limit)
      .map((resting) => printRestingOrder(context, market, instrument, side, resting));
  };
  const asks = rows("SELL");
  const bids = rows("BUY");
  return { code: OK, total_asks: asks.length, asks, total_bids: bids.length, bids };
}

function tradeRows(call: Call, market: VenuethreeMarket, limit: number): Row[] {
  const { instrument } = market;
  if (instrument === null) return [];
  return call.context.exchange.market
    .trades(market.symbol)
    .slice(-limit)
    .map((trade) => printTrade(call.context, market, instrument, trade))
    .reverse();
}

function recentTrades(call: Call): Row {
  const market = marketOf(call);
  const rows = tradeRows(call, market, limitOf(call.params, TRADES_MAX));
  if (rows.length > 0 || call.context.quirks.noTrades === "empty") return { code: OK, trades: rows };
  const none = { code: OK, message: null, next_cursor: null };
  return call.context.quirks.noTrades === "null" ? { ...none, trades: null } : none;
}

/** All markets when none is named. Trades of an account are in account-routes.ts. */
function trades(call: Call): Row {
  const { params, context } = call;
  const sortBy = params.get("sort_by");
  if (sortBy === null || !SORT_KEYS.has(sortBy)) throw refuseParameter("sort_by is required");
  const limit = limitOf(params, TRADES_MAX);
  const accountIndex = integer(params, "account_index") ?? -1;
  if (accountIndex >= 0) return accountTrades(call, accountIndex, sortBy, limit);
  const id = integer(params, "market_id") ?? ALL_MARKETS;
  const markets = id === ALL_MARKETS ? context.listing.markets : [marketOf(call)];
  const rows = markets.flatMap((market) => tradeRows(call, market, limit));
  const key = sortBy === "timestamp" ? "transaction_time" : sortBy;
  rows.sort((left, right) => Number(right[key]) - Number(left[key]));
  return { code: OK, trades: rows.slice(0, limit) };
}

function exchangeStats({ context }: Call): Row {
  const rows = context.listing.markets.map((market) => printStats(context, market));
  return {
    code: OK,
    total: rows.length,
    order_book_stats: rows,
    daily_usd_volume: rows.reduce((sum, row) => sum + row.daily_quote_token_volume, 0),
    daily_trades_count: rows.reduce((sum, row) => sum + row.daily_trades_count, 0),
  };
}

type CandlePrinter = typeof printCandle;

function candleRows(call: Call, print: CandlePrinter): Row[] {
  const { context, params } = call;
  const market = marketOf(call);
  const intervalMs = resolutionOf(params, RESOLUTIONS);
  const { startMs, endMs } = timeRange(params);
  const countBack = required(params, "count_back");
  const { instrument } = market;
  if (instrument === null) return [];
  const atEnd = params.get("set_timestamp_to_end") === "true";
  const chosen = context.exchange.market
    .candles(market.symbol, intervalMs)
    .filter((candle: SimCandle) => candle.openMs >= startMs && candle.openMs <= endMs)
    .slice(countBack > 0 ? -Math.min(countBack, CANDLES_MAX) : -CANDLES_MAX);
  return chosen.map((candle) => print(market, instrument, candle, atEnd ? candle.openMs + intervalMs : candle.openMs));
}

/** Fractions per eight hours, for this venue and three others. */
function fundingRates({ context }: Call): Row {
  const rows = context.listing.markets.flatMap((market) => {
    if (market.instrument === null) return [];
    const rate = (context.exchange.market.mark(market.symbol).fundingRateE8 * 8) / 1e8;
    return ["binance", "bybit", "hyperliquid", "lighter"].map((exchange, index) => ({
      market_id: market.marketId,
      exchange,
      symbol: market.symbol,
      // Rates of other venues are not modelled: values near this venue's, and different from it.
      rate: exchange === "lighter" ? rate : rate + (index + 1) * 1e-6,
    }));
  });
  return { code: OK, funding_rates: rows };
}

function fundings(call: Call): Row {
  const market = marketOf(call);
  const resolutionMs = resolutionOf(call.params, FUNDING_RESOLUTIONS);
  const { startMs, endMs } = timeRange(call.params);
  const countBack = required(call.params, "count_back");
  const history = market.instrument === null ? [] : call.context.exchange.market.fundingHistory(market.symbol);
  const chosen = history
    .filter((point) => point.tsMs >= startMs && point.tsMs <= endMs && point.tsMs % resolutionMs === 0)
    .slice(countBack > 0 ? -Math.min(countBack, FUNDINGS_MAX) : -FUNDINGS_MAX);
  return { code: OK, resolution: call.params.get("resolution"), fundings: chosen.map(printFunding) };
}
