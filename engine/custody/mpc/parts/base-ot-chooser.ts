/**
 * Base OT of one direction, the chooser's side (docs/mpc.md, section 5.2): it has the key y, Y and gets both pads of
 * each OT. It opens only after the check of resp. Steps come once and in order.
 */
import type { Arena } from "../base/arena.js";
import { differences, isSame, xorInto } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { violation } from "../base/outcome.js";
import { BASE_OTS, type Direction, HASH_BYTES, PAD_PAIRS_BYTES, PADS_BYTES, POINT_BYTES } from "../base/parameters.js";
import { difference, encodeSecretPoints, type PublicPoint, secretTimes } from "../base/point.js";
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

export class BaseOtChooser {
  readonly #key: BaseOtKey;
  readonly #arena: Arena;
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
    this.#arena = arena;
    this.#hashes = new BaseOtHashes(arena, scope, direction, key.point.bytes);
    this.#padPairs = arena.take(PAD_PAIRS_BYTES);
    this.#openings = arena.take(PAD_PAIRS_BYTES);
    this.#expected = arena.take(PADS_BYTES);
  }

  /** A (decoded, 256) → X, 8,192 bytes. An A_i = Y is a violation. */
  challenge(points: readonly PublicPoint[]): Buffer {
    return this.#order.run(0, () => {
      const keyBytes = this.#key.point.bytes;
      if (points.length !== BASE_OTS || points.some(({ bytes }) => isSame(bytes, keyBytes))) throw violation("A");
      const shared = this.#sharedPoints(points);
      const challenge = Buffer.alloc(PADS_BYTES);
      for (const [index, { bytes }] of points.entries()) {
        this.#hashes.select(index, bytes);
        this.#challengeOne(index, shared, challenge.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES));
      }
      return challenge;
    });
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

  /** y A_0 … y A_255, then y A_0 − y Y … y A_255 − y Y, encoded. */
  #sharedPoints(points: readonly PublicPoint[]): Buffer {
    const { secret, point } = this.#key;
    const keyProduct = secretTimes(point.point, secret);
    const products = points.map((each) => secretTimes(each.point, secret));
    return encodeSecretPoints(
      [...products, ...products.map((product) => difference(product, keyProduct))],
      this.#arena,
    );
  }

  #challengeOne(index: number, shared: Buffer, target: Buffer): void {
    for (const choice of [0, 1]) {
      const at = (choice * BASE_OTS + index) * POINT_BYTES;
      const pairAt = (2 * index + choice) * HASH_BYTES;
      const pad = this.#hashes.digest("bot/pad", shared.subarray(at, at + POINT_BYTES));
      const opening = this.#hashes.digest("bot/v1", pad);
      const image = this.#hashes.digest("bot/v2", opening);
      this.#padPairs.set(pad, pairAt);
      this.#openings.set(opening, pairAt);
      if (choice === 0) this.#expected.set(image, index * HASH_BYTES);
      xorInto(target, image);
    }
  }
}
