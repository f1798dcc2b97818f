/** Reads that answers turn on: who shares one, and who gets one of his own. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Read } from "../../../engine/ports.js";
import { VerifiedReads } from "./verified-reads.js";

const OPTIONS = { timeoutMs: 10_000, lane: "exit" } as const;

function setUp() {
  const clock = new VirtualClock(1_000_000);
  const reads = new VerifiedReads<number>(clock);
  const settle: ((value: number) => void)[] = [];
  const load = (): Promise<Read<number>> =>
    new Promise((resolve) => {
      settle.push((value) => resolve({ ok: true, value, asOfMs: clock.wallMs(), source: "venue" }));
    });
  const ask = async (account = "alice", part = "", version: number | null = 0): Promise<number | null> => {
    const read = await reads.read(account, part, version, OPTIONS, load);
    return read.ok ? read.value : null;
  };
  return { clock, reads, settle, ask };
}

describe("a read that an answer turns on", () => {
  it("is shared by all who wait for the account, and by repeats within a second", async () => {
    const { clock, settle, ask } = setUp();
    const first = [ask(), ask(), ask("bob")];
    settle[0]?.(7);
    settle[1]?.(8);
    expect(await Promise.all(first)).toEqual([7, 7, 8]);
    clock.advance(999);
    expect(await ask()).toBe(7);
    expect(settle).toHaveLength(2);
    clock.advance(1);
    const next = ask();
    settle[2]?.(9);
    expect(await next).toBe(9);
  });

  it.each(["TIMEOUT", "AUTH"] as const)(
    "is asked again where the one shared ended with its own caller: %s",
    async (code) => {
      const clock = new VirtualClock(1_000_000);
      const reads = new VerifiedReads<number>(clock);
      const loadIn = (timeoutMs: number) => async (): Promise<Read<number>> => {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, Math.min(timeoutMs, 400)));
        if (timeoutMs < 400) return { ok: false, code, message: "", retryAfterMs: null };
        return { ok: true, value: 7, asOfMs: clock.wallMs(), source: "venue" };
      };
      const hasty = reads.read("alice", "", 0, OPTIONS, loadIn(50));
      const patient = [1, 2].map(() => reads.read("alice", "", 0, OPTIONS, loadIn(5_000)));
      await clock.advanceAsync(50);
      expect(await hasty).toMatchObject({ ok: false, code });
      const later = reads.read("alice", "", 0, OPTIONS, loadIn(5_000));
      await clock.advanceAsync(500);
      expect(await Promise.all([...patient, later])).toMatchObject([{ value: 7 }, { value: 7 }, { value: 7 }]);
    },
  );

  it("is not an older one once an order of ours went out or was answered", async () => {
    const { reads, settle, ask } = setUp();
    const before = ask();
    reads.noteOrder("alice");
    const after = ask();
    settle[0]?.(3);
    settle[1]?.(5);
    expect(await Promise.all([before, after])).toEqual([3, 5]);
    reads.noteOrder("bob");
    expect(await ask()).toBe(5);
    expect(settle).toHaveLength(2);
  });

  it("of one contract is no answer for another", async () => {
    const { settle, ask } = setUp();
    const reads = [ask("alice", "BTC"), ask("alice", "ETH")];
    settle[0]?.(1);
    settle[1]?.(2);
    expect(await Promise.all(reads)).toEqual([1, 2]);
  });

  it("is not given twice where its streams have moved a position since, nor where nothing is streamed", async () => {
    const { settle, ask } = setUp();
    const first = ask("alice", "", 1);
    settle[0]?.(3);
    expect([await first, await ask("alice", "", 1)]).toEqual([3, 3]);
    const moved = ask("alice", "", 2);
    settle[1]?.(5);
    expect(await moved).toBe(5);
    const plain = [ask("bob", "", null), ask("bob", "", null)];
    settle[2]?.(7);
    expect(await Promise.all(plain)).toEqual([7, 7]);
    const again = ask("bob", "", null);
    settle[3]?.(8);
    expect(await again).toBe(8);
  });

  it("that hangs is not waited for by those who come a second later", async () => {
    const { clock, settle, ask } = setUp();
    void ask();
    clock.advance(1_000);
    const later = ask();
    settle[1]?.(4);
    expect(await later).toBe(4);
  });
});
