// hot path
/**
 * The registers a decoded frame lands in: one object per decoder, overwritten by each frame. All
 * fields keep one shape and one kind for life; -1 means "not in this frame".
 */

/** Not a frame of this venue, or cut or garbled: counted, otherwise ignored. */
export const FRAME_MALFORMED = 0;
export const FRAME_DEPTH = 1;
export const FRAME_BOOK_TICKER = 2;
export const FRAME_TRADE = 3;
/** A well-formed frame of a slower kind (markPrice, ticker, acknowledgement, error): the caller parses it as JSON. */
export const FRAME_OTHER = 4;
/** A hot kind for a symbol that was never registered: ignored and counted. */
export const FRAME_FOREIGN = 5;
/** Figures that the instrument's decimals cannot hold, or ids beyond 2^53: the book of `slot` must be invalidated. */
export const FRAME_DRIFT = 6;
export type FrameKind =
  | typeof FRAME_MALFORMED
  | typeof FRAME_DEPTH
  | typeof FRAME_BOOK_TICKER
  | typeof FRAME_TRADE
  | typeof FRAME_OTHER
  | typeof FRAME_FOREIGN
  | typeof FRAME_DRIFT;

/** Levels per side of one frame beyond which it is taken for broken; the limit of the book itself. */
export const MAX_FRAME_LEVELS = 65_536;
const INITIAL_LEVELS = 2048;

export class VenuetwoFrame {
  /** Slot of the symbol in the decoder's table; -1 when unknown. */
  slot = -1;
  /** `E`, `T`; 0 where absent. */
  tsEventMs = 0;
  tsTransactionMs = 0;
  /** `U`, `u`, `pu` of a diff; `lastId` is also `bookTicker.u` and a snapshot's `lastUpdateId`. */
  firstId = -1;
  lastId = -1;
  prevId = -1;
  bidCount = 0;
  askCount = 0;
  bidTicks = new Float64Array(INITIAL_LEVELS);
  bidLots = new Float64Array(INITIAL_LEVELS);
  askTicks = new Float64Array(INITIAL_LEVELS);
  askLots = new Float64Array(INITIAL_LEVELS);
  touchBidTicks = -1;
  touchBidLots = -1;
  touchAskTicks = -1;
  touchAskLots = -1;
  tradeId = -1;
  tradeTicks = -1;
  tradeLots = -1;
  /** `m`: the buyer was the maker, so the taker sold. */
  isBuyerMaker = false;

  reset(): void {
    this.slot = -1;
    this.tsEventMs = 0;
    this.tsTransactionMs = 0;
    this.firstId = -1;
    this.lastId = -1;
    this.prevId = -1;
    this.bidCount = 0;
    this.askCount = 0;
    this.touchBidTicks = -1;
    this.touchBidLots = -1;
    this.touchAskTicks = -1;
    this.touchAskLots = -1;
    this.tradeId = -1;
    this.tradeTicks = -1;
    this.tradeLots = -1;
    this.isBuyerMaker = false;
  }

  /** Doubles one side's arrays up to MAX_FRAME_LEVELS; false when the frame has more levels than a book may. */
  growBids(): boolean {
    if (this.bidTicks.length >= MAX_FRAME_LEVELS) return false;
    this.bidTicks = doubled(this.bidTicks);
    this.bidLots = doubled(this.bidLots);
    return true;
  }

  growAsks(): boolean {
    if (this.askTicks.length >= MAX_FRAME_LEVELS) return false;
    this.askTicks = doubled(this.askTicks);
    this.askLots = doubled(this.askLots);
    return true;
  }
}

function doubled(values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(values.length * 2);
  grown.set(values);
  return grown;
}
