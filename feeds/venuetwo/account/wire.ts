/**
 * Answers of venuetwo about accounts and orders: JSON → checked wire values. Strict on money, sides and states; the
 * type quirks seen in captures (text truth values, text leverage, ids too long for a double) are taken where they
 * occur. Error objects `{code, msg}` are read here too.
 */
import {
  asFields,
  asList,
  booleanField,
  decimalField,
  decimalOrNull,
  idField,
  integerField,
  isFields,
  oneOf,
  parseJsonExact,
  textField,
  textOrNull,
  WireFault,
  type Fields,
} from "../../shared/room/wire-fields.js";
import type { VenuetwoWirePositionSide, VenuetwoWireSide } from "../market/wire.js";

/** Order as answered to a new order, a cancel and every order query; fields one of them lacks are null. */
export interface VenuetwoWireOrder {
  /** Exact digits. */
  readonly orderId: string;
  readonly symbol: string;
  /** NEW, PARTIALLY_FILLED, FILLED, CANCELED, REJECTED, EXPIRED, EXPIRED_IN_MATCH, … */
  readonly status: string;
  readonly clientOrderId: string | null;
  readonly side: VenuetwoWireSide;
  readonly positionSide: VenuetwoWirePositionSide;
  /** Present type; a triggered conditional order shows the working type here. */
  readonly type: string;
  readonly origType: string | null;
  readonly price: string;
  /** "0" until something filled; null where the answer has none. */
  readonly avgPrice: string | null;
  readonly origQty: string;
  readonly executedQty: string;
  readonly cumQuote: string | null;
  readonly reduceOnly: boolean;
  readonly stopPrice: string | null;
  readonly timeInForce: string | null;
  /** When it was placed; only queries answer it. */
  readonly time: number | null;
  readonly updateTime: number;
}

/** Row of positionRisk. */
export interface VenuetwoWirePosition {
  readonly symbol: string;
  /** Signed: negative is short, also in a hedge-mode SHORT row. */
  readonly positionAmt: string;
  readonly entryPrice: string;
  readonly markPrice: string | null;
  readonly unRealizedProfit: string | null;
  readonly liquidationPrice: string | null;
  /** Text in positions. */
  readonly leverage: string | null;
  readonly marginType: string | null;
  /** Text; largest notional at the present leverage. */
  readonly maxNotionalValue: string | null;
  readonly isolatedMargin: string | null;
  readonly positionSide: VenuetwoWirePositionSide;
  readonly updateTime: number;
  /** Fields that the interface shows unchanged (spec 2.5), as far as the row has them; pushed rows have none. */
  readonly native?: Readonly<Record<string, string>>;
}

export interface VenuetwoWireBalance {
  readonly asset: string;
  readonly balance: string;
  readonly availableBalance: string;
}

export interface VenuetwoWireCommission {
  readonly symbol: string;
  readonly makerCommissionRate: string;
  readonly takerCommissionRate: string;
}

export interface VenuetwoWireError {
  readonly code: number;
  readonly msg: string;
}

const MAX_ERROR_CHARS = 4_096;

export function decodeOrder(value: unknown): VenuetwoWireOrder {
  const row = asFields(value, "order");
  return {
    orderId: idField(row, "orderId"),
    symbol: textField(row, "symbol"),
    status: textField(row, "status"),
    clientOrderId: textOrNull(row, "clientOrderId"),
    side: oneOf(row, "side", ["BUY", "SELL"]),
    // Spot answers of the same family have none; futures rows always do, and one-way is what absence meant before hedge mode.
    positionSide: row["positionSide"] === undefined ? "BOTH" : oneOf(row, "positionSide", ["BOTH", "LONG", "SHORT"]),
    type: textField(row, "type"),
    origType: textOrNull(row, "origType"),
    price: decimalField(row, "price"),
    avgPrice: decimalOrNull(row, "avgPrice"),
    origQty: decimalField(row, "origQty"),
    executedQty: decimalField(row, "executedQty"),
    cumQuote: decimalOrNull(row, "cumQuote"),
    reduceOnly: row["reduceOnly"] === undefined ? false : booleanField(row, "reduceOnly"),
    stopPrice: decimalOrNull(row, "stopPrice"),
    timeInForce: textOrNull(row, "timeInForce"),
    time: row["time"] === undefined ? null : integerField(row, "time"),
    updateTime: integerField(row, "updateTime"),
  };
}

