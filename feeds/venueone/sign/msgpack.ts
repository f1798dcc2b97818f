// hot path
/**
 * The MessagePack that venueone hashes: maps in the order given, shortest forms, integers never as floats. The
 * bytes must equal those the venue gets when it packs its own typed action, or the signature recovers to a stranger.
 */
import { Encoder } from "@msgpack/msgpack";

export type MsgpackValue =
  | string
  | number
  | boolean
  | null
  | readonly MsgpackValue[]
  // `undefined` stands for a key that is left out, as the venue leaves out what is absent.
  | { readonly [key: string]: MsgpackValue | undefined };

/** A batch of 200 orders, the venue's largest, takes about 25 KiB; beyond this bound the action is refused. */
const MAX_BYTES = 1 << 20;
const START_BYTES = 4096;

/** Packs into one buffer that is reused between actions. */
export class ActionPacker {
  readonly #encoder = new Encoder({ ignoreUndefined: true, initialBufferSize: START_BYTES });

  /** Not a copy: valid until the next call. Throws TypeError for what an action cannot hold, RangeError beyond 1 MiB. */
  pack(value: MsgpackValue): Uint8Array {
    refuseUnsafe(value);
    const bytes = this.#encoder.encodeSharedRef(value);
    if (bytes.length > MAX_BYTES) throw new RangeError("action is too large to pack");
    return bytes;
  }
}

/** One value as bytes of its own. */
export function packMsgpack(value: MsgpackValue): Uint8Array {
  return new ActionPacker().pack(value).slice();
}

/** The encoder packs a fraction, NaN and an integer past 2^53 as a float, where the venue has an integer or nothing. */
function refuseUnsafe(value: MsgpackValue): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isSafeInteger(value)) throw new TypeError("a number in an action must be a safe integer");
      return;
    case "object":
      if (value === null) return;
      if (isArray(value)) for (const item of value) refuseUnsafe(item);
      else refuseUnsafeIn(value);
      return;
    default:
      throw new TypeError(`cannot pack a ${typeof value}`);
  }
}

function refuseUnsafeIn(map: { readonly [key: string]: MsgpackValue | undefined }): void {
  for (const key in map) {
    const value = map[key];
    if (value !== undefined) refuseUnsafe(value);
  }
}

function isArray(value: MsgpackValue): value is readonly MsgpackValue[] {
  return Array.isArray(value);
}
