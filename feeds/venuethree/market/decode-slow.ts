/**
 * Frames off the hot path (trades, statistics, control), and the answers of the public REST calls → wire types,
 * checked at the border. Never throws. One bad row is counted and does not hide the others.
 *
 * Order ids of most markets lie above 2^53: the parser keeps such integers as text, and the string twins are
 * preferred where the venue prints them, so no id is ever a rounded number.
 */
import { isPlainDecimal, plainFromVenueNumber } from "../../../engine/domain/decimal.js";
import {
  booleanField,
  decimalField,
  type Fields,
  idField,
  integerField,
  isFields,
  parseJsonExact,
  textField,
  WireFault,
} from "../../shared/room/wire-fields.js";
import { readChannel } from "./channel.js";
import type {
  VenuethreeSlowFrame,
  VenuethreeWireBest,
  VenuethreeWireMarket,
  VenuethreeWireStats,
  VenuethreeWireTop,
  VenuethreeWireTrade,
} from "./wire.js";

/** Prints per frame that are looked at: a snapshot has 50, an update those of one batch. */
const MAX_TRADES = 2_000;

export function decodeSlowFrame(text: string): VenuethreeSlowFrame {
  const data = parseJsonExact(text);
  if (!isFields(data)) return { kind: "malformed" };
  const { type } = data;
  const error = data["error"];
  if (isFields(error)) return errorFrame(error);
  if (typeof type !== "string") return { kind: "unknown" };
  switch (type) {
    case "connected":
      return { kind: "connected" };
    case "ping":
      return { kind: "ping" };
    case "pong":
      return { kind: "pong" };
    case "error":
      return errorFrame(data);
    default:
  }
  const channelText = data["channel"];
  const channel = typeof channelText === "string" ? readChannel(channelText) : null;
  if (type === "unsubscribed") {
    return channel === null ? { kind: "malformed" } : { kind: "unsubscribed", channel: String(channelText) };
  }
  const [prefix, name] = type.split("/");
  if ((prefix !== "subscribed" && prefix !== "update") || name === undefined) return { kind: "unknown" };
  try {
    switch (name) {
      case "trade":
        return channel === null ? { kind: "malformed" } : tradesFrame(data, channel.marketId, prefix === "subscribed");
      case "market_stats":
        return statsFrame(data);
      case "height":
        return { kind: "height", tsVenueMs: timestampOf(data) };
      case "order_book":
      case "ticker":
        // Without a market in its channel, or the hot path would have had it.
        return { kind: "malformed" };
      default:
        return { kind: "ignored", channel: name };
    }
  } catch (error) {
    if (error instanceof WireFault) return { kind: "malformed" };
    throw error;
  }
}

function errorFrame(error: Fields): VenuethreeSlowFrame {
  const { code, message } = error;
  if (typeof code !== "number" || !Number.isInteger(code)) return { kind: "malformed" };
  // `Already Subscribed to : order_book:0`: the only place where an error names its channel.
  const channel = typeof message === "string" ? (/([a-z_]+[:/]\d{1,5})\s*$/.exec(message)?.[1] ?? "") : "";
  return { kind: "error", code, channel };
}

function tradesFrame(data: Fields, marketId: number, isSnapshot: boolean): VenuethreeSlowFrame {
  const trades: VenuethreeWireTrade[] = [];
  let brokenCount = 0;
  // Disjoint lists, both of real prints (sheet); either may be null or missing.
  for (const list of [data["trades"], data["liquidation_trades"]]) {
    if (list === undefined || list === null) continue;
    if (!Array.isArray(list) || list.length > MAX_TRADES) return { kind: "malformed" };
    for (const row of list as unknown[]) {
      const trade = decodeTrade(row);
      if (trade === null) brokenCount++;
      else trades.push(trade);
    }
  }
  return { kind: "trades", isSnapshot, marketId, trades, brokenCount };
}

function decodeTrade(row: unknown): VenuethreeWireTrade | null {
  if (!isFields(row)) return null;
  return caught(() => ({
    trade_id: idField(row, typeof row["trade_id_str"] === "string" ? "trade_id_str" : "trade_id"),
    type: textField(row, "type"),
    price: decimalField(row, "price"),
    size: decimalField(row, "size"),
    is_maker_ask: booleanField(row, "is_maker_ask"),
    timestamp: integerField(row, "timestamp"),
  }));
}

/** One market's object, or (channel `all`) a map from market number to object that holds the changed markets. */
function statsFrame(data: Fields): VenuethreeSlowFrame {
  const stats = data["market_stats"];
  if (!isFields(stats)) return { kind: "malformed" };
  const values = "market_id" in stats ? [stats] : Object.values(stats);
  const rows: VenuethreeWireStats[] = [];
  let brokenCount = 0;
  for (const value of values) {
    const row = isFields(value) ? caught(() => decodeStats(value)) : null;
    if (row === null) brokenCount++;
    else rows.push(row);
  }
  return { kind: "stats", rows, tsVenueMs: timestampOf(data), brokenCount };
}

