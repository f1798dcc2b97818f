// hot path
/**
 * Writes rows in ClickHouse's RowBinary into one buffer that grows by doubling: little-endian integers, decimals
 * as scaled two's complement integers, strings after a varint length.
 *
 * Invariant: every figure is written exactly, without a binary fraction and without bigint: a wide integer consists
 * of four 32-bit limbs, each product below 2^53. A figure that the column cannot hold sets `bad`; the caller removes
 * the row (`rewind`) and counts it.
 *
 *   limbs: [ l0 | l1 | l2 | l3 ]   value = l0 + l1·2^32 + l2·2^64 + l3·2^96, sign kept apart
 */
import { pow10 } from "../domain/decimal.js";

const TWO_32 = 4_294_967_296;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;
/** Largest power of ten whose product with a limb stays exact. */
const CHUNK_DIGITS = 6;
const CHUNK = 1_000_000;
/** Digits of a Decimal(38, …). */
const WIDE_DIGITS = 38;
/** Decimal(18, …): |value| < 10^18, as high and low 32 bits. */
const TEN_18_HIGH = 232_830_643;
const TEN_18_LOW = 2_808_348_672;
/** 2^64 - 1 has 20 digits. */
const U64_DIGITS = 20;
const RAW_LOOP_BYTES = 48;
const ZERO = 48;
const MINUS = 45;
const POINT = 46;

// Scratch of the module: calls never overlap.
let l0 = 0;
let l1 = 0;
let l2 = 0;
let l3 = 0;
/** Non-zero digits were cut off the figure last loaded. */
let isCut = false;

function clearLimbs(): void {
  l0 = 0;
  l1 = 0;
  l2 = 0;
  l3 = 0;
  isCut = false;
}

/** limbs = limbs × factor + addend, both at most CHUNK; returns false when 128 bits are not enough. */
function multiplyAdd(factor: number, addend: number): boolean {
  let product = l0 * factor + addend;
  let carry = Math.floor(product / TWO_32);
  l0 = product - carry * TWO_32;
  product = l1 * factor + carry;
  carry = Math.floor(product / TWO_32);
  l1 = product - carry * TWO_32;
  product = l2 * factor + carry;
  carry = Math.floor(product / TWO_32);
  l2 = product - carry * TWO_32;
  product = l3 * factor + carry;
  carry = Math.floor(product / TWO_32);
  l3 = product - carry * TWO_32;
  return carry === 0;
}

function shiftTen(digits: number): boolean {
  for (let left = digits; left > 0; left -= CHUNK_DIGITS) {
    if (!multiplyAdd(left >= CHUNK_DIGITS ? CHUNK : pow10(left), 0)) return false;
  }
  return true;
}

/** Loads |value| × 10^(scale - decimals) into the limbs and cuts finer digits off. `value`: a safe integer. */
function loadScaled(value: number, shift: number): boolean {
  let magnitude = Math.abs(value);
  clearLimbs();
  if (shift < 0) {
    const divisor = pow10(-shift);
    // Beyond 10^22 no digit of a safe integer is left.
    const whole = divisor > 0 ? (magnitude - (magnitude % divisor)) / divisor : 0;
    isCut = whole * divisor !== magnitude;
    magnitude = whole;
  }
  l1 = Math.floor(magnitude / TWO_32);
  l0 = magnitude - l1 * TWO_32;
  if (shift <= 0 || magnitude === 0) return true;
  if (shift > WIDE_DIGITS) return false;
  // 22 is the last exact power, and a safe integer never needs more room than that.
  const room = WIDE_DIGITS - shift;
  return (room > 15 || magnitude < pow10(room)) && shiftTen(shift);
}

/**
 * Loads plain decimal text into the limbs as |text| × 10^scale and cuts finer digits off; returns 0 if malformed or too
 * long, else the sign.
 */
