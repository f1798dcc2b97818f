/**
 * Bytes of the link → messages (docs/mpc.md, 3.2). A header is judged as soon as its 69 bytes are there, its length with
 * it; only then a buffer is taken for the body, so at most 69 + 131,168 bytes are held, whatever a peer announces. Pure.
 */
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import {
  checkFrame,
  decodeHeader,
  type FrameFault,
  type Header,
  HEADER_BYTES,
  isZero,
  type Message,
} from "../../engine/custody/mpc/wire/header.js";

export type FrameReading =
  | { readonly kind: "message"; readonly message: Message }
  /** The bytes end before the frame does. */
  | { readonly kind: "more" }
  /** `walletId`: the one that the header names; null: none, or a header of another version, whose places are unknown. */
  | { readonly kind: "fault"; readonly fault: FrameFault["fault"]; readonly walletId: Uint8Array | null };

/** Bytes that have come; those before `at` are taken. */
export interface FrameSource {
  readonly chunk: Uint8Array;
  at: number;
}

const MORE: FrameReading = { kind: "more" };

export class FrameReader {
  readonly #self: Party;
  readonly #headerBytes = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  /** The frame whose header is taken. */
  #frame: { readonly header: Header; readonly body: Buffer } | null = null;
  #bodyFilled = 0;
  #fault: FrameReading | null = null;

  constructor(self: Party) {
    this.#self = self;
  }

  /** Bytes kept between two calls, the buffer of an unfinished body whole. */
  get heldBytes(): number {
    return this.#headerFilled + (this.#frame?.body.byteLength ?? 0);
  }

  /**
   * Takes bytes of `chunk` from `at` on, up to the end of one frame at most; `at` is moved behind what was taken. After
   * a fault nothing can be read any more: where the next frame begins is unknown.
   */
  read(source: FrameSource): FrameReading {
    if (this.#fault !== null) throw new RangeError("nothing is read behind a fault");
    this.#frame ??= this.#readHeader(source);
    if (this.#frame === null) return this.#fault ?? MORE;
    const { header, body } = this.#frame;
    this.#bodyFilled += take(source, body, this.#bodyFilled);
    if (this.#bodyFilled < body.byteLength) return MORE;
    this.#headerFilled = 0;
    this.#frame = null;
    this.#bodyFilled = 0;
    return { kind: "message", message: { header, body } };
  }

  #readHeader(source: FrameSource): { header: Header; body: Buffer } | null {
    this.#headerFilled += take(source, this.#headerBytes, this.#headerFilled);
    if (this.#headerFilled < HEADER_BYTES) return null;
    const header = decodeHeader(this.#headerBytes);
    const verdict = checkFrame(header, this.#self);
    if ("fault" in verdict) {
      const isNamed = verdict.fault !== "version" && !isZero(header.walletId);
      this.#fault = { kind: "fault", fault: verdict.fault, walletId: isNamed ? header.walletId : null };
      return null;
    }
    // Not of the shared pool: the runner may keep or wipe it. Every byte is written before it is handed on.
    return { header, body: Buffer.allocUnsafeSlow(header.length) };
  }
}

/** Returns how many bytes were copied. */
function take(source: FrameSource, target: Buffer, filled: number): number {
  const count = Math.min(source.chunk.byteLength - source.at, target.byteLength - filled);
  target.set(source.chunk.subarray(source.at, source.at + count), filled);
  source.at += count;
  return count;
}
