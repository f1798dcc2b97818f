/**
 * The post-trade report as one query: fills of a range compared with the quote, the mid and the worst price allowed;
 * closes of the range by outcome and time. In total, per venue and per symbol. The definitions are those of
 * schemas/history.ts; sums of money are exact, basis points are statistics.
 */
import { FEE_ASSETS_AT_PAR } from "../../schemas/history.js";
import { csvField, exportSettings, jsonField, READ_SETTINGS, type Sql } from "./query-builder.js";
import { plain, type RecordField, text } from "./record-kind.js";

/** Maximum rows of one report. */
export const MAX_QUALITY_ROWS = 5000;

export interface QualityRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly exchanges: readonly string[];
  readonly symbol: string | null;
  readonly direction: string | null;
  /** Whose rows count; null: everybody's. */
  readonly owners: readonly string[] | null;
}

/** Decisions of schema version 1 lack the intent: an order that could add to a position was an entry's. */
const CLOSES =
  "(t.intent = 'CLOSE' OR (t.intent = '' AND t.route_id NOT IN" +
  " (SELECT route_id FROM order_events WHERE reduce_only = 0 AND status = 'INTENT')))";

const FROM = "fromUnixTimestamp64Milli({from:Int64}, 'UTC')";
const TO = "fromUnixTimestamp64Milli({to:Int64}, 'UTC')";

/** The scope of a row: in the total both are grouped away, otherwise one is. */
const GROUPED = "GROUP BY GROUPING SETS ((), (r.venue), (r.symbol))";
const SCOPE =
  "multiIf(grouping(r.venue) = 0, 'exchange', grouping(r.symbol) = 0, 'symbol', 'total') AS scope," +
  " toString(r.venue) AS venue, toString(r.symbol) AS symbol";

/**
 * Compares money with a benchmark: `name` → fills counted, weighted mean, percentiles. Null benchmarks are left out.
 */
function against(name: string, column: string): string[] {
  const has = `${column} > 0`;
  const one = `sign * (price - ${column}) / ${column} * 10000`;
  return [
    `countIf(${has}) AS ${name}_n`,
    `sumIf(sign * (price - ${column}) * size, ${has}) / sumIf(${column} * size, ${has}) * 10000 AS ${name}_mean`,
    `quantileExactInclusiveIf(0.5)(${one}, ${has}) AS ${name}_p50`,
    `quantileExactInclusiveIf(0.95)(${one}, ${has}) AS ${name}_p95`,
    `maxIf(${one}, ${has}) AS ${name}_max`,
  ];
}

function fillsPart(where: string): string {
  const rows =
    "SELECT t.venue AS venue, t.symbol AS symbol, if(t.side = 'BUY', 1, -1) AS sign," +
    " toFloat64(assumeNotNull(t.price)) AS price, toFloat64(t.qty) AS size," +
    " toDecimal256(assumeNotNull(t.price), 18) * toDecimal256(t.qty, 18) AS money," +
    " ifNull(toFloat64(t.quoted_px), 0) AS quoted, ifNull(toFloat64(t.ref_mid), 0) AS mid," +
    " ifNull(toFloat64(t.worst_px), 0) AS worst," +
    " isNotNull(t.fee) AND t.fee_asset IN {feeAssets:Array(String)} AS has_fee, toFloat64(ifNull(t.fee, 0)) AS fee" +
    ` FROM fills AS t FINAL WHERE t.at >= ${FROM} AND t.at < ${TO} AND t.intent = 'CLOSE' AND isNotNull(t.price)${where}`;
  const figures = [
    "count() AS fills_n",
    "sum(money) AS notional",
    ...against("quoted", "quoted"),
    ...against("arrival", "mid"),
    ...against("guard", "worst"),
    "countIf(has_fee) AS fee_n",
    "sumIf(fee, has_fee) / sumIf(price * size, has_fee) * 10000 AS fee_bps",
  ];
  return `SELECT ${SCOPE}, ${figures.join(", ")} FROM (${rows}) AS r ${GROUPED}`;
}

/**
 * A close may have several rows: its reply, and later the outcome of an unknown one. The reply decides whether it is in
 * the range; the later row is read however late it came.
 */
function closesPart(where: string, venues: string): string {
  const last = (column: string) => `argMax(tuple(t.${column}), (t.at, t.kind = 'resolved')).1`;
  const first = (column: string) => `argMinIf(tuple(t.${column}), t.at, t.kind = 'replied').1`;
  const routes =
    `SELECT if(${last("executed_on")} != '', ${last("executed_on")}, ${last("recommended")}) AS venue,` +
    ` any(t.symbol) AS symbol, ${first("state")} AS first_state, ${last("state")} AS last_state,` +
    ` toFloat64(ifNull(${last("submitted_sz")}, 0)) AS submitted, toFloat64(ifNull(${last("filled_sz")}, 0)) AS filled,` +
    ` toFloat64(coalesce(${first("ref_mid")}, ${first("expected_px")}, ${first("worst_px")}, 0)) AS reference,` +
    ` ${first("total_us")} AS total_us, ${first("venue_us")} AS venue_us` +
    ` FROM routing_decisions AS t WHERE t.at >= ${FROM} AND t.route_id != '' AND t.dry_run = 0` +
    ` AND t.kind IN ('replied', 'resolved') AND ${CLOSES}${where} GROUP BY t.route_id` +
    ` HAVING countIf(t.kind = 'replied') > 0 AND minIf(t.at, t.kind = 'replied') < ${TO}` +
    " AND first_state IN ('COMPLETED', 'PARTIAL', 'RESTING', 'SUBMITTED', 'UNKNOWN', 'REJECTED')";
  const rests = "(first_state = 'RESTING' OR last_state = 'RESTING')";
  const ratio = (known: string): string =>
    `sumIf(filled * reference, ${known}) / nullIf(sumIf(submitted * reference, ${known}), 0)`;
  const figures = [
    "count() AS closes_n",
    `${ratio(`last_state != 'UNKNOWN' AND NOT ${rests}`)} AS fill_ratio`,
    `countIf(${rests}) AS resting_n`,
    `${ratio(`last_state != 'UNKNOWN' AND ${rests}`)} AS resting_fill_ratio`,
    "countIf(first_state = 'UNKNOWN') AS unknown_n",
    "countIf(last_state = 'UNKNOWN') AS unresolved_n",
    ...["total_us", "venue_us"].flatMap((column) => [
      `quantileExactInclusiveIf(0.5)(toFloat64(ifNull(${column}, 0)), isNotNull(${column})) AS ${column}_p50`,
      `quantileExactInclusiveIf(0.95)(toFloat64(ifNull(${column}, 0)), isNotNull(${column})) AS ${column}_p95`,
      `countIf(isNotNull(${column})) AS ${column}_n`,
    ]),
  ];
  return `SELECT ${SCOPE}, ${figures.join(", ")} FROM (${routes}) AS r${venues} ${GROUPED}`;
}

