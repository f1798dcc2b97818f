/**
 * Transactions: what is hashed and what is sent, one layout for each type (fact sheet 7 and 8.6). Values are integers;
 * amounts of withdrawals and transfers may pass 2^53 and come as bigint.
 *
 * Invariant: the text has the keys of the layout, in its order; every value hashed is in the text.
 */
import { fromBigInt, fromInteger, P, type Words } from "./goldilocks.js";
import { hash, hashToQuintic } from "./poseidon2.js";
import { fromBytes, QUINTIC_WORDS } from "./quintic.js";

export type TxInteger = number | bigint;

/** Attribute code → value. At most MAX_ATTRIBUTES; those equal to their nil value count as absent. */
export type TxAttributes = ReadonlyMap<number, TxInteger>;

export interface GroupedOrder {
  readonly MarketIndex: TxInteger;
  readonly ClientOrderIndex: TxInteger;
  readonly BaseAmount: TxInteger;
  readonly Price: TxInteger;
  readonly IsAsk: TxInteger;
  readonly Type: TxInteger;
  readonly TimeInForce: TxInteger;
  readonly ReduceOnly: TxInteger;
  readonly TriggerPrice: TxInteger;
  readonly OrderExpiry: TxInteger;
}

export type TxField = TxInteger | string | readonly TxInteger[] | readonly GroupedOrder[];
export type TxFields = Readonly<Record<string, TxField>>;

export const TX_CHANGE_PUBLIC_KEY = 8;
export const TX_CREATE_ORDER = 14;
export const TX_CANCEL_ORDER = 15;
export const TX_CANCEL_ALL = 16;
export const TX_MODIFY_ORDER = 17;
export const TX_UPDATE_LEVERAGE = 20;
export const TX_CREATE_GROUPED_ORDERS = 28;

/** A name is hashed as it is; with `/2` as its low and high 32 bits; PubKey as five limbs; Orders as their digest. */
interface TxLayout {
  readonly keys: readonly string[];
  readonly hashed: readonly string[];
}

const ORDER_KEYS =
  "MarketIndex ClientOrderIndex BaseAmount Price IsAsk Type TimeInForce ReduceOnly TriggerPrice OrderExpiry";

function layout(keys: string, hashed: string): TxLayout {
  return { keys: keys.split(" "), hashed: hashed.split(" ") };
}

