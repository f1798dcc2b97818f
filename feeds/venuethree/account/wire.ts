/**
 * The venue's account payloads under its own names, and their decoders. Amounts are decimal text; ids are digits, taken
 * from the text twins where the venue prints them: numbers above 2^53 would be rounded. Fields the room does not read
 * are left out; unknown fields are ignored.
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
  isFields,
  parseJsonExact,
  textField,
  textOrNull,
  WireFault,
} from "../../shared/room/wire-fields.js";

export interface VenuethreeWirePosition {
  readonly market_id: number;
  readonly symbol: string;
  /** Percent: `5.00` is 20×. */
  readonly initial_margin_fraction: string;
  /** 1 or −1; 1 on a flat row. */
  readonly sign: number;
  /** Unsigned. */
  readonly position: string;
  readonly avg_entry_price: string;
  /** May print as `-0.000000`. */
  readonly position_value: string;
  readonly unrealized_pnl: string;
  /** `0`: none. */
  readonly liquidation_price: string;
  /** 0 cross, 1 isolated. */
  readonly margin_mode: number;
  readonly allocated_margin: string | null;
}

export interface VenuethreeWireAsset {
  readonly symbol: string;
  readonly balance: string;
  readonly locked_balance: string;
  /** Collateral of perpetuals; absent in older answers. */
  readonly margin_balance: string | null;
}

export interface VenuethreeWireAccount {
  readonly index: number;
  readonly l1_address: string;
  readonly available_balance: string;
  readonly collateral: string;
  /** Collateral and open profit and loss. */
  readonly total_asset_value: string;
  readonly cross_initial_margin_requirement: string | null;
  readonly cross_maintenance_margin_requirement: string | null;
  readonly positions: readonly VenuethreeWirePosition[];
  readonly assets: readonly VenuethreeWireAsset[];
}

export interface VenuethreeWireOrder {
  readonly order_id: string;
  /** `0`: none. */
  readonly client_order_id: string;
  readonly market_index: number;
  readonly initial_base_amount: string;
  readonly remaining_base_amount: string;
  readonly filled_base_amount: string;
  readonly filled_quote_amount: string;
  readonly price: string;
  readonly trigger_price: string;
  readonly is_ask: boolean;
  readonly type: string;
  readonly time_in_force: string;
  readonly reduce_only: boolean;
  readonly status: string;
  /** Seconds or milliseconds; the venue has printed both. */
  readonly created_at: number;
  /** Microseconds; the field that orders updates. */
  readonly transaction_time: number;
}

export interface VenuethreeWireAccountTrade {
  readonly trade_id: string;
  readonly market_id: number;
  readonly size: string;
  readonly price: string;
  readonly usd_amount: string;
  readonly ask_id: string;
  readonly bid_id: string;
  readonly ask_client_id: string;
  readonly bid_client_id: string;
  readonly ask_account_id: number;
  readonly bid_account_id: number;
  readonly is_maker_ask: boolean;
  /** Units of 1e-6; 0 where absent. */
  readonly taker_fee: number;
  readonly maker_fee: number;
  /** Closed profit of each side; null where the row has none. */
  readonly ask_account_pnl: string | null;
  readonly bid_account_pnl: string | null;
  /** Unix ms. */
  readonly timestamp: number;
}

export interface VenuethreeWirePositionFunding {
  readonly market_id: number;
  readonly funding_id: string;
  /** What the collateral changed by. */
  readonly change: string;
  /** Percent. */
  readonly rate: string;
  /** Seconds. */
  readonly timestamp: number;
}

export interface VenuethreeWireKey {
  readonly api_key_index: number;
  /** 80 hex digits. */
  readonly public_key: string;
  /** The one to use next. */
  readonly nonce: number;
}

/** Units of 1e-6. */
export interface VenuethreeWireLimits {
  readonly current_maker_fee_tick: number;
  readonly current_taker_fee_tick: number;
}

export interface VenuethreeWireTx {
  /** 0 failed, 1 pending, 2 executed (also of what the sequencer refused), 3 pending final state. */
  readonly status: number;
  /** Why the sequencer refused it; null where it did not, or has not decided yet. */
  readonly refusal: { readonly code: number; readonly message: string } | null;
  /** The sequencer has looked at it. */
  readonly isDecided: boolean;
}

/** Rows of one page and the cursor of the next; null on the last. */
export interface VenuethreePage<T> {
  readonly rows: readonly T[];
  readonly nextCursor: string | null;
}

