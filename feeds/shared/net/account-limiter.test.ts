import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { AccountLimiter } from "./account-limiter.js";

describe("AccountLimiter", () => {
  it("holds each account to each of its windows", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [
      { limit: 3, windowMs: 10_000 },
      { limit: 4, windowMs: 60_000 },
    ]);
    for (let count = 0; count < 3; count++) expect(limiter.tryTake("a", 1, "exit")).toBe(0);
    const waitMs = limiter.tryTake("a", 1, "exit");
    expect(waitMs).toBeGreaterThan(9_000);
    expect(limiter.tryTake("b", 1, "exit")).toBe(0);
    clock.advance(waitMs);
    expect(limiter.tryTake("a", 1, "exit")).toBe(0);
    expect(limiter.tryTake("a", 1, "exit")).toBeGreaterThan(10_000);
  });

  it("charges nothing for a refusal", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 2, windowMs: 1_000 }]);
    expect(limiter.tryTake("a", 3, "exit")).toBe(Number.POSITIVE_INFINITY);
    expect(limiter.tryTake("a", 2, "exit")).toBe(0);
  });

  it("blocks an account the venue limited, and only it", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, []);
    limiter.block("a", 5_000);
    expect(limiter.tryTake("a", 1, "exit")).toBe(5_000);
    expect(limiter.tryTake("b", 1, "exit")).toBe(0);
    clock.advance(5_000);
    expect(limiter.tryTake("a", 1, "exit")).toBe(0);
  });

  it("forgets the account used longest ago when full", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 1, windowMs: 10_000 }], 2);
    limiter.tryTake("a", 1, "exit");
    limiter.tryTake("b", 1, "exit");
    expect(limiter.tryTake("a", 1, "exit")).toBeGreaterThan(0);
    limiter.tryTake("c", 1, "exit");
    expect(limiter.accountCount).toBe(2);
    expect(limiter.tryTake("a", 1, "exit")).toBeGreaterThan(0);
    expect(limiter.tryTake("b", 1, "exit")).toBe(0);
  });

  it("keeps a quarter of each window for exits, whatever else the account does", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 48, windowMs: 60_000 }]);
    let entries = 0;
    for (let count = 0; count < 48; count++) if (limiter.tryTake("a", 1, "trade") === 0) entries++;
    expect(entries).toBe(36);
    expect(limiter.tryTake("a", 1, "read")).toBeGreaterThan(0);
    let exits = 0;
    while (limiter.tryTake("a", 1, "exit") === 0) exits++;
    expect(exits).toBe(12);
  });

  it("lets exits use all of it, and names what an entry waits for", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 8, windowMs: 10_000 }]);
    for (let count = 0; count < 5; count++) expect(limiter.tryTake("a", 1, "exit")).toBe(0);
    // Five of eight are gone, two of them out of what is kept: three are left for anybody.
    expect(limiter.waitMs("a", 3, "trade")).toBe(0);
    expect(limiter.tryTake("a", 3, "exit")).toBe(0);
    const waitMs = limiter.waitMs("a", 1, "trade");
    expect(waitMs).toBeGreaterThan(9_000);
    clock.advance(waitMs);
    expect(limiter.tryTake("a", 6, "trade")).toBe(0);
    expect(limiter.waitMs("a", 1, "trade")).toBeGreaterThan(9_000);
    expect(limiter.waitMs("a", 2, "exit")).toBe(0);
  });

  it("releases what never left", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 4, windowMs: 10_000 }]);
    const takenAtMs = clock.monoNs() / 1e6;
    expect(limiter.tryTake("a", 4, "exit")).toBe(0);
    clock.advance(3_000);
    limiter.refund("a", 3, "exit", takenAtMs);
    expect(limiter.tryTake("a", 3, "exit")).toBe(0);
    expect(limiter.waitMs("a", 1, "exit")).toBeGreaterThan(0);
    clock.advance(30_000);
    limiter.refund("a", 1, "exit", takenAtMs);
    expect(limiter.tryTake("a", 4, "exit")).toBe(0);
    expect(limiter.waitMs("a", 1, "exit")).toBeGreaterThan(0);
  });
});

describe("what the venue counts of an account beside us", () => {
  it("keeps entries waiting by what is left, and no exit", () => {
    const clock = new VirtualClock();
    const limiter = new AccountLimiter(clock, [{ limit: 240, windowMs: 60_000 }]);
    expect(limiter.tryTake("a", 10, "trade")).toBe(0);
    limiter.reportUsed("a", 170);
    // Said twice it is counted once.
    limiter.reportUsed("a", 170);
    expect(limiter.tryTake("a", 10, "trade")).toBe(0);
    const waitMs = limiter.waitMs("a", 1, "trade");
    expect(waitMs).toBeGreaterThan(0);
    expect(limiter.waitMs("a", 200, "exit")).toBe(0);
    clock.advance(63_001);
    expect(limiter.tryTake("a", 100, "trade")).toBe(0);
  });

  it("counts our own once, whatever the lane", () => {
    const limiter = new AccountLimiter(new VirtualClock(), [{ limit: 8, windowMs: 60_000 }]);
    expect(limiter.tryTake("a", 5, "exit")).toBe(0);
    limiter.reportUsed("a", 5);
    expect(limiter.waitMs("a", 3, "trade")).toBe(0);
  });
});
