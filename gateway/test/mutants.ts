/** Seeded damage to texts and bytes that a parser reads. */
import type { Random } from "../../engine/domain/random.js";

const ODD_TEXTS = [
  ...[
    "",
    " ",
    "\0",
    "\\",
    '"',
    "'",
    "\\u0000",
    "\\ud800",
    "é",
    "💥",
    "\u2028",
    "\ufeff",
    "null",
    "true",
    "NaN",
    "1e999",
  ],
  ...[
    "-0",
    "9".repeat(40),
    "{}",
    "[]",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "__proto__",
    "constructor",
    '"a":1,"a":2',
    "[".repeat(40),
  ],
];

export function below(random: Random, limit: number): number {
  return Math.floor(random.next() * limit);
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[below(random, list.length)] as T;
}

/** Bytes with up to four things changed; a quarter is unchanged. */
export function damaged(random: Random, text: string, others: readonly string[]): Buffer {
  let bytes: Buffer = Buffer.from(text);
  for (let count = below(random, 4); count > 0; count--) bytes = damagedOnce(random, bytes, others);
  return bytes;
}

function damagedOnce(random: Random, bytes: Buffer, others: readonly string[]): Buffer {
  const at = below(random, bytes.length + 1);
  const end = at + below(random, 20);
  switch (below(random, 7)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    case 3: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = below(random, 256);
      return copy;
    }
    case 4: {
      const other = Buffer.from(pick(random, others));
      return Buffer.concat([bytes.subarray(0, at), other.subarray(below(random, other.length + 1))]);
    }
    default:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(pick(random, ODD_TEXTS)), bytes.subarray(at)]);
  }
}
