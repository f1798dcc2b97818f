/** Seeded runs against a plain list of who is inside. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { StrangerBodies } from "./stranger-bodies.js";

it("never takes more than half for all and an eighth for one address, refuses none below that, and gives all back", () => {
  const step = fc.record({ address: fc.nat(3), enters: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 }), fc.array(step, { minLength: 60, maxLength: 200 }), (max, steps) => {
      const addresses = Array.from({ length: 4 }, () => ({}));
      const room = new StrangerBodies(max);
      const inside: number[] = [];
      const of = (address: number) => inside.filter((one) => one === address).length;
      for (const { address, enters } of steps) {
        const key = addresses[address] as object;
        if (enters) {
          const fits = inside.length < Math.max(1, max >> 1) && of(address) < Math.max(1, max >> 3);
          expect(room.enter(key)).toBe(fits);
          if (fits) inside.push(address);
        } else if (of(address) > 0) {
          room.leave(key);
          inside.splice(inside.indexOf(address), 1);
        }
        expect(room.count).toBe(inside.length);
      }
    }),
    { seed: 14, numRuns: 500 },
  );
});
