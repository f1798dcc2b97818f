// hot path
/**
 * Levels as one sorted array: the part of a ladder that lies far from the touch.
 * Invariant outside a bulk load: `keys[0 … count-1]` strictly ascending, best last, lots > 0. A key is
 * the price in ticks for bids and minus the price for asks, so that both sides run the same code and
 * "better" always means "greater".
 *
 *   keys: [ worst … … … best | unused … ]     inserts and removals near the best move few elements
 *
 * A bulk load only appends, and `finishLoad` puts the levels in order once. It reverses them if they
 * came best first, as venues send snapshots; otherwise it sorts them. So the order of a snapshot's
 * levels does not change the content, and hardly the cost.
 */

/** Levels a side has room for at first. */
export const INITIAL_LEVELS = 32;

/** Steps walked from the best end before the search turns binary: most updates lie this near to the touch. */
const NEAR_STEPS = 8;
/** Below this many elements a plain loop is faster than copyWithin. */
const SHORT_MOVE = 24;

export class BookSide {
  keys: Float64Array;
  lots: Float64Array;
  count = 0;
  readonly #maxLevels: number;
  #loading = false;
  /** True while each level of the load was worse than the one before, and none empty. */
  #isBestFirst = true;

  constructor(maxLevels: number) {
    const capacity = Math.min(INITIAL_LEVELS, maxLevels);
    this.keys = new Float64Array(capacity);
    this.lots = new Float64Array(capacity);
    this.#maxLevels = maxLevels;
  }

  clear(): void {
    this.count = 0;
    this.#loading = false;
  }

  /** Empties the side and starts a bulk load: `load` adds levels until `finishLoad`. */
  beginLoad(): void {
    this.count = 0;
    this.#loading = true;
    this.#isBestFirst = true;
  }

  /** Quantity 0 removes what was loaded before. Returns false if the side would grow past its maximum. */
  load(key: number, qtyLots: number): boolean {
    // A full side is already in order, and `apply` checks for room.
    if (!this.#loading) return this.apply(key, qtyLots);
    const count = this.count;
    if (this.#isBestFirst && (qtyLots === 0 || (count > 0 && key >= (this.keys[count - 1] as number)))) {
      this.#isBestFirst = false;
    }
    if (count === this.keys.length && !this.#grow()) {
      // The side is full, perhaps of repeats.
      this.finishLoad();
      return this.apply(key, qtyLots);
    }
    this.keys[count] = key;
    this.lots[count] = qtyLots;
    this.count = count + 1;
    return true;
  }

  finishLoad(): void {
    if (!this.#loading) return;
    this.#loading = false;
    if (this.#isBestFirst) reverse(this.keys, this.lots, this.count);
    else this.#sort();
  }

  /**
   * Sets a level to an absolute quantity; 0 removes it. Returns false, with nothing changed, if the side would grow
   * past its maximum.
   */
  apply(key: number, qtyLots: number): boolean {
    const keys = this.keys;
    const count = this.count;
    const at = findLevel(keys, count, key);
    if (at < count && keys[at] === key) {
      if (qtyLots > 0) {
        this.lots[at] = qtyLots;
      } else {
        this.count = count - 1;
        closeGap(keys, this.lots, at, count);
      }
      return true;
    }
    if (qtyLots === 0) return true;
    if (count === keys.length && !this.#grow()) return false;
    // #grow replaces the arrays: read them again.
    openGap(this.keys, this.lots, at, count);
    this.keys[at] = key;
    this.lots[at] = qtyLots;
    this.count = count + 1;
    return true;
  }

  /** Adds a level better than all present ones. The caller checks the maximum. */
  append(key: number, qtyLots: number): void {
    if (this.count === this.keys.length && !this.#grow()) return;
    this.keys[this.count] = key;
    this.lots[this.count] = qtyLots;
    this.count++;
  }

  has(key: number): boolean {
    const at = findLevel(this.keys, this.count, key);
    return at < this.count && this.keys[at] === key;
  }

  /** Checks the whole invariant; apply keeps it by construction, and tests prove that. */
  isOrdered(): boolean {
    for (let index = 0; index < this.count; index++) {
      if (!((this.lots[index] as number) > 0)) return false;
      if (index > 0 && !((this.keys[index] as number) > (this.keys[index - 1] as number))) return false;
    }
    return true;
  }

  /** Cold path: allocates. If a level comes more than once, the last one counts. */
  #sort(): void {
    const { keys, lots, count } = this;
    const order = new Uint32Array(count);
    for (let index = 0; index < count; index++) order[index] = index;
    order.sort((left, right) => (keys[left] as number) - (keys[right] as number) || left - right);
    const sortedKeys = new Float64Array(keys.length);
    const sortedLots = new Float64Array(keys.length);
    let kept = 0;
    for (let index = 0; index < count; index++) {
      const at = order[index] as number;
      const key = keys[at] as number;
      if (index + 1 < count && keys[order[index + 1] as number] === key) continue;
      const qtyLots = lots[at] as number;
      if (qtyLots === 0) continue;
      sortedKeys[kept] = key;
      sortedLots[kept] = qtyLots;
      kept++;
    }
    this.keys = sortedKeys;
    this.lots = sortedLots;
    this.count = kept;
  }

  #grow(): boolean {
    const capacity = this.keys.length;
    if (capacity >= this.#maxLevels) return false;
    const next = Math.min(capacity * 2, this.#maxLevels);
    const keys = new Float64Array(next);
    const lots = new Float64Array(next);
    keys.set(this.keys);
    lots.set(this.lots);
    this.keys = keys;
    this.lots = lots;
    return true;
  }
}

/** Returns the index of the first element ≥ key, or `count` if there is none. */
function findLevel(keys: Float64Array, count: number, key: number): number {
  let high = count;
  const nearEnd = count > NEAR_STEPS ? count - NEAR_STEPS : 0;
  while (high > nearEnd) {
    if ((keys[high - 1] as number) < key) return high;
    high--;
  }
  let low = 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as number) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function openGap(keys: Float64Array, lots: Float64Array, at: number, count: number): void {
  if (count - at > SHORT_MOVE) {
    keys.copyWithin(at + 1, at, count);
    lots.copyWithin(at + 1, at, count);
    return;
  }
  for (let index = count; index > at; index--) {
    keys[index] = keys[index - 1] as number;
    lots[index] = lots[index - 1] as number;
  }
}

function closeGap(keys: Float64Array, lots: Float64Array, at: number, count: number): void {
  if (count - at > SHORT_MOVE) {
    keys.copyWithin(at, at + 1, count);
    lots.copyWithin(at, at + 1, count);
    return;
  }
  for (let index = at + 1; index < count; index++) {
    keys[index - 1] = keys[index] as number;
    lots[index - 1] = lots[index] as number;
  }
}

function reverse(keys: Float64Array, lots: Float64Array, count: number): void {
  for (let low = 0, high = count - 1; low < high; low++, high--) {
    const key = keys[low] as number;
    const qtyLots = lots[low] as number;
    keys[low] = keys[high] as number;
    lots[low] = lots[high] as number;
    keys[high] = key;
    lots[high] = qtyLots;
  }
}
