/** Compares the division of a size with every possible division, on books small enough to try them all. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planSplit, type SplitVenue } from "./split-plan.js";

/** Cost of the first `units` of a venue; null if it does not have as many. */
function costOf(venue: SplitVenue, units: number): bigint | null {
  let left = units;
  let cost = 0n;
  for (const segment of venue.segments) {
    const here = Math.min(left, segment.units);
    cost += segment.unitCost * BigInt(here);
    left -= here;
  }
  return left === 0 ? cost : null;
}

/** Cost of the cheapest division that places the whole size; null if there is none. */
function bruteForce(venues: readonly SplitVenue[], size: number, legsMax: number): bigint | null {
  let best: bigint | null = null;
  const visit = (index: number, left: number, legs: number, cost: bigint): void => {
    if (index === venues.length) {
      if (left === 0 && (best === null || cost < best)) best = cost;
      return;
    }
    const venue = venues[index] as SplitVenue;
    visit(index + 1, left, legs, cost);
    if (legs === legsMax) return;
    for (let units = venue.minUnits; units <= Math.min(left, venue.capUnits); units += venue.stepUnits) {
      const here = costOf(venue, units);
      if (here !== null) visit(index + 1, left - units, legs + 1, cost + here);
    }
  };
  visit(0, size, 0, 0n);
  return best;
}

const venueOf = (steps: readonly number[]) =>
  fc
    .record({
      stepUnits: fc.constantFrom(...steps),
      minSteps: fc.integer({ min: 1, max: 3 }),
      capSteps: fc.integer({ min: 0, max: 9 }),
      levels: fc.array(fc.record({ units: fc.integer({ min: 1, max: 5 }), worse: fc.integer({ min: 0, max: 4 }) }), {
        maxLength: 5,
      }),
      first: fc.integer({ min: -50, max: 50 }),
    })
    .map(({ stepUnits, minSteps, capSteps, levels, first }): SplitVenue => {
      let unitCost = BigInt(first);
      const segments = levels.map(({ units, worse }) => {
        unitCost += BigInt(worse);
        return { units, unitCost };
      });
      return { stepUnits, minUnits: minSteps * stepUnits, capUnits: capSteps * stepUnits, segments };
    });

describe("a split", () => {
  it("costs the least of all divisions with these legs, minimums and caps", () => {
    let splits = 0;
    fc.assert(
      fc.property(
        fc.array(venueOf([1]), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 14 }),
        fc.integer({ min: 1, max: 3 }),
        (venues, size, legsMax) => {
          const plan = planSplit(venues, size, legsMax);
          expect(plan?.cost ?? null).toEqual(bruteForce(venues, size, legsMax));
          if (plan !== null && plan.units.filter((units) => units > 0).length > 1) splits += 1;
        },
      ),
      { numRuns: 3_000, seed: 20_261_121 },
    );
    expect(splits).toBeGreaterThan(100);
  });

  it("keeps every leg within its bounds, and its legs and remainder add up to the size, whatever the steps", () => {
    fc.assert(
      fc.property(
        fc.array(venueOf([1, 2, 3, 5]), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 3 }),
        (venues, size, legsMax) => {
          const plan = planSplit(venues, size, legsMax);
          if (plan === null) return;
          const legs = plan.units.filter((units) => units > 0);
          expect(legs.length).toBeLessThanOrEqual(legsMax);
          expect(legs.reduce((sum, units) => sum + units, 0) + plan.remainderUnits).toBe(size);
          let cost = 0n;
          for (const [index, units] of plan.units.entries()) {
            const venue = venues[index] as SplitVenue;
            if (units === 0) continue;
            expect(units % venue.stepUnits).toBe(0);
            expect(units).toBeGreaterThanOrEqual(venue.minUnits);
            expect(units).toBeLessThanOrEqual(venue.capUnits);
            cost += costOf(venue, units) as bigint;
          }
          expect(plan.cost).toBe(cost);
          // The remainder is rounding only: some leg's step is larger.
          const isRounding = plan.units.some(
            (units, index) => units > 0 && (venues[index] as SplitVenue).stepUnits > plan.remainderUnits,
          );
          expect(plan.remainderUnits === 0 || isRounding).toBe(true);
        },
      ),
      { numRuns: 3_000, seed: 7 },
    );
  });

  it("prefers fewer legs at the same cost", () => {
    const venue: SplitVenue = { stepUnits: 1, minUnits: 1, capUnits: 10, segments: [{ units: 10, unitCost: 5n }] };
    expect(planSplit([venue, venue, venue], 6, 3)?.units.filter((units) => units > 0)).toEqual([6]);
  });
});
