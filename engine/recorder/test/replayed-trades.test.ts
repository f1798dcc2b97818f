/**
 * Venues send the last trades again on each subscription: after a restart or for a new market object none of them is
 * counted twice.
 */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "../../../gateway/children/test/sidecar.js";
import type { Clock } from "../../domain/clock.js";
import { silentLogger } from "../../domain/logger.js";
import { systemRandom } from "../../domain/random.js";
import type { Market } from "../../market/market.js";
import type { RecordRow, RecordsStore } from "../../storage/records/records-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { createRecorder, type Recorder } from "../recorder.js";
import { testMarket } from "./markets.js";
import { createWorld, imbalances, seededIds, tableStatus, type World, type WorldOptions } from "./world.js";

const BOUNDS = { timeoutMs: 120_000, rowsMax: 100_000, bytesMax: 50_000_000 };
/** Time limits are high: the engine and its callers share a machine that may stall. */
const PATIENCE_MS = 90_000;
const MINUTE_MS = 60_000;

describe.skipIf(CHDB_MISSING)(`trades that a venue sends again, on the real engine ${NEEDS_CHDB}`, () => {
  let bench: SidecarBench;
  let store: RecordsStore;
  let lives = 0;

  beforeAll(async () => {
    bench = new SidecarBench();
    store = bench.store(await bench.sidecar());
    expect(await store.start()).toMatchObject({ state: "on" });
  }, 240_000);
  afterAll(async () => {
    await bench.dispose();
  });

  async function life(name: string, from: RecordsStore = store, clock: Clock = bench.clock): Promise<Recorder> {
    lives += 1;
    const recorder = createRecorder({
      ...{ store: from, stateStore: createMemoryStore(), clock, random: systemRandom },
      spoolDirectory: join(bench.directory, `spool-${name}`),
      randomIds: seededIds(lives),
      logger: silentLogger,
      nodeId: "node-1",
    });
    await recorder.start();
    return recorder;
  }

  /** A whole minute of the past, so that all trades of a test are in one candle. */
  function minuteMs(): number {
    return (Math.floor(bench.clock.wallMs() / MINUTE_MS) - 3) * MINUTE_MS;
  }

  function trade(market: Market, number: number, exMs: number): void {
    market.signal.traded(market, "BUY", 1000 + number, 1, number, exMs, bench.clock.monoNs());
  }

  async function candleOf(symbol: string): Promise<RecordRow | undefined> {
    const result = await store.query(
      "SELECT toString(sum(n)) AS n, toString(sum(v)) AS v, toString(argMinMerge(open)) AS open," +
        " toString(argMaxMerge(close)) AS close FROM ohlcv_1m WHERE symbol = {symbol:String}",
      { symbol },
      BOUNDS,
    );
    if (!result.ok) throw new Error(result.text);
    return result.rows[0];
  }

  it("are counted once in a candle across restarts", { timeout: 200_000 }, async () => {
    const exMs = minuteMs();
    for (const [from, lastNumber] of [
      [1, 6],
      [2, 7],
      [3, 8],
    ] as const) {
      const recorder = await life("restarts");
      const market = testMarket({ symbol: "REPLAYED" });
      recorder.watch(market);
      for (let number = from; number <= lastNumber; number++) trade(market, number, exMs + number);
      await recorder.stop(PATIENCE_MS);
      expect(imbalances(recorder)).toEqual([]);
      expect(tableStatus(recorder, "trades")).toMatchObject({ pending: 0, droppedTotal: 0 });
    }
    expect(await candleOf("REPLAYED")).toEqual({ n: "8", v: "0.008", open: "100.1", close: "100.8" });
  });

  it("are queried only after those that an earlier run left on the disk are stored", { timeout: 200_000 }, async () => {
    const away: RecordsStore = {
      start: () => store.start(),
      insert: async () => ({ outcome: "away", reason: "gone" }),
      query: async () => ({ ok: false, reason: "away", code: 0, text: "gone" }),
      queryStream: (...args) => store.queryStream(...args),
      state: () => ({ state: "away", reason: "gone", version: null }),
      close: async () => {},
    };
    // Its trades are live: later than its start ten minutes ago, in frames of their own.
    const { clock } = bench;
    const first = await life("spooled", away, {
      wallMs: () => clock.wallMs() - 10 * MINUTE_MS,
      monoNs: () => clock.monoNs(),
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
      clearTimer: (handle) => clock.clearTimer(handle),
    });
    const before = testMarket({ symbol: "SPOOLED" });
    first.watch(before);
    const exMs = minuteMs();
    for (const number of [1, 2, 3, 4]) trade(before, number, exMs + number);
    await first.flush(1_000);
    await first.stop(1_000);
    const waiting = tableStatus(first, "trades").pending;
    // The first frame of a market may repeat what an earlier run recorded.
    expect(waiting).toBeGreaterThanOrEqual(3);
    const second = await life("spooled");
    const after = testMarket({ symbol: "SPOOLED" });
    second.watch(after);
    for (const number of [2, 3, 4, 5]) trade(after, number, exMs + number);
    for (let tries = 0; tries < 40 && !(await second.flush(5_000)); tries++) {
      // The spool is sent at the same time.
    }
    await second.stop(PATIENCE_MS);
    expect(imbalances(second)).toEqual([]);
    expect(tableStatus(second, "trades").recovered).toBe(waiting);
    const ids = await store.query(
      "SELECT count() AS n, uniqExact(trade_id) AS ids FROM trades WHERE symbol = 'SPOOLED'",
      {},
      BOUNDS,
    );
    if (!ids.ok) throw new Error(ids.text);
    expect((await candleOf("SPOOLED"))?.["n"]).toBe(String(ids.rows[0]?.["ids"]));
    expect(ids.rows[0]?.["n"]).toBe(ids.rows[0]?.["ids"]);
  });
});

