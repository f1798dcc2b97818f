import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../domain/virtual-clock.js";
import { type LookResult, PollSchedule, type PollTask } from "./poll-schedule.js";

const NO_PAUSE: LookResult = { pauseVenueMs: 0, pauseAccountMs: 0 };

interface Look {
  readonly name: string;
  readonly atMs: number;
  readonly isFirst: boolean;
}

function bench(looksPerMinute: number, intervalMsMin: number) {
  const clock = new VirtualClock();
  const startMs = clock.wallMs();
  const looks: Look[] = [];
  const schedule = new PollSchedule(clock, { looksPerMinute, intervalMsMin });
  const task = (name: string, look: () => Promise<LookResult> = async () => NO_PAUSE): PollTask => ({
    look(isFirst) {
      looks.push({ name, atMs: clock.wallMs() - startMs, isFirst });
      return look();
    },
  });
  return { clock, looks, schedule, task };
}

describe("the poll schedule", () => {
  it("keeps the pace whatever is added and removed, and starves nobody", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 6, max: 240 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 25 }),
        async (looksPerMinute, arrivals) => {
          const { clock, looks, schedule, task } = bench(looksPerMinute, 5_000);
          for (const [index, waitMs] of arrivals.entries()) {
            const one = task(`t${index}`);
            schedule.add(one);
            await clock.advanceAsync(waitMs);
            // Now and then one goes and comes back: it is new again, and no faster for it.
            if (index % 5 === 4) {
              schedule.remove(one);
              schedule.add(one);
            }
          }
          const from = looks.length;
          await clock.advanceAsync(3 * schedule.intervalMs);
          for (const [first, { atMs }] of looks.entries()) {
            const inMinute = looks.slice(first).filter((look) => look.atMs < atMs + 60_000 - 2);
            // Times are whole milliseconds: the one at the edge may count.
            expect(inMinute.length).toBeLessThanOrEqual(looksPerMinute + 1);
          }
          for (const [index] of arrivals.entries())
            expect(looks.slice(from).some(({ name }) => name === `t${index}`)).toBe(true);
          schedule.stop();
          expect(clock.pendingTimerCount).toBe(0);
        },
      ),
      { numRuns: 15 },
    );
  }, 120_000);

  it("looks at a new account before all others, the others in turn, none more often than its interval", async () => {
    const { clock, looks, schedule, task } = bench(60, 5_000);
    for (const name of ["a", "b", "c"]) schedule.add(task(name));
    await clock.advanceAsync(3_100);
    schedule.add(task("late"));
    await clock.advanceAsync(100);
    expect(looks.map(({ name }) => name)).toEqual(["a", "b", "c", "late"]);
    await clock.advanceAsync(60_000);
    const mine = looks.filter(({ name }) => name === "a");
    for (let index = 1; index < mine.length; index++)
      expect((mine[index] as Look).atMs - (mine[index - 1] as Look).atMs).toBeGreaterThanOrEqual(5_000);
    expect(mine.map(({ isFirst }) => isFirst)).toEqual([true, ...mine.slice(1).map(() => false)]);
    expect(schedule.intervalMs).toBe(5_000);
    for (let count = 0; count < 56; count++) schedule.add(task(`more${count}`));
    expect(schedule.intervalMs).toBe(60_000);
  });

  it("pauses the venue, or one account alone, as long as is asked, but not for ever", async () => {
    const { clock, looks, schedule, task } = bench(600, 1_000);
    let answer: LookResult = { pauseVenueMs: 20_000, pauseAccountMs: 0 };
    schedule.add(task("a", async () => answer));
    schedule.add(task("b"));
    await clock.advanceAsync(19_000);
    expect(looks.map(({ name }) => name)).toEqual(["a"]);
    answer = { pauseVenueMs: 0, pauseAccountMs: 60_000 };
    await clock.advanceAsync(30_000);
    expect(looks.filter(({ name }) => name === "a")).toHaveLength(2);
    expect(looks.filter(({ name }) => name === "b").length).toBeGreaterThan(20);
    answer = { pauseVenueMs: Number.POSITIVE_INFINITY, pauseAccountMs: 0 };
    await clock.advanceAsync(60_000);
    const before = looks.length;
    await clock.advanceAsync(11 * 60_000);
    expect(looks.length).toBeGreaterThan(before);
  });

  it("puts an account whose looks are always refused at the back: the others are looked at as often as they were", async () => {
    const { clock, looks, schedule, task } = bench(60, 5_000);
    schedule.add(task("limited", async () => ({ pauseVenueMs: 3_000, pauseAccountMs: 0 })));
    for (const name of ["a", "b", "c"]) schedule.add(task(name));
    await clock.advanceAsync(120_000);
    const count = (name: string): number => looks.filter((look) => look.name === name).length;
    for (const name of ["a", "b", "c"]) expect(count(name)).toBeGreaterThan(12);
    // It has its turn all the same.
    expect(count("limited")).toBeGreaterThan(5);
    // One whose turn has not come yet does not wait behind it either.
    const before = looks.length;
    schedule.add(task("late"));
    await clock.advanceAsync(5_000);
    expect(looks.slice(before).some(({ name }) => name === "late")).toBe(true);
  });

  it("does not stop for the others when one account is refused again and again for long", async () => {
    const { clock, looks, schedule, task } = bench(60, 5_000);
    schedule.add(task("limited", async () => ({ pauseVenueMs: 60_000, pauseAccountMs: 0 })));
    for (const name of ["a", "b"]) schedule.add(task(name));
    await clock.advanceAsync(600_000);
    // Once for all, since nobody knows better; then it alone.
    expect(looks.filter(({ name }) => name === "a").length).toBeGreaterThan(100);
    expect(looks.filter(({ name }) => name === "limited").length).toBeLessThan(12);
  });

  it("still looks first at an account that was refused before its first look", async () => {
    const { clock, looks, schedule, task } = bench(60, 5_000);
    let answer: LookResult = { pauseVenueMs: 3_000, pauseAccountMs: 0 };
    schedule.add(task("a", async () => answer));
    await clock.advanceAsync(100);
    answer = NO_PAUSE;
    await clock.advanceAsync(20_000);
    expect(looks.slice(0, 3).map(({ isFirst }) => isFirst)).toEqual([true, true, false]);
  });

  it("holds at most four looks of a venue that does not answer", async () => {
    const { clock, looks, schedule, task } = bench(600, 1_000);
    const ends: (() => void)[] = [];
    const hanging = () => new Promise<LookResult>((resolve) => ends.push(() => resolve(NO_PAUSE)));
    for (let count = 0; count < 10; count++) schedule.add(task(`h${count}`, hanging));
    await clock.advanceAsync(60_000);
    expect(looks).toHaveLength(4);
    ends[0]?.();
    await clock.advanceAsync(1_000);
    expect(looks).toHaveLength(5);
  });
});
