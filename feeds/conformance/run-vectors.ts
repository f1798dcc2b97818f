/**
 * Runs a vector file through the project's own pure functions. Total is the number of entries in the file; an entry
 * of a kind that no check knows fails, so a new kind cannot pass unnoticed.
 */
import {
  checkCanonicalMessage,
  checkExpiry,
  checkInvalidKeyPair,
  checkKeyPair,
  checkSignedFrame,
  checkSignedRequest,
  checkVerify,
  checkWalletAddress,
} from "./venuefour-vectors.js";
import { checkHash, checkL1, checkUser, checkWire } from "./venueone-vectors.js";
import {
  checkDepositCalldata,
  checkHmac,
  checkLegacy,
  checkManagement,
  checkMessage,
  checkPersonalSign,
  checkRegisterAgent,
  checkWithdraw,
} from "./venuetwo-vectors.js";
import {
  checkAddition,
  checkAuthToken,
  checkAuthTokenWithK,
  checkBaseField,
  checkChangeKeyMessage,
  checkDecode,
  checkFold,
  checkHashElements,
  checkHashToQuintic,
  checkMultiple,
  checkPermutation,
  checkPublicKey,
  checkQuinticField,
  checkScalarField,
  checkSchnorr,
  checkSignedTransaction,
  checkTransaction,
} from "./venuethree-vectors.js";
import { isObject, Vector } from "./vector.js";

export interface VectorReport {
  readonly total: number;
  readonly passed: number;
  readonly failures: readonly { readonly id: string; readonly problem: string }[];
}

const CHECKS: ReadonlyMap<string, (vector: Vector) => void> = new Map([
  ["l1", checkL1],
  ["hash", checkHash],
  ["user", checkUser],
  ["wire", checkWire],
  ["hmac-sha256", checkHmac],
  ["v3-eip712-message", checkMessage],
  ["v3-eip712-management", checkManagement],
  ["v3-eip712-register-agent", checkRegisterAgent],
  ["v3-legacy-abi-keccak", checkLegacy],
  ["eip712-withdraw", checkWithdraw],
  ["personal-sign-api-key", checkPersonalSign],
  ["deposit-calldata", checkDepositCalldata],
  ["signed-request", checkSignedRequest],
  ["signed-ws-frame", checkSignedFrame],
  ["canonical-message", checkCanonicalMessage],
  ["verify", checkVerify],
  ["expiry", checkExpiry],
  ["key-pair", checkKeyPair],
  ["key-pair-invalid", checkInvalidKeyPair],
  ["wallet-address", checkWalletAddress],
  ["goldilocks-field", checkBaseField],
  ["quintic-field", checkQuinticField],
  ["scalar-field", checkScalarField],
  ["poseidon2-permute", checkPermutation],
  ["poseidon2-hash-n-to-m", checkHashElements],
  ["poseidon2-hash-to-quintic", checkHashToQuintic],
  ["poseidon2-fold-4", checkFold],
  ["ecgfp5-decode", checkDecode],
  ["ecgfp5-add", checkAddition],
  ["ecgfp5-scalar-mul", checkMultiple],
  ["public-key", checkPublicKey],
  ["schnorr-sign-with-k", checkSchnorr],
  ["tx-sign-with-k", checkSignedTransaction],
  ["tx-createOrder", checkTransaction],
  ["tx-cancelOrder", checkTransaction],
  ["tx-cancelAllOrders", checkTransaction],
  ["tx-modifyOrder", checkTransaction],
  ["tx-updateLeverage", checkTransaction],
  ["tx-updateMargin", checkTransaction],
  ["tx-withdraw", checkTransaction],
  ["tx-createGroupedOrders", checkTransaction],
  ["tx-createSubAccount", checkTransaction],
  ["tx-changePubKey", checkTransaction],
  ["tx-transfer", checkTransaction],
  ["tx-approveIntegrator", checkTransaction],
  ["tx-invalid-signature", checkTransaction],
  ["auth-token", checkAuthToken],
  ["auth-token-with-k", checkAuthTokenWithK],
  ["change-pub-key-l1-message", checkChangeKeyMessage],
]);

/** `text` is the file's content: a JSON list of entries, or an object whose `vectors` is one. */
export function runVectors(text: string): VectorReport {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { total: 1, passed: 0, failures: [{ id: "(file)", problem: "not valid JSON" }] };
  }
  const entries: unknown = isObject(parsed) ? parsed["vectors"] : parsed;
  if (!Array.isArray(entries) || entries.length === 0) {
    return { total: 1, passed: 0, failures: [{ id: "(file)", problem: "no list of vectors" }] };
  }
  const failures: { id: string; problem: string }[] = [];
  for (const [index, entry] of entries.entries()) {
    const problem = checkEntry(entry);
    if (problem !== null) failures.push({ id: entryId(entry, index), problem });
  }
  return { total: entries.length, passed: entries.length - failures.length, failures };
}

function checkEntry(entry: unknown): string | null {
  if (!isObject(entry)) return "not an object";
  const kind = entry["kind"];
  const check = typeof kind === "string" ? CHECKS.get(kind) : undefined;
  if (check === undefined) return `unknown kind ${String(kind)}`;
  try {
    check(new Vector(entry));
    return null;
  } catch (error) {
    // Any fault while computing an entry is that entry's failure; the others still run.
    return error instanceof Error ? error.message : "threw a value that is no error";
  }
}

function entryId(entry: unknown, index: number): string {
  return isObject(entry) && typeof entry["id"] === "string" ? entry["id"] : `#${index}`;
}
