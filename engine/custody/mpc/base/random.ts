/**
 * Randomness: a port for the generator, and the hedged stream of a signing session (docs/mpc.md, section 8.2).
 * The label names the value that is drawn. The system's generator ignores it; the generators of tests depend on nothing
 * else, so one label is asked once.
 */
import { createHmac, randomFillSync } from "node:crypto";
import type { Arena } from "./arena.js";
import { type HashScope, hash512, u64 } from "./hash.js";
import { EXTENDED_BYTES, HASH_BYTES, type Party, SCALAR_BYTES, WIDE_SCALAR_BYTES } from "./parameters.js";
import { wideScalar, writeScalar } from "./scalar.js";

/** Fills `target` with bytes that nobody else can know. */
export interface RandomSource {
  fill(label: string, target: Uint8Array): void;
}

export const systemRandom: RandomSource = {
  fill(_label, target) {
    randomFillSync(target);
  },
};

/** The same generator with a prefix before each label. */
export function labelled(random: RandomSource, prefix: string): RandomSource {
  return { fill: (label, target) => random.fill(prefix + label, target) };
}

const HEDGE_RANDOM_BYTES = 64;
/** A zero has chance 2^-256 each time: more than a few are a broken generator. */
const MAX_DRAWS = 8;

/** 1..n-1. A zero is drawn again under `label/1`, `label/2`, … */
export function drawScalar(random: RandomSource, label: string, arena: Arena): bigint {
  const bytes = arena.take(WIDE_SCALAR_BYTES);
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    random.fill(draw === 0 ? label : `${label}/${draw}`, bytes);
    const scalar = wideScalar(bytes);
    bytes.fill(0);
    if (scalar !== 0n) return scalar;
  }
  throw new Error("generator gives zeros");
}

export interface HedgeInput {
  /** Scope of the session: sid = ssid, which both nonces are in. */
  readonly scope: HashScope;
  readonly party: Party;
  readonly share: bigint;
  readonly ctr: bigint;
  readonly digest: Uint8Array;
}

/** What a party draws for one signature, once both nonces are known. */
export interface SessionSecrets {
  readonly k: bigint;
  readonly phi: bigint;
  readonly ah: bigint;
  readonly salt: Buffer;
  /** c: choice bits and masking noise of the own extension. */
  readonly choice: Buffer;
}

/** Asks the generator once, under `rng`. Buffers lie in the arena. */
export function drawSessionSecrets(input: HedgeInput, random: RandomSource, arena: Arena): SessionSecrets {
  const stream = new HedgedStream(hedgeRoot(input, random, arena), arena);
  const choice = arena.take(EXTENDED_BYTES);
  const first = stream.block("c", 0);
  choice.set(first);
  choice.set(stream.block("c", 1).subarray(0, EXTENDED_BYTES - first.length), first.length);
  return {
    k: stream.nonzeroScalar("k"),
    phi: stream.nonzeroScalar("phi"),
    ah: wideScalar(stream.block("ah", 0)),
    salt: stream.block("salt", 0).subarray(0, HASH_BYTES),
    choice,
  };
}

function hedgeRoot(input: HedgeInput, random: RandomSource, arena: Arena): Buffer {
  const drawn = arena.take(HEDGE_RANDOM_BYTES);
  random.fill("rng", drawn);
  const share = arena.take(SCALAR_BYTES);
  writeScalar(input.share, share, 0);
  const place = { actor: input.party };
  return arena.moved(hash512(input.scope, "hedge", place, drawn, share, u64(input.ctr), input.digest));
}

/** HMAC-SHA-512 under the root: one value for each name and block. */
class HedgedStream {
  readonly #root: Buffer;
  readonly #arena: Arena;

  constructor(root: Buffer, arena: Arena) {
    this.#root = root;
    this.#arena = arena;
  }

  block(name: string, block: number): Buffer {
    const mac = createHmac("sha512", this.#root).update(name, "ascii").update(Uint8Array.of(block));
    return this.#arena.moved(mac.digest());
  }

  nonzeroScalar(name: string): bigint {
    for (let block = 0; block < MAX_DRAWS; block++) {
      const scalar = wideScalar(this.block(name, block));
      if (scalar !== 0n) return scalar;
    }
    throw new Error("stream gives zeros");
  }
}
