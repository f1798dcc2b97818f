import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ageMs, deepAgeLimitMs, mainAgeLimitMs, NEVER_PROVEN_MS } from "./freshness.js";
import { LatencyWindow } from "./latency-window.js";
import { HALF_LIFE_SECONDS, MAX_GAP_SECONDS, PriceStats } from "./price-stats.js";
import { Ticker } from "./ticker.js";
import { isTouchNewer, Touch } from "./touch.js";

const SECOND_NS = 1e9;

function sigmaOf(stats: PriceStats): number {
  const target = new Float64Array(1);
  stats.sigmaInto(target, 0);
  return target[0] as number;
}

describe("the latency window", () => {
  it("returns its default while empty and ignores values that are no latency", () => {
    const window = new LatencyWindow(250);
    for (const sample of [-1, Number.NaN, Number.POSITIVE_INFINITY]) window.record(sample);
    expect([window.p50(), window.p90(), window.p99(), window.count]).toEqual([250, 250, 250, 0]);
  });

  it("equals the nearest-rank percentile of the last samples", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 100 }),
        (samples, percent) => {
          const window = new LatencyWindow(0, 16);
          for (const sample of samples) window.record(sample);
          const last = samples.slice(-16).sort((a, b) => a - b);
          expect(window.percentile(percent)).toBe(last[Math.ceil((percent * last.length) / 100) - 1]);
          expect([window.count, window.total]).toEqual([last.length, samples.length]);
        },
      ),
      { seed: 31 },
    );
  });
});

describe("the price statistics", () => {
  it("equal a direct sum over one sample a second, also across gaps", () => {
    const steps = fc.array(
      fc.record({ gapMs: fc.integer({ min: 0, max: 4000 }), mid: fc.integer({ min: 900, max: 1100 }) }),
      { minLength: 2, maxLength: 80 },
    );
    fc.assert(
      fc.property(steps, (updates) => {
        const stats = new PriceStats();
        const closes: number[] = [];
        let nowMs = 0;
        let second = 0;
        let mid = 0;
        for (const update of updates) {
          nowMs += update.gapMs;
          for (; mid > 0 && second < Math.floor(nowMs / 1000); second++) closes.push(mid);
          if (mid === 0) second = Math.floor(nowMs / 1000);
          mid = update.mid;
          stats.update(mid, nowMs * 1e6);
        }
        const returns = closes.slice(1).map((close, index) => close / (closes[index] as number) - 1);
        const weights = returns.map((_, index) => 0.5 ** ((returns.length - 1 - index) / HALF_LIFE_SECONDS));
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const squares = returns.reduce((sum, value, index) => sum + value * value * (weights[index] as number), 0);
        expect(sigmaOf(stats)).toBeCloseTo(total > 0 ? Math.sqrt(squares / total) : 0, 9);
      }),
      { numRuns: 300, seed: 32 },
    );
  });

  it("count no return for a move over an outage", () => {
    const stats = new PriceStats();
    for (let second = 0; second < 10; second++) stats.update(1000, second * SECOND_NS);
    stats.update(2000, (10 + MAX_GAP_SECONDS + 1) * SECOND_NS);
    stats.update(2000, (12 + MAX_GAP_SECONDS + 1) * SECOND_NS);
    stats.update(2000, (13 + MAX_GAP_SECONDS + 1) * SECOND_NS);
    stats.breakSampling();
    stats.update(500, (14 + MAX_GAP_SECONDS + 1) * SECOND_NS);
    stats.update(500, (17 + MAX_GAP_SECONDS + 1) * SECOND_NS);
    expect(sigmaOf(stats)).toBe(0);
  });

  it("ignore invalid mids and time that goes back", () => {
    const stats = new PriceStats();
    for (const mid of [0, -5, Number.NaN, Number.POSITIVE_INFINITY]) stats.update(mid, SECOND_NS);
    stats.update(100, 5 * SECOND_NS);
    stats.update(900, 3 * SECOND_NS);
    stats.update(100, 6 * SECOND_NS);
    stats.update(100, 7 * SECOND_NS);
    expect(sigmaOf(stats)).toBe(0);
  });
});

