/** What a caller of S gets for each end of a session: the table of docs/mpc.md, 3.4. */
import { type ErrorCode, ServiceError } from "../../domain/errors.js";
import { decideFailure, type RefusalCode } from "../mpc/base/outcome.js";
import type { SessionEnd } from "../mpc/sessions/effects.js";
import type { SessionOutcome, UnwrittenReason } from "./live-session.js";

/** What the policy's number of a rule is for callers; piece of the policy, which alone knows its rules. */
export interface PolicyRules {
  explain(detail: number): { readonly code: "POLICY_REFUSED" | "DESTINATION_NOT_ALLOWED"; readonly rule: string };
}

/** What an operator must look at. `COSIGNER_FAILED`: the other party's log and alerts say what it is. */
type UnavailableReason = UnwrittenReason | "COSIGNER_FAILED";

/**
 * Returns null when the session is done. A failed write to this party's store or backup folder is 503, since nothing is
 * half done. `failed`: the code of a violation and of any other fault.
 */
export function errorOfEnd(
  { end, unwritten }: Pick<SessionOutcome, "end" | "unwritten">,
  rules: PolicyRules,
  failed: "FAILED_TO_SIGN" | "FAILED_TO_CREATE_WALLET" = "FAILED_TO_SIGN",
): ServiceError | null {
  if (end.kind === "done") return null;
  if (end.kind === "frozen by peer") return new ServiceError("WALLET_FROZEN");
  return decideFailure<ServiceError>(end.failure, {
    transport: () => unavailable(unwritten ?? (isPeerFault(end) ? "COSIGNER_FAILED" : null)),
    refused: ({ code, detail }) => refusedError(code, detail, rules),
    violation: () => new ServiceError(failed),
    cheat: () => new ServiceError("WALLET_FROZEN"),
    fault: () => (unwritten === null ? new ServiceError(failed) : unavailable(unwritten)),
  });
}

/** `reason` null: the other party is away, or waiting is enough. */
export function unavailable(reason: UnavailableReason | null = null): ServiceError {
  return new ServiceError("SIGNER_UNAVAILABLE", detailsOf(reason));
}

/** The wallet may still come to be, or not: the parties have not agreed on the attempt. */
export function unsettled(reason: UnavailableReason | null = null): ServiceError {
  return new ServiceError("SIGNER_UNAVAILABLE", { ...detailsOf(reason), isUnsettled: true });
}

function detailsOf(reason: UnavailableReason | null) {
  return reason === null ? {} : { reason };
}

/**
 * Only these may be tried again: nothing was refused, and nothing is known to be wrong. A step of ours that took too long
 * is left to the caller: another one would find the same thread, and each counts as unexplained.
 */
export function isTransport(end: SessionEnd): boolean {
  return end.kind === "failed" && end.failure.kind === "transport" && end.explained;
}

/**
 * C ended the session by a fault of its own, such as a store or a backup folder that takes nothing. The cause is the one
 * that its word for that has here; a lost connection has another.
 */
export function isPeerFault(end: SessionEnd): boolean {
  if (end.kind !== "failed" || end.by !== "peer" || end.failure.kind !== "transport") return false;
  return end.failure.cause === "peer-restarted";
}

const BY_REFUSAL: Readonly<Record<Exclude<RefusalCode, "POLICY">, ErrorCode>> = {
  VERSION: "SIGNER_UNAVAILABLE",
  DIGEST: "SIGNER_UNAVAILABLE",
  STATE: "SIGNER_UNAVAILABLE",
  RATE: "SIGNER_UNAVAILABLE",
  // C does not know the wallet that S has.
  WALLET: "RESTORED_STORE",
  EPOCH: "RESTORED_STORE",
  CTR: "RESTORED_STORE",
  TAG: "RESTORED_STORE",
};

function refusedError(code: RefusalCode, detail: number, rules: PolicyRules): ServiceError {
  if (code !== "POLICY") return new ServiceError(BY_REFUSAL[code]);
  const { code: policyCode, rule } = rules.explain(detail);
  return new ServiceError(policyCode, { rule });
}
