/**
 * Bytes → wire types, checked at the border: socket frames of the market channels and bodies of the market reads. For
 * the two depth channels this is the reference that market/scan.ts must equal, and the way for frames the scanner
 * declines. Nothing here throws but the decoders of REST bodies, whose faults rest.ts turns into values: what can not
 * be read of a frame comes out as `malformed`.
 */
import { plainFromVenueNumber } from "../../../engine/domain/decimal.js";
import {
  asFields,
  asList,
  decimalField,
  decimalOrNull,
  decodeWith,
  type Fields,
  integerField,
  isFields,
  oneOf,
  parseJsonExact,
  textField,
  textOrNull,
  WireFault,
} from "../../shared/room/wire-fields.js";
import type {
  VenuefourTradeSide,
  VenuefourWireBbo,
  VenuefourWireBook,
  VenuefourWireLevel,
  VenuefourWireMarket,
  VenuefourWirePrice,
  VenuefourWireRestTrade,
  VenuefourWireTrade,
} from "./wire.js";

export type VenuefourFrame =
  | { readonly kind: "book"; readonly book: VenuefourWireBook }
  | { readonly kind: "bbo"; readonly bbo: VenuefourWireBbo }
  /** `badCount`: rows that could not be read; the others count. */
  | { readonly kind: "trades"; readonly trades: readonly VenuefourWireTrade[]; readonly badCount: number }
  | { readonly kind: "prices"; readonly prices: readonly VenuefourWirePrice[]; readonly badCount: number }
  /** The echo of a subscription: the only sign that it was taken. The symbol is null for a channel without one. */
  | { readonly kind: "subscribed"; readonly source: string; readonly symbol: string | null }
  | { readonly kind: "pong" }
  | { readonly kind: "error"; readonly code: number; readonly text: string }
  /** A channel that is known and not read here. */
  | { readonly kind: "ignored"; readonly channel: string }
  /** A channel that the fact sheet does not know: protocol drift. */
  | { readonly kind: "unknown"; readonly channel: string }
  /** A known channel that does not fit, or no frame at all. `symbol`: its market, where that could still be read. */
  | { readonly kind: "malformed"; readonly channel: string; readonly symbol: string | null };

const TRADE_SIDES: readonly VenuefourTradeSide[] = ["open_long", "open_short", "close_long", "close_short"];

/** Channels we never subscribe on these sockets; a frame of one is harmless. */
const IGNORED_CHANNELS: ReadonlySet<string> = new Set([
  "account_info",
  "account_leverage",
  "account_margin",
  "account_order_updates",
  "account_orders",
  "account_positions",
  "account_trades",
  "candle",
  "mark_price_candle",
  "unsubscribe",
]);

/** A symbol or channel in a log line or a count is cut to this. */
const MAX_NAME_CHARS = 64;

export function decodeFrame(data: Uint8Array): VenuefourFrame {
  const frame = parseJsonExact(Buffer.from(data.buffer, data.byteOffset, data.length).toString("utf8"));
  if (!isFields(frame)) return { kind: "malformed", channel: "", symbol: null };
  const { channel } = frame;
  if (typeof channel !== "string") return decodeBare(frame);
  const name = channel.slice(0, MAX_NAME_CHARS);
  const decoded = decodeWith(frame["data"], (payload) => decodeChannel(name, payload));
  return decoded.ok ? decoded.value : { kind: "malformed", channel: name, symbol: symbolOf(frame["data"]) };
}

/** Frames without a channel: answers to requests, of which these sockets make none, and errors. */
function decodeBare(frame: Fields): VenuefourFrame {
  const { code, err, error, type } = frame;
  if (typeof code !== "number") return { kind: "malformed", channel: "", symbol: null };
  if (code === 200) return { kind: "ignored", channel: typeof type === "string" ? type.slice(0, MAX_NAME_CHARS) : "" };
  const text = typeof err === "string" ? err : typeof error === "string" ? error : "";
  return { kind: "error", code, text };
}

function decodeChannel(channel: string, data: unknown): VenuefourFrame {
  switch (channel) {
    case "book":
      return { kind: "book", book: decodeBook(data) };
    case "bbo":
      return { kind: "bbo", bbo: decodeBbo(data) };
    case "trades": {
      const { rows, badCount } = readRows(asList(data, "trades"), decodeTrade);
      return { kind: "trades", trades: rows, badCount };
    }
    case "prices": {
      const { rows, badCount } = readRows(asList(data, "prices"), decodePrice);
      return { kind: "prices", prices: rows, badCount };
    }
    case "subscribe": {
      const row = asFields(data, "subscribe");
      return { kind: "subscribed", source: textField(row, "source"), symbol: textOrNull(row, "symbol") };
    }
    case "pong":
      return { kind: "pong" };
    default:
      return IGNORED_CHANNELS.has(channel) ? { kind: "ignored", channel } : { kind: "unknown", channel };
  }
}

/** Market of a payload that could not be decoded, so that what depends on it can be doubted. */
function symbolOf(payload: unknown): string | null {
  if (!isFields(payload)) return null;
  const symbol = payload["s"];
  return typeof symbol === "string" ? symbol.slice(0, MAX_NAME_CHARS) : null;
}

