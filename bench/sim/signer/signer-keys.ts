/** Plain keys of the local signer, and digests and signatures by a library that the program under test does not use. */
import { createHash } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1";
import { hashMessage, hashTypedData, type Hex, keccak256, serializeTransaction, type TypedDataDefinition } from "viem";
import { privateKeyToAddress } from "viem/accounts";

export interface LocalKey {
  readonly secret: Uint8Array;
  /** `0x` hex, compressed. */
  readonly publicKey: string;
  readonly address: string;
}

/** `seed`: each gives the same key again. */
export function keyOf(seed: string): LocalKey {
  const secret = createHash("sha256").update(`local signer ${seed}`).digest();
  const publicKey = Buffer.from(secp256k1.getPublicKey(secret, true)).toString("hex");
  return { secret, publicKey: `0x${publicKey}`, address: privateKeyToAddress(`0x${secret.toString("hex")}`) };
}

/** As its contract has it, checked against that before. */
export interface SignerPayload {
  readonly kind: "message" | "typedData" | "transaction" | "digest";
  readonly messageHex?: string;
  readonly typedData?: string;
  readonly digest?: string;
  readonly transaction?: Readonly<Record<string, string>>;
}

export function digestOf(payload: SignerPayload): Hex {
  switch (payload.kind) {
    case "message":
      return hashMessage({ raw: (payload.messageHex ?? "0x") as Hex });
    case "typedData":
      return hashTypedData(JSON.parse(payload.typedData ?? "{}") as TypedDataDefinition);
    case "digest":
      return (payload.digest ?? "0x") as Hex;
    case "transaction":
      return keccak256(unsigned(payload.transaction ?? {}));
  }
}

function unsigned(fields: Readonly<Record<string, string>>): Hex {
  const uint = (name: string) => BigInt(fields[name] ?? "0");
  const common = {
    ...{ chainId: Number(uint("chainId")), nonce: Number(uint("nonce")), gas: uint("gasLimit") },
    ...{ to: (fields["to"] ?? "0x") as Hex, value: uint("value"), data: (fields["data"] ?? "0x") as Hex },
  };
  if (fields["type"] === "legacy")
    return serializeTransaction({ ...common, type: "legacy", gasPrice: uint("gasPrice") });
  const fees = { maxFeePerGas: uint("maxFeePerGas"), maxPriorityFeePerGas: uint("maxPriorityFeePerGas") };
  return serializeTransaction({ ...common, ...fees, type: "eip1559" });
}

/** What a signer gets wrong; `none` is right. */
export type SignatureLie = "none" | "otherKey" | "otherDigest" | "highS" | "badV" | "swappedV" | "zeroes" | "short";
/** @testonly All of them. */
export const SIGNATURE_LIES: readonly Exclude<SignatureLie, "none">[] = [
  "otherKey",
  "otherDigest",
  "highS",
  "badV",
  "swappedV",
  "zeroes",
  "short",
];

const ORDER = secp256k1.CURVE.n;

export function signatureOf(key: LocalKey, digest: Hex, lie: SignatureLie): string {
  if (lie === "zeroes") return `0x${"00".repeat(64)}1b`;
  const signer = lie === "otherKey" ? keyOf("another") : key;
  const signed = lie === "otherDigest" ? keccak256(digest) : digest;
  const signature = secp256k1.sign(signed.slice(2), signer.secret, { lowS: true, prehash: false });
  const isFlipped = lie === "highS";
  const s = isFlipped ? ORDER - signature.s : signature.s;
  const recovery = (signature.recovery ^ Number(isFlipped || lie === "swappedV")) + (lie === "badV" ? 2 : 0);
  const text = `0x${hex32(signature.r)}${hex32(s)}${(27 + recovery).toString(16)}`;
  return lie === "short" ? text.slice(0, -2) : text;
}

function hex32(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}
