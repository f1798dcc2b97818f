import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { FaultInjector, FAULT_KINDS, faultSpecProblems } from "./faults.js";
import type { FaultSpec } from "./fault-types.js";

function injector(...specs: FaultSpec[]): { faults: FaultInjector; clock: VirtualClock } {
  const clock = new VirtualClock();
  const faults = new FaultInjector({ seed: 1, clock });
  for (const spec of specs) faults.add(spec);
  return { faults, clock };
}

describe("fault injector", () => {
  it("does nothing without faults", () => {
    const { faults } = injector();
    expect(faults.onRequest("GET /x")).toEqual({
      before: "none",
      after: "none",
      status: 0,
      retryAfterS: -1,
      delayMs: 0,
      holdMs: 0,
    });
    expect(faults.onFrame("market", "s", true)).toEqual({
      drop: false,
      copies: 1,
      holdBack: false,
      silent: false,
      disconnect: false,
      half: false,
      delayMs: 0,
    });
    expect(faults.onHandshake("/ws")).toBe(0);
  });

  it("turns each REST kind into its verdict", () => {
    const verdict = (spec: FaultSpec): object => ({ ...injector(spec).faults.onRequest("POST /order") });
    expect(verdict({ kind: "fixedDelay", delayMs: 5 })).toMatchObject({ delayMs: 5 });
    expect(verdict({ kind: "loss" })).toMatchObject({ before: "drop" });
    expect(verdict({ kind: "rate429" })).toMatchObject({ before: "rate429", status: 429, retryAfterS: -1 });
    expect(verdict({ kind: "rate429", retryAfterS: 3 })).toMatchObject({ before: "rate429", retryAfterS: 3 });
    expect(verdict({ kind: "ban418", retryAfterS: 120 })).toMatchObject({ before: "ban418", status: 418 });
    expect(verdict({ kind: "errorBefore", status: 502 })).toMatchObject({
      before: "error",
      after: "none",
      status: 502,
    });
    expect(verdict({ kind: "errorAfter" })).toMatchObject({ before: "none", after: "error", status: 503 });
    expect(verdict({ kind: "replyLost" })).toMatchObject({ before: "none", after: "cut" });
  });

  it("turns each frame kind into its verdict, gaps only on sequenced frames", () => {
    const { faults } = injector({ kind: "gap" });
    expect(faults.onFrame("market", "a@depth", true).drop).toBe(true);
    expect(faults.onFrame("market", "a@trade", false).drop).toBe(false);
    expect(faults.onFrame("user", "k", false).drop).toBe(false);
    const own = injector({ kind: "gap", scope: ["user"], match: "positions:7" }).faults;
    expect(own.onFrame("user", "positions:7", false).drop).toBe(true);
    expect(own.onFrame("user", "positions:8", false).drop).toBe(false);
    expect(own.onFrame("market", "positions:7", false).drop).toBe(false);
    expect(injector({ kind: "duplicate" }).faults.onFrame("user", "k", false).copies).toBe(2);
    expect(injector({ kind: "reorder" }).faults.onFrame("user", "k", false).holdBack).toBe(true);
    expect(injector({ kind: "disconnect" }).faults.onFrame("market", "k", false).disconnect).toBe(true);
    expect(injector({ kind: "halfFrame" }).faults.onFrame("market", "k", false).half).toBe(true);
    const deaf = injector({ kind: "ignoreSubscribe", match: "book", count: 1 }).faults;
    expect([deaf.onSubscribe("trade:1"), deaf.onSubscribe("book:1"), deaf.onSubscribe("book:1")]).toEqual([
      false,
      true,
      false,
    ]);
    expect(injector({ kind: "ignoreSubscribe" }).faults.onFrame("market", "k", true).drop).toBe(false);
    const silent = injector({ kind: "silent", scope: ["user"] }).faults;
    expect(silent.onFrame("user", "k", false).silent).toBe(true);
    expect(silent.isSilent("market")).toBe(false);
    expect(injector({ kind: "refuseHandshake", status: 429 }).faults.onHandshake("/ws")).toBe(429);
  });

  it("keeps to scope, match, count and duration", () => {
    const { faults, clock } = injector({ kind: "loss", scope: ["market"], match: "btc", count: 2, durationMs: 1000 });
    expect(faults.onRequest("GET /btc").before).toBe("none");
    expect(faults.onFrame("market", "eth@depth", true).drop).toBe(false);
    expect(faults.onFrame("market", "btc@depth", true).drop).toBe(true);
    expect(faults.onFrame("market", "btc@depth", true).drop).toBe(true);
    expect(faults.onFrame("market", "btc@depth", true).drop).toBe(false);
    faults.add({ kind: "loss", durationMs: 1000 });
    expect(faults.onFrame("market", "btc@depth", true).drop).toBe(true);
    clock.advance(1001);
    expect(faults.onFrame("market", "btc@depth", true).drop).toBe(false);
    expect(faults.hits().loss).toBe(3);
  });

  it("throws the same dice for the same seed, near the asked probability", () => {
    const run = (): boolean[] => {
      const { faults } = injector({ kind: "loss", probability: 0.2 });
      return Array.from({ length: 2000 }, () => faults.onFrame("market", "x", false).drop);
    };
    expect(run()).toEqual(run());
    const dropped = run().filter(Boolean).length;
    expect(dropped).toBeGreaterThan(320);
    expect(dropped).toBeLessThan(480);
  });

  it("adds latency up within its jitter, and reports clock skew while it lasts", () => {
    const { faults, clock } = injector(
      { kind: "latency", delayMs: 100, jitterMs: 50 },
      { kind: "clockSkew", delayMs: -3000, durationMs: 500 },
    );
    for (let index = 0; index < 100; index++) {
      const { delayMs } = faults.onRequest("GET /x");
      expect(delayMs).toBeGreaterThanOrEqual(100);
      expect(delayMs).toBeLessThan(150);
    }
    expect(faults.clockSkewMs()).toBe(-3000);
    clock.advance(501);
    expect(faults.clockSkewMs()).toBe(0);
  });

  it("names every problem of a spec from outside", () => {
    for (const kind of FAULT_KINDS) expect(faultSpecProblems({ kind })).toEqual([]);
    expect(faultSpecProblems(null)).toHaveLength(1);
    expect(faultSpecProblems({ kind: "x", scope: ["y"], probability: "1", match: 3 })).toHaveLength(4);
  });
});
