/**
 * JSON text → wire, for what comes seldom: mark price, 24 h ticker, acknowledgements, REST market data,
 * user events. Checked at this border; nothing here throws.
 */
import {
  asFields,
  asList,
  booleanField,
  decimalField,
  decimalOrNull,
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
  VenuetwoWireMarkPrice,
  VenuetwoWireOrderUpdate,
  VenuetwoWirePositionUpdate,
  VenuetwoWirePremiumIndex,
  VenuetwoWireTicker,
  VenuetwoWireTicker24h,
  VenuetwoWireUserEvent,
} from "./wire.js";

/** A frame of the market streams that is none of the hot kinds. */
export type SlowFrame =
  | { readonly kind: "markPrice"; readonly mark: VenuetwoWireMarkPrice }
  | { readonly kind: "ticker"; readonly ticker: VenuetwoWireTicker }
  /** Answer to SUBSCRIBE or UNSUBSCRIBE. */
  | { readonly kind: "acknowledged"; readonly id: number }
  | { readonly kind: "refused"; readonly id: number | null; readonly code: number; readonly text: string }
  /** A kind we know and do not read (kline, miniTicker, forceOrder …). */
  | { readonly kind: "ignored"; readonly event: string }
  | { readonly kind: "unknown"; readonly event: string }
  | { readonly kind: "malformed" };

/** Streams that exist and that this room does not subscribe; a frame of one is harmless. */
const IGNORED_MARKET_EVENTS: ReadonlySet<string> = new Set([
  "kline",
  "continuous_kline",
  "24hrMiniTicker",
  "forceOrder",
  "tradepro",
  "EquityUpdate",
  "contractInfo",
  "compositeIndex",
  "assetIndexUpdate",
]);

const SIDES = ["BUY", "SELL"] as const;
const POSITION_SIDES = ["BOTH", "LONG", "SHORT"] as const;

/** Known user events without consequence for positions and orders. */
const IGNORED_USER_EVENTS: ReadonlySet<string> = new Set([
  // A short form that ORDER_TRADE_UPDATE follows.
  "TRADE_LITE",
  // Conditional orders of the sister dialect; their orders come as ORDER_TRADE_UPDATE once triggered.
  "ALGO_UPDATE",
  "CONDITIONAL_ORDER_TRIGGER_REJECT",
  "STRATEGY_UPDATE",
  "GRID_UPDATE",
  "announcement",
]);

export function decodeSlowFrame(text: string): readonly SlowFrame[] {
  const parsed = parseJsonExact(text);
  const data = isFields(parsed) && "stream" in parsed && "data" in parsed ? parsed["data"] : parsed;
  if (Array.isArray(data)) return (data as unknown[]).map(decodeSlow);
  return [decodeSlow(data)];
}

function decodeSlow(data: unknown): SlowFrame {
  if (!isFields(data)) return { kind: "malformed" };
  const event = data["e"];
  try {
    if (event === "markPriceUpdate") return { kind: "markPrice", mark: decodeMarkPrice(data) };
    if (event === "24hrTicker") return { kind: "ticker", ticker: decodeTicker(data) };
    if (typeof event === "string") {
      return IGNORED_MARKET_EVENTS.has(event) ? { kind: "ignored", event } : { kind: "unknown", event };
    }
    return decodeControl(data);
  } catch (error) {
    if (error instanceof WireFault) return { kind: "malformed" };
    throw error;
  }
}

/** Acknowledgements `{result,id}`; errors `{code,msg}` or wrapped `{error:{code,msg},id}`: both occur. */
function decodeControl(data: Fields): SlowFrame {
  const id = typeof data["id"] === "number" ? data["id"] : null;
  const fault = isFields(data["error"]) ? data["error"] : data;
  if (typeof fault["code"] === "number") {
    const text = fault["msg"];
    return { kind: "refused", id, code: fault["code"], text: typeof text === "string" ? text : "" };
  }
  if ("result" in data && id !== null) return { kind: "acknowledged", id };
  return { kind: "malformed" };
}

