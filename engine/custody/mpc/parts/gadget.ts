/** The gadget of a direction: 416 public scalars that both compute from both seeds and never send. */
import { withArena } from "../base/arena.js";
import { type HashScope, PreparedHash } from "../base/hash.js";
import { type Direction, GADGET_ELEMENTS, HASH_BYTES } from "../base/parameters.js";

/** `scope.sid` is gsid, after a refresh rsid; `seed0` and `seed1` are gs of S and C. */
export function gadgetOf(scope: HashScope, direction: Direction, seed0: Uint8Array, seed1: Uint8Array): bigint[] {
  return withArena((arena) => {
    const layout = { step: "gad", place: { direction }, indexCount: 1, dataLengths: [HASH_BYTES, HASH_BYTES] };
    const element = new PreparedHash(arena, scope, layout);
    element.setData(0, seed0);
    element.setData(1, seed1);
    return Array.from({ length: GADGET_ELEMENTS }, (_, row) => {
      element.setIndex(0, row);
      return element.scalar();
    });
  });
}
