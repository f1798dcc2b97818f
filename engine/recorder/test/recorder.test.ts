/** The whole recorder on market data: what reaches the store, and the counts of what does not. */
import { readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../domain/random.js";
import { INVALID_GAP } from "../../market/book.js";
import type { Market } from "../../market/market.js";
import type { InsertFate } from "./fake-store.js";
import { setBook, testMarket } from "./markets.js";
import { createWorld, imbalances, tableStatus, type World, type WorldOptions } from "./world.js";

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

/** One new best bid each. */
function tick(market: Market, clock: { monoNs(): number }, count = 1): void {
  for (let index = 0; index < count; index++) {
    price = price === 1000 ? 1001 : 1000;
    setBook(market, [[price, 5]], [[2000, 5]], { seq: 1, rxNs: clock.monoNs() });
  }
}

function spoolFiles(directory: string): string[] {
  return readdirSync(directory).filter((name) => name.endsWith(".rows"));
}

/** A new file is on the disk a moment before the oldest one is removed. */
function bytesOf(directory: string): number {
  return spoolFiles(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

describe("a recorder whose store answers", () => {
  it("stores every tick within a drain and its insert, in batches of at most batchRows", async () => {
    const { recorder, store, clock, advance } = await world();
    const market = testMarket();
    recorder.watch(market);
    tick(market, clock, 120);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ accepted: 120, pending: 120, stored: 0 });
    await advance(300);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ accepted: 120, pending: 0, stored: 120 });
    expect([...store.batches.values()].map(({ rowCount }) => rowCount)).toEqual([50, 50, 20]);
    expect(imbalances(recorder)).toEqual([]);
  });

  it("drops and counts the oldest ticks of a full ring", async () => {
    const { recorder, clock, advance } = await world({ settings: { tickRows: 64 } });
    const market = testMarket();
    recorder.watch(market);
    tick(market, clock, 100);
    await advance(300);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ accepted: 100, stored: 64 });
    expect(tableStatus(recorder, "ticks").dropped.ring).toBe(36);
  });

  it("receives nothing after a watch has ended, and each tick once from a market watched twice", async () => {
    const { recorder, clock } = await world();
    const market = testMarket();
    const end = recorder.watch(market);
    recorder.watchAll([market, testMarket({ symbol: "ETH" })]);
    tick(market, clock, 3);
    end();
    tick(market, clock, 3);
    expect(tableStatus(recorder, "ticks").accepted).toBe(3);
    expect(recorder.status().marketCount).toBe(1);
  });

  it("drops markets that are no longer listed, also where a new one has their name", async () => {
    const { recorder, clock } = await world();
    const [kept, listedAnew, delisted] = [testMarket(), testMarket({ symbol: "ETH" }), testMarket({ symbol: "SOL" })];
    recorder.watchAll([kept, listedAnew, delisted]);
    const again = testMarket({ symbol: "ETH" });
    recorder.watchAll([kept, again]);
    expect(recorder.status().marketCount).toBe(2);
    tick(delisted, clock);
    tick(listedAnew, clock);
    expect(tableStatus(recorder, "ticks").accepted).toBe(0);
    tick(kept, clock);
    tick(again, clock);
    expect(tableStatus(recorder, "ticks").accepted).toBe(2);
  });

  it("takes one periodic snapshot of each market per interval, and one before a route", async () => {
    const { recorder, clock, advance } = await world();
    const markets = Array.from({ length: 10 }, (_, index) => testMarket({ symbol: `S${index}` }));
    recorder.watchAll(markets);
    for (const market of markets) tick(market, clock);
    await advance(2_000);
    const accepted = tableStatus(recorder, "book_snapshots").accepted;
    expect(accepted).toBeGreaterThanOrEqual(18);
    expect(accepted).toBeLessThanOrEqual(20);
    tick(markets[0] as Market, clock);
    recorder.beforeRoute(markets[0] as Market);
    recorder.beforeRoute(markets[0] as Market);
    expect(tableStatus(recorder, "book_snapshots").accepted).toBe(accepted + 1);
  });

  it("turns latencies into one row per stage, venue and interval", async () => {
    const { recorder, store, advance } = await world();
    for (let us = 1; us <= 1000; us++) recorder.latency("venue", "venueone", us);
    recorder.latency("decide", "", 12);
    await advance(5_500);
    expect(store.rowCount("latency_samples")).toBe(2);
    await advance(6_000);
    expect(store.rowCount("latency_samples")).toBe(2);
  });
});