function decodeMarkPrice(data: Fields): VenuetwoWireMarkPrice {
  return {
    e: "markPriceUpdate",
    E: integerField(data, "E"),
    s: textField(data, "s"),
    p: decimalField(data, "p"),
    i: decimalField(data, "i"),
    // Empty for contracts without funding (delivery contracts of the sister dialect).
    r: data["r"] === "" ? "" : decimalField(data, "r"),
    T: integerField(data, "T"),
  };
}

function decodeTicker(data: Fields): VenuetwoWireTicker {
  return {
    e: "24hrTicker",
    E: integerField(data, "E"),
    s: textField(data, "s"),
    p: decimalField(data, "p"),
    P: decimalField(data, "P"),
    c: decimalField(data, "c"),
    o: decimalField(data, "o"),
    h: decimalField(data, "h"),
    l: decimalField(data, "l"),
    v: decimalField(data, "v"),
    q: decimalField(data, "q"),
  };
}

/** GET ticker/24hr: one row or all; rows that do not fit are left out. Null when it is no such answer. */
export function decodeTickers24h(text: string): readonly VenuetwoWireTicker24h[] | null {
  return decodeRows(text, (row) => ({
    symbol: textField(row, "symbol"),
    priceChange: decimalField(row, "priceChange"),
    priceChangePercent: decimalField(row, "priceChangePercent"),
    lastPrice: decimalField(row, "lastPrice"),
    openPrice: decimalField(row, "openPrice"),
    highPrice: decimalField(row, "highPrice"),
    lowPrice: decimalField(row, "lowPrice"),
    volume: decimalField(row, "volume"),
    quoteVolume: decimalField(row, "quoteVolume"),
    closeTime: integerField(row, "closeTime"),
  }));
}

/** GET premiumIndex: one row or all. */
export function decodePremiumIndexes(text: string): readonly VenuetwoWirePremiumIndex[] | null {
  return decodeRows(text, (row) => ({
    symbol: textField(row, "symbol"),
    markPrice: decimalField(row, "markPrice"),
    indexPrice: decimalField(row, "indexPrice"),
    lastFundingRate: row["lastFundingRate"] === "" ? "" : decimalField(row, "lastFundingRate"),
    nextFundingTime: integerField(row, "nextFundingTime"),
    time: integerField(row, "time"),
  }));
}

/** GET ticker/bookTicker, one row. An empty side has price and quantity 0. */
export interface RestTouch {
  readonly symbol: string;
  readonly bidPrice: string;
  readonly bidQty: string;
  readonly askPrice: string;
  readonly askQty: string;
}

export function decodeBookTickers(text: string): readonly RestTouch[] | null {
  return decodeRows(text, (row) => ({
    symbol: textField(row, "symbol"),
    bidPrice: decimalField(row, "bidPrice"),
    bidQty: decimalField(row, "bidQty"),
    askPrice: decimalField(row, "askPrice"),
    askQty: decimalField(row, "askQty"),
  }));
}

function decodeRows<Row>(text: string, decode: (row: Fields) => Row): readonly Row[] | null {
  const parsed = parseJsonExact(text);
  const rows = Array.isArray(parsed) ? (parsed as unknown[]) : isFields(parsed) && "symbol" in parsed ? [parsed] : null;
  if (rows === null) return null;
  const decoded: Row[] = [];
  for (const row of rows) {
    if (!isFields(row)) continue;
    try {
      decoded.push(decode(row));
    } catch (error) {
      // One odd row (a market without quotes) must not hide the others.
      if (!(error instanceof WireFault)) throw error;
    }
  }
  return decoded;
}

