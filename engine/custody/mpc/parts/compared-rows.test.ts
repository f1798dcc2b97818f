/** A check looks at all rows whatever it finds: where a fault lies shows in no count of what was compared. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Arena } from "../base/arena.js";
import type * as Bits from "../base/bits.js";
import { baseTimes, decodePoints, encodePublic } from "../base/point.js";
import { failureFrom, flipped, scalarOf, seedsOf } from "../test/ot-seeds.js";
import { seededBytes, seededRandom } from "../test/seeded-random.js";
import { inOneGo } from "../test/in-one-go.js";
import { runBaseOt } from "../test/two-parties.js";
import { BaseOtChooser } from "./base-ot-chooser.js";
import { BaseOtMultiplier } from "./base-ot-multiplier.js";
import { extendAsChooser } from "./extension-chooser.js";
import { extendAsMultiplier } from "./extension-multiplier.js";

const compared = vi.hoisted(() => ({ bytes: 0 }));
vi.mock("../base/bits.js", async (original) => {
  const bits = await original<typeof Bits>();
  return {
    ...bits,
    differences(left: Uint8Array, right: Uint8Array) {
      compared.bytes += left.length;
      return bits.differences(left, right);
    },
  };
});
afterEach(() => {
  compared.bytes = 0;
});

/** How many bytes `check` compares for what it is given; it refuses all of it. */
function comparedIn(check: () => unknown): number {
  compared.bytes = 0;
  expect(failureFrom(check)).not.toBeNull();
  return compared.bytes;
}

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) };
const secret = scalarOf("rows", "y");
const key = { secret, point: encodePublic(baseTimes(secret)) };
const random = seededRandom("rows");
const BASE_OT_ROWS_BYTES = 256 * 32;

describe("the same bytes are compared for a fault in the first row and in the last", () => {
  it("of the check of an extension", () => {
    const { delta, padPairs, pads } = seedsOf("rows");
    const choice = seededBytes("rows", "c", 78);
    const { message } = extendAsChooser({ scope, direction: 0, padPairs, choice }, new Arena());
    // A bit of th: a fault in its row, whatever Delta is.
    const counts = [0, 255].map((row) =>
      comparedIn(() => {
        const changed = { ...message, rowFolds: flipped(message.rowFolds, row * 26 * 8) };
        return extendAsMultiplier({ scope, direction: 0, delta, pads, message: changed }, new Arena());
      }),
    );
    expect(counts).toEqual([256 * 26, 256 * 26]);
  });

  it("of both checks of base OT", () => {
    const honest = runBaseOt(scope, 0, key, random, new Arena());
    const responses = [0, 255].map((row) => {
      const chooser = new BaseOtChooser({ scope, direction: 0, key, arena: new Arena() });
      inOneGo(chooser.challenge(decodePoints(honest.A, 256, "A")));
      return comparedIn(() => chooser.open(flipped(honest.resp, row * 256)));
    });
    expect(responses).toEqual([BASE_OT_ROWS_BYTES, BASE_OT_ROWS_BYTES]);
    const openings = [0, 511].map((value) => {
      const given = { scope, direction: 0 as const, chooserKey: key.point, random, arena: new Arena() };
      const multiplier = new BaseOtMultiplier(given);
      inOneGo(multiplier.points());
      multiplier.respond(honest.X);
      return comparedIn(() => multiplier.verify(flipped(honest.open, value * 256)));
    });
    expect(openings).toEqual([2 * BASE_OT_ROWS_BYTES, 2 * BASE_OT_ROWS_BYTES]);
  });
});