describe("a recorder whose store is away", () => {
  it("puts batches on the disk and sends them later in order, same token and bytes, beside fresh ones", async () => {
    const { recorder, store, clock, advance, until, directory } = await world();
    const market = testMarket();
    recorder.watch(market);
    store.status = { ...store.status, state: "away" };
    for (let second = 0; second < 120; second++) {
      tick(market, clock, 20);
      await advance(1_000);
    }
    expect(tableStatus(recorder, "ticks").stored).toBe(0);
    expect(spoolFiles(directory).length).toBeGreaterThan(10);
    // One probe at a time, with pauses, and never a burst.
    expect(store.insertCount).toBeLessThan(60);
    expect(imbalances(recorder)).toEqual([]);
    store.status = { ...store.status, state: "on" };
    tick(market, clock, 20);
    await until(() => tableStatus(recorder, "ticks").pending === 0);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ accepted: 2_420, stored: 2_420, pending: 0 });
    expect(store.rowCount("ticks")).toBe(2_420);
    expect(store.tokenClashes).toBe(0);
    await until(() => spoolFiles(directory).length === 0);
  });

  it("drops nothing for a slow store: the queue overflows to the disk, and drains later", async () => {
    const { recorder, store, clock, advance, until } = await world({ settings: { queueBytes: 40_000 } });
    const market = testMarket();
    recorder.watch(market);
    store.latency = () => new Promise((resolve) => clock.setTimer(resolve, 2_000));
    for (let round = 0; round < 40; round++) {
      tick(market, clock, 200);
      await advance(250);
      expect(imbalances(recorder)).toEqual([]);
    }
    expect(tableStatus(recorder, "ticks").spooled).toBeGreaterThan(0);
    expect(store.maxInFlight).toBeLessThanOrEqual(4);
    store.latency = async () => {};
    await until(() => tableStatus(recorder, "ticks").pending === 0);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ stored: 8_000, droppedTotal: 0, pending: 0 });
    expect(store.rowCount("ticks")).toBe(8_000);
  });

  it("sends larger inserts to a store that takes two a second, instead of letting the queue grow", async () => {
    const { recorder, store, clock, advance } = await world({ settings: { batchRows: 1_000 } });
    const market = testMarket();
    recorder.watch(market);
    store.latency = () => new Promise((resolve) => clock.setTimer(resolve, 1_000));
    for (let second = 0; second < 60; second++) {
      for (let drain = 0; drain < 4; drain++) {
        tick(market, clock, 5);
        await advance(250);
      }
      // Only rows that arrived while earlier batches were being sent, not more with every second.
      expect(tableStatus(recorder, "ticks").pending).toBeLessThan(400);
    }
    expect(tableStatus(recorder, "ticks").spooled).toBe(0);
  });

  it("drops and counts the oldest rows beyond the spool's bound", async () => {
    const { recorder, store, clock, advance, until, directory } = await world({ settings: { spoolBytes: 40_000 } });
    const market = testMarket();
    recorder.watch(market);
    store.status = { ...store.status, state: "away" };
    for (let round = 0; round < 40; round++) {
      tick(market, clock, 50);
      await advance(500);
      expect(imbalances(recorder)).toEqual([]);
    }
    // The disk takes its own time; only the bound drops rows here.
    await until(() => tableStatus(recorder, "ticks").dropped["spool-full"] > 500 && bytesOf(directory) <= 40_000);
    store.status = { ...store.status, state: "on" };
    await until(() => tableStatus(recorder, "ticks").pending === 0);
    expect(store.rowCount("ticks")).toBe(2_000 - tableStatus(recorder, "ticks").droppedTotal);
  });

  it("loses only counted batches to a full disk, and uses the disk again when it has space", async () => {
    let isFull = true;
    const failing = async (path: string, parts: readonly Uint8Array[]): Promise<void> => {
      if (isFull) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      writeFileSync(path, Buffer.concat(parts));
    };
    const { recorder, store, clock, advance, until, logLines } = await world({ writeFile: failing });
    const market = testMarket();
    recorder.watch(market);
    store.status = { ...store.status, state: "away" };
    for (let round = 0; round < 10; round++) {
      tick(market, clock, 60);
      await advance(1_000);
      expect(imbalances(recorder)).toEqual([]);
    }
    const lost = tableStatus(recorder, "ticks").dropped["disk-full"];
    expect(lost).toBeGreaterThan(200);
    expect(logLines.filter((line) => line.includes("spool_write_failed"))).toHaveLength(1);
    isFull = false;
    tick(market, clock, 60);
    await advance(6_000);
    expect(tableStatus(recorder, "ticks").spooled).toBeGreaterThan(0);
    store.status = { ...store.status, state: "on" };
    await until(() => tableStatus(recorder, "ticks").pending === 0);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ accepted: 660, pending: 0 });
    expect(store.rowCount("ticks")).toBe(660 - tableStatus(recorder, "ticks").droppedTotal);
  });

  it("finds out by a fresh batch that the store answers again, when the disk holds nothing", async () => {
    const refuse = async (): Promise<void> => {
      throw Object.assign(new Error("read-only"), { code: "EROFS" });
    };
    const { recorder, store, clock, advance } = await world({ writeFile: refuse });
    const market = testMarket();
    recorder.watch(market);
    store.status = { ...store.status, state: "away" };
    tick(market, clock, 10);
    await advance(6_000);
    store.status = { ...store.status, state: "on" };
    for (let round = 0; round < 20; round++) {
      tick(market, clock, 10);
      await advance(1_000);
    }
    expect(tableStatus(recorder, "ticks").stored).toBeGreaterThan(50);
    expect(tableStatus(recorder, "ticks").dropped["disk-error"]).toBeGreaterThan(0);
    expect(imbalances(recorder)).toEqual([]);
  });
});

