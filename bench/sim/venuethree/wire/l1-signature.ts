/**
 * Signatures of the first layer (EIP-191) that some transactions carry beside their own: the account's address has to
 * have signed a text that repeats what the transaction does (fact sheet 8.6; wording of the venue's Go client).
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { hashMessage, keccak256 } from "viem";
import { amountOf, number, type Transaction, TYPE } from "./transaction.js";

const SIGNATURE = /^0x[0-9a-f]{130}$/i;
const CLOSING = "Only sign this message for a trusted client!";

function hex16(value: number | bigint): string {
  return `0x${value.toString(16).padStart(16, "0")}`;
}

/** Returns the text that the account's address has to have signed; null for a type that needs no such signature. */
export function l1Message(transaction: Transaction, chainId: number): string | null {
  const lines = textOf(transaction, chainId);
  return lines === null ? null : [...lines, CLOSING].join("\n");
}

function textOf(transaction: Transaction, chainId: number): readonly string[] | null {
  switch (transaction.type) {
    case TYPE.changeKey:
      return registration(transaction);
    case TYPE.approveIntegrator:
      return integratorApproval(transaction, chainId);
    case TYPE.transfer:
      return transfer(transaction, chainId);
    default:
      return null;
  }
}

function registration({ fields, nonce, accountIndex, apiKeyIndex }: Transaction): readonly string[] {
  const publicKey = Buffer.from(String(fields.PubKey), "base64").toString("hex");
  return [
    "Register Lighter Account",
    "",
    `pubkey: 0x${publicKey}`,
    `nonce: ${hex16(nonce)}`,
    `account index: ${hex16(accountIndex)}`,
    `api key index: ${hex16(apiKeyIndex)}`,
  ];
}

function integratorApproval(transaction: Transaction, chainId: number): readonly string[] {
  const { nonce, accountIndex, apiKeyIndex } = transaction;
  const field = fieldsOf(transaction);
  return [
    "Approve Integrator",
    "",
    `nonce: ${hex16(nonce)}`,
    `account index: ${hex16(accountIndex)}`,
    `api key index: ${hex16(apiKeyIndex)}`,
    `integrator account index: ${field("IntegratorAccountIndex")}`,
    `max perps taker fee: ${field("MaxPerpsTakerFee")}`,
    `max perps maker fee: ${field("MaxPerpsMakerFee")}`,
    `max spot taker fee: ${field("MaxSpotTakerFee")}`,
    `max spot maker fee: ${field("MaxSpotMakerFee")}`,
    `approval expiry: ${field("ApprovalExpiry")}`,
    `chainId: ${hex16(chainId)}`,
  ];
}

function transfer(transaction: Transaction, chainId: number): readonly string[] {
  const { fields, nonce, accountIndex, apiKeyIndex } = transaction;
  const field = fieldsOf(transaction);
  const memo = fields.Memo;
  const bytes = Array.isArray(memo) ? Buffer.from(memo.map(Number)) : Buffer.alloc(0);
  return [
    "Transfer",
    "",
    `nonce: ${hex16(nonce)}`,
    `from: ${hex16(accountIndex)} (route ${field("FromRouteType")})`,
    `api key: ${hex16(apiKeyIndex)}`,
    `to: ${field("ToAccountIndex")} (route ${field("ToRouteType")})`,
    `asset: ${field("AssetIndex")}`,
    `amount: ${hex16(amountOf(transaction, "Amount"))}`,
    `fee: ${hex16(amountOf(transaction, "USDCFee"))}`,
    `chainId: ${hex16(chainId)}`,
    `memo: ${bytes.toString("hex")}`,
  ];
}

function fieldsOf({ fields }: Transaction): (name: string) => string {
  return (name) => hex16(number(fields[name]));
}

/** Returns the lower-case address that made the signature, or null when no key can have made it. */
export function l1Signer(message: string, signature: string): string | null {
  if (!SIGNATURE.test(signature)) return null;
  const recovery = Number.parseInt(signature.slice(130), 16) % 27;
  if (recovery > 1) return null;
  try {
    const parts = secp256k1.Signature.fromCompact(signature.slice(2, 130)).addRecoveryBit(recovery);
    const point = parts.recoverPublicKey(hashMessage(message).slice(2)).toRawBytes(false);
    return `0x${keccak256(point.subarray(1)).slice(26)}`;
  } catch {
    // No point has this x: nobody signed.
    return null;
  }
}
