/**
 * The 69 bytes before each body (docs/mpc.md, 3.2): layout, and the checks in the order of the page. `checkFrame` needs
 * nothing but the own index and decides whether the body may be awaited; `checkSession` needs the session.
 */
import { ZERO_SID } from "../base/hash.js";
import type { Party } from "../base/parameters.js";
import { isLegalLength, kindOfType, type MessageKind } from "./message-types.js";

export const HEADER_BYTES = 69;
/** Raised with the layout of any message. 2: RF1 has `peerCtr`. 3: `Count` and `Counted`. */
export const PROTOCOL_VERSION = 3;

const TYPE_AT = 1;
const WALLET_AT = 2;
const EPOCH_AT = 18;
const CTR_AT = 22;
const SID_AT = 30;
const FROM_AT = 62;
const TO_AT = 63;
const SEQ_AT = 64;
const LENGTH_AT = 65;

export interface Header {
  readonly version: number;
  readonly type: number;
  readonly walletId: Uint8Array;
  readonly epoch: number;
  readonly ctr: bigint;
  readonly sid: Uint8Array;
  readonly from: number;
  readonly to: number;
  readonly seq: number;
  /** Bytes of the body. */
  readonly length: number;
}

export interface Message {
  readonly header: Header;
  readonly body: Uint8Array;
}

export function encodeHeader(header: Header): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt8(header.version, 0);
  bytes.writeUInt8(header.type, TYPE_AT);
  bytes.set(header.walletId, WALLET_AT);
  bytes.writeUInt32BE(header.epoch, EPOCH_AT);
  bytes.writeBigUInt64BE(header.ctr, CTR_AT);
  bytes.set(header.sid, SID_AT);
  bytes.writeUInt8(header.from, FROM_AT);
  bytes.writeUInt8(header.to, TO_AT);
  bytes.writeUInt8(header.seq, SEQ_AT);
  bytes.writeUInt32BE(header.length, LENGTH_AT);
  return bytes;
}

/** Takes copies: the caller's buffer is used again for the next frame. */
export function decodeHeader(source: Uint8Array): Header {
  if (source.byteLength < HEADER_BYTES) throw new RangeError("a header has 69 bytes");
  const bytes = Buffer.from(source.subarray(0, HEADER_BYTES));
  return {
    version: bytes.readUInt8(0),
    type: bytes.readUInt8(TYPE_AT),
    walletId: bytes.subarray(WALLET_AT, EPOCH_AT),
    epoch: bytes.readUInt32BE(EPOCH_AT),
    ctr: bytes.readBigUInt64BE(CTR_AT),
    sid: bytes.subarray(SID_AT, FROM_AT),
    from: bytes.readUInt8(FROM_AT),
    to: bytes.readUInt8(TO_AT),
    seq: bytes.readUInt8(SEQ_AT),
    length: bytes.readUInt32BE(LENGTH_AT),
  };
}

/** What of a header is wrong without knowing any session; `closes`: framing is lost, the connection with it. */
export type FrameFault =
  | { readonly fault: "version"; readonly closes: true }
  | { readonly fault: "type" | "length"; readonly closes: true }
  | { readonly fault: "from" | "to" | "seq" | "walletId"; readonly closes: false };

export type FrameVerdict = { readonly kind: MessageKind } | FrameFault;

export function checkFrame(header: Header, self: Party): FrameVerdict {
  if (header.version !== PROTOCOL_VERSION) return { fault: "version", closes: true };
  const kind = kindOfType(header.type);
  if (kind === null || kind.from === self) return { fault: "type", closes: true };
  if (!isLegalLength(kind, header.length)) return { fault: "length", closes: true };
  if (header.from !== 1 - self) return { fault: "from", closes: false };
  if (header.to !== self) return { fault: "to", closes: false };
  if (header.seq !== kind.seq) return { fault: "seq", closes: false };
  if (kind.name === "hello" && !isZero(header.walletId)) return { fault: "walletId", closes: false };
  return { kind };
}

/** What a message of the session that runs must carry. */
export interface SessionNames {
  readonly walletId: Uint8Array;
  readonly epoch: number;
  /** 0 in key generation and refresh, which have none. */
  readonly ctr: bigint;
}

/** `dropped`: a message of another or an ended session, which the network may bring late. */
export type SessionVerdict = "ok" | "dropped" | "violation";

/**
 * All but the session id, which some flights can compare only after their body is read. Late comes before wrong: the ctr
 * goes on across epochs, so a lower one is of an ended session, whatever its epoch; a session that has none makes a new
 * epoch, so what is of a lower one was sent before it.
 */
export function checkSession(header: Header, names: SessionNames): SessionVerdict {
  if (!sameBytes(header.walletId, names.walletId)) return "dropped";
  if (names.ctr === 0n ? header.epoch < names.epoch : header.ctr < names.ctr) return "dropped";
  return header.epoch === names.epoch && header.ctr === names.ctr ? "ok" : "violation";
}

/** For public bytes only. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** ctr and sid of a message that needs no session. */
export function namesNoSession({ ctr, sid }: Header): boolean {
  return ctr === 0n && isZero(sid);
}

/** The header of a message that this party sends. */
export function headerOf(kind: MessageKind, self: Party, names: SessionNames, sid: Uint8Array, length: number): Header {
  const { walletId, epoch, ctr } = names;
  const { type, seq } = kind;
  return { version: PROTOCOL_VERSION, type, walletId, epoch, ctr, sid, from: self, to: 1 - self, seq, length };
}

/** Where a message has no session id yet, or needs none. */
export const NO_SID: Uint8Array = ZERO_SID;
