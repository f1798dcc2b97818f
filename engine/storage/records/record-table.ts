/** The description of a table of the record: columns and their types, engine, order, partitions, time to live. */

export type ScalarColumnType =
  | "DateTime64(6, 'UTC')"
  | "DateTime64(3, 'UTC')"
  | "String"
  | "LowCardinality(String)"
  | "UInt8"
  | "UInt32"
  | "UInt64"
  | "Float32"
  | "Decimal(18, 10)"
  | "Decimal(38, 8)"
  | "Decimal(38, 18)"
  | "Enum8('BUY' = 1, 'SELL' = 2)";

/** Of RowBinary's compound types only these are used, one level deep, and arrays of nullables. */
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
  /** Expression over other columns, for rows that were written without this one. Absent: 0, "", null. */
  readonly otherwise?: string;
  /**
   * Written by earlier versions only, up to this number of columns in the table; their batches may still arrive. The
   * replacing column is computed from it (`otherwise`).
   */
  readonly writtenUntil?: number;
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
  /** Synced to disk before the insert is acknowledged: for money, not for market data. */
  readonly fsync: boolean;
  /** Expression that spreads rows over the shards of a cluster. */
  readonly shardingKey: string;
}

/** A table the recorder inserts into. */
export interface RecordTable extends TableShape {
  readonly name: RecordTableName;
  readonly columns: readonly RecordColumn[];
}

export type DerivedColumn = Pick<RecordColumn, "name" | "codec" | "otherwise"> & { readonly type: string };

/** A table fed by a materialised view alone: its types may be aggregate states. */
export interface DerivedTable extends TableShape {
  readonly name: DerivedTableName;
  readonly columns: readonly DerivedColumn[];
  readonly view: {
    readonly name: string;
    readonly source: RecordTableName;
    /** The select list; the generator adds the source. */
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
  | "transfers"
  | "latency_samples";
export type DerivedTableName = "orders_latest" | "ohlcv_1m";