/** `data` of a `book` frame and of REST `/book`. */
export function decodeBook(value: unknown): VenuefourWireBook {
  const row = asFields(value, "book");
  const sides = asList(row["l"], "l");
  if (sides.length !== 2) throw new WireFault("l", "are not two sides");
  const bids = asList(sides[0], "bids").map(decodeLevel);
  return { s: textField(row, "s"), t: wholeField(row, "t"), l: [bids, asList(sides[1], "asks").map(decodeLevel)] };
}

function decodeLevel(value: unknown): VenuefourWireLevel {
  const row = asFields(value, "level");
  // The order count is descriptive and unused.
  return { p: unsignedField(row, "p"), a: unsignedField(row, "a") };
}

function decodeBbo(value: unknown): VenuefourWireBbo {
  const row = asFields(value, "bbo");
  const li = row["li"];
  return {
    s: textField(row, "s"),
    t: wholeField(row, "t"),
    li: li === undefined || li === null ? 0 : wholeField(row, "li"),
    bid: decodeTouchSide(row, "b", "B"),
    ask: decodeTouchSide(row, "a", "A"),
  };
}

/** No capture shows an empty side; absent, null and empty are all taken for one. */
function decodeTouchSide(row: Fields, priceName: string, qtyName: string): VenuefourWireLevel | null {
  if (isAbsent(row[priceName]) && isAbsent(row[qtyName])) return null;
  return { p: unsignedField(row, priceName), a: unsignedField(row, qtyName) };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

function decodeTrade(value: unknown): VenuefourWireTrade {
  const row = asFields(value, "trade");
  return {
    s: textField(row, "s"),
    p: unsignedField(row, "p"),
    a: unsignedField(row, "a"),
    d: oneOf(row, "d", TRADE_SIDES),
    h: wholeField(row, "h"),
    t: wholeField(row, "t"),
  };
}

function decodePrice(value: unknown): VenuefourWirePrice {
  const row = asFields(value, "price");
  return {
    symbol: textField(row, "symbol"),
    mark: decimalOrNull(row, "mark"),
    mid: decimalOrNull(row, "mid"),
    oracle: decimalOrNull(row, "oracle"),
    funding: decimalOrNull(row, "funding"),
    next_funding: decimalOrNull(row, "next_funding"),
    open_interest: decimalOrNull(row, "open_interest"),
    volume_24h: decimalOrNull(row, "volume_24h"),
    yesterday_price: decimalOrNull(row, "yesterday_price"),
    timestamp: wholeField(row, "timestamp"),
  };
}

/** `data` of REST `/info/prices`; rows that do not fit are left out. */
export function decodePrices(value: unknown): readonly VenuefourWirePrice[] {
  return readRows(asList(value, "prices"), decodePrice).rows;
}

/** `data` of REST `/trades`, in the order the venue gave. */
export function decodeRestTrades(value: unknown): readonly VenuefourWireRestTrade[] {
  return asList(value, "trades").map((item) => {
    const row = asFields(item, "trade");
    return { price: unsignedField(row, "price"), created_at: wholeField(row, "created_at") };
  });
}

export interface VenuefourMarketList {
  readonly markets: readonly VenuefourWireMarket[];
  /** Rows that could not be read. */
  readonly badCount: number;
}

/** `data` of REST `/info`. One odd row must not hide the others, but a list without any readable row is none. */
export function decodeMarkets(value: unknown): VenuefourMarketList {
  const { rows, badCount } = readRows(asList(value, "info"), decodeMarket);
  if (rows.length === 0) throw new WireFault("info", "has no readable market");
  return { markets: rows, badCount };
}

function decodeMarket(value: unknown): VenuefourWireMarket {
  const row = asFields(value, "market");
  return {
    symbol: textField(row, "symbol"),
    instrument_type: textOrNull(row, "instrument_type"),
    tick_size: decimalField(row, "tick_size"),
    lot_size: decimalField(row, "lot_size"),
    max_leverage: isAbsent(row["max_leverage"]) ? 1 : wholeField(row, "max_leverage"),
    min_order_size: decimalOrNull(row, "min_order_size") ?? "0",
  };
}

function readRows<Row>(
  list: readonly unknown[],
  decode: (value: unknown) => Row,
): { readonly rows: readonly Row[]; readonly badCount: number } {
  const rows: Row[] = [];
  for (const item of list) {
    const row = decodeWith(item, decode);
    if (row.ok) rows.push(row.value);
  }
  return { rows, badCount: list.length - rows.length };
}

/** Depth has no negative numbers; one would poison a book silently. */
function unsignedField(row: Fields, name: string): string {
  const plain = plainFromVenueNumber(textField(row, name));
  if (plain === null || plain.startsWith("-")) throw new WireFault(name, "is not an unsigned decimal");
  return plain;
}

/** A whole number ≥ 0, which some recordings of this venue hold as text. */
function wholeField(row: Fields, name: string): number {
  const value = row[name];
  const whole = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : integerField(row, name);
  if (whole < 0) throw new WireFault(name, "is negative");
  return whole;
}
