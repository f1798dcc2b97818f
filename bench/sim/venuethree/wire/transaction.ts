/**
 * `tx_info` texts as the venue reads them (fact sheet 7): every field with the width of its type in the venue's own
 * client, missing ones zero, unknown ones ignored, anything else in a field refused as 21501. Checks come later.
 */
import { refuseTransaction } from "./errors.js";
import { readJson } from "./json.js";

/** One order of a create or a group. */
export interface OrderFields {
  readonly marketIndex: number;
  readonly clientOrderIndex: number;
  readonly baseAmount: number;
  readonly price: number;
  readonly isAsk: number;
  readonly type: number;
  readonly timeInForce: number;
  readonly reduceOnly: number;
  readonly triggerPrice: number;
  readonly orderExpiry: number;
}

type Integer = number | bigint;

/** Under the names of the wire, which the hash takes too. */
export interface TransactionFields {
  readonly [name: string]: Integer | string | readonly Integer[] | readonly WireOrder[];
}

interface WireOrder {
  readonly MarketIndex: Integer;
  readonly ClientOrderIndex: Integer;
  readonly BaseAmount: Integer;
  readonly Price: Integer;
  readonly IsAsk: Integer;
  readonly Type: Integer;
  readonly TimeInForce: Integer;
  readonly ReduceOnly: Integer;
  readonly TriggerPrice: Integer;
  readonly OrderExpiry: Integer;
}

export interface Transaction {
  readonly type: number;
  readonly text: string;
  readonly fields: TransactionFields;
  readonly accountIndex: number;
  readonly apiKeyIndex: number;
  readonly nonce: number;
  readonly expiredAtMs: number;
  readonly attributes: ReadonlyMap<number, number>;
  /** 80 bytes, or none when the text has no such signature. */
  readonly signature: Uint8Array | null;
  /** Of a create (one) and of a group. */
  readonly orders: readonly OrderFields[];
}

export const TYPE = {
  changeKey: 8,
  subAccount: 9,
  transfer: 12,
  withdraw: 13,
  createOrder: 14,
  cancelOrder: 15,
  cancelAll: 16,
  modifyOrder: 17,
  leverage: 20,
  group: 28,
  margin: 29,
  approveIntegrator: 45,
} as const;

export const ATTRIBUTE = {
  integrator: 1,
  integratorTakerFee: 2,
  integratorMakerFee: 3,
  skipNonce: 4,
  cancelAllMarket: 5,
  selfTradeBehavior: 6,
  selfTradeEquality: 7,
  orderVersion: 8,
} as const;

type Kind = "u8" | "i16" | "u16" | "u32" | "i64" | "text" | "base64" | "bytes" | "orders";

const ORDER_FIELDS = {
  MarketIndex: "i16",
  ClientOrderIndex: "i64",
  BaseAmount: "i64",
  Price: "u32",
  IsAsk: "u8",
  Type: "u8",
  TimeInForce: "u8",
  ReduceOnly: "u8",
  TriggerPrice: "u32",
  OrderExpiry: "i64",
} as const satisfies Readonly<Record<string, Kind>>;

const HEAD = { AccountIndex: "i64", ApiKeyIndex: "u8" } as const;
const TAIL = { ExpiredAt: "i64", Nonce: "i64" } as const;

const LAYOUTS: ReadonlyMap<number, Readonly<Record<string, Kind>>> = new Map<number, Readonly<Record<string, Kind>>>([
  [TYPE.changeKey, { ...HEAD, PubKey: "base64", L1Sig: "text", ...TAIL }],
  [TYPE.subAccount, { ...HEAD, ...TAIL }],
  [
    TYPE.transfer,
    {
      FromAccountIndex: "i64",
      ApiKeyIndex: "u8",
      ToAccountIndex: "i64",
      AssetIndex: "i16",
      FromRouteType: "u8",
      ToRouteType: "u8",
      Amount: "i64",
      USDCFee: "i64",
      Memo: "bytes",
      L1Sig: "text",
      ...TAIL,
    },
  ],
  [
    TYPE.withdraw,
    { FromAccountIndex: "i64", ApiKeyIndex: "u8", AssetIndex: "i16", RouteType: "u8", Amount: "i64", ...TAIL },
  ],
  [TYPE.createOrder, { ...HEAD, ...ORDER_FIELDS, ...TAIL }],
  [TYPE.cancelOrder, { ...HEAD, MarketIndex: "i16", Index: "i64", ...TAIL }],
  [TYPE.cancelAll, { ...HEAD, TimeInForce: "u8", Time: "i64", ...TAIL }],
  [
    TYPE.modifyOrder,
    { ...HEAD, MarketIndex: "i16", Index: "i64", BaseAmount: "i64", Price: "u32", TriggerPrice: "u32", ...TAIL },
  ],
  [TYPE.leverage, { ...HEAD, MarketIndex: "i16", InitialMarginFraction: "u16", MarginMode: "u8", ...TAIL }],
  [TYPE.group, { ...HEAD, GroupingType: "u8", Orders: "orders", ...TAIL }],
  [TYPE.margin, { ...HEAD, MarketIndex: "i16", USDCAmount: "i64", Direction: "u8", ...TAIL }],
  [
    TYPE.approveIntegrator,
    {
      ...HEAD,
      IntegratorAccountIndex: "i64",
      MaxPerpsTakerFee: "u32",
      MaxPerpsMakerFee: "u32",
      MaxSpotTakerFee: "u32",
      MaxSpotMakerFee: "u32",
      ApprovalExpiry: "i64",
      L1Sig: "text",
      ...TAIL,
    },
  ],
]);

