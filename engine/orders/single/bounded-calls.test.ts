/** Calls under way: how many there may be, what becomes of their faults, and the drain. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../domain/errors.js";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { BoundedCalls } from "./bounded-calls.js";

const calls = (maxCount: number): BoundedCalls => new BoundedCalls(new VirtualClock(), silentLogger, maxCount);
const UNDER_WAY = new Promise<never>(() => {});

describe("calls under way", () => {
  it("are refused beyond their bound, and let in again as they end", async () => {
    const bounded = calls(1);
    let end = (_answer: string): void => {};
    const first = bounded.run(1_000, () => new Promise<string>((resolve) => (end = resolve)));
    expect(await bounded.run(1_000, async () => "second")).toMatchObject({ ok: false, code: "OVERLOADED" });
    end("first");
    expect(await first).toBe("first");
    expect(bounded.count).toBe(0);
    expect(await bounded.run(1_000, async () => "third")).toBe("third");
  });

  it("answer a fault with its code, and one of ours with no more than INTERNAL", async () => {
    const bounded = calls(2);
    const fails = (error: unknown) => bounded.run(1_000, async () => Promise.reject(error));
    const known = new ServiceError("STORE_UNAVAILABLE", { reason: "TIMEOUT" });
    expect(await fails(known)).toMatchObject({ ok: false, code: "STORE_UNAVAILABLE", details: { reason: "TIMEOUT" } });
    expect(await fails(new RangeError("a secret"))).toEqual({
      ok: false,
      code: "INTERNAL",
      details: {},
      replayed: false,
    });
    expect(bounded.count).toBe(0);
  });

  it("refuses new calls from its drain on, and resolves with the end of those under way", async () => {
    const bounded = calls(2);
    let end = (): void => {};
    const running = bounded.run(1_000, () => new Promise<void>((resolve) => (end = resolve)));
    let isDrained = false;
    const drained = bounded.drain().then(() => {
      isDrained = true;
    });
    expect(bounded.isDraining).toBe(true);
    expect(await bounded.run(1_000, () => UNDER_WAY)).toMatchObject({ ok: false, code: "SHUTTING_DOWN" });
    await new Promise(setImmediate);
    expect(isDrained).toBe(false);
    end();
    await Promise.all([running, drained]);
    expect(isDrained).toBe(true);
  });
});
