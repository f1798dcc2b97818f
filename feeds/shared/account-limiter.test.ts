import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { AccountLimiter } from "./account-limiter.js";

describe("AccountLimiter", () => {
  it("holds each account to each of its windows", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [
      { limit: 3, windowMs: 10_000 },
      { limit: 4, windowMs: 60_000 },
    ]);
    for (let count = 0; count < 3; count++) expect(limiter.tryTake("a", 1)).toBe(0);
    const waitMs = limiter.tryTake("a", 1);
    expect(waitMs).toBeGreaterThan(9_000);
    expect(limiter.tryTake("b", 1)).toBe(0);
    clock.advance(waitMs);
    expect(limiter.tryTake("a", 1)).toBe(0);
    expect(limiter.tryTake("a", 1)).toBeGreaterThan(10_000);
  });

  it("charges nothing for a refusal", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 2, windowMs: 1_000 }]);
    expect(limiter.tryTake("a", 3)).toBe(Number.POSITIVE_INFINITY);
    expect(limiter.tryTake("a", 2)).toBe(0);
  });

  it("blocks an account the venue limited, and only it", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, []);
    limiter.block("a", 5_000);
    expect(limiter.tryTake("a", 1)).toBe(5_000);
    expect(limiter.tryTake("b", 1)).toBe(0);
    clock.advance(5_000);
    expect(limiter.tryTake("a", 1)).toBe(0);
  });

  it("forgets the account used longest ago when full", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 1, windowMs: 10_000 }], 2);
    limiter.tryTake("a", 1);
    limiter.tryTake("b", 1);
    expect(limiter.tryTake("a", 1)).toBeGreaterThan(0);
    limiter.tryTake("c", 1);
    expect(limiter.accountCount).toBe(2);
    expect(limiter.tryTake("a", 1)).toBeGreaterThan(0);
    expect(limiter.tryTake("b", 1)).toBe(0);
  });
});
