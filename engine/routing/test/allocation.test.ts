/**
 * Shows that the decision allocates nothing in steady state: heap growth between two collections is measured over
 * blocks of decisions. One quiet block is proof, because code that allocates once per decision shows in every block.
 * The others may contain compilation, the test runner, or code that the engine has not optimised yet; the engine
 * optimises on a thread of its own, and late on a busy machine.
 */
import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { decideRoute } from "../decide.js";
import { Decision, type RouteInput } from "../route-types.js";
import { addHolder, buildMarket, closeInput, instrumentOf, type Levels } from "./scenario.js";

const BLOCKS_MAX = 100;
const DECISIONS_PER_BLOCK = 10_000;
/** An object with one field is at least 16 bytes; less than one byte a decision can only be noise. */
const MAX_BYTES_PER_DECISION = 4;

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

/** Returns bytes per decision of the first quiet block, or of the smallest of all when none is quiet. */
async function smallestGrowth(gc: () => void, work: () => void): Promise<number> {
  const collectedAtMs: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) collectedAtMs.push(startTime);
  });
  observer.observe({ entryTypes: ["gc"] });
  let smallest = Number.POSITIVE_INFINITY;
  for (let block = 0; block < BLOCKS_MAX && smallest >= MAX_BYTES_PER_DECISION; block++) {
    gc();
    const fromMs = performance.now();
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < DECISIONS_PER_BLOCK; round++) work();
    const grown = process.memoryUsage().heapUsed - before;
    const untilMs = performance.now();
    // The observer reports in later turns.
    for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
    // A collection inside a block hides growth, so such a block does not count.
    if (grown < 0 || collectedAtMs.some((atMs) => atMs >= fromMs && atMs <= untilMs)) continue;
    smallest = Math.min(smallest, grown / DECISIONS_PER_BLOCK);
  }
  observer.disconnect();
  return smallest;
}

function question(): RouteInput {
  const side = (from: number, step: number): Levels =>
    Array.from({ length: 200 }, (_, level) => [from + level * step, 1000 + level]);
  const input = closeInput("SELL", 25, 2);
  for (const [venue, shift] of [
    ["venueone", 0],
    ["venuetwo", 40],
    ["venuethree", 90],
    ["venuefour", 160],
  ] as const) {
    const market = buildMarket({
      instrument: instrumentOf(venue, { priceRule: "sigfigs5", bandDownPpm: 980_000, bandUpPpm: 1_020_000 }),
      bids: side(974_170 - shift, -3),
      asks: side(974_260 - shift, 3),
      sigma: 1e-4,
    });
    market.ticker.markPrice = "97421.50123456";
    market.ticker.stamp(1, input.nowNs);
    addHolder(input, market, 40_000).latencyMsP90 = 100 + shift;
  }
  return input;
}

// A high limit, for a machine on which most blocks run unoptimised.
describe("a routing decision", { timeout: 600_000 }, () => {
  it("allocates nothing in steady state", async () => {
    const gc = collector();
    const input = question();
    const decision = new Decision();
    expect(await smallestGrowth(gc, () => decideRoute(input, decision))).toBeLessThan(MAX_BYTES_PER_DECISION);
    expect([decision.outcome, decision.selected]).toEqual(["SELECTED", 0]);
  });

  it.each([
    ["one small object", (turn: number) => ({ value: turn })],
    ["so much that it is collected within every block", () => new Array<number>(500)],
  ])("would fail this test if it allocated %s", async (_what, allocate) => {
    const kept: object[] = [];
    let turn = 0;
    const grown = await smallestGrowth(collector(), () => {
      kept[turn & 7] = allocate(turn);
      turn++;
    });
    expect(grown).toBeGreaterThan(MAX_BYTES_PER_DECISION);
  });
});
