import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DueRows } from "./due-rows.js";

const PAUSES_MS = [0, 1, 2, 4];

const act = fc.record({
  name: fc.constantFrom("a", "b", "c", "d", "e"),
  /** Null: it is over. */
  pauseMs: fc.option(fc.constantFrom(...PAUSES_MS)),
  laterNs: fc.integer({ min: 0, max: 3_000_000 }),
});

describe("rows that rest", () => {
  it("are due as a list of all of them says, the longest due first", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const rows = new DueRows();
        const all = new Map<string, { readonly pauseMs: number; readonly dueNs: number }>();
        let nowNs = 0;
        for (const { name, pauseMs, laterNs } of acts) {
          nowNs += laterNs;
          if (pauseMs === null) {
            rows.delete(name);
            all.delete(name);
          } else {
            rows.rest(name, pauseMs, nowNs);
            all.set(name, { pauseMs, dueNs: nowNs + pauseMs * 1e6 });
          }
          const due = [...rows.due(nowNs)];
          const dueNs = (one: string) => all.get(one)?.dueNs ?? Number.NaN;
          const times = [...all.values()].map((one) => one.dueNs).sort((one, other) => one - other);
          expect(due.map(dueNs)).toEqual(times.filter((one) => one <= nowNs));
          expect(new Set(due).size).toBe(due.length);
          expect(rows.soonestNs()).toBe(times[0] ?? null);
          expect(rows.pauseOf(name)).toBe(pauseMs);
        }
      }),
    );
  });
});