export function decodePosition(value: unknown): VenuethreeWirePosition {
  const row = asFields(value, "position");
  const sign = integerField(row, "sign");
  if (sign !== 1 && sign !== -1 && sign !== 0) throw new WireFault("sign", "is neither 1 nor -1");
  return {
    market_id: integerField(row, "market_id"),
    symbol: textField(row, "symbol"),
    initial_margin_fraction: decimalField(row, "initial_margin_fraction"),
    sign,
    position: decimalField(row, "position"),
    avg_entry_price: decimalField(row, "avg_entry_price"),
    position_value: decimalField(row, "position_value"),
    unrealized_pnl: decimalField(row, "unrealized_pnl"),
    liquidation_price: decimalField(row, "liquidation_price"),
    margin_mode: integerField(row, "margin_mode"),
    allocated_margin: decimalOrNull(row, "allocated_margin"),
  };
}

/** A list, a map by market, or null for none. */
export function decodePositions(value: unknown): readonly VenuethreeWirePosition[] {
  if (value === null || value === undefined) return [];
  const rows = isFields(value) ? Object.values(value) : asList(value, "positions");
  return rows.map(decodePosition);
}

function decodeAsset(value: unknown): VenuethreeWireAsset {
  const row = asFields(value, "asset");
  return {
    symbol: textField(row, "symbol"),
    balance: decimalField(row, "balance"),
    locked_balance: decimalField(row, "locked_balance"),
    margin_balance: decimalOrNull(row, "margin_balance"),
  };
}

function decodeAccount(value: unknown): VenuethreeWireAccount {
  const row = asFields(value, "account");
  const assets = row["assets"];
  return {
    index: integerField(row, row["index"] === undefined ? "account_index" : "index"),
    l1_address: textField(row, "l1_address").toLowerCase(),
    available_balance: decimalField(row, "available_balance"),
    collateral: decimalField(row, "collateral"),
    total_asset_value: decimalField(row, "total_asset_value"),
    cross_initial_margin_requirement: decimalOrNull(row, "cross_initial_margin_requirement"),
    cross_maintenance_margin_requirement: decimalOrNull(row, "cross_maintenance_margin_requirement"),
    positions: decodePositions(row["positions"]),
    assets: assets === null || assets === undefined ? [] : asList(assets, "assets").map(decodeAsset),
  };
}

export function decodeAccounts(value: unknown): VenuethreePage<VenuethreeWireAccount> {
  const data = asFields(value, "answer");
  return { rows: asList(data["accounts"], "accounts").map(decodeAccount), nextCursor: cursorOf(data) };
}

export function decodeOrder(value: unknown): VenuethreeWireOrder {
  const row = asFields(value, "order");
  return {
    order_id: idTwin(row, "order_id", "order_index"),
    client_order_id: idTwin(row, "client_order_id", "client_order_index"),
    market_index: integerField(row, "market_index"),
    initial_base_amount: decimalField(row, "initial_base_amount"),
    remaining_base_amount: decimalField(row, "remaining_base_amount"),
    filled_base_amount: decimalField(row, "filled_base_amount"),
    filled_quote_amount: decimalField(row, "filled_quote_amount"),
    price: decimalField(row, "price"),
    trigger_price: decimalField(row, "trigger_price"),
    is_ask: booleanField(row, "is_ask"),
    type: textField(row, "type"),
    time_in_force: textField(row, "time_in_force"),
    reduce_only: flagField(row, "reduce_only"),
    status: textField(row, "status"),
    created_at: integerField(row, row["created_at"] === undefined ? "timestamp" : "created_at"),
    transaction_time: integerField(row, "transaction_time"),
  };
}

export function decodeOrders(value: unknown): VenuethreePage<VenuethreeWireOrder> {
  const data = asFields(value, "answer");
  const orders = data["orders"];
  const rows = orders === null || orders === undefined ? [] : asList(orders, "orders").map(decodeOrder);
  return { rows, nextCursor: cursorOf(data) };
}

export function decodeAccountTrade(value: unknown): VenuethreeWireAccountTrade {
  const row = asFields(value, "trade");
  return {
    trade_id: idTwin(row, "trade_id_str", "trade_id"),
    market_id: integerField(row, "market_id"),
    size: decimalField(row, "size"),
    price: decimalField(row, "price"),
    usd_amount: decimalField(row, "usd_amount"),
    ask_id: idTwin(row, "ask_id_str", "ask_id"),
    bid_id: idTwin(row, "bid_id_str", "bid_id"),
    ask_client_id: idTwin(row, "ask_client_id_str", "ask_client_id"),
    bid_client_id: idTwin(row, "bid_client_id_str", "bid_client_id"),
    ask_account_id: integerField(row, "ask_account_id"),
    bid_account_id: integerField(row, "bid_account_id"),
    is_maker_ask: booleanField(row, "is_maker_ask"),
    taker_fee: integerOrZero(row, "taker_fee"),
    maker_fee: integerOrZero(row, "maker_fee"),
    ask_account_pnl: decimalOrNull(row, "ask_account_pnl"),
    bid_account_pnl: decimalOrNull(row, "bid_account_pnl"),
    timestamp: integerField(row, "timestamp"),
  };
}

