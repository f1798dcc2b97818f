/** The record's store on the real engine in the sidecar: tables, exactly-once batches, reads within bounds. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addColumn } from "../../../engine/storage/records/ddl.js";
import { MIGRATIONS, type Migration } from "../../../engine/storage/records/migrations.js";
import type { QueryBounds, RecordsStore } from "../../../engine/storage/records/records-store.js";
import { DERIVED_TABLES, RECORD_TABLES, recordTable } from "../../../engine/storage/records/schema.js";
import type { StorageSidecar } from "../../app/storage-sidecar.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "./sidecar.js";

const BOUNDS: QueryBounds = { timeoutMs: 10_000, rowsMax: 1_000, bytesMax: 1_000_000 };

let bench: SidecarBench;
let sidecar: StorageSidecar;
let store: RecordsStore;

const rowsOf = async (sql: string, params = {}, from = store) => {
  const result = await from.query(sql, params, BOUNDS);
  if (!result.ok) throw new Error(`${result.reason}: ${result.text}`);
  return result.rows;
};

describe.skipIf(CHDB_MISSING)(`the record's store ${NEEDS_CHDB}`, () => {
  beforeAll(async () => {
    bench = new SidecarBench();
    sidecar = await bench.sidecar();
    store = bench.store(sidecar);
    expect(await store.start()).toMatchObject({ state: "on", reason: "" });
  });
  afterAll(async () => {
    await bench.dispose();
  });

  it("creates every table with the engine, key, partition and columns of the schema", async () => {
    const tables = await rowsOf(
      "SELECT name, engine, sorting_key, partition_key, engine_full FROM system.tables WHERE database = 'unwind'",
    );
    const columns = await rowsOf(
      "SELECT table, name, type FROM system.columns WHERE database = 'unwind' ORDER BY position",
    );
    for (const table of [...RECORD_TABLES, ...DERIVED_TABLES]) {
      const found = tables.find((row) => row.name === table.name);
      expect(found).toMatchObject({
        engine: table.engine.kind,
        sorting_key: table.orderBy.join(", "),
        partition_key: table.partitionBy,
      });
      expect(String(found?.engine_full).includes("fsync_after_insert")).toBe(table.fsync);
      expect(String(found?.engine_full).includes("TTL")).toBe(table.ttl !== null);
      expect(found?.engine_full).toContain("non_replicated_deduplication_window = 1000");
      const own = columns.filter((row) => row.table === table.name);
      expect(own.map((row) => [row.name, row.type])).toEqual(table.columns.map((column) => [column.name, column.type]));
    }
    for (const { view } of DERIVED_TABLES) expect(tables.map((row) => row.name)).toContain(view.name);
  });

  it("stores a batch sent five times under its token once, in the table and in the view", async () => {
    const batch = {
      table: "trades" as const,
      columns: ["ex", "venue", "symbol", "trade_id", "px", "qty", "taker_side", "seq"],
      bytes: Buffer.concat([trade(1, 100n), trade(2, 120n), trade(3, 90n), trade(4, 110n)]),
      rowCount: 4,
      token: "node-1:trades:1",
    };
    for (let attempt = 0; attempt < 5; attempt++) expect(await store.insert(batch)).toEqual({ outcome: "stored" });
    expect(await store.insert({ ...batch, bytes: trade(5, 70n), rowCount: 1, token: "node-1:trades:2" })).toEqual({
      outcome: "stored",
    });
    expect(await rowsOf("SELECT count() AS n, toString(sum(qty)) AS v FROM trades")).toEqual([{ n: "5", v: "7.5" }]);
    const candles = await rowsOf(
      `SELECT toString(m) AS m, argMinMerge(open) AS o, max(high) AS h, min(low) AS l, argMaxMerge(close) AS c, sum(v) AS v, sum(n) AS n
       FROM ohlcv_1m WHERE symbol = {symbol:String} GROUP BY m`,
      { symbol: "BTC" },
    );
    expect(candles).toEqual([{ m: MINUTE_TEXT, o: "100", h: "120", l: "70", c: "70", v: "7.5", n: "5" }]);
  });

  it("stores other rows under another token, and equal rows again under another token", async () => {
    const bytes = latency("decide", 5n);
    const send = (token: string) =>
      store.insert({ table: "latency_samples", columns: ["at", "stage", "venue", "n"], bytes, rowCount: 1, token });
    for (const token of ["a:1", "a:2", "a:2"]) expect(await send(token)).toEqual({ outcome: "stored" });
    expect(await rowsOf("SELECT count() AS n FROM latency_samples")).toEqual([{ n: "2" }]);
  });

  it("keeps the last state of an order, read with FINAL", async () => {
    const states = [orderEvent(1n, "OPEN"), orderEvent(3n, "FILLED"), orderEvent(2n, "PARTIALLY_FILLED")];
    for (const [index, bytes] of states.entries()) {
      const columns = ["rx", "order_key", "ver", "status"];
      const outcome = await store.insert({ table: "order_events", columns, bytes, rowCount: 1, token: `o:${index}` });
      expect(outcome.outcome).toBe("stored");
    }
    expect(await rowsOf("SELECT order_key, ver, status FROM orders_latest FINAL")).toEqual([
      { order_key: "k1", ver: "3", status: "FILLED" },
    ]);
    expect(await rowsOf("SELECT count() AS n FROM order_events")).toEqual([{ n: "3" }]);
  });

  it("refuses bytes that can never be stored, and stores none of them", async () => {
    const cut = latency("sign", 1n).subarray(0, 12);
    const outcome = await store.insert({
      table: "latency_samples",
      columns: ["at", "stage", "venue", "n"],
      bytes: Buffer.concat([latency("sign", 1n), cut]),
      rowCount: 2,
      token: "bad:1",
    });
    expect(outcome).toMatchObject({ outcome: "refused", code: 33, name: "CANNOT_READ_ALL_DATA" });
    expect(await rowsOf("SELECT count() AS n FROM latency_samples WHERE stage = 'sign'")).toEqual([{ n: "0" }]);
    expect(store.state().state).toBe("on");
  });

  it("throws on a batch that was built wrong", async () => {
    const good = { table: "latency_samples" as const, bytes: latency("x", 1n), rowCount: 1, token: "t" };
    for (const bad of [
      { ...good, token: "it's" },
      { ...good, token: "x".repeat(129) },
      { ...good, token: "" },
      { ...good, bytes: new Uint8Array(0) },
      { ...good, rowCount: 0 },
      { ...good, columns: ["at) SELECT 1 --"] },
    ])
      await expect(store.insert(bad)).rejects.toThrow(/records batch/);
  });

  it("keeps all digits of decimals and 64-bit integers", async () => {
    const sql =
      "SELECT toDecimal128('12345678901234567890.123456789012345678', 18) AS d, toUInt64(18446744073709551615) AS u";
    expect(await rowsOf(sql)).toEqual([{ d: "12345678901234567890.123456789012345678", u: "18446744073709551615" }]);
  });

  it("limits a query by rows, bytes and time, and ends it when its caller leaves", async () => {
    const reasonOf = async (sql: string, bounds: Partial<QueryBounds>) => {
      const result = await store.query(sql, {}, { ...BOUNDS, ...bounds });
      return result.ok ? "ok" : result.reason;
    };
    expect(await reasonOf("SELECT number FROM numbers(10)", { rowsMax: 10 })).toBe("ok");
    expect(await reasonOf("SELECT number FROM numbers(11)", { rowsMax: 10 })).toBe("too-large");
    expect(await reasonOf("SELECT repeat('x', 5000) FROM numbers(100)", { bytesMax: 100_000 })).toBe("too-large");
    const slow = "SELECT sleepEachRow(0.05) FROM numbers(100) SETTINGS max_block_size = 1";
    expect(await reasonOf(slow, { timeoutMs: 300 })).toBe("timeout");
    const abort = new AbortController();
    const left = reasonOf(slow, { signal: abort.signal });
    abort.abort();
    expect(await left).toBe("aborted");
    expect(await reasonOf("SELECT nonsense", {})).toBe("refused");
    expect(await reasonOf("SELECT 1", {})).toBe("ok");
  });

  it("lets no read change anything", async () => {
    for (const sql of [
      "INSERT INTO latency_samples (n) SELECT 1",
      "DROP TABLE latency_samples",
      "SELECT 1 SETTINGS readonly = 0",
    ]) {
      const result = await store.query(sql, {}, BOUNDS);
      expect([sql, result.ok]).toEqual([sql, false]);
    }
    expect(await rowsOf("SELECT count() AS n FROM latency_samples WHERE stage = ''")).toEqual([{ n: "0" }]);
  });

  it("streams an export in whole lines at its reader's pace", async () => {
    for (const format of ["JSONEachRow", "CSVWithNames"] as const) {
      let text = "";
      let busy = false;
      const result = await store.queryStream(
        "SELECT number AS n FROM numbers({count:UInt64})",
        { count: 100_000 },
        { format, timeoutMs: 20_000, bytesMax: 10_000_000 },
        async (lines) => {
          expect(busy).toBe(false);
          expect(lines.at(-1)).toBe(0x0a);
          busy = true;
          await Promise.resolve();
          text += Buffer.from(lines).toString("utf8");
          busy = false;
        },
      );
      expect(result).toEqual({ ok: true, bytes: text.length });
      const lines = text.trimEnd().split("\n");
      if (format === "CSVWithNames") expect(lines.shift()).toBe('"n"');
      expect(lines.length).toBe(100_000);
      expect(lines.at(-1)).toBe(format === "CSVWithNames" ? "99999" : '{"n":"99999"}');
    }
  });

  it("reports how a stream ended: cut by its limit, by its reader, or by an error after the first rows", async () => {
    const stream = (sql: string, bytesMax: number, onChunk = () => {}) =>
      store.queryStream(sql, {}, { format: "JSONEachRow", timeoutMs: 20_000, bytesMax }, onChunk);
    expect(await stream("SELECT number FROM numbers(1000000)", 100_000)).toMatchObject({ reason: "too-large" });
    const rude = () => {
      throw new Error("gone");
    };
    expect(await stream("SELECT number FROM numbers(1000000)", 1e9, rude)).toMatchObject({ reason: "aborted" });
    const broken = "SELECT throwIf(number = 5000) AS t FROM numbers(10000) SETTINGS max_block_size = 1000";
    const result = await stream(broken, 1e9);
    expect(result).toMatchObject({ ok: false, reason: "refused", code: 395 });
  });

  it("creates the tables again when they were dropped, and has the batch in between sent again", async () => {
    const own = bench.store(sidecar, "dropped");
    await own.start();
    await bench.command(sidecar, "DROP DATABASE dropped");
    const batch = {
      table: "latency_samples" as const,
      columns: ["at", "stage", "venue", "n"],
      bytes: latency("x", 1n),
      rowCount: 1,
      token: "d:1",
    };
    expect((await own.insert(batch)).outcome).toBe("away");
    expect(await own.insert(batch)).toEqual({ outcome: "stored" });
  });
});

describe.skipIf(CHDB_MISSING)(`the migrations of the record ${NEEDS_CHDB}`, () => {
  const second: Migration = {
    version: MIGRATIONS.length + 1,
    name: "it's a note",
    statements: (target) => addColumn(target, "latency_samples", { name: "note", type: "String", codec: "ZSTD(1)" }),
  };

  beforeAll(async () => {
    bench = new SidecarBench();
    sidecar = await bench.sidecar();
  });
  afterAll(async () => {
    await bench.dispose();
  });

  it("run once, change nothing when run again, and are recorded", async () => {
    for (let run = 0; run < 2; run++) expect((await bench.store(sidecar, "twice").start()).state).toBe("on");
    const done = await rowsOf(
      "SELECT version, name FROM records_meta ORDER BY version",
      {},
      bench.store(sidecar, "twice"),
    );
    expect(done).toEqual(MIGRATIONS.map(({ version, name }) => ({ version, name })));
  });

  it("may be run by two gateways at once", async () => {
    const states = await Promise.all([1, 2, 3].map(() => bench.store(sidecar, "raced").start()));
    expect(states.map((state) => state.state)).toEqual(["on", "on", "on"]);
    const tables = await rowsOf(
      "SELECT count() AS n FROM system.tables WHERE database = 'raced'",
      {},
      bench.store(sidecar, "raced"),
    );
    expect(tables).toEqual([{ n: String(RECORD_TABLES.length + 2 * DERIVED_TABLES.length + 1) }]);
  });

  it("bring an older database forward and keep its rows", async () => {
    const older = bench.store(sidecar, "older");
    await older.insert({
      table: "latency_samples",
      columns: ["at", "stage", "venue", "n"],
      bytes: latency("kept", 7n),
      rowCount: 1,
      token: "m:1",
    });
    const newer = bench.store(sidecar, "older", [...MIGRATIONS, second]);
    expect((await newer.start()).state).toBe("on");
    expect(await rowsOf("SELECT stage, n, note FROM latency_samples", {}, newer)).toEqual([
      { stage: "kept", n: "7", note: "" },
    ]);
    expect(await rowsOf("SELECT max(version) AS v FROM records_meta", {}, newer)).toEqual([{ v: second.version }]);
  });

  it("give a database of version 3 the table of transfers, and keep its rows", async () => {
    const older = bench.store(sidecar, "before_transfers");
    expect((await older.start()).state).toBe("on");
    const kept = { table: "latency_samples", columns: ["at", "stage", "venue", "n"], rowCount: 1 } as const;
    await older.insert({ ...kept, bytes: latency("kept", 7n), token: "m:2" });
    await older.close();
    // As version 3 left it: all tables but that one.
    await bench.command(sidecar, "DROP TABLE before_transfers.transfers");
    await bench.command(sidecar, "TRUNCATE TABLE before_transfers.records_meta");
    for (const { version, name } of MIGRATIONS.slice(0, 3))
      await bench.command(
        sidecar,
        `INSERT INTO before_transfers.records_meta (version, name) SELECT ${version}, '${name}'`,
      );

    const newer = bench.store(sidecar, "before_transfers");
    expect(await newer.start()).toMatchObject({ state: "on", reason: "" });
    expect(await rowsOf("SELECT stage, n FROM latency_samples", {}, newer)).toEqual([{ stage: "kept", n: "7" }]);
    const columns = await rowsOf(
      "SELECT name FROM system.columns WHERE database = 'before_transfers' AND table = 'transfers' ORDER BY position",
      {},
      newer,
    );
    expect(columns).toEqual(recordTable("transfers").columns.map(({ name }) => ({ name })));
    expect(await rowsOf("SELECT max(version) AS v FROM records_meta", {}, newer)).toEqual([{ v: 4 }]);
  });

  it("refuse a newer program's database, untouched", async () => {
    await bench.store(sidecar, "future", [...MIGRATIONS, second]).start();
    const old = bench.store(sidecar, "future");
    expect(await old.start()).toMatchObject({
      state: "off",
      reason:
        "database future is of schema version 5, this program knows up to 4: use a newer program or another database",
    });
    expect(await old.insert({ table: "ticks", bytes: new Uint8Array(1), rowCount: 1, token: "x" })).toMatchObject({
      outcome: "away",
    });
  });

  it("refuse a table that another program created under one of our names, and name what it lacks", async () => {
    await bench.command(sidecar, "CREATE DATABASE foreign_tables");
    await bench.command(sidecar, "CREATE TABLE foreign_tables.fills (a UInt8) ENGINE = MergeTree ORDER BY a");
    expect(await bench.store(sidecar, "foreign_tables").start()).toMatchObject({
      state: "off",
      reason: expect.stringContaining("lacks what the schema has: fills.rx, fills.ex"),
    });
  });
});

// ---------------------------------------------------------------- rows in RowBinary

/** Start of a minute in the present day, so that no TTL drops the rows. */
const MINUTE_MS = BigInt(Math.floor(Date.now() / 60_000) * 60_000);
const MINUTE_TEXT = new Date(Number(MINUTE_MS)).toISOString().slice(0, 19).replace("T", " ");

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)]);
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}

function int128(value: bigint): Buffer {
  return Buffer.concat([int64(value), int64(0n)]);
}

/** Sequence decides within one venue millisecond; each trade has size 1.5. */
function trade(seq: number, price: bigint): Buffer {
  return Buffer.concat([
    int64(MINUTE_MS + 5n),
    text("venueone"),
    text("BTC"),
    text(`t${seq}`),
    int64(price * 10n ** 10n),
    int128(150_000_000n),
    Buffer.from([1]),
    int64(BigInt(seq)),
  ]);
}

function latency(stage: string, count: bigint): Buffer {
  return Buffer.concat([int64(MINUTE_MS), text(stage), text("venueone"), int64(count)]);
}

function orderEvent(version: bigint, status: string): Buffer {
  return Buffer.concat([int64(MINUTE_MS * 1_000n), text("k1"), int64(version), text(status)]);
}
