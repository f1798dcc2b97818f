/**
 * Turns a query string into what to read, or a precise refusal. Pure but for the symbol look-up.
 *
 * Invariants: an unknown parameter of the route is refused (a mistyped filter must not widen what is read). A cursor
 * brings its whole query with it, and a parameter beside it that contradicts it is refused. Ranges and limits are
 * within their bounds, whether the caller or a default set them.
 */
import type { TSchema } from "@sinclair/typebox";
import { isRoutableVenue, ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import {
  CANDLE_INTERVALS,
  CANDLE_RANGE_MS_CAP,
  type CandleInterval,
  HISTORY_BOUNDS,
  HISTORY_PAGE,
  type HistoryKind,
} from "../../schemas/history.js";
import type { Validator } from "../../schemas/validate.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { problemsError } from "../api/close-request.js";
import { askedTimeMs, decodeComponent, invalidParameters, parseQuery } from "../http/query.js";
import type { ReplyForm } from "./accept.js";
import { type CursorQuery, decodeCursor } from "./cursor.js";
import type { RecordRange, SortKey } from "./query-builder.js";

/** A validated query: every parameter of every kind; a route's schema decides which it has. */
export type HistoryQuery = Readonly<Partial<Record<string, string | number>>>;

export interface HistoryRequest {
  readonly range: RecordRange;
  readonly limit: number;
  /** An export without a limit: all of the range, read `limit` rows at a time. */
  readonly isWhole: boolean;
  readonly after: SortKey | null;
  /** The query that the next cursor carries. */
  readonly cursorQuery: CursorQuery;
}

/** Which rows a caller sees of kinds that have owners. */
export interface ShownRows {
  readonly ownerId: string | null;
  /** Owners as rows name them; null: everybody's. */
  readonly owners: readonly string[] | null;
}

export interface RequestRules {
  readonly kind: HistoryKind;
  readonly validate: Validator<HistoryQuery>;
  /** Names of the parameters, as the schema lists them. */
  readonly names: readonly string[];
  readonly integerNames: readonly string[];
  readonly timeNames: readonly string[];
  /** Ticks, trades and candles are stored by symbol: without one the whole range would be read. */
  readonly needsSymbol: boolean;
  /** Parameters that are filters of the kind; symbol among them. */
  readonly filterNames: readonly string[];
  readonly hash: KeyedHash;
  /** Returns the canonical symbol; throws UNKNOWN_SYMBOL. */
  resolveSymbol(text: string): string;
}

export function rulesOf(
  kind: HistoryKind,
  schema: TSchema & { readonly properties: Readonly<Record<string, TSchema>> },
  validate: Validator<HistoryQuery>,
  hash: KeyedHash,
  resolveSymbol: (text: string) => string,
): RequestRules {
  const names = Object.keys(schema.properties);
  return {
    kind,
    validate,
    names,
    integerNames: names.filter((name) => schema.properties[name]?.type === "integer"),
    timeNames: names.filter((name) => schema.properties[name]?.["x-kind"] === "time"),
    needsSymbol: kind === "ticks" || kind === "trades" || kind === "candles",
    filterNames: names.filter((name) => !RANGE_NAMES.has(name)),
    hash,
    resolveSymbol,
  };
}

const RANGE_NAMES: ReadonlySet<string> = new Set([
  "exchange",
  "exchanges",
  "from",
  "to",
  "limit",
  "order",
  "cursor",
  "interval",
]);

export function readHistoryRequest(
  rules: RequestRules,
  rawQuery: string | undefined,
  form: ReplyForm,
  nowMs: number,
  { ownerId, owners }: ShownRows,
): HistoryRequest {
  const query = readQuery(rules, rawQuery);
  const limit = readLimit(rules.kind, query, form);
  const isWhole = form !== "json" && query.limit === undefined;
  const text = query.cursor;
  if (typeof text === "string") {
    const cursor = decodeCursor(rules.hash, rules.kind, ownerId, text);
    refuseContradiction(rules, query, cursor.query);
    const range = { ...rangeOf(rules, cursor.query), owners };
    return { range, limit, isWhole, after: cursor.key, cursorQuery: cursor.query };
  }
  const resolved = resolve(rules, query, nowMs);
  return { range: { ...rangeOf(rules, resolved), owners }, limit, isWhole, after: null, cursorQuery: resolved };
}

/** Throws INVALID_PARAMETERS for unknown, repeated or ill-formed parameters. */
function readQuery(rules: RequestRules, raw: string | undefined): HistoryQuery {
  refuseUnknown(raw, rules.names);
  const values: Record<string, string | number> = parseQuery(raw, rules.names);
  for (const name of rules.integerNames) {
    const text = values[name];
    // Anything but digits is kept as text, which the schema refuses.
    if (typeof text === "string" && /^[0-9]{1,15}$/.test(text)) values[name] = Number(text);
  }
  for (const name of rules.timeNames) {
    const text = values[name];
    if (typeof text === "string") values[name] = askedTimeMs(text);
  }
  const checked = rules.validate(values);
  if (!checked.ok) throw problemsError(checked.problems);
  return checked.value;
}

function refuseUnknown(raw: string | undefined, names: readonly string[]): void {
  if (raw === undefined || raw === "") return;
  for (const pair of raw.split("&")) {
    const name = decodeComponent((pair.split("=", 1)[0] as string).replaceAll("+", " "), "query");
    if (pair !== "" && !names.includes(name))
      throw invalidParameters({ path: "query", problem: `takes only ${names.join(", ")}` });
  }
}

function readLimit(kind: HistoryKind, query: HistoryQuery, form: ReplyForm): number {
  const max = form === "json" ? HISTORY_PAGE.max : HISTORY_BOUNDS[kind].exportRowsMax;
  const limit = query.limit;
  if (limit === undefined) return form === "json" ? HISTORY_PAGE.default : max;
  if (Number(limit) > max) throw invalidParameters({ path: "limit", problem: `must be <= ${max} for this Accept` });
  return Number(limit);
}

/** Returns every value that the first page decides, defaults included, in the cursor's form. */
function resolve(rules: RequestRules, query: HistoryQuery, nowMs: number): CursorQuery {
  const interval = (query.interval ?? "1m") as CandleInterval;
  const stepMs = rules.kind === "candles" ? CANDLE_INTERVALS[interval] * 1000 : 1;
  const minutes = rules.kind === "candles" ? stepMs / 60_000 : 1;
  const bounds = HISTORY_BOUNDS[rules.kind];
  const rangeMsMax =
    rules.kind === "candles" ? Math.min(bounds.rangeMsMax * minutes, CANDLE_RANGE_MS_CAP) : bounds.rangeMsMax;
  const to = Number(query.to ?? nowMs);
  const from = Number(query.from ?? Math.max(0, to - bounds.rangeMsDefault * minutes));
  if (from >= to) throw invalidParameters({ path: "from", problem: `must be before to (${to})` });
  if (to - from > rangeMsMax)
    throw invalidParameters({ path: "from", problem: `must be at most ${rangeMsMax} ms before to (${to})` });
  const resolved: Record<string, string | number> = {
    // A candle is shown where it opened within the range.
    from: Math.ceil(from / stepMs) * stepMs,
    to: Math.ceil(to / stepMs) * stepMs,
    order: query.order ?? "desc",
    exchanges: readExchanges(query).join(","),
  };
  if (rules.kind === "candles") resolved.interval = interval;
  for (const name of rules.filterNames) {
    const value = query[name];
    if (value !== undefined) resolved[name] = name === "symbol" ? rules.resolveSymbol(String(value)) : value;
  }
  if (rules.needsSymbol && resolved.symbol === undefined)
    throw new ServiceError("MISSING_PARAMETERS", { fields: [{ path: "symbol", problem: "is required" }] });
  return resolved;
}

function readExchanges(query: HistoryQuery): string[] {
  const { exchange, exchanges } = query;
  if (exchange !== undefined && exchanges !== undefined)
    throw invalidParameters({ path: "exchanges", problem: "must not be given together with exchange" });
  if (exchange !== undefined) return [String(exchange)];
  if (exchanges === undefined) return [];
  const names = String(exchanges).split(",");
  if (!names.every(isRoutableVenue))
    throw invalidParameters({
      path: "exchanges",
      problem: `must be a comma-separated list of ${ROUTABLE_VENUES.join(", ")}`,
    });
  return [...new Set(names)].sort();
}

/** Values of the query are compared after resolving, so `btc-usdt` beside a cursor for BTC is no contradiction. */
function refuseContradiction(rules: RequestRules, query: HistoryQuery, cursor: CursorQuery): void {
  const given: Record<string, string | number> = {};
  if (query.exchange !== undefined || query.exchanges !== undefined) given.exchanges = readExchanges(query).join(",");
  for (const name of ["from", "to", "order", "interval", ...rules.filterNames]) {
    const value = query[name];
    if (value !== undefined) given[name] = name === "symbol" ? rules.resolveSymbol(String(value)) : value;
  }
  const stepMs = CANDLE_INTERVALS[cursor.interval as CandleInterval] * 1000;
  for (const [name, value] of Object.entries(given)) {
    const same =
      value === cursor[name] ||
      (cursor.interval !== undefined &&
        typeof value === "number" &&
        Math.ceil(value / stepMs) * stepMs === cursor[name]);
    if (!same) {
      const path = name === "exchanges" && query.exchange !== undefined ? "exchange" : name;
      throw invalidParameters({ path, problem: "differs from the query that the cursor continues" });
    }
  }
}

function rangeOf(rules: RequestRules, query: CursorQuery): Omit<RecordRange, "owners"> {
  const interval = String(query.interval ?? "");
  const filters: Record<string, string> = {};
  for (const name of rules.filterNames) if (query[name] !== undefined) filters[name] = String(query[name]);
  return {
    fromMs: Number(query.from),
    toMs: Number(query.to),
    order: query.order === "asc" ? "asc" : "desc",
    exchanges: query.exchanges === "" ? [] : String(query.exchanges).split(","),
    filters,
    stepSeconds: interval === "" ? 0 : CANDLE_INTERVALS[interval as CandleInterval],
    interval,
  };
}
