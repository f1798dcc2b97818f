import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatencyHistogram } from "./latency-histogram.js";

describe("a latency histogram", () => {
  it("returns percentiles within 3 % of the true ones, never above the largest sample", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 6e10, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (samples) => {
          const histogram = new LatencyHistogram();
          for (const sample of samples) histogram.record(sample);
          const sorted = samples.toSorted((left, right) => left - right);
          for (const percent of [1, 50, 90, 99.9, 100]) {
            const exact = sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1] as number;
            const named = histogram.percentile(percent);
            expect(named).toBeLessThanOrEqual(histogram.maxUs);
            expect(named).toBeGreaterThanOrEqual(Math.floor(exact));
            expect(named).toBeLessThanOrEqual(Math.max(exact * (1 + 1 / 32), Math.floor(exact)));
          }
        },
      ),
    );
  });

  it("ignores values that are no latency, and holds longer ones than it has buckets for", () => {
    const histogram = new LatencyHistogram();
    for (const sample of [-1, Number.NaN, Number.POSITIVE_INFINITY]) histogram.record(sample);
    expect(histogram.count).toBe(0);
    histogram.record(1e15);
    expect(histogram.percentile(50)).toBeLessThanOrEqual(1e15);
    expect(histogram.maxUs).toBe(1e15);
  });

  it("encodes its buckets, and is empty when cleared", () => {
    const histogram = new LatencyHistogram();
    for (const sample of [1, 1.5, 31, 64, 65]) histogram.record(sample);
    // 64 and 65 share the first bucket of the row of 64, which is two wide.
    expect(histogram.encode()).toBe("log2x32 1:2 v:1 1s:2");
    histogram.clear();
    expect([histogram.encode(), histogram.count, histogram.maxUs]).toEqual(["log2x32", 0, 0]);
  });
});