/** @testonly What README.md lists. */
export const TRANSACTION_TYPES: readonly string[] = [...LAYOUTS.keys()].map(String);

const RANGES: Readonly<Record<"u8" | "i16" | "u16" | "u32" | "i64", readonly [bigint, bigint]>> = {
  u8: [0n, 255n],
  i16: [-32_768n, 32_767n],
  u16: [0n, 65_535n],
  u32: [0n, 4_294_967_295n],
  i64: [-(1n << 63n), (1n << 63n) - 1n],
};
const TEXT_MAX = 200;
const BYTES_MAX = 64;
const GROUP_MAX = 16;
/** Entries of the object; more than the venue's four only to be refused by name later. */
const ATTRIBUTES_MAX = 16;
/** 80 bytes in standard base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{107}=$/;
const BASE64 = /^[A-Za-z0-9+/]{0,100}={0,2}$/;

/** Throws 21505 for a type that is not served, 21501 for what is no such transaction. */
export function readTransaction(type: number, text: string): Transaction {
  const layout = LAYOUTS.get(type);
  if (layout === undefined) throw refuseTransaction(21505);
  const raw = readObject(parse(text));
  const fields: Record<string, TransactionFields[string]> = {};
  for (const [name, kind] of Object.entries(layout)) fields[name] = readField(raw[name], kind);
  const account = fields.AccountIndex ?? fields.FromAccountIndex;
  const { Sig } = raw;
  return {
    type,
    text,
    fields,
    accountIndex: number(account),
    apiKeyIndex: number(fields.ApiKeyIndex),
    nonce: number(fields.Nonce),
    expiredAtMs: number(fields.ExpiredAt),
    attributes: readAttributes(raw.L2TxAttributes),
    signature: typeof Sig === "string" && SIGNATURE.test(Sig) ? Buffer.from(Sig, "base64") : null,
    orders:
      type === TYPE.createOrder ? [orderOf(fields)] : wireOrders(fields.Orders).map((order) => orderOf({ ...order })),
  };
}

/** A field as a number; beyond 2^53 it is inexact, and every rule that asks refuses it as too large anyway. */
export function number(value: TransactionFields[string] | undefined): number {
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  throw refuseTransaction(21501);
}

/** An order index, which may be beyond 2^53. */
export function indexOf(transaction: Transaction): bigint {
  const { Index } = transaction.fields;
  if (typeof Index === "number" || typeof Index === "bigint") return BigInt(Index);
  throw refuseTransaction(21501);
}

export function amountOf(transaction: Transaction, name: "Amount" | "USDCAmount" | "USDCFee"): bigint {
  const value = transaction.fields[name];
  if (typeof value === "number" || typeof value === "bigint") return BigInt(value);
  throw refuseTransaction(21501);
}

function parse(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    throw refuseTransaction(21501);
  }
}

function readObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refuseTransaction(21501);
  return value as Readonly<Record<string, unknown>>;
}

function readField(value: unknown, kind: Kind): TransactionFields[string] {
  if (kind === "text") return readText(value ?? "");
  if (kind === "base64") {
    const text = readText(value ?? "");
    if (!BASE64.test(text)) throw refuseTransaction(21501);
    return text;
  }
  if (kind === "bytes") return readList(value, BYTES_MAX).map((each) => readInteger(each, "u8"));
  if (kind === "orders") return readList(value, GROUP_MAX).map(readOrder);
  return readInteger(value, kind);
}

function readText(value: unknown): string {
  if (typeof value !== "string" || value.length > TEXT_MAX) throw refuseTransaction(21501);
  return value;
}

function readList(value: unknown, max: number): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > max) throw refuseTransaction(21501);
  return value as readonly unknown[];
}

function readInteger(value: unknown, kind: keyof typeof RANGES): Integer {
  if (value === undefined || value === null) return 0;
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) throw refuseTransaction(21501);
  const [min, max] = RANGES[kind];
  const integer = BigInt(value as Integer);
  if (integer < min || integer > max) throw refuseTransaction(21501);
  return value as Integer;
}

function readOrder(value: unknown): WireOrder {
  const raw = readObject(value);
  const order: Record<string, Integer> = {};
  for (const [name, kind] of Object.entries(ORDER_FIELDS)) order[name] = readInteger(raw[name], kind);
  return order as unknown as WireOrder;
}

function wireOrders(value: TransactionFields[string] | undefined): readonly WireOrder[] {
  return Array.isArray(value) ? (value as readonly WireOrder[]) : [];
}

function orderOf(fields: Readonly<Record<string, TransactionFields[string]>>): OrderFields {
  return {
    marketIndex: number(fields.MarketIndex),
    clientOrderIndex: number(fields.ClientOrderIndex),
    baseAmount: number(fields.BaseAmount),
    price: number(fields.Price),
    isAsk: number(fields.IsAsk),
    type: number(fields.Type),
    timeInForce: number(fields.TimeInForce),
    reduceOnly: number(fields.ReduceOnly),
    triggerPrice: number(fields.TriggerPrice),
    orderExpiry: number(fields.OrderExpiry),
  };
}

function readAttributes(value: unknown): ReadonlyMap<number, number> {
  const attributes = new Map<number, number>();
  if (value === undefined || value === null) return attributes;
  const entries = Object.entries(readObject(value));
  if (entries.length > ATTRIBUTES_MAX) throw refuseTransaction(21501);
  for (const [code, entry] of entries) {
    if (!/^[1-9]\d{0,2}$/.test(code) || !Number.isSafeInteger(entry)) throw refuseTransaction(21501);
    attributes.set(Number(code), entry as number);
  }
  return attributes;
}
