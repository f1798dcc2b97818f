// hot path
/**
 * The age of a market's data. Age counts on our monotonic clock from the last frame, heartbeat or probe that proved a
 * tier current. So neither a venue clock that runs ahead nor a step of the wall clock can make it negative or wrap.
 */

/** Age of data that was never proven (tsProvenNs < 0). */
export const NEVER_PROVEN_MS = Number.MAX_SAFE_INTEGER;

/**
 * Returns whole ms, rounded up so that no age is understated, at least 0; NEVER_PROVEN_MS if there was no proof yet.
 */
export function ageMs(tsProvenNs: number, nowNs: number): number {
  if (!(tsProvenNs >= 0)) return NEVER_PROVEN_MS;
  const elapsedNs = nowNs - tsProvenNs;
  return elapsedNs > 0 ? Math.ceil(elapsedNs / 1e6) : 0;
}

/** Age limit of the main tier: the venue's, tightened by the caller's. */
export function mainAgeLimitMs(maxBookAgeMs: number, maxQuoteAgeMs: number): number {
  return Math.min(maxBookAgeMs, maxQuoteAgeMs);
}

/**
 * Age limit of the deeper tier. That tier is pushed less often than the main one, so the caller's limit does not apply
 * to it directly: it tightens the deep limit in the proportion in which it tightens the main one.
 */
export function deepAgeLimitMs(maxDeepAgeMs: number, maxBookAgeMs: number, maxQuoteAgeMs: number): number {
  return maxQuoteAgeMs >= maxBookAgeMs ? maxDeepAgeMs : Math.floor((maxDeepAgeMs * maxQuoteAgeMs) / maxBookAgeMs);
}
