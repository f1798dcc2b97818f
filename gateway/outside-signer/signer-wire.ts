/** Requests of the outside signer as its contract writes them, and its answers read. */
import type {
  OutsideReply,
  OutsideName,
  OutsideRequest,
  OutsideStanding,
} from "../../engine/custody/outside/outside-signer.js";
import type { SigningRequest, UnsignedTransaction } from "../../engine/custody/provider/wallet-provider.js";
import {
  type SignerRequestReply,
  signerHealthReplySchema,
  signerRequestReplySchema,
  type SignerSignatureRequest,
  signerUnknownReplySchema,
} from "../../schemas/outside-signer.js";
import { compileValidator } from "../../schemas/validate.js";

type Payload = SignerSignatureRequest["payload"];

export function bodyOf(request: OutsideRequest): string {
  if (request.kind === "wallet") return "{}";
  const { walletRef, origin, payload } = request;
  const body: SignerSignatureRequest = { walletRef, origin, payload: payloadOf(payload) };
  return JSON.stringify(body);
}

function payloadOf(request: SigningRequest): Payload {
  switch (request.kind) {
    case "message":
      return { kind: "message", messageHex: hexOf(request.bytes) };
    case "typedData":
      return { kind: "typedData", typedData: request.text };
    case "digest":
      return { kind: "digest", digest: hexOf(request.digest) };
    case "transaction":
      return { kind: "transaction", transaction: transactionOf(request.transaction) };
  }
}

function transactionOf(given: UnsignedTransaction) {
  const common = {
    ...{ chainId: String(given.chainId), nonce: String(given.nonce), gasLimit: String(given.gasLimit) },
    ...{ to: given.to, value: String(given.value), data: hexOf(given.data) },
  };
  if (given.type === "legacy") return { type: given.type, ...common, gasPrice: String(given.gasPrice) };
  const { maxFeePerGas, maxPriorityFeePerGas } = given;
  return {
    type: given.type,
    ...common,
    maxFeePerGas: String(maxFeePerGas),
    maxPriorityFeePerGas: String(maxPriorityFeePerGas),
  };
}

function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString("hex")}`;
}

const readReply = compileValidator(signerRequestReplySchema);
const readUnknown = compileValidator(signerUnknownReplySchema);
const readHealth = compileValidator(signerHealthReplySchema);

/** Null: no answer of the contract to this request. */
export function standingOf(text: string, name: OutsideName): OutsideStanding | null {
  const read = readReply(jsonOf(text));
  if (!read.ok || read.value.requestId !== name.requestId || read.value.kind !== name.kind) return null;
  const { state, wallet, signature, refusal } = read.value;
  if (state === "PENDING" || state === "AWAITING_APPROVAL" || state === "FAILED") return { state };
  if (state === "REFUSED")
    return refusal === undefined ? null : { state, reason: refusal.reason, rule: refusal.rule ?? null };
  return doneOf(name, wallet, signature);
}

function doneOf(
  { kind }: OutsideName,
  wallet: SignerRequestReply["wallet"],
  signature: string | undefined,
): OutsideStanding | null {
  if (kind === "wallet") return wallet === undefined ? null : { state: "DONE", wallet, signature: null };
  return signature === undefined ? null : { state: "DONE", wallet: null, signature };
}

/** The signer's own word that it knows nothing of the request; a 404 of anything on the way is not that. */
export function saysUnknown(text: string, { requestId }: OutsideName): boolean {
  const read = readUnknown(jsonOf(text));
  return read.ok && read.value.requestId === requestId;
}

export function saysHealthy(text: string): boolean {
  return readHealth(jsonOf(text)).ok;
}

export function contractProblem(retryAfterMs: number | null = null): OutsideReply {
  return { kind: "unknown", problem: "CONTRACT", retryAfterMs };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // No JSON: no answer of the contract.
    return null;
  }
}
