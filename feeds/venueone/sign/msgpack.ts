// hot path
/**
 * The MessagePack that venueone hashes: maps in the order given, shortest forms, integers never as floats. The
 * bytes must equal those the venue gets when it packs its own typed action, or the signature names a stranger.
 * Strings, integers, booleans, nil, arrays and maps; anything else throws TypeError, as it would be a fault of ours.
 */

export type MsgpackValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly MsgpackValue[]
  // `undefined` stands for a key that is left out, as the venue leaves out what is absent.
  | { readonly [key: string]: MsgpackValue | undefined };

/** A batch of 200 orders, the venue's largest, takes about 25 KiB; beyond this bound the action is refused. */
const MAX_BYTES = 1 << 20;
const START_BYTES = 4096;
const UINT32_LIMIT = 0x1_0000_0000;

/** Appends to one buffer that is reused between actions; `view` is valid until the next `reset`. */
export class MsgpackWriter {
  #bytes = new Uint8Array(START_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  readonly #utf8 = new TextEncoder();

  reset(): void {
    this.#length = 0;
  }

  /** Not a copy. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  value(value: MsgpackValue): void {
    if (typeof value === "string") this.text(value);
    else if (typeof value === "number" || typeof value === "bigint") this.integer(value);
    else if (typeof value === "boolean") this.boolean(value);
    else if (value === null) this.byte(0xc0);
    else if (isArray(value)) {
      this.arrayHeader(value.length);
      for (const item of value) this.value(item);
    } else if (typeof value === "object") this.#map(value);
    else throw new TypeError(`cannot pack a ${typeof value}`);
  }

  mapHeader(keyCount: number): void {
    this.#header(keyCount, 0x80, 0xde);
  }

  arrayHeader(itemCount: number): void {
    this.#header(itemCount, 0x90, 0xdc);
  }

  boolean(value: boolean): void {
    this.byte(value ? 0xc3 : 0xc2);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Fixed eight bytes, big-endian: the form of nonces behind the action, not a MessagePack integer. */
  uint64(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError("not an unsigned safe integer");
    this.#reserve(8);
    this.#view.setUint32(this.#length, Math.floor(value / UINT32_LIMIT));
    this.#view.setUint32(this.#length + 4, value % UINT32_LIMIT);
    this.#length += 8;
  }

  text(text: string): void {
    const count = text.length;
    // The short ASCII text of keys, prices, sizes and client ids is written byte by byte; TextEncoder costs more than it.
    if (count <= 64 && isAscii(text)) {
      this.#textHeader(count);
      this.#reserve(count);
      for (let index = 0; index < count; index++) this.#bytes[this.#length++] = text.charCodeAt(index);
      return;
    }
    const bytes = this.#utf8.encode(text);
    this.#textHeader(bytes.length);
    this.raw(bytes);
  }

  integer(value: number | bigint): void {
    if (typeof value === "bigint") {
      if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) this.#safeInteger(Number(value));
      else this.#wideInteger(value);
      return;
    }
    if (!Number.isSafeInteger(value)) throw new TypeError("a number in an action must be a safe integer");
    this.#safeInteger(value);
  }

  #safeInteger(value: number): void {
    if (value >= 0) this.#unsigned(value);
    else this.#negative(value);
  }

  #unsigned(value: number): void {
    this.#reserve(9);
    const at = this.#length;
    if (value < 0x80) {
      this.#bytes[at] = value;
      this.#length += 1;
    } else if (value < 0x100) {
      this.#bytes[at] = 0xcc;
      this.#bytes[at + 1] = value;
      this.#length += 2;
    } else if (value < 0x1_0000) {
      this.#bytes[at] = 0xcd;
      this.#view.setUint16(at + 1, value);
      this.#length += 3;
    } else if (value < UINT32_LIMIT) {
      this.#bytes[at] = 0xce;
      this.#view.setUint32(at + 1, value);
      this.#length += 5;
    } else {
      this.#bytes[at] = 0xcf;
      this.#length += 1;
      this.uint64(value);
    }
  }

  #negative(value: number): void {
    this.#reserve(9);
    const at = this.#length;
    if (value >= -0x20) {
      this.#view.setInt8(at, value);
      this.#length += 1;
    } else if (value >= -0x80) {
      this.#bytes[at] = 0xd0;
      this.#view.setInt8(at + 1, value);
      this.#length += 2;
    } else if (value >= -0x8000) {
      this.#bytes[at] = 0xd1;
      this.#view.setInt16(at + 1, value);
      this.#length += 3;
    } else if (value >= -0x8000_0000) {
      this.#bytes[at] = 0xd2;
      this.#view.setInt32(at + 1, value);
      this.#length += 5;
    } else {
      this.#bytes[at] = 0xd3;
      this.#view.setBigInt64(at + 1, BigInt(value));
      this.#length += 9;
    }
  }

  #wideInteger(value: bigint): void {
    this.#reserve(9);
    const at = this.#length;
    if (value > 0n) {
      if (BigInt.asUintN(64, value) !== value) throw new RangeError("integer does not fit 64 bits");
      this.#bytes[at] = 0xcf;
      this.#view.setBigUint64(at + 1, value);
    } else {
      if (BigInt.asIntN(64, value) !== value) throw new RangeError("integer does not fit 64 bits");
      this.#bytes[at] = 0xd3;
      this.#view.setBigInt64(at + 1, value);
    }
    this.#length += 9;
  }

  #map(map: { readonly [key: string]: MsgpackValue | undefined }): void {
    let keyCount = 0;
    for (const key in map) if (map[key] !== undefined) keyCount++;
    this.mapHeader(keyCount);
    for (const key in map) {
      const value = map[key];
      if (value === undefined) continue;
      this.text(key);
      this.value(value);
    }
  }

  /** Maps and arrays share their layout: 4-bit, 16-bit and 32-bit counts. */
  #header(count: number, fixed: number, wide: number): void {
    this.#reserve(5);
    if (count < 16) {
      this.#bytes[this.#length++] = fixed | count;
    } else if (count < 0x1_0000) {
      this.#bytes[this.#length] = wide;
      this.#view.setUint16(this.#length + 1, count);
      this.#length += 3;
    } else {
      this.#bytes[this.#length] = wide + 1;
      this.#view.setUint32(this.#length + 1, count);
      this.#length += 5;
    }
  }

  #textHeader(byteCount: number): void {
    this.#reserve(5);
    const at = this.#length;
    if (byteCount < 32) {
      this.#bytes[at] = 0xa0 | byteCount;
      this.#length += 1;
    } else if (byteCount < 0x100) {
      this.#bytes[at] = 0xd9;
      this.#bytes[at + 1] = byteCount;
      this.#length += 2;
    } else if (byteCount < 0x1_0000) {
      this.#bytes[at] = 0xda;
      this.#view.setUint16(at + 1, byteCount);
      this.#length += 3;
    } else {
      this.#bytes[at] = 0xdb;
      this.#view.setUint32(at + 1, byteCount);
      this.#length += 5;
    }
  }

  #reserve(byteCount: number): void {
    const needed = this.#length + byteCount;
    if (needed <= this.#bytes.length) return;
    if (needed > MAX_BYTES) throw new RangeError("action is too large to pack");
    let size = this.#bytes.length;
    while (size < needed) size *= 2;
    const grown = new Uint8Array(size);
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** One value as bytes of its own. */
export function packMsgpack(value: MsgpackValue): Uint8Array {
  const writer = new MsgpackWriter();
  writer.value(value);
  return writer.view().slice();
}

function isArray(value: MsgpackValue): value is readonly MsgpackValue[] {
  return Array.isArray(value);
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}
