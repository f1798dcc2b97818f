/** A wallet's key, and what was signed with it. Digests of transactions are viem's, not those of the code under test. */
import { hashMessage, keccak256, serializeTransaction } from "viem";
import { secp256k1 as curve } from "../../../feeds/shared/sign/secp256k1.js";
import type { SigningRequest, WalletSignature } from "../../custody/provider/wallet-provider.js";

const KEY = Buffer.alloc(32, 7);
const ADDRESS_DIGITS = 40;

export const ACCOUNT = addressOfKey(curve.publicKey(KEY));

export function addressOf(word: bigint): string {
  return `0x${word.toString(16).padStart(ADDRESS_DIGITS, "0").slice(-ADDRESS_DIGITS)}`;
}

export function recoverAddress(digest: string, r: string, s: string, parity: number): string {
  const rs = Buffer.concat([word(r), word(s)]);
  const key = curve.recover(bytes(digest), rs, parity);
  return key === null ? "" : addressOfKey(key);
}

/** Whether the wallet signed the text. */
export function isTextSigned(text: string, signature: string): boolean {
  const rs = signature.slice(2, 130);
  const parity = Number.parseInt(signature.slice(130), 16) - 27;
  return recoverAddress(hashMessage(text), `0x${rs.slice(0, 64)}`, `0x${rs.slice(64)}`, parity) === ACCOUNT;
}

export function signedWith(request: SigningRequest): WalletSignature {
  const digest = digestOf(request);
  const rs = new Uint8Array(64);
  const parity = curve.sign(bytes(digest), KEY, rs);
  return { signature: `0x${Buffer.from(rs).toString("hex")}${(27 + parity).toString(16)}`, digest };
}

function digestOf(request: SigningRequest): string {
  if (request.kind === "message") return hashMessage({ raw: request.bytes });
  if (request.kind !== "transaction" || request.transaction.type !== "eip1559") throw new Error("another kind");
  const { chainId, nonce, gasLimit, to, data, value, maxFeePerGas, maxPriorityFeePerGas } = request.transaction;
  return keccak256(
    serializeTransaction({
      ...{ type: "eip1559", chainId: Number(chainId), nonce: Number(nonce), gas: gasLimit, to: to as `0x${string}` },
      ...{ data: `0x${Buffer.from(data).toString("hex")}`, value, maxFeePerGas, maxPriorityFeePerGas },
    }),
  );
}

function addressOfKey(key: Uint8Array): string {
  return `0x${keccak256(key.subarray(1)).slice(-ADDRESS_DIGITS)}`;
}

function word(hex: string): Buffer {
  return Buffer.from(hex.slice(2).padStart(64, "0"), "hex");
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}
