import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ClockOffset } from "./clock-offset.js";

describe("ClockOffset", () => {
  it("intersects what round trips say, and a long one does not blur a short one", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    offset.addRoundTrip(1_000_000, 1_000_400, 1_005_300, 1);
    offset.addRoundTrip(1_001_000, 1_001_020, 1_006_110, 1);
    offset.addRoundTrip(1_002_000, 1_002_900, 1_007_900, 1);
    expect(offset.offsetMs).toBeGreaterThanOrEqual(5_090);
    expect(offset.offsetMs).toBeLessThanOrEqual(5_111);
  });

  it("pins the offset down from whole-second stamps taken at different moments", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    for (let index = 0; index < 32; index++) {
      const sentMs = 1_000_000 + index * 1_031;
      const venueMs = Math.floor((sentMs + 5 + 250) / 1_000) * 1_000;
      offset.addRoundTrip(sentMs, sentMs + 10, venueMs, 1_000);
    }
    expect(Math.abs(offset.offsetMs - 250)).toBeLessThan(60);
  });

  it("follows a clock that stepped back once it has forgotten: old events no longer hold it up", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    offset.addEvent(1_000_000, 1_000_020);
    offset.addRoundTrip(1_000_000, 1_000_010, 1_000_005, 1);
    offset.forget();
    expect(Math.abs(offset.offsetMs)).toBeLessThan(20);
    offset.addRoundTrip(1_000_100, 1_000_110, 980_105, 1);
    offset.addEvent(980_110, 1_000_130);
    expect(Math.abs(offset.offsetMs + 20_000)).toBeLessThan(20);
  });

  it("is not held up by an event from before the step that came before the first round trip after it", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    offset.addRoundTrip(1_000_000, 1_000_010, 1_060_005, 1);
    offset.forget();
    offset.addEvent(1_060_010, 1_000_030);
    offset.addRoundTrip(1_000_020, 1_000_040, 940_030, 1);
    expect(Math.abs(offset.offsetMs + 60_000)).toBeLessThan(20);
    expect(offset.provenAgeMs(940_030, 1_000_040)).toBeLessThan(20);
  });

  it("is not moved by one event with a broken stamp, measured before or not", () => {
    const unmeasured = new ClockOffset(new VirtualClock(1_000_000));
    unmeasured.addEvent(9_999_999_999_999, 1_000_000);
    unmeasured.addEvent(Number.NaN, 1_000_000);
    expect(unmeasured.offsetMs).toBe(0);
    const measured = new ClockOffset(new VirtualClock(1_000_000));
    measured.addRoundTrip(1_000_000, 1_000_010, 1_000_105, 1);
    for (const stamp of [1_004_000, 1_070_000, 9_999_999_999_999]) measured.addEvent(stamp, 1_000_020);
    expect(Math.abs(measured.offsetMs - 100)).toBeLessThan(10);
  });

  it("is not moved by a stamp 1.99 s ahead of what round trips prove, nor is any fresh frame old by it", () => {
    const clock = new VirtualClock(1_000_000);
    const offset = new ClockOffset(clock);
    offset.addRoundTrip(1_000_000, 1_000_010, 1_000_105, 1);
    offset.addEvent(1_002_110, 1_000_020);
    expect(Math.abs(offset.offsetMs - 100)).toBeLessThan(10);
    expect(offset.provenAgeMs(1_300_100, 1_300_000)).toBeLessThan(10);
  });

  it("follows our wall clock when that is set back, before any new evidence", () => {
    const clock = new VirtualClock(1_000_000);
    const offset = new ClockOffset(clock);
    offset.addRoundTrip(1_000_000, 1_000_010, 1_000_105, 1);
    clock.stepWall(-90_000);
    expect(Math.abs(offset.offsetMs - 90_100)).toBeLessThan(10);
  });

  it("proves only as much age as the evidence holds", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    expect(offset.provenAgeMs(0, 1_000_000)).toBe(0);
    // Received at 1 000 100 with stamp 1 002 000: the venue is at least 1 900 ahead.
    offset.addRoundTrip(1_000_000, 1_000_100, 1_002_000, 1_000);
    expect(offset.provenAgeMs(1_002_000, 1_000_100)).toBe(0);
    expect(offset.provenAgeMs(1_002_000, 1_005_100)).toBe(5_000);
    expect(offset.ageMs(1_002_000, 1_000_100)).toBeGreaterThan(0);
  });

  it("takes what came last when the clocks have stepped", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    offset.addRoundTrip(1_000_000, 1_000_010, 1_000_005, 1);
    offset.addRoundTrip(1_001_000, 1_001_010, 1_031_005, 1);
    expect(offset.offsetMs).toBeCloseTo(30_000, -1);
  });

  it("keeps ages at or above zero when the venue's clock is ahead, as in real recordings", () => {
    const clock = new VirtualClock(1_000_000);
    const offset = new ClockOffset(clock);
    offset.addEvent(1_001_269, 1_000_000);
    expect(offset.ageMs(1_001_269, 1_000_000)).toBe(0);
    expect(offset.ageMs(1_001_269, 1_000_500)).toBe(500);
  });

  it("counts ages from the fastest event when there is no round trip, also with our clock ahead", () => {
    const clock = new VirtualClock(1_000_000);
    const offset = new ClockOffset(clock);
    offset.addEvent(994_700, 1_000_000);
    offset.addEvent(995_900, 1_001_000);
    expect(offset.ageMs(995_900, 1_001_000)).toBe(0);
    expect(offset.ageMs(994_700, 1_001_000)).toBe(1_200);
  });

  it("is corrected upwards by an event that a round trip's estimate would put into the future", () => {
    const clock = new VirtualClock(1_000_000);
    const offset = new ClockOffset(clock);
    offset.addRoundTrip(1_000_000, 1_002_000, 1_000_900, 1);
    expect(offset.offsetMs).toBeLessThan(0);
    offset.addEvent(1_003_050, 1_003_000);
    expect(offset.offsetMs).toBeGreaterThanOrEqual(50);
    expect(offset.ageMs(1_003_050, 1_003_000)).toBeGreaterThanOrEqual(0);
  });

  it("forgets evidence older than its window", () => {
    const clock = new VirtualClock(1_000_000);
    const offset = new ClockOffset(clock);
    offset.addRoundTrip(1_000_000, 1_000_010, 1_090_000, 1);
    clock.advance(11 * 60_000);
    const nowMs = clock.wallMs();
    offset.addRoundTrip(nowMs, nowMs + 200, nowMs + 600, 1);
    expect(offset.offsetMs).toBeCloseTo(500.5, 6);
  });

  it("ignores round trips over a step of our clock and unreadable stamps", () => {
    const offset = new ClockOffset(new VirtualClock(1_000_000));
    offset.addRoundTrip(1_000_500, 1_000_000, 1_000_000, 1);
    offset.addRoundTrip(1_000_000, 1_000_010, Number.NaN, 1_000);
    expect(offset.offsetMs).toBe(0);
  });

  it("never gives a negative age for an event it has seen, and stays within the bounds of the evidence", () => {
    const sample = fc.record({
      delayMs: fc.integer({ min: 0, max: 3_000 }),
      gapMs: fc.integer({ min: 1, max: 5_000 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: -90_000, max: 90_000 }),
        fc.array(sample, { minLength: 1, maxLength: 50 }),
        (trueMs, samples) => {
          const clock = new VirtualClock(1_000_000_000);
          const offset = new ClockOffset(clock);
          for (const { delayMs, gapMs } of samples) {
            clock.advance(gapMs);
            const nowMs = clock.wallMs();
            const venueMs = nowMs - delayMs + trueMs;
            offset.addEvent(venueMs, nowMs);
            expect(offset.ageMs(venueMs, nowMs)).toBeGreaterThanOrEqual(0);
            // Events bound the offset from below only: never above the truth.
            expect(offset.offsetMs).toBeLessThanOrEqual(trueMs);
          }
        },
      ),
    );
  });
});
