/**
 * Counts weight over a sliding window in a fixed ring of buckets.
 *
 * Invariant: whatever was added stays counted for at least `windowMs` (and at most one bucket longer),
 * so a caller that keeps `used ≤ limit` never exceeds the limit over any stretch of `windowMs`.
 *
 *   sums: [ b0 | b1 | … | bN ]   N + 1 buckets of windowMs / N each; slot = bucketIndex mod (N + 1)
 */
export class WeightWindow {
  readonly #bucketMs: number;
  readonly #sums: Float64Array;
  #headBucketIndex = 0;
  #used = 0;

  constructor(windowMs: number, bucketCount = 60) {
    this.#bucketMs = windowMs / bucketCount;
    this.#sums = new Float64Array(bucketCount + 1);
  }

  /** Weight added during the last window. `nowMs` is monotonic and never goes back. */
  used(nowMs: number): number {
    this.#advance(nowMs);
    return this.#used;
  }

  add(nowMs: number, weight: number): void {
    this.#advance(nowMs);
    const slot = this.#headBucketIndex % this.#sums.length;
    this.#sums[slot] = (this.#sums[slot] ?? 0) + weight;
    this.#used += weight;
  }

  /** As `add`, for weight that the venue counts and forgets after `leftMs`, at most a window. */
  addFor(nowMs: number, weight: number, leftMs: number): void {
    this.#advance(nowMs);
    const length = this.#sums.length;
    // The bucket that drops out of the ring when the time is over; it may lie before the first one.
    const bucketIndex = Math.ceil((nowMs + Math.max(0, leftMs)) / this.#bucketMs) - length;
    const first = this.#headBucketIndex - length + 1;
    const slot = slotOf(Math.min(this.#headBucketIndex, Math.max(first, bucketIndex)), length);
    this.#sums[slot] = (this.#sums[slot] ?? 0) + weight;
    this.#used += weight;
  }

  /** Takes back what `add` counted at `addedAtMs`; nothing where that has left the window. */
  remove(nowMs: number, weight: number, addedAtMs: number): void {
    this.#advance(nowMs);
    const bucketIndex = Math.floor(addedAtMs / this.#bucketMs);
    if (bucketIndex <= this.#headBucketIndex - this.#sums.length) return;
    const slot = slotOf(bucketIndex, this.#sums.length);
    const taken = Math.min(weight, this.#sums[slot] ?? 0);
    this.#sums[slot] = (this.#sums[slot] ?? 0) - taken;
    this.#used -= taken;
  }

  /** All that a window of the same length and buckets counts, until the time it would have counted it. */
  addAll(nowMs: number, other: WeightWindow): void {
    this.#advance(nowMs);
    other.#advance(nowMs);
    if (other.#sums.length !== this.#sums.length || other.#bucketMs !== this.#bucketMs)
      throw new RangeError("windows of different lengths");
    for (const [slot, sum] of other.#sums.entries()) this.#sums[slot] = (this.#sums[slot] ?? 0) + sum;
    this.#used += other.#used;
  }

  /** Time until `used ≤ target` if nothing more is added; Infinity if that never happens. */
  msUntilAtMost(nowMs: number, target: number): number {
    this.#advance(nowMs);
    if (this.#used <= target) return 0;
    if (target < 0) return Number.POSITIVE_INFINITY;
    const length = this.#sums.length;
    let left = this.#used;
    for (let bucketIndex = this.#headBucketIndex - length + 1; bucketIndex <= this.#headBucketIndex; bucketIndex++) {
      left -= this.#sums[slotOf(bucketIndex, length)] ?? 0;
      if (left <= target) return (bucketIndex + length) * this.#bucketMs - nowMs;
    }
    return Number.POSITIVE_INFINITY;
  }

  #advance(nowMs: number): void {
    const bucketIndex = Math.floor(nowMs / this.#bucketMs);
    const length = this.#sums.length;
    const steps = Math.min(bucketIndex - this.#headBucketIndex, length);
    for (let step = 1; step <= steps; step++) {
      const slot = (this.#headBucketIndex + step) % length;
      this.#used -= this.#sums[slot] ?? 0;
      this.#sums[slot] = 0;
    }
    if (steps > 0) this.#headBucketIndex = bucketIndex;
  }
}

function slotOf(bucketIndex: number, length: number): number {
  return ((bucketIndex % length) + length) % length;
}

/** Monotonic milliseconds of a clock, the time base of every window. */
export function monoMs(clock: { monoNs(): number }): number {
  return clock.monoNs() / 1e6;
}