describe("a batch that the server refuses for good", () => {
  it("is set aside, counted and logged once, and blocks nothing", async () => {
    const { recorder, store, clock, advance, directory, logLines } = await world();
    const market = testMarket();
    recorder.watch(market);
    store.fate = (batch) => (batch.table === "ticks" ? "refuse" : "store");
    recorder.latency("venue", "venueone", 5);
    tick(market, clock, 150);
    await advance(6_000);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ stored: 0, pending: 0 });
    expect(tableStatus(recorder, "ticks").dropped.refused).toBe(150);
    expect(tableStatus(recorder, "latency_samples").stored).toBe(1);
    expect(logLines.filter((line) => line.includes("records_batch_refused"))).toHaveLength(1);
    expect(readdirSync(join(directory, "quarantine")).length).toBe(3);
    store.fate = () => "store";
    tick(market, clock, 10);
    await advance(500);
    expect(tableStatus(recorder, "ticks").stored).toBe(10);
  });

  it("is not kept in memory for a disk that does not take it", async () => {
    let keptBytes = 0;
    const stuck = (_path: string, parts: readonly Uint8Array[]): Promise<void> => {
      keptBytes += (parts.at(-1) as Uint8Array).length;
      return new Promise(() => {});
    };
    const { recorder, store, clock, advance } = await world({
      writeFile: stuck,
      settings: { spoolMemoryBytes: 20_000 },
    });
    const market = testMarket();
    recorder.watch(market);
    store.fate = () => "refuse";
    for (let round = 0; round < 40; round++) {
      tick(market, clock, 50);
      await advance(500);
    }
    expect(tableStatus(recorder, "ticks").dropped.refused).toBe(2_000);
    expect(keptBytes).toBeGreaterThan(10_000);
    expect(keptBytes).toBeLessThanOrEqual(20_000);
  });

  it("is kept for a person over starts, beside those of earlier starts", async () => {
    const kept: string[] = [];
    let directory: string | null = null;
    // Directly from memory, and through the disk; each start begins with an empty spool.
    for (const [round, viaDisk] of [false, true, false, true].entries()) {
      const life: World = await world({ seed: round + 1, ...(directory === null ? {} : { directory }) });
      const { recorder, store, clock } = life;
      directory ??= life.directory;
      const market = testMarket();
      recorder.watch(market);
      if (viaDisk) {
        store.status = { ...store.status, state: "away" };
        tick(market, clock, 10);
        await life.until(() => tableStatus(recorder, "ticks").spooled === 10);
        store.status = { ...store.status, state: "on" };
      } else tick(market, clock, 10);
      store.fate = (batch) => (batch.table === "ticks" ? "refuse" : "store");
      await life.until(() => tableStatus(recorder, "ticks").dropped.refused === 10);
      const quarantine = join(directory, "quarantine");
      await life.until(() => readdirSync(quarantine).length > round);
      await life.run(recorder.stop(1_000));
      const names = readdirSync(quarantine).sort();
      expect(names).toEqual(expect.arrayContaining(kept));
      expect(names).toHaveLength(round + 1);
      kept.splice(0, kept.length, ...names);
    }
  });
});

