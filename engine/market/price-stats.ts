// hot path
/**
 * Exponentially weighted standard deviation of 1 s returns of a mid price, half-life 60 s. A float statistic: it feeds
 * the latency penalty, never a price or a size of an order.
 *
 * Sampling is regular although updates are not: a second's sample is the mid at its end (last value carried forward). A
 * gap of n seconds between updates is n - 1 returns of zero and one that holds the whole move, applied in closed form,
 * so cost does not grow with n. A gap longer than MAX_GAP_SECONDS starts the sampling again from the next mid and keeps
 * the estimate.
 */

/** After a longer gap the carried value does not describe the seconds between (feed down, resync). */
export const MAX_GAP_SECONDS = 30;
export const HALF_LIFE_SECONDS = 60;

const DECAY_PER_SECOND = 0.5 ** (1 / HALF_LIFE_SECONDS);
const NS_PER_SECOND = 1e9;

export class PriceStats {
  /** Mid of the open second, any unit; 0 before the first. */
  #lastMid = 0;
  /** Mid at the end of the last closed second. */
  #closedMid = 0;
  #openSecond = 0;
  /** Weighted sum of squared returns and of weights; the mean return of a second is taken as 0. */
  #squares = 0;
  #weights = 0;

  /**
   * Adds the mid (ticks, halves allowed) at a monotonic time. Non-positive or non-finite mids are ignored, as is time
   * that goes back.
   */
  update(mid: number, nowNs: number): void {
    if (!(mid > 0 && mid < Number.POSITIVE_INFINITY)) return;
    const second = Math.floor(nowNs / NS_PER_SECOND);
    if (this.#lastMid === 0) {
      this.#openSecond = second;
      this.#lastMid = mid;
      return;
    }
    if (second > this.#openSecond) this.#close(second);
    if (second >= this.#openSecond) this.#lastMid = mid;
  }

  /**
   * Writes the standard deviation of a 1 s return as a fraction (0.0001 = 1 bp); 0 until two seconds have closed. It is
   * written, not returned, because the compiler's inlining decides whether a returned double is boxed.
   */
  sigmaInto(target: Float64Array, index: number): void {
    target[index] = this.#weights > 0 ? Math.sqrt(this.#squares / this.#weights) : 0;
  }

  /** Drops the last mid but keeps the estimate: the move over an outage is not a 1 s return. */
  breakSampling(): void {
    this.#lastMid = 0;
    this.#closedMid = 0;
  }

  #close(second: number): void {
    const elapsed = second - this.#openSecond;
    this.#openSecond = second;
    if (elapsed > MAX_GAP_SECONDS) {
      this.#closedMid = 0;
      return;
    }
    if (this.#closedMid > 0) this.#addReturn(this.#lastMid / this.#closedMid - 1);
    this.#closedMid = this.#lastMid;
    // Seconds without an update end at the mid of the last update.
    if (elapsed > 1) this.#addZeroReturns(elapsed - 1);
  }

  #addReturn(value: number): void {
    this.#squares = this.#squares * DECAY_PER_SECOND + value * value;
    this.#weights = this.#weights * DECAY_PER_SECOND + 1;
  }

  #addZeroReturns(count: number): void {
    const decay = DECAY_PER_SECOND ** count;
    this.#squares *= decay;
    this.#weights = this.#weights * decay + (1 - decay) / (1 - DECAY_PER_SECOND);
  }
}
