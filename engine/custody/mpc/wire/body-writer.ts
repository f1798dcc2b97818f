/** Writes a body front to back into one buffer of its exact length; a field too many or too few is our own fault. */
import { ServiceError } from "../../../domain/errors.js";

export class BodyWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(length: number) {
    this.#bytes = Buffer.alloc(length);
  }

  /** `length`: what the field has by the page. */
  raw(field: Uint8Array, length: number): this {
    if (field.byteLength !== length || this.#at + length > this.#bytes.byteLength) throw misuse();
    this.#bytes.set(field, this.#at);
    this.#at += length;
    return this;
  }

  u8(value: number): this {
    return this.raw(Uint8Array.of(value), 1);
  }

  u32(value: number): this {
    const field = Buffer.alloc(4);
    field.writeUInt32BE(value);
    return this.raw(field, 4);
  }

  u64(value: bigint): this {
    const field = Buffer.alloc(8);
    field.writeBigUInt64BE(value);
    return this.raw(field, 8);
  }

  finish(): Buffer {
    if (this.#at !== this.#bytes.byteLength) throw misuse();
    return this.#bytes;
  }
}

function misuse(): ServiceError {
  return new ServiceError("INTERNAL", { problem: "custody: body of another length" });
}
