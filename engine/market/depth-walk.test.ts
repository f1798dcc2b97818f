import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Side } from "../domain/order.js";
import { buildMarket, instrumentOf, type Levels } from "../routing/test/scenario.js";
import { bestTicks, DepthWalk, depthWithinCap, doubleMidTicks, NO_CAP_TICKS, walkDepth } from "./depth-walk.js";

const INSTRUMENT = instrumentOf("venueone");
const MIDDLE = 10_000;

function walk(
  plan: Parameters<typeof buildMarket>[0],
  side: Side,
  qty: number,
  cap = NO_CAP_TICKS,
  allowDeep = true,
): DepthWalk {
  const out = new DepthWalk();
  walkDepth(buildMarket(plan), side, qty, cap, allowDeep, out);
  return out;
}

/** Applies the rules to plain lists: overlay, then main, then deep beyond main's last price. */
function referenceWalk(
  levels: { touch: readonly [number, number] | null; main: Levels; deep: Levels },
  side: Side,
  qty: number,
  cap: number,
) {
  const better = (a: number, b: number) => (side === "SELL" ? a > b : a < b);
  const sorted = (list: Levels) => [...list].sort(([a], [b]) => (side === "SELL" ? b - a : a - b));
  const main = sorted(levels.main);
  const last = main.at(-1);
  const touch = levels.touch;
  let path = main;
  if (touch !== null) path = touch[1] === 0 ? [] : [touch, ...main.filter(([ticks]) => better(touch[0], ticks))];
  if (last !== undefined && !(touch !== null && touch[1] === 0)) {
    path = [
      ...path,
      ...sorted(levels.deep).filter(([ticks]) => better(last[0], ticks) && (touch === null || better(touch[0], ticks))),
    ];
  }
  let filled = 0;
  let notional = 0n;
  let used = 0;
  for (const [ticks, lots] of path) {
    if (filled === qty || (cap > 0 && better(cap, ticks))) break;
    const taken = Math.min(lots, qty - filled);
    filled += taken;
    notional += BigInt(ticks) * BigInt(taken);
    used++;
  }
  return { filled, notional, used, worst: used === 0 ? 0 : (path[used - 1] as readonly [number, number])[0] };
}

const level = fc.tuple(
  fc.integer({ min: 1, max: 60 }),
  fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 2 ** 40, max: 2 ** 45 })),
);
const side = fc.constantFrom<Side>("SELL", "BUY");
const levels = fc.uniqueArray(level, { selector: ([distance]) => distance, minLength: 1, maxLength: 10 });

describe("a walk over the depth of a market", () => {
  it("equals a walk over plain lists, with touch, deep tier, cap and sums of any size", () => {
    fc.assert(
      fc.property(
        side,
        levels,
        fc.option(levels, { nil: null }),
        fc.option(level, { nil: null }),
        fc.integer({ min: 1, max: 2 ** 46 }),
        fc.option(fc.integer({ min: 1, max: 80 }), { nil: null }),
        (order, mainRaw, deepRaw, touchRaw, qty, capRaw) => {
          const place = (list: Levels): Levels =>
            list.map(([distance, lots]) => [order === "SELL" ? MIDDLE - distance : MIDDLE + distance, lots]);
          const far: Levels = [[order === "SELL" ? MIDDLE + 100 : MIDDLE - 100, 1]];
          const main = place(mainRaw);
          const deep = deepRaw === null ? null : place(deepRaw);
          const touch = touchRaw === null ? null : (place([touchRaw])[0] as readonly [number, number]);
          const cap = capRaw === null ? NO_CAP_TICKS : order === "SELL" ? MIDDLE - capRaw : MIDDLE + capRaw;
          const sides = (near: Levels) => (order === "SELL" ? { bids: near, asks: far } : { bids: far, asks: near });
          const other = far[0] as readonly [number, number];
          const out = walk(
            {
              instrument: INSTRUMENT,
              ...sides(main),
              ...(deep === null ? {} : { deep: { ...sides(deep), ageMs: 1 } }),
              ...(touch === null
                ? {}
                : { touch: order === "SELL" ? { bid: touch, ask: other } : { bid: other, ask: touch } }),
            },
            order,
            qty,
            cap,
          );
          const expected = referenceWalk({ touch, main, deep: deep ?? [] }, order, qty, cap);
          expect({
            filled: out.filledLots,
            notional: out.notionalBig(),
            used: out.levelsUsed,
            worst: out.worstTicks,
          }).toEqual(expected);
          if (out.filledLots > 0)
            expect(out.vwapTicks()).toBeCloseTo(
              Number((expected.notional * 1_000_000n) / BigInt(expected.filled)) / 1e6,
              5,
            );
        },
      ),
      { numRuns: 1500, seed: 41 },
    );
  });

  const deepPlan = {
    instrument: INSTRUMENT,
    bids: [
      [100, 1],
      [99, 1],
    ] as Levels,
    asks: [[102, 1]] as Levels,
    deep: {
      bids: [
        [100, 9],
        [99, 9],
        [98, 9],
      ] as Levels,
      asks: [[102, 9]] as Levels,
      ageMs: 10,
    },
  };

  it("reports that the deep tier was needed, and uses it only if allowed and LIVE", () => {
    expect(walk(deepPlan, "SELL", 2).neededDeep).toBe(false);
    expect([walk(deepPlan, "SELL", 5).neededDeep, walk(deepPlan, "SELL", 5).filledLots]).toEqual([true, 5]);
    expect([
      walk(deepPlan, "SELL", 5, NO_CAP_TICKS, false).neededDeep,
      walk(deepPlan, "SELL", 5, NO_CAP_TICKS, false).filledLots,
    ]).toEqual([true, 2]);
    expect(walk({ ...deepPlan, deep: { ...deepPlan.deep, invalid: true } }, "SELL", 5).filledLots).toBe(2);
  });

  it("fills nothing from a book that is not LIVE or from a side that the touch shows empty", () => {
    expect(walk({ ...deepPlan, invalid: true }, "SELL", 1).filledLots).toBe(0);
    expect(walk({ ...deepPlan, touch: { bid: [0, 0], ask: [101, 1] } }, "SELL", 1).filledLots).toBe(0);
  });

  it("measures depth within a cap and the best prices, touch included", () => {
    const market = buildMarket({ ...deepPlan, touch: { bid: [101, 4], ask: [103, 1] } });
    expect(depthWithinCap(market, "SELL", 99, true)).toBe(6);
    expect(depthWithinCap(market, "SELL", 98, true)).toBe(15);
    expect([bestTicks(market, "SELL"), bestTicks(market, "BUY"), doubleMidTicks(market)]).toEqual([101, 103, 204]);
    market.book.invalidate("x");
    expect([bestTicks(market, "SELL"), doubleMidTicks(market)]).toEqual([0, 0]);
  });
});
