/**
 * Reply serialisers, compiled once at start from the same schemas. Fields that a schema does not list never
 * reach the wire: the reply shape is an allow-list.
 */
import fastJsonStringify, { type Schema } from "fast-json-stringify";
import type { Static, TSchema } from "@sinclair/typebox";
import { TICKER_SCHEMAS, tickerFailureSchema } from "./ticker.js";

export type Serialiser<T> = (value: T) => string;

/** Schemas that others name by $ref. */
const SHARED: Readonly<Record<string, TSchema>> = Object.fromEntries(
  [...TICKER_SCHEMAS, tickerFailureSchema].map((schema) => [schema.$id ?? "", schema]),
);

/**
 * `ownDecimals`: dotted paths of properties below which every decimal is text that this service itself prints. Those, and
 * the words of closed sets, are written without looking for characters to escape, which is half the cost of a reply. The same
 * schema and paths give the same serialiser.
 */
export function compileSerialiser<S extends TSchema>(
  schema: S,
  ownDecimals: readonly string[] = [],
): Serialiser<Static<S>> {
  const known = compiled.get(schema) ?? new Map<string, Serialiser<unknown>>();
  compiled.set(schema, known);
  const name = ownDecimals.join(" ");
  const serialise = known.get(name) ?? compile(schema, ownDecimals);
  known.set(name, serialise);
  return serialise;
}

/** By their `ownDecimals`. */
const compiled = new WeakMap<TSchema, Map<string, Serialiser<unknown>>>();

function compile(schema: TSchema, ownDecimals: readonly string[]): Serialiser<unknown> {
  // Plain copies: TypeBox marks schemas with symbols, and an $id must not be registered twice.
  const plain: Schema & Node = JSON.parse(JSON.stringify({ ...schema, $id: undefined }));
  markSafe(plain, "", ownDecimals, false);
  return fastJsonStringify(plain, {
    ajv: { allowUnionTypes: true, keywords: ["x-kind"] },
    schema: JSON.parse(JSON.stringify(SHARED)) as Record<string, Schema>,
  });
}

type Node = { [key: string]: unknown };

/** What fast-json-stringify calls `unsafe` is a string that it does not escape. */
function markSafe(node: Node, path: string, ownDecimals: readonly string[], isOwn: boolean): void {
  const own = isOwn || ownDecimals.includes(path);
  const isText = node["type"] === "string" || (Array.isArray(node["type"]) && node["type"].includes("string"));
  if (isText && (node["enum"] !== undefined || (own && node["x-kind"] === "decimal"))) node["format"] = "unsafe";
  for (const [name, child] of Object.entries((node["properties"] ?? {}) as Record<string, Node>))
    markSafe(child, path === "" ? name : `${path}.${name}`, ownDecimals, own);
  for (const inner of [node["items"], node["additionalProperties"]])
    if (typeof inner === "object" && inner !== null) markSafe(inner as Node, path, ownDecimals, own);
}
