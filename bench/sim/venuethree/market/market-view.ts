/** Public market data as the venue prints it, shared by the REST routes and the streams. Key order as recorded. */
import { moneyText, notionalE12, priceText, qtyText, scaledText } from "../../core/model/fixed.js";
import type { SimCandle, SimInstrument, SimLevel, SimResting, SimSide } from "../../core/model/types.js";
import type { VenuethreeContext } from "../orders/context.js";
import { houseAccount, microseconds, orderIndex, wireTradeId } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";
import type { VenueOrder } from "../orders/orders.js";

export const RESOLUTIONS: ReadonlyMap<string, number> = new Map([
  ["1m", 60_000],
  ["5m", 300_000],
  ["15m", 900_000],
  ["30m", 1_800_000],
  ["1h", 3_600_000],
  ["4h", 14_400_000],
  ["12h", 43_200_000],
  ["1d", 86_400_000],
  ["1w", 604_800_000],
]);

const QUOTE_DECIMALS = 6;
const ORDER_LIFE_MS = 28 * 86_400_000;
const FUNDING = { clampSmall: "0.0500", clampBig: "4.0000", interest: "0.0100" } as const;
/** Printed where the venue has no limit. */
const NO_OPEN_INTEREST_LIMIT = "72057594037927936.000000";

/* ------------------------------------------------------------------ listing */

export function printOrderBook(market: VenuethreeMarket): Row {
  return {
    symbol: market.symbol,
    market_id: market.marketId,
    market_type: market.type,
    base_asset_id: market.baseAssetId,
    quote_asset_id: market.quoteAssetId,
    status: isActive(market) ? "active" : "inactive",
    taker_fee: "0.0000",
    is_taker_fee_enabled: true,
    maker_fee: "0.0000",
    is_maker_fee_enabled: true,
    liquidation_fee: market.type === "perp" ? "1.0000" : "0.0000",
    min_base_amount: market.minBaseAmount,
    min_quote_amount: "10.000000",
    order_quote_limit: market.orderQuoteLimit,
    supported_size_decimals: market.sizeDecimals,
    supported_price_decimals: market.priceDecimals,
    supported_quote_decimals: QUOTE_DECIMALS,
    created_at: String(market.createdAtMs),
    multiplier: "1.000000000000000000",
  };
}

/** Spot markets are listed as active although nothing trades in them here. */
function isActive(market: VenuethreeMarket): boolean {
  return market.type === "spot" || market.instrument !== null;
}

export function printPerpDetails(context: VenuethreeContext, market: VenuethreeMarket): Row {
  const { instrument } = market;
  const mark = instrument === null ? null : context.exchange.market.mark(market.symbol);
  const [initial, minimum, maintenance, closeout] = market.marginFractions;
  return {
    ...printOrderBook(market),
    size_decimals: market.sizeDecimals,
    price_decimals: market.priceDecimals,
    quote_multiplier: 1,
    default_initial_margin_fraction: initial,
    min_initial_margin_fraction: minimum,
    maintenance_margin_fraction: maintenance,
    closeout_margin_fraction: closeout,
    ...dayFigures(context, market),
    open_interest: instrument === null || mark === null ? 0 : Number(qtyText(instrument, mark.openInterestLots)),
    mark_price: mark === null ? "0" : e8Price(market, mark.markE8),
    index_price: mark === null ? "0" : e8Price(market, mark.indexE8),
    daily_chart: {},
    market_config: {
      market_margin_mode: 0,
      insurance_fund_account_index: 281_474_976_710_655,
      liquidation_mode: 0,
      force_reduce_only: false,
      trading_hours: "",
      funding_fee_discounts_enabled: false,
      hidden: false,
      rfq_enabled: true,
    },
    strategy_index: 2,
    funding_clamp_small: FUNDING.clampSmall,
    funding_clamp_big: FUNDING.clampBig,
    base_interest_rate: FUNDING.interest,
  };
}

export function printSpotDetails(context: VenuethreeContext, market: VenuethreeMarket): Row {
  return {
    ...printOrderBook(market),
    size_decimals: market.sizeDecimals,
    price_decimals: market.priceDecimals,
    ...dayFigures(context, market),
    daily_chart: {},
  };
}

