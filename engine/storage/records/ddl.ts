/**
 * The statements that create the record's tables, from the one schema, in two forms: `embedded` for one server
 * (MergeTree and related engines) and `cluster` (a Replicated local table per shard under a Distributed one, ON
 * CLUSTER).
 *
 * The embedded form runs on the embedded engine in the tests. The cluster form is generated and checked as text only,
 * without a cluster to run it on, so try it on yours before you rely on it. In a cluster, writes go to the local table
 * of the shard that the URL names (`insertTarget`), because a Distributed table splits a batch and ignores its token;
 * reads go to the Distributed one.
 */
import type { DerivedColumn, DerivedTable, RecordTable, RecordTableName } from "./record-table.js";
import { DERIVED_TABLES, MIGRATIONS_TABLE, RECORD_TABLES } from "./schema.js";

export interface DdlTarget {
  readonly database: string;
  /** Null means the embedded form. */
  readonly cluster: ClusterTarget | null;
  /** false keeps rows of any age: for replays of old recordings, which a TTL would drop as they are inserted. */
  readonly expires?: boolean;
}

export interface ClusterTarget {
  readonly name: string;
  /** Path prefix of the replicas' metadata in the keeper. */
  readonly keeperPath: string;
}

/** Number of blocks whose tokens a table remembers: at 10 000 rows a batch, an hour of 2 700 ticks a second. */
const DEDUPLICATION_WINDOW = 1_000;
/**
 * A cluster also forgets tokens by age, newer servers after an hour; a batch may wait longer in a spool, so this is a
 * week.
 */
const WINDOW_SECONDS = "replicated_deduplication_window_seconds = 604800";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const KEEPER_PATH = /^(\/[A-Za-z0-9_.-]{1,64}){1,8}$/;

/** Throws on names that are no plain identifiers: they come from the configuration and become SQL. */
export function assertDdlTarget(target: DdlTarget): void {
  if (!NAME.test(target.database)) throw new RangeError("database: letters, digits and underscores, at most 63");
  if (target.cluster === null) return;
  if (!NAME.test(target.cluster.name))
    throw new RangeError("cluster name: letters, digits and underscores, at most 63");
  if (!KEEPER_PATH.test(target.cluster.keeperPath)) throw new RangeError("keeper path: /word/word …");
}

export function createDatabase(target: DdlTarget): string {
  return `CREATE DATABASE IF NOT EXISTS ${target.database}${onCluster(target)}`;
}

/** Every table and view, each after those it depends on. Idempotent. */
export function createTables(target: DdlTarget): string[] {
  return [
    ...RECORD_TABLES.flatMap((table) => createTable(target, table)),
    ...DERIVED_TABLES.flatMap((table) => [...createTable(target, table), createView(target, table)]),
  ];
}

/** Idempotent; a derived table has its view beside it (`createTables`). */
export function createTable(target: DdlTarget, table: RecordTable | DerivedTable): string[] {
  const local = [
    `CREATE TABLE IF NOT EXISTS ${target.database}.${localName(target, table.name)}${onCluster(target)}`,
    "(",
    columnLines(table),
    ")",
    `ENGINE = ${engineText(target, table.engine.kind, table.name, "version" in table.engine ? [table.engine.version] : [])}`,
    ...(table.partitionBy === "" ? [] : [`PARTITION BY ${table.partitionBy}`]),
    `ORDER BY ${table.orderBy.length === 1 ? table.orderBy[0] : `(${table.orderBy.join(", ")})`}`,
    ...ttlLines(target, table),
    `SETTINGS ${settingsText(target, table)}`,
  ].join("\n");
  if (target.cluster === null) return [local];
  const distributed = [
    `CREATE TABLE IF NOT EXISTS ${target.database}.${table.name}${onCluster(target)}`,
    `AS ${target.database}.${localName(target, table.name)}`,
    `ENGINE = Distributed(${target.cluster.name}, ${target.database}, ${localName(target, table.name)}, ${table.shardingKey})`,
  ].join("\n");
  return [local, distributed];
}

/** Records which migrations were done. Not spread over shards: each replica of each shard needs it. */
export function createMigrationsTable(target: DdlTarget): string {
  const name = `${target.database}.${MIGRATIONS_TABLE}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${name}${onCluster(target)}`,
    "(",
    "  version UInt32,",
    "  name String,",
    "  applied_at DateTime64(3, 'UTC') DEFAULT now64(3)",
    ")",
    `ENGINE = ${engineText(target, "ReplacingMergeTree", MIGRATIONS_TABLE, [])}`,
    "ORDER BY version",
    "SETTINGS fsync_after_insert = 1, fsync_part_directory = 1",
  ].join("\n");
}

