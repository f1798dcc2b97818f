// hot path
/**
 * Keeps one book equal to the venue's, by the venue's rule for its book stream: a snapshot, then updates of which each
 * says at which engine nonce it begins; that must be the nonce of the frame before. `offset` proves nothing (it has
 * holes and belongs to one API server), so it is not looked at.
 *
 * Invariant: the book is LIVE only while that chain is unbroken. Whatever breaks it (a gap, figures out of range, a
 * crossed result) invalidates the book first; the caller repairs after. Only a snapshot makes it LIVE again.
 *
 * Decided here: a frame whose nonce is not above what was applied came twice or late and is ignored, snapshots too, so
 * no book moves backwards. A frame without `begin_nonce` (2025) cannot be checked: it is applied and counted.
 */
import { type Book, INVALID_GAP } from "../../../engine/market/book.js";
import type { FrameSide, VenuethreeFrame } from "./frame.js";

/** The outcome of a frame. */
export const CHAIN_APPLIED = 0;
/** Twice, or late. */
export const CHAIN_IGNORED = 1;
/** An update while there is no book to apply it to. */
export const CHAIN_EARLY = 2;
/** The chain broke here: the book has been invalidated. */
export const CHAIN_GAP = 3;
/** The book refused the result (crossed, impossible level) and has invalidated itself. */
export const CHAIN_BROKEN = 4;
export type ChainResult =
  | typeof CHAIN_APPLIED
  | typeof CHAIN_IGNORED
  | typeof CHAIN_EARLY
  | typeof CHAIN_GAP
  | typeof CHAIN_BROKEN;

const NOT_LIVE = -1;

export class BookChain {
  readonly book: Book;
  /** Nonce of the last frame in the book; NOT_LIVE without one. */
  #nonce = NOT_LIVE;
  appliedCount = 0;
  ignoredCount = 0;
  earlyCount = 0;
  gapCount = 0;
  brokenCount = 0;
  /** Updates applied whose place in the chain could not be checked. */
  uncheckedCount = 0;

  constructor(book: Book) {
    this.book = book;
  }

  get isLive(): boolean {
    return this.#nonce !== NOT_LIVE;
  }

  /** Waits for a snapshot. */
  beginSync(): void {
    this.#nonce = NOT_LIVE;
    this.book.beginSync();
  }

  /** Invalidates from outside (connection lost, protocol drift, audit). */
  invalidate(reason: string): void {
    this.#nonce = NOT_LIVE;
    this.book.invalidate(reason);
  }

  onSnapshot(frame: VenuethreeFrame, tsRecvNs: number): ChainResult {
    if (frame.nonce < this.#nonce) {
      this.ignoredCount++;
      return CHAIN_IGNORED;
    }
    this.book.beginSnapshot();
    return this.#apply(frame, tsRecvNs);
  }

  onUpdate(frame: VenuethreeFrame, tsRecvNs: number): ChainResult {
    if (this.#nonce === NOT_LIVE) {
      this.earlyCount++;
      return CHAIN_EARLY;
    }
    if (frame.nonce <= this.#nonce) {
      this.ignoredCount++;
      return CHAIN_IGNORED;
    }
    if (frame.beginNonce < 0) {
      this.uncheckedCount++;
    } else if (frame.beginNonce !== this.#nonce) {
      this.#nonce = NOT_LIVE;
      this.book.invalidate(INVALID_GAP);
      this.gapCount++;
      return CHAIN_GAP;
    }
    return this.#apply(frame, tsRecvNs);
  }

  #apply(frame: VenuethreeFrame, tsRecvNs: number): ChainResult {
    applyBids(this.book, frame.bids);
    applyAsks(this.book, frame.asks);
    if (!this.book.commit(frame.nonce, frame.tsVenueMs, tsRecvNs)) {
      this.#nonce = NOT_LIVE;
      this.brokenCount++;
      return CHAIN_BROKEN;
    }
    this.#nonce = frame.nonce;
    this.appliedCount++;
    return CHAIN_APPLIED;
  }
}

function applyBids(book: Book, side: FrameSide): void {
  const { ticks, lots, count } = side;
  for (let index = 0; index < count; index++) book.applyBid(ticks[index] as number, lots[index] as number);
}

function applyAsks(book: Book, side: FrameSide): void {
  const { ticks, lots, count } = side;
  for (let index = 0; index < count; index++) book.applyAsk(ticks[index] as number, lots[index] as number);
}