const LAYOUTS: ReadonlyMap<number, TxLayout> = new Map([
  [
    TX_CHANGE_PUBLIC_KEY,
    layout("AccountIndex ApiKeyIndex PubKey L1Sig ExpiredAt Nonce Sig", "AccountIndex ApiKeyIndex PubKey"),
  ],
  [9, layout("AccountIndex ApiKeyIndex ExpiredAt Nonce Sig", "AccountIndex ApiKeyIndex")],
  [
    12,
    layout(
      "FromAccountIndex ApiKeyIndex ToAccountIndex AssetIndex FromRouteType ToRouteType Amount USDCFee Memo ExpiredAt Nonce Sig L1Sig",
      "FromAccountIndex ApiKeyIndex ToAccountIndex AssetIndex FromRouteType ToRouteType Amount/2 USDCFee/2",
    ),
  ],
  [
    13,
    layout(
      "FromAccountIndex ApiKeyIndex AssetIndex RouteType Amount ExpiredAt Nonce Sig",
      "FromAccountIndex ApiKeyIndex AssetIndex RouteType Amount/2",
    ),
  ],
  [
    TX_CREATE_ORDER,
    layout(`AccountIndex ApiKeyIndex ${ORDER_KEYS} ExpiredAt Nonce Sig`, `AccountIndex ApiKeyIndex ${ORDER_KEYS}`),
  ],
  [
    TX_CANCEL_ORDER,
    layout(
      "AccountIndex ApiKeyIndex MarketIndex Index ExpiredAt Nonce Sig",
      "AccountIndex ApiKeyIndex MarketIndex Index",
    ),
  ],
  [
    TX_CANCEL_ALL,
    layout(
      "AccountIndex ApiKeyIndex TimeInForce Time ExpiredAt Nonce Sig",
      "AccountIndex ApiKeyIndex TimeInForce Time",
    ),
  ],
  [
    TX_MODIFY_ORDER,
    layout(
      "AccountIndex ApiKeyIndex MarketIndex Index BaseAmount Price TriggerPrice ExpiredAt Nonce Sig",
      "AccountIndex ApiKeyIndex MarketIndex Index BaseAmount Price TriggerPrice",
    ),
  ],
  [
    TX_UPDATE_LEVERAGE,
    layout(
      "AccountIndex ApiKeyIndex MarketIndex InitialMarginFraction MarginMode ExpiredAt Nonce Sig",
      "AccountIndex ApiKeyIndex MarketIndex InitialMarginFraction MarginMode",
    ),
  ],
  [
    TX_CREATE_GROUPED_ORDERS,
    layout(
      "AccountIndex ApiKeyIndex GroupingType Orders ExpiredAt Nonce Sig",
      "AccountIndex ApiKeyIndex GroupingType Orders",
    ),
  ],
  [
    29,
    layout(
      "AccountIndex ApiKeyIndex MarketIndex USDCAmount Direction ExpiredAt Nonce Sig",
      "AccountIndex ApiKeyIndex MarketIndex USDCAmount/2 Direction",
    ),
  ],
  [
    45,
    layout(
      "AccountIndex ApiKeyIndex IntegratorAccountIndex MaxPerpsTakerFee MaxPerpsMakerFee MaxSpotTakerFee MaxSpotMakerFee ApprovalExpiry ExpiredAt Nonce Sig L1Sig",
      "AccountIndex ApiKeyIndex IntegratorAccountIndex MaxPerpsTakerFee MaxPerpsMakerFee MaxSpotTakerFee MaxSpotMakerFee ApprovalExpiry",
    ),
  ],
]);

const MAX_ATTRIBUTES = 4;
/** The code whose nil value is not 0: cancel-all for one market, 255 = all. */
const ATTRIBUTE_CANCEL_ALL_MARKET = 5;
const ALL_MARKETS = 255;

/** 5 elements; what is signed. Throws RangeError for a type or a field that no layout knows. */
export function hashTransaction(
  chainId: number,
  type: number,
  fields: TxFields,
  attributes: TxAttributes | null,
): Words {
  const { hashed } = layoutOf(type);
  const elements = new ElementList();
  elements.push(chainId);
  elements.push(type);
  elements.push(integerOf(fields, "Nonce"));
  elements.push(integerOf(fields, "ExpiredAt"));
  for (const name of hashed) {
    if (name === "PubKey") elements.pushWords(publicKeyOf(fields));
    else if (name === "Orders") elements.pushWords(digestOrders(ordersOf(fields)));
    else if (name.endsWith("/2")) {
      const value = BigInt(integerOf(fields, name.slice(0, -2)));
      elements.push(value & 0xffff_ffffn);
      elements.push(value >> 32n);
    } else elements.push(integerOf(fields, name));
  }
  const result = hashToQuintic(elements.words, elements.count);
  const used = [...(attributes ?? [])].filter(([code, value]) => BigInt(value) !== nilOf(code));
  if (used.length === 0) return result;
  if (used.length > MAX_ATTRIBUTES) throw new RangeError(`more than ${MAX_ATTRIBUTES} attributes`);
  const pairs = new ElementList();
  for (const [code, value] of used.sort(([a], [b]) => a - b)) {
    pairs.push(code);
    pairs.push(value);
  }
  while (pairs.count < 2 * MAX_ATTRIBUTES) pairs.push(0);
  const both = new Uint32Array(2 * QUINTIC_WORDS);
  both.set(result, 0);
  both.set(hashToQuintic(pairs.words, pairs.count), QUINTIC_WORDS);
  return hashToQuintic(both, QUINTIC_WORDS);
}

