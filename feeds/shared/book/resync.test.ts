import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { type ApplyVerdict, LoadRefused, Resync } from "./resync.js";

function setup(options: { maxBufferedFrames?: number; leastWaitMs?: number } = {}) {
  const clock = new VirtualClock();
  const loads: ((snapshot: number | LoadRefused | null) => void)[] = [];
  const applied: { snapshot: number; frames: number[] }[] = [];
  const escalations: number[] = [];
  let verdict: ApplyVerdict = "synced";
  const resync = new Resync<number, number>({
    clock,
    random: createSeededRandom(3),
    backoff: { baseMs: 100, capMs: 1_000 },
    ...(options.leastWaitMs === undefined ? {} : { leastWaitMs: options.leastWaitMs }),
    maxBufferedFrames: options.maxBufferedFrames ?? 3,
    escalateAfter: 2,
    load: () => new Promise((resolve) => loads.push(resolve)),
    apply: (snapshot, frames) => {
      applied.push({ snapshot, frames: [...frames] });
      return verdict;
    },
    onEscalate: (attemptCount) => escalations.push(attemptCount),
  });
  const answer = async (snapshot: number | LoadRefused | null): Promise<void> => {
    loads.shift()?.(snapshot);
    await clock.advanceAsync(0);
  };
  return { clock, resync, loads, applied, escalations, answer, setVerdict: (next: ApplyVerdict) => (verdict = next) };
}

describe("Resync", () => {
  it("has one recovery in flight, whatever asks for more", async () => {
    const { resync, loads, answer } = setup();
    expect(resync.start()).toBe(true);
    for (let count = 0; count < 100; count++) expect(resync.start()).toBe(false);
    expect(loads).toHaveLength(1);
    await answer(1);
    expect(resync.isRunning).toBe(false);
    expect(resync.start()).toBe(true);
    expect(resync.startCount).toBe(2);
  });

  it("hands the frames received meanwhile over in order, and takes none when idle", async () => {
    const { resync, applied, answer } = setup();
    expect(resync.offer(0)).toBe(false);
    resync.start();
    expect(resync.offer(1)).toBe(true);
    expect(resync.offer(2)).toBe(true);
    await answer(10);
    expect(applied).toEqual([{ snapshot: 10, frames: [1, 2] }]);
    expect(resync.bufferedCount).toBe(0);
  });

  it("drops the oldest frames when the buffer is full, and counts them", async () => {
    const { resync, applied, answer } = setup({ maxBufferedFrames: 3 });
    resync.start();
    for (let frame = 1; frame <= 5; frame++) resync.offer(frame);
    await answer(10);
    expect(applied[0]?.frames).toEqual([3, 4, 5]);
    expect(resync.overflowCount).toBe(2);
  });

  it("takes a refused load for no try at all: goes again as soon as the way is open, never escalates", async () => {
    const { clock, resync, loads, escalations, answer } = setup();
    resync.start();
    for (let round = 0; round < 5; round++) {
      await answer(new LoadRefused(2_000));
      await clock.advanceAsync(1_999);
      expect(loads).toHaveLength(0);
      await clock.advanceAsync(251);
      expect(loads).toHaveLength(1);
    }
    expect(escalations).toEqual([]);
    await answer(1);
    expect(resync.isRunning).toBe(false);
  });

  it("tries again within the jittered backoff and escalates after so many tries", async () => {
    const { clock, resync, loads, escalations, answer, setVerdict } = setup();
    setVerdict("retry");
    resync.start();
    await answer(1);
    await clock.advanceAsync(100);
    expect(loads).toHaveLength(1);
    await answer(null);
    expect(escalations).toEqual([2]);
    await clock.advanceAsync(200);
    expect(loads).toHaveLength(1);
    setVerdict("synced");
    await answer(2);
    expect(resync.isRunning).toBe(false);
    await clock.advanceAsync(10_000);
    expect(loads).toHaveLength(0);
  });

  it("waits the least wait before each backoff where it has one", async () => {
    const { clock, loads, resync, answer } = setup({ leastWaitMs: 500 });
    resync.start();
    for (const latestMs of [100, 200]) {
      await answer(null);
      await clock.advanceAsync(499);
      expect(loads).toHaveLength(0);
      await clock.advanceAsync(1 + latestMs);
      expect(loads).toHaveLength(1);
    }
  });

  it("ignores an answer that comes after cancel, also when a new recovery runs", async () => {
    const { resync, loads, applied, answer } = setup();
    resync.start();
    const late = loads.shift();
    resync.cancel();
    expect(resync.isRunning).toBe(false);
    resync.start();
    resync.offer(7);
    late?.(1);
    await answer(2);
    expect(applied).toEqual([{ snapshot: 2, frames: [7] }]);
  });

  it("has no timer left after cancel", async () => {
    const { clock, resync, answer } = setup();
    resync.start();
    await answer(null);
    expect(clock.pendingTimerCount).toBe(1);
    resync.cancel();
    expect(clock.pendingTimerCount).toBe(0);
  });
});
