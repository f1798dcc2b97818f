import { describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { encodeJson, storeUnavailable } from "../../engine/storage/state-store.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { HighWaterMark, MARK_AHEAD_MS } from "./high-water-mark.js";

async function open(store = createMemoryStore(), clock = new VirtualClock()) {
  return { store, clock, mark: await HighWaterMark.open(store, clock, silentLogger) };
}

/** Whether a promise has resolved by now. */
async function isDone(promise: Promise<void> | null, clock: VirtualClock): Promise<boolean> {
  let done = false;
  void promise?.then(() => {
    done = true;
  });
  await clock.advanceAsync(0);
  return done;
}

describe("the mark of accepted writes", () => {
  it("refuses nothing on a first start", async () => {
    expect((await open()).mark.floorMs).toBe(-1);
  });

  it("costs one commit a second while writes go on, and none without them", async () => {
    const { store, clock, mark } = await open();
    const before = store.status().commitCount;
    for (let ms = 0; ms < 10_000; ms += 10) {
      void mark.cover(clock.wallMs());
      await clock.advanceAsync(10);
    }
    const busy = store.status().commitCount - before;
    expect(busy).toBeGreaterThanOrEqual(9);
    expect(busy).toBeLessThanOrEqual(11);
    await clock.advanceAsync(600_000);
    expect(store.status().commitCount - before).toBe(busy);
  });

  it("is durable above a write before the write goes on", async () => {
    const { store, clock, mark } = await open();
    let release = (): void => {};
    store.gate = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    const first = mark.cover(clock.wallMs());
    const second = mark.cover(clock.wallMs() + 1_000);
    expect([await isDone(first, clock), await isDone(second, clock)]).toEqual([false, false]);
    release();
    expect([await isDone(first, clock), await isDone(second, clock)]).toEqual([true, true]);
    expect(mark.cover(clock.wallMs() + 1_000)).toBeNull();
  });

  it("is moved on once more for a write that the commit under way began too early for", async () => {
    const { store, clock, mark } = await open();
    const releases: (() => void)[] = [];
    store.gate = () => new Promise((resolve) => void releases.push(resolve));
    const early = mark.cover(clock.wallMs());
    clock.stepWall(3_600_000);
    const late = mark.cover(clock.wallMs());
    releases[0]?.();
    expect([await isDone(early, clock), await isDone(late, clock)]).toEqual([true, false]);
    releases[1]?.();
    expect(await isDone(late, clock)).toBe(true);
    store.gate = async () => {};
    expect((await open(store, clock)).mark.floorMs).toBeGreaterThanOrEqual(clock.wallMs());
  });

  it("is at most three seconds ahead after a crash", async () => {
    const { store, clock, mark } = await open();
    await mark.cover(clock.wallMs());
    expect((await open(store, clock)).mark.floorMs).toBe(clock.wallMs() + MARK_AHEAD_MS);
  });

  it("is what was accepted after a clean stop, and never below what it was", async () => {
    const { store, clock, mark } = await open();
    await mark.cover(clock.wallMs() - 100);
    await mark.stop();
    const second = await open(store, clock);
    expect(second.mark.floorMs).toBe(clock.wallMs() - 100);
    clock.stepWall(-3_600_000);
    await second.mark.cover(clock.wallMs());
    await second.mark.stop();
    expect((await open(store, clock)).mark.floorMs).toBe(second.mark.floorMs);
  });

  it("stays ahead when the clock is set back, without a commit", async () => {
    const { store, clock, mark } = await open();
    await mark.cover(clock.wallMs());
    const before = store.status().commitCount;
    clock.stepWall(-3_600_000);
    expect(mark.cover(clock.wallMs())).toBeNull();
    expect(store.status().commitCount).toBe(before);
  });

  it("lets a write go on where its commit fails, and counts that", async () => {
    const { store, clock, mark } = await open();
    store.gate = () => Promise.reject(storeUnavailable("COMMIT_FAILED"));
    expect(await isDone(mark.cover(clock.wallMs()), clock)).toBe(true);
    expect(mark.failedCount).toBeGreaterThan(0);
    store.gate = async () => {};
    await mark.cover(clock.wallMs());
    expect(mark.cover(clock.wallMs())).toBeNull();
  });

  it("is above what was accepted while its commits failed, also after the clock was set back", async () => {
    const { store, clock, mark } = await open();
    const acceptedMs = clock.wallMs();
    store.gate = () => Promise.reject(storeUnavailable("COMMIT_FAILED"));
    await mark.cover(acceptedMs);
    store.gate = async () => {};
    clock.stepWall(-3_600_000);
    await mark.cover(clock.wallMs());
    expect((await open(store, clock)).mark.floorMs).toBeGreaterThanOrEqual(acceptedMs);
  });

  it("lets a write go on where its commit does not end", async () => {
    const { store, clock, mark } = await open();
    store.gate = () => new Promise(() => {});
    const covered = mark.cover(clock.wallMs());
    await clock.advanceAsync(1_999);
    expect(await isDone(covered, clock)).toBe(false);
    await clock.advanceAsync(2_001);
    expect(await isDone(covered, clock)).toBe(true);
  });

  it("after a stop that was not clean covers a second of the new process as well", async () => {
    const { store, clock, mark } = await open();
    store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await mark.cover(clock.wallMs());
    store.gate = async () => {};
    await clock.advanceAsync(500);
    expect((await open(store, clock)).mark.floorMs).toBe(clock.wallMs() + 1_000);
  });

  it("is opened, and stopped, over a disk that stands still for ten seconds", async () => {
    const { store, clock } = await open();
    store.gate = () => new Promise((resolve) => void clock.setTimer(resolve, 10_000));
    const opening = HighWaterMark.open(store, clock, silentLogger);
    await clock.advanceAsync(10_000);
    const stopping = (await opening).stop();
    await clock.advanceAsync(10_000);
    await stopping;
  });

  it("is not opened over a row that cannot be read, nor where it cannot be written", async () => {
    const store = createMemoryStore();
    for (const row of [null, {}, { markMs: "1", clean: true }, { markMs: 1.5, clean: true }, { markMs: 1 }]) {
      await store.put("auth-mark", "writes", encodeJson(row));
      await expect(open(store)).rejects.toThrow();
    }
    const full = createMemoryStore();
    full.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await expect(open(full)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});
