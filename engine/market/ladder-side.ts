// hot path
/**
 * One side of a book as a price ladder. Near the touch a level's place follows from its price, so that
 * setting one costs no search and moves nothing; levels further away are in a sorted array (BookSide).
 *
 *   far (sorted array, worst … best) | near: one slot per price step, base … base+width-1
 *   ---------------------------------+--------------------------------------------------- better →
 *                                      0 0 3 0 7 … 2 4 [best] 0 0 0 (headroom)
 *
 * A key is the price in ticks for bids and minus the price for asks, so that "better" always means
 * "greater". Invariants: every far key is below every near slot; a near slot is occupied iff its lots
 * are > 0 iff its bit is set; `bestIndex` is the highest set bit, and is -1 only if the side is empty.
 * The window follows the best price (hysteresis of half its width) and doubles while too many changes
 * land beyond it.
 */
import { BookSide } from "./book-side.js";

const INITIAL_WIDTH = 512;
/** At most 128 KiB of lots per side. */
const MAX_WIDTH = 16_384;
/** The width of the window is checked again after this many changes beyond it. */
const FAR_CHANGES_PER_CHECK = 512;
/** Widen when more than one change in this many lies beyond the window. */
const WIDEN_SHARE = 16;

export class LadderSide {
  /** Occupied levels, near and far. */
  count = 0;
  /** Window slot of the best level; -1 when empty. */
  bestIndex = -1;
  /** Lots by window slot; 0 is empty. */
  near = new Float64Array(INITIAL_WIDTH);
  readonly far: BookSide;
  /** One bit per slot. */
  #bits = new Int32Array(INITIAL_WIDTH >>> 5);
  #width = INITIAL_WIDTH;
  /** Step number of slot 0. */
  #base = 0;
  #step: number;
  readonly #maxLevels: number;
  #changeCount = 0;
  #farChangeCount = 0;
  /**
   * While loading, levels gather in `far` in any order, and `bestIndex` is -1, which sends all of them through the slow
   * path.
   */
  #isLoading = false;

  /** `stepTicks`: the venue's price increment. Prices off that grid are legal but make the side fall back to steps of one tick. */
  constructor(maxLevels: number, stepTicks: number) {
    this.far = new BookSide(maxLevels);
    this.#maxLevels = maxLevels;
    this.#step = stepTicks;
  }

