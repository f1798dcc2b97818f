/**
 * The tables of the record, as data: what is kept of ticks, books, trades, orders, fills, decisions and
 * latency. From this one description follow the DDL of the embedded engine and of a cluster (ddl.ts) and
 * the RowBinary encoding of the recorder; nothing else spells a column.
 *
 * Invariants: a column once released is never renamed or retyped, only added by a migration; the partition
 * key of a Replacing table depends only on columns that are equal in all versions of a row (rows collapse
 * within one partition only); one batch of the recorder stays inside one partition where it can, because a
 * batch is atomic per partition, not per statement.
 *
 * All times are UTC. `rx` is our receive time (µs), `ex` the venue's (ms). Market prices are
 * Decimal(18, 10): 5 significant digits of a contract of 1000 units need nine decimals. Market sizes are
 * Decimal(38, 8): 10^10 units, all that Decimal(18, 8) holds, is within reach of coins worth 10^-6.
 */

export type ScalarColumnType =
  | "DateTime64(6, 'UTC')"
  | "DateTime64(3, 'UTC')"
  | "String"
  | "LowCardinality(String)"
  | "UInt8"
  | "UInt32"
  | "UInt64"
  | "Float32"
  | "Decimal(18, 8)"
  | "Decimal(18, 10)"
  | "Decimal(38, 8)"
  | "Decimal(38, 18)"
  | "Enum8('BUY' = 1, 'SELL' = 2)";

/** Of RowBinary's compounds only these are used, one level deep, and arrays of nullables. */
export type ColumnType =
  | ScalarColumnType
  | `Nullable(${DecimalType | "UInt32"})`
  | `Array(${DecimalType | "String" | "Float32" | "UInt64"})`
  | `Array(Nullable(${DecimalType | "UInt32" | "UInt64"}))`;

type DecimalType = Extract<ScalarColumnType, `Decimal${string}`>;

export type ColumnCodec = "Delta, ZSTD(1)" | "ZSTD(1)" | "ZSTD(3)";

export interface RecordColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** None: LowCardinality and other columns that gain nothing. */
  readonly codec?: ColumnCodec;
}

export type RecordEngine =
  | { readonly kind: "MergeTree" }
  | { readonly kind: "ReplacingMergeTree"; readonly version: string }
  | { readonly kind: "AggregatingMergeTree" };

interface TableShape {
  readonly engine: RecordEngine;
  readonly orderBy: readonly string[];
  /** Expression over columns; "" for one partition. */
  readonly partitionBy: string;
  /** Rows older than this are dropped, part by part. An insert of older rows is accepted and stores nothing. */
  readonly ttl: { readonly column: string; readonly days: number } | null;
  /** Synced to disk before the insert is acknowledged: money, not market data. */
  readonly fsync: boolean;
  /** What spreads rows over the shards of a cluster. */
  readonly shardingKey: string;
}

/** A table the recorder inserts into. */
export interface RecordTable extends TableShape {
  readonly name: RecordTableName;
  readonly columns: readonly RecordColumn[];
}

/** A table fed by a materialised view alone: its types may be aggregate states. */
export interface DerivedTable extends TableShape {
  readonly name: DerivedTableName;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly codec?: ColumnCodec }[];
  readonly view: {
    readonly name: string;
    readonly source: RecordTableName;
    /** The select list; the source is named by the generator. */
    readonly select: readonly string[];
    /** Columns of the result to group by; empty for none. */
    readonly groupBy: readonly string[];
  };
}

export type RecordTableName =
  | "ticks"
  | "book_snapshots"
  | "trades"
  | "order_events"
  | "fills"
  | "routing_decisions"
  | "latency_samples";
export type DerivedTableName = "orders_latest" | "ohlcv_1m";

const RX = { name: "rx", type: "DateTime64(6, 'UTC')", codec: "Delta, ZSTD(1)" } as const;
const EX = { name: "ex", type: "DateTime64(3, 'UTC')", codec: "Delta, ZSTD(1)" } as const;
const VENUE = { name: "venue", type: "LowCardinality(String)" } as const;
const SYMBOL = { name: "symbol", type: "LowCardinality(String)" } as const;
const SIDE = "Enum8('BUY' = 1, 'SELL' = 2)";