/** One message of a user stream. */
export function decodeUserEvent(text: string): VenuetwoWireUserEvent {
  const parsed = parseJsonExact(text);
  const data = isFields(parsed) && "stream" in parsed && isFields(parsed["data"]) ? parsed["data"] : parsed;
  if (!isFields(data)) return { kind: "malformed" };
  const event = data["e"];
  if (typeof event !== "string")
    return "category" in data ? { kind: "ignored", event: "announcement" } : { kind: "malformed" };
  try {
    return decodeUser(event, data);
  } catch (error) {
    if (error instanceof WireFault) return { kind: "malformed" };
    throw error;
  }
}

function decodeUser(event: string, data: Fields): VenuetwoWireUserEvent {
  if (IGNORED_USER_EVENTS.has(event)) return { kind: "ignored", event };
  switch (event) {
    case "ORDER_TRADE_UPDATE":
      return {
        kind: "order",
        tsEventMs: integerField(data, "E"),
        tsTransactionMs: integerField(data, "T"),
        order: decodeOrderUpdate(asFields(data["o"], "o")),
      };
    case "ACCOUNT_UPDATE": {
      const account = asFields(data["a"], "a");
      return {
        kind: "account",
        tsEventMs: integerField(data, "E"),
        tsTransactionMs: integerField(data, "T"),
        reason: textField(account, "m"),
        positions: asList(positionsOf(account), "P").map(decodePositionUpdate),
      };
    }
    case "ACCOUNT_CONFIG_UPDATE": {
      const leverage = data["ac"];
      const tsEventMs = integerField(data, "E");
      if (!isFields(leverage)) return { kind: "config", tsEventMs };
      return { kind: "leverage", tsEventMs, symbol: textField(leverage, "s"), leverage: integerField(leverage, "l") };
    }
    case "MARGIN_CALL":
      return { kind: "config", tsEventMs: integerField(data, "E") };
    case "listenKeyExpired":
      return { kind: "expired", tsEventMs: integerField(data, "E") };
    default:
      return "category" in data ? { kind: "ignored", event } : { kind: "unknown", event };
  }
}

/** Balance-only updates leave the list out on some paths; what an order moved never comes without it. */
function positionsOf(account: Fields): unknown {
  return account["P"] ?? (account["m"] === "ORDER" ? null : []);
}

function decodeOrderUpdate(order: Fields): VenuetwoWireOrderUpdate {
  const id = order["i"];
  const trade = order["t"];
  return {
    s: textField(order, "s"),
    c: textField(order, "c"),
    S: oneOf(order, "S", SIDES),
    o: textField(order, "o"),
    f: textField(order, "f"),
    q: decimalField(order, "q"),
    p: decimalField(order, "p"),
    ap: decimalOrNull(order, "ap"),
    sp: decimalOrNull(order, "sp"),
    x: textField(order, "x"),
    X: textField(order, "X"),
    i: digits(id, "i"),
    l: decimalField(order, "l"),
    z: decimalField(order, "z"),
    L: decimalField(order, "L"),
    N: textOrNull(order, "N"),
    n: decimalOrNull(order, "n"),
    T: integerField(order, "T"),
    t: digits(trade, "t"),
    R: booleanField(order, "R"),
    ot: textField(order, "ot"),
    ps: oneOf(order, "ps", POSITION_SIDES),
  };
}

function decodePositionUpdate(value: unknown): VenuetwoWirePositionUpdate {
  const row = asFields(value, "P");
  return {
    s: textField(row, "s"),
    pa: decimalField(row, "pa"),
    ep: decimalField(row, "ep"),
    up: decimalField(row, "up"),
    mt: textField(row, "mt"),
    iw: decimalField(row, "iw"),
    ps: oneOf(row, "ps", POSITION_SIDES),
  };
}

/** An id as digits; parseJsonExact keeps those beyond 2^53 as text. */
function digits(value: unknown, field: string): string {
  if (typeof value === "number" && Number.isInteger(value)) return String(value);
  if (typeof value === "string" && /^-?\d{1,40}$/.test(value)) return value;
  throw new WireFault(field, "is not an id");
}
