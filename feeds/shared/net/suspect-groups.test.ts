/** Names that may end a connection: who is suspected of its end, and how suspects are sent on the next one. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { SuspectGroups } from "./suspect-groups.js";

function setUp(...suspects: readonly string[]) {
  const clock = new VirtualClock();
  const survived: (readonly string[])[] = [];
  const groups = new SuspectGroups(clock, (names) => survived.push(names));
  for (const name of suspects) groups.add(name);
  /** Writes what may be written now, one name a message. */
  const write = (): string[] => {
    const written: string[] = [];
    while (groups.waitingCount > 0 && groups.mayWrite()) {
      const names = groups.take(1);
      groups.note(names, true);
      written.push(...names);
    }
    return written;
  };
  return { clock, groups, survived, write };
}

describe("names under suspicion", () => {
  it("are written in four groups, each once the one before has survived", () => {
    const { clock, groups, survived, write } = setUp("a", "b", "c", "d", "e", "f", "g");
    expect([write(), write()]).toEqual([["a", "b"], []]);
    expect(groups.suspectNames()).toEqual(["a", "b"]);
    clock.advance(499);
    expect([write(), survived]).toEqual([[], []]);
    clock.advance(1);
    expect([survived, write()]).toEqual([[["a", "b"]], ["c", "d"]]);
    expect([groups.suspectNames(), groups.recentNames()]).toEqual([
      ["c", "d"],
      ["a", "b", "c", "d"],
    ]);
    clock.advance(500);
    expect(write()).toEqual(["e", "f"]);
    clock.advance(500);
    expect([write(), groups.waitingCount]).toEqual([["g"], 0]);
  });

  it("may be given up before their turn, and a stop clears the timer", () => {
    const { clock, groups, write } = setUp("a", "b");
    expect([groups.delete("b"), groups.delete("b"), write()]).toEqual([true, false, ["a"]]);
    groups.stop();
    expect(clock.pendingTimerCount).toBe(0);
  });
});

describe("names without suspicion", () => {
  it("are all suspected of an end within a second, and of none later", () => {
    const { clock, groups } = setUp();
    groups.note(["a"], false);
    clock.advance(600);
    groups.note(["b"], false);
    expect(groups.suspectNames()).toEqual(["a", "b"]);
    clock.advance(600);
    expect(groups.suspectNames()).toEqual(["b"]);
    clock.advance(600);
    expect([groups.suspectNames(), clock.pendingTimerCount]).toEqual([[], 0]);
  });
});
