/**
 * The recorder and the real engine: rows read back equal what was encoded, and every promised row is there after every
 * kill.
 *
 * Two kills: of the gateway alone, and of the gateway and the store. `KILLS=6` runs it whole.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "../../../gateway/children/test/sidecar.js";
import type { StorageSidecar } from "../../../gateway/app/storage-sidecar.js";
import { silentLogger } from "../../domain/logger.js";
import { createSeededRandom, systemRandom } from "../../domain/random.js";
import { openLmdbStore } from "../../storage/lmdb-store.js";
import type { RecordRow, RecordsStore } from "../../storage/records/records-store.js";
import type { RecordTableName } from "../../storage/records/record-table.js";
import { recordTable } from "../../storage/records/schema.js";
import { compileChild } from "../../storage/test/compile-child.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { createRecorder, type Recorder } from "../recorder.js";
import { RowWriter } from "../row-binary.js";
import { createRowCodec, type RowValues } from "../row-codec.js";
import { madeUpConclusion } from "./made-up-close.js";
import { setBook, testMarket } from "./markets.js";
import { imbalances, seededIds, tableStatus } from "./world.js";

const BOUNDS = { timeoutMs: 120_000, rowsMax: 100_000, bytesMax: 50_000_000 };

const KILLS = Number(process.env["KILLS"] ?? 2);
/** Time limits are high: the engine and its callers share a machine that may stall. */
const PATIENCE_MS = 90_000;

let bench: SidecarBench;
let sidecar: StorageSidecar;
let store: RecordsStore;
let token = 0;

async function rowsOf(sql: string, from = store): Promise<readonly RecordRow[]> {
  const result = await from.query(sql, {}, BOUNDS);
  if (!result.ok) throw new Error(`${result.reason}: ${result.text}`);
  return result.rows;
}

async function insert(name: RecordTableName, rows: readonly RowValues[]): Promise<void> {
  const codec = createRowCodec(recordTable(name));
  const writer = new RowWriter(Buffer.alloc(256));
  for (const row of rows) expect(codec.write(writer, row)).toBe(true);
  const bytes = writer.written();
  expect(await store.insert({ table: name, bytes, rowCount: rows.length, token: `chdb-test:${token++}` })).toEqual({
    outcome: "stored",
  });
}

