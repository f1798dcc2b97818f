import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CallerShares } from "./caller-shares.js";
import { LaneBudget } from "./lanes.js";
import { WeightWindow } from "./weight-window.js";

const WINDOW_MS = 60_000;
const BUCKETS = 20;
const NOBODY = ["", "none"];

afterEach(() => {
  vi.restoreAllMocks();
});

describe("what callers used of a lane", () => {
  it("is what a list of all their windows says, however often it is asked between", () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 9_000 }),
      caller: fc.constantFrom("a", "b", "c", ...NOBODY),
      weight: fc.integer({ min: 0, max: 20 }),
      share: fc.integer({ min: 0, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shares = new CallerShares(WINDOW_MS);
        const windows = new Map<string, WeightWindow>();
        let nowMs = 0;
        for (const { waitMs, caller, weight, share } of steps) {
          nowMs += waitMs;
          const window = windows.get(caller) ?? new WeightWindow(WINDOW_MS, BUCKETS);
          windows.set(caller, window);
          window.add(nowMs, weight);
          shares.add(caller, weight, nowMs);
          nowMs += waitMs;
          const used = [...windows].map(([name, one]) => ({ name, used: one.used(nowMs) }));
          expect(shares.activeCount(nowMs)).toBe(used.filter((one) => one.used > 0).length);
          const others = used.filter(({ name }) => name !== "a" && !NOBODY.includes(name));
          const growth = others.reduce((sum, one) => sum + Math.min(one.used, Math.max(0, share - one.used)), 0);
          expect(shares.growth(share, "a", NOBODY, nowMs)).toBeCloseTo(growth, 5);
        }
      }),
    );
  });

  it("costs one who is refused again no look at each of a thousand others", () => {
    const budget = new LaneBudget({ budget: 1_200, windowMs: WINDOW_MS });
    const nowMs = 1_000_000;
    const take = (caller: string, weight: number): void => {
      budget.charge("read", weight, nowMs);
      budget.chargeCaller("read", caller, weight, nowMs);
    };
    for (let other = 0; other < 1_000; other++) take(`key ${other}`, 0.2);
    take("busy", 350);
    expect(budget.isBeyondShare("read", "busy", 20, nowMs)).toBe(true);
    const looks = vi.spyOn(WeightWindow.prototype, "used");
    for (let asked = 0; asked < 100; asked++) expect(budget.isBeyondShare("read", "busy", 20, nowMs)).toBe(true);
    expect(looks.mock.calls.length / 100).toBeLessThan(40);
  });
});
