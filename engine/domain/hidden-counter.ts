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
/** Both digits of each byte: a text of four of them costs less than half of one that a number makes of itself. */
const HEX_PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export class HiddenCounter {
  readonly #tables: Uint16Array;
  #next = 0;

  /** `fill`: with bytes that nobody can guess. */
  constructor(fill: (target: Uint8Array) => void) {
    const bytes = new Uint8Array(ROUNDS * HALF_VALUES * 2);
    fill(bytes);
    this.#tables = new Uint16Array(bytes.buffer);
  }

  /** Hexadecimal digits, another text with each call. */
  next(): string {
    return hexOf(this.shown(this.#next++));
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

/** Eight digits, and more above 32 bits. */
export function hexOf(number: number): string {
  const low = number % PERMUTED;
  const high = (number - low) / PERMUTED;
  return (high === 0 ? "" : high.toString(16)) + hexOfHalf(Math.floor(low / HALF_VALUES)) + hexOfHalf(low & HALF_MASK);
}

function hexOfHalf(half: number): string {
  return (HEX_PAIRS[half >> 8] as string) + (HEX_PAIRS[half & 0xff] as string);
}
