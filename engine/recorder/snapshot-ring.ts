// hot path
/**
 * Book snapshots between the market taps and the drain: the top levels of both sides, copied into typed arrays.
 * Bounded like tick-ring.ts: when it is full, the oldest is overwritten and counted.
 *
 *   row r: levels [r·depth, r·depth + count) of bidTicks, bidLots, askTicks, askLots
 */
import type { Market } from "../market/market.js";

export const REASON_PERIODIC = 0;
export const REASON_GAP = 1;
export const REASON_PRE_ROUTE = 2;
export type SnapshotReason = typeof REASON_PERIODIC | typeof REASON_GAP | typeof REASON_PRE_ROUTE;

export class SnapshotRing {
  readonly depth: number;
  readonly market: Uint16Array;
  readonly rxNs: Float64Array;
  readonly exMs: Float64Array;
  readonly seq: Float64Array;
  readonly reason: Uint8Array;
  readonly bidCount: Uint16Array;
  readonly askCount: Uint16Array;
  readonly bidTicks: Float64Array;
  readonly bidLots: Float64Array;
  readonly askTicks: Float64Array;
  readonly askLots: Float64Array;
  readonly mask: number;
  head = 0;
  tail = 0;
  dropped = 0;

  constructor(capacity: number, depth: number) {
    let size = 1;
    while (size < capacity) size *= 2;
    this.mask = size - 1;
    this.depth = depth;
    this.market = new Uint16Array(size);
    this.rxNs = new Float64Array(size);
    this.exMs = new Float64Array(size);
    this.seq = new Float64Array(size);
    this.reason = new Uint8Array(size);
    this.bidCount = new Uint16Array(size);
    this.askCount = new Uint16Array(size);
    this.bidTicks = new Float64Array(size * depth);
    this.bidLots = new Float64Array(size * depth);
    this.askTicks = new Float64Array(size * depth);
    this.askLots = new Float64Array(size * depth);
  }

  get size(): number {
    return this.head - this.tail;
  }

  /** The market's main book must be LIVE. `rxNs`: the time of the snapshot. */
  take(marketIndex: number, market: Market, reason: SnapshotReason, rxNs: number): void {
    if (this.head - this.tail > this.mask) {
      this.tail += 1;
      this.dropped += 1;
    }
    const at = this.head & this.mask;
    this.head += 1;
    const book = market.book;
    this.market[at] = marketIndex;
    this.rxNs[at] = rxNs;
    this.exMs[at] = book.tsVenueMs;
    this.seq[at] = book.seq;
    this.reason[at] = reason;
    const bids = Math.min(this.depth, book.bidCount);
    const asks = Math.min(this.depth, book.askCount);
    this.bidCount[at] = bids;
    this.askCount[at] = asks;
    const base = at * this.depth;
    for (let level = 0; level < bids; level++) {
      this.bidTicks[base + level] = book.bidTicks(level);
      this.bidLots[base + level] = book.bidLots(level);
    }
    for (let level = 0; level < asks; level++) {
      this.askTicks[base + level] = book.askTicks(level);
      this.askLots[base + level] = book.askLots(level);
    }
  }
}
