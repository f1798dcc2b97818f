/** What is known of a key's nonces after each answer, whichever way it came. */
import { describe, expect, it } from "vitest";
import { type Flight, type NonceOutcome, NonceWindow, type Way } from "./nonce-window.js";

const WAY: Way = { id: 1, width: 8 };

function flying(count: number, from = 10, width = 8): { window: NonceWindow; flights: Flight[] } {
  const window = new NonceWindow(width);
  window.name(from);
  return { window, flights: Array.from({ length: count }, () => window.start(WAY)) };
}

function endAll(window: NonceWindow, flights: readonly Flight[], outcomes: readonly NonceOutcome[]): void {
  for (const [index, outcome] of outcomes.entries()) window.end(flights[index] as Flight, outcome);
}

describe("the window of nonces:", () => {
  it.each<[string, NonceOutcome[], number | null, number]>([
    ["all taken", ["spent", "spent", "spent"], 13, 8],
    ["the last alone refused for its own fault", ["spent", "spent", "kept"], 12, 8],
    ["the first refused, those behind for their nonces", ["kept", "refused", "refused"], 10, 1],
    ["one in the midst refused", ["spent", "kept", "refused"], 11, 1],
    ["all refused for faults of their own", ["kept", "kept", "kept"], 10, 1],
    ["the last of unknown outcome", ["spent", "spent", "doubtful"], null, 1],
    ["one in the midst of unknown outcome", ["spent", "doubtful", "refused"], null, 1],
    ["a nonce that was counted wrong", ["refused", "refused", "refused"], null, 1],
    ["taken beyond a gap", ["kept", "refused", "spent"], null, 1],
    ["unknown behind a refusal", ["kept", "doubtful", "refused"], null, 1],
  ])("%s", (_what, outcomes, next, width) => {
    const { window, flights } = flying(3);
    endAll(window, flights, outcomes);
    expect(window.isHeld).toBe(false);
    expect(window.next).toBe(next);
    expect(window.width).toBe(width);
  });

  it("answers in another order say the same", () => {
    const { window, flights } = flying(4);
    window.end(flights[2] as Flight, "refused");
    window.end(flights[3] as Flight, "refused");
    window.end(flights[1] as Flight, "kept");
    expect(window.isHeld).toBe(true);
    window.end(flights[0] as Flight, "spent");
    // The first refusal came unexplained: the venue is asked rather than guessed at.
    expect([window.isHeld, window.next]).toEqual([false, null]);
    const other = flying(3);
    other.window.end(other.flights[1] as Flight, "kept");
    other.window.end(other.flights[0] as Flight, "spent");
    other.window.end(other.flights[2] as Flight, "refused");
    expect(other.window.next).toBe(11);
  });

  it("grows again with what is taken: one, two, four, and no further than it may", () => {
    const { window, flights } = flying(2, 10, 4);
    endAll(window, flights, ["kept", "refused"]);
    for (const width of [2, 4, 4]) {
      window.end(window.start(WAY), "spent");
      expect(window.width).toBe(width);
    }
  });

  it("gives fewer at once for good, in the end one, to a venue that takes them in another order", () => {
    const { window } = flying(0);
    for (const width of [4, 2, 1, 1]) {
      const flights = [window.start(WAY), window.start(WAY)];
      endAll(window, [flights[1] as Flight, flights[0] as Flight], ["refused", "spent"]);
      window.name(50);
      for (let count = 0; count < 6; count++) window.end(window.start(WAY), "spent");
      expect(window.width).toBe(width);
    }
  });

  it("does not wait for what was dropped, whose late answer counts more than a read that was asked before it", () => {
    const { window, flights } = flying(3);
    window.end(flights[1] as Flight, "refused");
    window.end(flights[2] as Flight, "refused");
    window.abandon();
    expect([window.isHeld, window.isIdle, window.next]).toEqual([false, true, null]);
    window.end(flights[0] as Flight, "spent");
    window.name(10);
    expect(window.next).toBeNull();
    // The next read was asked after it. A transaction that expires at the venue may give its nonce back.
    window.name(10);
    expect(window.next).toBe(10);
    window.end(flights[0] as Flight, "doubtful");
    expect(window.next).toBe(10);
  });

  it("counts for itself only beyond the highest one lost", () => {
    const { window, flights } = flying(3);
    endAll(window, flights, ["doubtful", "doubtful", "doubtful"]);
    const nextAfter = (outcome: NonceOutcome): number | null => {
      window.end(window.start(WAY), outcome);
      return window.next;
    };
    for (const [named, outcome] of [
      [10, "kept"],
      [10, "spent"],
      [11, "spent"],
      [12, "kept"],
    ] as const) {
      window.hint(named);
      expect([window.next, window.isAnyLost]).toEqual([null, true]);
      window.name(named);
      expect(nextAfter(outcome)).toBeNull();
    }
    window.name(12);
    expect([nextAfter("spent"), window.isAnyLost]).toEqual([13, false]);
    expect([nextAfter("kept"), nextAfter("spent")]).toEqual([13, 14]);
  });

  it("what is given up is lost as well, and a gap at a lost nonce is no place to go on from", () => {
    const { window, flights } = flying(3);
    window.end(flights[0] as Flight, "spent");
    window.end(flights[2] as Flight, "refused");
    window.abandon();
    window.name(11);
    window.end(window.start(WAY), "spent");
    endAll(window, [window.start(WAY), window.start(WAY)], ["kept", "refused"]);
    expect(window.next).toBe(12);
    window.end(window.start(WAY), "doubtful");
    window.name(12);
    endAll(window, [window.start(WAY), window.start(WAY)], ["kept", "refused"]);
    expect(window.next).toBeNull();
  });

  it("only transactions of one way are in flight together", () => {
    const { window, flights } = flying(1);
    expect(window.mayStart(WAY)).toBe(true);
    expect(window.mayStart({ id: 2, width: 8 })).toBe(false);
    expect(window.mayStart({ id: 0, width: 1 })).toBe(false);
    endAll(window, flights, ["spent"]);
    expect(window.mayStart({ id: 0, width: 1 })).toBe(true);
  });
});
