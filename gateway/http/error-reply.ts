/**
 * Errors → status, headers and envelope. Texts come from the one table (engine/domain/errors.ts); an error that is no
 * ServiceError is our bug and shows only INTERNAL.
 */
import { type ErrorCode, type ErrorContext, ServiceError } from "../../engine/domain/errors.js";
import type { ErrorReply } from "../../schemas/errors.js";
import { scrub } from "../../engine/domain/scrub.js";

export function asServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError("INTERNAL", {}, { cause: error });
}

/** Returns `retryAfterMs` of the details in whole seconds, for Retry-After; null when the error has none. */
export function retryAfterSeconds(error: ServiceError): number | null {
  const retryAfterMs = error.context.retryAfterMs;
  if (typeof retryAfterMs === "number" && retryAfterMs >= 0) return Math.max(1, Math.ceil(retryAfterMs / 1000));
  return RETRY_SOON.has(error.code) ? 1 : null;
}

/** States that end by themselves within moments. */
const RETRY_SOON: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "OVERLOADED",
  "SHUTTING_DOWN",
  "STORE_UNAVAILABLE",
  "SIGNER_UNAVAILABLE",
]);

export function errorBody(error: ServiceError, requestId: string, nowMs: number): string {
  const internal = error.code === "INTERNAL";
  const reply: ErrorReply = {
    success: false,
    error: error.message,
    code: error.code,
    // The context of an INTERNAL may reveal internals.
    details: internal ? {} : publicDetails(error.context),
    requestId,
    timestamp: nowMs,
  };
  return scrubbedError(reply, error);
}

const DIGEST = /^[0-9a-f]{64}$/;
const PLACE = '"prehashSha256":"(digest)"';

/**
 * The text of a refusal without anything that looks like a secret. The digest of what a signature was checked against
 * looks like one and is none: it is made of the caller's own request, who needs it to find a difference.
 */
export function scrubbedError<R extends { readonly details: ErrorContext }>(
  reply: R,
  { code, context }: ServiceError,
): string {
  const digest = code === "AUTH_BAD_SIGNATURE" ? context.prehashSha256 : undefined;
  if (typeof digest !== "string" || !DIGEST.test(digest)) return scrub(JSON.stringify(reply));
  const details = { ...reply.details, prehashSha256: "(digest)" };
  return scrub(JSON.stringify({ ...reply, details })).replace(PLACE, `"prehashSha256":"${digest}"`);
}

/** `where`, `preview` and `parts` are words of the text; usable forms are beside them. */
export function publicDetails({
  where: _where,
  preview: _preview,
  parts: _parts,
  ...details
}: ErrorContext): ErrorContext {
  return details;
}
