/** Tables of our own trading, as data: orders, fills, routing decisions, latency. See schema.ts. */
import {
  count,
  EX,
  maybeMoney,
  money,
  monies,
  OWNER,
  RX,
  SIDE,
  stageUs,
  SYMBOL,
  text,
  VENUE,
  word,
  words,
} from "./columns.js";
import type { DerivedTable, RecordTable } from "./record-table.js";

/** One row per observed state of our orders; append-only. */
export const ORDER_EVENTS: RecordTable = {
  name: "order_events",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    /** Constant over the order's life: our client id. */
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
    /** Our reason for a refusal, or the venue's text; "" for none. */
    text("err"),
    OWNER,
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["order_key", "ver"],
  partitionBy: "toYYYYMM(rx)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(order_key)",
};

/**
 * One row per filled order of ours, whatever trades it filled in. The venue's trade ids, which a stream may repeat
 * after a restart, are not used. A later version (fee known, resolved) replaces it; read with FINAL.
 */
export const FILLS: RecordTable = {
  name: "fills",
  columns: [
    RX,
    EX,
    /** When the close was decided: equal in all versions of a row, so it may be the partition. */
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
    /** Used until schema version 2, when an unknown price was 0. */
    { ...money("px"), writtenUntil: 25 },
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
    /** Reference mid of the decision; orders that follow an entry have their own. */
    maybeMoney("ref_mid"),
    /** Average fill price; null while the venue has not reported it. */
    { ...maybeMoney("price"), otherwise: "nullIf(px, 0)" },
    /** OPEN or CLOSE of this order itself. Orders that follow an entry close. */
    { ...word("intent"), otherwise: "if((direction = 'LONG') = (side = 'BUY'), 'OPEN', 'CLOSE')" },
    OWNER,
  ],
  engine: { kind: "ReplacingMergeTree", version: "ver" },
  orderBy: ["venue", "symbol", "fill_id"],
  partitionBy: "toYYYYMM(at)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(order_key)",
};

/** One wide row per close decided, refused, replayed or resolved. Candidates are parallel arrays. */
export const ROUTING_DECISIONS: RecordTable = {
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
    /** Everything without a column of its own, as JSON; never credentials. */
    text("detail"),
    /** OPEN or CLOSE; "" until schema version 2, and where it was refused before this was known. */
    word("intent"),
    OWNER,
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["symbol", "at", "decision_id"],
  partitionBy: "toYYYYMM(at)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(symbol)",
};

/** Last state of each order; read with FINAL. Not partitioned: versions of one order may be months apart. */
export const ORDERS_LATEST: DerivedTable = {
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

/** Percentiles of a stage over an interval. */
export const LATENCY_SAMPLES: RecordTable = {
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
