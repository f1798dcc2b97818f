import { expect, it } from "vitest";
import { ORDER } from "../base/scalar.js";
import { seededBytes } from "../test/seeded-random.js";
import { gadgetOf } from "./gadget.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) };
const [gs0, gs1] = [seededBytes("gadget", "0", 32), seededBytes("gadget", "1", 32)];

it("the elements of both directions, of swapped seeds and of another session are all different", () => {
  const elements = [
    gadgetOf(scope, 0, gs0, gs1),
    gadgetOf(scope, 1, gs0, gs1),
    gadgetOf(scope, 0, gs1, gs0),
    gadgetOf({ ...scope, sid: Buffer.alloc(32) }, 0, gs0, gs1),
  ].flat();
  expect(elements.length).toBe(4 * 416);
  expect(new Set(elements).size).toBe(elements.length);
  expect(elements.every((element) => element > 0n && element < ORDER)).toBe(true);
});
