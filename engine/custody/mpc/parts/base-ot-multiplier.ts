/**
 * Base OT of one direction, the multiplier's side (docs/mpc.md, section 5.2): it gets 256 random bits, Delta, and the
 * pad of each. Steps come once and in order.
 */
import { type Arena, withArena } from "../base/arena.js";
import { bitAt, chooseInto, differences, maskOf, xorSelectedInto } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { violation } from "../base/outcome.js";
import {
  BASE_OT_BYTES,
  BASE_OT_POINTS_BYTES,
  BASE_OTS,
  type Direction,
  HASH_BYTES,
  PAD_PAIRS_BYTES,
  PADS_BYTES,
  POINT_BYTES,
} from "../base/parameters.js";
import {
  baseTimes,
  encodeSecretPoints,
  isIdentity,
  type Point,
  type PublicPoint,
  samePoint,
  secretTimes,
  sum,
  withTable,
} from "../base/point.js";
import { drawScalar, type RandomSource } from "../base/random.js";
import { type Slices, stretches } from "../base/slices.js";
import { BaseOtHashes, StepOrder } from "./base-ot-hashes.js";

export interface BaseOtMultiplierSetup {
  /** sid = gsid or rsid. */
  readonly scope: HashScope;
  readonly direction: Direction;
  /** Y */
  readonly chooserKey: PublicPoint;
  /** Asked for `delta` and `a/0` to `a/255`. */
  readonly random: RandomSource;
  /** Holds Delta, pads and m until the end of key generation; `delta` and `pads` lie in it too. */
  readonly arena: Arena;
}

/** a_i G, a_i G + Y and a_i Y of one base OT. */
interface Candidate {
  readonly plain: Point;
  readonly shifted: Point;
  readonly shared: Point;
}
const CANDIDATE_POINTS = 3;

const STEPS = 3;
/** Of a_i between two stops: 7 ms of 0.43 ms each (Node 20, one core that is idle). */
const DRAWS = 16;
/** A candidate is unusable with chance 2^-255: more than a few are a broken generator. */
const MAX_DRAWS = 8;

export class BaseOtMultiplier {
  readonly #setup: BaseOtMultiplierSetup;
  readonly #hashes: BaseOtHashes;
  readonly #delta: Buffer;
  readonly #points: Buffer;
  readonly #pads: Buffer;
  /** m_0, m_1, … */
  readonly #openings: Buffer;
  readonly #challenge = Buffer.alloc(PADS_BYTES);
  readonly #order = new StepOrder();

  constructor(setup: BaseOtMultiplierSetup) {
    const { scope, direction, chooserKey, arena } = setup;
    this.#setup = setup;
    this.#hashes = new BaseOtHashes(arena, scope, direction, chooserKey.bytes);
    this.#delta = arena.take(BASE_OT_BYTES);
    this.#points = arena.take(BASE_OT_POINTS_BYTES);
    this.#pads = arena.take(PADS_BYTES);
    this.#openings = arena.take(PADS_BYTES);
  }

  /** → A, 8,448 bytes. */
  points(): Slices<Buffer> {
    return this.#order.slices(0, () => this.#makePoints());
  }

