/** Ids of book changes: one counter over all markets of a venue. It jumps as far as the venue's own does. */
import type { Random } from "../../../../engine/domain/random.js";

export class UpdateIds {
  readonly #random: Random;
  readonly #jumpMax: number;
  #newest: number;

  /** Ids grow by 1 + uniform[0, jumpMax]. */
  constructor(first: number, jumpMax: number, random: Random) {
    this.#newest = first;
    this.#jumpMax = jumpMax;
    this.#random = random;
  }

  get newest(): number {
    return this.#newest;
  }

  next(): number {
    const jump = this.#jumpMax === 0 ? 0 : Math.floor(this.#random.next() * (this.#jumpMax + 1));
    this.#newest += 1 + jump;
    return this.#newest;
  }
}
