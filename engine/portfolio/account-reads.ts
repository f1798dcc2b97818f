/**
 * Reads of a watched account over REST: bounded in time and never throwing. A refusal also sets how long the schedule
 * pauses.
 */
import type { Logger } from "../domain/logger.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { Read } from "../ports.js";
import type { LookResult } from "./poll-schedule.js";

export const LOOK_TIMEOUT_MS = 5_000;
export const LIMITED_PAUSE_MS = 5_000;
/** Refused credentials are tried again later: an agent may have been approved meanwhile. */
const REFUSED_PAUSE_MS = 60_000;

export const NO_PAUSE: LookResult = { pauseVenueMs: 0, pauseAccountMs: 0 };

export type FailedRead = Extract<Read<never>, { readonly ok: false }>;

/** A bug of the room must not end the watch: it counts as an unreadable reply. */
export async function readSafely<T>(
  logger: Logger,
  venue: RoutableVenue,
  run: () => Promise<Read<T>>,
): Promise<Read<T>> {
  try {
    return await run();
  } catch (error) {
    logger.error("portfolio.read_failed", { venue, errorName: error instanceof Error ? error.name : "unknown" });
    return { ok: false, code: "BAD_RESPONSE", message: "the answer could not be read", retryAfterMs: null };
  }
}

/** Returns how long to pause polling after such a refusal, for the whole venue or for this account alone. */
export function pauseAfter({ code, isAccountLimit, retryAfterMs }: FailedRead): LookResult {
  if (code === "AUTH" || code === "NEEDS_CREDENTIALS") return { pauseVenueMs: 0, pauseAccountMs: REFUSED_PAUSE_MS };
  if (isAccountLimit === true) return { pauseVenueMs: 0, pauseAccountMs: retryAfterMs ?? LIMITED_PAUSE_MS };
  if (code === "RATE_LIMITED" || code === "BREAKER_OPEN")
    return { pauseVenueMs: retryAfterMs ?? LIMITED_PAUSE_MS, pauseAccountMs: 0 };
  return NO_PAUSE;
}