  /** X, 8,192 bytes → resp, 8,192 bytes. */
  respond(challenge: Uint8Array): Buffer {
    return this.#order.run(1, () => {
      if (challenge.length !== PADS_BYTES) throw violation("X");
      this.#challenge.set(challenge);
      const response = Buffer.alloc(PADS_BYTES);
      for (let index = 0; index < BASE_OTS; index++) {
        const [from, to] = [index * HASH_BYTES, (index + 1) * HASH_BYTES];
        this.#select(index);
        const opening = this.#hashes.digest("bot/v1", this.#pads.subarray(from, to));
        this.#openings.set(opening, from);
        const row = response.subarray(from, to);
        row.set(this.#hashes.digest("bot/v2", opening));
        xorSelectedInto(row, challenge.subarray(from, to), maskOf(bitAt(this.#delta, index)));
      }
      return response;
    });
  }

  /** open, 16,384 bytes. One wrong row is a violation. */
  verify(opening: Uint8Array): void {
    this.#order.run(2, () => {
      if (opening.length !== PAD_PAIRS_BYTES) throw violation("open");
      const expected = this.#setup.arena.take(HASH_BYTES);
      let wrong = 0;
      for (let index = 0; index < BASE_OTS; index++) {
        const [from, to] = [index * HASH_BYTES, (index + 1) * HASH_BYTES];
        const zero = opening.subarray(2 * from, 2 * from + HASH_BYTES);
        const one = opening.subarray(2 * from + HASH_BYTES, 2 * to);
        this.#select(index);
        chooseInto(expected, zero, one, maskOf(bitAt(this.#delta, index)));
        wrong |= differences(expected, this.#openings.subarray(from, to));
        const image = this.#hashes.digest("bot/v2", zero);
        xorSelectedInto(image, this.#hashes.digest("bot/v2", one), -1);
        wrong |= differences(image, this.#challenge.subarray(from, to));
      }
      if (wrong !== 0) throw violation("open");
    });
  }

  /** 32 bytes of the arena, once `verify` has returned. */
  get delta(): Buffer {
    this.#order.assertDone(STEPS);
    return this.#delta;
  }

  /** s_0, s_1, …: 8,192 bytes of the arena, once `verify` has returned. */
  get pads(): Buffer {
    this.#order.assertDone(STEPS);
    return this.#pads;
  }

  *#makePoints(): Slices<Buffer> {
    const { chooserKey, random } = this.#setup;
    random.fill("delta", this.#delta);
    const table = withTable(chooserKey.point);
    yield;
    yield* stretches(BASE_OTS, DRAWS, (from, to) => {
      withArena((scratch) => this.#makeStretch(from, to, table, scratch));
    });
    return Buffer.from(this.#points);
  }

  #makeStretch(from: number, to: number, table: Point, scratch: Arena): void {
    const candidates = Array.from({ length: to - from }, (_, at) => this.#drawCandidate(from + at, table, scratch));
    const encoded = encodeSecretPoints(
      candidates.flatMap(({ plain, shifted, shared }) => [plain, shifted, shared]),
      scratch,
    );
    const encodedAt = (place: number) => encoded.subarray(place * POINT_BYTES, (place + 1) * POINT_BYTES);
    for (let index = from; index < to; index++) {
      const first = (index - from) * CANDIDATE_POINTS;
      const point = this.#points.subarray(index * POINT_BYTES, (index + 1) * POINT_BYTES);
      chooseInto(point, encodedAt(first), encodedAt(first + 1), maskOf(bitAt(this.#delta, index)));
      this.#hashes.select(index, point);
      this.#pads.set(this.#hashes.digest("bot/pad", encodedAt(first + 2)), index * HASH_BYTES);
    }
  }

  #select(index: number): void {
    this.#hashes.select(index, this.#points.subarray(index * POINT_BYTES, (index + 1) * POINT_BYTES));
  }

  /** Both possible A_i, whatever the bit is. One that would be Y or the identity is drawn again. */
  #drawCandidate(index: number, table: Point, arena: Arena): Candidate {
    const { chooserKey, random } = this.#setup;
    for (let draw = 0; draw < MAX_DRAWS; draw++) {
      const scalar = drawScalar(random, draw === 0 ? `a/${index}` : `a/${index}/again/${draw}`, arena);
      const plain = baseTimes(scalar);
      const shifted = sum(plain, chooserKey.point);
      if (!isIdentity(shifted) && !samePoint(plain, chooserKey.point)) {
        return { plain, shifted, shared: secretTimes(table, scalar) };
      }
    }
    throw new Error("generator gives the key of the other");
  }
}
