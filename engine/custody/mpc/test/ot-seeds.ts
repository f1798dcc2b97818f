/** The ends of base OT without base OT: random pads, and of each pair the one of Delta's bit. */
import { baseTimes, encodePublic, sum } from "../base/point.js";
import { withSid } from "../base/hash.js";
import { readScalar, reduced } from "../base/scalar.js";
import { type Failure, failureOf } from "../base/outcome.js";
import { gadgetOf } from "../parts/gadget.js";
import { seededBytes } from "./seeded-random.js";
import { both, type DirectionSeeds, ROOT_SCOPE, type WalletKeys } from "./two-parties.js";

export function seedsOf(seed: string): DirectionSeeds {
  const delta = seededBytes(seed, "delta", 32);
  const padPairs = seededBytes(seed, "pads", 16_384);
  const pads = Array.from({ length: 256 }, (_, row) => {
    const bit = ((delta[row >> 3] ?? 0) >> (row & 7)) & 1;
    return padPairs.subarray((2 * row + bit) * 32, (2 * row + bit + 1) * 32);
  });
  return { delta, padPairs, pads: Buffer.concat(pads) };
}

export function scalarOf(seed: string, label: string): bigint {
  return reduced(readScalar(seededBytes(seed, label, 32), 0));
}

/** A wallet that can sign, without the second that its base OT would take. */
export function walletOf(seed: string): WalletKeys {
  const scope = withSid(ROOT_SCOPE, seededBytes(seed, "gsid", 32));
  const shares = both((i) => scalarOf(seed, `x/${i}`));
  const points = both((i) => encodePublic(baseTimes(shares[i])));
  return {
    scope,
    shares,
    points,
    joint: encodePublic(sum(points[0].point, points[1].point)),
    gadgets: both((d) => gadgetOf(scope, d, seededBytes(seed, "gs/0", 32), seededBytes(seed, "gs/1", 32))),
    seeds: both((d) => seedsOf(`${seed}/${d}`)),
    tag: seededBytes(seed, "tag", 32),
  };
}

/** How `body` fails; null where it does not. */
export function failureFrom(body: () => unknown): Failure | null {
  try {
    body();
    return null;
  } catch (thrown) {
    return failureOf(thrown);
  }
}

export function flipped(bytes: Uint8Array, bit: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return changed;
}