describe("trades that a venue sends again", () => {
  const worlds: World[] = [];
  afterEach(() => {
    for (const world of worlds.splice(0)) world.remove();
  });

  async function world(options: WorldOptions = {}): Promise<World> {
    const created = await createWorld(options);
    worlds.push(created);
    return created;
  }

  function trade({ clock }: World, market: Market, number: number, exMs = clock.wallMs()): void {
    market.signal.traded(market, "BUY", 1000, 1, number, exMs, clock.monoNs());
  }

  it("are known to the next market object of a symbol that is listed and streamed again", async () => {
    const one = await world();
    const first = testMarket();
    one.recorder.watchAll([first]);
    for (const number of [1, 2, 3]) trade(one, first, number);
    await one.advance(1_000);
    const second = testMarket();
    one.recorder.watchAll([second]);
    for (const number of [1, 2, 3, 4]) trade(one, second, number);
    await one.until(() => tableStatus(one.recorder, "trades").pending === 0);
    expect(one.store.rowCount("trades")).toBe(4);
    expect(one.recorder.status().repeatedTrades).toBe(3);
    expect(imbalances(one.recorder)).toEqual([]);
  });

  it("wait while the store is away, up to the bound, while live ones go to the disk", async () => {
    const one = await world();
    const { store, recorder, clock } = one;
    const market = testMarket();
    recorder.watch(market);
    trade(one, market, 1);
    await one.advance(20_000);
    expect(store.rowCount("trades")).toBe(1);
    store.status = { state: "away", reason: "gone", version: null };
    const startMs = clock.wallMs() - 30_000;
    for (let number = 100; number < 200; number++) {
      trade(one, market, number, startMs);
      await one.advance(50);
    }
    trade(one, market, 5);
    await one.advance(10_000);
    const trades = tableStatus(recorder, "trades");
    expect(trades.spooled).toBe(1);
    // The ring in this test has room for 64.
    expect(trades).toMatchObject({ accepted: 102, pending: 65, droppedTotal: 36 });
    expect(imbalances(recorder)).toEqual([]);
    store.knownTrades = [199, 198, 150].map((number) => ({
      ...{ venue: "venueone", symbol: "BTC" },
      trade_id: String(number),
    }));
    store.status = { state: "on", reason: "", version: "26.7" };
    await one.until(() => tableStatus(recorder, "trades").pending === 0);
    // Three of the 64 are stored already.
    expect(store.rowCount("trades")).toBe(1 + 1 + 61);
    expect(recorder.status().repeatedTrades).toBe(3);
    expect(imbalances(recorder)).toEqual([]);
  });

  it("are dropped and counted when older than the store's retention: it may have had them, and a candle still counts them", async () => {
    const one = await world();
    const { store, recorder, clock } = one;
    const market = testMarket();
    recorder.watch(market);
    const keptMs = 90 * 24 * 3_600_000;
    trade(one, market, 1, clock.wallMs() - keptMs - 1_000);
    trade(one, market, 2, clock.wallMs() - keptMs + 3_600_000);
    trade(one, market, 3);
    await one.until(() => tableStatus(recorder, "trades").pending === 0);
    expect(store.rowCount("trades")).toBe(2);
    expect(tableStatus(recorder, "trades")).toMatchObject({ accepted: 3, droppedTotal: 1 });
    expect(imbalances(recorder)).toEqual([]);
  });

  it("are dropped and counted at the end if they could not be queried, never counted twice", async () => {
    const one = await world();
    const { store, recorder } = one;
    store.queryFails = true;
    const market = testMarket();
    recorder.watch(market);
    trade(one, market, 1, one.clock.wallMs() - 5_000);
    await one.advance(30_000);
    expect(tableStatus(recorder, "trades")).toMatchObject({ pending: 1, stored: 0 });
    // A failed query is repeated at intervals, not with every drain.
    expect(store.queryCount).toBeLessThan(40);
    expect(store.queryCount).toBeGreaterThan(3);
    await one.run(recorder.stop(500));
    expect(tableStatus(recorder, "trades")).toMatchObject({ accepted: 1, pending: 0, droppedTotal: 1 });
    expect(imbalances(recorder)).toEqual([]);
  });
});
