/**
 * The decision allocates nothing in steady state: heap growth between two collections is measured
 * over blocks of decisions. The smallest block counts, because compilation and the test runner allocate
 * too; code that allocates once per decision shows in every block.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { decideRoute } from "../decide.js";
import { Decision, type RouteInput } from "../route-types.js";
import { addHolder, buildMarket, closeInput, instrumentOf, type Levels } from "./scenario.js";

const BLOCKS = 10;
const DECISIONS_PER_BLOCK = 10_000;
/** One object of one field is 16 bytes at least; below one byte a decision nothing is left but noise. */
const MAX_BYTES_PER_DECISION = 4;

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

function smallestGrowth(gc: () => void, work: () => void): number {
  for (let round = 0; round < 20_000; round++) work();
  let smallest = Number.POSITIVE_INFINITY;
  for (let block = 0; block < BLOCKS; block++) {
    gc();
    const before = process.memoryUsage().heapUsed;
    for (let round = 0; round < DECISIONS_PER_BLOCK; round++) work();
    const grown = process.memoryUsage().heapUsed - before;
    // A collection inside a block would hide growth: such a block shows as shrinking and does not count.
    if (grown >= 0) smallest = Math.min(smallest, grown);
  }
  return smallest / DECISIONS_PER_BLOCK;
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

describe("decideRoute", () => {
  it("allocates nothing in steady state", () => {
    const gc = collector();
    const input = question();
    const decision = new Decision();
    expect(smallestGrowth(gc, () => decideRoute(input, decision))).toBeLessThan(MAX_BYTES_PER_DECISION);
    expect([decision.outcome, decision.selected]).toEqual(["SELECTED", 0]);
  });

  it("would be caught if it allocated one small object", () => {
    const gc = collector();
    const kept: { value: number }[] = [];
    let turn = 0;
    const grown = smallestGrowth(gc, () => {
      kept[turn & 7] = { value: turn };
      turn++;
    });
    expect(grown).toBeGreaterThan(MAX_BYTES_PER_DECISION);
  });
});
