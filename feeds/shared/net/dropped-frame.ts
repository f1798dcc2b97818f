/**
 * One debug line for each frame, or row of a frame, that changes nothing because it is wrong. What is only late, or came
 * twice, is counted and has no line: while two connections overlap every frame is.
 */
import type { Logger } from "../../../engine/domain/logger.js";
import { scrubLine } from "../../../engine/domain/scrub.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";

export type DropReason =
  /** It cannot be read. */
  | "MALFORMED"
  /** Figures that the listed grid cannot hold. */
  | "DRIFT"
  /** Readable, and impossible: crossed, disordered, a level without a price. */
  | "IMPOSSIBLE"
  /** Of a time that is not yet, or of no time. */
  | "WRONG_TIME"
  | "UNKNOWN_SYMBOL"
  | "UNKNOWN_KIND";

/** A name in a frame that cannot be read is whatever the venue wrote there. */
const MAX_NAME_CHARS = 32;

/** `symbol`: of the contract, or the venue's own name of one that is not known here; "" where the frame has none. */
export function logDropped(
  logger: Logger,
  venue: RoutableVenue,
  channel: string,
  reason: DropReason,
  symbol: string,
): void {
  logger.debug?.("frame.dropped", {
    venue,
    channel: scrubLine(channel, MAX_NAME_CHARS),
    symbol: scrubLine(symbol, MAX_NAME_CHARS),
    reason,
  });
}
