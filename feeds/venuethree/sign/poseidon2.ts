// hot path
/**
 * Poseidon2 of width 12, rate 8, S-box x^7 over the Goldilocks field (fact sheet 8.5), and its sponge: overwrite mode
 * without padding, so lengths are not kept apart; what is hashed has a fixed layout each.
 *
 * Additions are left uncarried in doubles until a word must be canonical again: one reduction for each element and
 * layer. Nothing is allocated by a permutation.
 */
import { fromBigInt, multiply, reduceColumns, reduceSum, type Words } from "./goldilocks.js";
import { EXTERNAL_ROUND_CONSTANTS, INTERNAL_DIAGONAL, INTERNAL_ROUND_CONSTANTS } from "./poseidon2-constants.js";

export const WIDTH = 12;
const RATE = 8;
const FULL_ROUNDS_HALF = 4;
const PARTIAL_ROUNDS = 22;
const PER_TWO_32 = 1 / 4_294_967_296;

const external = wordsOf(EXTERNAL_ROUND_CONSTANTS);
const internal = wordsOf(INTERNAL_ROUND_CONSTANTS);
const diagonal = wordsOf(INTERNAL_DIAGONAL);

function wordsOf(values: readonly bigint[]): Words {
  const words = new Uint32Array(2 * values.length);
  for (const [index, value] of values.entries()) fromBigInt(words, 2 * index, value);
  return words;
}

/** Uncarried words of the layer under way. */
const lows = new Float64Array(WIDTH);
const highs = new Float64Array(WIDTH);
const square = new Uint32Array(2);
const cube = new Uint32Array(2);

/** In place, on 24 words. */
export function permute(state: Words): void {
  externalLayer(state);
  for (let round = 0; round < FULL_ROUNDS_HALF; round++) fullRound(state, round);
  for (let round = 0; round < PARTIAL_ROUNDS; round++) {
    reduceSum(
      state,
      0,
      (state[0] as number) + (internal[2 * round] as number),
      (state[1] as number) + (internal[2 * round + 1] as number),
    );
    seventhPower(state, 0);
    internalLayer(state);
  }
  for (let round = FULL_ROUNDS_HALF; round < 2 * FULL_ROUNDS_HALF; round++) fullRound(state, round);
}

function fullRound(state: Words, round: number): void {
  const base = 2 * WIDTH * round;
  for (let at = 0; at < 2 * WIDTH; at += 2) {
    reduceSum(
      state,
      at,
      (state[at] as number) + (external[base + at] as number),
      (state[at + 1] as number) + (external[base + at + 1] as number),
    );
    seventhPower(state, at);
  }
  externalLayer(state);
}

function seventhPower(state: Words, at: number): void {
  multiply(square, 0, state, at, state, at);
  multiply(cube, 0, square, 0, state, at);
  multiply(square, 0, square, 0, square, 0);
  multiply(state, at, square, 0, cube, 0);
}

/** M4 = [[2,3,1,1],[1,2,3,1],[1,1,2,3],[3,1,1,2]] on each block of four, then the sum of the blocks on each. */
function externalLayer(state: Words): void {
  mixBlocks(state, 0, lows);
  mixBlocks(state, 1, highs);
  for (let index = 0; index < WIDTH; index++) {
    const column = index & 3;
    reduceSum(
      state,
      2 * index,
      (lows[index] as number) + (lows[column] as number) + (lows[column + 4] as number) + (lows[column + 8] as number),
      (highs[index] as number) +
        (highs[column] as number) +
        (highs[column + 4] as number) +
        (highs[column + 8] as number),
    );
  }
}

/** Row r of M4 is: the sum of the four, plus x_r, plus twice x_{r+1}. `half` 0 takes the low words, 1 the high ones. */
function mixBlocks(state: Words, half: number, out: Float64Array): void {
  for (let block = 0; block < WIDTH; block += 4) {
    const at = 2 * block + half;
    const x0 = state[at] as number;
    const x1 = state[at + 2] as number;
    const x2 = state[at + 4] as number;
    const x3 = state[at + 6] as number;
    const sum = x0 + x1 + x2 + x3;
    out[block] = sum + x0 + 2 * x1;
    out[block + 1] = sum + x1 + 2 * x2;
    out[block + 2] = sum + x2 + 2 * x3;
    out[block + 3] = sum + x3 + 2 * x0;
  }
}

/** y_i = Σ x + d_i · x_i, with one reduction each. */
function internalLayer(state: Words): void {
  let sumLow = 0;
  let sumHigh = 0;
  for (let at = 0; at < 2 * WIDTH; at += 2) {
    sumLow += state[at] as number;
    sumHigh += state[at + 1] as number;
  }
  for (let at = 0; at < 2 * WIDTH; at += 2) {
    const aLow = state[at] as number;
    const aHigh = state[at + 1] as number;
    const bLow = diagonal[at] as number;
    const bHigh = diagonal[at + 1] as number;
    const low0 = Math.imul(aLow, bLow) >>> 0;
    const high0 = ((aLow * bLow - low0) * PER_TWO_32 + 0.5) >>> 0;
    const low1 = Math.imul(aLow, bHigh) >>> 0;
    const high1 = ((aLow * bHigh - low1) * PER_TWO_32 + 0.5) >>> 0;
    const low2 = Math.imul(aHigh, bLow) >>> 0;
    const high2 = ((aHigh * bLow - low2) * PER_TWO_32 + 0.5) >>> 0;
    const low3 = Math.imul(aHigh, bHigh) >>> 0;
    const high3 = ((aHigh * bHigh - low3) * PER_TWO_32 + 0.5) >>> 0;
    reduceColumns(state, at, low0 + sumLow, high0 + low1 + low2 + sumHigh, high1 + high2 + low3, high3);
  }
}

/** Hashes `count` elements of `input` and squeezes `outputCount`. No input, no permutation: the zero state is read. */
export function hash(input: Words, count: number, outputCount: number): Words {
  const state = new Uint32Array(2 * WIDTH);
  for (let from = 0; from < count; from += RATE) {
    state.set(input.subarray(2 * from, 2 * Math.min(count, from + RATE)));
    permute(state);
  }
  const out = new Uint32Array(2 * outputCount);
  for (let from = 0; from < outputCount; from += RATE) {
    if (from > 0) permute(state);
    out.set(state.subarray(0, 2 * Math.min(RATE, outputCount - from)), 2 * from);
  }
  return out;
}

/** Five outputs: a quintic element. */
export function hashToQuintic(input: Words, count: number): Words {
  return hash(input, count, 5);
}
