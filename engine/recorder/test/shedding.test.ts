/** Where room is short market data gives way, ticks first, and is counted; fills, orders and decisions never do. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Market } from "../../market/market.js";
import { madeUpConclusion } from "./made-up-close.js";
import { createCounts } from "../counters.js";
import { Spool } from "../spool.js";
import { spoolFileName } from "../spool-file.js";
import { setBook, testMarket } from "./markets.js";
import { createWorld, imbalances, listLogger, tableStatus, type World, type WorldOptions } from "./world.js";

const worlds: World[] = [];

async function world(options: WorldOptions = {}): Promise<World> {
  const created = await createWorld(options);
  worlds.push(created);
  return created;
}

afterEach(() => {
  for (const created of worlds.splice(0)) created.remove();
});

let price = 1000;
let tradeId = 0;

/** Five of each market table but one snapshot. */
function traffic({ recorder, clock }: World, market: Market): void {
  for (let index = 0; index < 5; index++) {
    price = price === 1000 ? 1001 : 1000;
    setBook(market, [[price, 5]], [[2000, 5]], { seq: 1, rxNs: clock.monoNs() });
    market.signal.traded(market, "BUY", 1000, 1, ++tradeId, clock.wallMs(), clock.monoNs());
  }
  recorder.beforeRoute(market);
}

/** New rows stored and shed since the last look. */
function watcher({ recorder }: World) {
  const TABLES = ["ticks", "trades", "book_snapshots"] as const;
  const read = () => TABLES.map((table) => tableStatus(recorder, table));
  let before = read();
  return (): Record<string, string> => {
    const now = read();
    const told = TABLES.map((table, index) => {
      const stored = (now[index]?.stored ?? 0) - (before[index]?.stored ?? 0);
      const shed = (now[index]?.dropped.room ?? 0) - (before[index]?.dropped.room ?? 0);
      return [table, shed > 0 && stored === 0 ? "shed" : shed === 0 && stored > 0 ? "stored" : `${stored}, ${shed}`];
    });
    before = now;
    return Object.fromEntries(told) as Record<string, string>;
  };
}

const ALL = { ticks: "stored", trades: "stored", book_snapshots: "stored" };
const NO_TICKS = { ...ALL, ticks: "shed" };
const NONE = { ticks: "shed", trades: "shed", book_snapshots: "shed" };

describe("a volume that gets short", () => {
  it("sheds ticks, then all market data, and takes it up again", async () => {
    const stage = await world();
    const market = testMarket();
    stage.recorder.watch(market);
    const seen = watcher(stage);
    for (const [space, expected, shed] of [
      ["AMPLE", ALL, "NOTHING"],
      ["TIGHT", NO_TICKS, "TICKS"],
      ["LOW", NONE, "MARKET"],
      ["FULL", NONE, "MARKET"],
      ["TIGHT", NO_TICKS, "TICKS"],
      ["AMPLE", ALL, "NOTHING"],
    ] as const) {
      stage.stateStore.space = space;
      traffic(stage, market);
      await stage.advance(1_000);
      expect([space, seen()]).toEqual([space, expected]);
      expect(stage.recorder.status().shed).toBe(shed);
      expect(imbalances(stage.recorder)).toEqual([]);
    }
    expect(stage.logLines.filter((line) => line.includes("recording_shed"))).toHaveLength(4);
  });

  it("keeps fills and decisions, and puts no market data on the disk while the store is away", async () => {
    const stage = await world();
    const market = testMarket();
    stage.recorder.watch(market);
    stage.store.fate = () => "lose";
    traffic(stage, market);
    await stage.until(() => stage.recorder.status().spool.files > 0);
    const files = readdirSync(stage.directory).length;
    stage.stateStore.space = "LOW";
    traffic(stage, market);
    await stage.advance(10_000);
    expect(readdirSync(stage.directory).length).toBeLessThanOrEqual(files);
    expect(readdirSync(stage.directory).filter((name) => name.includes("-ticks-"))).toEqual([]);
    const writes = stage.recorder.closes.decisionWrites(madeUpConclusion({ number: 1, atMs: stage.clock.wallMs() }));
    await stage.stateStore.commit({ writes });
    stage.recorder.closes.committed(writes);
    stage.store.fate = () => "store";
    await stage.until(() => tableStatus(stage.recorder, "routing_decisions").stored > 0);
    expect(tableStatus(stage.recorder, "fills").droppedTotal).toBe(0);
    expect(imbalances(stage.recorder)).toEqual([]);
  });
});

