/**
 * Every field of every message and what a flipped bit in it gives, as docs/mpc.md has it (8.7): made from the page, not
 * from the code. `at` names who notices; a field that is `point` or `scalar` is a violation where its encoding became
 * illegal, and `good` where it is legal still.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import type { Party } from "../base/parameters.js";

export interface Field {
  readonly message: string;
  readonly name: string;
  readonly bytes: number;
  readonly kind: "bytes" | "point" | "scalar" | "points" | "scalars";
  readonly at: Party;
  readonly good: string;
}

type Row = readonly [name: string, bytes: number, kind: Field["kind"], at: Party, good: string];

const msgA = (at: Party): Row[] => [
  // The opening comes one flight later for C's, in the same for S's.
  ["com", 32, "bytes", at, "cheat"],
  ["U", 19_968, "bytes", at, "cheat"],
  ["xh", 26, "bytes", at, "cheat"],
  ["th", 6_656, "bytes", at, "cheat"],
];
const msgB = (at: Party): Row[] => [
  ["R", 33, "point", at, "cheat"],
  ["salt", 32, "bytes", at, "cheat"],
  ["tau", 39_936, "scalars", at, "cheat"],
  ["eta", 32, "scalar", at, "cheat"],
  ["hmu", 32, "bytes", at, "cheat"],
  ["Gu", 33, "point", at, "cheat"],
  ["Gv", 33, "point", at, "cheat"],
  // A false psi shows in the final signature, which S sees first.
  ["psi", 32, "scalar", 0, "cheat"],
];

export const SIGN_FIELDS: readonly Field[] = [
  ...rows("f1", [
    ["nonce", 32, "bytes", 0, "violation"],
    ["tag", 32, "bytes", 1, "refused TAG"],
    ["digest", 32, "bytes", 1, "refused DIGEST"],
  ]),
  ...rows("f2", [
    ["nonce", 32, "bytes", 0, "violation"],
    ["tag", 32, "bytes", 0, "violation"],
    ["prevCtr", 8, "bytes", 0, "violation"],
    ...msgA(0),
  ]),
  ...rows("f3", [...msgA(1), ...msgB(1)]),
  ...rows("f4", [...msgB(0), ["u", 32, "scalar", 0, "cheat"], ["w", 32, "scalar", 0, "cheat"]]),
  ...rows("f5", [
    ["u", 32, "scalar", 1, "cheat"],
    ["w", 32, "scalar", 1, "cheat"],
  ]),
  ...rows("f6", [["hash", 32, "bytes", 0, "violation"]]),
];

const proof = (name: string, at: Party): Row[] => [
  [`${name} T`, 33, "point", at, "violation"],
  [`${name} z`, 32, "scalar", at, "violation"],
];
const reveal = (at: Party): Row[] => [
  ["salt", 32, "bytes", at, "violation"],
  ["P", 33, "point", at, "violation"],
  ...proof("pok", at),
  ["Y", 33, "point", at, "violation"],
  ...proof("pokY", at),
  ["gs", 32, "bytes", at, "violation"],
];
const refreshReveal = (at: Party): Row[] => [
  ["salt", 32, "bytes", at, "violation"],
  ["delta", 32, "scalar", at, "violation"],
  ["Y", 33, "point", at, "violation"],
  ...proof("pokY", at),
  ["gs", 32, "bytes", at, "violation"],
];
const late = (flow: "kg" | "rf"): Field[] => [
  ...rows(`${flow}6`, [
    ["X", 8_192, "bytes", 0, "violation"],
    ["resp", 8_192, "bytes", 0, "violation"],
  ]),
  ...rows(`${flow}7`, [
    ["resp", 8_192, "bytes", 1, "violation"],
    ["open", 16_384, "bytes", 1, "violation"],
  ]),
  ...rows(`${flow}8`, [
    ["open", 16_384, "bytes", 0, "violation"],
    ["fin", 32, "bytes", 0, "violation"],
  ]),
  ...rows(`${flow}9`, [["fin", 32, "bytes", 1, "violation"]]),
  ...rows(`${flow}10`, [["fin", 32, "bytes", 0, "violation"]]),
];

const ends = (): Field[] => [
  ...rows("activate", [["tag", 32, "bytes", 1, "violation"]]),
  ...rows("activated", [["tag", 32, "bytes", 0, "violation"]]),
];

export const KEYGEN_FIELDS: readonly Field[] = [
  ...rows("kg1", [["nonce", 32, "bytes", 0, "violation"]]),
  ...rows("kg2", [
    ["nonce", 32, "bytes", 0, "violation"],
    ["com", 32, "bytes", 0, "violation"],
  ]),
  ...rows("kg3", [["com", 32, "bytes", 1, "violation"], ...reveal(1)]),
  ...rows("kg4", [...reveal(0), ["A", 8_448, "points", 0, "violation"]]),
  ...rows("kg5", [
    ["A", 8_448, "points", 1, "violation"],
    // Where the bit of Delta is 1 S notices at resp, else C at open.
    ["X", 8_192, "bytes", 0, "violation"],
  ]),
  ...late("kg"),
  ...ends(),
];

export const REFRESH_FIELDS: readonly Field[] = [
  ...rows("rf1", [
    ["nonce", 32, "bytes", 0, "violation"],
    // Part of the transcript, and of what both start from: a flip below the bound ends at fin at the latest.
    ["ctr", 8, "bytes", 1, "refused CTR"],
    // Above the ctr beside it at once, below it at fin.
    ["peerCtr", 8, "bytes", 1, "violation"],
    ["tag", 32, "bytes", 1, "refused TAG"],
    ["mode", 1, "bytes", 1, "refused STATE"],
  ]),
  ...rows("rf2", [
    ["nonce", 32, "bytes", 0, "violation"],
    ["ctr", 8, "bytes", 0, "refused CTR"],
    ["tag", 32, "bytes", 0, "refused TAG"],
    ["com", 32, "bytes", 0, "violation"],
  ]),
  ...rows("rf3", [["com", 32, "bytes", 1, "violation"], ...refreshReveal(1)]),
  ...rows("rf4", [...refreshReveal(0), ...proof("pokP", 0), ["A", 8_448, "points", 0, "violation"]]),
  ...rows("rf5", [...proof("pokP", 1), ["A", 8_448, "points", 1, "violation"], ["X", 8_192, "bytes", 0, "violation"]]),
  ...late("rf"),
  ...ends(),
];

function rows(message: string, fields: readonly Row[]): Field[] {
  return fields.map(([name, bytes, kind, at, good]) => ({ message, name, bytes, kind, at, good }));
}

/** Where a field begins, from the lengths of those before it. */
export function offsetOf(table: readonly Field[], field: Field): number {
  let at = 0;
  for (const each of table) {
    if (each === field) return at;
    if (each.message === field.message) at += each.bytes;
  }
  throw new Error("field of another table");
}

