import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { callerKey, policyText, RateLimiter, TokenBucket } from "./limiter.js";

const SECOND_NS = 1e9;
const RULES = {
  read: { perSecond: 10, burst: 20 },
  trade: { perSecond: 20, burst: 20 },
  exit: { perSecond: 5, burst: 20 },
  transfer: { perSecond: 1, burst: 2 },
  anon: { perSecond: 1, burst: 2 },
};

describe("a token bucket", () => {
  it("grants the burst at once, then the rate", () => {
    const bucket = new TokenBucket("exit", RULES.exit, 0);
    expect(Array.from({ length: 21 }, () => bucket.take(1, 0)).filter(Boolean)).toHaveLength(20);
    expect(bucket.waitMs(1, 0)).toBe(200);
    expect(bucket.take(1, 0.199 * SECOND_NS)).toBe(false);
    expect(bucket.take(1, 0.2 * SECOND_NS)).toBe(true);
  });

  it("takes nothing when it refuses, and never holds more than its burst", () => {
    const bucket = new TokenBucket("anon", RULES.anon, 0);
    expect(bucket.take(3, 0)).toBe(false);
    expect(bucket.remaining(1000 * SECOND_NS)).toBe(2);
  });

  it("ignores a clock that stops or goes back", () => {
    const bucket = new TokenBucket("anon", RULES.anon, 5 * SECOND_NS);
    expect([
      bucket.take(2, 5 * SECOND_NS),
      bucket.take(1, 0),
      bucket.take(1, 5.9 * SECOND_NS),
      bucket.take(1, 6 * SECOND_NS),
    ]).toEqual([true, false, false, true]);
  });

  it("never grants more than burst + rate × time, whatever the arrivals", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 }), (gapsMs) => {
        const bucket = new TokenBucket("read", RULES.read, 0);
        let nowNs = 0;
        let granted = 0;
        for (const gapMs of gapsMs) {
          nowNs += gapMs * 1e6;
          if (bucket.take(1, nowNs)) granted++;
          expect(granted).toBeLessThanOrEqual(20 + (10 * nowNs) / SECOND_NS + 1e-6);
        }
      }),
    );
  });

  it("grants after exactly the wait it reported", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (weight) => {
        const bucket = new TokenBucket("exit", RULES.exit, 0);
        bucket.take(20, 0);
        const waitMs = bucket.waitMs(weight, 0);
        expect(bucket.take(weight, (waitMs - 1) * 1e6)).toBe(false);
        expect(bucket.take(weight, waitMs * 1e6)).toBe(true);
      }),
    );
  });
});

describe("the rate limiter", () => {
  it("keeps callers apart and drops the one not seen longest", () => {
    const limiter = new RateLimiter(RULES, 2);
    expect(limiter.caller("a", 0).anon.take(2, 0)).toBe(true);
    expect(limiter.caller("b", 0).anon.take(1, 0)).toBe(true);
    expect(limiter.caller("a", 0).anon.take(1, 0)).toBe(false);
    limiter.caller("c", 0);
    expect(limiter.callerCount).toBe(2);
    expect(limiter.caller("b", 0).anon.take(2, 0)).toBe(true);
  });

  it("publishes window and quota of each bucket", () => {
    const caller = new RateLimiter(RULES, 2).caller("a", 0);
    expect(policyText([caller.exit, caller.trade])).toBe('"exit";q=20;w=4, "trade";q=20;w=1');
  });
});

describe("the key of a caller's address", () => {
  it.each([
    [[127, 0, 0, 1], "127.0.0.1"],
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 2, 3], "10.1.2.3"],
    [[32, 1, 13, 184, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9], "6:32.1.13.184.0.0.0.1"],
    [[32, 1, 13, 184, 0, 0, 0, 1, 8, 8, 8, 8, 8, 8, 8, 8], "6:32.1.13.184.0.0.0.1"],
    [[], "unknown"],
  ])("for the bytes %j is %s", (bytes, key) => {
    expect(callerKey(Uint8Array.from(bytes).buffer)).toBe(key);
  });
});
