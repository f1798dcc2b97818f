/**
 * Who signed: action hash, typed-data digests and public-key recovery. EIP-712 and keccak are viem's; the curve is the
 * native one (its package falls back to JavaScript by itself), because a venue that takes milliseconds to verify would
 * be what a benchmark measures. Shares no code of ours with the code under test; proven against independent vectors.
 */
import { secp256k1 as curve } from "@noble/curves/secp256k1";
import native from "secp256k1";
import { concat, domainSeparator, hashTypedData, keccak256, stringToBytes, toBytes } from "viem";
import type { ExchangeRequest, SignatureParts } from "./actions.js";
import { type PackValue, packMessage } from "./msgpack.js";
import type { TypedField, TypedMessage } from "./user-actions.js";

export type Hex = `0x${string}`;

const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";

/** `keccak(msgpack(action) ‖ u64be(nonce) ‖ vault ‖ expiry)`. */
export function hashAction(
  wire: PackValue,
  nonce: number,
  vaultAddress: string | null,
  expiresAfter: number | null,
): Hex {
  const packed = packMessage(wire);
  const tailBytes = 8 + (vaultAddress === null ? 1 : 21) + (expiresAfter === null ? 0 : 9);
  const bytes = new Uint8Array(packed.length + tailBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(packed);
  let offset = packed.length;
  view.setBigUint64(offset, BigInt(nonce));
  offset += 8;
  if (vaultAddress !== null) {
    bytes[offset] = 1;
    bytes.set(toBytes(vaultAddress as Hex), offset + 1);
    offset += 20;
  }
  offset += 1;
  // The expiry marker byte is zero, which the fresh array already holds.
  if (expiresAfter !== null) view.setBigUint64(offset + 1, BigInt(expiresAfter));
  return keccak256(bytes);
}

const AGENT_DOMAIN = domainSeparator({
  domain: { name: "Exchange", version: "1", chainId: 1337, verifyingContract: ZERO_ADDRESS },
});
const AGENT_TYPE = keccak256(stringToBytes("Agent(string source,bytes32 connectionId)"));
const SOURCE_HASH = { mainnet: keccak256(stringToBytes("a")), testnet: keccak256(stringToBytes("b")) } as const;

/**
 * Digest of the phantom agent that represents an L1 action; only `source` names the network. Written out, so that the
 * constant parts of the typed data are hashed once.
 */
export function agentDigest(connectionId: Hex, isMainnet: boolean): Hex {
  const source = isMainnet ? SOURCE_HASH.mainnet : SOURCE_HASH.testnet;
  return keccak256(concat(["0x1901", AGENT_DOMAIN, keccak256(concat([AGENT_TYPE, source, connectionId]))]));
}

/** Digest of a user-signed action. */
export function userDigest(
  primaryType: string,
  fields: readonly TypedField[],
  message: TypedMessage,
  chainId: number,
): Hex {
  return hashTypedData({
    domain: { name: "HyperliquidSignTransaction", version: "1", chainId, verifyingContract: ZERO_ADDRESS },
    types: { [primaryType]: [{ name: "hyperliquidChain", type: "string" }, ...fields] },
    primaryType,
    message,
  });
}

/** The digest a request's signature must cover on this network. */
export function requestDigest(request: ExchangeRequest, isMainnet: boolean): Hex {
  const { action } = request;
  if (action.family === "l1") {
    return agentDigest(hashAction(action.wire, request.nonce, request.vaultAddress, request.expiresAfter), isMainnet);
  }
  // The venue hashes its own network's name, so a message for the other network recovers a stranger.
  const message = { ...action.message, hyperliquidChain: isMainnet ? "Mainnet" : "Testnet" };
  return userDigest(action.primaryType, action.fields, message, action.chainId);
}

/** Returns the signer's lower-case address, or null when no key can have made this signature. */
export function recoverSigner(digest: Hex, signature: SignatureParts): string | null {
  if (signature.v !== 27 && signature.v !== 28) return null;
  const order = curve.CURVE.n;
  if (signature.r === 0n || signature.s === 0n || signature.r >= order || signature.s >= order) return null;
  try {
    return addressOfKey(recoverNative(digest, signature));
  } catch {
    // `r` is not the x of a curve point: the venue's "Unable to recover signer."
    return null;
  }
}

function recoverNative(digest: Hex, { r, s, v }: SignatureParts): Uint8Array {
  const scalar = (value: bigint): string => value.toString(16).padStart(64, "0");
  const compact = Buffer.from(scalar(r) + scalar(s), "hex");
  return native.ecdsaRecover(compact, v - 27, Buffer.from(digest.slice(2), "hex"), false);
}

/** @testonly The same by the other implementation; tests hold the two against each other. */
export function recoverSignerSlowly(digest: Hex, { r, s, v }: SignatureParts): string | null {
  try {
    const signature = new curve.Signature(r, s).addRecoveryBit(v - 27);
    return addressOfKey(signature.recoverPublicKey(digest.slice(2)).toRawBytes(false));
  } catch {
    // No point of the curve, as above.
    return null;
  }
}

/** Last 20 bytes of the hash of the uncompressed point without its prefix. */
function addressOfKey(publicKey: Uint8Array): string {
  return `0x${keccak256(publicKey.subarray(1)).slice(26)}`;
}
