// hot path
/**
 * The last send-to-acknowledgement times of one venue in a bounded ring, with percentiles. A new sample
 * replaces the oldest when the ring is full. Percentiles are by nearest rank (the smallest sample with at
 * least p % of the samples at or below it), read from a sorted copy that each sample is merged into.
 *
 *   ring: [ 7 | 8 | 9 | 3 | 4 | 5 | 6 | … ]   capacity a power of two, index masked
 *                     ^ next write
 */

/** Samples kept by default: enough for a stable p99 while following the last minutes. */
export const DEFAULT_LATENCY_SAMPLES = 256;

export class LatencyWindow {
  readonly #ring: Float64Array;
  readonly #sorted: Float64Array;
  readonly #mask: number;
  readonly #defaultMs: number;
  #written = 0;
  #sortedCount = 0;

  /** Every percentile is `defaultMs` while there is no sample. Capacity is rounded up to a power of two. */
  constructor(defaultMs: number, capacity: number = DEFAULT_LATENCY_SAMPLES) {
    let size = 1;
    while (size < capacity) size *= 2;
    this.#ring = new Float64Array(size);
    this.#sorted = new Float64Array(size);
    this.#mask = size - 1;
    this.#defaultMs = defaultMs;
  }

  /** Negative or non-finite samples are ignored: a clock step is not a latency. */
  record(latencyMs: number): void {
    if (!(latencyMs >= 0 && latencyMs < Number.POSITIVE_INFINITY)) return;
    const at = this.#written & this.#mask;
    if (this.#sortedCount > this.#mask) this.#forget(this.#ring[at] as number);
    this.#merge(latencyMs);
    this.#ring[at] = latencyMs;
    this.#written++;
  }

  /** Samples in the window. */
  get count(): number {
    return Math.min(this.#written, this.#ring.length);
  }

  /** Samples ever recorded. */
  get total(): number {
    return this.#written;
  }

  p50(): number {
    return this.percentile(50);
  }

  p90(): number {
    return this.percentile(90);
  }

  p99(): number {
    return this.percentile(99);
  }

  /** 0 < percent ≤ 100. */
  percentile(percent: number): number {
    const count = this.count;
    if (count === 0) return this.#defaultMs;
    const rank = Math.max(1, Math.ceil((percent / 100) * this.#sortedCount));
    return this.#sorted[rank - 1] ?? this.#defaultMs;
  }

  #merge(latencyMs: number): void {
    const at = this.#rankOf(latencyMs);
    this.#sorted.copyWithin(at + 1, at, this.#sortedCount);
    this.#sorted[at] = latencyMs;
    this.#sortedCount++;
  }

  /** The value must be present; removing any one of several equal values is the same. */
  #forget(latencyMs: number): void {
    const at = this.#rankOf(latencyMs);
    this.#sorted.copyWithin(at, at + 1, this.#sortedCount);
    this.#sortedCount--;
  }

  /** Samples below the value. */
  #rankOf(latencyMs: number): number {
    let low = 0;
    let high = this.#sortedCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] as number) < latencyMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
