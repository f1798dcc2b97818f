import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SharedRoom } from "./shared-room.js";
import { VirtualClock } from "./virtual-clock.js";

describe("shared room", () => {
  it("is never more than it is, and never more than half for one caller, over all orders of coming and going", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", null), fc.boolean()), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), steps, (max, all) => {
        const room = new SharedRoom(max);
        const inside: (string | null)[] = [];
        for (const [caller, comes] of all) {
          const own = inside.filter((one) => one === caller).length;
          const isFull = inside.length === max;
          if (comes) {
            const isIn = room.enter(caller);
            if (caller === null || own === 0) expect(isIn).toBe(!isFull);
            else if (isIn) expect(isFull || own >= Math.floor(max / 2)).toBe(false);
            if (isIn) inside.push(caller);
          } else if (own > 0) {
            room.leave(caller);
            inside.splice(inside.indexOf(caller), 1);
          }
          expect(room.count).toBe(inside.length);
        }
      }),
    );
  });

  it("has a place for a third, however two others come and go", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.boolean()), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 40 }), steps, (max, all) => {
        const room = new SharedRoom(max);
        const own: Record<"a" | "b", number> = { a: 0, b: 0 };
        for (const [caller, comes] of all) {
          if (comes && room.enter(caller)) own[caller]++;
          else if (!comes && own[caller] > 0) {
            room.leave(caller);
            own[caller]--;
          }
          expect(room.hasRoom("c")).toBe(true);
        }
      }),
    );
  });

  it("counts what had to be let in without room", () => {
    const room = new SharedRoom(2);
    room.force("a");
    room.force("a");
    room.force("a");
    expect([room.count, room.enter("b")]).toEqual([3, false]);
    room.leave("a");
    room.leave("a");
    expect([room.hasRoom("a"), room.enter("b"), room.count]).toEqual([false, true, 2]);
  });

  it("is asked for several places at once", () => {
    const room = new SharedRoom(4);
    expect([room.hasRoom("a", 2), room.hasRoom("a", 3), room.hasRoom(null, 4), room.hasRoom(null, 5)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

describe("a room that its callers come and go in", () => {
  const RECENT_MS = 60_000;

  function entered(room: SharedRoom, caller: string | null): number {
    let count = 0;
    while (room.enter(caller)) count++;
    return count;
  }

  it("is a lone caller's but for the last eighth, in which another finds its first places", () => {
    const room = new SharedRoom(16, 0.5, new VirtualClock());
    expect(entered(room, "a")).toBe(14);
    expect(entered(room, "b")).toBe(2);
    // From here on there are two: what the first gives back is the second's too, but for the last eighth.
    for (let left = 14; left > 7; left--) room.leave("a");
    expect([room.hasRoom("a"), room.hasRoom("b")]).toEqual([true, true]);
    expect([entered(room, "b"), entered(room, "a")]).toEqual([5, 0]);
  });

  it("counts a caller that was refused or has left as there for a minute, and one inside as there", async () => {
    const clock = new VirtualClock();
    const room = new SharedRoom(16, 0.5, clock);
    room.enter("b");
    await clock.advanceAsync(10 * RECENT_MS);
    expect(entered(room, "a")).toBe(8);
    room.leave("b");
    // It was quiet inside, and may come again.
    await clock.advanceAsync(RECENT_MS - 1);
    expect(entered(room, "a")).toBe(0);
    await clock.advanceAsync(1);
    expect(entered(room, "a")).toBe(6);
  });

  it("counts one that asks in turn with another as there, whoever asked last", async () => {
    const clock = new VirtualClock();
    const room = new SharedRoom(16, 0.5, clock);
    for (const caller of ["b", "a", "a", "c", "a"]) {
      room.enter(caller);
      room.leave(caller);
      await clock.advanceAsync(RECENT_MS / 4);
    }
    expect(entered(room, "a")).toBe(8);
    await clock.advanceAsync(RECENT_MS);
    expect(entered(room, "a")).toBe(6);
  });

  it("takes callers without a name for nobody: their places alone are taken", () => {
    const room = new SharedRoom(16, 0.5, new VirtualClock());
    expect([room.enter(null), entered(room, "a")]).toEqual([true, 13]);
    expect(entered(room, null)).toBe(2);
  });

  it("has a single place for each of two in any case, where it has so few", () => {
    const room = new SharedRoom(1, 0.5, new VirtualClock());
    expect([room.enter("a"), room.enter("b")]).toEqual([true, false]);
    const two = new SharedRoom(2, 0.5, new VirtualClock());
    expect([entered(two, "a"), entered(two, "b")]).toEqual([1, 1]);
  });
});
