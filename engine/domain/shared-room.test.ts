import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SharedRoom } from "./shared-room.js";

describe("shared room", () => {
  it("is never more than it is, and never more than half for one caller, over all orders of coming and going", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", null), fc.boolean()), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), steps, (max, all) => {
        const room = new SharedRoom(max);
        const inside: (string | null)[] = [];
        for (const [caller, comes] of all) {
          const own = inside.filter((one) => one === caller).length;
          const isFree = inside.length < max && (caller === null || own < Math.max(1, Math.floor(max / 2)));
          if (comes) {
            expect(room.enter(caller)).toBe(isFree);
            if (isFree) inside.push(caller);
          } else if (own > 0) {
            room.leave(caller);
            inside.splice(inside.indexOf(caller), 1);
          }
          expect(room.count).toBe(inside.length);
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
