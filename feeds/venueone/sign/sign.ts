// hot path
/**
 * Signatures of venueone's trading ("L1") actions: MessagePack of the action in the venue's key order, nonce, vault
 * and expiry, hashed; the hash is the connectionId of a phantom Agent that the key signs as EIP-712 (sheet 6.1, 6.2).
 * Pure functions of their arguments over scratch buffers of one signer object; nothing here yields, so one object
 * serves all sessions. User-signed actions are in sign-user.ts.
 */
import { addressOfPublicKey, fromHex, hashText, keccak256Into, toHex } from "../../shared/sign/eip712.js";
import { type Secp256k1, secp256k1 } from "../../shared/sign/secp256k1.js";
import { ActionPacker, type MsgpackValue } from "./msgpack.js";

export interface WireSignature {
  readonly r: string;
  readonly s: string;
  readonly v: number;
}

export type WireTif = "Gtc" | "Ioc" | "Alo";

/** One limit order as it is packed; texts already canonical (wire-number.ts), `cloid` lower case with 0x. */
export interface WireLimitOrder {
  readonly asset: number;
  readonly isBuy: boolean;
  readonly price: string;
  readonly size: string;
  readonly reduceOnly: boolean;
  readonly tif: WireTif;
  readonly cloid: string;
}

/** keccak256("Agent(string source,bytes32 connectionId)") (sheet 6.2, checked by a vector). */
const AGENT_TYPE_HASH = fromHex("0x26f05c2f7239b6983075e58321292d77b3aa173d19b27257ac96ab362570f508");
/** Domain {Exchange, 1, 1337, zero address}, the same on both networks. */
export const AGENT_DOMAIN_SEPARATOR = fromHex("0xd79297fcdf2ffcd4ae223d01edaa2ba214ff8f401d7c9300d995d17c82aa4040");
const START_BYTES = 4096;
/** Nonce, flag and address of a vault, flag and time of the expiry. */
const MAX_TAIL_BYTES = 8 + 1 + 20 + 1 + 8;
const SOURCE_HASH = { mainnet: hashText("a"), testnet: hashText("b") } as const;

/** Signs for one network. */
export class L1Signer {
  readonly #curve: Secp256k1;
  readonly #packer = new ActionPacker();
  /** Action ‖ nonce ‖ vault ‖ expiry; grows with the largest action. */
  #preimage = new Uint8Array(START_BYTES);
  readonly #connectionId = new Uint8Array(32);
  /** typeHash ‖ keccak(source) ‖ connectionId. */
  readonly #agent = new Uint8Array(96);
  readonly #structHash = new Uint8Array(32);
  /** 0x1901 ‖ domain ‖ structHash. */
  readonly #message = new Uint8Array(66);
  readonly #digest = new Uint8Array(32);
  readonly #rs = new Uint8Array(64);

  constructor(isMainnet: boolean, curve: Secp256k1 = secp256k1) {
    this.#curve = curve;
    this.#agent.set(AGENT_TYPE_HASH, 0);
    this.#agent.set(isMainnet ? SOURCE_HASH.mainnet : SOURCE_HASH.testnet, 32);
    this.#message[0] = 0x19;
    this.#message[1] = 0x01;
    this.#message.set(AGENT_DOMAIN_SEPARATOR, 2);
  }

  /** The action hash; valid until the next call. `vaultAddress` null signs for the signer's own account. */
  hashAction(
    action: MsgpackValue,
    nonce: number,
    vaultAddress: string | null,
    expiresAfterMs: number | null,
  ): Uint8Array {
    const packed = this.#packer.pack(action);
    if (packed.length + MAX_TAIL_BYTES > this.#preimage.length)
      this.#preimage = new Uint8Array(2 * packed.length + MAX_TAIL_BYTES);
    const bytes = this.#preimage;
    bytes.set(packed);
    const length = writeTail(bytes, packed.length, nonce, vaultAddress, expiresAfterMs);
    return keccak256Into(bytes.subarray(0, length), this.#connectionId);
  }

  /** EIP-712 digest of Agent{source, connectionId}; valid until the next call. */
  agentDigest(connectionId: Uint8Array): Uint8Array {
    this.#agent.set(connectionId, 64);
    keccak256Into(this.#agent, this.#structHash);
    this.#message.set(this.#structHash, 34);
    return keccak256Into(this.#message, this.#digest);
  }

  /** Signs an action hash. */
  signConnectionId(connectionId: Uint8Array, privateKey: Uint8Array): WireSignature {
    const recoveryId = this.#curve.sign(this.agentDigest(connectionId), privateKey, this.#rs);
    const hex = toHex(this.#rs);
    return { r: hex.slice(0, 66), s: `0x${hex.slice(66)}`, v: 27 + recoveryId };
  }

  /** Lower-case address that signed, null if none fits: for tests and conformance, the venue does its own. */
  recover(connectionId: Uint8Array, signature: WireSignature): string | null {
    const publicKey = this.#curve.recover(this.agentDigest(connectionId), signatureBytes(signature), signature.v - 27);
    return publicKey === null ? null : addressOfPublicKey(publicKey);
  }
}

/** What follows the action in the preimage (sheet 6.1); returns where it ends. */
function writeTail(
  bytes: Uint8Array,
  start: number,
  nonce: number,
  vaultAddress: string | null,
  expiresAfterMs: number | null,
): number {
  let at = writeUint64(bytes, start, nonce);
  bytes[at++] = vaultAddress === null ? 0 : 1;
  if (vaultAddress !== null) {
    const vault = fromHex(vaultAddress);
    bytes.set(vault, at);
    at += vault.length;
  }
  if (expiresAfterMs === null) return at;
  bytes[at++] = 0;
  return writeUint64(bytes, at, expiresAfterMs);
}

/** Eight bytes, big-endian, not a MessagePack integer; returns where it ends. */
function writeUint64(bytes: Uint8Array, start: number, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError("not an unsigned safe integer");
  let rest = value;
  for (let at = start + 7; at >= start; at--) {
    bytes[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return start + 8;
}

/** One limit order as an action; key order is the venue's (sheet 5.1). */
export function limitOrderAction(order: WireLimitOrder): MsgpackValue {
  return {
    type: "order",
    orders: [
      {
        a: order.asset,
        b: order.isBuy,
        p: order.price,
        s: order.size,
        r: order.reduceOnly,
        t: { limit: { tif: order.tif } },
        c: order.cloid,
      },
    ],
    grouping: "na",
  };
}

/** r ‖ s as 64 bytes; the venue and its clients may strip leading zeros, so short hex is padded. */
export function signatureBytes(signature: WireSignature): Uint8Array {
  return fromHex(signature.r.slice(2).padStart(64, "0") + signature.s.slice(2).padStart(64, "0"));
}
