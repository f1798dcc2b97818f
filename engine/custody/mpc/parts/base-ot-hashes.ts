/** The three hashes of base OT. Y, A_i, direction and i are in each, so equal A_i give different pads. */
import type { Arena } from "../base/arena.js";
import { type HashScope, PreparedHash } from "../base/hash.js";
import { type Direction, HASH_BYTES, POINT_BYTES } from "../base/parameters.js";
import type { Slices } from "../base/slices.js";

export type BaseOtStep = "bot/pad" | "bot/v1" | "bot/v2";

const LAST_FIELD = 2;

export class BaseOtHashes {
  readonly #arena: Arena;
  readonly #steps: Record<BaseOtStep, PreparedHash>;

  constructor(arena: Arena, scope: HashScope, direction: Direction, chooserKey: Uint8Array) {
    this.#arena = arena;
    const prepared = (step: BaseOtStep, lastLength: number) => {
      const layout = { step, place: { direction }, indexCount: 1, dataLengths: [POINT_BYTES, POINT_BYTES, lastLength] };
      const hash = new PreparedHash(arena, scope, layout);
      hash.setData(0, chooserKey);
      return hash;
    };
    this.#steps = {
      "bot/pad": prepared("bot/pad", POINT_BYTES),
      "bot/v1": prepared("bot/v1", HASH_BYTES),
      "bot/v2": prepared("bot/v2", HASH_BYTES),
    };
  }

  /** The base OT that the next hashes belong to. */
  select(index: number, point: Uint8Array): void {
    for (const hash of Object.values(this.#steps)) {
      hash.setIndex(0, index);
      hash.setData(1, point);
    }
  }

  /** In a buffer of the arena. */
  digest(step: BaseOtStep, last: Uint8Array): Buffer {
    const hash = this.#steps[step];
    hash.setData(LAST_FIELD, last);
    return this.#arena.moved(hash.sha256());
  }
}

/** The order of the steps of one side: each comes once, and after a failure none. */
export class StepOrder {
  #next = 0;

  /** Throws unless all steps before `step` were finished and it was not begun. */
  run<Result>(step: number, body: () => Result): Result {
    this.#begin(step);
    const result = body();
    this.#next = step + 1;
    return result;
  }

  /** The same for a step in slices, which begins with the first of them. */
  *slices<Result>(step: number, body: () => Slices<Result>): Slices<Result> {
    this.#begin(step);
    const result = yield* body();
    this.#next = step + 1;
    return result;
  }

  #begin(step: number): void {
    if (step !== this.#next) throw new Error("order of the steps of a base OT");
    this.#next = -1;
  }

  assertDone(stepCount: number): void {
    if (this.#next !== stepCount) throw new Error("a base OT that is not verified");
  }
}