describe("a new start of the recorder", () => {
  it("stores what the previous one left on the disk, once, also where the store had it already", async () => {
    const first = await world();
    const market = testMarket();
    first.recorder.watch(market);
    // Stored, but the reply never came: the batch is on the disk as well.
    first.store.fate = () => "storeWithoutReply";
    tick(market, first.clock, 120);
    await first.advance(1_000);
    first.store.status = { ...first.store.status, state: "away" };
    await first.recorder.stop(0);
    expect(imbalances(first.recorder)).toEqual([]);
    expect(spoolFiles(first.directory).length).toBeGreaterThan(0);

    first.store.fate = () => "store";
    first.store.status = { ...first.store.status, state: "on" };
    const second = await world({ directory: first.directory, store: first.store, clock: first.clock, seed: 2 });
    expect(tableStatus(second.recorder, "ticks")).toMatchObject({ accepted: 0 });
    await second.until(() => tableStatus(second.recorder, "ticks").pending === 0);
    const ticks = tableStatus(second.recorder, "ticks");
    expect(ticks).toMatchObject({ pending: 0, droppedTotal: 0, stored: ticks.recovered });
    expect(first.store.rowCount("ticks")).toBe(120);
    expect(imbalances(second.recorder)).toEqual([]);
  });

  it("recognises torn files, sets them aside and continues with the rest", async () => {
    const first = await world();
    const market = testMarket();
    first.recorder.watch(market);
    first.store.status = { ...first.store.status, state: "away" };
    tick(market, first.clock, 150);
    await first.advance(1_000);
    await first.recorder.stop(0);
    const [torn, damaged] = spoolFiles(first.directory).filter((name) => name.includes("ticks")) as [string, string];
    truncateSync(join(first.directory, torn), 100);
    const path = join(first.directory, damaged);
    const size = statSync(path).size;
    truncateSync(path, size - 1);
    writeFileSync(path, "\xff", { flag: "a" });
    writeFileSync(join(first.directory, "000000000001-ticks-50.rows.part"), "half");
    writeFileSync(join(first.directory, "a file of somebody else"), "");

    first.store.status = { ...first.store.status, state: "on" };
    const second = await world({ directory: first.directory, store: first.store, seed: 3 });
    await second.until(() => second.recorder.status().spool.files === 0);
    const ticks = tableStatus(second.recorder, "ticks");
    expect(ticks).toMatchObject({ recovered: 150, stored: 50, pending: 0 });
    expect(ticks.dropped.torn).toBe(100);
    expect(second.recorder.status().spool).toMatchObject({ files: 0, tornFiles: 3 });
    expect(readdirSync(join(first.directory, "quarantine")).sort()).toEqual([torn, damaged].sort());
  });
});

