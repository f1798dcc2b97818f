import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Lane } from "../../../engine/ports.js";
import { LaneQueue } from "./lane-queue.js";
import { LaneBudget } from "./lanes.js";

const MINUTE_MS = 60_000;
const LOOKUP = 60;

function setup({ budget = 1_200, maxQueuedPerLane = 32, slots = 64 } = {}) {
  const clock = new VirtualClock();
  const lanes = new LaneBudget({ budget, windowMs: MINUTE_MS });
  const queue = new LaneQueue({ clock, budget: lanes, slots, exitSlots: 4, maxQueuedPerLane });
  const admitted: string[] = [];
  const refused: string[] = [];
  /** Answered in no time: what is looked at is the order and the weight. */
  const ask = async (caller: string, isProven: boolean, weight = LOOKUP, timeoutMs = 5_000, lane: Lane = "exit") => {
    const admission = await queue.acquire(lane, weight, timeoutMs, { caller, isProven });
    (admission.ok ? admitted : refused).push(caller);
    if (admission.ok) queue.release(isProven);
  };
  return { clock, lanes, queue, admitted, refused, ask };
}

describe("callers that no venue has answered yet", () => {
  it("share a quarter of a lane; the rest is for those that are known", async () => {
    const { clock, lanes, queue, admitted, ask } = setup();
    for (let junk = 0; junk < 40; junk++) void ask(`junk ${junk}`, false);
    await clock.advanceAsync(0);
    expect(admitted.length * LOOKUP).toBe(300);
    expect(lanes.available("exit", 0)).toBe(900);
    for (let close = 0; close < 80; close++) void ask("known", true, 10);
    await clock.advanceAsync(0);
    // All that is left, but for the last part of the lane, which is for callers below their share.
    expect(admitted.filter((caller) => caller === "known").length).toBe(80);
    queue.close();
  });

  it("do not narrow the share of a known caller, however many they are", async () => {
    const { clock, lanes, queue, ask } = setup();
    for (let junk = 0; junk < 200; junk++) void ask(`junk ${junk}`, false, 1);
    await clock.advanceAsync(0);
    lanes.charge("exit", lanes.available("exit", 0) - 80, 0);
    expect(lanes.isBeyondShare("exit", "known", 30, 0)).toBe(false);
    queue.close();
  });

  it("hold up no other while they wait for their part", async () => {
    const { clock, queue, admitted, ask } = setup();
    for (let junk = 0; junk < 40; junk++) void ask(`junk ${junk}`, false);
    void ask("known", true, 1, 5_000, "read");
    void ask("known", true, 1);
    await clock.advanceAsync(0);
    expect(admitted.slice(-2)).toEqual(["known", "known"]);
    queue.close();
  });

  it("have one turn together where one key brings them, and wait behind who came meanwhile", async () => {
    const { clock, queue } = setup({ budget: 240 });
    const admitted: string[] = [];
    const ask = async (caller: string, payer: string, weight: number) => {
      const admission = await queue.acquire("exit", weight, 30_000, { caller, payer, isProven: false });
      if (!admission.ok) return;
      admitted.push(payer);
      queue.release(false);
    };
    // A turn of four calls takes all of their part, of which one comes back a second.
    for (let account = 0; account < 4; account++) void ask(`first ${account}`, "pk_busy", 15);
    await clock.advanceAsync(100);
    for (let account = 0; account < 12; account++) void ask(`later ${account}`, "pk_busy", 1);
    await clock.advanceAsync(1_400);
    void ask("other", "pk_other", 1);
    await clock.advanceAsync(10_000);
    const turn = ["pk_busy", "pk_busy", "pk_busy", "pk_busy"];
    expect(admitted).toEqual([...turn, ...turn, "pk_other"]);
    queue.close();
  });

  it("get back what those credentials took that were answered well, and nothing for others of the key", async () => {
    const { clock, queue } = setup();
    const ask = (caller: string) => queue.acquire("exit", LOOKUP, 5_000, { caller, payer: "pk_one", isProven: false });
    for (const caller of ["good", "made up 1", "made up 2", "made up 3", "made up 4"]) {
      expect(await ask(caller)).toMatchObject({ ok: true });
      queue.release(false);
    }
    queue.known("good");
    expect(await ask("made up 5")).toMatchObject({ ok: true });
    queue.release(false);
    const late = Promise.resolve(ask("made up 6"));
    await clock.advanceAsync(5_001);
    expect(await late).toMatchObject({ ok: false, reason: "RATE_BUDGET" });
    queue.close();
  });

  it("are served in the order in which they were first seen, also one that asks again and again", async () => {
    const { clock, queue, admitted, ask } = setup();
    for (let junk = 0; junk < 5; junk++) void ask(`first ${junk}`, false);
    void ask("genuine", false);
    let junk = 0;
    // Five fresh keys a second, each of which asks once; the genuine one asks again when it is refused.
    for (let second = 0; second < 40 && !admitted.includes("genuine"); second++) {
      for (let each = 0; each < 5; each++) void ask(`later ${junk++}`, false);
      if (second % 5 === 4) void ask("genuine", false);
      await clock.advanceAsync(1_000);
    }
    // A look-up comes back to the part each twelve seconds, and nobody is older than it.
    expect(admitted).toContain("genuine");
    expect(clock.monoNs() / 1e6).toBeLessThanOrEqual(13_000);
    queue.close();
  });

  it("keep their turn for the few calls that one close takes", async () => {
    const { clock, queue, admitted, ask } = setup({ budget: 96 });
    const steps: number[] = [];
    let junk = 0;
    // The part gives a call each two and a half seconds; a read and an order are needed, each within five.
    const close = async (): Promise<void> => {
      for (let call = 0; call < 2; call++) {
        const before = admitted.length;
        await ask("genuine", false, 1);
        if (!admitted.slice(before).includes("genuine")) return;
        steps.push(call);
      }
    };
    for (let first = 0; first < 24; first++) void ask(`first ${first}`, false, 1, 30_000);
    for (let second = 0; second < 60 && !steps.includes(1); second++) {
      for (let each = 0; each < 5; each++) void ask(`junk ${junk++}`, false, 1, 30_000);
      if (second % 12 === 3) void close();
      await clock.advanceAsync(1_000);
    }
    expect(steps).toContain(1);
    expect(clock.monoNs() / 1e6).toBeLessThanOrEqual(20_000);
    queue.close();
  });

  it("cannot keep another out by waiting in all places", async () => {
    const { clock, queue, refused, ask } = setup({ maxQueuedPerLane: 8 });
    for (let call = 0; call < 20; call++) void ask("greedy", false);
    await clock.advanceAsync(0);
    expect(queue.queued("exit")).toBe(8);
    const before = refused.length;
    void ask("another", false);
    await clock.advanceAsync(0);
    expect(refused.slice(before)).toEqual(["greedy"]);
    queue.close();
  });

  it("release what they took once they are known, so that many genuine ones need not wait", async () => {
    const { clock, lanes, queue, admitted, ask } = setup();
    for (let caller = 0; caller < 15; caller++) void ask(`trader ${caller}`, false);
    await clock.advanceAsync(0);
    expect(admitted.length).toBe(5);
    for (let caller = 0; caller < 15; caller++) {
      queue.known(`trader ${caller}`);
      await clock.advanceAsync(0);
    }
    expect(admitted.length).toBe(15);
    // The lane counts them all the same.
    expect(lanes.available("exit", 0)).toBe(1_200 - 15 * LOOKUP);
    queue.close();
  });

  it("give way where all places to wait in are taken, the youngest first, and keep connections free for others", async () => {
    const { clock, queue, refused, ask } = setup({ maxQueuedPerLane: 8 });
    for (let junk = 0; junk < 20; junk++) void ask(`junk ${junk}`, false);
    await clock.advanceAsync(0);
    expect(queue.queued("exit")).toBe(8);
    expect(refused.length).toBe(7);
    // Who asks again was there before all of them.
    void ask("junk 13", false);
    await clock.advanceAsync(0);
    expect(queue.queued("exit")).toBe(8);
    expect(refused.length).toBe(8);
    // More than there is: it waits.
    void ask("known", true, 1_000);
    await clock.advanceAsync(0);
    expect(queue.queued("exit")).toBe(8);
    expect(refused.length).toBe(9);
    expect(refused).not.toContain("known");
    queue.close();

    const slow = setup({ slots: 8 });
    let busy = 0;
    for (let junk = 0; junk < 10; junk++) {
      const admission = slow.queue.acquire("exit", 1, 5_000, { caller: `junk ${junk}`, isProven: false });
      if (!(admission instanceof Promise)) busy++;
    }
    expect(busy).toBe(2);
    slow.queue.close();
  });

  it("keep connections for exits free for known callers whose reads have all others", async () => {
    const { clock, queue, admitted, ask } = setup({ slots: 16 });
    const caller = "known";
    for (let read = 0; read < 20; read++) void queue.acquire("read", 1, 5_000, { caller });
    for (let junk = 0; junk < 20; junk++)
      void queue.acquire("exit", 1, 5_000, { caller: `junk ${junk}`, isProven: false });
    await clock.advanceAsync(0);
    void ask(caller, true, 1);
    await clock.advanceAsync(0);
    expect(admitted).toEqual([caller]);
    // Half of those kept for exits: what is slow for others is no reason that nobody new gets in.
    expect(queue.busySlots).toBe(14);
    queue.close();
  });
});