function loadText(text: string, scale: number): number {
  const length = text.length;
  const negative = length > 0 && text.charCodeAt(0) === MINUS;
  let index = negative ? 1 : 0;
  if (index === length) return 0;
  clearLimbs();
  let chunk = 0;
  let chunkPower = 1;
  let significant = 0;
  /** Digits after the point; -1 before it. */
  let places = -1;
  let digitsInRun = 0;
  for (; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code === POINT) {
      if (places >= 0 || digitsInRun === 0) return 0;
      places = 0;
      digitsInRun = 0;
      continue;
    }
    const digit = code - ZERO;
    if (digit < 0 || digit > 9) return 0;
    digitsInRun += 1;
    if (places >= 0) {
      if (places >= scale) {
        isCut ||= digit > 0;
        continue;
      }
      places += 1;
    }
    if (significant > 0 || digit > 0) significant += 1;
    if (significant > WIDE_DIGITS) return 0;
    chunk = chunk * 10 + digit;
    chunkPower *= 10;
    if (chunkPower === CHUNK) {
      if (!multiplyAdd(CHUNK, chunk)) return 0;
      chunk = 0;
      chunkPower = 1;
    }
  }
  if (digitsInRun === 0) return 0;
  if (chunkPower > 1 && !multiplyAdd(chunkPower, chunk)) return 0;
  const missing = scale - Math.max(0, places);
  if (significant > 0 && (significant + missing > WIDE_DIGITS || !shiftTen(missing))) return 0;
  return negative ? -1 : 1;
}

/** Divides by 10^digits, cutting off: for scales below zero. */
function unshiftTen(digits: number): void {
  for (let left = digits; left > 0; left -= CHUNK_DIGITS) {
    const divisor = left >= CHUNK_DIGITS ? CHUNK : pow10(left);
    let rest = l3 % divisor;
    l3 = (l3 - rest) / divisor;
    let part = rest * TWO_32 + l2;
    rest = part % divisor;
    l2 = (part - rest) / divisor;
    part = rest * TWO_32 + l1;
    rest = part % divisor;
    l1 = (part - rest) / divisor;
    part = rest * TWO_32 + l0;
    rest = part % divisor;
    l0 = (part - rest) / divisor;
    isCut ||= rest > 0;
  }
}

export class RowWriter {
  #bytes: Buffer;
  #view: DataView;
  /** Where the next byte goes. */
  at = 0;
  /** A figure did not fit its column since the last `rewind` or `begin`. */
  bad = false;
  /** Number of figures written without some of their digits, since `begin`. */
  cutCount = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /** Starts over in another buffer. */
  begin(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.at = 0;
    this.bad = false;
    this.cutCount = 0;
  }

  get buffer(): Buffer {
    return this.#bytes;
  }

