import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Lane } from "../../../engine/ports.js";
import type { Admission } from "./lane-gate.js";
import { LaneQueue } from "./lane-queue.js";
import { LANE_SHARES, LaneBudget, LANES } from "./lanes.js";

const MINUTE_MS = 60_000;

function takeAll(budget: LaneBudget, lane: Lane, nowMs: number): number {
  let taken = 0;
  while (budget.tryTake(lane, 1, nowMs)) taken++;
  return taken;
}

describe("LaneBudget", () => {
  it("divides the whole budget: the shares add up to one", () => {
    expect(LANES.reduce((sum, lane) => sum + LANE_SHARES[lane], 0)).toBeCloseTo(1, 12);
  });

  it("keeps exit's full quarter free when every other lane has taken all it can", () => {
    const budget = new LaneBudget({ budget: 1_200, windowMs: MINUTE_MS });
    for (const lane of ["background", "read", "reconcile", "trade"] as const) takeAll(budget, lane, 0);
    expect(budget.available("trade", 0)).toBeLessThanOrEqual(0);
    expect(takeAll(budget, "exit", 0)).toBe(300);
    expect(LANES.reduce((sum, lane) => sum + budget.available(lane, 0), 0)).toBeLessThanOrEqual(0);
  });

  it("lets exit use everything when it is alone", () => {
    const budget = new LaneBudget({ budget: 1_200, windowMs: MINUTE_MS });
    expect(takeAll(budget, "exit", 0)).toBe(1_200);
  });

  it("lets an unused share flow down: background alone gets far more than its five percent, but never exit's quarter", () => {
    const budget = new LaneBudget({ budget: 1_200, windowMs: MINUTE_MS });
    const taken = takeAll(budget, "background", 0);
    expect(taken).toBeGreaterThan(400);
    expect(taken).toBe(budget.ceiling("background"));
    expect(takeAll(budget, "exit", 0)).toBeGreaterThanOrEqual(300);
  });

  it("lends what idle lanes hold back to work that may wait, never what exit holds back, and not of a lane in use", () => {
    const budget = new LaneBudget({ budget: 1_920, windowMs: MINUTE_MS });
    expect(budget.available("reconcile", 0)).toBe(1_920 - 480 - 336 - 144 - 48);
    expect(budget.available("reconcile", 0, true)).toBe(1_920 - 480);
    budget.charge("reconcile", 1_200, 0, true);
    // The others of the lane, and trade, find what is left: what was lent is not held back from them as well.
    expect(budget.available("reconcile", 0)).toBe(1_920 - 1_200 - 480);
    expect(budget.available("trade", 0)).toBe(1_920 - 1_200 - 480);
    expect(budget.available("exit", 0)).toBe(1_920 - 1_200);
    budget.tryTake("trade", 10, 0);
    expect(budget.available("reconcile", 0, true)).toBe(1_920 - 1_210 - 480 - 326);
  });

  it("keeps what a lane holds back from all who do not borrow, whatever borrowers took of their own lane", () => {
    const { budget, queue } = setup({ budget: 1_920, slots: 10, exitSlots: 1 });
    // All that reconcile may take without borrowing: nothing is lent.
    const own = budget.available("reconcile", 0);
    expect(queue.acquire("reconcile", own - 400, 1_000, { borrowsIdle: true })).toEqual({ ok: true });
    takeAll(budget, "read", 0);
    takeAll(budget, "background", 0);
    expect(takeAll(budget, "trade", 0)).toBeGreaterThanOrEqual(Math.floor(1_920 * LANE_SHARES.trade * 0.5));
    queue.close();
  });

  it("follows the venue when it counted more than we did, and forgets that after a window", () => {
    const budget = new LaneBudget({ budget: 2_400, windowMs: MINUTE_MS });
    budget.tryTake("exit", 100, 0);
    budget.reportUsed(2_390, 0);
    expect(budget.available("exit", 0)).toBe(10);
    budget.reportUsed(5, 0);
    expect(budget.available("exit", 0)).toBe(10);
    expect(budget.available("exit", MINUTE_MS + 2_000)).toBe(2_400);
  });

  it("forgets a count of the venue when the venue does, where it names the time", () => {
    const budget = new LaneBudget({ budget: 100, windowMs: MINUTE_MS });
    budget.tryTake("exit", 10, 0);
    budget.reportUsed(100, 0, 5_000);
    expect(budget.available("exit", 4_999)).toBe(0);
    expect(budget.available("exit", 6_000)).toBe(90);
  });

  it("refuses everything while the venue counts more than the budget", () => {
    const budget = new LaneBudget({ budget: 100, windowMs: MINUTE_MS });
    budget.reportUsed(140, 0);
    expect(budget.tryTake("exit", 1, 0)).toBe(false);
    expect(budget.msUntilAvailable("exit", 1, 0)).toBeGreaterThan(0);
  });
});

function admissionOf(admission: Admission | Promise<Admission>): Promise<Admission> {
  return Promise.resolve(admission);
}