/** The `tx_info` text. `signature` goes in as base64 with padding. */
export function transactionText(
  type: number,
  fields: TxFields,
  attributes: TxAttributes | null,
  signature: Uint8Array,
): string {
  const parts = layoutOf(type).keys.map((key) => {
    if (key === "Sig") return `"Sig":"${Buffer.from(signature).toString("base64")}"`;
    const value = fields[key];
    if (value === undefined) throw new RangeError(`transaction ${type} has no ${key}`);
    return `"${key}":${valueText(value)}`;
  });
  return `{${parts.join(",")},"L2TxAttributes":${attributesText(attributes)}}`;
}

function valueText(value: TxField): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "object") return `[${value.map((each) => itemText(each)).join(",")}]`;
  return String(value);
}

function itemText(value: TxInteger | GroupedOrder): string {
  if (typeof value !== "object") return String(value);
  const names = ORDER_KEYS.split(" ") as (keyof GroupedOrder)[];
  return `{${names.map((name) => `"${name}":${String(value[name])}`).join(",")}}`;
}

function attributesText(attributes: TxAttributes | null): string {
  if (attributes === null || attributes.size === 0) return "null";
  const pairs = [...attributes].sort(([a], [b]) => a - b).map(([code, value]) => `"${code}":${String(value)}`);
  return `{${pairs.join(",")}}`;
}

/** Folded digest: H4 of the first order's fields, then H4(digest ‖ H4(order)) for each further one. */
function digestOrders(orders: readonly GroupedOrder[]): Words {
  return foldDigests(
    orders.map((order) => {
      const elements = new ElementList();
      for (const name of ORDER_KEYS.split(" ") as (keyof GroupedOrder)[]) elements.push(order[name]);
      return hash(elements.words, elements.count, 4);
    }),
  );
}

export function foldDigests(digests: readonly Words[]): Words {
  const [first, ...rest] = digests;
  if (first === undefined) throw new RangeError("no digests to fold");
  let folded = first;
  for (const digest of rest) {
    const both = new Uint32Array(16);
    both.set(folded, 0);
    both.set(digest, 8);
    folded = hash(both, 8, 4);
  }
  return folded;
}

function nilOf(code: number): bigint {
  return code === ATTRIBUTE_CANCEL_ALL_MARKET ? BigInt(ALL_MARKETS) : 0n;
}

function layoutOf(type: number): TxLayout {
  const found = LAYOUTS.get(type);
  if (found === undefined) throw new RangeError(`no layout for transaction type ${type}`);
  return found;
}

function integerOf(fields: TxFields, name: string): TxInteger {
  const value = fields[name];
  if (typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value))) return value;
  throw new RangeError(`${name} is no integer`);
}

function publicKeyOf(fields: TxFields): Words {
  const value = fields["PubKey"];
  if (typeof value !== "string") throw new RangeError("PubKey is no text");
  return fromBytes(Buffer.from(value, "base64"));
}

function ordersOf(fields: TxFields): readonly GroupedOrder[] {
  const value = fields["Orders"];
  if (!Array.isArray(value)) throw new RangeError("Orders is no list");
  return value as readonly GroupedOrder[];
}

/** No layout hashes more elements than this. */
const MAX_ELEMENTS = 24;

class ElementList {
  readonly words = new Uint32Array(2 * MAX_ELEMENTS);
  count = 0;

  push(value: TxInteger): void {
    if (typeof value === "number" && value >= 0) fromInteger(this.words, 2 * this.count, value);
    // A negative i64 is taken as 2^64 + value, then mod p.
    else fromBigInt(this.words, 2 * this.count, BigInt.asUintN(64, BigInt(value)) % P);
    this.count++;
  }

  pushWords(words: Words): void {
    this.words.set(words, 2 * this.count);
    this.count += words.length / 2;
  }
}

/** The auth token's text cut into 8-byte pieces, the last one padded with zeros (fact sheet 4 and 8.6). */
export function hashText(text: string): Words {
  const bytes = Buffer.alloc(Math.ceil(text.length / 8) * 8);
  bytes.write(text, "ascii");
  const words = new Uint32Array(bytes.length / 4);
  for (let at = 0; at < bytes.length; at += 8) fromBigInt(words, at / 4, bytes.readBigUInt64LE(at));
  return hashToQuintic(words, words.length / 2);
}