/** The physical tables of one logical table that hold its columns, in the order of `addColumn`. */
export function physicalTables(target: DdlTarget, table: string): string[] {
  return target.cluster === null ? [table] : [localName(target, table), table];
}

/** The form of `ALTER TABLE … ADD COLUMN` for both targets; the migration that needs it changes the view too. */
export function addColumn(target: DdlTarget, table: string, column: DerivedColumn): string[] {
  const add = (name: string, text: string): string =>
    `ALTER TABLE ${target.database}.${name}${onCluster(target)} ADD COLUMN IF NOT EXISTS ${column.name} ${text}`;
  if (target.cluster === null) return [add(table, definition(column))];
  // A Distributed table stores nothing: no codec.
  const { name, type, otherwise } = column;
  const bare = { name, type, ...(otherwise === undefined ? {} : { otherwise }) };
  return [add(localName(target, table), definition(column)), add(table, definition(bare))];
}

/** A view's query in the present schema; rows that arrive meanwhile are counted by the old query or the new one. */
export function modifyView(target: DdlTarget, { view }: DerivedTable): string {
  return `ALTER TABLE ${target.database}.${view.name}${onCluster(target)} MODIFY QUERY ${viewQuery(target, view)}`;
}

/** Settings of this version that a table of an earlier version lacks; for clusters only. */
export function modifySettings(target: DdlTarget, table: string): string[] {
  if (target.cluster === null) return [];
  const name = `${target.database}.${localName(target, table)}`;
  return [`ALTER TABLE ${name}${onCluster(target)} MODIFY SETTING ${WINDOW_SECONDS}`];
}

/** The table that batches are inserted into. */
export function insertTarget(target: DdlTarget, table: RecordTableName): string {
  return `${target.database}.${localName(target, table)}`;
}

// ---------------------------------------------------------------- parts

function createView(target: DdlTarget, table: DerivedTable): string {
  const { view } = table;
  return [
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${target.database}.${view.name}${onCluster(target)}`,
    `TO ${target.database}.${localName(target, table.name)}`,
    `AS ${viewQuery(target, view)}`,
  ].join("\n");
}

function viewQuery(target: DdlTarget, view: DerivedTable["view"]): string {
  return [
    `SELECT ${view.select.join(", ")}`,
    `FROM ${target.database}.${localName(target, view.source)}`,
    ...(view.groupBy.length === 0 ? [] : [`GROUP BY ${view.groupBy.join(", ")}`]),
  ].join("\n");
}

function definition({ type, otherwise, codec }: DerivedColumn): string {
  const parts = [type];
  if (otherwise !== undefined) parts.push(`DEFAULT ${otherwise}`);
  if (codec !== undefined) parts.push(`CODEC(${codec})`);
  return parts.join(" ");
}

function columnLines(table: RecordTable | DerivedTable): string {
  return table.columns.map((column) => `  ${column.name} ${definition(column)}`).join(",\n");
}

function ttlLines(target: DdlTarget, table: RecordTable | DerivedTable): string[] {
  if (table.ttl === null || target.expires === false) return [];
  return [`TTL toDateTime(${table.ttl.column}) + INTERVAL ${table.ttl.days} DAY`];
}

function settingsText(target: DdlTarget, table: RecordTable | DerivedTable): string {
  // Views' targets need a window of their own: without it each retry is counted again.
  const window = target.cluster === null ? "non_replicated_deduplication_window" : "replicated_deduplication_window";
  const settings = [`${window} = ${DEDUPLICATION_WINDOW}`];
  if (target.cluster !== null) settings.push(WINDOW_SECONDS);
  if (table.ttl !== null && target.expires !== false) settings.push("ttl_only_drop_parts = 1");
  if (table.fsync) settings.push("fsync_after_insert = 1", "fsync_part_directory = 1");
  return settings.join(", ");
}

function engineText(target: DdlTarget, kind: string, table: string, args: readonly string[]): string {
  if (target.cluster === null) return args.length === 0 ? kind : `${kind}(${args.join(", ")})`;
  // One shard's replicas share a path; migrations are the same on all shards, but each shard stores its own.
  const path = `'${target.cluster.keeperPath}/{shard}/${target.database}/${table}'`;
  return `Replicated${kind}(${[path, "'{replica}'", ...args].join(", ")})`;
}

function localName(target: DdlTarget, table: string): string {
  return target.cluster === null ? table : `${table}_local`;
}

function onCluster(target: DdlTarget): string {
  return target.cluster === null ? "" : ` ON CLUSTER ${target.cluster.name}`;
}
