/**
 * The tables of schema version 1, as versions before 2 created them and as an old data folder holds them. Text, never
 * derived from the present schema.
 */

export const V1_STATEMENTS: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS unwind.ticks
(
  rx DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  ex DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  venue LowCardinality(String),
  symbol LowCardinality(String),
  bid Decimal(18, 10) CODEC(Delta, ZSTD(1)),
  bid_sz Decimal(38, 8) CODEC(ZSTD(1)),
  ask Decimal(18, 10) CODEC(Delta, ZSTD(1)),
  ask_sz Decimal(38, 8) CODEC(ZSTD(1)),
  mark Nullable(Decimal(18, 10)) CODEC(ZSTD(1)),
  last Nullable(Decimal(18, 10)) CODEC(ZSTD(1)),
  seq UInt64 CODEC(Delta, ZSTD(1)),
  src LowCardinality(String)
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(rx)
ORDER BY (symbol, venue, rx, seq)
TTL toDateTime(rx) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.book_snapshots
(
  rx DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  ex DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  venue LowCardinality(String),
  symbol LowCardinality(String),
  seq UInt64 CODEC(Delta, ZSTD(1)),
  bid_px Array(Decimal(18, 10)) CODEC(ZSTD(3)),
  bid_sz Array(Decimal(38, 8)) CODEC(ZSTD(3)),
  ask_px Array(Decimal(18, 10)) CODEC(ZSTD(3)),
  ask_sz Array(Decimal(38, 8)) CODEC(ZSTD(3)),
  reason LowCardinality(String)
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(rx)
ORDER BY (symbol, venue, rx)
TTL toDateTime(rx) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.trades
(
  rx DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  ex DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  venue LowCardinality(String),
  symbol LowCardinality(String),
  trade_id String CODEC(ZSTD(1)),
  px Decimal(18, 10) CODEC(Delta, ZSTD(1)),
  qty Decimal(38, 8) CODEC(ZSTD(1)),
  taker_side Enum8('BUY' = 1, 'SELL' = 2),
  seq UInt64 CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(rx)
PARTITION BY toYYYYMMDD(ex)
ORDER BY (symbol, venue, ex, trade_id)
TTL toDateTime(ex) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.order_events
(
  rx DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  ex DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  venue LowCardinality(String),
  symbol LowCardinality(String),
  order_key String CODEC(ZSTD(1)),
  ver UInt64 CODEC(Delta, ZSTD(1)),
  route_id String CODEC(ZSTD(1)),
  request_id String CODEC(ZSTD(1)),
  order_id String CODEC(ZSTD(1)),
  client_order_id String CODEC(ZSTD(1)),
  side Enum8('BUY' = 1, 'SELL' = 2),
  order_type LowCardinality(String),
  status LowCardinality(String),
  outcome LowCardinality(String),
  px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  qty Decimal(38, 18) CODEC(ZSTD(1)),
  filled Decimal(38, 18) CODEC(ZSTD(1)),
  avg_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  reduce_only UInt8,
  err String CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(rx)
ORDER BY (order_key, ver)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.fills
(
  rx DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  ex DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  venue LowCardinality(String),
  symbol LowCardinality(String),
  fill_id String CODEC(ZSTD(1)),
  ver UInt64 CODEC(Delta, ZSTD(1)),
  order_key String CODEC(ZSTD(1)),
  route_id String CODEC(ZSTD(1)),
  request_id String CODEC(ZSTD(1)),
  wallet_id String CODEC(ZSTD(1)),
  direction LowCardinality(String),
  side Enum8('BUY' = 1, 'SELL' = 2),
  order_type LowCardinality(String),
  px Decimal(38, 18) CODEC(ZSTD(1)),
  qty Decimal(38, 18) CODEC(ZSTD(1)),
  ordered_qty Decimal(38, 18) CODEC(ZSTD(1)),
  fee Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  fee_asset LowCardinality(String),
  fee_source LowCardinality(String),
  maker UInt8,
  realized_pnl Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  quoted_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  worst_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  ref_mid Nullable(Decimal(38, 18)) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ver)
PARTITION BY toYYYYMM(at)
ORDER BY (venue, symbol, fill_id)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.routing_decisions
(
  at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  symbol LowCardinality(String),
  decision_id String CODEC(ZSTD(1)),
  request_id String CODEC(ZSTD(1)),
  route_id String CODEC(ZSTD(1)),
  kind LowCardinality(String),
  direction LowCardinality(String),
  dry_run UInt8,
  err LowCardinality(String),
  order_type LowCardinality(String),
  requested_sz Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  limit_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  preferred LowCardinality(String),
  max_slippage_bps Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  recommended LowCardinality(String),
  reason LowCardinality(String),
  expected_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  worst_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  ref_mid Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  ref_venue LowCardinality(String),
  savings Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  c_venue Array(String) CODEC(ZSTD(1)),
  c_status Array(String) CODEC(ZSTD(1)),
  c_reason Array(String) CODEC(ZSTD(1)),
  c_all_in_px Array(Nullable(Decimal(38, 18))) CODEC(ZSTD(1)),
  c_vwap Array(Nullable(Decimal(38, 18))) CODEC(ZSTD(1)),
  c_fee_bps Array(Nullable(Decimal(38, 18))) CODEC(ZSTD(1)),
  c_slippage_bps Array(Nullable(Decimal(38, 18))) CODEC(ZSTD(1)),
  c_cost_bps Array(Nullable(Decimal(38, 18))) CODEC(ZSTD(1)),
  c_depth Array(Nullable(Decimal(38, 18))) CODEC(ZSTD(1)),
  c_book_age_us Array(Nullable(UInt64)) CODEC(ZSTD(1)),
  c_book_seq Array(Nullable(UInt64)) CODEC(ZSTD(1)),
  executed_on LowCardinality(String),
  state LowCardinality(String),
  order_id String CODEC(ZSTD(1)),
  submitted_sz Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  filled_sz Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  avg_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  notional Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  slippage_bps Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  vs_quote_bps Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  total_us Nullable(UInt32) CODEC(ZSTD(1)),
  positions_us Nullable(UInt32) CODEC(ZSTD(1)),
  decide_us Nullable(UInt32) CODEC(ZSTD(1)),
  sign_us Nullable(UInt32) CODEC(ZSTD(1)),
  venue_us Nullable(UInt32) CODEC(ZSTD(1)),
  detail String CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (symbol, at, decision_id)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.latency_samples
(
  at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  stage LowCardinality(String),
  venue LowCardinality(String),
  n UInt64 CODEC(Delta, ZSTD(1)),
  p50_us Float32 CODEC(ZSTD(1)),
  p90_us Float32 CODEC(ZSTD(1)),
  p99_us Float32 CODEC(ZSTD(1)),
  p999_us Float32 CODEC(ZSTD(1)),
  max_us Float32 CODEC(ZSTD(1)),
  hdr String CODEC(ZSTD(3))
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (stage, venue, at)
TTL toDateTime(at) + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1`,
  `CREATE TABLE IF NOT EXISTS unwind.orders_latest
(
  rx DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  ex DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
  venue LowCardinality(String),
  symbol LowCardinality(String),
  order_key String CODEC(ZSTD(1)),
  ver UInt64 CODEC(Delta, ZSTD(1)),
  route_id String CODEC(ZSTD(1)),
  request_id String CODEC(ZSTD(1)),
  order_id String CODEC(ZSTD(1)),
  client_order_id String CODEC(ZSTD(1)),
  side Enum8('BUY' = 1, 'SELL' = 2),
  order_type LowCardinality(String),
  status LowCardinality(String),
  outcome LowCardinality(String),
  px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  qty Decimal(38, 18) CODEC(ZSTD(1)),
  filled Decimal(38, 18) CODEC(ZSTD(1)),
  avg_px Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
  reduce_only UInt8,
  err String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ver)
ORDER BY order_key
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1`,
  `CREATE MATERIALIZED VIEW IF NOT EXISTS unwind.orders_latest_view
TO unwind.orders_latest
AS SELECT rx, ex, venue, symbol, order_key, ver, route_id, request_id, order_id, client_order_id, side, order_type, status, outcome, px, qty, filled, avg_px, reduce_only, err
FROM unwind.order_events`,
  `CREATE TABLE IF NOT EXISTS unwind.ohlcv_1m
(
  symbol LowCardinality(String),
  venue LowCardinality(String),
  m DateTime('UTC') CODEC(Delta, ZSTD(1)),
  o AggregateFunction(argMin, Decimal(18, 10), Tuple(DateTime64(3, 'UTC'), UInt64)),
  h SimpleAggregateFunction(max, Decimal(18, 10)),
  l SimpleAggregateFunction(min, Decimal(18, 10)),
  c AggregateFunction(argMax, Decimal(18, 10), Tuple(DateTime64(3, 'UTC'), UInt64)),
  v SimpleAggregateFunction(sum, Decimal(38, 8)),
  n SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(m)
ORDER BY (symbol, venue, m)
SETTINGS non_replicated_deduplication_window = 1000`,
  `CREATE MATERIALIZED VIEW IF NOT EXISTS unwind.ohlcv_1m_view
TO unwind.ohlcv_1m
AS SELECT symbol, venue, toStartOfMinute(ex) AS m, argMinState(px, (ex, seq)) AS o, max(px) AS h, min(px) AS l, argMaxState(px, (ex, seq)) AS c, sum(qty) AS v, count() AS n
FROM unwind.trades
GROUP BY symbol, venue, m`,
];

export interface V1Column {
  readonly name: string;
  readonly type: string;
}

/** The columns of a version 1 table in order: the encoding of its batches. */
export function v1Columns(table: string): readonly V1Column[] {
  const sql = V1_STATEMENTS.find((statement) => statement.split("\n")[0]?.endsWith(` unwind.${table}`)) ?? "";
  const body = sql.slice(sql.indexOf("\n(") + 2, sql.indexOf("\n)\n"));
  return body
    .split("\n")
    .map((line) => /^ {2}(\w+) (.+?)(?: CODEC\(.*\))?,?$/.exec(line))
    .flatMap((match) => (match === null ? [] : [{ name: match[1] ?? "", type: match[2] ?? "" }]));
}