const word = (name: string): RecordColumn => ({ name, type: "LowCardinality(String)" });
const text = (name: string): RecordColumn => ({ name, type: "String", codec: "ZSTD(1)" });
const count = (name: string): RecordColumn => ({ name, type: "UInt64", codec: "Delta, ZSTD(1)" });
const price = (name: string): RecordColumn => ({ name, type: "Decimal(18, 10)", codec: "Delta, ZSTD(1)" });
const qty = (name: string): RecordColumn => ({ name, type: "Decimal(38, 8)", codec: "ZSTD(1)" });
const money = (name: string): RecordColumn => ({ name, type: "Decimal(38, 18)", codec: "ZSTD(1)" });
const maybeMoney = (name: string): RecordColumn => ({ name, type: "Nullable(Decimal(38, 18))", codec: "ZSTD(1)" });
const monies = (name: string): RecordColumn => ({ name, type: "Array(Nullable(Decimal(38, 18)))", codec: "ZSTD(1)" });
const words = (name: string): RecordColumn => ({ name, type: "Array(String)", codec: "ZSTD(1)" });
/** Microseconds of a stage; null: it did not happen. */
const stageUs = (name: string): RecordColumn => ({ name, type: "Nullable(UInt32)", codec: "ZSTD(1)" });

/** Best bid and ask at each change, with mark and last where the venue gives them. */
const TICKS: RecordTable = {
  name: "ticks",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    // Price and size 0: the side is empty.
    price("bid"),
    qty("bid_sz"),
    price("ask"),
    qty("ask_sz"),
    { name: "mark", type: "Nullable(Decimal(18, 10))", codec: "ZSTD(1)" },
    { name: "last", type: "Nullable(Decimal(18, 10))", codec: "ZSTD(1)" },
    /** The venue's sequence; 0 where it has none. */
    count("seq"),
    /** What brought it: book, touch, ticker. */
    word("src"),
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["symbol", "venue", "rx", "seq"],
  partitionBy: "toYYYYMMDD(rx)",
  ttl: { column: "rx", days: 30 },
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
};

/** Whole depth now and then; one row holds all levels, so that no merge can mix two moments. */
const BOOK_SNAPSHOTS: RecordTable = {
  name: "book_snapshots",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    count("seq"),
    { name: "bid_px", type: "Array(Decimal(18, 10))", codec: "ZSTD(3)" },
    { name: "bid_sz", type: "Array(Decimal(38, 8))", codec: "ZSTD(3)" },
    { name: "ask_px", type: "Array(Decimal(18, 10))", codec: "ZSTD(3)" },
    { name: "ask_sz", type: "Array(Decimal(38, 8))", codec: "ZSTD(3)" },
    /** periodic, gap, pre-route. */
    word("reason"),
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["symbol", "venue", "rx"],
  partitionBy: "toYYYYMMDD(rx)",
  ttl: { column: "rx", days: 7 },
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
};

/**
 * Public trades. Venues re-deliver trades after a reconnect; Replacing collapses them at a merge, but a view
 * over the table has counted each insert by then. So the recorder drops known trade ids before it inserts.
 */
const TRADES: RecordTable = {
  name: "trades",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    text("trade_id"),
    price("px"),
    qty("qty"),
    { name: "taker_side", type: SIDE },
    /** Our order of arrival, growing within one run: breaks ties of `ex` where a candle opens or closes. */
    count("seq"),
  ],
  engine: { kind: "ReplacingMergeTree", version: "rx" },
  orderBy: ["symbol", "venue", "ex", "trade_id"],
  partitionBy: "toYYYYMMDD(ex)",
  ttl: { column: "ex", days: 90 },
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
};

/** One row per state an order of ours was seen in; append-only. */
const ORDER_EVENTS: RecordTable = {
  name: "order_events",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    /** Stable over the order's life: our client id. */
    text("order_key"),
    /** Grows with each state of one order. */
    count("ver"),
    text("route_id"),
    text("request_id"),
    /** "" until the venue gave one. */
    text("order_id"),
    text("client_order_id"),
    { name: "side", type: SIDE },
    word("order_type"),
    /** OrderStatus of the domain, or NOT_SENT. */
    word("status"),
    /** CONFIRMED, REJECTED, UNKNOWN, NOT_SENT. */
    word("outcome"),
    maybeMoney("px"),
    money("qty"),
    money("filled"),
    maybeMoney("avg_px"),
    { name: "reduce_only", type: "UInt8" },
    /** Our reason of a refusal and the venue's text; "" for none. */
    text("err"),
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["order_key", "ver"],
  partitionBy: "toYYYYMM(rx)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(order_key)",
};

