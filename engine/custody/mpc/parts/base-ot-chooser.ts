/**
 * Base OT of one direction, the chooser's side (docs/mpc.md, section 5.2): it has the key y, Y and gets both pads of
 * each OT. It opens only after the check of resp. Steps come once and in order.
 */
import { type Arena, withArena } from "../base/arena.js";
import { differences, isSame, xorInto } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { violation } from "../base/outcome.js";
import { BASE_OTS, type Direction, HASH_BYTES, PAD_PAIRS_BYTES, PADS_BYTES, POINT_BYTES } from "../base/parameters.js";
import { difference, encodeSecretPoints, type Point, type PublicPoint, secretTimes } from "../base/point.js";
import { type Slices, stretches } from "../base/slices.js";
import { BaseOtHashes, StepOrder } from "./base-ot-hashes.js";

export interface BaseOtKey {
  /** y */
  readonly secret: bigint;
  /** Y */
  readonly point: PublicPoint;
}

export interface BaseOtChooserSetup {
  /** sid = gsid or rsid. */
  readonly scope: HashScope;
  readonly direction: Direction;
  readonly key: BaseOtKey;
  /** Holds pads and v until the end of key generation; `padPairs` lies in it too. */
  readonly arena: Arena;
}

const STEPS = 2;
/** Of y A_i between two stops: 7.6 ms of 1.9 ms each (Node 20, one core that is idle). */
const PRODUCTS = 4;

export class BaseOtChooser {
  readonly #key: BaseOtKey;
  readonly #hashes: BaseOtHashes;
  readonly #padPairs: Buffer;
  /** v0_0, v1_0, v0_1, …: what is opened. */
  readonly #openings: Buffer;
  /** H("bot/v2"; v0) of each: what resp must be. */
  readonly #expected: Buffer;
  readonly #order = new StepOrder();

  constructor(setup: BaseOtChooserSetup) {
    const { scope, direction, key, arena } = setup;
    this.#key = key;
    this.#hashes = new BaseOtHashes(arena, scope, direction, key.point.bytes);
    this.#padPairs = arena.take(PAD_PAIRS_BYTES);
    this.#openings = arena.take(PAD_PAIRS_BYTES);
    this.#expected = arena.take(PADS_BYTES);
  }

  /** A (decoded, 256) → X, 8,192 bytes. An A_i = Y is a violation. */
  challenge(points: readonly PublicPoint[]): Slices<Buffer> {
    return this.#order.slices(0, () => this.#challenge(points));
  }

  /** resp, 8,192 bytes → open, 16,384 bytes. One wrong row is a violation. */
  open(response: Uint8Array): Buffer {
    return this.#order.run(1, () => {
      if (response.length !== PADS_BYTES || differences(response, this.#expected) !== 0) throw violation("resp");
      return Buffer.from(this.#openings);
    });
  }

  /** s0_0, s1_0, s0_1, …: 16,384 bytes of the arena, once `open` has returned. */
  get padPairs(): Buffer {
    this.#order.assertDone(STEPS);
    return this.#padPairs;
  }

  *#challenge(points: readonly PublicPoint[]): Slices<Buffer> {
    const { secret, point } = this.#key;
    if (points.length !== BASE_OTS || points.some(({ bytes }) => isSame(bytes, point.bytes))) throw violation("A");
    const keyProduct = secretTimes(point.point, secret);
    const challenge = Buffer.alloc(PADS_BYTES);
    yield* stretches(BASE_OTS, PRODUCTS, (from, to) => {
      const stretch = points.slice(from, to);
      withArena((scratch) => {
        const shared = this.#sharedPoints(stretch, keyProduct, scratch);
        for (const [at, { bytes }] of stretch.entries()) {
          const index = from + at;
          this.#hashes.select(index, bytes);
          const target = challenge.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
          this.#challengeOne(index, shared.subarray(2 * at * POINT_BYTES, 2 * (at + 1) * POINT_BYTES), target);
        }
      });
    });
    return challenge;
  }

  /** y A_i and y A_i − y Y of each, encoded. */
  #sharedPoints(points: readonly PublicPoint[], keyProduct: Point, arena: Arena): Buffer {
    const { secret } = this.#key;
    const products = points.map((each) => secretTimes(each.point, secret));
    return encodeSecretPoints(
      products.flatMap((product) => [product, difference(product, keyProduct)]),
      arena,
    );
  }

  /** `shared`: both points of this one. */
  #challengeOne(index: number, shared: Buffer, target: Buffer): void {
    for (const choice of [0, 1]) {
      const pairAt = (2 * index + choice) * HASH_BYTES;
      const pad = this.#hashes.digest("bot/pad", shared.subarray(choice * POINT_BYTES, (choice + 1) * POINT_BYTES));
      const opening = this.#hashes.digest("bot/v1", pad);
      const image = this.#hashes.digest("bot/v2", opening);
      this.#padPairs.set(pad, pairAt);
      this.#openings.set(opening, pairAt);
      if (choice === 0) this.#expected.set(image, index * HASH_BYTES);
      xorInto(target, image);
    }
  }
}
