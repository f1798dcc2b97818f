// hot path
/**
 * Ticks between the listeners of the markets and the drain: typed arrays, one per column, capacity a power of two.
 * When it is full the oldest row is overwritten and counted, since a newer price is worth more than an older one.
 *
 *   [ 4 | 5 | 6 | . | . | 1 | 2 | 3 ]   head counts rows written, tail rows taken; index = count & mask
 *               ^ head    ^ tail
 *
 * Invariant: written = taken + dropped + size. One writer turn and one reader turn at a time (one thread).
 */

export const SOURCE_BOOK = 0;
export const SOURCE_TOUCH = 1;
export const SOURCE_TICKER = 2;
export type TickSource = typeof SOURCE_BOOK | typeof SOURCE_TOUCH | typeof SOURCE_TICKER;

/** In native ticks and lots of the market; mark and last as the venue's text, "" while unknown. */
export class TickRing {
  readonly market: Uint16Array;
  readonly rxNs: Float64Array;
  readonly exMs: Float64Array;
  readonly bidTicks: Float64Array;
  readonly bidLots: Float64Array;
  readonly askTicks: Float64Array;
  readonly askLots: Float64Array;
  readonly seq: Float64Array;
  readonly source: Uint8Array;
  /** References to the venue's own texts; nothing is copied. */
  readonly mark: string[];
  readonly last: string[];
  readonly mask: number;
  head = 0;
  tail = 0;
  dropped = 0;

  /** Capacity is rounded up to a power of two. */
  constructor(capacity: number) {
    let size = 1;
    while (size < capacity) size *= 2;
    this.mask = size - 1;
    this.market = new Uint16Array(size);
    this.rxNs = new Float64Array(size);
    this.exMs = new Float64Array(size);
    this.bidTicks = new Float64Array(size);
    this.bidLots = new Float64Array(size);
    this.askTicks = new Float64Array(size);
    this.askLots = new Float64Array(size);
    this.seq = new Float64Array(size);
    this.source = new Uint8Array(size);
    this.mark = new Array<string>(size).fill("");
    this.last = new Array<string>(size).fill("");
  }

  get size(): number {
    return this.head - this.tail;
  }

  /** Returns the index of the row to fill next; a full ring overwrites its oldest row. */
  push(): number {
    if (this.head - this.tail > this.mask) {
      this.tail += 1;
      this.dropped += 1;
    }
    const at = this.head & this.mask;
    this.head += 1;
    return at;
  }
}