describe("the age of market data", () => {
  it("is never negative, never understated, and infinite before the first proof", () => {
    expect([
      ageMs(5e6, 3e6),
      ageMs(5e6, 5e6),
      ageMs(5e6, 5e6 + 1),
      ageMs(0, 2e6),
      ageMs(-1, 2e6),
      ageMs(Number.NaN, 1),
    ]).toEqual([0, 0, 1, 2, NEVER_PROVEN_MS, NEVER_PROVEN_MS]);
  });

  it("has limits that a caller can tighten but not loosen", () => {
    expect([mainAgeLimitMs(2000, 500), mainAgeLimitMs(2000, 9000)]).toEqual([500, 2000]);
    expect([
      deepAgeLimitMs(7000, 2000, 2000),
      deepAgeLimitMs(7000, 2000, 9000),
      deepAgeLimitMs(7000, 2000, 1000),
    ]).toEqual([7000, 7000, 3500]);
  });
});

describe("the touch of a market", () => {
  it("accepts one-sided frames and rejects broken or crossed ones", () => {
    const touch = new Touch();
    expect(touch.set(100, 5, 0, 0, 7, 1000, 1)).toBe(true);
    expect([touch.bidTicks, touch.bidLots, touch.askTicks, touch.askLots, touch.present]).toEqual([100, 5, 0, 0, true]);
    for (const [bid, bidLots, ask, askLots] of [
      [100, 1, 100, 1],
      [1.5, 1, 9, 1],
      [1, -1, 9, 1],
      [0, 1, 9, 1],
      [1, 1, 9, Number.NaN],
    ] as const) {
      touch.set(1, 1, 2, 1, 8, 1001, 2);
      expect(touch.set(bid, bidLots, ask, askLots, 9, 1002, 3)).toBe(false);
      expect(touch.present).toBe(false);
    }
  });

  it("is newer by sequence where both have one, else by venue time, and a tie goes to the book", () => {
    const touch = new Touch();
    expect(isTouchNewer(touch, { seq: 0, tsVenueMs: -1, tsProvenNs: 1 })).toBe(false);
    touch.set(1, 1, 2, 1, 10, 500, 1);
    const isNewer = (seq: number, tsVenueMs: number): boolean => isTouchNewer(touch, { seq, tsVenueMs, tsProvenNs: 1 });
    expect([isNewer(9, 900), isNewer(10, 1)]).toEqual([true, false]);
    expect([isNewer(0, 499), isNewer(0, 500)]).toEqual([true, false]);
  });

  it("with a time in the future overrides the book for only two seconds of its proofs", () => {
    const touch = new Touch();
    const receivedNs = 5e9;
    touch.set(1, 1, 2, 1, 900, 60_000, receivedNs);
    const isNewer = (seq: number, tsProvenNs: number): boolean =>
      isTouchNewer(touch, { seq, tsVenueMs: 1, tsProvenNs });
    expect([isNewer(0, receivedNs + 2e9), isNewer(7, receivedNs + 2e9)]).toEqual([true, true]);
    expect([isNewer(0, receivedNs + 2e9 + 1), isNewer(7, receivedNs + 2e9 + 1)]).toEqual([false, false]);
    // If the book is the older one, the age of the book decides.
    expect(isNewer(7, 0)).toBe(true);
  });
});

describe("the ticker of a market", () => {
  it("keeps one shape from the first to the last update", () => {
    const ticker = new Ticker();
    const keys = Object.keys(ticker);
    expect([ticker.known, ticker.markPrice, ticker.fundingIntervalHours]).toEqual([false, "", 0]);
    ticker.markPrice = "97421.5";
    ticker.stamp(1000, 5);
    ticker.stamp(900, 6);
    expect([Object.keys(ticker), ticker.known, ticker.tsVenueMs, ticker.tsRecvNs]).toEqual([keys, true, 1000, 6]);
  });
});