export function decodeOrders(value: unknown): readonly VenuetwoWireOrder[] {
  return asList(value, "orders").map(decodeOrder);
}

export function decodePositionRisk(value: unknown): readonly VenuetwoWirePosition[] {
  return asList(value, "positionRisk").map((item) => {
    const row = asFields(item, "position");
    return {
      symbol: textField(row, "symbol"),
      positionAmt: decimalField(row, "positionAmt"),
      entryPrice: decimalField(row, "entryPrice"),
      markPrice: decimalOrNull(row, "markPrice"),
      unRealizedProfit: decimalOrNull(row, "unRealizedProfit"),
      liquidationPrice: decimalOrNull(row, "liquidationPrice"),
      leverage: decimalOrNull(row, "leverage"),
      marginType: textOrNull(row, "marginType"),
      maxNotionalValue: decimalOrNull(row, "maxNotionalValue"),
      isolatedMargin: decimalOrNull(row, "isolatedMargin"),
      positionSide: oneOf(row, "positionSide", ["BOTH", "LONG", "SHORT"]),
      updateTime: integerField(row, "updateTime"),
      native: nativeTexts(row),
    };
  });
}

const NATIVE_FIELDS = [
  "leverage",
  "maxNotionalValue",
  "marginType",
  "isolatedMargin",
  "isAutoAddMargin",
  "notional",
  "isolatedWallet",
] as const;
const MAX_NATIVE_CHARS = 64;

/** Descriptive: a field of another kind, or absurdly long, is left out and hides no position. */
function nativeTexts(row: Fields): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const name of NATIVE_FIELDS) {
    const value = row[name];
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (isPlain && String(value).length <= MAX_NATIVE_CHARS) texts[name] = String(value);
  }
  return texts;
}

export function decodeBalances(value: unknown): readonly VenuetwoWireBalance[] {
  return asList(value, "balance").map((item) => {
    const row = asFields(item, "balance");
    return {
      asset: textField(row, "asset"),
      balance: decimalField(row, "balance"),
      availableBalance: decimalField(row, "availableBalance"),
    };
  });
}

export function decodeCommission(value: unknown): VenuetwoWireCommission {
  const row = asFields(value, "commissionRate");
  return {
    symbol: textField(row, "symbol"),
    makerCommissionRate: decimalField(row, "makerCommissionRate"),
    takerCommissionRate: decimalField(row, "takerCommissionRate"),
  };
}

export function decodeListenKey(value: unknown): string {
  const key = textField(asFields(value, "listenKey"), "listenKey");
  // It becomes part of a socket's address.
  if (!/^[A-Za-z0-9_-]{1,256}$/.test(key)) throw new WireFault("listenKey", "has an unexpected form");
  return key;
}

/** `{}` or `{"listenKey": …}`: dialects differ, and nothing in it is needed. */
export function decodeEmpty(value: unknown): null {
  asFields(value, "answer");
  return null;
}

/** Null for a body that is not the venue's error object: HTML of a proxy, an order, nothing. Success objects carry code 200. */
export function readError(body: string): VenuetwoWireError | null {
  // Error objects are short: a long answer is not parsed twice.
  if (body.length > MAX_ERROR_CHARS) return null;
  const parsed = parseJsonExact(body);
  return isFields(parsed) ? errorOf(parsed) : null;
}

function errorOf(fields: Fields): VenuetwoWireError | null {
  const code = Number(fields["code"]);
  const { msg } = fields;
  if (fields["code"] === undefined || !Number.isSafeInteger(code) || code >= 0) return null;
  return { code, msg: typeof msg === "string" ? msg : "" };
}
