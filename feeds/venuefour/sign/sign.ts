/**
 * Request signatures of venuefour: pure Ed25519 over compact JSON whose keys are sorted at every level. What is signed
 * is header and payload, `{data, expiry_window, timestamp, type}`; what is sent is flat and names neither `type` nor
 * `data`. Sources: the venue's Python SDK and signing pages; proven against requests the testnet accepted.
 *
 * Invariants: decimals are text and are signed as they are sent; integers are safe ones; everything is ASCII, because
 * the venue's clients disagree on how to write the rest. Whatever breaks this is our own bug and throws.
 */
import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";
import { ServiceError } from "../../../engine/domain/errors.js";
import { decodeBase58, encodeBase58 } from "./base58.js";

/** Operation type, which is signed and not sent, → the path that implies it. */
export const OPERATION_PATHS = {
  create_market_order: "/orders/create_market",
  create_order: "/orders/create",
  edit_order: "/orders/edit",
  cancel_order: "/orders/cancel",
  cancel_all_orders: "/orders/cancel_all",
  create_stop_order: "/orders/stop/create",
  cancel_stop_order: "/orders/stop/cancel",
  set_position_tpsl: "/positions/tpsl",
  update_leverage: "/account/leverage",
  update_margin_mode: "/account/margin",
  bind_agent_wallet: "/agent/bind",
  list_agent_wallets: "/agent/list",
  revoke_agent_wallet: "/agent/revoke",
  revoke_all_agent_wallets: "/agent/revoke_all",
  create_api_key: "/account/api_keys/create",
  list_api_keys: "/account/api_keys",
  revoke_api_key: "/account/api_keys/revoke",
} as const;
export type OperationType = keyof typeof OPERATION_PATHS;

export type SignedValue = string | number | boolean | null | SignedFields | readonly SignedValue[];
export interface SignedFields {
  readonly [name: string]: SignedValue;
}

export interface Operation {
  readonly type: OperationType;
  /** Unix ms by the venue's clock. */
  readonly timestamp: number;
  /** The venue refuses the request this many ms after `timestamp`. */
  readonly expiryWindow: number;
  /** The operation's own fields, without those that are not set: a null would be signed as null. */
  readonly payload: SignedFields;
}

const SEED_BYTES = 32;
const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** DER around a bare Ed25519 key (RFC 8410): PKCS #8 before the seed, SPKI before the public key. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** Compact JSON, keys in byte order at every level, arrays in their own order. */
export function canonicalJson(value: SignedValue): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    // A float would be printed one way here and another there.
    if (!Number.isSafeInteger(value)) throw new ServiceError("INTERNAL", { problem: "a signed number is no integer" });
    return String(value);
  }
  if (typeof value === "string") return canonicalText(value);
  if (isSignedList(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${canonicalText(name)}:${canonicalJson(value[name] ?? null)}`).join(",")}}`;
}

function canonicalText(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new ServiceError("INTERNAL", { problem: "a signed text is not plain ASCII" });
  return JSON.stringify(text);
}

function isSignedList(value: SignedFields | readonly SignedValue[]): value is readonly SignedValue[] {
  return Array.isArray(value);
}

/** The text that is signed. */
export function signedMessage({ type, timestamp, expiryWindow, payload }: Operation): string {
  return canonicalJson({ type, timestamp, expiry_window: expiryWindow, data: payload });
}

/** A request body as it is sent, over REST and as the parameters of a socket frame. `key` signs for `account`. */
export function signedBody(operation: Operation, account: string, key: SigningKey): SignedFields {
  return {
    account,
    // The account's own key names no agent.
    ...(key.publicKey === account ? {} : { agent_wallet: key.publicKey }),
    signature: key.sign(signedMessage(operation)),
    timestamp: operation.timestamp,
    expiry_window: operation.expiryWindow,
    ...operation.payload,
  };
}

/** A trading request over the socket; the answer carries the same id. */
export function signedFrame(operation: Operation, account: string, key: SigningKey, id: string): SignedFields {
  return { id, params: { [operation.type]: signedBody(operation, account, key) } };
}

/** The venue's rule: at the very end of the window a message is still good. */
export function isExpired(timestamp: number, expiryWindow: number, nowVenueMs: number): boolean {
  return timestamp + expiryWindow < nowVenueMs;
}

/** One key pair, held for one request. The secret leaves it in no form but signatures. */
export class SigningKey {
  /** Base58. */
  readonly publicKey: string;
  readonly #key: KeyObject;

  /** `seed`: 32 bytes. The caller may wipe them afterwards. */
  constructor(seed: Uint8Array) {
    const der = Buffer.concat([PKCS8_PREFIX, seed]);
    this.#key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    der.fill(0);
    const spki = createPublicKey(this.#key).export({ format: "der", type: "spki" });
    this.publicKey = encodeBase58(spki.subarray(SPKI_PREFIX.length));
  }

  /** Base58, 86 to 88 letters. */
  sign(message: string): string {
    return encodeBase58(signBytes(null, Buffer.from(message, "utf8"), this.#key));
  }

  toJSON(): Record<string, never> {
    return {};
  }

  /** What util.inspect, and so console and test output, prints. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "SigningKey {}";
  }
}

export type Verdict = "valid" | "malformed" | "mismatch";

/** As the venue judges: `malformed` is its "Invalid signature" or "Invalid public key", `mismatch` "Verification failed". */
export function verifySignature(message: string, signature: string, publicKey: string): Verdict {
  const signatureBytes = decodeBase58(signature);
  const keyBytes = decodeBase58(publicKey);
  if (signatureBytes?.length !== SIGNATURE_BYTES || keyBytes?.length !== PUBLIC_KEY_BYTES) return "malformed";
  const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, keyBytes]), format: "der", type: "spki" });
  return verifyBytes(null, Buffer.from(message, "utf8"), key, signatureBytes) ? "valid" : "mismatch";
}

export interface ReadKey {
  readonly key: SigningKey;
  /** Bytes of the form it came in: 64, or 32 for a bare seed. */
  readonly byteCount: number;
}

/**
 * A private key in any form wallets export: base58 of 64 bytes (seed, then public key) or of the 32-byte seed, or a JSON
 * array of 64 bytes. Returns null for anything else, also where the second half is not the public key of the first.
 */
export function readPrivateKey(text: string): ReadKey | null {
  const bytes = text.startsWith("[") ? bytesOfJson(text) : decodeBase58(text);
  if (bytes === null) return null;
  try {
    if (bytes.length !== SEED_BYTES && bytes.length !== SEED_BYTES + PUBLIC_KEY_BYTES) return null;
    const key = new SigningKey(bytes.subarray(0, SEED_BYTES));
    const isWhole = bytes.length === SEED_BYTES || encodeBase58(bytes.subarray(SEED_BYTES)) === key.publicKey;
    return isWhole ? { key, byteCount: bytes.length } : null;
  } finally {
    bytes.fill(0);
  }
}

/** Longest text of 64 bytes with a blank after each comma. */
const MAX_JSON_CHARS = 512;

function bytesOfJson(text: string): Uint8Array | null {
  if (text.length > MAX_JSON_CHARS) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not JSON, so no key; the text is a secret and goes nowhere.
    return null;
  }
  const isBytes = Array.isArray(parsed) && parsed.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255);
  return isBytes ? Uint8Array.from(parsed as number[]) : null;
}

/** An address, agent key or public key: base58 of exactly 32 bytes. */
export function isAddress(text: string): boolean {
  return decodeBase58(text)?.length === PUBLIC_KEY_BYTES;
}
