/**
 * Finds the signer of a request: pure Ed25519 over compact JSON with sorted keys, checked with node:crypto and no code
 * of the room that signs. Checks in the venue's order: form, time, signature, then what the key may do.
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { fromBase58 } from "../wire/base58.js";
import { refuseBody, VenuefourRefusal } from "../wire/errors.js";
import type { KeyRing } from "./keys.js";
import { type Fields, type OperationName, OWNER_ONLY, readPayload } from "../wire/operations.js";

export interface SignedCall {
  readonly operation: OperationName;
  readonly payload: Fields;
  /** Wallet address the request is for. */
  readonly account: string;
  /** Public key that signed: the account's own, or an agent's. */
  readonly signer: string;
  readonly timestamp: number;
}

export interface SignatureDeps {
  readonly keys: KeyRing;
  nowMs(): number;
  /** Bounds of the window and of a time stamp in the future; neither is documented. */
  readonly aheadMaxMs: number;
}

/** Codes of the socket. */
const INVALID_SIGNATURE = 401;
const INVALID_SIGNER = 402;
const MISMATCH_TEXT = "Verification failed: signature does not match signer and canonical payload.";
const WINDOW_DEFAULT_MS = 30_000;
const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
/** Key objects kept; overflow starts again. */
const KEYS_MAX = 4_096;

export class Signatures {
  readonly #deps: SignatureDeps;
  readonly #keyObjects = new Map<string, KeyObject>();

  constructor(deps: SignatureDeps) {
    this.#deps = deps;
  }

  /** Throws the venue's refusal unless an authorized key signed the body. */
  check(operation: OperationName, body: Fields): SignedCall {
    const { account, agent_wallet: agent, signature, timestamp } = body;
    const window = body.expiry_window ?? WINDOW_DEFAULT_MS;
    if (typeof account !== "string") throw refuseBody("missing field `account`");
    if (typeof timestamp !== "number" || !Number.isSafeInteger(timestamp))
      throw refuseBody("timestamp: invalid value, expected integer");
    if (typeof window !== "number" || !Number.isSafeInteger(window) || window < 0)
      throw refuseBody("expiry_window: invalid value, expected integer");
    const payload = readPayload(operation, body);
    const bytes = typeof signature === "string" ? fromBase58(signature, SIGNATURE_BYTES) : null;
    if (bytes === null) throw refuseSignature("Invalid signature", INVALID_SIGNATURE);
    const isByAgent = !OWNER_ONLY.has(operation) && agent !== undefined && agent !== null;
    if (isByAgent && typeof agent !== "string") throw refuseBody("agent_wallet: invalid value, expected address");
    const signer = isByAgent ? String(agent) : account;
    const accountKey = this.#keyObject(account);
    const key = signer === account ? accountKey : this.#keyObject(signer);
    if (accountKey === null || key === null) throw refuseSignature("Invalid public key", INVALID_SIGNER);
    const nowMs = this.#deps.nowMs();
    if (timestamp + window < nowMs || timestamp > nowMs + this.#deps.aheadMaxMs)
      throw refuseSignature("Invalid message", INVALID_SIGNATURE);
    const text = signedText({ type: operation, timestamp, expiry_window: window, data: payload });
    if (!verify(null, Buffer.from(text, "utf8"), key, bytes))
      throw refuseSignature(MISMATCH_TEXT, INVALID_SIGNATURE, "signature_verification_failed");
    if (isByAgent && signer !== account && !this.#deps.keys.isAgentOf(signer, account))
      throw refuseSignature("Agent not authorized for account", INVALID_SIGNER);
    return { operation, payload, account, signer, timestamp };
  }

  #keyObject(address: string): KeyObject | null {
    const known = this.#keyObjects.get(address);
    if (known !== undefined) return known;
    const bytes = fromBase58(address, KEY_BYTES);
    if (bytes === null) return null;
    const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: "der", type: "spki" });
    if (this.#keyObjects.size >= KEYS_MAX) this.#keyObjects.clear();
    this.#keyObjects.set(address, key);
    return key;
  }
}

/** Sorted copy, then JSON: compact, keys in order at every level, lists as they are. */
export function signedText(message: Fields): string {
  return JSON.stringify(sorted(message));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return Object.fromEntries(entries.map(([name, entry]) => [name, sorted(entry)]));
}

function refuseSignature(text: string, socketCode: number, errorId?: string): VenuefourRefusal {
  return new VenuefourRefusal(400, text, 400, { socketCode, ...(errorId === undefined ? {} : { errorId }) });
}
