import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { VenuePosition } from "../domain/position.js";
import { positionChanges, positionKey } from "./position-changes.js";

const position = fc.record({
  venue: fc.constant("venuetwo" as const),
  symbol: fc.constantFrom("BTC", "ETH"),
  nativeSymbol: fc.constant("X"),
  direction: fc.constantFrom("LONG" as const, "SHORT" as const),
  positionSide: fc.constant("BOTH" as const),
  qtyLots: fc.integer({ min: 0, max: 3 }),
  entryPrice: fc.constantFrom("1", "2"),
  markPrice: fc.constantFrom(null, "3"),
  liquidationPrice: fc.constant(null),
  unrealizedPnl: fc.constantFrom(null, "1"),
  leverage: fc.constantFrom(null, 5),
  marginMode: fc.constant("cross" as const),
  collateral: fc.constant(null),
  tsVenueMs: fc.integer({ min: 0, max: 9 }),
});
const state = fc.uniqueArray(position, { selector: (one) => positionKey(one.symbol, one.direction), maxLength: 4 });

function held(positions: readonly VenuePosition[]): Map<string, VenuePosition> {
  const open = positions.filter((one) => one.qtyLots > 0);
  return new Map(open.map((one) => [positionKey(one.symbol, one.direction), one]));
}

/** All fields but the time, which alone is no change. */
function facts(positions: Iterable<VenuePosition>): unknown[] {
  return [...positions].map(({ tsVenueMs: _tsVenueMs, ...rest }) => JSON.stringify(rest)).sort();
}

describe("position changes", () => {
  it("turn the first state into the second, with each key at most once, and name what happened", () => {
    fc.assert(
      fc.property(state, state, fc.boolean(), (before, after, wasLiquidated) => {
        const from = held(before);
        const folded = new Map(from);
        const seen = new Set<string>();
        for (const { event, position: now } of positionChanges(before, after, () => wasLiquidated)) {
          const key = positionKey(now.symbol, now.direction);
          expect(seen.has(key)).toBe(false);
          seen.add(key);
          const old = from.get(key);
          expect(event === "opened").toBe(old === undefined);
          expect(now.qtyLots === 0).toBe(!held(after).has(key));
          if (now.qtyLots === 0) expect(event).toBe(wasLiquidated ? "liquidated" : "closed");
          else if (old !== undefined)
            expect(event).toBe(wasLiquidated && now.qtyLots < old.qtyLots ? "liquidated" : "changed");
          if (now.qtyLots === 0) folded.delete(key);
          else folded.set(key, now);
        }
        expect(facts(folded.values())).toEqual(facts(held(after).values()));
      }),
    );
  });

  it("between a state and itself are none", () => {
    fc.assert(
      fc.property(state, (same) => {
        expect(positionChanges(same, structuredClone(same), () => true)).toEqual([]);
      }),
    );
  });
});
