import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, OrderSender } from "../../../engine/ports.js";
import { ClockCheck, withProvenTimes } from "./clock-check.js";
import { ClockOffset } from "./clock-offset.js";

/** A venue whose clock goes right and that answers after `tookMs`; null: never. */
function setup(tookMs: number | null = 50) {
  const clock = new VirtualClock();
  const clockOffset = new ClockOffset(clock);
  const asked: number[] = [];
  const measure = (): Promise<void> => {
    asked.push(clock.trueMs());
    const begun = clockOffset.beginRoundTrip();
    const sentMs = clock.wallMs();
    return new Promise((resolve) => {
      if (tookMs === null) return;
      clock.setTimer(() => {
        clockOffset.addRoundTrip(sentMs, clock.wallMs(), clock.trueMs(), 1, begun);
        resolve();
      }, tookMs);
    });
  };
  return { clock, clockOffset, asked, check: new ClockCheck({ clock, clockOffset, measure }) };
}

describe("the check of a venue's clock", () => {
  it("costs nothing while nothing stepped, and one round trip for all who wait after a step", async () => {
    const { clock, clockOffset, asked, check } = setup();
    const first = check.proven(1_000);
    await clock.advanceAsync(60);
    expect([await first, asked.length]).toEqual([true, 1]);
    expect([await check.proven(1_000), asked.length]).toEqual([true, 1]);
    clock.stepWall(90_000);
    const waiting = [check.proven(1_000), check.proven(1_000)];
    await clock.advanceAsync(60);
    expect([await Promise.all(waiting), asked.length]).toEqual([[true, true], 2]);
    expect(Math.abs(clockOffset.offsetMs + 90_000)).toBeLessThanOrEqual(51);
  });

  it("gives up within its time where no answer comes", async () => {
    const { clock, check } = setup(null);
    const proven = check.proven(300);
    await clock.advanceAsync(300);
    expect(await proven).toBe(false);
  });

  it("measures once more where the clock stepped during the measurement", async () => {
    const { clock, asked, check } = setup();
    const proven = check.proven(1_000);
    await clock.advanceAsync(20);
    clock.stepWall(-5_000);
    await clock.advanceAsync(200);
    expect([await proven, asked.length]).toEqual([true, 2]);
  });

  it("asks ever more seldom while frames contradict what it measures, and soon after a step all the same", async () => {
    const { clock, clockOffset, asked } = setup(0);
    const frames = async (seconds: number): Promise<number> => {
      const before = asked.length;
      for (let beat = 0; beat < seconds * 10; beat++) {
        await clock.advanceAsync(100);
        // Held up for half a minute, all of them.
        clockOffset.addEvent(clock.trueMs() - 30_000, clock.wallMs());
        clockOffset.lateMs(clock.trueMs() - 30_000, clock.wallMs(), 2_000);
      }
      return asked.length - before;
    };
    clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.trueMs(), 1);
    expect(await frames(120)).toBeLessThanOrEqual(9);
    expect(await frames(30)).toBeLessThanOrEqual(1);
    clock.stepWall(150_000);
    expect(await frames(2)).toBeGreaterThanOrEqual(1);
    expect(clockOffset.isProven).toBe(true);
  });
});

describe("a venue's clock that goes forth and back", () => {
  it("is known again within two seconds each time, for as long as it does", async () => {
    const clock = new VirtualClock();
    const clockOffset = new ClockOffset(clock);
    let aheadMs = 0;
    let askedCount = 0;
    const measure = (): Promise<void> => {
      askedCount++;
      const venueMs = clock.trueMs() + aheadMs;
      clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), venueMs, 1);
      return Promise.resolve();
    };
    // Held by the offset.
    void new ClockCheck({ clock, clockOffset, measure });
    await measure();
    for (let step = 0; step < 12; step++) {
      aheadMs = step % 2 === 0 ? 60_000 : 0;
      let wrongMs = 0;
      for (let passedMs = 0; passedMs < 10_000; passedMs += 100) {
        await clock.advanceAsync(100);
        const stampMs = clock.trueMs() + aheadMs;
        clockOffset.addEvent(stampMs, clock.wallMs());
        if (clockOffset.lateMs(stampMs, clock.wallMs(), 2_000) > 0) wrongMs = passedMs + 100;
      }
      expect([step, wrongMs <= 2_000, wrongMs]).toEqual([step, true, expect.any(Number)]);
    }
    expect(askedCount).toBeLessThan(30);
  });
});

describe("a switch at a venue that takes a point in time", () => {
  const session: AccountSession = { venue: "venuethree", accountId: "a", payer: null, close: () => {} };
  const OPTIONS = { timeoutMs: 1_000, lane: "exit" } as const;

  /** `aheadMs`: what the venue gets, from its own now. */
  function orders(clock: VirtualClock, clockOffset: ClockOffset, aheadMs: (number | null)[]): OrderSender {
    return {
      place: () => Promise.reject(new Error("not used")),
      cancel: () => Promise.reject(new Error("not used")),
      placeBoundMs: () => 0,
      venueClientOrderId: (id) => id,
      scheduleCancel: async (_session, atMs) => {
        aheadMs.push(atMs === null ? null : Math.round(atMs + clockOffset.offsetMs - clock.trueMs()));
        return { outcome: "accepted" };
      },
    };
  }

  it("is sent the time that the caller means, also where our clock is set while it is proven", async () => {
    const { clock, clockOffset, check } = setup();
    const aheadMs: (number | null)[] = [];
    const { scheduleCancel } = withProvenTimes(orders(clock, clockOffset, aheadMs), clock, check);
    for (const stepMs of [90_000, -90_000]) {
      const armed = scheduleCancel?.(session, clock.wallMs() + 10_000, OPTIONS);
      await clock.advanceAsync(20);
      clock.stepWall(stepMs);
      await clock.advanceAsync(200);
      expect(await armed).toEqual({ outcome: "accepted" });
    }
    for (const ahead of aheadMs) expect(Math.abs((ahead ?? 0) - 10_000)).toBeLessThan(200);
    expect(aheadMs).toHaveLength(2);
  });

  it("is refused, unsent, where nothing proves the time; its end is sent", async () => {
    const { clock, clockOffset, check } = setup(null);
    const aheadMs: (number | null)[] = [];
    const { scheduleCancel } = withProvenTimes(orders(clock, clockOffset, aheadMs), clock, check);
    const armed = scheduleCancel?.(session, clock.wallMs() + 10_000, OPTIONS);
    await clock.advanceAsync(1_000);
    expect(await armed).toMatchObject({ outcome: "rejected", venueCode: "CLOCK_UNPROVEN", sent: false });
    expect(await scheduleCancel?.(session, null, OPTIONS)).toEqual({ outcome: "accepted" });
    expect(aheadMs).toEqual([null]);
  });
});
