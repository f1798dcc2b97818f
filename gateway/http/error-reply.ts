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
const RETRY_SOON: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["OVERLOADED", "SHUTTING_DOWN", "STORE_UNAVAILABLE"]);

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
  return scrub(JSON.stringify(reply));
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