  /** Returns what was written; shares the buffer. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.at);
  }

  rewind(at: number): void {
    this.at = at;
    this.bad = false;
  }

  /** Makes room; call before the fixed-width writers below. Allocates only when the buffer is full. */
  reserve(byteCount: number): void {
    if (this.#bytes.length - this.at >= byteCount) return;
    let size = Math.max(64, this.#bytes.length);
    while (size - this.at < byteCount) size *= 2;
    const grown = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(grown, 0, 0, this.at);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }

  u8(value: number): void {
    this.#view.setUint8(this.at, value);
    this.at += 1;
  }

  u32(value: number): void {
    if (!(value >= 0 && value < TWO_32)) this.bad = true;
    this.#view.setUint32(this.at, value, true);
    this.at += 4;
  }

  f32(value: number): void {
    this.#view.setFloat32(this.at, value, true);
    this.at += 4;
  }

  /** Safe integers only. Int64, DateTime64. */
  i64(value: number): void {
    if (!Number.isSafeInteger(value)) {
      this.bad = true;
      return;
    }
    const high = Math.floor(value / TWO_32);
    this.#view.setUint32(this.at, value - high * TWO_32, true);
    this.#view.setInt32(this.at + 4, high, true);
    this.at += 8;
  }

  u64(value: number): void {
    if (value < 0) this.bad = true;
    this.i64(value);
  }

  /** Digits, also beyond 2^53. */
  u64Text(digits: string): void {
    const valid = digits.length <= U64_DIGITS && loadText(digits, 0) === 1 && !digits.includes(".");
    if (!valid || l2 !== 0 || l3 !== 0) {
      this.bad = true;
      return;
    }
    this.#limb(l0);
    this.#limb(l1);
  }

  /** Decimal(18, scale) of value × 10^-decimals; digits finer than the scale are cut off. */
  decimal64(value: number, decimals: number, scale: number): void {
    const shift = scale - decimals;
    // The usual case: one exact product.
    if (shift >= 0) {
      const product = value * pow10(shift);
      if (product <= MAX_SAFE && product >= -MAX_SAFE) {
        this.i64(product);
        return;
      }
    }
    if (!Number.isSafeInteger(value) || !loadScaled(value, shift)) {
      this.bad = true;
      return;
    }
    this.#put64(value < 0);
  }

  /** Decimal(18, scale) of plain text × 10^-shiftDecimals. */
  decimal64Text(text: string, scale: number, shiftDecimals = 0): void {
    const sign = loadShifted(text, scale, shiftDecimals);
    if (sign === 0) this.bad = true;
    else this.#put64(sign < 0);
  }

  /** Decimal(38, scale) of value × 10^-decimals; digits finer than the scale are cut off. */
  decimal128(value: number, decimals: number, scale: number): void {
    const shift = scale - decimals;
    if (shift >= 0) {
      const product = value * pow10(shift);
      if (product <= MAX_SAFE && product >= -MAX_SAFE) {
        this.i64(product);
        this.#limb(product < 0 ? 0xffff_ffff : 0);
        this.#limb(product < 0 ? 0xffff_ffff : 0);
        return;
      }
    }
    if (!Number.isSafeInteger(value) || !loadScaled(value, shift)) {
      this.bad = true;
      return;
    }
    this.#put128(value < 0);
  }

  /** Decimal(38, scale) of plain text × 10^-shiftDecimals. */
  decimal128Text(text: string, scale: number, shiftDecimals = 0): void {
    const sign = loadShifted(text, scale, shiftDecimals);
    if (sign === 0) this.bad = true;
    else this.#put128(sign < 0);
  }

  /** Length of a string or an array. */
  varint(value: number): void {
    let left = value;
    while (left >= 128) {
      this.#view.setUint8(this.at, (left % 128) + 128);
      this.at += 1;
      left = Math.floor(left / 128);
    }
    this.#view.setUint8(this.at, left);
    this.at += 1;
  }

  /** Reserves its own room. */
  text(value: string): void {
    const byteCount = Buffer.byteLength(value, "utf8");
    this.reserve(byteCount + 10);
    this.varint(byteCount);
    if (byteCount > 0) this.at += this.#bytes.write(value, this.at, byteCount, "utf8");
  }

  /** Bytes that are RowBinary already, such as a prepared string. */
  raw(encoded: Uint8Array): void {
    const bytes = this.#bytes;
    const { length } = encoded;
    // Names are short: a loop beats the call that copies.
    if (length > RAW_LOOP_BYTES) bytes.set(encoded, this.at);
    else for (let index = 0; index < length; index++) bytes[this.at + index] = encoded[index] as number;
    this.at += length;
  }

  /** Copies what was written since `start` into `target`, where it must fit; returns how many bytes. */
  copySince(start: number, target: Uint8Array): number {
    const length = this.at - start;
    for (let index = 0; index < length; index++) target[index] = this.#bytes[start + index] as number;
    return length;
  }

  #limb(value: number): void {
    this.#view.setUint32(this.at, value, true);
    this.at += 4;
  }

  #put64(negative: boolean): void {
    if (isCut) this.cutCount += 1;
    if (l2 !== 0 || l3 !== 0 || l1 > TEN_18_HIGH || (l1 === TEN_18_HIGH && l0 >= TEN_18_LOW)) {
      this.bad = true;
      return;
    }
    if (negative) negate();
    this.#limb(l0);
    this.#limb(l1);
  }

  #put128(negative: boolean): void {
    if (isCut) this.cutCount += 1;
    if (negative) negate();
    this.#limb(l0);
    this.#limb(l1);
    this.#limb(l2);
    this.#limb(l3);
  }
}

/** Encodes a string as RowBinary, to be written by `raw`. */
export function encodedText(value: string): Buffer {
  const writer = new RowWriter(Buffer.alloc(16));
  writer.text(value);
  return Buffer.from(writer.written());
}

function loadShifted(text: string, scale: number, shiftDecimals: number): number {
  const target = scale - shiftDecimals;
  if (target >= 0) return loadText(text, target);
  const sign = loadText(text, 0);
  if (sign !== 0) unshiftTen(-target);
  return sign;
}

/** Two's complement over 128 bits. */
function negate(): void {
  l0 = TWO_32 - l0;
  let carry = l0 === TWO_32 ? 1 : 0;
  if (carry === 1) l0 = 0;
  l1 = TWO_32 - 1 - l1 + carry;
  carry = l1 === TWO_32 ? 1 : 0;
  if (carry === 1) l1 = 0;
  l2 = TWO_32 - 1 - l2 + carry;
  carry = l2 === TWO_32 ? 1 : 0;
  if (carry === 1) l2 = 0;
  l3 = TWO_32 - 1 - l3 + carry;
  if (l3 === TWO_32) l3 = 0;
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
