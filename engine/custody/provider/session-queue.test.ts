import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { Turns, WalletTurns } from "./session-queue.js";

function held(): { readonly act: () => Promise<void>; readonly release: () => void } {
  let release: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { act: () => done, release };
}

describe("turns", () => {
  it("go by arrival, the first of all before those that wait, and one more than the bound is refused", async () => {
    const turns = new Turns(new VirtualClock(), 1, 3);
    const order: string[] = [];
    const first = held();
    const running = turns.run(1_000, first.act);
    const note = (name: string, isFirst = false) => turns.run(1_000, async () => void order.push(name), isFirst);
    const waiting = [note("a"), note("b"), note("refresh", true)];
    await expect(note("c")).rejects.toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    first.release();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual(["refresh", "a", "b"]);
    expect(turns.isIdle).toBe(true);
  });

  it("end for a caller whose time is over, and its act is never begun", async () => {
    const clock = new VirtualClock();
    const turns = new WalletTurns(clock, 16);
    const first = held();
    const running = turns.run("w", 1_000, first.act);
    let isBegun = false;
    const late = turns.run("w", 1_000, async () => {
      isBegun = true;
    });
    const refused = expect(late).rejects.toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    clock.advance(1_000);
    await refused;
    first.release();
    await running;
    expect([isBegun, turns.waitingCount]).toEqual([false, 0]);
    await turns.run("w", 1_000, async () => {});
  });

  it("pass on after an act that failed", async () => {
    const turns = new Turns(new VirtualClock(), 1, 1);
    const failing = turns.run(1_000, () => Promise.reject(new Error("act")));
    const next = turns.run(1_000, async () => "next");
    await expect(failing).rejects.toThrow("act");
    expect(await next).toBe("next");
  });
});