/** One row per order of ours that filled. A later version (fee learned, resolved) replaces it. */
const FILLS: RecordTable = {
  name: "fills",
  columns: [
    RX,
    EX,
    /** When the close was decided: the same in all versions of a row, so it may be the partition. */
    { name: "at", type: "DateTime64(3, 'UTC')", codec: "Delta, ZSTD(1)" },
    VENUE,
    SYMBOL,
    /** The venue's order id. */
    text("fill_id"),
    count("ver"),
    text("order_key"),
    text("route_id"),
    text("request_id"),
    /** Keyed hash or our wallet id; "" where the caller brought credentials. */
    text("wallet_id"),
    word("direction"),
    { name: "side", type: SIDE },
    word("order_type"),
    /** Average fill price. */
    money("px"),
    money("qty"),
    /** Size sent with this order. */
    money("ordered_qty"),
    maybeMoney("fee"),
    word("fee_asset"),
    /** venue, computed, or "" where unknown. */
    word("fee_source"),
    { name: "maker", type: "UInt8" },
    maybeMoney("realized_pnl"),
    /** Expected at the decision, before fees; null where the venue was not priced. */
    maybeMoney("quoted_px"),
    /** The limit that was sent. */
    maybeMoney("worst_px"),
    /** Reference mid of the decision. */
    maybeMoney("ref_mid"),
  ],
  engine: { kind: "ReplacingMergeTree", version: "ver" },
  orderBy: ["venue", "symbol", "fill_id"],
  partitionBy: "toYYYYMM(at)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(order_key)",
};

