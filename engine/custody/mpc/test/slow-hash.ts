/** Frames, hashes and GF(2^208), written from docs/mpc.md alone with plain BigInt and loops over bits. */
import { createHash } from "node:crypto";
import { modulo } from "./slow-curve.js";
import { seededBytes } from "./seeded-random.js";

export const SEED = "kat-1";
const LABEL = "u2e/1/secp256k1-256-416-208-3/";
const WALLET = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
const EPOCH = 1;
export const ZEROS = Buffer.alloc(32);

export const u8 = (value: number) => Buffer.from([value]);
export const u32 = (value: number) => Buffer.from(value.toString(16).padStart(8, "0"), "hex");
export const u64 = (value: bigint) => Buffer.from(value.toString(16).padStart(16, "0"), "hex");
export const scalarBytes = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
export const numberOf = (bytes: Buffer) => BigInt(`0x${bytes.toString("hex")}`);
export const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest();

export function framed(...fields: Buffer[]): Buffer {
  return Buffer.concat(fields.flatMap((field) => [u32(field.length), field]));
}

export interface Place {
  readonly d?: number;
  readonly actor?: number;
  readonly idx?: number[];
}

function input(step: string, sid: Buffer, { d = 255, actor = 255, idx = [] }: Place, data: Buffer[]): Buffer {
  return framed(Buffer.from(LABEL + step), WALLET, u32(EPOCH), sid, u8(d), u8(actor), ...idx.map(u32), ...data);
}

export function H(step: string, sid: Buffer, place: Place, ...data: Buffer[]): Buffer {
  return sha256(input(step, sid, place, data));
}
export function H512(step: string, sid: Buffer, place: Place, ...data: Buffer[]): Buffer {
  return createHash("sha512")
    .update(input(step, sid, place, data))
    .digest();
}
export function Hs(step: string, sid: Buffer, place: Place, ...data: Buffer[]): bigint {
  return modulo(numberOf(H(step, sid, place, ...data)));
}

export const drawn = (label: string, byteLength: number) => seededBytes(SEED, label, byteLength);
export const drawnScalar = (label: string) => modulo(numberOf(drawn(label, 64)));

export const bit = (vector: Buffer, index: number) => ((vector[index >> 3] ?? 0) >> (index & 7)) & 1;
export const xor = (left: Buffer, right: Buffer) => Buffer.from(left.map((byte, at) => byte ^ (right[at] ?? 0)));
export const ifOne = (choice: number, value: Buffer) => (choice === 1 ? value : Buffer.alloc(value.length));

/** Little-endian: bit k is the coefficient of X^k. */
export const fieldOf = (bytes: Buffer) => numberOf(Buffer.from(bytes).reverse());
export const fieldBytes = (value: bigint) => Buffer.from(value.toString(16).padStart(52, "0"), "hex").reverse();

const F = (1n << 208n) | (1n << 9n) | (1n << 3n) | (1n << 1n) | 1n;

export function fieldProduct(left: bigint, right: bigint): bigint {
  let product = 0n;
  for (let k = 0n; k < 208n; k++) if ((right >> k) & 1n) product ^= left << k;
  for (let k = 415n; k >= 208n; k--) if ((product >> k) & 1n) product ^= F << (k - 208n);
  return product;
}

export function foldedRow(row: Buffer, chi: readonly [Buffer, Buffer]): Buffer {
  const part = (from: number) => fieldOf(row.subarray(from, from + 26));
  return fieldBytes(fieldProduct(part(0), fieldOf(chi[0])) ^ fieldProduct(part(26), fieldOf(chi[1])) ^ part(52));
}

/** Bit i of the result is bit `column` of row i. */
export function columnOf(rows: readonly Buffer[], column: number): Buffer {
  const result = Buffer.alloc(rows.length / 8);
  for (const [i, row] of rows.entries()) result[i >> 3] = (result[i >> 3] ?? 0) | (bit(row, column) << (i & 7));
  return result;
}
