/**
 * Answers and frames of venuefour about accounts and orders: JSON → checked wire values. Strict on money, sides and
 * symbols; words of states are kept as they are for normalize to judge. One order type covers the rows of four
 * places, which name the same things differently.
 */
import {
  asFields,
  asList,
  booleanField,
  decimalField,
  decimalOrNull,
  type Fields,
  flagField,
  idField,
  integerField,
  oneOf,
  textField,
  textOrNull,
  WireFault,
} from "../../shared/room/wire-fields.js";

export type VenuefourWireSide = "bid" | "ask";

export interface VenuefourWireOrder {
  /** Exact digits. */
  readonly orderId: string;
  readonly clientOrderId: string | null;
  readonly symbol: string;
  readonly side: VenuefourWireSide;
  /** Limit price, the bound of a market order, "0" for a stop that fires at market. */
  readonly price: string;
  readonly amount: string;
  readonly filled: string;
  /** "0" before a fill; null where the place does not say. */
  readonly averagePrice: string | null;
  /** open, partially_filled, filled, cancelled, rejected; null in the list of open orders, which says none. */
  readonly status: string | null;
  /** limit, market, stop_limit, stop_market, take_profit_limit, … */
  readonly type: string;
  readonly stopPrice: string | null;
  readonly reduceOnly: boolean;
  /** Why it ended, where the row has it: cancel, post_only_rejected, … */
  readonly reason: string | null;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** One event of `/orders/history_by_id`. */
export interface VenuefourWireOrderEvent {
  readonly historyId: number;
  readonly eventType: string;
  readonly order: VenuefourWireOrder;
  /** The match price on fulfil events, else the order's. */
  readonly price: string;
}

export interface VenuefourWirePosition {
  readonly symbol: string;
  readonly side: VenuefourWireSide;
  /** Always positive. */
  readonly amount: string;
  readonly entryPrice: string;
  /** "0" in cross. */
  readonly margin: string;
  readonly isIsolated: boolean;
  readonly liquidationPrice: string | null;
  readonly updatedMs: number;
}

export interface VenuefourWireAccount {
  readonly balance: string;
  readonly makerFee: string;
  readonly takerFee: string;
  readonly equity: string;
  readonly availableToSpend: string;
  readonly marginUsed: string;
  readonly maintenance: string | null;
  readonly spot: readonly { readonly symbol: string; readonly amount: string; readonly available: string }[];
  readonly updatedMs: number;
}

/** Row of the settings: markets that differ from the default. */
export interface VenuefourWireSetting {
  readonly symbol: string;
  readonly isIsolated: boolean;
  readonly leverage: number;
}

export interface VenuefourWireFill {
  readonly historyId: number;
  readonly orderId: string;
  readonly clientOrderId: string | null;
  readonly symbol: string;
  readonly amount: string;
  readonly price: string;
  readonly fee: string;
  /** Net of the fee. */
  readonly pnl: string;
  readonly isMaker: boolean;
  /** open_long, close_short buy; open_short, close_long sell. */
  readonly direction: "open_long" | "open_short" | "close_long" | "close_short";
  readonly tsMs: number;
}

export interface VenuefourWireFunding {
  readonly historyId: number;
  readonly symbol: string;
  readonly payout: string;
  readonly rate: string;
  readonly tsMs: number;
}

/** A page of a history; the cursor is null on the last. */
export interface VenuefourWirePage<T> {
  readonly rows: readonly T[];
  readonly nextCursor: string | null;
}

const SIDES = ["bid", "ask"] as const;
const DIRECTIONS = ["open_long", "open_short", "close_long", "close_short"] as const;
/** It goes into the next request. */
const CURSOR = /^[\w.~=+/-]{1,200}$/;

/* ------------------------------------------------------------------ REST */

export function decodeOpenOrders(envelope: Fields): readonly VenuefourWireOrder[] {
  return asList(envelope["data"], "orders").map((item) => {
    const row = asFields(item, "order");
    return {
      ...orderCommon(row),
      price: decimalField(row, "price"),
      amount: decimalField(row, "initial_amount"),
      averagePrice: null,
      status: null,
      reason: null,
      createdMs: integerField(row, "created_at"),
      updatedMs: integerField(row, "updated_at"),
    };
  });
}

function decodeHistoryOrder(item: unknown): VenuefourWireOrder {
  const row = asFields(item, "order");
  return {
    ...orderCommon(row),
    price: decimalField(row, "initial_price"),
    amount: decimalField(row, "amount"),
    averagePrice: decimalOrNull(row, "average_filled_price"),
    status: textField(row, "order_status"),
    reason: textOrNull(row, "reason"),
    createdMs: integerField(row, "created_at"),
    updatedMs: integerField(row, "updated_at"),
  };
}

function orderCommon(row: Fields) {
  return {
    orderId: idField(row, "order_id"),
    clientOrderId: textOrNull(row, "client_order_id"),
    symbol: textField(row, "symbol"),
    side: oneOf(row, "side", SIDES),
    filled: decimalField(row, "filled_amount"),
    type: textField(row, "order_type"),
    stopPrice: decimalOrNull(row, "stop_price"),
    reduceOnly: flagField(row, "reduce_only"),
  };
}

/** Oldest first, whichever way they came. */
export function decodeOrderEvents(envelope: Fields): readonly VenuefourWireOrderEvent[] {
  const events = asList(envelope["data"], "order events").map((item) => {
    const row = asFields(item, "order event");
    const tsMs = integerField(row, "created_at");
    const price = decimalField(row, "price");
    const eventType = textField(row, "event_type");
    return {
      historyId: integerField(row, "history_id"),
      eventType,
      price,
      order: {
        ...orderCommon(row),
        price,
        amount: decimalField(row, "initial_amount"),
        averagePrice: null,
        status: textField(row, "order_status"),
        reason: eventType,
        createdMs: tsMs,
        updatedMs: tsMs,
      },
    };
  });
  return events.sort((left, right) => left.historyId - right.historyId);
}

export function decodePositions(envelope: Fields): {
  readonly rows: readonly VenuefourWirePosition[];
  /** Sequence number of the answer; null where it says none. */
  readonly lastId: number | null;
} {
  const rows = asList(envelope["data"], "positions").map((item) => {
    const row = asFields(item, "position");
    return {
      symbol: textField(row, "symbol"),
      side: oneOf(row, "side", SIDES),
      amount: decimalField(row, "amount"),
      entryPrice: decimalField(row, "entry_price"),
      margin: decimalField(row, "margin"),
      isIsolated: booleanField(row, "isolated"),
      liquidationPrice: decimalOrNull(row, "liquidation_price"),
      updatedMs: integerField(row, "updated_at"),
    };
  });
  const lastId = envelope["last_order_id"];
  return { rows, lastId: typeof lastId === "number" && Number.isSafeInteger(lastId) ? lastId : null };
}

/** A list of one in the pages of 2025. */
export function decodeAccount(envelope: Fields): VenuefourWireAccount {
  const { data } = envelope;
  const row = asFields(Array.isArray(data) ? data[0] : data, "account");
  const spot = row["spot_balances"];
  return {
    balance: decimalField(row, "balance"),
    makerFee: decimalField(row, "maker_fee"),
    takerFee: decimalField(row, "taker_fee"),
    equity: decimalField(row, "account_equity"),
    availableToSpend: decimalField(row, "available_to_spend"),
    marginUsed: decimalField(row, "total_margin_used"),
    maintenance: decimalOrNull(row, "cross_mmr"),
    // Accounts of before January 2026 have none.
    spot: (spot === undefined || spot === null ? [] : asList(spot, "spot_balances")).map((item) => {
      const balance = asFields(item, "spot balance");
      return {
        symbol: textField(balance, "symbol"),
        amount: decimalField(balance, "amount"),
        available: decimalField(balance, "available_to_withdraw"),
      };
    }),
    updatedMs: integerField(row, "updated_at"),
  };
}

/** A list until 2025, an object that holds it since. */
export function decodeSettings(envelope: Fields): readonly VenuefourWireSetting[] {
  const { data } = envelope;
  const rows = Array.isArray(data) ? data : asList(asFields(data, "settings")["margin_settings"], "margin_settings");
  return rows.map((item: unknown) => {
    const row = asFields(item, "setting");
    return {
      symbol: textField(row, "symbol"),
      isIsolated: booleanField(row, "isolated"),
      leverage: integerField(row, "leverage"),
    };
  });
}

export function decodeOrderPage(envelope: Fields): VenuefourWirePage<VenuefourWireOrder> {
  return decodePage(envelope, decodeHistoryOrder);
}

export function decodeFillPage(envelope: Fields): VenuefourWirePage<VenuefourWireFill> {
  return decodePage(envelope, (item) => {
    const row = asFields(item, "trade");
    return {
      historyId: integerField(row, "history_id"),
      orderId: idField(row, "order_id"),
      clientOrderId: textOrNull(row, "client_order_id"),
      symbol: textField(row, "symbol"),
      amount: decimalField(row, "amount"),
      price: decimalField(row, "price"),
      fee: decimalField(row, "fee"),
      pnl: decimalField(row, "pnl"),
      isMaker: oneOf(row, "event_type", ["fulfill_maker", "fulfill_taker"]) === "fulfill_maker",
      direction: oneOf(row, "side", DIRECTIONS),
      tsMs: integerField(row, "created_at"),
    };
  });
}

export function decodeFundingPage(envelope: Fields): VenuefourWirePage<VenuefourWireFunding> {
  return decodePage(envelope, (item) => {
    const row = asFields(item, "funding");
    return {
      historyId: integerField(row, "history_id"),
      symbol: textField(row, "symbol"),
      payout: decimalField(row, "payout"),
      rate: decimalField(row, "rate"),
      tsMs: integerField(row, "created_at"),
    };
  });
}

function decodePage<T>(envelope: Fields, decodeRow: (item: unknown) => T): VenuefourWirePage<T> {
  const rows = asList(envelope["data"], "history").map(decodeRow);
  const cursor = textOrNull(envelope, "next_cursor");
  if (!flagField(envelope, "has_more") || cursor === null) return { rows, nextCursor: null };
  if (!CURSOR.test(cursor)) throw new WireFault("next_cursor", "has an unexpected form");
  return { rows, nextCursor: cursor };
}

/** Answer to a new or edited order. */
export function decodeOrderId(envelope: Fields): string {
  return idField(asFields(envelope["data"], "answer"), "order_id");
}

export function decodeCancelledCount(envelope: Fields): number {
  return integerField(asFields(envelope["data"], "answer"), "cancelled_count");
}

/* ------------------------------------------------------------------ socket */

export interface VenuefourWireUpdate {
  readonly li: number;
  readonly order: VenuefourWireOrder;
}

/** Row of `account_order_updates`. */
export function decodeOrderUpdate(item: unknown): VenuefourWireUpdate {
  const row = asFields(item, "order update");
  return {
    li: integerField(row, "li"),
    order: {
      orderId: idField(row, "i"),
      clientOrderId: clientIdField(row),
      symbol: textField(row, "s"),
      side: oneOf(row, "d", SIDES),
      price: decimalField(row, "ip"),
      amount: decimalField(row, "a"),
      filled: decimalField(row, "f"),
      averagePrice: decimalField(row, "p"),
      status: textField(row, "os"),
      type: textField(row, "ot"),
      stopPrice: decimalOrNull(row, "sp"),
      reduceOnly: booleanField(row, "r"),
      reason: textField(row, "oe"),
      createdMs: integerField(row, "ct"),
      updatedMs: integerField(row, "ut"),
    },
  };
}

/** Row of `account_trades`. */
export function decodeTradeUpdate(item: unknown): VenuefourWireFill {
  const row = asFields(item, "trade update");
  return {
    historyId: integerField(row, "h"),
    orderId: idField(row, "i"),
    clientOrderId: clientIdField(row),
    symbol: textField(row, "s"),
    amount: decimalField(row, "a"),
    price: decimalField(row, "p"),
    fee: decimalField(row, "f"),
    pnl: decimalField(row, "n"),
    isMaker: oneOf(row, "te", ["fulfill_maker", "fulfill_taker"]) === "fulfill_maker",
    direction: oneOf(row, "ts", DIRECTIONS),
    tsMs: integerField(row, "t"),
  };
}

/** Row of `account_positions`. */
export function decodePositionUpdate(item: unknown): VenuefourWirePosition {
  const row = asFields(item, "position update");
  return {
    symbol: textField(row, "s"),
    side: oneOf(row, "d", SIDES),
    amount: decimalField(row, "a"),
    entryPrice: decimalField(row, "p"),
    margin: decimalField(row, "m"),
    isIsolated: booleanField(row, "i"),
    liquidationPrice: decimalOrNull(row, "l"),
    updatedMs: integerField(row, "t"),
  };
}

/** Null where the order was placed without one; the rows of the channels always say which. */
function clientIdField(row: Fields): string | null {
  if (row["I"] === undefined) throw new WireFault("I", "is missing");
  return textOrNull(row, "I");
}
