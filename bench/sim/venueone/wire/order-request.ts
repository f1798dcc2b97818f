/** One order as posted: typed reading and the canonical value that is hashed. Throws the shape mismatch of shape.ts. */
import { parseWireDecimalE8, wireText } from "./decimals.js";
import type { JsonNode } from "./json.js";
import type { PackMap, PackValue } from "./msgpack.js";
import { mismatch, readAddress, readBool, readCloid, readOneOf, readStruct, readText, readUint } from "./shape.js";

const ASSET_MAX = 0xffff_ffff;

export type TimeInForceWord = "Gtc" | "Ioc" | "Alo" | "FrontendMarket";
export type TpslWord = "tp" | "sl";

export interface TriggerTerms {
  readonly isMarket: boolean;
  readonly triggerPxE8: bigint;
  readonly tpsl: TpslWord;
}

export interface OrderRequest {
  readonly asset: number;
  readonly isBuy: boolean;
  readonly limitPxE8: bigint;
  readonly szE8: bigint;
  readonly reduceOnly: boolean;
  /** Null on a trigger order. */
  readonly tif: TimeInForceWord | null;
  readonly trigger: TriggerTerms | null;
  readonly cloid: string | null;
  readonly wire: PackMap;
}

/** An order id, or a cloid text. */
export type OrderRef = number | string;
export type GroupingWord = "na" | "normalTpsl" | "positionTpsl";

export interface ModifyRequest {
  readonly ref: OrderRef;
  readonly order: OrderRequest;
}

/** `{p: n}` asks for block priority; it changes nothing about matching here. */
export function readGrouping(node: JsonNode): { grouping: GroupingWord; wire: PackValue } {
  if (node.kind === "object") {
    const rate = readUint(readStruct(node, ["p"], "refuse").required("p"));
    return { grouping: "na", wire: { p: rate } };
  }
  const grouping = readOneOf(node, ["na", "normalTpsl", "positionTpsl"]);
  return { grouping, wire: grouping };
}

export function readBuilder(node: JsonNode): { address: string; feeTenthsBps: number } {
  const builder = readStruct(node, ["b", "f"], "ignore");
  return { address: readAddress(builder.required("b")), feeTenthsBps: readUint(builder.required("f"), 0xffff) };
}

export function readOrder(node: JsonNode): OrderRequest {
  const fields = readStruct(node, ["a", "b", "p", "s", "r", "t", "c"], "ignore");
  const asset = readAsset(fields.required("a"));
  const isBuy = readBool(fields.required("b"));
  const limitPxE8 = readDecimal(fields.required("p"));
  const szE8 = readDecimal(fields.required("s"));
  const reduceOnly = readBool(fields.required("r"));
  const { tif, trigger, wire: typeWire } = readOrderType(fields.required("t"));
  const cloidNode = fields.optional("c");
  const cloid = cloidNode === undefined ? null : readCloid(cloidNode);
  const wire: PackMap = {
    a: asset,
    b: isBuy,
    p: wireText(limitPxE8),
    s: wireText(szE8),
    r: reduceOnly,
    t: typeWire,
    ...(cloid === null ? {} : { c: cloid }),
  };
  return { asset, isBuy, limitPxE8, szE8, reduceOnly, tif, trigger, cloid, wire };
}

function readOrderType(node: JsonNode): { tif: TimeInForceWord | null; trigger: TriggerTerms | null; wire: PackMap } {
  if (node.kind !== "object" || node.entries.length !== 1) mismatch("one order type expected");
  const fields = readStruct(node, ["limit", "trigger"], "refuse");
  const limitNode = fields.optional("limit");
  if (limitNode !== undefined) {
    const limit = readStruct(limitNode, ["tif"], "ignore");
    const tif = readOneOf(limit.required("tif"), ["Gtc", "Ioc", "Alo", "FrontendMarket"]);
    return { tif, trigger: null, wire: { limit: { tif } } };
  }
  const terms = readStruct(fields.required("trigger"), ["isMarket", "triggerPx", "tpsl"], "ignore");
  const isMarket = readBool(terms.required("isMarket"));
  const triggerPxE8 = readDecimal(terms.required("triggerPx"));
  const tpsl = readOneOf(terms.required("tpsl"), ["tp", "sl"]);
  const wire = { trigger: { isMarket, triggerPx: wireText(triggerPxE8), tpsl } };
  return { tif: null, trigger: { isMarket, triggerPxE8, tpsl }, wire };
}

export function readAsset(node: JsonNode): number {
  return readUint(node, ASSET_MAX);
}

export function readOrderRef(node: JsonNode): OrderRef {
  return node.kind === "number" ? readUint(node) : readCloid(node);
}

export function readDecimal(node: JsonNode): bigint {
  return parseWireDecimalE8(readText(node)) ?? mismatch("decimal text expected");
}
