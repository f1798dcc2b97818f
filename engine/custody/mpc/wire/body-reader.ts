/**
 * Reads a body front to back. Everything of a message is decoded before any of it meets a secret, so each decoder ends
 * with `whole`: a byte that is left over is as malformed as one that is missing. Malformed is a violation, always.
 */
import { violation } from "../base/outcome.js";
import { POINT_BYTES, SCALAR_BYTES } from "../base/parameters.js";
import { decodePoint, type PublicPoint } from "../base/point.js";
import { decodeScalar } from "../base/scalar.js";

export class BodyReader {
  readonly #body: Buffer;
  #at = 0;

  /** `length` null: the body is as long as its fields, which `rest` ends. */
  constructor(body: Uint8Array, length: number | null) {
    if (length !== null && body.byteLength !== length) throw violation("length");
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  /** A view, not a copy. */
  bytes(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#body.byteLength) throw violation("length");
    const field = this.#body.subarray(this.#at, end);
    this.#at = end;
    return field;
  }

  rest(): Buffer {
    return this.bytes(this.#body.byteLength - this.#at);
  }

  u8(): number {
    return this.bytes(1).readUInt8(0);
  }

  u32(): number {
    return this.bytes(4).readUInt32BE(0);
  }

  u64(): bigint {
    return this.bytes(8).readBigUInt64BE(0);
  }

  scalar(field: string): bigint {
    return decodeScalar(this.bytes(SCALAR_BYTES), field);
  }

  point(field: string): PublicPoint {
    return decodePoint(this.bytes(POINT_BYTES), field);
  }

  whole<Decoded>(decoded: Decoded): Decoded {
    if (this.#at !== this.#body.byteLength) throw violation("length");
    return decoded;
  }
}