  /** -Infinity when empty. */
  get bestKey(): number {
    return this.bestIndex < 0 ? Number.NEGATIVE_INFINITY : (this.#base + this.bestIndex) * this.#step;
  }

  /** Key of the worst level of the side; -Infinity when empty. */
  get worstKey(): number {
    if (this.far.count > 0) return this.far.keys[0] as number;
    return this.bestIndex < 0 ? Number.NEGATIVE_INFINITY : this.keyOf(this.#lowestIndex());
  }

  /** Returns the key of a window slot. */
  keyOf(index: number): number {
    return (this.#base + index) * this.#step;
  }

  /** Returns the next occupied slot below `index`, or -1 if the window has none (far levels follow then). */
  indexBelow(index: number): number {
    let word = index >>> 5;
    let bits = (this.#bits[word] as number) & ((1 << (index & 31)) - 1);
    while (bits === 0) {
      if (word === 0) return -1;
      bits = this.#bits[--word] as number;
    }
    return (word << 5) + 31 - Math.clz32(bits);
  }

  clear(): void {
    if (this.bestIndex >= 0) {
      this.near.fill(0);
      this.#bits.fill(0);
    }
    this.far.clear();
    this.count = 0;
    this.bestIndex = -1;
    this.#isLoading = false;
  }

  /** Empties the side for a replacement. */
  beginLoad(): void {
    this.clear();
    this.far.beginLoad();
    this.#isLoading = true;
  }

  /** Moves the loaded levels to their places; readers see none of them before. */
  finishLoad(): void {
    if (!this.#isLoading) return;
    this.#isLoading = false;
    const { far } = this;
    far.finishLoad();
    this.count = far.count;
    if (far.count === 0) return;
    this.#base = this.#bestStep() - this.#headroomIndex();
    this.#pullFromFar();
    this.bestIndex = this.#headroomIndex();
  }

  /**
   * Sets a level to an absolute quantity; 0 removes it. Returns false, with nothing changed, if the key is no safe
   * integer or the side would grow past its maximum.
   */
  apply(key: number, qtyLots: number): boolean {
    const index = key / this.#step - this.#base;
    // Wraps after 2^31 changes without a check: the width is then checked early, once.
    this.#changeCount = (this.#changeCount + 1) | 0;
    // The unsigned view sends negatives, fractions and everything beyond the window through the slow path.
    if (index >>> 0 !== index || index >= this.#width || this.bestIndex < 0) return this.#applySlow(key, qtyLots);
    const before = this.near[index] as number;
    if (qtyLots > 0) {
      if (before === 0) {
        if (this.count >= this.#maxLevels) return false;
        this.count++;
        const word = index >>> 5;
        this.#bits[word] = (this.#bits[word] as number) | (1 << (index & 31));
        if (index > this.bestIndex) this.bestIndex = index;
      }
      this.near[index] = qtyLots;
      return true;
    }
    if (before !== 0) this.#remove(index);
    return true;
  }

  /** Copies the best levels, best first, into the arrays; returns how many. */
  copyLevels(maxCount: number, outKeys: Float64Array, outLots: Float64Array): number {
    let count = 0;
    for (let index = this.bestIndex; index >= 0 && count < maxCount; index = this.indexBelow(index)) {
      outKeys[count] = this.keyOf(index);
      outLots[count] = this.near[index] as number;
      count++;
    }
    const far = this.far;
    for (let index = far.count - 1; index >= 0 && count < maxCount; index--) {
      outKeys[count] = far.keys[index] as number;
      outLots[count] = far.lots[index] as number;
      count++;
    }
    return count;
  }

  /** Key of a level by rank, 0 the best; NaN beyond the count. Walks: for reports, not for loops. */
  keyAt(levelIndex: number): number {
    const index = this.#indexOfRank(levelIndex);
    if (index >= 0) return this.keyOf(index);
    return this.#farAt(this.far.keys, levelIndex);
  }

  lotsAt(levelIndex: number): number {
    const index = this.#indexOfRank(levelIndex);
    if (index >= 0) return this.near[index] as number;
    return this.#farAt(this.far.lots, levelIndex);
  }

  /** Checks all invariants; apply keeps them by construction, and tests prove that. */
  isConsistent(): boolean {
    let nearCount = 0;
    let highest = -1;
    for (let index = 0; index < this.#width; index++) {
      const lots = this.near[index] as number;
      const isSet = ((this.#bits[index >>> 5] as number) & (1 << (index & 31))) !== 0;
      if (lots < 0 || lots > 0 !== isSet) return false;
      if (isSet) {
        nearCount++;
        highest = index;
      }
    }
    const { far } = this;
    const farBelow = far.count === 0 || (far.keys[far.count - 1] as number) < this.keyOf(0);
    return (
      highest === this.bestIndex &&
      nearCount + far.count === this.count &&
      far.isOrdered() &&
      farBelow &&
      !(highest < 0 && far.count > 0)
    );
  }

  #remove(index: number): void {
    this.near[index] = 0;
    this.count--;
    const word = index >>> 5;
    this.#bits[word] = (this.#bits[word] as number) & ~(1 << (index & 31));
    if (index !== this.bestIndex) return;
    this.bestIndex = this.indexBelow(index);
    if (this.far.count === 0) return;
    // The best price sank: the window follows before it runs empty.
    if (this.bestIndex < this.#width >>> 2) {
      this.#moveBase(this.#bestStep() - this.#headroomIndex());
    }
  }

  /** Returns the step number of the best level anywhere; the side must not be empty. */
  #bestStep(): number {
    if (this.bestIndex >= 0) return this.#base + this.bestIndex;
    return (this.far.keys[this.far.count - 1] as number) / this.#step;
  }

  #applySlow(key: number, qtyLots: number): boolean {
    if (!Number.isSafeInteger(key)) return false;
    const stepNumber = key / this.#step;
    if (this.#isLoading) {
      // Gathered levels have a price but no place yet, so the grid may still change.
      if (Math.floor(stepNumber) !== stepNumber && qtyLots > 0) this.#step = 1;
      return this.far.load(key, qtyLots);
    }
    if (Math.floor(stepNumber) !== stepNumber) {
      if (qtyLots === 0) return true;
      if (this.count >= this.#maxLevels) return false;
      this.#regrid();
      return this.apply(key, qtyLots);
    }
    if (this.count === 0) {
      if (qtyLots === 0) return true;
      if (this.#maxLevels < 1) return false;
      this.#base = stepNumber - this.#headroomIndex();
      this.#occupyBest(this.#headroomIndex(), qtyLots);
      return true;
    }
    if (stepNumber >= this.#base + this.#width) {
      if (qtyLots === 0) return true;
      if (this.count >= this.#maxLevels) return false;
      this.#moveBase(stepNumber - this.#headroomIndex());
      this.#occupyBest(this.#headroomIndex(), qtyLots);
      return true;
    }
    return this.#applyFar(key, qtyLots);
  }

  /** Adds a level better than all others, inside the window. */
  #occupyBest(index: number, qtyLots: number): void {
    this.near[index] = qtyLots;
    this.#bits[index >>> 5] = (this.#bits[index >>> 5] as number) | (1 << (index & 31));
    this.bestIndex = index;
    this.count++;
  }

  #applyFar(key: number, qtyLots: number): boolean {
    const { far } = this;
    const before = far.count;
    if (this.count >= this.#maxLevels && qtyLots > 0 && !far.has(key)) return false;
    if (!far.apply(key, qtyLots)) return false;
    this.count += far.count - before;
    if (++this.#farChangeCount >= FAR_CHANGES_PER_CHECK) this.#judgeWidth();
    return true;
  }

  #judgeWidth(): void {
    const isNarrow = this.#farChangeCount * WIDEN_SHARE > this.#changeCount;
    this.#farChangeCount = 0;
    this.#changeCount = 0;
    if (!isNarrow || this.#width >= MAX_WIDTH) return;
    const added = this.#width;
    const near = new Float64Array(2 * added);
    const bits = new Int32Array((2 * added) >>> 5);
    near.set(this.near, added);
    bits.set(this.#bits, added >>> 5);
    this.near = near;
    this.#bits = bits;
    this.#width = 2 * added;
    this.#base -= added;
    if (this.bestIndex >= 0) this.bestIndex += added;
    this.#pullFromFar();
  }

  /** Slot of the best level in a new window: three quarters of the window lie below it. */
  #headroomIndex(): number {
    return (this.#width >>> 2) * 3;
  }

  /**
   * Moves the window so that slot 0 is step `base`. Levels that leave it at the bottom go to far; far levels that it
   * now covers come in.
   */
  #moveBase(base: number): void {
    const shift = base - this.#base;
    if (shift > 0) this.#moveUp(shift);
    else if (shift < 0) this.#moveDown(-shift);
    this.#base = base;
    if (shift < 0) this.#pullFromFar();
    this.bestIndex = this.#highestIndex();
  }

  #moveUp(shift: number): void {
    const width = this.#width;
    const leaving = shift < width ? shift : width;
    // Worst first: each is better than all of far, so far grows at its end.
    for (let index = 0; index < leaving; index++) {
      const lots = this.near[index] as number;
      if (lots > 0) this.far.append(this.keyOf(index), lots);
    }
    this.near.copyWithin(0, leaving);
    this.near.fill(0, width - leaving);
    this.#rebuildBits();
  }

  #moveDown(shift: number): void {
    const width = this.#width;
    const moved = shift < width ? shift : width;
    // Only headroom above the best can be lost: the caller never moves the best out of the window.
    this.near.copyWithin(moved, 0, width - moved);
    this.near.fill(0, 0, moved);
    this.#rebuildBits();
  }

  #pullFromFar(): void {
    const { far } = this;
    while (far.count > 0) {
      const key = far.keys[far.count - 1] as number;
      const index = key / this.#step - this.#base;
      if (index < 0) break;
      this.near[index] = far.lots[far.count - 1] as number;
      this.#bits[index >>> 5] = (this.#bits[index >>> 5] as number) | (1 << (index & 31));
      far.count--;
    }
  }

  #rebuildBits(): void {
    const bits = this.#bits;
    for (let word = 0; word < bits.length; word++) {
      let value = 0;
      for (let bit = 0; bit < 32; bit++) if ((this.near[(word << 5) + bit] as number) > 0) value |= 1 << bit;
      bits[word] = value;
    }
  }

  /** Cold path, at most once: a price off the venue's stated grid. All levels move to a ladder of single ticks. */
  #regrid(): void {
    const keys = new Float64Array(this.count);
    const lots = new Float64Array(this.count);
    const count = this.copyLevels(this.count, keys, lots);
    this.clear();
    this.#step = 1;
    for (let index = 0; index < count; index++) this.apply(keys[index] as number, lots[index] as number);
  }

  #indexOfRank(levelIndex: number): number {
    let index = this.bestIndex;
    for (let rank = 0; rank < levelIndex && index >= 0; rank++) index = this.indexBelow(index);
    return levelIndex >= 0 ? index : -1;
  }

  #farAt(values: Float64Array, levelIndex: number): number {
    const nearCount = this.count - this.far.count;
    const at = this.far.count - 1 - (levelIndex - nearCount);
    return levelIndex >= nearCount && at >= 0 ? (values[at] as number) : Number.NaN;
  }

  #highestIndex(): number {
    for (let word = this.#bits.length - 1; word >= 0; word--) {
      const bits = this.#bits[word] as number;
      if (bits !== 0) return (word << 5) + 31 - Math.clz32(bits);
    }
    return -1;
  }

  #lowestIndex(): number {
    for (let word = 0; word < this.#bits.length; word++) {
      const bits = this.#bits[word] as number;
      if (bits !== 0) return (word << 5) + 31 - Math.clz32(bits & -bits);
    }
    return -1;
  }
}
