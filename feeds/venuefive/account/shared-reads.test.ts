import { describe, expect, it } from "vitest";
import type { ChainRead } from "../../../engine/client-signed-room.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { ChainHead } from "../chain/heads.js";
import { failedChainRead } from "../chain/pinned-reads.js";
import { SharedReads } from "./shared-reads.js";

const OPTIONS = { timeoutMs: 1_000, lane: "read" } as const;
const headOf = (number: number, hash: string): ChainHead => ({ number, hash, timestampMs: 0, seenAtMs: 7 });
const good = (value: string, block: number): ChainRead<string> => ({ ok: true, value, asOfMs: 7, block });

function setUp() {
  const heads: { head: ChainHead | null; problem: null | { code: "SILENT"; message: string } } = {
    ...{ head: headOf(5, "a"), problem: null },
  };
  const clock = new VirtualClock();
  const reads = new SharedReads<string>(heads, clock);
  const asked: ((read: ChainRead<string>) => void)[] = [];
  const ask = (): Promise<ChainRead<string>> => new Promise((resolve) => asked.push(resolve));
  return { heads, clock, reads, asked, ask };
}

describe("a read of a wallet that is shared", () => {
  it("is asked once by all at the same time, and is kept until another block is the head", async () => {
    const { heads, reads, asked, ask } = setUp();
    const both = [reads.of("w", OPTIONS, ask), reads.of("w", OPTIONS, ask)];
    expect(asked.length).toBe(1);
    asked[0]?.(good("first", 5));
    expect(await Promise.all(both)).toEqual([good("first", 5), good("first", 5)]);
    expect(await reads.of("w", OPTIONS, ask)).toEqual(good("first", 5));
    expect(asked.length).toBe(1);
    heads.head = headOf(5, "b");
    void reads.of("w", OPTIONS, ask);
    expect(asked.length).toBe(2);
  });

  it("is another one for another wallet, payer, lane and block", () => {
    const { heads, reads, asked, ask } = setUp();
    void reads.of("w", OPTIONS, ask);
    void reads.of("x", OPTIONS, ask);
    void reads.of("w", { ...OPTIONS, payer: "p" }, ask);
    void reads.of("w", { ...OPTIONS, lane: "exit" }, ask);
    heads.head = headOf(6, "c");
    void reads.of("w", OPTIONS, ask);
    expect(asked.length).toBe(5);
  });

  it("is not kept where the block was replaced meanwhile, at the same height and in the same millisecond", async () => {
    const { heads, reads, asked, ask } = setUp();
    const read = reads.of("w", OPTIONS, ask);
    heads.head = headOf(5, "b");
    asked[0]?.(good("of the old branch", 5));
    await read;
    void reads.of("w", OPTIONS, ask);
    expect(asked.length).toBe(2);
  });

  it("is not kept where it failed, nor used while there is nobody at the head", async () => {
    const { heads, reads, asked, ask } = setUp();
    const failed = failedChainRead("VENUE_ERROR", "down");
    const first = reads.of("w", OPTIONS, ask);
    asked[0]?.(failed);
    expect(await first).toEqual(failed);
    const second = reads.of("w", OPTIONS, ask);
    asked[1]?.(good("second", 5));
    await second;
    heads.problem = { code: "SILENT", message: "no endpoint answers" };
    void reads.of("w", OPTIONS, ask);
    expect(asked.length).toBe(3);
  });

  it("waits no longer than each has time, and who has more asks again", async () => {
    const { clock, reads, asked, ask } = setUp();
    const short = reads.of("w", { ...OPTIONS, timeoutMs: 100 }, ask);
    const shorter = reads.of("w", { ...OPTIONS, timeoutMs: 50 }, ask);
    const long = reads.of("w", { ...OPTIONS, timeoutMs: 1_000 }, ask);
    await clock.advanceAsync(60);
    expect(await shorter).toMatchObject({ ok: false, code: "TIMEOUT" });
    asked[0]?.(failedChainRead("TIMEOUT", "no answer in time"));
    expect(await short).toMatchObject({ ok: false, code: "TIMEOUT" });
    await clock.advanceAsync(0);
    expect(asked.length).toBe(2);
    asked[1]?.(good("late", 5));
    expect(await long).toEqual(good("late", 5));
  });
});
