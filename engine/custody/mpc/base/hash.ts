/**
 * Every hash of the protocol (docs/mpc.md, sections 2 and 4). Each field has its length before it, and wallet, epoch,
 * session, direction, actor and every index are in each input, so no two uses share one.
 *
 * Inputs may hold secrets: they are built in buffers of their own that are zeroed after the digest.
 */
import { hash as digestOf } from "node:crypto";
import { secretBuffer } from "../../sealing/secret-bytes.js";
import type { Arena } from "./arena.js";
import { LABEL, WALLET_ID_BYTES } from "./parameters.js";
import { readScalar, reduced } from "./scalar.js";

const SID_BYTES = 32;
const LENGTH_BYTES = 4;
const NONE = 255;

/** What every hash of a session begins with. `sid` is gsid, rsid, ssid or xs of a direction, or zeros. */
export interface HashScope {
  readonly walletId: Uint8Array;
  readonly epoch: number;
  readonly sid: Uint8Array;
}

export const ZERO_SID: Uint8Array = Buffer.alloc(SID_BYTES);

/** A field that is absent is written as 255 (direction, actor) or not at all (indices). */
export interface HashPlace {
  readonly direction?: number;
  readonly actor?: number;
  readonly indices?: readonly number[];
}

const NOWHERE: HashPlace = {};

/** The same wallet and epoch under another session id. */
export function withSid(scope: HashScope, sid: Uint8Array): HashScope {
  return { walletId: scope.walletId, epoch: scope.epoch, sid };
}

export function frame(...fields: readonly Uint8Array[]): Buffer {
  const framed = secretBuffer(fields.reduce((sum, field) => sum + LENGTH_BYTES + field.length, 0));
  writeFields(framed, 0, fields);
  return framed;
}

/** H: SHA-256. */
export function hash(scope: HashScope, step: string, place: HashPlace, ...data: readonly Uint8Array[]): Buffer {
  return digested("sha256", scope, step, place, data);
}

/** H512: SHA-512. */
export function hash512(scope: HashScope, step: string, place: HashPlace, ...data: readonly Uint8Array[]): Buffer {
  return digested("sha512", scope, step, place, data);
}

/** Hs: SHA-256 as a number mod n. */
export function hashToScalar(scope: HashScope, step: string, place: HashPlace, ...data: readonly Uint8Array[]): bigint {
  const digest = digested("sha256", scope, step, place, data);
  const scalar = reduced(readScalar(digest, 0));
  digest.fill(0);
  return scalar;
}

/** SHA-256 of bytes without a frame: transcripts, F6. */
export function sha256(bytes: Uint8Array): Buffer {
  return digestOf("sha256", bytes, "buffer");
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

function digested(
  algorithm: "sha256" | "sha512",
  scope: HashScope,
  step: string,
  place: HashPlace,
  data: readonly Uint8Array[],
): Buffer {
  const input = frame(...headFields(scope, step, place), ...data);
  const digest = digestOf(algorithm, input, "buffer");
  input.fill(0);
  return digest;
}

function headFields(scope: HashScope, step: string, place: HashPlace): Uint8Array[] {
  if (scope.walletId.length !== WALLET_ID_BYTES || scope.sid.length !== SID_BYTES) throw new Error("scope of a hash");
  const { direction = NONE, actor = NONE, indices = [] } = place;
  return [
    Buffer.from(LABEL + step, "ascii"),
    scope.walletId,
    u32(scope.epoch),
    scope.sid,
    Uint8Array.of(direction),
    Uint8Array.of(actor),
    ...indices.map(u32),
  ];
}

function writeFields(target: Buffer, start: number, fields: readonly Uint8Array[]): number {
  let at = start;
  for (const field of fields) {
    at = target.writeUInt32BE(field.length, at);
    target.set(field, at);
    at += field.length;
  }
  return at;
}

/** The shape of the inputs of a step that is hashed thousands of times: how many indices, how long each data field. */
export interface HashLayout {
  readonly step: string;
  readonly place?: HashPlace;
  readonly indexCount: number;
  readonly dataLengths: readonly number[];
}

/**
 * One input buffer for many hashes of a step: only indices and data change. The buffer belongs to the arena, since the
 * last data of it may be secret. A digest is a buffer of Node's: who reads a secret from it zeroes it.
 */
export class PreparedHash {
  readonly #input: Buffer;
  readonly #indexAt: number[] = [];
  readonly #dataAt: number[] = [];
  readonly #dataLengths: readonly number[];

  constructor(arena: Arena, scope: HashScope, layout: HashLayout) {
    const head = frame(...headFields(scope, layout.step, layout.place ?? NOWHERE));
    const fields = [
      ...Array.from({ length: layout.indexCount }, () => new Uint8Array(4)),
      ...layout.dataLengths.map((byteLength) => new Uint8Array(byteLength)),
    ];
    const body = frame(...fields);
    this.#input = arena.take(head.length + body.length);
    this.#input.set(head);
    this.#input.set(body, head.length);
    // Nothing secret is in them yet; every buffer of a session is zero at its end, so that a test can tell.
    for (const part of [head, body]) part.fill(0);
    this.#dataLengths = layout.dataLengths;
    let at = head.length;
    for (const [place, field] of fields.entries()) {
      at += LENGTH_BYTES;
      (place < layout.indexCount ? this.#indexAt : this.#dataAt).push(at);
      at += field.length;
    }
  }

  setIndex(which: number, value: number): void {
    const at = this.#indexAt[which];
    if (at === undefined) throw new Error("index of a hash");
    this.#input.writeUInt32BE(value, at);
  }

  setData(which: number, data: Uint8Array): void {
    const at = this.#dataAt[which];
    if (at === undefined || this.#dataLengths[which] !== data.length) throw new Error("data of a hash");
    this.#input.set(data, at);
  }

  sha256(): Buffer {
    return digestOf("sha256", this.#input, "buffer");
  }

  sha512(): Buffer {
    return digestOf("sha512", this.#input, "buffer");
  }

  /** Hs. */
  scalar(): bigint {
    const digest = this.sha256();
    const scalar = reduced(readScalar(digest, 0));
    digest.fill(0);
    return scalar;
  }
}