function decodeStats(row: Fields): VenuethreeWireStats {
  return {
    market_id: integerField(row, "market_id"),
    mark_price: decimalOf(row, "mark_price"),
    index_price: decimalOf(row, "index_price"),
    mid_price: decimalOf(row, "mid_price"),
    last_trade_price: decimalOf(row, "last_trade_price"),
    open_interest: decimalOf(row, "open_interest"),
    current_funding_rate: decimalOf(row, "current_funding_rate"),
    daily_base_token_volume: decimalOf(row, "daily_base_token_volume"),
    daily_quote_token_volume: decimalOf(row, "daily_quote_token_volume"),
    daily_price_low: decimalOf(row, "daily_price_low"),
    daily_price_high: decimalOf(row, "daily_price_high"),
    daily_price_change: decimalOf(row, "daily_price_change"),
  };
}

/** Text or a float (a statistic, never part of an order); null for absent and empty. Anything else spoils the row. */
function decimalOf(row: Fields, name: string): string | null {
  const value = row[name];
  if (value === undefined || value === null || value === "") return null;
  const plain = typeof value === "string" || typeof value === "number" ? plainFromVenueNumber(String(value)) : null;
  if (plain === null) throw new WireFault(name, "is not a decimal");
  return plain;
}

function timestampOf(data: Fields): number {
  const value = data["timestamp"];
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

// ---------------------------------------------------------------- REST answers

export interface DetailsAnswer {
  readonly markets: readonly VenuethreeWireMarket[];
  /** Names of rows that can not be read. */
  readonly broken: readonly string[];
}

/** `orderBookDetails`; null when it is none. Spot markets are in a list of their own and are not read. */
export function decodeDetails(body: string): DetailsAnswer | null {
  const data = parseJsonExact(body);
  if (!isFields(data) || data["code"] !== 200 || !Array.isArray(data["order_book_details"])) return null;
  const markets: VenuethreeWireMarket[] = [];
  const broken: string[] = [];
  for (const row of data["order_book_details"] as unknown[]) {
    // Distinguished by kind where a spot market is among the others.
    if (isFields(row) && row["market_type"] === "spot") continue;
    const market = isFields(row) ? caught(() => decodeMarket(row)) : null;
    if (market === null) broken.push(isFields(row) && typeof row["symbol"] === "string" ? row["symbol"] : "");
    else markets.push(market);
  }
  return { markets, broken };
}

function decodeMarket(row: Fields): VenuethreeWireMarket {
  // A figure of the day that cannot be read spoils the figures, not the contract.
  const stats = caught(() => decodeStats(row)) ?? decodeStats({ market_id: row["market_id"] });
  return {
    symbol: textField(row, "symbol"),
    market_id: integerField(row, "market_id"),
    status: textField(row, "status"),
    price_decimals: decimalsOf(row, "price_decimals", "supported_price_decimals"),
    size_decimals: decimalsOf(row, "size_decimals", "supported_size_decimals"),
    min_initial_margin_fraction: integerField(row, "min_initial_margin_fraction"),
    min_base_amount: decimalOf(row, "min_base_amount"),
    min_quote_amount: decimalOf(row, "min_quote_amount"),
    multiplier: decimalOf(row, "multiplier"),
    // Open interest has other units here than in the stream (sheet).
    stats: { ...stats, open_interest: null },
  };
}

/** Both names carry the same value (sheet); a venue that says two things says nothing. */
function decimalsOf(row: Fields, name: string, twin: string): number {
  const value = integerField(row, row[name] === undefined ? twin : name);
  if (row[twin] !== undefined && row[twin] !== value) throw new WireFault(name, "differs from its twin");
  return value;
}

/** `orderBookOrders` (a row per order, best first) → best price of each side; null when it is no such answer. */
export function decodeTop(body: string, limit: number): VenuethreeWireTop | null {
  const data = parseJsonExact(body);
  if (!isFields(data) || data["code"] !== 200) return null;
  const bid = bestOf(data["bids"], limit);
  const ask = bestOf(data["asks"], limit);
  return bid === undefined || ask === undefined ? null : { bid, ask };
}

function bestOf(rows: unknown, limit: number): VenuethreeWireBest | null | undefined {
  if (rows === null) return null;
  if (!Array.isArray(rows)) return undefined;
  const [first] = rows as unknown[];
  if (first === undefined) return null;
  const price = isFields(first) ? first["price"] : undefined;
  if (typeof price !== "string" || !isPlainDecimal(price)) return undefined;
  const sizes: string[] = [];
  for (const row of rows as unknown[]) {
    if (!isFields(row) || row["price"] !== price) break;
    const size = row["remaining_base_amount"];
    if (typeof size !== "string") return undefined;
    sizes.push(size);
  }
  return { price, sizes, isWhole: sizes.length < rows.length || rows.length < limit };
}

function caught<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof WireFault) return null;
    throw error;
  }
}