export function decodeAccountTrades(value: unknown): VenuethreePage<VenuethreeWireAccountTrade> {
  const data = asFields(value, "answer");
  const trades = data["trades"];
  const rows = trades === null || trades === undefined ? [] : asList(trades, "trades").map(decodeAccountTrade);
  return { rows, nextCursor: cursorOf(data) };
}

export function decodePositionFundings(value: unknown): VenuethreePage<VenuethreeWirePositionFunding> {
  const data = asFields(value, "answer");
  const list = data["position_fundings"];
  const rows = list === null || list === undefined ? [] : asList(list, "position_fundings");
  return {
    rows: rows.map((item) => {
      const row = asFields(item, "funding");
      return {
        market_id: integerField(row, "market_id"),
        funding_id: idField(row, "funding_id"),
        change: decimalField(row, "change"),
        rate: decimalField(row, "rate"),
        timestamp: integerField(row, "timestamp"),
      };
    }),
    nextCursor: cursorOf(data),
  };
}

export function decodeKeys(value: unknown): readonly VenuethreeWireKey[] {
  const rows = asList(asFields(value, "answer")["api_keys"], "api_keys");
  return rows.map((item) => {
    const row = asFields(item, "key");
    return {
      api_key_index: integerField(row, "api_key_index"),
      public_key: textField(row, "public_key").toLowerCase(),
      nonce: integerField(row, "nonce"),
    };
  });
}

export function decodeNonce(value: unknown): number {
  const nonce = integerField(asFields(value, "answer"), "nonce");
  if (nonce < 0) throw new WireFault("nonce", "is negative");
  return nonce;
}

export function decodeAccountLimits(value: unknown): VenuethreeWireLimits {
  const row = asFields(value, "answer");
  return {
    current_maker_fee_tick: integerField(row, "current_maker_fee_tick"),
    current_taker_fee_tick: integerField(row, "current_taker_fee_tick"),
  };
}

/** Margin fraction of a market that the account never set, units of 1e-4. */
export function decodeDefaultMargin(value: unknown): number {
  const [first] = asList(asFields(value, "answer")["order_book_details"], "order_book_details");
  return integerField(asFields(first, "market"), "default_initial_margin_fraction");
}

export function decodeTx(value: unknown): VenuethreeWireTx {
  const row = asFields(value, "answer");
  const status = integerField(row, "status");
  const error = applicationError(textOrNull(row, "event_info"));
  const isExecuted = status === TX_EXECUTED && error === "none";
  const refusal = typeof error === "object" ? error : null;
  return { status, refusal, isDecided: refusal !== null || status === TX_FAILED || isExecuted };
}

export const TX_FAILED = 0;
const TX_EXECUTED = 2;

/**
 * `event_info` is JSON text whose `ae` is empty, or an error, as JSON text again or (never recorded) as an object. What
 * cannot be read says nothing, no more than what is not there yet.
 */
function applicationError(eventInfo: string | null): NonNullable<VenuethreeWireTx["refusal"]> | "none" | "absent" {
  const event = eventInfo === null ? undefined : parseJsonExact(eventInfo);
  if (!isFields(event)) return "absent";
  const { ae } = event;
  if (ae === undefined || ae === null || ae === "") return "none";
  const error = typeof ae === "string" ? parseJsonExact(ae) : ae;
  if (isFields(error) && typeof error["code"] === "number")
    return { code: error["code"], message: typeof error["message"] === "string" ? error["message"] : "" };
  return typeof ae === "string" ? { code: 0, message: ae } : "absent";
}

function cursorOf(data: Fields): string | null {
  const cursor = data["next_cursor"];
  if (cursor === undefined || cursor === null || cursor === "") return null;
  if (typeof cursor === "number") return String(cursor);
  if (typeof cursor !== "string") throw new WireFault("next_cursor", "is not text");
  return cursor;
}

/** The text twin where the venue prints it, else the number, which the parser kept exact. */
function idTwin(row: Fields, textName: string, numberName: string): string {
  const text = row[textName];
  return idField(row, text === undefined || text === null || text === "" ? numberName : textName);
}

function integerOrZero(row: Fields, name: string): number {
  return row[name] === undefined || row[name] === null ? 0 : integerField(row, name);
}