export type Position = "first" | "middle" | "last";
export const POSITIONS: readonly Position[] = ["first", "middle", "last"];
const BITS = { first: 0x80, middle: 0x10, last: 0x01 };

/** The body with one bit of the field flipped, and whether each point and scalar of the field is legal still. */
export function flipped(body: Uint8Array, at: number, field: Field, position: Position) {
  const changed = Buffer.from(body);
  const places = { first: 0, middle: field.bytes >> 1, last: field.bytes - 1 };
  const place = at + places[position];
  changed.writeUInt8(changed.readUInt8(place) ^ BITS[position], place);
  return { changed, isLegal: isLegal(changed.subarray(at, at + field.bytes), field.kind) };
}

export function isLegal(bytes: Buffer, kind: Field["kind"]): boolean {
  if (kind === "bytes") return true;
  const step = kind === "point" || kind === "points" ? 33 : 32;
  for (let at = 0; at < bytes.length; at += step) {
    const each = bytes.subarray(at, at + step);
    if (step === 32 ? BigInt(`0x${each.toString("hex")}`) >= secp256k1.CURVE.n : !isPoint(each)) return false;
  }
  return true;
}

function isPoint(bytes: Buffer): boolean {
  try {
    secp256k1.ProjectivePoint.fromHex(bytes);
    return bytes[0] === 2 || bytes[0] === 3;
  } catch {
    return false;
  }
}
