/**
 * A data folder of schema version 1 (tables, a spool, an outbox with claimed and unclaimed rows) under the present
 * program, on the real engine: every figure is unchanged, and new ones are kept with all their digits.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { delay } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { encodeSpoolFile, spoolFileName } from "../../../engine/recorder/spool-file.js";
import { createRecorder } from "../../../engine/recorder/recorder.js";
import { setBook, testMarket } from "../../../engine/recorder/test/markets.js";
import { imbalances, seededIds } from "../../../engine/recorder/test/world.js";
import type { RecordTableName } from "../../../engine/storage/records/record-table.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import { V1_STATEMENTS, v1Columns } from "../../../engine/storage/records/test/tables-v1.js";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { CANDLES } from "../../history/market-kinds.js";
import { pageSql } from "../../history/query-builder.js";
import { columnsBinary, type TestRow } from "../../history/test/row-binary.js";
import type { StorageSidecar } from "../../app/storage-sidecar.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "./sidecar.js";

const BOUNDS = { timeoutMs: 60_000, rowsMax: 1_000, bytesMax: 1_000_000 };
const PATIENCE_MS = 90_000;

const oldBytes = (table: RecordTableName, rows: readonly TestRow[]): Buffer => columnsBinary(v1Columns(table), rows);
const oldNames = (table: RecordTableName): string[] => v1Columns(table).map(({ name }) => name);

let bench: SidecarBench;
let sidecar: StorageSidecar;
let store: RecordsStore;
/** Within the tables' time to live, whenever this runs. */
let minuteMs = 0;

const rowsOf = async (sql: string) => {
  const result = await store.query(sql, {}, BOUNDS);
  if (!result.ok) throw new Error(`${result.reason}: ${result.text}`);
  return result.rows;
};

/** As the history route reads them. */
async function candles(symbol: string): Promise<readonly unknown[]> {
  const range = { fromMs: minuteMs, toMs: minuteMs + 3_600_000, owners: null, order: "asc", exchanges: [] } as const;
  const filters = { symbol };
  const { sql, params } = pageSql(
    CANDLES,
    { ...range, filters, stepSeconds: 60, interval: "1m" },
    null,
    100,
    bench.clock.wallMs(),
  );
  const result = await store.query(sql, params, BOUNDS);
  if (!result.ok) throw new Error(`${result.reason}: ${result.text}`);
  return result.rows;
}

const trade = (id: number, px: string, atMs: number): TestRow => ({
  ...{ rx: BigInt(atMs) * 1_000n, ex: BigInt(atMs), venue: "venuetwo", symbol: "OLD" },
  ...{ trade_id: String(id), px, qty: "1.5", taker_side: "BUY", seq: BigInt(id) },
});

const tick = (atMs: number, bid: string): TestRow => ({
  ...{ rx: BigInt(atMs) * 1_000n, ex: BigInt(atMs), venue: "venuetwo", symbol: "OLD", bid, bid_sz: "2" },
  ...{ ask: "101.25", ask_sz: "3", mark: "100.5", last: null, seq: 7n, src: "book" },
});

const fill = (id: string, px: string, side: "BUY" | "SELL"): TestRow => ({
  ...{ rx: BigInt(minuteMs) * 1_000n, ex: BigInt(minuteMs), at: BigInt(minuteMs), venue: "venueone", symbol: "OLD" },
  ...{ fill_id: id, ver: 5n, order_key: `key-${id}`, route_id: `rt-${id}`, direction: "LONG", side, px, qty: "1" },
});

