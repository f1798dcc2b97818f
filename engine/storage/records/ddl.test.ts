import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addColumn,
  assertDdlTarget,
  createDatabase,
  createMigrationsTable,
  createTables,
  type DdlTarget,
  insertTarget,
} from "./ddl.js";
import { DERIVED_TABLES, RECORD_TABLES } from "./schema.js";

const EMBEDDED: DdlTarget = { database: "unwind", cluster: null };
const CLUSTER: DdlTarget = { database: "unwind", cluster: { name: "main", keeperPath: "/clickhouse/tables" } };

const statementOf = (target: DdlTarget, name: string) =>
  createTables(target).find((sql) => sql.split("\n")[0]?.split(" ").includes(`unwind.${name}`));

describe("the DDL of one server", () => {
  it("creates the latency table as written here", () => {
    expect(statementOf(EMBEDDED, "latency_samples")).toBe(`CREATE TABLE IF NOT EXISTS unwind.latency_samples
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
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1`);
  });

  it("creates the candles' view after its source and its target", () => {
    const all = createTables(EMBEDDED);
    const at = (name: string) => all.findIndex((sql) => sql.startsWith(`CREATE TABLE IF NOT EXISTS unwind.${name}\n`));
    const view = all.findIndex((sql) => sql.includes("MATERIALIZED VIEW IF NOT EXISTS unwind.ohlcv_1m_view"));
    expect(Math.min(at("trades"), at("ohlcv_1m"))).toBeGreaterThanOrEqual(0);
    expect(view).toBeGreaterThan(Math.max(at("trades"), at("ohlcv_1m")));
    expect(all[view]).toBe(`CREATE MATERIALIZED VIEW IF NOT EXISTS unwind.ohlcv_1m_view
TO unwind.ohlcv_1m
AS SELECT symbol, venue, toStartOfMinute(ex) AS m, sum(qty) AS v, count() AS n, argMinState(price, (ex, seq)) AS open, max(price) AS high, min(price) AS low, argMaxState(price, (ex, seq)) AS close
FROM unwind.trades
GROUP BY symbol, venue, m`);
  });

  it("keeps rows of any age where configured, as replays of old recordings need", () => {
    const text = createTables({ ...EMBEDDED, expires: false }).join("\n");
    expect(text).not.toMatch(/TTL|ttl_only/);
  });
});

describe("the DDL of a cluster", () => {
  it("creates a replicated local table and a distributed one over it", () => {
    const local = statementOf(CLUSTER, "fills_local") ?? "";
    expect(local.startsWith("CREATE TABLE IF NOT EXISTS unwind.fills_local ON CLUSTER main\n")).toBe(true);
    expect(local).toContain(
      "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/unwind/fills', '{replica}', ver)",
    );
    expect(local).toContain(
      "SETTINGS replicated_deduplication_window = 1000, replicated_deduplication_window_seconds = 604800, fsync_after_insert = 1, fsync_part_directory = 1",
    );
    expect(statementOf(CLUSTER, "fills")).toBe(`CREATE TABLE IF NOT EXISTS unwind.fills ON CLUSTER main
AS unwind.fills_local
ENGINE = Distributed(main, unwind, fills_local, cityHash64(order_key))`);
  });

  it("feeds each shard's views from its own local tables", () => {
    const views = createTables(CLUSTER).filter((sql) => sql.includes("MATERIALIZED VIEW"));
    expect(views.length).toBe(DERIVED_TABLES.length);
    for (const view of views) {
      expect(view).toMatch(/ ON CLUSTER main\nTO unwind\.\w+_local\n/);
      expect(view).toMatch(/\nFROM unwind\.\w+_local(\n|$)/);
    }
  });

  it("writes to the local table and adds columns to both", () => {
    expect(insertTarget(CLUSTER, "ticks")).toBe("unwind.ticks_local");
    expect(insertTarget(EMBEDDED, "ticks")).toBe("unwind.ticks");
    expect(addColumn(CLUSTER, "ticks", { name: "note", type: "String", codec: "ZSTD(1)", otherwise: "src" })).toEqual([
      "ALTER TABLE unwind.ticks_local ON CLUSTER main ADD COLUMN IF NOT EXISTS note String DEFAULT src CODEC(ZSTD(1))",
      "ALTER TABLE unwind.ticks ON CLUSTER main ADD COLUMN IF NOT EXISTS note String DEFAULT src",
    ]);
    expect(addColumn(EMBEDDED, "ticks", { name: "note", type: "String" })).toEqual([
      "ALTER TABLE unwind.ticks ADD COLUMN IF NOT EXISTS note String",
    ]);
  });

  it("names the cluster in every statement, and uses only replicated engines", () => {
    const all = [createDatabase(CLUSTER), createMigrationsTable(CLUSTER), ...createTables(CLUSTER)];
    for (const sql of all) {
      expect(sql).toContain(" ON CLUSTER main");
      expect(sql).not.toMatch(/ENGINE = (Replacing|Aggregating)?MergeTree/);
      expect(sql).not.toContain("non_replicated");
    }
  });
});

describe("the DDL in both forms", () => {
  it("has the same columns, keys and partitions", () => {
    for (const table of [...RECORD_TABLES, ...DERIVED_TABLES]) {
      const body = (sql = "") => sql.slice(sql.indexOf("\n("), sql.indexOf("ENGINE"));
      const keys = (sql = "") => sql.match(/^(PARTITION|ORDER) BY .*$/gm);
      const embedded = statementOf(EMBEDDED, table.name);
      const local = statementOf(CLUSTER, `${table.name}_local`);
      expect(body(local)).toBe(body(embedded));
      expect(keys(local)).toEqual(keys(embedded));
    }
  });

  it("accepts only plain identifiers as names", () => {
    const name = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."ab_9`'; .-") })), (text) => {
        const check = () => assertDdlTarget({ database: text, cluster: null });
        const checkCluster = () => assertDdlTarget({ database: "d", cluster: { name: text, keeperPath: "/a" } });
        if (name.test(text)) {
          check();
          checkCluster();
        } else {
          expect(check).toThrow(RangeError);
          expect(checkCluster).toThrow(RangeError);
        }
      }),
    );
    for (const keeperPath of ["", "a", "/a'", "/a/", "/{shard}", "//a"])
      expect(() => assertDdlTarget({ database: "d", cluster: { name: "c", keeperPath } })).toThrow(RangeError);
  });

  it("partitions a Replacing table by a value that is equal in all versions of a row, and sorts by existing columns", () => {
    for (const table of [...RECORD_TABLES, ...DERIVED_TABLES]) {
      const names = table.columns.map((column) => column.name);
      expect(new Set(names).size).toBe(names.length);
      for (const column of table.orderBy) expect(names).toContain(column);
      const partition = /\((\w+)\)/.exec(table.partitionBy)?.[1];
      if (partition !== undefined) expect(names).toContain(partition);
      if (table.engine.kind === "ReplacingMergeTree") {
        expect(names).toContain(table.engine.version);
        // Fixed at the decision, part of the key, or no partition at all.
        expect(["", "at", ...table.orderBy]).toContain(partition ?? "");
      }
      if (table.ttl !== null) expect(names).toContain(table.ttl.column);
    }
  });
});
