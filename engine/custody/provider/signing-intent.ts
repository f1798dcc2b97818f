/**
 * What S sends to C for a signing request: the intent, and the digest that S computes from the same bytes (docs/mpc.md,
 * section 12). What C could not read is refused here, with the place of each problem.
 */
import { ServiceError } from "../../domain/errors.js";
import { readAddress } from "../digest/bytes.js";
import { decodeIntent, encodeIntent, intentDigest, type IntentInput, MAX_PAYLOAD_BYTES } from "../digest/intent.js";
import type { Transaction } from "../digest/transaction.js";
import type { SigningOrigin, SigningRequest, UnsignedTransaction } from "./wallet-provider.js";

export interface SigningIntent {
  readonly intent: Uint8Array;
  /** 32 bytes. */
  readonly digest: Uint8Array;
}

interface FieldProblem {
  /** Such as `transaction.to`. */
  readonly path: string;
  readonly problem: string;
}

const DIGEST_BYTES = 32;
const U64_MAX = (1n << 64n) - 1n;
const U256_MAX = (1n << 256n) - 1n;
/** UTF-8 has no form for half of a pair; an encoder puts another character in its place. */
const HALF_PAIR = /\p{Surrogate}/u;

/** Throws INVALID_PARAMETERS, context `fields`. */
export function signingIntent(origin: SigningOrigin, request: SigningRequest): SigningIntent {
  const problems: FieldProblem[] = [];
  const input = inputOf(origin, request, problems);
  if (input === null || problems.length > 0) throw invalid(problems);
  const intent = encodeIntent(input);
  const decoded = decodeIntent(intent);
  if (!decoded.ok) throw invalid([{ path: request.kind, problem: decoded.problem }]);
  if (decoded.intent.kind === "test") throw new Error("a request became a test");
  return { intent, digest: intentDigest(decoded.intent) };
}

/** Throws INVALID_PARAMETERS, as above. */
export function transactionToSign(given: UnsignedTransaction): Transaction {
  const problems: FieldProblem[] = [];
  const transaction = transactionOf(given, problems);
  if (transaction === null || problems.length > 0) throw invalid(problems);
  return transaction;
}

function inputOf(origin: SigningOrigin, request: SigningRequest, problems: FieldProblem[]): IntentInput | null {
  switch (request.kind) {
    case "message":
      checkLength("message", request.bytes, problems);
      return { kind: "message", origin, message: request.bytes };
    case "typedData": {
      if (HALF_PAIR.test(request.text)) problems.push({ path: "typedData", problem: "must be well-formed Unicode" });
      const json = new TextEncoder().encode(request.text);
      checkLength("typedData", json, problems);
      return { kind: "typedData", origin, json };
    }
    case "digest":
      if (request.digest.length !== DIGEST_BYTES)
        problems.push({ path: "digest", problem: `must have ${DIGEST_BYTES} bytes` });
      return { kind: "digest", origin, digest: request.digest };
    case "transaction": {
      const transaction = transactionOf(request.transaction, problems);
      return transaction === null ? null : { kind: "transaction", origin, transaction };
    }
  }
}

function checkLength(path: string, bytes: Uint8Array, problems: FieldProblem[]): void {
  if (bytes.length > MAX_PAYLOAD_BYTES)
    problems.push({ path, problem: `must have at most ${MAX_PAYLOAD_BYTES} bytes` });
}

function transactionOf(given: UnsignedTransaction, problems: FieldProblem[]): Transaction | null {
  const check = (name: string, value: bigint, least: bigint, most: bigint): void => {
    if (value < least || value > most)
      problems.push({ path: `transaction.${name}`, problem: `must be an integer from ${least} to ${most}` });
  };
  check("chainId", given.chainId, 1n, U64_MAX);
  check("nonce", given.nonce, 0n, U64_MAX);
  check("gasLimit", given.gasLimit, 0n, U64_MAX);
  check("value", given.value, 0n, U256_MAX);
  checkLength("transaction.data", given.data, problems);
  const to = readAddress(given.to);
  if (to === null)
    problems.push({ path: "transaction.to", problem: "must be an address; in mixed case the checksum must be right" });
  const { chainId, nonce, gasLimit, value, data } = given;
  if (given.type === "legacy") check("gasPrice", given.gasPrice, 0n, U256_MAX);
  else {
    check("maxFeePerGas", given.maxFeePerGas, 0n, U256_MAX);
    // A node takes no higher tip than the whole price.
    check("maxPriorityFeePerGas", given.maxPriorityFeePerGas, 0n, given.maxFeePerGas);
  }
  if (to === null) return null;
  const common = { chainId, nonce, gasLimit, to, value, data };
  if (given.type === "legacy") return { type: "legacy", ...common, gasPrice: given.gasPrice };
  return { type: "eip1559", ...common, maxPriorityFee: given.maxPriorityFeePerGas, maxFee: given.maxFeePerGas };
}

function invalid(fields: readonly FieldProblem[]): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields });
}