function dayFigures(context: VenuethreeContext, market: VenuethreeMarket): Row {
  const stats = printStats(context, market);
  return {
    last_trade_price: stats.last_trade_price,
    daily_trades_count: stats.daily_trades_count,
    daily_base_token_volume: stats.daily_base_token_volume,
    daily_quote_token_volume: stats.daily_quote_token_volume,
    ...range(context, market),
    daily_price_change: stats.daily_price_change,
  };
}

function range(context: VenuethreeContext, market: VenuethreeMarket): Row {
  const { instrument } = market;
  if (instrument === null) return { daily_price_low: 0, daily_price_high: 0 };
  const ticker = context.exchange.market.ticker(market.symbol);
  return {
    daily_price_low: Number(priceText(instrument, ticker.lowTicks)),
    daily_price_high: Number(priceText(instrument, ticker.highTicks)),
  };
}

/** Row of exchangeStats. */
export function printStats(
  context: VenuethreeContext,
  market: VenuethreeMarket,
): Row & { readonly daily_trades_count: number; readonly daily_quote_token_volume: number } {
  const { instrument } = market;
  if (instrument === null) {
    return {
      symbol: market.symbol,
      last_trade_price: 0,
      daily_trades_count: 0,
      daily_base_token_volume: 0,
      daily_quote_token_volume: 0,
      daily_price_change: 0,
    };
  }
  const ticker = context.exchange.market.ticker(market.symbol);
  return {
    symbol: market.symbol,
    last_trade_price: Number(priceText(instrument, ticker.lastTicks)),
    daily_trades_count: ticker.tradeCount,
    daily_base_token_volume: Number(qtyText(instrument, ticker.volumeLots)),
    daily_quote_token_volume: Number(moneyText(ticker.quoteVolumeE12, QUOTE_DECIMALS)),
    // In percent, a float: a figure for people.
    daily_price_change: (ticker.lastTicks / ticker.openTicks - 1) * 100,
  };
}

/* ------------------------------------------------------------------ statistics and funding */

/** `market_stats` of a market that trades. */
export function printMarketStats(context: VenuethreeContext, market: VenuethreeMarket, instrument: SimInstrument): Row {
  const { exchange } = context;
  const mark = exchange.market.mark(market.symbol);
  const ticker = exchange.market.ticker(market.symbol);
  const history = exchange.market.fundingHistory(market.symbol);
  const last = history[history.length - 1];
  const bid = exchange.market.bestBid(market.symbol);
  const ask = exchange.market.bestAsk(market.symbol);
  // Nearest tick, halves up.
  const midTicks = bid === null || ask === null ? ticker.lastTicks : Math.round((bid.priceTicks + ask.priceTicks) / 2);
  const openE12 = notionalE12(instrument, Math.round(mark.markE8 / 10 ** (8 - instrument.priceDecimals)), 1);
  return {
    symbol: market.symbol,
    market_id: market.marketId,
    index_price: e8Price(market, mark.indexE8),
    mark_price: e8Price(market, mark.markE8),
    mid_price: priceText(instrument, midTicks),
    open_interest: moneyText(openE12 * BigInt(mark.openInterestLots), QUOTE_DECIMALS),
    open_interest_limit: NO_OPEN_INTEREST_LIMIT,
    funding_clamp_small: FUNDING.clampSmall,
    funding_clamp_big: FUNDING.clampBig,
    base_interest_rate: FUNDING.interest,
    last_trade_price: priceText(instrument, ticker.lastTicks),
    current_funding_rate: percentText(mark.fundingRateE8),
    funding_rate: percentText(last?.rateE8 ?? 0),
    funding_timestamp: last?.tsMs ?? 0,
    daily_base_token_volume: Number(qtyText(instrument, ticker.volumeLots)),
    daily_quote_token_volume: Number(moneyText(ticker.quoteVolumeE12, QUOTE_DECIMALS)),
    daily_price_low: Number(priceText(instrument, ticker.lowTicks)),
    daily_price_high: Number(priceText(instrument, ticker.highTicks)),
    daily_price_change: (ticker.lastTicks / ticker.openTicks - 1) * 100,
  };
}

/** E8 price in the market's decimals, nearest. */
function e8Price(market: VenuethreeMarket, priceE8: number): string {
  return scaledText(Math.round(priceE8 / 10 ** (8 - market.priceDecimals)), market.priceDecimals);
}