/** One wide row per close decided, refused, replayed or resolved. Candidates are parallel arrays. */
const ROUTING_DECISIONS: RecordTable = {
  name: "routing_decisions",
  columns: [
    { name: "at", type: "DateTime64(3, 'UTC')", codec: "Delta, ZSTD(1)" },
    SYMBOL,
    /** Unique per row. */
    text("decision_id"),
    text("request_id"),
    /** "" where it was refused before a decision. */
    text("route_id"),
    /** replied, refused, replayed, resolved. */
    word("kind"),
    word("direction"),
    { name: "dry_run", type: "UInt8" },
    /** Error code of a refusal; "" for none. */
    word("err"),
    // The request.
    word("order_type"),
    maybeMoney("requested_sz"),
    maybeMoney("limit_px"),
    word("preferred"),
    maybeMoney("max_slippage_bps"),
    // The decision.
    word("recommended"),
    word("reason"),
    maybeMoney("expected_px"),
    maybeMoney("worst_px"),
    maybeMoney("ref_mid"),
    word("ref_venue"),
    maybeMoney("savings"),
    // The candidates, one entry each.
    words("c_venue"),
    /** eligible, ineligible, selected. */
    words("c_status"),
    words("c_reason"),
    monies("c_all_in_px"),
    monies("c_vwap"),
    monies("c_fee_bps"),
    monies("c_slippage_bps"),
    monies("c_cost_bps"),
    /** Size within the price cap. */
    monies("c_depth"),
    { name: "c_book_age_us", type: "Array(Nullable(UInt64))", codec: "ZSTD(1)" },
    { name: "c_book_seq", type: "Array(Nullable(UInt64))", codec: "ZSTD(1)" },
    // The result.
    word("executed_on"),
    /** ExecutionState; "" where nothing was decided. */
    word("state"),
    text("order_id"),
    maybeMoney("submitted_sz"),
    maybeMoney("filled_sz"),
    maybeMoney("avg_px"),
    maybeMoney("notional"),
    maybeMoney("slippage_bps"),
    maybeMoney("vs_quote_bps"),
    // Stage times.
    stageUs("total_us"),
    stageUs("positions_us"),
    stageUs("decide_us"),
    stageUs("sign_us"),
    stageUs("venue_us"),
    /** What has no column of its own, as JSON; never credentials. */
    text("detail"),
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["symbol", "at", "decision_id"],
  partitionBy: "toYYYYMM(at)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(symbol)",
};

/** Percentiles of a stage over an interval. */
const LATENCY_SAMPLES: RecordTable = {
  name: "latency_samples",
  columns: [
    { name: "at", type: "DateTime64(3, 'UTC')", codec: "Delta, ZSTD(1)" },
    word("stage"),
    VENUE,
    count("n"),
    { name: "p50_us", type: "Float32", codec: "ZSTD(1)" },
    { name: "p90_us", type: "Float32", codec: "ZSTD(1)" },
    { name: "p99_us", type: "Float32", codec: "ZSTD(1)" },
    { name: "p999_us", type: "Float32", codec: "ZSTD(1)" },
    { name: "max_us", type: "Float32", codec: "ZSTD(1)" },
    /** Encoded histogram, so that percentiles of longer spans can be merged; "" where none was kept. */
    { name: "hdr", type: "String", codec: "ZSTD(3)" },
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["stage", "venue", "at"],
  partitionBy: "toYYYYMM(at)",
  ttl: { column: "at", days: 30 },
  fsync: false,
  shardingKey: "cityHash64(stage, venue)",
};

export const RECORD_TABLES: readonly RecordTable[] = [
  TICKS,
  BOOK_SNAPSHOTS,
  TRADES,
  ORDER_EVENTS,
  FILLS,
  ROUTING_DECISIONS,
  LATENCY_SAMPLES,
];

/** Last state of each order; read with FINAL. Not partitioned: versions of one order may be months apart. */
const ORDERS_LATEST: DerivedTable = {
  name: "orders_latest",
  columns: ORDER_EVENTS.columns,
  engine: { kind: "ReplacingMergeTree", version: "ver" },
  orderBy: ["order_key"],
  partitionBy: "",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(order_key)",
  view: {
    name: "orders_latest_view",
    source: "order_events",
    select: ORDER_EVENTS.columns.map((column) => column.name),
    groupBy: [],
  },
};

/**
 * One-minute candles as mergeable states; longer ones are merged from these. The view counts each inserted
 * trade: right only because the recorder has de-duplicated trade ids and retries carry the batch's token,
 * which this table honours by a window of its own. Read with minMerge/maxMerge/sumMerge forms and GROUP BY.
 */
const OHLCV_1M: DerivedTable = {
  name: "ohlcv_1m",
  columns: [
    SYMBOL,
    VENUE,
    { name: "m", type: "DateTime('UTC')", codec: "Delta, ZSTD(1)" },
    { name: "o", type: "AggregateFunction(argMin, Decimal(18, 10), Tuple(DateTime64(3, 'UTC'), UInt64))" },
    { name: "h", type: "SimpleAggregateFunction(max, Decimal(18, 10))" },
    { name: "l", type: "SimpleAggregateFunction(min, Decimal(18, 10))" },
    { name: "c", type: "AggregateFunction(argMax, Decimal(18, 10), Tuple(DateTime64(3, 'UTC'), UInt64))" },
    { name: "v", type: "SimpleAggregateFunction(sum, Decimal(38, 8))" },
    { name: "n", type: "SimpleAggregateFunction(sum, UInt64)" },
  ],
  engine: { kind: "AggregatingMergeTree" },
  orderBy: ["symbol", "venue", "m"],
  partitionBy: "toYYYYMM(m)",
  ttl: null,
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
  view: {
    name: "ohlcv_1m_view",
    source: "trades",
    select: [
      "symbol",
      "venue",
      "toStartOfMinute(ex) AS m",
      "argMinState(px, (ex, seq)) AS o",
      "max(px) AS h",
      "min(px) AS l",
      "argMaxState(px, (ex, seq)) AS c",
      "sum(qty) AS v",
      "count() AS n",
    ],
    groupBy: ["symbol", "venue", "m"],
  },
};

export const DERIVED_TABLES: readonly DerivedTable[] = [ORDERS_LATEST, OHLCV_1M];

/** Migrations done; see migrations.ts. */
export const MIGRATIONS_TABLE = "records_meta";

const BY_NAME = new Map(RECORD_TABLES.map((table) => [table.name, table]));

export function recordTable(name: RecordTableName): RecordTable {
  return BY_NAME.get(name) as RecordTable;
}
