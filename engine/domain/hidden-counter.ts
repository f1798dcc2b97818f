// hot path
/**
 * Shows a count without what it counts: whoever gets two of the numbers must not learn from them how many others got
 * one between, since those are of other owners.
 *
 * A number below 2^32 is shown as another one, by a permutation that only this process has: four Feistel rounds over
 * halves of 16 bits, each with a table of random values. So no number is shown twice. What is above 2^32 is shown as it
 * is: at 10,000 a second it grows by one in five days.
 */
const HALF_BITS = 16;
const HALF_VALUES = 1 << HALF_BITS;
const HALF_MASK = HALF_VALUES - 1;
const ROUNDS = 4;
const PERMUTED = HALF_VALUES * HALF_VALUES;

export class HiddenCounter {
  readonly #tables: Uint16Array;
  #next = 0;

  /** `fill`: with bytes that nobody can guess. */
  constructor(fill: (target: Uint8Array) => void) {
    const bytes = new Uint8Array(ROUNDS * HALF_VALUES * 2);
    fill(bytes);
    this.#tables = new Uint16Array(bytes.buffer);
  }

  /** Digits of base 36, another text with each call. */
  next(): string {
    return this.shown(this.#next++).toString(36);
  }

  /** `count`: a whole number from 0 on. */
  shown(count: number): number {
    const tables = this.#tables;
    const low = count % PERMUTED;
    let left = Math.floor(low / HALF_VALUES);
    let right = low & HALF_MASK;
    for (let round = 0; round < ROUNDS; round++) {
      const mixed = left ^ (tables[round * HALF_VALUES + right] as number);
      left = right;
      right = mixed;
    }
    return count - low + left * HALF_VALUES + right;
  }
}
