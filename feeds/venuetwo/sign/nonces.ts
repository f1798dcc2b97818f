/**
 * Nonce rules of venuetwo V3 (sheet section 4.2): microseconds, at most 10 s from the venue's clock (5 s before April
 * 2026, 60 s by a change of July 2026), the newest 100 of a signer kept. V1 requests carry a timestamp and no nonce.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { NonceReservations } from "../../../engine/ports.js";
import { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";

/**
 * After a crash nonces run ahead of the clock by one and a half blocks at most, and each further start adds one: three in
 * a moment stay inside the narrowest window.
 */
const BLOCK_MS = 1_100;
/** Inside the narrowest window ever documented (5 s), with room for the error of our clock offset. */
export const MAX_AHEAD_MS = 4_000;
/** The widest window documented: until then a signed request may still be taken. */
export const NONCE_WINDOW_MS = 60_000;

export const MICROS_PER_MS = 1_000;

export function createVenuetwoNonces(
  clock: Clock,
  reservations: NonceReservations,
  clockOffsetMs: () => number,
): NonceSequencer {
  return new NonceSequencer({
    clock,
    // Signers of both rooms may be one address: each venue keeps its own marks.
    reservations: { reserve: (signer, floor, span) => reservations.reserve(`venuetwo:${signer}`, floor, span) },
    unitsPerMs: MICROS_PER_MS,
    blockMs: BLOCK_MS,
    maxAheadMs: MAX_AHEAD_MS,
    clockOffsetMs,
  });
}
