// hot path
/**
 * The bytes that a signature covers: timestamp, receive window where one was sent, method, request target, body, exactly
 * as they came and without anything between them.
 *
 * Where the body begins is not marked. So a signed target holds no `{` and no blank, and a signed body begins with `{`
 * (or blanks before it): then there is one way only to read the bytes. Otherwise whoever can change a request in flight
 * could move the end of its target into its body, and cancel all orders with the signature for one.
 */
import { BLOCK_BYTES } from "./signing-secret.js";

/** Enough for almost every request; a larger one gets a buffer of its own. */
const FRAME_BYTES = 16_384;
/** UTF-8 bytes of one UTF-16 unit. */
const BYTES_PER_CHAR = 3;
const OPENING_BRACE = 0x7b;

export class Prehash {
  readonly #own = Buffer.alloc(FRAME_BYTES);
  /** BLOCK_BYTES for the key's pad, then the bytes up to `end`. */
  frame: Buffer = this.#own;
  end = BLOCK_BYTES;

  /** `timestamp` and `recvWindow` are digits; `recvWindow` "" where none was sent. */
  write(timestamp: string, recvWindow: string, method: string, target: string, body: Uint8Array): void {
    const chars = timestamp.length + recvWindow.length + method.length + target.length;
    const bytesMax = BLOCK_BYTES + BYTES_PER_CHAR * chars + body.byteLength;
    const frame = bytesMax > FRAME_BYTES ? Buffer.alloc(bytesMax) : this.#own;
    let end = BLOCK_BYTES;
    end += frame.write(timestamp, end);
    if (recvWindow !== "") end += frame.write(recvWindow, end);
    end += frame.write(method, end);
    end += frame.write(target, end);
    if (body.byteLength > 0) frame.set(body, end);
    this.frame = frame;
    this.end = end + body.byteLength;
  }

  /** The signed bytes without the room before them. */
  bytes(): Uint8Array {
    return this.frame.subarray(BLOCK_BYTES, this.end);
  }

  /** Bodies may hold credentials of venues, and the pad is the key: neither outlives the check. */
  wipe(): void {
    this.frame.fill(0, 0, this.end);
    this.frame = this.#own;
    this.end = BLOCK_BYTES;
  }
}

/** Says what could be read in two ways; null: nothing. */
export function splitProblem(target: string, body: Uint8Array): string | null {
  for (let index = 0; index < target.length; index++) {
    const unit = target.charCodeAt(index);
    if (unit <= 0x20 || unit === OPENING_BRACE || unit === 0x7f)
      return "a signed request target holds no blank and no {; percent-encode it";
  }
  if (target.charCodeAt(0) !== 0x2f) return "a signed request target begins with /";
  for (let index = 0; index < body.byteLength; index++) {
    const byte = body[index] as number;
    if (byte === OPENING_BRACE) return null;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return body.byteLength === 0 ? null : "a signed body is a JSON object";
}
