/**
 * Nonce rules of venueone (sheet section 7): milliseconds, per signer, strictly increasing; the 100 highest are kept
 * and the window is (T − 2 days, T + 1 day) with about 120 s less on both ends.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { NonceReservations } from "../../../engine/ports.js";
import { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";

/**
 * Short, although the window would allow hours: after a crash our nonces run ahead by a block and a half at most, and
 * another program of the same key whose nonces follow the clock would be "too low" once we used 100 of them.
 */
const BLOCK_MS = 60_000;
/** A process that is started again and again lives for longer than this each time, or sends nothing. */
const FIRST_BLOCK_MS = 1_000;
/** The window reaches two days back; behind a slow store an exit does not wait twice. */
const MAX_BEHIND_MS = 60_000;
/** The documented window behind the venue's clock: an action of an older nonce is refused. */
export const NONCE_LIFE_MS = 2 * 86_400_000;
/** Half of the documented day. */
const MAX_AHEAD_MS = 12 * 3_600_000;

export function createVenueoneNonces(
  clock: Clock,
  reservations: NonceReservations,
  clockOffsetMs: () => number,
): NonceSequencer {
  return new NonceSequencer({
    clock,
    // Signers of both rooms may be one address: each venue keeps its own marks.
    reservations: { reserve: (signer, floor, span) => reservations.reserve(`venueone:${signer}`, floor, span) },
    unitsPerMs: 1,
    blockMs: BLOCK_MS,
    firstBlockMs: FIRST_BLOCK_MS,
    maxBehindMs: MAX_BEHIND_MS,
    maxAheadMs: MAX_AHEAD_MS,
    clockOffsetMs,
  });
}
