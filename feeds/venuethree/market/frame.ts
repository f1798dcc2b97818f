// hot path
/**
 * The registers a decoded frame lands in: one object per decoder, overwritten by each frame. All
 * fields keep one shape and one kind for life; -1 means "not in this frame".
 */

/** Not a frame of this venue, or cut or garbled: counted. Where `slot` is known, its book is in doubt. */
export const FRAME_MALFORMED = 0;
/** Whole book. */
export const FRAME_SNAPSHOT = 1;
/** Levels changed since `beginNonce`. */
export const FRAME_UPDATE = 2;
export const FRAME_TICKER = 3;
/** Any other kind: the caller reads it with decode-slow.ts. */
export const FRAME_OTHER = 4;
/** A book or ticker of a market that was never registered: ignored and counted. */
export const FRAME_FOREIGN = 5;
/** Figures that the market's decimals cannot hold, or numbers beyond 2^53: the book of `slot` must be invalidated. */
export const FRAME_DRIFT = 6;
export type FrameKind =
  | typeof FRAME_MALFORMED
  | typeof FRAME_SNAPSHOT
  | typeof FRAME_UPDATE
  | typeof FRAME_TICKER
  | typeof FRAME_OTHER
  | typeof FRAME_FOREIGN
  | typeof FRAME_DRIFT;

/** Levels per side of one frame beyond which it is taken for broken; the limit of the book itself. */
export const MAX_FRAME_LEVELS = 65_536;
/** A busy market has some 1500 levels a side. */
const INITIAL_LEVELS = 2048;

/** One side's levels: `[0, count)` of two arrays that double up to MAX_FRAME_LEVELS. */
export class FrameSide {
  count = 0;
  ticks = new Float64Array(INITIAL_LEVELS);
  lots = new Float64Array(INITIAL_LEVELS);

  /** False when the frame has more levels than a book may. */
  grow(): boolean {
    if (this.ticks.length >= MAX_FRAME_LEVELS) return false;
    this.ticks = doubled(this.ticks);
    this.lots = doubled(this.lots);
    return true;
  }
}

export class VenuethreeFrame {
  /** Slot of the market in the decoder's table; -1 when unknown. */
  slot = -1;
  /** The channel is a ticker's, even where the rest cannot be read: a fault then is not the book's. */
  isTicker = false;
  /** `timestamp` of the envelope; 0 where absent. */
  tsVenueMs = 0;
  nonce = -1;
  /** -1: the frame has none (2025), continuity cannot be checked. */
  beginNonce = -1;
  readonly bids = new FrameSide();
  readonly asks = new FrameSide();
  /** Best bid and offer of a ticker; lots 0 for an empty side. */
  touchBidTicks = 0;
  touchBidLots = 0;
  touchAskTicks = 0;
  touchAskLots = 0;

  reset(): void {
    this.slot = -1;
    this.isTicker = false;
    this.tsVenueMs = 0;
    this.nonce = -1;
    this.beginNonce = -1;
    this.bids.count = 0;
    this.asks.count = 0;
    this.touchBidTicks = 0;
    this.touchBidLots = 0;
    this.touchAskTicks = 0;
    this.touchAskLots = 0;
  }
}

function doubled(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(values.length * 2);
  grown.set(values);
  return grown;
}
