// hot path
/**
 * Request signatures of venuetwo (sheet sections 3 and 4). Both generations sign exactly the text that is sent:
 * parameters percent-encoded first, then signed, then `signature` appended last. V1 is HMAC-SHA256 of that text,
 * V3 an EIP-712 `Message(string msg)` around it signed by an approved agent. Pure.
 */
import { createHmac } from "node:crypto";
import {
  fromHex,
  hashDomain,
  hashText,
  keccak256Into,
  toHex,
  type TypedDomain,
  ZERO_ADDRESS,
} from "../../shared/sign/eip712.js";
import { type Secp256k1, secp256k1 } from "../../shared/sign/secp256k1.js";

/** In the order sent. Order is free at the venue, but part of what is signed. */
export type FormParams = readonly (readonly [name: string, value: string])[];

/** Chain ids of the V3 signing domain (sheet section 1). */
export const MESSAGE_CHAIN_ID = { mainnet: 1666, testnet: 714 } as const;

/**
 * `a=1&b=%5B2%5D`: UTF-8 percent-encoding of everything but letters, digits and `-._~`, which is what both the
 * venue's Python and JavaScript clients agree on. Blanks become %20; no value of ours has one.
 */
export function encodeForm(params: FormParams): string {
  let text = "";
  for (const [name, value] of params) text += `${text === "" ? "" : "&"}${encodeValue(name)}=${encodeValue(value)}`;
  return text;
}

function encodeValue(value: string): string {
  // encodeURIComponent leaves !'()* alone; RFC 3986 reserves them and Python's encoder escapes them.
  return encodeURIComponent(value).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Lower-case hex of HMAC-SHA256 over query string and body, as sent and joined without a separator. */
export function signHmac(secret: Uint8Array, queryString: string, body: string): string {
  return createHmac("sha256", secret).update(queryString, "utf8").update(body, "utf8").digest("hex");
}

/** Signs V3 messages in one domain over scratch buffers; nothing here yields, so one object serves all sessions. */
export class MessageSigner {
  readonly #curve: Secp256k1;
  readonly #utf8 = new TextEncoder();
  /** typeHash ‖ keccak(msg). */
  readonly #struct = new Uint8Array(64);
  readonly #hash = new Uint8Array(32);
  /** 0x1901 ‖ domain ‖ structHash. */
  readonly #typed = new Uint8Array(66);
  readonly #digest = new Uint8Array(32);
  readonly #signature = new Uint8Array(65);

  constructor(chainId: number, curve: Secp256k1 = secp256k1) {
    this.#curve = curve;
    this.#struct.set(hashText("Message(string msg)"));
    this.#typed[0] = 0x19;
    this.#typed[1] = 0x01;
    this.#typed.set(messageDomainSeparator(chainId), 2);
  }

  /** Valid until the next call. */
  digest(message: string): Uint8Array {
    this.#struct.set(keccak256Into(this.#utf8.encode(message), this.#hash), 32);
    this.#typed.set(keccak256Into(this.#struct, this.#hash), 34);
    return keccak256Into(this.#typed, this.#digest);
  }

  /** 65 bytes r ‖ s ‖ v as hex with 0x, v 27 or 28. */
  sign(message: string, privateKey: Uint8Array): string {
    const recoveryId = this.#curve.sign(this.digest(message), privateKey, this.#signature.subarray(0, 64));
    this.#signature[64] = 27 + recoveryId;
    return toHex(this.#signature);
  }
}

export function messageDomain(chainId: number): TypedDomain {
  return { name: "AsterSignTransaction", version: "1", chainId, verifyingContract: ZERO_ADDRESS };
}

export function messageDomainSeparator(chainId: number): Uint8Array {
  return hashDomain(messageDomain(chainId));
}

/** Key bytes of 32-byte hex, with or without 0x; null if it is not that. */
export function privateKeyBytes(text: string): Uint8Array | null {
  return /^(?:0x)?[0-9a-fA-F]{64}$/.test(text) ? fromHex(text) : null;
}
