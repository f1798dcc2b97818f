// hot path
/**
 * Best bid and offer from a stream faster than the book. A side whose lots are 0 is empty: the venue
 * reports that nobody quotes there. `seq` shares the number space of the book's `seq` where the venue
 * has one, else 0 and venue times decide.
 */

import { type Changed, NO_LISTENER } from "./changed.js";

/** The stamps of a book that the comparison needs. */
export interface BookStamp {
  readonly seq: number;
  readonly tsVenueMs: number;
  readonly tsProvenNs: number;
}

/** If the book has not overtaken a touch by then, the touch carries a time or sequence from the future. */
const MAX_BEFORE_PROOF_NS = 2_000_000_000;

export class Touch {
  bidTicks = 0;
  bidLots = 0;
  askTicks = 0;
  askLots = 0;
  /** 0 where the venue has none, or before the first frame. */
  seq = 0;
  tsVenueMs = 0;
  /** Monotonic ns; 0 before the first frame. */
  tsRecvNs = 0;
  /** True if a frame was applied since the last clear. */
  present = false;
  /** Runs after each set and clear. */
  onChange: Changed = NO_LISTENER;

  /**
   * Applies one frame; lots 0 mean an empty side. Input that is not a safe integer, negative, or crossed (bid ≥ ask)
   * clears the touch and returns false: only the book is used then.
   */
  set(
    bidTicks: number,
    bidLots: number,
    askTicks: number,
    askLots: number,
    seq: number,
    tsVenueMs: number,
    tsRecvNs: number,
  ): boolean {
    if (
      !isTouchSide(bidTicks, bidLots) ||
      !isTouchSide(askTicks, askLots) ||
      (bidLots > 0 && askLots > 0 && bidTicks >= askTicks)
    ) {
      this.clear();
      return false;
    }
    this.bidTicks = bidLots > 0 ? bidTicks : 0;
    this.bidLots = bidLots;
    this.askTicks = askLots > 0 ? askTicks : 0;
    this.askLots = askLots;
    this.seq = seq;
    this.tsVenueMs = tsVenueMs;
    this.tsRecvNs = tsRecvNs;
    this.present = true;
    this.onChange.changed();
    return true;
  }

  clear(): void {
    this.bidTicks = 0;
    this.bidLots = 0;
    this.askTicks = 0;
    this.askLots = 0;
    this.seq = 0;
    this.tsVenueMs = 0;
    this.tsRecvNs = 0;
    this.present = false;
    this.onChange.changed();
  }
}

function isTouchSide(ticks: number, lots: number): boolean {
  return lots === 0 || (Number.isSafeInteger(lots) && lots > 0 && Number.isSafeInteger(ticks) && ticks > 0);
}

/**
 * Reports whether the touch describes a later moment than the book. Venue sequences decide where both have one, else
 * venue times; a tie goes to the book. A touch that came long before the book's last proof loses too.
 */
export function isTouchNewer(touch: Touch, book: BookStamp): boolean {
  if (!touch.present || book.tsProvenNs - touch.tsRecvNs > MAX_BEFORE_PROOF_NS) return false;
  if (touch.seq > 0 && book.seq > 0) return touch.seq > book.seq;
  return touch.tsVenueMs > book.tsVenueMs;
}
