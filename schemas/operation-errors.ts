/** What an operation may answer besides its reply: what is its own, and what any route may. */
import type { Operation } from "./operation.js";

/** Any route may answer these. */
export const COMMON_ERRORS: Readonly<Record<number, string>> = {
  400: "Parameters are missing or wrong (MISSING_PARAMETERS, INVALID_PARAMETERS), or the request can be read in two ways (AMBIGUOUS_REQUEST).",
  401: "A key is shown that is none or not valid now (AUTH_UNKNOWN_KEY, KEY_REVOKED), or not proven (AUTH_MISSING_HEADER, AUTH_BAD_SIGNATURE, AUTH_TIMESTAMP_OUT_OF_WINDOW).",
  403: "A page of another origin asks (FOREIGN_ORIGIN), or the key is not valid from this address (IP_NOT_ALLOWED).",
  414: "The request target is too long (URI_TOO_LONG).",
  421: "The Host is none that this service answers under (FOREIGN_HOST).",
  429: "Our own rate limit (RATE_LIMITED); Retry-After says when to come back.",
  500: "A fault of ours (INTERNAL), or a stored secret cannot be opened (SEAL_BROKEN).",
  503: "The service is overloaded or shutting down (OVERLOADED, SHUTTING_DOWN), or a venue, the store or the record (RECORDS_UNAVAILABLE) is unavailable, or a stored secret is sealed under a key that is not loaded (SEAL_KEY_UNKNOWN).",
};

const BODY_TYPE_ERROR = { 415: "The body is not application/json (UNSUPPORTED_MEDIA_TYPE)." } as const;

/** Of an operation that takes a body. */
export const BODY_ERRORS = {
  408: "The body did not arrive in time (REQUEST_TIMEOUT).",
  413: "The body is too large (BODY_TOO_LARGE).",
} as const;

/** A key that was used for another request. */
export const KEY_ERRORS = { 422: "The Idempotency-Key was used with another body (IDEMPOTENCY_MISMATCH)." } as const;

/** Statuses whose common text goes with that of an operation instead of making way for it. */
const ADDED_STATUSES: ReadonlySet<number> = new Set([401, 403]);

/** What any operation of this method and scope may answer. */
function commonErrors({ method, access }: Operation): Readonly<Record<number, string>> {
  const all: Record<number, string> = { ...COMMON_ERRORS, ...(method === "GET" ? {} : BODY_TYPE_ERROR) };
  if (access.scope !== "open") all[403] = `The key lacks the scope \`${access.scope}\` (SCOPE_MISSING). ${all[403]}`;
  if (method !== "GET") all[401] = `${all[401]} The signature was accepted before (AUTH_REPLAY).`;
  return all;
}

/** What an operation may answer: with what is its own beside what any route may. */
export function errorsOf(operation: Operation): Readonly<Record<number, string>> {
  const all: Record<number, string> = { ...commonErrors(operation) };
  for (const [key, text] of Object.entries(operation.errors)) {
    const status = Number(key);
    const common = ADDED_STATUSES.has(status) ? all[status] : undefined;
    all[status] = common === undefined ? text : `${text} ${common}`;
  }
  return all;
}
