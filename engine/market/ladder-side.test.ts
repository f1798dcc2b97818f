import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../domain/random.js";
import { LadderSide } from "./ladder-side.js";

/** Levels in order, best first. */
function contentOf(side: LadderSide): [number, number][] {
  const keys = new Float64Array(side.count);
  const lots = new Float64Array(side.count);
  expect(side.copyLevels(side.count, keys, lots)).toBe(side.count);
  return Array.from(keys, (key, index) => [key, lots[index] ?? 0]);
}

function sortedContent(levels: ReadonlyMap<number, number>): [number, number][] {
  return [...levels].sort((left, right) => right[0] - left[0]);
}

function applyBoth(side: LadderSide, naive: Map<number, number>, key: number, lots: number): void {
  expect(side.apply(key, lots)).toBe(true);
  if (lots > 0) naive.set(key, lots);
  else naive.delete(key);
}

function expectSame(side: LadderSide, naive: ReadonlyMap<number, number>): void {
  const wanted = sortedContent(naive);
  expect(contentOf(side)).toEqual(wanted);
  expect(side.isConsistent()).toBe(true);
  expect(side.bestKey).toBe(wanted[0]?.[0] ?? Number.NEGATIVE_INFINITY);
  expect(side.worstKey).toBe(wanted.at(-1)?.[0] ?? Number.NEGATIVE_INFINITY);
}

describe("one side of the ladder", () => {
  it.each([1, 5, 10])("equals a map after any changes near, far from and off the window (step %i)", (step) => {
    const change = fc.record({
      // Clusters near a drifting touch, outliers far below, jumps far above.
      key: fc.oneof(
        fc.integer({ min: 9_000, max: 9_200 }),
        fc.integer({ min: 1, max: 12_000 }),
        fc.integer({ min: 1, max: 400_000 }),
      ),
      lots: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 9 })),
      sign: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), fc.constantFrom(1, -1), (changes, sign) => {
        const side = new LadderSide(65_536, step);
        const naive = new Map<number, number>();
        for (const { key, lots } of changes) applyBoth(side, naive, sign * key * step, lots);
        expectSame(side, naive);
      }),
      { numRuns: 300 },
    );
  });

  it("equals a map while the touch walks far and the window grows", () => {
    const random = createSeededRandom(42);
    for (const sign of [1, -1]) {
      const side = new LadderSide(65_536, 10);
      const naive = new Map<number, number>();
      let touch = 500_000;
      for (let change = 0; change < 60_000; change++) {
        touch += Math.round((random.next() - 0.5) * 60);
        const distance = Math.floor(random.next() ** 4 * 20_000);
        const key = sign * (touch - sign * distance) * 10;
        applyBoth(side, naive, key, random.next() < 0.45 ? 0 : 1 + Math.floor(random.next() * 50));
        // The venue removes levels that the touch has walked through.
        const best = side.bestKey;
        if (best > sign * (touch + sign * 40) * 10) applyBoth(side, naive, best, 0);
        if (change % 5_000 === 0) expectSame(side, naive);
      }
      expectSame(side, naive);
      expect(side.near.length).toBeGreaterThan(512);
    }
  });

  it("can be emptied from the best level down, and filled again anywhere", () => {
    const side = new LadderSide(65_536, 1);
    const naive = new Map<number, number>();
    for (let key = 1; key <= 5_000; key += 3) applyBoth(side, naive, key, key);
    while (side.count > 0) {
      applyBoth(side, naive, side.bestKey, 0);
      if (side.count % 500 === 0) expectSame(side, naive);
    }
    applyBoth(side, naive, 9_000_000_000_000, 1);
    applyBoth(side, naive, 7, 2);
    expectSame(side, naive);
  });

  it("loads a snapshot best first, worst first and shuffled into the same content", () => {
    const levels = Array.from(
      { length: 3_000 },
      (_, index) => [(100_000 - index * index) * 1, index + 1] as const,
    ).filter(([key]) => key > 0);
    const random = createSeededRandom(3);
    const orders = [levels, [...levels].reverse(), [...levels].sort(() => random.next() - 0.5)];
    for (const order of orders) {
      const side = new LadderSide(65_536, 1);
      side.apply(123_456, 1);
      side.beginLoad();
      for (const [key, lots] of order) side.apply(key, lots);
      side.finishLoad();
      expectSame(side, new Map(levels));
    }
  });

  it("accepts a price off the stated grid without losing a level", () => {
    const side = new LadderSide(65_536, 10);
    const naive = new Map<number, number>();
    for (let key = 10; key <= 20_000; key += 10) applyBoth(side, naive, key, 1);
    applyBoth(side, naive, 19_995, 4);
    applyBoth(side, naive, 3, 4);
    expectSame(side, naive);
  });

  it("refuses growth past its maximum and then changes nothing", () => {
    const side = new LadderSide(3, 1);
    for (const key of [100, 99, 5]) expect(side.apply(key, 1)).toBe(true);
    for (const key of [101, 98, 4, 900_000]) expect(side.apply(key, 1)).toBe(false);
    expect(contentOf(side)).toEqual([
      [100, 1],
      [99, 1],
      [5, 1],
    ]);
    expect(side.apply(5, 7)).toBe(true);
    expect(side.apply(99, 0)).toBe(true);
    expect(side.apply(98, 1)).toBe(true);
    expect(side.isConsistent()).toBe(true);
  });

  it("returns levels by rank, and NaN beyond them", () => {
    const side = new LadderSide(65_536, 1);
    for (const key of [100_000, 99_990, 50, 10]) side.apply(key, key);
    expect([0, 1, 2, 3].map((rank) => side.keyAt(rank))).toEqual([100_000, 99_990, 50, 10]);
    expect([0, 1, 2, 3].map((rank) => side.lotsAt(rank))).toEqual([100_000, 99_990, 50, 10]);
    for (const rank of [-1, 4, 1e9]) expect(side.keyAt(rank)).toBeNaN();
  });
});
