/**
 * Query strings and path parameters. The server hands both over undecoded, so malformed percent-encoding is
 * ours to refuse. Values are never echoed.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { FieldProblem } from "../../schemas/errors.js";

/** More pairs than this are refused: no route of ours takes more than four. */
export const MAX_QUERY_PAIRS = 32;

export function invalidParameters(...fields: readonly FieldProblem[]): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields });
}

/** The decoded parameter; throws INVALID_PARAMETERS naming `path`. */
export function decodeComponent(raw: string, path: string): string {
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    // Nothing of the URIError is worth keeping: it only says that the text is malformed.
    throw invalidParameters({ path, problem: "has malformed percent-encoding" });
  }
}

/** Decoded, in the order in which they stand. */
export function queryNames(raw: string): string[] {
  const pairs = raw.split("&", MAX_QUERY_PAIRS + 1);
  if (pairs.length > MAX_QUERY_PAIRS)
    throw invalidParameters({ path: "query", problem: `has more than ${MAX_QUERY_PAIRS} parameters` });
  return pairs.filter((pair) => pair !== "").map(nameOf);
}

function nameOf(pair: string): string {
  const equals = pair.indexOf("=");
  return decodeComponent((equals < 0 ? pair : pair.slice(0, equals)).replaceAll("+", " "), "query");
}

/** Known names only; unknown ones are for `queryCheck` to judge. A name given twice is refused. */
export function parseQuery(raw: string | undefined, names: readonly string[]): Record<string, string> {
  // Only names of the route become properties, so nothing of the caller's can meet a prototype.
  const values: Record<string, string> = {};
  if (raw === undefined || raw === "") return values;
  const pairs = raw.split("&", MAX_QUERY_PAIRS + 1);
  if (pairs.length > MAX_QUERY_PAIRS)
    throw invalidParameters({ path: "query", problem: `has more than ${MAX_QUERY_PAIRS} parameters` });
  for (const pair of pairs) {
    const equals = pair.indexOf("=");
    const name = nameOf(pair);
    if (!names.includes(name)) continue;
    if (Object.hasOwn(values, name)) throw invalidParameters({ path: name, problem: "is given more than once" });
    values[name] = equals < 0 ? "" : decodeComponent(pair.slice(equals + 1).replaceAll("+", " "), name);
  }
  return values;
}
