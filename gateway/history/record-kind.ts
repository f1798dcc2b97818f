/**
 * What the query builder needs for one kind of record: the source of its rows, each field of a row in SQL, the order of
 * the rows and the filters of a caller.
 *
 * Invariants: columns are always written with their table's alias (`t.`), because a field may have a column's name and
 * another meaning. These texts contain nothing of a caller; values come through `{name:Type}` parameters only. The sort
 * columns together are different for any two rows that differ in a field.
 */
import type { HistoryKind } from "../../schemas/history.js";

/**
 * How a field is written in CSV. `text` may hold anything, also what a spreadsheet takes for a formula; `json` is a
 * composite value; `plain` are numbers and words of ours.
 */
export type CellKind = "text" | "plain" | "json";

export interface RecordField {
  readonly name: string;
  readonly sql: string;
  readonly cell: CellKind;
}

export interface SortColumn {
  readonly sql: string;
  /** The value as the cursor keeps it: text, all digits. */
  readonly text: string;
  /** Converts the parameter named in place of `$` back to the column's type. */
  readonly value: string;
}

/**
 * Parameters of the SQL that `source` and conditions may use besides the filters: from, to (ms), step (s), now (ms).
 */
export interface RecordKind {
  readonly kind: Exclude<HistoryKind, "executionQuality">;
  /** `where` contains conditions on the columns of the table with alias `t`, including the time range. */
  source(where: string): string;
  /** Whether `source` has used `where` already; otherwise the builder appends it. */
  readonly whereInside: boolean;
  /** The column that `from` and `to` bound, and how a parameter in ms becomes its type. */
  readonly time: { readonly sql: string; readonly value: string };
  readonly fields: readonly RecordField[];
  readonly sort: readonly SortColumn[];
  /** The span of time, in ms, of rows whose first sort column has this text: [first, last + 1). */
  sortTimeMs(text: string, stepSeconds: number): readonly [number, number];
  /** The column that names the owner of a row; null: rows are nobody's. */
  readonly ownerSql: string | null;
  /** The column that `exchange` and `exchanges` compare with. */
  readonly exchangeSql: string;
  /** Conditions by the name of the parameter in the query string. */
  readonly filters: Readonly<Record<string, string>>;
}

export const plain = (name: string, sql: string): RecordField => ({ name, sql, cell: "plain" });
export const text = (name: string, sql: string): RecordField => ({ name, sql, cell: "text" });

/** Integers that JSON carries as numbers: as Float64, exact below 2^53, because 64-bit integers are sent as text. */
export const msOf = (sql: string): string => `toFloat64(toUnixTimestamp64Milli(${sql}))`;
export const usOf = (sql: string): string => `toString(toUnixTimestamp64Micro(${sql}))`;
/** The venue's time; 0 means none. */
export const maybeMsOf = (sql: string): string => `nullIf(${msOf(sql)}, 0)`;
/** "" means none. */
export const maybeText = (sql: string): string => `nullIf(toString(${sql}), '')`;

export const SYMBOL = text("symbol", "toString(t.symbol)");
export const EXCHANGE = plain("exchange", "toString(t.venue)");

export const COMMON_FILTERS = {
  symbol: "t.symbol = {symbol:String}",
} as const;

export const MS_TO_DATETIME64 = "fromUnixTimestamp64Milli($, 'UTC')";
export const US_TO_DATETIME64 = "fromUnixTimestamp64Micro($, 'UTC')";
