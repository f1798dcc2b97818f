/**
 * Full-jitter exponential backoff: uniform in [0, min(cap, base × 2^attempt)]. Many clients that lost
 * the same server at the same moment must not come back in lockstep, so the whole span is random.
 */
import type { Random } from "../../../engine/domain/random.js";

export interface BackoffPolicy {
  readonly baseMs: number;
  readonly capMs: number;
}

export function fullJitterMs(policy: BackoffPolicy, attempt: number, random: Random): number {
  // 2^30 × base is beyond any cap in use; the bound keeps the power finite.
  const ceilingMs = Math.min(policy.capMs, policy.baseMs * 2 ** Math.min(attempt, 30));
  return random.next() * ceilingMs;
}

/** A wait that must not be shortened (Retry-After, a ban): the given time plus up to `spread` of it. */
export function atLeastWithJitterMs(waitMs: number, spread: number, random: Random): number {
  return waitMs + random.next() * spread * waitMs;
}
