/**
 * Reads a body front to back. Everything of a message is decoded before any of it meets a secret, so each decoder ends
 * with `whole`: a byte that is left over is as malformed as one that is missing.
 */

/** A malformed field: always a violation, whatever a secret would have made of it. Names the field, never its bytes. */
export class MalformedBody extends Error {
  override readonly name = "MalformedBody";
}

export class BodyReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Uint8Array, length: number) {
    if (body.byteLength !== length) throw new MalformedBody("length");
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  /** A view, not a copy. */
  bytes(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#body.byteLength) throw new MalformedBody("length");
    const field = this.#body.subarray(this.#at, end);
    this.#at = end;
    return field;
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

  whole<Decoded>(decoded: Decoded): Decoded {
    if (this.#at !== this.#body.byteLength) throw new MalformedBody("length");
    return decoded;
  }
}