describe.skipIf(CHDB_MISSING)(`the recorder on the real engine ${NEEDS_CHDB}`, () => {
  beforeAll(async () => {
    bench = new SidecarBench();
    sidecar = await bench.sidecar();
    store = bench.store(sidecar);
    expect(await store.start()).toMatchObject({ state: "on" });
  }, 240_000);
  afterAll(async () => {
    await bench.dispose();
  });

  it("reads back every figure of every type unchanged", async () => {
    const digits = (max: bigint) => fc.bigInt({ min: -max, max });
    const money = digits(10n ** 38n - 1n);
    const rows = fc.sample(
      fc.record({
        px: money,
        qty: money,
        quoted: fc.option(money),
        ver: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        name: fc.string({ unit: "binary", maxLength: 300 }),
      }),
      { numRuns: 200, seed: 7 },
    );
    await insert(
      "fills",
      rows.map((row, index) => ({
        ...{
          rx: 1_790_000_000_123_456 + index,
          ex: 1_790_000_000_123,
          at: 1_790_000_000_000,
          venue: "venueone",
          symbol: "X",
        },
        ...{
          fill_id: String(index),
          ver: String(row.ver),
          order_key: row.name,
          route_id: "",
          request_id: "",
          wallet_id: "",
        },
        ...{
          direction: "LONG",
          side: index % 2 === 0 ? "BUY" : "SELL",
          order_type: "MARKET",
          price: text(row.px, 18),
          intent: "CLOSE",
          qty: text(row.qty, 18),
        },
        ...{ ordered_qty: "0", fee: null, fee_asset: "", fee_source: "", maker: index % 2 === 0, realized_pnl: null },
        ...{
          quoted_px: row.quoted === null ? null : text(row.quoted, 18),
          worst_px: null,
          ref_mid: null,
          owner: "ow_alice",
        },
      })),
    );
    const read = await rowsOf(
      "SELECT toUnixTimestamp64Micro(rx) AS rx, toString(ver) AS ver, toString(price) AS px, toString(qty) AS qty, toString(quoted_px) AS quoted, side, maker, owner, hex(order_key) AS name FROM fills WHERE symbol = 'X' ORDER BY toUInt32(fill_id)",
    );
    expect(read).toEqual(
      rows.map((row, index) => ({
        rx: String(1_790_000_000_123_456 + index),
        ver: String(row.ver),
        px: text(row.px, 18),
        qty: text(row.qty, 18),
        quoted: row.quoted === null ? null : text(row.quoted, 18),
        side: index % 2 === 0 ? "BUY" : "SELL",
        maker: index % 2 === 0 ? 1 : 0,
        owner: "ow_alice",
        name: Buffer.from(row.name, "utf8").toString("hex").toUpperCase(),
      })),
    );
  });

  it("records ticks, trades, snapshots and latencies of markets, with multiplier and huge sizes", async () => {
    const recorder = await startRecorder("markets", createMemoryStore());
    const coin = testMarket({ symbol: "PEPE", priceDecimals: 6, qtyDecimals: 0, multiplierExp10: 3 });
    recorder.watch(coin);
    coin.ticker.markPrice = "0.0123456";
    setBook(coin, [[12_345, 9_007_199_254_740_991]], [[12_346, 7]], {
      seq: 5,
      exMs: 1_790_000_000_000,
      rxNs: bench.clock.monoNs(),
    });
    coin.signal.traded(
      coin,
      "SELL",
      12_345,
      3,
      "340282366920938463463374607431768211455",
      bench.clock.wallMs() - 50,
      bench.clock.monoNs(),
    );
    coin.signal.traded(
      coin,
      "SELL",
      12_345,
      3,
      "340282366920938463463374607431768211455",
      bench.clock.wallMs() - 50,
      bench.clock.monoNs(),
    );
    recorder.beforeRoute(coin);
    for (let us = 1; us <= 100; us++) recorder.latency("venue", "venueone", us);
    await recorder.stop(PATIENCE_MS);
    expect(imbalances(recorder)).toEqual([]);
    expect(
      await rowsOf(
        "SELECT bid_px AS bid, bid_sz, ask_px AS ask, ask_sz, mark_px AS mark, last_px AS last, seq, src FROM ticks WHERE symbol = 'PEPE'",
      ),
    ).toEqual([
      // 12.345 thousandths for a contract of 1000 coins; sizes count the coins.
      {
        bid: "0.000012345",
        bid_sz: "9007199254740991000",
        ask: "0.000012346",
        ask_sz: "7000",
        mark: "0.0000123456",
        last: null,
        seq: "5",
        src: "book",
      },
    ]);
    expect(await rowsOf("SELECT trade_id, price AS px, qty, taker_side FROM trades WHERE symbol = 'PEPE'")).toEqual([
      { trade_id: "340282366920938463463374607431768211455", px: "0.000012345", qty: "3000", taker_side: "SELL" },
    ]);
    expect(
      await rowsOf("SELECT bid_prices AS bid_px, bid_sz, reason FROM book_snapshots WHERE symbol = 'PEPE'"),
    ).toEqual([{ bid_px: ["0.000012345"], bid_sz: ["9007199254740991000"], reason: "pre-route" }]);
    expect(await rowsOf("SELECT n, p50_us, max_us FROM latency_samples WHERE stage = 'venue'")).toEqual([
      { n: "100", p50_us: 50, max_us: 100 },
    ]);
  });

  it("records a close as one decision, three events and one fill, figures exact", async () => {
    const stateStore = createMemoryStore();
    const recorder = await startRecorder("closes", stateStore);
    const writes = recorder.closes.decisionWrites(madeUpConclusion({ number: 777_001, atMs: bench.clock.wallMs() }));
    await stateStore.commit({ writes });
    recorder.closes.committed(writes);
    expect(await recorder.flush(PATIENCE_MS)).toBe(true);
    await recorder.stop(PATIENCE_MS);
    const where = "WHERE route_id = 'rt_0000777001'";
    expect(
      await rowsOf(
        `SELECT price AS px, qty, fee, fee_source, realized_pnl, quoted_px, worst_px, ref_mid, fill_id FROM fills ${where}`,
      ),
    ).toEqual([
      {
        ...{
          px: "99900.123456789",
          qty: "0.25",
          fee: "11.2387",
          fee_source: "venue",
          realized_pnl: "2475.03086419725",
        },
        ...{ quoted_px: "99900.5", worst_px: "99000", ref_mid: "99950.25", fill_id: "9007199254740993777001" },
      },
    ]);
    expect(await rowsOf(`SELECT status, filled FROM order_events ${where} ORDER BY ver`)).toEqual([
      { status: "INTENT", filled: "0" },
      { status: "SENT", filled: "0" },
      { status: "FILLED", filled: "0.25" },
    ]);
    expect(
      await rowsOf(
        `SELECT kind, state, c_venue, c_status, c_vwap, c_book_seq, c_book_age_us, total_us, vs_quote_bps FROM routing_decisions ${where}`,
      ),
    ).toEqual([
      {
        ...{
          kind: "replied",
          state: "COMPLETED",
          c_venue: ["venueone", "venuetwo"],
          c_status: ["selected", "ineligible"],
        },
        ...{ c_vwap: ["99900.5", null], c_book_seq: ["18446744073709551615", null], c_book_age_us: ["3000", null] },
        ...{ total_us: 30_200, vs_quote_bps: "0.04" },
      },
    ]);
    expect(await rowsOf("SELECT status FROM orders_latest FINAL WHERE route_id = 'rt_0000777001'")).toEqual([
      { status: "FILLED" },
    ]);
  });

  it("loses no close and doubles none when gateway and store are killed in turn", { timeout: 400_000 }, async () => {
    const random = createSeededRandom(Number(process.env.FUZZ_SEED ?? 21));
    const directory = mkdtempSync(join(bench.directory, "killed-"));
    const killable = await bench.sidecar("killed-data");
    const reader = bench.store(killable);
    expect(await reader.start()).toMatchObject({ state: "on" });
    const endpointFile = join(directory, "endpoint.json");
    const program = compileChild("engine/recorder/test/recorder.child.ts", join(directory, "compiled"));
    const tellEndpoint = (): void => {
      // Complete or not at all: the child reads it at every call.
      writeFileSync(`${endpointFile}.part`, JSON.stringify(killable.endpoint()));
      renameSync(`${endpointFile}.part`, endpointFile);
    };
    const durable = new Set<number>();
    let storedTicks = 0;
    let restarted: Promise<void> = Promise.resolve();
    for (let round = 0; round < KILLS; round++) {
      const killsStore = round % 2 === 1;
      await restarted;
      tellEndpoint();
      const child = spawn(process.execPath, [program, directory, endpointFile, String(round * 100_000)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const closesMax = 60 + Math.floor(random.next() * 100);
      const storeAt = Math.floor(random.next() * 50);
      let storedInRound = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        if (line.startsWith("stored ")) storedInRound = Number(line.slice(7));
        if (!line.startsWith("close ")) continue;
        durable.add(Number(line.slice(6)));
        const count = Number(line.slice(6)) - round * 100_000;
        if (killsStore && count === storeAt) {
          restarted = killStore(killable);
          void restarted.then(tellEndpoint);
        }
        // Where the store survives, ticks have reached it before the end.
        if (count >= closesMax && (killsStore || storedInRound > 0)) child.kill("SIGKILL");
      }
      storedTicks += storedInRound;
      await gone(child);
    }
    // The next start sends what the last one left.
    const stateStore = openLmdbStore({ directory: join(directory, "state"), clock: bench.clock });
    await restarted;
    const last = createRecorder({
      ...{ store: reader, stateStore, clock: bench.clock, random: systemRandom, logger: silentLogger },
      spoolDirectory: join(directory, "spool"),
      randomIds: seededIds(999_999),
      nodeId: "node-1",
    });
    await last.start();
    for (let tries = 0; tries < 40 && !(await last.flush(5_000)); tries++) {
      // The store may still be starting.
    }
    expect(imbalances(last)).toEqual([]);
    expect(tableStatus(last, "fills").pending).toBe(0);
    await last.stop(PATIENCE_MS);
    await stateStore.close();

    const per = { fills: 1, order_events: 3, routing_decisions: 1 };
    for (const [table, rowsEach] of Object.entries(per)) {
      const rows = await rowsOf(`SELECT route_id AS id, count() AS n FROM ${table} GROUP BY route_id`, reader);
      const wrong = rows.filter(({ n }) => Number(n) !== rowsEach);
      expect({ table, wrong }).toEqual({ table, wrong: [] });
      const ids = new Set(rows.map(({ id }) => Number(String(id).slice(3))));
      expect({ table, lost: [...durable].filter((number) => !ids.has(number)) }).toEqual({ table, lost: [] });
      // At most one conclusion a round was durable but not yet printed.
      expect(ids.size - durable.size).toBeLessThanOrEqual(KILLS);
    }
    expect(durable.size).toBeGreaterThanOrEqual(KILLS * 60);
    // A kill may lose ticks but never doubles them: each has its own sequence within a round.
    expect(
      await rowsOf(
        "SELECT count() AS n FROM (SELECT rx, seq FROM ticks GROUP BY rx, seq, bid HAVING count() > 1)",
        reader,
      ),
    ).toEqual([{ n: "0" }]);
    // Rows that the store acknowledged survive its kill.
    expect(storedTicks).toBeGreaterThan(0);
    const ticks = await rowsOf("SELECT count() AS n FROM ticks", reader);
    expect(Number(ticks[0]?.n)).toBeGreaterThanOrEqual(storedTicks);
  });

  async function startRecorder(name: string, stateStore: ReturnType<typeof createMemoryStore>): Promise<Recorder> {
    const recorder = createRecorder({
      ...{ store, stateStore, clock: bench.clock, random: systemRandom, logger: silentLogger },
      spoolDirectory: join(bench.directory, `spool-${name}`),
      randomIds: seededIds(name.length * 1000),
      nodeId: "node-1",
    });
    await recorder.start();
    return recorder;
  }
});

/** As ClickHouse prints a decimal: without trailing zeros. */
function text(value: bigint, places: number): string {
  const digits = String(value < 0n ? -value : value).padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  const body = digits.slice(0, -places) + (fraction === "" ? "" : `.${fraction}`);
  return value < 0n ? `-${body}` : body;
}

/** Resolves with the address of the next child: a killed one counts as alive until its end is noticed. */
async function killStore(sidecar: StorageSidecar): Promise<void> {
  const { processId, startCount } = sidecar.state();
  process.kill(processId as number, "SIGKILL");
  await expect.poll(() => sidecar.state().startCount).toBeGreaterThan(startCount);
  await sidecar.settled();
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
