/** How often the store receives a batch: once a second while little happens, at every drain under load. */
import { afterEach, describe, expect, it } from "vitest";
import { DEFAULT_RECORDER_SETTINGS } from "../recorder-settings.js";
import type { Market } from "../../market/market.js";
import { setBook, testMarket } from "./markets.js";
import { createWorld, tableStatus, type World } from "./world.js";

const { quietMs, busyRows, drainMs } = DEFAULT_RECORDER_SETTINGS;
const SETTINGS = {
  quietMs,
  busyRows,
  drainMs,
  tickRows: 4_096,
  batchRows: 4_096,
  batchBytes: 1 << 20,
  snapshotMs: 60_000,
};

let world: World | null = null;
afterEach(() => {
  world?.remove();
  world = null;
});

let price = 1_000;

/** One new best bid each. */
function tick(market: Market, clock: { monoNs(): number }, count: number): void {
  for (let index = 0; index < count; index++) {
    price = price === 1_000 ? 1_001 : 1_000;
    setBook(market, [[price, 5]], [[2_000, 5]], { seq: 1, rxNs: clock.monoNs() });
  }
}

async function started(settings: Partial<typeof SETTINGS> = {}): Promise<World> {
  world = await createWorld({ settings: { ...SETTINGS, ...settings } });
  return world;
}

const ticksBatches = ({ store }: World) => [...store.batches.values()].filter(({ table }) => table === "ticks");

describe("batches of market rows", () => {
  it("of a quiet market are one a second, and no row waits longer", async () => {
    const one = await started();
    const market = testMarket();
    one.recorder.watch(market);
    for (let step = 0; step < 100; step++) {
      tick(market, one.clock, 1);
      await one.advance(100);
      // Rows that arrived more than a second and an insert ago are in the store.
      expect(tableStatus(one.recorder, "ticks").stored).toBeGreaterThanOrEqual(step - 11);
    }
    const batches = ticksBatches(one);
    expect(batches.length).toBeGreaterThanOrEqual(9);
    expect(batches.length).toBeLessThanOrEqual(14);
  });

  it("of a quiet market are one a second even where drains come slightly late, as timers do", async () => {
    const one = await started({ drainMs: drainMs + 1 });
    const market = testMarket();
    one.recorder.watch(market);
    for (let step = 0; step < 100; step++) {
      tick(market, one.clock, 1);
      await one.advance(100);
    }
    expect(ticksBatches(one).length).toBeGreaterThanOrEqual(9);
    expect(ticksBatches(one).length).toBeLessThanOrEqual(10);
  });

  it("are one a drain under load", async () => {
    const one = await started();
    const market = testMarket();
    one.recorder.watch(market);
    for (let step = 0; step < 8; step++) {
      tick(market, one.clock, busyRows);
      await one.advance(drainMs);
    }
    await one.advance(100);
    expect(ticksBatches(one).length).toBeGreaterThanOrEqual(7);
    expect(tableStatus(one.recorder, "ticks").stored).toBeGreaterThanOrEqual(7 * busyRows);
  });

  it("do not hold back decisions", async () => {
    const one = await started();
    one.recorder.closes.note({
      requestId: "r",
      symbol: "BTC",
      direction: "LONG",
      routing: null,
      data: null,
      elapsedMs: 1,
      ownerId: null,
      kind: "refused",
      tsMs: one.clock.wallMs(),
      dryRun: false,
      code: "UNKNOWN_SYMBOL",
    });
    await one.advance(drainMs + 50);
    expect(one.store.rowCount("routing_decisions")).toBe(1);
  });
});
