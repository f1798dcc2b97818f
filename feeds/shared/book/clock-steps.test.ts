/** What is known of a venue's clock over steps of ours, and over a sleep of the machine, which looks like a step forward. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ClockOffset } from "./clock-offset.js";
import { barredBeforeMs } from "./stamps.js";

/** The venue's clock goes right, by the virtual clock's true time. */
function roundTrip(offset: ClockOffset, clock: VirtualClock, tookMs = 20, stepMs = 0): void {
  const begun = offset.beginRoundTrip();
  const sentMs = clock.wallMs();
  clock.advance(tookMs / 2);
  const venueMs = clock.trueMs();
  clock.stepWall(stepMs);
  clock.advance(tookMs / 2);
  offset.addRoundTrip(sentMs, clock.wallMs(), venueMs, 1, begun);
}

/** One frame that was sent `ageMs` ago; how late it counts where frames may be a second old. */
function frame(offset: ClockOffset, clock: VirtualClock, ageMs = 0): number {
  const stampMs = clock.trueMs() - ageMs;
  offset.addEvent(stampMs, clock.wallMs());
  return offset.lateMs(stampMs, clock.wallMs(), 1_000);
}

describe("a wall clock that is set", () => {
  it("back moves the offset at once: no bound in the venue's time comes early", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    roundTrip(offset, clock);
    clock.stepWall(-90_000);
    expect(Math.abs(offset.offsetMs - 90_000)).toBeLessThan(20);
  });

  it("ends every proof until a round trip was made since, and all is right after it", () => {
    for (const stepMs of [-90_000, 150_000]) {
      const clock = new VirtualClock();
      const offset = new ClockOffset(clock);
      roundTrip(offset, clock);
      expect(offset.isProven).toBe(true);
      clock.stepWall(stepMs);
      expect(offset.isProven).toBe(false);
      frame(offset, clock);
      expect(offset.isProven).toBe(false);
      roundTrip(offset, clock);
      expect(offset.isProven).toBe(true);
      expect(Math.abs(offset.offsetMs + stepMs)).toBeLessThan(20);
    }
  });

  it("never takes nonces ahead of the venue's time, nor back, before it is measured or after", () => {
    for (const stepsMs of [[-3_600_000], [3_600_000], [3_600_000, -3_600_000], [-90_000, 150_000, 3_600_000]]) {
      const clock = new VirtualClock();
      const offset = new ClockOffset(clock);
      roundTrip(offset, clock);
      const aheadMs = (): number => clock.wallMs() + offset.leastOffsetMs - clock.trueMs();
      for (const stepMs of stepsMs) {
        clock.stepWall(stepMs);
        expect([stepsMs, Math.abs(aheadMs()) < 20]).toEqual([stepsMs, true]);
        frame(offset, clock);
        expect([stepsMs, Math.abs(aheadMs()) < 20]).toEqual([stepsMs, true]);
      }
      roundTrip(offset, clock);
      expect([stepsMs, Math.abs(aheadMs()) < 20]).toEqual([stepsMs, true]);
      expect(offset.leastOffsetMs).toBe(offset.offsetMs);
    }
  });

  it("during a round trip makes it prove nothing", () => {
    for (const stepMs of [-5_000, 150_000]) {
      const clock = new VirtualClock();
      const offset = new ClockOffset(clock);
      roundTrip(offset, clock);
      roundTrip(offset, clock, 10_000, stepMs);
      expect(offset.isProven).toBe(false);
      roundTrip(offset, clock);
      expect(Math.abs(offset.offsetMs + stepMs)).toBeLessThan(20);
    }
  });

  it("asks for a round trip, also of the next frame while none was made", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    let askedCount = 0;
    offset.onDoubt = () => askedCount++;
    roundTrip(offset, clock);
    frame(offset, clock);
    expect(askedCount).toBe(0);
    clock.stepWall(150_000);
    frame(offset, clock);
    const atOnce = askedCount;
    frame(offset, clock);
    expect([atOnce > 0, askedCount > atOnce]).toEqual([true, true]);
  });

  it("makes no right stamp one of the future, nor one that is barred free, from the first frame on", () => {
    for (const stepMs of [-3_600_000, -20_000, 20_000, 3_600_000]) {
      const clock = new VirtualClock();
      const offset = new ClockOffset(clock);
      roundTrip(offset, clock);
      const newestMs = clock.trueMs();
      clock.stepWall(stepMs);
      const isRight = (): boolean =>
        barredBeforeMs(newestMs, offset.latestMs(clock.wallMs())) === newestMs &&
        offset.isPlausible(clock.trueMs(), clock.wallMs());
      expect([stepMs, isRight()]).toEqual([stepMs, true]);
      roundTrip(offset, clock);
      expect([stepMs, isRight()]).toEqual([stepMs, true]);
    }
  });

  it("is not seen in a clock that drifts by a little, nor is a pause between two looks at the clocks", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    roundTrip(offset, clock);
    clock.stepWall(20);
    expect(offset.isProven).toBe(true);
    const wallMs = clock.wallMs.bind(clock);
    let pausesMs = [3_000];
    clock.wallMs = () => {
      clock.advance(pausesMs.shift() ?? 0);
      return wallMs();
    };
    expect(offset.isProven).toBe(true);
    pausesMs = [3_000, 3_000];
    expect(offset.isProven).toBe(true);
  });
});

