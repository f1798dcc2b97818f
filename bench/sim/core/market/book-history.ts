/**
 * The venue's own memory of one book: every level change with its update id, so that the true book of any
 * recent update can be rebuilt by undoing from the present. Preallocated ring, newest overwrites oldest:
 *
 *   index  (count-N) … (count-1)      slot = index & MASK
 *          oldest kept   newest
 */
import type { SimSide } from "../model/types.js";

/** Power of two. About 20 minutes of a busy synthetic market. */
export const HISTORY_CAPACITY = 65_536;
const MASK = HISTORY_CAPACITY - 1;
const PUBLICATIONS_MAX = 4096;

/** Price → total quantity and order count of one side. */
export type LevelMap = Map<number, { qtyLots: number; orderCount: number }>;

export class BookHistory {
  #count = 0;
  readonly #seq = new Float64Array(HISTORY_CAPACITY);
  readonly #tsMs = new Float64Array(HISTORY_CAPACITY);
  readonly #isBid = new Uint8Array(HISTORY_CAPACITY);
  readonly #priceTicks = new Float64Array(HISTORY_CAPACITY);
  readonly #oldLots = new Float64Array(HISTORY_CAPACITY);
  readonly #oldOrders = new Uint32Array(HISTORY_CAPACITY);
  /** Publication time → update id, oldest first. */
  readonly #publications = new Map<number, number>();
  readonly #firstSeq: number;

  constructor(firstSeq: number) {
    this.#firstSeq = firstSeq;
  }

  record(seq: number, tsMs: number, side: SimSide, priceTicks: number, oldLots: number, oldOrders: number): void {
    const slot = this.#count & MASK;
    this.#seq[slot] = seq;
    this.#tsMs[slot] = tsMs;
    this.#isBid[slot] = side === "BUY" ? 1 : 0;
    this.#priceTicks[slot] = priceTicks;
    this.#oldLots[slot] = oldLots;
    this.#oldOrders[slot] = oldOrders;
    this.#count++;
  }

  rememberPublication(tsMs: number, seq: number): void {
    // Re-inserting moves the key to the end, so that the oldest is always first.
    this.#publications.delete(tsMs);
    this.#publications.set(tsMs, seq);
    if (this.#publications.size > PUBLICATIONS_MAX) {
      const oldest = this.#publications.keys().next();
      if (oldest.done === false) this.#publications.delete(oldest.value);
    }
  }

  /**
   * Update id in force at venue time: the remembered publication, else the last change at or before. Returns null for a
   * time before the kept history.
   */
  seqAtTime(tsMs: number): number | null {
    const published = this.#publications.get(tsMs);
    if (published !== undefined) return published;
    for (let index = this.#count - 1; index >= this.#oldest(); index--) {
      if ((this.#tsMs[index & MASK] ?? 0) <= tsMs) return this.#seq[index & MASK] ?? null;
    }
    return this.#oldest() === 0 ? this.#firstSeq : null;
  }

  /**
   * Undoes every change newer than `seq` on copies of the present sides. Returns the update id and time of
   * the state reached, or null when the memory does not reach back that far.
   */
  undoTo(seq: number, bids: LevelMap, asks: LevelMap): { readonly seq: number; readonly tsMs: number } | null {
    let index = this.#count - 1;
    for (; index >= this.#oldest(); index--) {
      const slot = index & MASK;
      const changeSeq = this.#seq[slot] ?? 0;
      if (changeSeq <= seq) return { seq: changeSeq, tsMs: this.#tsMs[slot] ?? 0 };
      const side = this.#isBid[slot] === 1 ? bids : asks;
      const price = this.#priceTicks[slot] ?? 0;
      const oldLots = this.#oldLots[slot] ?? 0;
      if (oldLots === 0) side.delete(price);
      else side.set(price, { qtyLots: oldLots, orderCount: this.#oldOrders[slot] ?? 0 });
    }
    // With every change undone this is the empty book before the first one, unless older changes were overwritten.
    return this.#oldest() === 0 && seq >= this.#firstSeq ? { seq: this.#firstSeq, tsMs: 0 } : null;
  }

  #oldest(): number {
    return Math.max(0, this.#count - HISTORY_CAPACITY);
  }
}
