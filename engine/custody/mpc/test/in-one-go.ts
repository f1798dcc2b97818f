/** Slices of arithmetic without a stop, for tests of what they come to. */
import type { Slices } from "../base/slices.js";

export function inOneGo<Result>(slices: Slices<Result>): Result {
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}