describe("a recorder that is off", () => {
  it("counts and drops everything, and logs that once", async () => {
    const { recorder, store, clock, advance, logLines } = await world();
    store.status = { state: "off", reason: "chdb is not installed", version: null };
    const market = testMarket();
    recorder.watch(market);
    tick(market, clock, 30);
    market.signal.traded(market, "BUY", 1000, 1, 1, 1, 1);
    recorder.latency("venue", "venueone", 1);
    await advance(10_000);
    expect(tableStatus(recorder, "ticks")).toMatchObject({ accepted: 30, stored: 0, pending: 0 });
    expect(tableStatus(recorder, "ticks").dropped.off).toBe(30);
    expect(tableStatus(recorder, "trades").dropped.off).toBe(1);
    expect(store.insertCount).toBe(0);
    expect(logLines).toEqual(['warn recording_off {"reason":"chdb is not installed"}']);
    expect(imbalances(recorder)).toEqual([]);
  });
});

describe("a recorder under random faults", () => {
  const FATES: readonly InsertFate[] = ["store", "store", "store", "lose", "storeWithoutReply", "refuse", "throw"];

  async function storm(seed: number): Promise<void> {
    const random = createSeededRandom(seed);
    let created = await world({ seed, settings: { spoolBytes: 60_000, queueBytes: 30_000 }, writeFile: disk(random) });
    const { store, clock, directory, stateStore } = created;
    const markets = [testMarket(), testMarket({ symbol: "ETH", priceDecimals: 2 })];
    created.recorder.watchAll(markets);
    store.latency = () => new Promise((resolve) => clock.setTimer(resolve, random.next() < 0.1 ? 3_000 : 5));
    for (let step = 0; step < 120; step++) {
      const { recorder } = created;
      const calm = step > 100;
      store.fate = () => (calm ? "store" : (FATES[Math.floor(random.next() * FATES.length)] as InsertFate));
      if (random.next() < 0.1) store.status = { ...store.status, state: calm ? "on" : "away" };
      else if (random.next() < 0.3 || calm) store.status = { ...store.status, state: "on" };
      const market = markets[step % 2] as Market;
      tick(market, clock, Math.floor(random.next() * 300));
      market.signal.traded(market, "BUY", 1000, 1, Math.floor(random.next() * 100), 1, clock.monoNs());
      if (random.next() < 0.1) market.book.invalidate(INVALID_GAP);
      if (random.next() < 0.1) recorder.latency("venue", "venueone", random.next() * 1e6);
      await created.advance(Math.floor(random.next() * 900));
      expect(imbalances(recorder), `seed ${seed} step ${step}`).toEqual([]);
      if (random.next() < 0.03) {
        await created.run(recorder.stop(500));
        expect(imbalances(recorder), `seed ${seed} stop at ${step}`).toEqual([]);
        created = await world({
          ...{ directory, store, clock, stateStore, seed: seed * 1000 + step },
          settings: { spoolBytes: 60_000, queueBytes: 30_000 },
          writeFile: disk(random),
        });
        created.recorder.watchAll(markets);
      }
    }
    const last = created.recorder;
    await created.until(() => tableStatus(last, "ticks").pending === 0);
    expect(imbalances(last)).toEqual([]);
    expect(store.tokenClashes).toBe(0);
  }

  it.each(Array.from({ length: 8 }, (_, index) => Number(process.env.FUZZ_SEED ?? index + 1)))(
    "has accepted + recovered = stored + dropped + pending after every step (seed %d)",
    { timeout: 120_000 },
    storm,
  );
});

/** Sometimes full, sometimes broken. */
function disk(random: Random) {
  return async (path: string, parts: readonly Uint8Array[]): Promise<void> => {
    const draw = random.next();
    if (draw < 0.05) throw Object.assign(new Error("full"), { code: "ENOSPC" });
    if (draw < 0.07) throw Object.assign(new Error("broken"), { code: "EIO" });
    writeFileSync(path, Buffer.concat(parts));
  };
}