describe.skipIf(CHDB_MISSING)(`a data folder of schema version 1 ${NEEDS_CHDB}`, () => {
  beforeAll(async () => {
    bench = new SidecarBench();
    minuteMs = Math.floor((bench.clock.wallMs() - 600_000) / 60_000) * 60_000;
    sidecar = await bench.sidecar();
    const run = (sql: string) => bench.command(sidecar, sql);
    await run("CREATE DATABASE unwind");
    await run(
      "CREATE TABLE unwind.records_meta (version UInt32, name String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)) ENGINE = ReplacingMergeTree ORDER BY version",
    );
    for (const sql of V1_STATEMENTS) await run(sql);
    await run("INSERT INTO unwind.records_meta (version, name) SELECT 1, 'tables of the record'");
    const at = (ms: number): string => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;
    const old = "INSERT INTO unwind.trades (rx, ex, venue, symbol, trade_id, px, qty, taker_side, seq) SELECT";
    // Separate parts, like separate batches.
    for (const [id, px, afterMs] of [
      [1, "100", 1_000],
      [2, "120.5", 2_000],
      [3, "90.25", 3_000],
    ] as const)
      await run(
        `${old} ${at(minuteMs + afterMs)}, ${at(minuteMs + afterMs)}, 'venuetwo', 'OLD', '${id}', '${px}', 1.5, 'BUY', ${id}`,
      );
    await run(
      `INSERT INTO unwind.ticks (rx, ex, venue, symbol, bid, bid_sz, ask, ask_sz, mark, last, seq, src) SELECT ${at(minuteMs)}, ${at(minuteMs)}, 'venuetwo', 'OLD', '100.25', 2, '101.25', 3, '100.5', NULL, 6, 'book'`,
    );
    await run(
      `INSERT INTO unwind.book_snapshots (rx, ex, venue, symbol, seq, bid_px, bid_sz, ask_px, ask_sz, reason) SELECT ${at(minuteMs)}, ${at(minuteMs)}, 'venuetwo', 'OLD', 6, [100.25, 100], [2, 1], [101.25], [3], 'gap'`,
    );
    await run(
      `INSERT INTO unwind.fills (rx, ex, at, venue, symbol, fill_id, ver, order_key, route_id, direction, side, px, qty) SELECT ${at(minuteMs)}, ${at(minuteMs)}, ${at(minuteMs)}, 'venueone', 'OLD', '1', 5, 'key-1', 'rt-1', 'LONG', 'SELL', '99.5', 1`,
    );
    store = bench.store(sidecar);
  }, 240_000);
  afterAll(async () => {
    await bench.dispose();
  });

  it(
    "keeps every row of its tables, its spool and its outbox, and new rows beside them",
    async () => {
      const stateStore = createMemoryStore();
      const spoolDirectory = join(bench.directory, "spool");
      mkdirSync(spoolDirectory);
      const spooled = [
        { table: "trades", rows: [trade(4, "110.125", minuteMs + 4_000)] },
        { table: "ticks", rows: [tick(minuteMs + 4_000, "100.75")] },
      ] as const;
      for (const [index, { table, rows }] of spooled.entries()) {
        const batch = {
          table,
          columns: oldNames(table),
          rowCount: 1,
          token: `old:${table}`,
          bytes: oldBytes(table, rows),
        };
        const name = spoolFileName({ order: 500_000_000_000 + index, table, rowCount: 1 });
        writeFileSync(join(spoolDirectory, name), Buffer.concat([...encodeSpoolFile(batch)]));
      }
      const month = new Date(minuteMs).toISOString().slice(0, 7).replace("-", "");
      const columnCount = v1Columns("fills").length;
      const claimedRow = oldBytes("fills", [fill("3", "0", "BUY")]);
      const header = Buffer.from(JSON.stringify({ table: "fills", columnCount, rowBytes: [claimedRow.length] }));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(header.length);
      await stateStore.commit({
        writes: [
          {
            namespace: "record-rows",
            key: `fills|${columnCount}|${month}|rt-2|key-2`,
            value: oldBytes("fills", [fill("2", "98.5", "BUY")]),
          },
          { namespace: "record-batches", key: "old:claimed", value: Buffer.concat([length, header, claimedRow]) },
        ],
      });
      expect(await store.start()).toMatchObject({ state: "on", reason: "" });
      const recorder = createRecorder({
        ...{ store, stateStore, spoolDirectory, clock: bench.clock, random: createSeededRandom(1) },
        ...{ logger: silentLogger, randomIds: seededIds(1), nodeId: "node-1" },
      });
      await recorder.start();
      const fine = testMarket({ symbol: "FINE", priceDecimals: 7, qtyDecimals: 0, multiplierExp10: 6 });
      recorder.watch(fine);
      setBook(fine, [[12_345, 1]], [[12_346, 1]], { seq: 1, rxNs: bench.clock.monoNs() });
      fine.signal.traded(fine, "BUY", 12_345, 2, "f1", bench.clock.wallMs(), bench.clock.monoNs());
      const old = testMarket({ venue: "venuetwo", symbol: "OLD", priceDecimals: 3 });
      recorder.watch(old);
      old.signal.traded(old, "SELL", 95_001, 1_500, "5", minuteMs + 5_000, bench.clock.monoNs());
      while (!(await recorder.flush(PATIENCE_MS))) {
        // The spool is replayed beside a flush.
        await delay(bench.clock, 20);
      }
      expect(imbalances(recorder)).toEqual([]);
      await recorder.stop(PATIENCE_MS);

      expect(
        await rowsOf("SELECT trade_id, toString(price) AS price FROM trades FINAL WHERE symbol = 'OLD' ORDER BY ex"),
      ).toEqual([
        { trade_id: "1", price: "100" },
        { trade_id: "2", price: "120.5" },
        { trade_id: "3", price: "90.25" },
        { trade_id: "4", price: "110.125" },
        { trade_id: "5", price: "95.001" },
      ]);
      expect(await rowsOf("SELECT toString(price) AS price FROM trades WHERE symbol = 'FINE'")).toEqual([
        { price: "0.0000000012345" },
      ]);
      expect(
        await rowsOf(
          "SELECT symbol, toString(bid_px) AS bid, toString(ask_px) AS ask, toString(mark_px) AS mark FROM ticks ORDER BY symbol, rx",
        ),
      ).toEqual([
        { symbol: "FINE", bid: "0.0000000012345", ask: "0.0000000012346", mark: null },
        { symbol: "OLD", bid: "100.25", ask: "101.25", mark: "100.5" },
        { symbol: "OLD", bid: "100.75", ask: "101.25", mark: "100.5" },
      ]);
      expect(
        await rowsOf(
          "SELECT toString(bid_prices) AS bids, toString(ask_prices) AS asks FROM book_snapshots WHERE symbol = 'OLD'",
        ),
      ).toEqual([{ bids: "[100.25,100]", asks: "[101.25]" }]);
      expect(
        await rowsOf(
          "SELECT fill_id, toString(price) AS price, intent, owner FROM fills FINAL WHERE symbol = 'OLD' ORDER BY fill_id",
        ),
      ).toEqual([
        { fill_id: "1", price: "99.5", intent: "CLOSE", owner: "local" },
        { fill_id: "2", price: "98.5", intent: "OPEN", owner: "local" },
        // A value recorded as 0 was unknown.
        { fill_id: "3", price: null, intent: "OPEN", owner: "local" },
      ]);
      expect(await candles("OLD")).toMatchObject([
        { open: "100", high: "120.5", low: "90.25", close: "95.001", volume: "7.5", trades: 5 },
      ]);
      expect(await candles("FINE")).toMatchObject([{ open: "0.0000000012345", low: "0.0000000012345", trades: 1 }]);
    },
    4 * PATIENCE_MS,
  );

  it("is migrated once, however many programs start at once", async () => {
    const again = [1, 2, 3].map(() => bench.store(sidecar));
    const states = await Promise.all(again.map((one) => one.start()));
    expect(states.map(({ state }) => state)).toEqual(["on", "on", "on"]);
    expect(await rowsOf("SELECT version FROM records_meta FINAL ORDER BY version")).toEqual([
      { version: 1 },
      { version: 2 },
      { version: 3 },
      { version: 4 },
    ]);
  });
});