/** A rate of E8 as percent with four decimals, nearest. */
function percentText(rateE8: number): string {
  return scaledText(Math.round(rateE8 / 100), 4);
}

/** Row of `fundings`: percent without sign, the direction says who pays. */
export function printFunding(point: { readonly rateE8: number; readonly tsMs: number; readonly markE8: number }): Row {
  const rateE8 = Math.abs(point.rateE8);
  return {
    timestamp: Math.floor(point.tsMs / 1000),
    // Payment for one unit of base.
    value: moneyText((BigInt(rateE8) * BigInt(point.markE8)) / 10_000n, 8),
    rate: percentText(rateE8),
    direction: point.rateE8 >= 0 ? "long" : "short",
  };
}

/* ------------------------------------------------------------------ books */

export function printLevels(
  instrument: SimInstrument,
  levels: readonly Pick<SimLevel, "priceTicks" | "qtyLots">[],
): Row[] {
  return levels.map((level) => ({
    price: priceText(instrument, level.priceTicks),
    size: qtyText(instrument, level.qtyLots),
  }));
}

/** An empty side prints empty texts. */
export function printTouch(instrument: SimInstrument | null, level: SimLevel | null): Row {
  if (instrument === null || level === null) return { price: "", size: "" };
  return { price: priceText(instrument, level.priceTicks), size: qtyText(instrument, level.qtyLots) };
}

/** Row of `orderBookOrders`: one order. */
export function printRestingOrder(
  context: VenuethreeContext,
  market: VenuethreeMarket,
  instrument: SimInstrument,
  side: SimSide,
  resting: SimResting,
): Row {
  const own = resting.owner?.tag as VenueOrder | undefined;
  if (own !== undefined) return printOwnResting(own, instrument, resting);
  const identity = context.resting.of(resting, context.exchange.nowMs());
  const index = orderIndex(market.marketId, side, identity.running);
  return {
    order_index: index,
    order_id: String(index),
    owner_account_index: houseAccount(Number(identity.running)),
    initial_base_amount: qtyText(instrument, identity.initialLots),
    remaining_base_amount: qtyText(instrument, resting.lots),
    price: priceText(instrument, resting.priceTicks),
    order_expiry: identity.firstMs + ORDER_LIFE_MS,
    transaction_time: microseconds(identity.firstMs, Number(identity.running)),
  };
}

/** An order of an account has the same id in the book and for its account. */
function printOwnResting(order: VenueOrder, instrument: SimInstrument, resting: SimResting): Row {
  return {
    order_index: order.index,
    order_id: String(order.index),
    owner_account_index: order.account.index,
    initial_base_amount: qtyText(instrument, order.core?.requestedLots ?? resting.lots),
    remaining_base_amount: qtyText(instrument, resting.lots),
    price: priceText(instrument, resting.priceTicks),
    order_expiry: order.fields.orderExpiry,
    transaction_time: microseconds(order.updatedMs, order.changeCount),
  };
}

/* ------------------------------------------------------------------ candles */

/** Candle of `candles` and the stream; floats on the wire. */
export function printCandle(market: VenuethreeMarket, instrument: SimInstrument, candle: SimCandle, tMs: number): Row {
  const price = (ticks: number): number => Number(priceText(instrument, ticks));
  return {
    t: tMs,
    o: price(candle.openTicks),
    h: price(candle.highTicks),
    l: price(candle.lowTicks),
    c: price(candle.closeTicks),
    v: Number(qtyText(instrument, candle.volumeLots)),
    V: Number(moneyText(candle.quoteVolumeE12, QUOTE_DECIMALS)),
    i: wireTradeId(market.marketId, candle.lastTradeId),
  };
}

/** The names of the endpoint that `candles` replaced. */
export function printCandlestick(
  market: VenuethreeMarket,
  instrument: SimInstrument,
  candle: SimCandle,
  tMs: number,
): Row {
  const row = printCandle(market, instrument, candle, tMs);
  return {
    timestamp: row.t,
    open: row.o,
    high: row.h,
    low: row.l,
    close: row.c,
    open_raw: 0,
    high_raw: 0,
    low_raw: 0,
    close_raw: 0,
    volume0: row.v,
    volume1: row.V,
    last_trade_id: row.i,
  };
}
