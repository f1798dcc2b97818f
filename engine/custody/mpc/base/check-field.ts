/**
 * GF(2^208), the field of the extension's check: GF(2)[X]/f, f = X^208 + X^9 + X^3 + X + 1 (docs/mpc.md, section 6).
 *
 * `fold(row) = row[0..207] chi_1 + row[208..415] chi_2 + row[416..623]` is linear in the bits of the row. So a table of
 * 624 vectors (X^m chi_1, X^m chi_2, X^m) is made once a session, and those of the row's ones are summed under masks.
 * Rows are secret, chi is not.
 */
import { maskOf } from "./bits.js";
import { CHECK_FIELD_BITS, CHECK_FIELD_BYTES, EXTENDED_BITS, EXTENDED_BYTES } from "./parameters.js";

/** 208 bits in 32-bit words, the last of them half used. */
const WORDS = 7;
const TOP_WORD_MASK = 0xffff;
const TOP_BIT = 15;
/** X^208 = X^9 + X^3 + X + 1. */
const REDUCTION = 0x20b;

export class FoldTable {
  /** Vector m at 7 m. */
  readonly #vectors = new Uint32Array(EXTENDED_BITS * WORDS);

  /** chi_1, chi_2: 26 bytes each. */
  constructor(chi1: Uint8Array, chi2: Uint8Array) {
    this.#fillFrom(0, wordsOf(chi1));
    this.#fillFrom(CHECK_FIELD_BITS, wordsOf(chi2));
    this.#fillFrom(2 * CHECK_FIELD_BITS, Uint32Array.of(1, 0, 0, 0, 0, 0, 0));
  }

  /** 78 bytes of `row` to 26 bytes of `target`. */
  fold(row: Uint8Array, target: Uint8Array): void {
    if (row.length !== EXTENDED_BYTES || target.length !== CHECK_FIELD_BYTES) throw new Error("lengths of a fold");
    const vectors = this.#vectors;
    let [w0, w1, w2, w3, w4, w5, w6] = [0, 0, 0, 0, 0, 0, 0];
    let at = 0;
    for (const byte of row) {
      for (let bit = 0; bit < 8; bit++) {
        const mask = maskOf((byte >> bit) & 1);
        w0 ^= (vectors[at] ?? 0) & mask;
        w1 ^= (vectors[at + 1] ?? 0) & mask;
        w2 ^= (vectors[at + 2] ?? 0) & mask;
        w3 ^= (vectors[at + 3] ?? 0) & mask;
        w4 ^= (vectors[at + 4] ?? 0) & mask;
        w5 ^= (vectors[at + 5] ?? 0) & mask;
        w6 ^= (vectors[at + 6] ?? 0) & mask;
        at += WORDS;
      }
    }
    writeWord(target, 0, w0);
    writeWord(target, 4, w1);
    writeWord(target, 8, w2);
    writeWord(target, 12, w3);
    writeWord(target, 16, w4);
    writeWord(target, 20, w5);
    target[24] = w6;
    target[25] = w6 >>> 8;
  }

  /** `first`, X first, X^2 first, …, X^207 first. */
  #fillFrom(start: number, first: Uint32Array): void {
    const power = first;
    for (let m = 0; m < CHECK_FIELD_BITS; m++) {
      this.#vectors.set(power, (start + m) * WORDS);
      timesX(power);
    }
  }
}

/** In place: shifted by one, and the bit that leaves is reduced. */
function timesX(power: Uint32Array): void {
  const top = ((power[WORDS - 1] ?? 0) >>> TOP_BIT) & 1;
  for (let word = WORDS - 1; word > 0; word--)
    power[word] = ((power[word] ?? 0) << 1) | ((power[word - 1] ?? 0) >>> 31);
  power[WORDS - 1] = (power[WORDS - 1] ?? 0) & TOP_WORD_MASK;
  power[0] = ((power[0] ?? 0) << 1) ^ (REDUCTION & maskOf(top));
}

function wordsOf(element: Uint8Array): Uint32Array {
  if (element.length !== CHECK_FIELD_BYTES) throw new Error("length of a field element");
  const words = new Uint32Array(WORDS);
  for (const [at, byte] of element.entries()) words[at >> 2] = (words[at >> 2] ?? 0) | (byte << (8 * (at & 3)));
  return words;
}

function writeWord(target: Uint8Array, at: number, word: number): void {
  target[at] = word;
  target[at + 1] = word >>> 8;
  target[at + 2] = word >>> 16;
  target[at + 3] = word >>> 24;
}
