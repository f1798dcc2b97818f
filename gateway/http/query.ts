/**
 * Query strings and path parameters. The server passes both on undecoded, so malformed percent-encoding is refused
 * here. Values are never echoed.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { FieldProblem } from "../../schemas/errors.js";

/** More pairs than this are refused: no route takes more than four. */
export const MAX_QUERY_PAIRS = 32;

export function invalidParameters(...fields: readonly FieldProblem[]): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields });
}

/** A date (midnight UTC), or a time with its zone. A `+` sent without encoding has become a space. */
const ISO_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+ -])(\d\d):?(\d\d)))?$/;
const MINUTE_MS = 60_000;
const NO_TIME = "";

/** Returns Unix ms of a time given as digits or as ISO 8601; for anything else a text that the schema refuses. */
export function askedTimeMs(text: string): number | string {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const match = ISO_TIME.exec(text);
  if (match === null) return NO_TIME;
  const [, year, month, day, hour, minute, second, fraction = "", sign, zoneHours, zoneMinutes] = match;
  const numbers = [hour, minute, second, zoneHours, zoneMinutes].map((part) => Number(part ?? 0));
  const [hours = 0, minutes = 0, seconds = 0, offHours = 0, offMinutes = 0] = numbers;
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
  // A day beyond the end of its month would become a day of the next month.
  const isDay = new Date(dayMs).toISOString().slice(0, 10) === `${year}-${month}-${day}`;
  if (!isDay || hours > 23 || minutes > 59 || seconds > 59 || offHours > 23 || offMinutes > 59) return NO_TIME;
  const zoneMs = (offHours * 60 + offMinutes) * MINUTE_MS * (sign === "-" ? -1 : 1);
  const ofDayMs = (hours * 60 + minutes) * MINUTE_MS + seconds * 1000 + Number(fraction.padEnd(3, "0").slice(0, 3));
  return dayMs + ofDayMs - zoneMs;
}

/** Returns the decoded parameter; throws INVALID_PARAMETERS naming `path`. */
export function decodeComponent(raw: string, path: string): string {
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    // The URIError adds nothing: it only reports that the text is malformed.
    throw invalidParameters({ path, problem: "has malformed percent-encoding" });
  }
}

/** Decoded, in their order in the query. */
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

/** Returns known names only; `queryCheck` handles unknown ones. A repeated name is refused. */
export function parseQuery(raw: string | undefined, names: readonly string[]): Record<string, string> {
  // Only names of the route become properties, so no text of the caller can reach a prototype.
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
