import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { SharedLookup } from "./shared-lookup.js";

const READ = (timeoutMs: number): CallOptions => ({ timeoutMs, lane: "read" });
const OUT_OF_TIME = { ok: false, code: "TIMEOUT", message: "no time left for the role" };

/** A venue that answers each question `tookMs` later, or at the end of the time it is given. */
function setUp(answer: () => Read<string> = () => ({ ok: true, value: "user", asOfMs: 1, source: "venue" })) {
  const clock = new VirtualClock();
  const lookup = new SharedLookup<string>(clock, "the role");
  const asked: { readonly atMs: number; readonly timeoutMs: number }[] = [];
  const venue = { tookMs: 100 };
  const find = (options: CallOptions, name = "a"): Promise<Read<string>> =>
    lookup.find(name, options, ({ timeoutMs }) => {
      asked.push({ atMs: clock.monoNs() / 1e6, timeoutMs });
      const isLate = venue.tookMs > timeoutMs;
      return new Promise((resolve) => {
        const settle = (): void => resolve(isLate ? failedRead("TIMEOUT", "no answer in time") : answer());
        clock.setTimer(settle, Math.min(venue.tookMs, timeoutMs));
      });
    });
  return { clock, asked, venue, find };
}

describe("a look-up that is shared", () => {
  it("is one question for all who ask by the same name in the same lane, and a new one after its answer", async () => {
    const { asked, clock, find } = setUp();
    const both = Promise.all([find(READ(1_000)), find(READ(1_000))]);
    const others = Promise.all([find(READ(1_000), "b"), find({ timeoutMs: 1_000, lane: "exit" })]);
    await clock.advanceAsync(100);
    expect(await both).toMatchObject([{ value: "user" }, { value: "user" }]);
    expect(await others).toMatchObject([{ value: "user" }, { value: "user" }]);
    expect(asked).toHaveLength(3);
    const again = find(READ(1_000));
    await clock.advanceAsync(100);
    expect([(await again).ok, asked.length]).toEqual([true, 4]);
  });

  it("keeps no caller longer than its own time, however long others wait", async () => {
    const { asked, clock, find, venue } = setUp();
    venue.tookMs = 5_000;
    const patient = find(READ(10_000));
    const hurried = find(READ(300));
    await clock.advanceAsync(300);
    expect(await hurried).toMatchObject(OUT_OF_TIME);
    await clock.advanceAsync(4_700);
    expect(await patient).toMatchObject({ ok: true });
    expect(asked).toHaveLength(1);
  });

  it("asks again for who still has time where only the asker's was over", async () => {
    const { asked, clock, find, venue } = setUp();
    venue.tookMs = 500;
    const hurried = find(READ(200));
    const patient = find(READ(2_000));
    await clock.advanceAsync(200);
    expect(await hurried).toMatchObject({ ok: false, code: "TIMEOUT", message: "no answer in time" });
    await clock.advanceAsync(500);
    expect(await patient).toMatchObject({ ok: true });
    expect(asked).toEqual([
      { atMs: 0, timeoutMs: 200 },
      { atMs: 200, timeoutMs: 1_800 },
    ]);
  });

  it("shares a refusal with all who waited for it", async () => {
    const { asked, clock, find } = setUp(() => failedRead("RATE_LIMITED", "later", 7));
    const both = Promise.all([find(READ(1_000)), find(READ(1_000))]);
    await clock.advanceAsync(100);
    expect(await both).toMatchObject([{ code: "RATE_LIMITED" }, { code: "RATE_LIMITED" }]);
    expect(asked).toHaveLength(1);
  });

  it("keeps no caller waiting for a question that another API key pays for", async () => {
    const { asked, clock, find, venue } = setUp();
    // The share of the first key is used up: its question waits in the lane.
    venue.tookMs = 4_000;
    const first = find({ ...READ(5_000), payer: "pk_busy" });
    venue.tookMs = 100;
    const other = find({ ...READ(5_000), payer: "pk_other" });
    const same = find({ ...READ(5_000), payer: "pk_other" });
    await clock.advanceAsync(100);
    expect(asked).toHaveLength(2);
    expect(await Promise.all([other, same])).toMatchObject([{ ok: true }, { ok: true }]);
    await clock.advanceAsync(4_000);
    expect(await first).toMatchObject({ ok: true });
  });

  it("asks nothing without time", async () => {
    const { asked, find } = setUp();
    expect(await find(READ(0))).toMatchObject(OUT_OF_TIME);
    expect(asked).toEqual([]);
  });
});
