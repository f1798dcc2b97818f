/** Public market data over REST, fact sheet section 4. */
import type { SimInstrument } from "../../core/model/types.js";
import type { MarketContext } from "./market-context.js";
import { refuseBook, refuseQuery, VenuefourRefusal } from "../wire/errors.js";
import { e8, INTERVALS, price, printCandle, printPrices, printTrade, type Row } from "./market-view.js";
import { AGG_LEVELS } from "./publisher.js";

export interface Call<Context = MarketContext> {
  readonly context: Context;
  readonly params: URLSearchParams;
}

/** What a route adds to the envelope beside `data`. */
export interface Answer {
  readonly data: unknown;
  readonly more?: Row;
}

export type Route<Context = MarketContext> = (call: Call<Context>) => Answer;

const TRADES_SHOWN = 100;
/** By one client's experience; the documentation says 4000. */
const CANDLES_MAX = 3950;
const FUNDING_DEFAULT = 100;
const FUNDING_MAX = 4000;
/** Cursors are opaque texts; these hold the time of the next row. */
const CURSOR_PREFIX = "11114";

export const MARKET_ROUTES: Readonly<Record<string, Route>> = {
  info,
  "info/prices": prices,
  "info/fees": () => ({ data: FEES }),
  book,
  trades,
  kline: (call) => kline(call, "last"),
  "kline/mark": (call) => kline(call, "mark"),
  "funding_rate/history": fundingHistory,
};

const FEES: readonly Row[] = [
  ["0.00015", "0.0004"],
  ["0.00012", "0.00038"],
  ["0.00009", "0.00036"],
  ["0.00006", "0.00034"],
  ["0.00003", "0.00032"],
  ["0", "0.0003"],
  ["0", "0.00029"],
  ["0", "0.00028"],
].map(([maker, taker], level) => ({ level, maker_fee_rate: maker, taker_fee_rate: taker }));

/* ------------------------------------------------------------------ parameters */

export function required(params: URLSearchParams, name: string): string {
  const value = params.get(name);
  if (value === null) throw refuseQuery(`missing field \`${name}\``);
  return value;
}

export function integer(params: URLSearchParams, name: string): number | null {
  const text = params.get(name);
  if (text === null) return null;
  if (!/^\d{1,15}$/.test(text)) throw refuseQuery(`${name}: invalid digit found in string`);
  return Number(text);
}

/** Returns null for a spot market, which is listed and does not trade here. Names are case-sensitive. */
function instrumentOf({ context, params }: Call): SimInstrument | null {
  const symbol = required(params, "symbol");
  const instrument = context.exchange.instruments.get(symbol);
  if (instrument !== undefined) return instrument;
  if (context.listing.spotSymbols.has(symbol)) return null;
  throw refuseBook(symbol, context.quirks);
}

/* ------------------------------------------------------------------ routes */

function info({ context }: Call): Answer {
  const { exchange, listing } = context;
  const data = listing.rows.map((row) => {
    if (!exchange.instruments.has(row.symbol)) return row;
    const history = exchange.market.fundingHistory(row.symbol);
    return {
      ...row,
      funding_rate: e8(history[history.length - 1]?.rateE8 ?? 0, 8),
      next_funding_rate: e8(exchange.market.mark(row.symbol).fundingRateE8, 8),
    };
  });
  return { data };
}

function prices({ context }: Call): Answer {
  const { exchange } = context;
  if (exchange.instruments.size === 0) throw new VenuefourRefusal(404, "No prices found", 404);
  return { data: [...exchange.instruments.values()].map((instrument) => printPrices(exchange, instrument)) };
}

function book(call: Call): Answer {
  const { context, params } = call;
  const instrument = instrumentOf(call);
  const aggLevel = integer(params, "agg_level") ?? 1;
  if (!AGG_LEVELS.includes(aggLevel)) throw refuseQuery(`agg_level: must be one of ${AGG_LEVELS.join(", ")}`);
  if (instrument === null) return { data: { s: params.get("symbol"), l: [[], []], t: context.exchange.nowMs() } };
  const { levels, t } = context.publisher.book(instrument, aggLevel);
  const shown = levels.map((side) => side.map(({ p, a, n }) => ({ p, a, n })));
  return { data: { s: instrument.symbol, l: shown, t } };
}

function trades(call: Call): Answer {
  const { exchange } = call.context;
  const instrument = instrumentOf(call);
  const more = { last_order_id: exchange.market.engineSeq() };
  if (instrument === null) return { data: [], more };
  const newest = exchange.market.trades(instrument.symbol).slice(-TRADES_SHOWN).reverse();
  return { data: newest.map((trade) => printTrade(instrument, trade, "normal")), more };
}

function kline(call: Call, source: "last" | "mark"): Answer {
  const { context, params } = call;
  const instrument = instrumentOf(call);
  const interval = required(params, "interval");
  const intervalMs = INTERVALS.get(interval);
  if (intervalMs === undefined) {
    const known = [...INTERVALS.keys()].map((name) => `\`${name}\``).join(", ");
    throw refuseQuery(`interval: unknown variant \`${interval}\`, expected one of ${known}`);
  }
  required(params, "start_time");
  const startMs = integer(params, "start_time") ?? 0;
  const endMs = integer(params, "end_time") ?? context.exchange.nowMs();
  if (instrument === null) return { data: [] };
  const rows = context.exchange.market
    .candles(instrument.symbol, intervalMs, source)
    .filter((candle) => candle.openMs >= startMs && candle.openMs <= endMs)
    .slice(0, CANDLES_MAX);
  return { data: rows.map((candle) => printCandle(instrument, candle, interval, source)) };
}

/** Newest first, in pages. */
function fundingHistory(call: Call): Answer {
  const { context, params } = call;
  const instrument = instrumentOf(call);
  const limit = Math.min(integer(params, "limit") ?? FUNDING_DEFAULT, FUNDING_MAX);
  const cursor = params.get("cursor");
  const beforeMs = cursor === null ? Number.MAX_SAFE_INTEGER : readCursor(cursor);
  if (instrument === null) return { data: [], more: { next_cursor: "", has_more: false } };
  const rows = [...context.exchange.market.fundingHistory(instrument.symbol)]
    .reverse()
    .filter((point) => point.tsMs <= beforeMs);
  const shown = rows.slice(0, limit);
  const next = rows[limit];
  const step = instrument.priceStepTicks;
  const ticksOf = (markE8: number): number => Math.round(markE8 / 10 ** (8 - instrument.priceDecimals) / step) * step;
  return {
    data: shown.map((point, index) => ({
      oracle_price: e8(point.markE8),
      bid_impact_price: price(instrument, ticksOf(point.markE8) - step),
      ask_impact_price: price(instrument, ticksOf(point.markE8) + step),
      funding_rate: e8(point.rateE8, 8),
      // The estimate at a payment is what the next hour paid.
      next_funding_rate: e8((shown[index - 1] ?? point).rateE8, 8),
      created_at: point.tsMs,
    })),
    more: {
      next_cursor: next === undefined ? "" : `${CURSOR_PREFIX}${next.tsMs.toString(36)}`,
      has_more: next !== undefined,
    },
  };
}

function readCursor(cursor: string): number {
  const tsMs = cursor.startsWith(CURSOR_PREFIX) ? Number.parseInt(cursor.slice(CURSOR_PREFIX.length), 36) : Number.NaN;
  if (!Number.isSafeInteger(tsMs)) throw new VenuefourRefusal(400, "Invalid cursor", 400);
  return tsMs;
}