/** A float as exact decimal text: printed, then read as a decimal, so that 1.2346 is kept. Null for no value. */
function rounded(sql: string, places: number, has: string): string {
  return `if(${has}, toDecimal128OrNull(toString(round(ifNull(${sql}, 0), ${places})), ${places}), NULL)`;
}

function ms(column: string, percentile: string): RecordField {
  const value = `round(ifNull(c.${column}_${percentile}, 0) / 1000, 3)`;
  const name = `${column === "total_us" ? "totalMs" : "venueMs"}${percentile.toUpperCase()}`;
  return plain(name, `if(c.${column}_n > 0, ${value}, NULL)`);
}

const bps = (name: string, column: string, counter: string): RecordField =>
  plain(name, rounded(`f.${column}`, 4, `f.${counter} > 0`));
const tally = (name: string, column: string): RecordField => plain(name, `toFloat64(${column})`);

export const QUALITY_FIELDS: readonly RecordField[] = [
  plain("scope", "scope"),
  plain("exchange", "if(scope = 'exchange', venue, NULL)"),
  text("symbol", "if(scope = 'symbol', symbol, NULL)"),
  tally("fills", "f.fills_n"),
  plain("notional", "f.notional"),
  tally("quotedFills", "f.quoted_n"),
  bps("quotedMeanBps", "quoted_mean", "quoted_n"),
  bps("quotedP50Bps", "quoted_p50", "quoted_n"),
  bps("quotedP95Bps", "quoted_p95", "quoted_n"),
  tally("arrivalFills", "f.arrival_n"),
  bps("arrivalMeanBps", "arrival_mean", "arrival_n"),
  bps("arrivalP50Bps", "arrival_p50", "arrival_n"),
  bps("arrivalP95Bps", "arrival_p95", "arrival_n"),
  tally("guardFills", "f.guard_n"),
  bps("guardMeanBps", "guard_mean", "guard_n"),
  bps("guardMaxBps", "guard_max", "guard_n"),
  tally("feeFills", "f.fee_n"),
  bps("feeBps", "fee_bps", "fee_n"),
  tally("closes", "c.closes_n"),
  plain("fillRatio", rounded("c.fill_ratio", 4, "isNotNull(c.fill_ratio) AND c.closes_n > 0")),
  tally("restingCloses", "c.resting_n"),
  plain("restingFillRatio", rounded("c.resting_fill_ratio", 4, "isNotNull(c.resting_fill_ratio) AND c.closes_n > 0")),
  tally("unknownCloses", "c.unknown_n"),
  tally("unresolvedCloses", "c.unresolved_n"),
  plain("unknownRate", rounded("c.unknown_n / c.closes_n", 6, "c.closes_n > 0")),
  ms("total_us", "p50"),
  ms("total_us", "p95"),
  ms("venue_us", "p50"),
  ms("venue_us", "p95"),
];

/** One row per scope: the total first (always present), then venues, then symbols. */
export function qualitySql(range: QualityRange, form: "json" | "csv" | "ndjson"): Sql {
  const params: Record<string, string | number | readonly string[]> = {
    from: range.fromMs,
    to: range.toMs,
    feeAssets: FEE_ASSETS_AT_PAR,
    limit: MAX_QUALITY_ROWS,
  };
  const conditions: string[] = [];
  for (const name of ["symbol", "direction"] as const) {
    const value = range[name];
    if (value === null) continue;
    conditions.push(` AND t.${name} = {${name}:String}`);
    params[name] = value;
  }
  if (range.owners !== null) {
    conditions.push(" AND t.owner IN {owners:Array(String)}");
    params.owners = range.owners;
  }
  const where = conditions.join("");
  const byVenue = range.exchanges.length > 0;
  if (byVenue) params.exchanges = range.exchanges;
  const fills = fillsPart(byVenue ? `${where} AND t.venue IN {exchanges:Array(String)}` : where);
  const closes = closesPart(where, byVenue ? " WHERE r.venue IN {exchanges:Array(String)}" : "");
  const sql =
    `SELECT ${QUALITY_FIELDS.map(form === "csv" ? csvField : jsonField).join(", ")} FROM (${fills}) AS f` +
    ` FULL OUTER JOIN (${closes}) AS c USING (scope, venue, symbol)` +
    " ORDER BY indexOf(['total', 'exchange', 'symbol'], scope), venue, symbol LIMIT {limit:UInt32}" +
    ` SETTINGS ${form === "csv" ? exportSettings("csv") : READ_SETTINGS}`;
  return { sql, params };
}