describe("a machine that slept", () => {
  it("takes what waited meanwhile for as old as it is, before and after a round trip", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    roundTrip(offset, clock);
    // Thirty seconds that the monotonic clock does not know of; the venue's clock went on.
    const sleptMs = 30_000;
    clock.stepWall(sleptMs);
    const venueMs = (): number => clock.trueMs() + sleptMs;
    const waited = venueMs() - sleptMs;
    offset.addEvent(waited, clock.wallMs());
    expect(offset.lateMs(waited, clock.wallMs(), 1_000)).toBeGreaterThanOrEqual(sleptMs - 20);
    const begun = offset.beginRoundTrip();
    offset.addRoundTrip(clock.wallMs(), clock.wallMs(), venueMs(), 1, begun);
    expect(offset.lateMs(waited, clock.wallMs(), 1_000)).toBeGreaterThanOrEqual(sleptMs - 20);
    expect(offset.lateMs(venueMs(), clock.wallMs(), 1_000)).toBe(0);
  });

  it("takes no frame for fresh by the frame's own stamp: the first may have waited the longest", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    roundTrip(offset, clock);
    clock.stepWall(30_000);
    expect(frame(offset, clock)).toBeGreaterThan(1_000);
    expect(frame(offset, clock)).toBeGreaterThan(1_000);
    roundTrip(offset, clock);
    expect(frame(offset, clock)).toBe(0);
  });
});

describe("a stamp of no time", () => {
  it("moves no offset, before the first round trip and after the evidence was dropped", () => {
    // None, in seconds, in microseconds, in nanoseconds.
    for (const stampOf of [() => 0, (ms: number) => ms / 1e3, (ms: number) => ms * 1e3, (ms: number) => ms * 1e6]) {
      const clock = new VirtualClock();
      const offset = new ClockOffset(clock);
      const hear = (): void => {
        offset.addEvent(stampOf(clock.trueMs()), clock.wallMs());
        expect(Math.abs(offset.offsetMs)).toBeLessThan(20);
      };
      hear();
      roundTrip(offset, clock);
      hear();
      offset.forget();
      hear();
    }
  });

  it("proves no frame fresh", () => {
    for (const stampOf of [() => 0, (ms: number) => ms / 1e3, (ms: number) => ms * 1e3, (ms: number) => ms * 1e6]) {
      const clock = new VirtualClock();
      const offset = new ClockOffset(clock);
      roundTrip(offset, clock);
      expect(offset.lateMs(stampOf(clock.trueMs()), clock.wallMs(), 2_000)).toBeGreaterThan(2_000);
    }
  });
});

describe("one stamp from the future", () => {
  it("makes no fresh frame late and moves no offset: what round trips prove is the limit", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    for (let count = 0; count < 3; count++) roundTrip(offset, clock);
    const beforeMs = offset.offsetMs;
    frame(offset, clock, -1_990);
    expect(Math.abs(offset.offsetMs - beforeMs)).toBeLessThan(20);
    for (let second = 0; second < 400; second++) {
      clock.advance(1_000);
      expect(frame(offset, clock)).toBe(0);
    }
  });

  it("is trusted up to five seconds ahead, and up to a minute where nothing is measured; beyond that it asks", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    let askedCount = 0;
    offset.onDoubt = () => askedCount++;
    const isPlausible = (aheadMs: number): boolean => offset.isPlausible(clock.trueMs() + aheadMs, clock.wallMs());
    expect([isPlausible(59_000), askedCount, isPlausible(61_000), askedCount]).toEqual([true, 0, false, 1]);
    roundTrip(offset, clock);
    expect([isPlausible(4_900), askedCount, isPlausible(5_100), askedCount]).toEqual([true, 1, false, 2]);
  });

  it("does as little where it came before the round trips", () => {
    const clock = new VirtualClock();
    const offset = new ClockOffset(clock);
    frame(offset, clock, -1_990);
    roundTrip(offset, clock);
    expect([Math.abs(offset.offsetMs) < 20, frame(offset, clock)]).toEqual([true, 0]);
  });
});
