/**
 * `POST /info`: typed reading of a query (object or positional array form), its weight, and its answer. Unknown types and
 * mistyped fields are the venue's 422.
 */
import { ACCOUNT_QUERIES, type InfoContext } from "./account/info-account.js";
import { MARKET_QUERIES } from "./market/info-market.js";
import { type InfoQuery, SERVER_ERROR } from "./records/info-query.js";
import type { JsonNode } from "./wire/json.js";
import { decodeOrNull, readStructOrArray } from "./wire/shape.js";

export type InfoAnswer =
  | { readonly kind: "ok"; readonly type: string; readonly data: unknown; readonly extraWeight: number }
  | { readonly kind: "badShape" }
  /** HTTP 500 with body `null`. */
  | { readonly kind: "serverError" };

const QUERIES: ReadonlyMap<string, InfoQuery<InfoContext>> = new Map<string, InfoQuery<InfoContext>>([
  ...Object.entries(MARKET_QUERIES),
  ...Object.entries(ACCOUNT_QUERIES),
]);

/** @testonly What README.md lists. */
export const INFO_TYPES: readonly string[] = [...QUERIES.keys()];

/** Weight of the query before its rows are known; 20 for anything unreadable. */
export function infoWeight(node: JsonNode): number {
  const type = queryType(node);
  return (type === null ? undefined : QUERIES.get(type)?.weight) ?? 20;
}

/** Answers one query. */
export function answerInfo(node: JsonNode, context: InfoContext): InfoAnswer {
  const type = queryType(node);
  const query = type === null ? undefined : QUERIES.get(type);
  if (type === null || query === undefined) return { kind: "badShape" };
  const answered = decodeOrNull(() => {
    const fields = readStructOrArray(node, ["type", ...query.keys], "ignore");
    return { data: query.answer(fields, context) };
  });
  if (answered === null) return { kind: "badShape" };
  if (answered.data === SERVER_ERROR) return { kind: "serverError" };
  const rowCount = Array.isArray(answered.data) ? answered.data.length : 0;
  const extraWeight = query.rowsPerWeight === undefined ? 0 : Math.floor(rowCount / query.rowsPerWeight);
  return { kind: "ok", type, data: answered.data, extraWeight };
}

/** A `type` given twice is refused like any duplicate key. */
function queryType(node: JsonNode): string | null {
  if (node.kind === "array") return node.items[0]?.kind === "string" ? node.items[0].value : null;
  if (node.kind !== "object") return null;
  const tags = node.entries.filter(([key]) => key === "type");
  const tag = tags.length === 1 ? tags[0]?.[1] : undefined;
  return tag?.kind === "string" ? tag.value : null;
}