function setup(options: { budget?: number; slots?: number; exitSlots?: number; maxQueuedPerLane?: number } = {}) {
  const clock = new VirtualClock();
  const budget = new LaneBudget({ budget: options.budget ?? 100, windowMs: MINUTE_MS });
  const queue = new LaneQueue({
    clock,
    budget,
    slots: options.slots ?? 4,
    exitSlots: options.exitSlots ?? 1,
    maxQueuedPerLane: options.maxQueuedPerLane ?? 8,
  });
  return { clock, budget, queue };
}

describe("LaneQueue", () => {
  it("keeps a slot for exit when reads hold all others", () => {
    const { queue } = setup();
    for (let index = 0; index < 3; index++) expect(queue.acquire("read", 1, 1_000)).toEqual({ ok: true });
    expect(queue.acquire("read", 1, 1_000)).toBeInstanceOf(Promise);
    expect(queue.acquire("exit", 1, 1_000)).toEqual({ ok: true });
    queue.close();
  });

  it("serves waiting calls by lane, then by arrival", async () => {
    const { queue } = setup({ slots: 2, exitSlots: 1 });
    const order: string[] = [];
    expect(queue.acquire("read", 1, 10_000)).toEqual({ ok: true });
    const waiting = (["background", "read", "trade", "read"] as const).map(async (lane, index) => {
      const admission = await queue.acquire(lane, 1, 10_000);
      if (admission.ok) {
        order.push(`${lane}${index}`);
        queue.release();
      }
    });
    queue.release();
    await Promise.all(waiting);
    expect(order).toEqual(["trade2", "read1", "read3", "background0"]);
  });

  it("refuses one more than the queue holds, at once", async () => {
    const { queue } = setup({ slots: 2, exitSlots: 1, maxQueuedPerLane: 2 });
    expect(queue.acquire("read", 1, 1_000)).toEqual({ ok: true });
    const waiting = [queue.acquire("read", 1, 1_000), queue.acquire("read", 1, 1_000)];
    expect(queue.acquire("read", 1, 1_000)).toMatchObject({ ok: false, reason: "QUEUE_FULL" });
    queue.close();
    for (const admission of waiting) expect(await admission).toMatchObject({ ok: false, reason: "CLOSED" });
    expect(queue.acquire("exit", 1, 1_000)).toMatchObject({ ok: false, reason: "CLOSED" });
  });

  it("refuses a waiting call at its deadline and names when to come back", async () => {
    const { clock, queue } = setup({ budget: 100, slots: 10, exitSlots: 1 });
    expect(queue.acquire("exit", 100, 1_000)).toEqual({ ok: true });
    const late = admissionOf(queue.acquire("exit", 1, 500));
    clock.advance(500);
    const admission = await late;
    expect(admission).toMatchObject({ ok: false, reason: "RATE_BUDGET" });
    if (!admission.ok) expect(admission.retryAfterMs).toBeGreaterThan(50_000);
    expect(queue.queued("exit")).toBe(0);
  });

  it("admits a waiting call by itself once weight returns", async () => {
    const { clock, queue } = setup({ budget: 100, slots: 10, exitSlots: 1 });
    expect(queue.acquire("exit", 100, 1_000)).toEqual({ ok: true });
    const later = admissionOf(queue.acquire("exit", 1, 120_000));
    await clock.advanceAsync(62_500);
    expect(await later).toEqual({ ok: true });
  });

  it("refuses at once what its lane could never carry", () => {
    const { queue, budget } = setup();
    expect(queue.acquire("background", budget.ceiling("background") + 1, 1_000)).toEqual({
      ok: false,
      reason: "RATE_BUDGET",
      retryAfterMs: null,
    });
  });

  it("over any minute never grants more than the budget, and never starves exit, under any flood", async () => {
    const lane = fc.constantFrom(...LANES.filter((name) => name !== "exit"));
    const call = fc.record({ lane, weight: fc.integer({ min: 1, max: 20 }), gapMs: fc.integer({ min: 0, max: 900 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 50, maxLength: 200 }), fc.integer(), async (calls, seed) => {
        const random = createSeededRandom(seed);
        const { clock, queue } = setup({ budget: 120, slots: 6, exitSlots: 2, maxQueuedPerLane: 16 });
        const grants: { readonly atMs: number; readonly weight: number }[] = [];
        let exitRefused = 0;
        let exitUsed: { atMs: number; weight: number }[] = [];
        const run = async (name: Lane, weight: number): Promise<void> => {
          const admission = await queue.acquire(name, weight, 5_000);
          if (!admission.ok) {
            if (name === "exit") exitRefused++;
            return;
          }
          grants.push({ atMs: clock.monoNs() / 1e6, weight });
          clock.setTimer(() => queue.release(), 20 + random.next() * 400);
        };
        const running: Promise<void>[] = [];
        for (const { lane: name, weight, gapMs } of calls) {
          running.push(run(name, weight));
          const nowMs = clock.monoNs() / 1e6;
          exitUsed = exitUsed.filter((entry) => nowMs - entry.atMs < MINUTE_MS + 2_000);
          // Exit stays within its own quarter of the window: 30 of 120.
          if (exitUsed.reduce((sum, entry) => sum + entry.weight, 0) + 3 <= 30) {
            exitUsed.push({ atMs: nowMs, weight: 3 });
            running.push(run("exit", 3));
          }
          clock.advance(gapMs);
          await Promise.resolve();
        }
        await clock.advanceAsync(10_000);
        await Promise.all(running);
        expect(exitRefused).toBe(0);
        for (const { atMs } of grants) {
          const inMinute = grants.filter((grant) => grant.atMs >= atMs && grant.atMs < atMs + MINUTE_MS);
          expect(inMinute.reduce((sum, grant) => sum + grant.weight, 0)).toBeLessThanOrEqual(120);
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe("callers of one lane", () => {
  const take = (queue: LaneQueue, lane: Lane, caller: string | null, weight = 1, timeoutMs = 1_000) =>
    queue.acquire(lane, weight, timeoutMs, { caller });
  const takeAll = (queue: LaneQueue, lane: Lane, caller: string): number => {
    for (let count = 0; ; count++) {
      const admission = take(queue, lane, caller);
      if (admission instanceof Promise) return count;
      if (!admission.ok) return count;
      queue.release();
    }
  };

  it("cannot drain it for others: what a heavy one does not take is there for a caller below its share", async () => {
    for (const [lane, before] of [
      ["exit", 0],
      ["trade", 0],
    ] as const) {
      const { queue } = setup({ budget: 400, slots: 10, exitSlots: 1, maxQueuedPerLane: 8 });
      const heavy = takeAll(queue, lane, "heavy");
      expect(heavy).toBeGreaterThan(100 + before);
      expect(await take(queue, lane, "light")).toEqual({ ok: true });
      queue.release();
      // What has no caller is our own, and bound by the lane alone.
      expect(await take(queue, lane, null)).toEqual({ ok: true });
      queue.close();
    }
  });

  it("leave it whole to the only one, but for that last part", () => {
    const { queue } = setup({ budget: 400, slots: 10, exitSlots: 1 });
    // A quarter of what is held back for the exit lane, 100 of 400, is left to others.
    expect(takeAll(queue, "exit", "only")).toBe(375);
    queue.close();
  });

  it("may each make a first call of it, however many came before: who used nothing is not above his share", () => {
    // All open orders of an account, which a cancel of all begins with: far above one's share among so many.
    const weight = 40;
    const { budget, queue } = setup({ budget: 1_920, slots: 10, exitSlots: 1 });
    for (const lane of ["background", "read", "reconcile", "trade"] as const)
      while (budget.tryTake(lane, 1, 0)) expect(budget.available("exit", 0)).toBeGreaterThanOrEqual(480);
    const admitted = Array.from({ length: 12 }, (_, caller) => {
      const admission = take(queue, "exit", `caller ${caller}`, weight);
      if (!(admission instanceof Promise) && admission.ok) queue.release();
      return !(admission instanceof Promise) && admission.ok;
    });
    // All that the venue still grants, and no more.
    expect(admitted).toEqual(Array.from({ length: 12 }, () => true));
    expect(budget.available("exit", 0)).toBe(0);
    queue.close();
  });

  it("are served by what they used, not by who asked most", async () => {
    const { queue } = setup({ slots: 2, exitSlots: 1 });
    const order: string[] = [];
    expect(take(queue, "trade", "heavy", 5)).toEqual({ ok: true });
    const waiting = ["heavy", "heavy", "light", "heavy", "light"].map(async (caller) => {
      const admission = await take(queue, "trade", caller, 1, 10_000);
      if (!admission.ok) return;
      order.push(caller);
      queue.release();
    });
    queue.release();
    await Promise.all(waiting);
    expect(order).toEqual(["light", "light", "heavy", "heavy", "heavy"]);
  });

  it("may fill all places to wait in, and the one with most gives way to one with fewer", async () => {
    const { queue } = setup({ slots: 2, exitSlots: 1, maxQueuedPerLane: 4 });
    expect(take(queue, "trade", "heavy")).toEqual({ ok: true });
    const waiting = Array.from({ length: 4 }, () => take(queue, "trade", "heavy"));
    for (const admission of waiting) expect(admission).toBeInstanceOf(Promise);
    expect(take(queue, "trade", "heavy")).toMatchObject({ ok: false, reason: "QUEUE_FULL" });
    expect(take(queue, "trade", "light")).toBeInstanceOf(Promise);
    // The last of those that came, and it alone.
    expect(await waiting[3]).toMatchObject({ ok: false, reason: "QUEUE_FULL" });
    expect(queue.queued("trade")).toBe(4);
    queue.close();
    for (const admission of waiting.slice(0, 3)) expect(await admission).toMatchObject({ reason: "CLOSED" });
  });

  it("that wait for their share alone hold up no other", async () => {
    const { queue } = setup({ budget: 400, slots: 10, exitSlots: 1 });
    takeAll(queue, "exit", "heavy");
    expect(take(queue, "exit", "heavy", 1, 60_000)).toBeInstanceOf(Promise);
    expect(await take(queue, "exit", "light")).toEqual({ ok: true });
    queue.close();
  });
});
