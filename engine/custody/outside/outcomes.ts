/** What a caller gets for each end of a request of the outside signer. */
import { type ErrorContext, ServiceError } from "../../domain/errors.js";
import type { Followed } from "./follow-request.js";
import type { OutsideEnd, OutsideProblem } from "./outside-signer.js";

type FailedCode = "FAILED_TO_SIGN" | "FAILED_TO_CREATE_WALLET";

/** A name of a rule goes to callers: nothing else of what the signer writes does. */
const RULE = /^[A-Za-z0-9][A-Za-z0-9 _.:-]{0,63}$/;

/** For what has no end yet. `requestId`: by which the signer's people find it. */
export function openError(
  followed: Exclude<Followed, { readonly kind: "ended" }>,
  requestId: string,
  failed: FailedCode,
): ServiceError {
  switch (followed.kind) {
    case "waits":
      return new ServiceError("APPROVAL_PENDING", {
        signerRequestId: requestId,
        retryAfterMs: followed.retryAfterMs,
        isUnsettled: true,
      });
    case "unknown":
      return unavailable(followed.problem, {
        signerRequestId: requestId,
        retryAfterMs: followed.retryAfterMs,
        isUnsettled: true,
      });
    case "notBegun":
      return unavailable(followed.problem, { retryAfterMs: followed.retryAfterMs });
    case "rejected":
      return new ServiceError(failed);
  }
}

/** `reason`: what an operator must look at; null: waiting is enough. */
export function unavailable(reason: OutsideProblem | "TOO_MANY_OPEN" | null, more: ErrorContext = {}): ServiceError {
  return new ServiceError("SIGNER_UNAVAILABLE", { ...(reason === null ? {} : { reason }), ...more });
}

export function refusalOf(end: Exclude<OutsideEnd, { readonly state: "DONE" }>, failed: FailedCode): ServiceError {
  if (end.state === "FAILED") return new ServiceError(failed);
  const named = end.rule !== null && RULE.test(end.rule) ? end.rule : null;
  if (end.reason === "DESTINATION")
    return new ServiceError("DESTINATION_NOT_ALLOWED", named === null ? {} : { rule: named });
  const rule = end.reason === "POLICY" ? named : end.reason;
  return new ServiceError("POLICY_REFUSED", rule === null ? {} : { rule });
}
