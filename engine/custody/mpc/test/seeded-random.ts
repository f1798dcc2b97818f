/** The generator of tests: SHA-512 of seed, label and counter. A label has one value, whoever asks and however often. */
import { createHash } from "node:crypto";
import type { RandomSource } from "../base/random.js";

const BLOCK_BYTES = 64;

export function seededBytes(seed: string, label: string, byteLength: number): Buffer {
  const blocks: Buffer[] = [];
  for (let counter = 0; blocks.length * BLOCK_BYTES < byteLength; counter++) {
    const hash = createHash("sha512");
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    for (const field of [Buffer.from("u2e/test"), Buffer.from(seed), Buffer.from(label), count]) {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(field.length);
      hash.update(length).update(field);
    }
    blocks.push(hash.digest());
  }
  return Buffer.concat(blocks).subarray(0, byteLength);
}

export function seededRandom(seed: string): RandomSource {
  return { fill: (label, target) => target.set(seededBytes(seed, label, target.length)) };
}

/** A dead generator. */
export const constantRandom: RandomSource = { fill: (_label, target) => target.fill(7) };
