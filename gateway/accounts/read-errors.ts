/** A failed read of an account → the error of a single-venue route, or the coverage entry of an aggregated one. */
import { type ErrorCode, type ErrorContext, ServiceError } from "../../engine/domain/errors.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { RoutableVenue, Venue } from "../../engine/domain/venue.js";
import { positionsUnlisted, unlistedNames } from "../../engine/portfolio/unlisted.js";
import type { Coverage, CoverageByVenue } from "../../schemas/account-common.js";
import { invalidParameters } from "../http/query.js";
import type { AccountRead, FailedRead } from "./account-reads.js";

/** Which of the spec's texts a failure of ours or the venue's gets. */
export type ReadErrorCode =
  | "FAILED_TO_FETCH_POSITIONS"
  | "FAILED_TO_FETCH_ACCOUNT"
  | "FAILED_TO_FETCH_ORDERS"
  | "FAILED_TO_FETCH_ORDER_STATUS";

export function readError(venue: Venue, read: FailedRead, code: ReadErrorCode): ServiceError {
  const { message, retryAfterMs } = read;
  const details = { exchange: venue, readCode: read.code, ...(retryAfterMs === null ? {} : { retryAfterMs }) };
  switch (read.code) {
    case "AUTH":
    case "AUTH_REQUIRED":
    case "NEEDS_CREDENTIALS":
      return new ServiceError("MISSING_CREDENTIALS", { ...details, problem: message });
    case "RATE_LIMITED":
      return new ServiceError("VENUE_RATE_LIMITED", { ...details, retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_MS });
    case "BREAKER_OPEN":
      return new ServiceError("VENUE_UNAVAILABLE", { ...details, reason: "BREAKER_OPEN" });
    case "OVERLOADED":
      return new ServiceError("OVERLOADED", details);
    case "NOT_SUPPORTED":
      return new ServiceError("NOT_SUPPORTED", { what: message, exchange: venue });
    case "BAD_CURSOR":
      return invalidParameters({ path: "cursor", problem: "is not the nextCursor of a page" });
    default:
      return new ServiceError(code, { ...details, reason: `${read.code}: ${message}` });
  }
}

/** Used where a venue gives no time. */
const DEFAULT_RETRY_MS = 1_000;

export function coverageOf<T>(venue: RoutableVenue, read: AccountRead<T>): Coverage {
  if (read.ok) {
    const isStream = read.source === "stream";
    return {
      state: isStream ? "LIVE" : "SNAPSHOT",
      mode: isStream ? "push" : "request",
      asOf: read.asOfMs,
      source: read.source,
    };
  }
  const isAuth = read.code === "AUTH" || read.code === "AUTH_REQUIRED" || read.code === "NEEDS_CREDENTIALS";
  if (!isAuth) return failedCoverage("ERROR", read.code, read.message, read.retryAfterMs);
  // Credentials that were sent get a reason why they do not work.
  const problem = read.code === "AUTH" ? read.message : null;
  const message = keyMessage("MISSING_CREDENTIALS", { exchange: venue, problem });
  return failedCoverage("AUTH_REQUIRED", "MISSING_CREDENTIALS", message, read.retryAfterMs);
}

/** The message of an error where only one text is possible: it includes the `problem` of its details. */
export function keyMessage(code: ErrorCode, context: ErrorContext): string {
  const { problem } = context;
  const { message } = new ServiceError(code, context);
  return typeof problem === "string" && problem !== "" ? `${message}: ${problem}` : message;
}

/** The same for positions: a holding that cannot be counted is named, never silently left out. */
export function positionsCoverage(venue: RoutableVenue, read: AccountRead<readonly VenuePosition[]>): Coverage {
  const coverage = coverageOf(venue, read);
  const names = read.ok ? unlistedNames(read.value) : [];
  return names.length === 0 ? coverage : { ...coverage, error: positionsUnlisted(names) };
}

const NOT_CONFIGURED = "NOT_CONFIGURED";

export function notConfigured(venue: string): Coverage {
  return failedCoverage("ERROR", NOT_CONFIGURED, `${venue} is not configured`, null);
}

const NOT_APPLICABLE = "NOT_APPLICABLE";

/** Of a venue that is not asked for this, and misses in no sum. */
export function notApplicable(message: string): Coverage {
  return failedCoverage("ERROR", NOT_APPLICABLE, message, null);
}

export function failedCoverage(
  state: "AUTH_REQUIRED" | "ERROR",
  code: string,
  message: string,
  retryAfterMs: number | null,
): Coverage {
  return {
    state,
    mode: "request",
    asOf: null,
    source: null,
    error: { code, message, ...(retryAfterMs === null ? {} : { retryAfterMs }) },
  };
}

/** Reports whether every venue that is served here has answered, and there is at least one. */
export function isComplete(coverage: CoverageByVenue): boolean {
  const asked = askedOf(coverage);
  return asked.length > 0 && asked.every(([, { state }]) => isAnswer(state));
}

/**
 * Throws `code` when the read of every venue failed: an empty list would look like a flat account, and a sum like no
 * money.
 */
export function requireSomeAnswer(
  coverage: CoverageByVenue,
  code: "FAILED_TO_FETCH_POSITIONS" | "FAILED_TO_FETCH_ACCOUNT",
): void {
  const asked = askedOf(coverage);
  const failed = asked.filter(([, { state }]) => state === "ERROR");
  if (failed.length === 0 || asked.some(([, { state }]) => isAnswer(state))) return;
  const reason = failed.map(([venue, { error }]) => `${venue} ${error?.code ?? ""}`).join(", ");
  throw new ServiceError(code, { reason, coverage });
}

function askedOf(coverage: CoverageByVenue): [string, Coverage][] {
  const unasked: readonly unknown[] = [NOT_CONFIGURED, NOT_APPLICABLE];
  return Object.entries(coverage).filter(([, { error }]) => !unasked.includes(error?.code));
}

function isAnswer(state: Coverage["state"]): boolean {
  return state === "LIVE" || state === "SNAPSHOT";
}