describe("the spool of a volume that gets short", () => {
  const ROWS = 10;

  it("takes no market data to the disk that was waiting for it, and counts it", async () => {
    const directory = mkdtempSync(join(tmpdir(), "spool-"));
    const counts = createCounts();
    const written: string[] = [];
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const spool = new Spool({
      ...{ directory, counts, logger: listLogger([]) },
      writeFile: async (path) => {
        await gate;
        written.push(path);
        writeFileSync(path, "");
      },
    });
    spool.openSync();
    const tables = ["ticks", "ticks", "trades", "routing_decisions", "book_snapshots", "ticks"] as const;
    for (const [number, table] of tables.entries())
      spool.put({ table, token: `t${number}`, rowCount: ROWS, columns: [], bytes: new Uint8Array(100) });
    spool.noteVolume(true);
    release();
    await spool.settled();
    // The first was on its way.
    expect(written.map((path) => path.replace(/.*-(\w+)-.*/, "$1"))).toEqual(["ticks", "routing_decisions"]);
    for (const [table, accepted] of [
      ["ticks", 3],
      ["trades", 1],
      ["book_snapshots", 1],
      ["routing_decisions", 1],
    ] as const) {
      const isKept = table === "routing_decisions";
      expect([table, counts[table].dropped.room]).toEqual([table, isKept ? 0 : accepted * ROWS]);
      expect([table, spool.pendingRows(table)]).toEqual([table, isKept ? ROWS : 0]);
    }
    expect(spool.byteCount).toBeLessThan(1_000);
    rmSync(directory, { recursive: true, force: true });
  });

  it("drops its ticks over many turns: twenty thousand files at once would hold up every exit for a second", async () => {
    const FILES = 2_000;
    const directory = mkdtempSync(join(tmpdir(), "spool-"));
    for (let order = 1; order <= FILES; order++)
      writeFileSync(join(directory, spoolFileName({ order, table: "ticks", rowCount: ROWS })), "");
    const counts = createCounts();
    const spool = new Spool({ directory, counts, logger: listLogger([]) });
    const accounted = () => counts.ticks.dropped.room + spool.pendingRows("ticks");
    spool.openSync();
    spool.noteVolume(true);
    expect(spool.fileCount).toBeGreaterThan(FILES - 100);
    // Room again, short again: the rest goes.
    spool.noteVolume(false);
    spool.noteVolume(true);
    expect(accounted()).toBe(FILES * ROWS);
    await new Promise((resolve) => setImmediate(resolve));
    expect(accounted()).toBe(FILES * ROWS);
    await spool.settled();
    expect([spool.fileCount, spool.byteCount, counts.ticks.dropped.room]).toEqual([0, 0, FILES * ROWS]);
    expect(readdirSync(directory)).toEqual(["quarantine"]);
    rmSync(directory, { recursive: true, force: true });
  });
});

describe("a store of ours that reaches its size", () => {
  it("sheds ticks at nine tenths of it, all market data at the whole, and goes on below", async () => {
    const stage = await world({ settings: { storeBytes: 1_000_000 } });
    const market = testMarket();
    stage.recorder.watch(market);
    const seen = watcher(stage);
    for (const [bytes, expected] of [
      [0, ALL],
      [899_999, ALL],
      [900_000, NO_TICKS],
      [1_000_000, NONE],
      [5_000_000, NONE],
      [950_000, NO_TICKS],
      [10, ALL],
    ] as const) {
      stage.store.bytesOnDisk = bytes;
      await stage.advance(11_000);
      seen();
      traffic(stage, market);
      await stage.advance(1_000);
      expect([bytes, seen()]).toEqual([bytes, expected]);
      expect(stage.recorder.status().storeBytes).toBe(bytes);
      expect(imbalances(stage.recorder)).toEqual([]);
    }
  });

  it("is not asked where it is another's, and keeps what it last said where it does not answer", async () => {
    const stage = await world();
    await stage.advance(30_000);
    expect(stage.store.sizeQueryCount).toBe(0);
    const ours = await world({ settings: { storeBytes: 1_000 } });
    ours.store.bytesOnDisk = 1_000;
    await ours.advance(11_000);
    ours.store.queryFails = true;
    ours.store.bytesOnDisk = 0;
    await ours.advance(60_000);
    expect(ours.recorder.status()).toMatchObject({ shed: "MARKET", storeBytes: 1_000 });
    expect(ours.store.sizeQueryCount).toBeLessThan(10);
  });
});
