import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WeightWindow } from "./weight-window.js";

interface Step {
  readonly gapMs: number;
  readonly weight: number;
}

describe("WeightWindow", () => {
  it("counts what was added until the window has passed, and one bucket at most beyond", () => {
    const window = new WeightWindow(1_000, 10);
    window.add(50, 7);
    expect(window.used(50)).toBe(7);
    expect(window.used(1_050)).toBe(7);
    expect(window.used(1_150)).toBe(0);
  });

  it("returns when enough weight will have returned", () => {
    const window = new WeightWindow(1_000, 10);
    window.add(0, 5);
    window.add(500, 5);
    expect(window.msUntilAtMost(600, 10)).toBe(0);
    const waitMs = window.msUntilAtMost(600, 5);
    expect(window.used(600 + waitMs)).toBe(5);
    expect(window.msUntilAtMost(600, -1)).toBe(Number.POSITIVE_INFINITY);
  });

  it("forgets weight of a stated life when that is over, and one bucket at most later, from the first moment on", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5_000 }),
        fc.integer({ min: 0, max: 1_000 }),
        fc.nat(900),
        (nowMs, leftMs, beforeMs) => {
          const window = new WeightWindow(1_000, 10);
          window.add(Math.max(0, nowMs - beforeMs), 3);
          window.addFor(nowMs, 5, leftMs);
          expect(window.used(nowMs)).toBe(8);
          const waitMs = window.msUntilAtMost(nowMs, 3);
          expect(waitMs).toBeLessThanOrEqual(leftMs + 100);
          if (leftMs > 0) expect(window.used(nowMs + leftMs - 1)).toBeGreaterThanOrEqual(5);
          expect(window.used(nowMs + leftMs + 100)).toBeLessThanOrEqual(3);
        },
      ),
    );
  });

  it("never forgets weight younger than the window, whatever the times", () => {
    const steps = fc.array(
      fc.record({ gapMs: fc.integer({ min: 0, max: 700 }), weight: fc.integer({ min: 1, max: 9 }) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(steps, (list: readonly Step[]) => {
        const window = new WeightWindow(1_000, 10);
        const added: { atMs: number; weight: number }[] = [];
        let nowMs = 0;
        for (const { gapMs, weight } of list) {
          nowMs += gapMs;
          window.add(nowMs, weight);
          added.push({ atMs: nowMs, weight });
          const young = added
            .filter((entry) => nowMs - entry.atMs < 1_000)
            .reduce((sum, entry) => sum + entry.weight, 0);
          const all = added
            .filter((entry) => nowMs - entry.atMs <= 1_100)
            .reduce((sum, entry) => sum + entry.weight, 0);
          expect(window.used(nowMs)).toBeGreaterThanOrEqual(young);
          expect(window.used(nowMs)).toBeLessThanOrEqual(all);
        }
      }),
    );
  });
});
