/** What a caller of S gets for each end of a session: the table of docs/mpc.md, 3.4. */
import { type ErrorCode, ServiceError } from "../../domain/errors.js";
import { decideFailure, type RefusalCode } from "../mpc/base/outcome.js";
import type { SessionEnd } from "../mpc/sessions/effects.js";
import type { SessionOutcome, UnwrittenReason } from "./live-session.js";

/** What the policy's number of a rule is for callers; piece of the policy, which alone knows its rules. */
export interface PolicyRules {
  explain(detail: number): { readonly code: "POLICY_REFUSED" | "DESTINATION_NOT_ALLOWED"; readonly rule: string };
}

/**
 * Null: done. A fault because the own store or backup folder took nothing is 503, as nothing is half done. `failed`: what
 * any other fault, and a violation, are to the caller.
 */
export function errorOfEnd(
  { end, unwritten }: Pick<SessionOutcome, "end" | "unwritten">,
  rules: PolicyRules,
  failed: "FAILED_TO_SIGN" | "FAILED_TO_CREATE_WALLET" = "FAILED_TO_SIGN",
): ServiceError | null {
  if (end.kind === "done") return null;
  if (end.kind === "frozen by peer") return new ServiceError("WALLET_FROZEN");
  return decideFailure<ServiceError>(end.failure, {
    transport: () => unavailable(),
    refused: ({ code, detail }) => refusedError(code, detail, rules),
    violation: () => new ServiceError(failed),
    cheat: () => new ServiceError("WALLET_FROZEN"),
    fault: () => (unwritten === null ? new ServiceError(failed) : unavailable(unwritten)),
  });
}

/** `reason`: what of this service an operator must look at; null where it is the other party, or waiting is enough. */
export function unavailable(reason: UnwrittenReason | null = null): ServiceError {
  return new ServiceError("SIGNER_UNAVAILABLE", detailsOf(reason));
}

/** The wallet may still come to be, or not: the parties have not agreed on the attempt. */
export function unsettled(reason: UnwrittenReason | null = null): ServiceError {
  return new ServiceError("SIGNER_UNAVAILABLE", { ...detailsOf(reason), isUnsettled: true });
}

function detailsOf(reason: UnwrittenReason | null) {
  return reason === null ? {} : { reason };
}

/** Only these may be tried again: nothing was refused, and nothing is known to be wrong. */
export function isTransport(end: SessionEnd): boolean {
  return end.kind === "failed" && end.failure.kind === "transport";
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
