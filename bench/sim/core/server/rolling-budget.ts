/**
 * Weights spent per key (an address, an account) over a rolling window: each weight comes back exactly one window after
 * it was spent, as at the venues whose pages say "rolling window".
 */
interface Spending {
  readonly spentMs: number[];
  readonly weights: number[];
  sum: number;
}

/** Keys remembered; a local venue sees a handful. The one used longest ago is dropped. */
const KEYS_MAX = 10_000;

export class RollingBudget {
  readonly #windowMs: number;
  readonly #keys = new Map<string, Spending>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Spends `weight` unless the window would then hold more than `max`. */
  trySpend(key: string, weight: number, max: number, nowMs: number): boolean {
    const spending = this.#of(key, nowMs);
    if (spending.sum + weight > max) return false;
    spending.spentMs.push(nowMs);
    spending.weights.push(weight);
    spending.sum += weight;
    return true;
  }

  used(key: string, nowMs: number): number {
    return this.#of(key, nowMs).sum;
  }

  /** Milliseconds until the oldest spending comes back; 0 when nothing is spent. */
  refreshMs(key: string, nowMs: number): number {
    const oldestMs = this.#of(key, nowMs).spentMs[0];
    return oldestMs === undefined ? 0 : oldestMs + this.#windowMs - nowMs;
  }

  #of(key: string, nowMs: number): Spending {
    const spending = this.#keys.get(key) ?? { spentMs: [], weights: [], sum: 0 };
    // Re-inserting keeps the map in order of last use.
    this.#keys.delete(key);
    this.#keys.set(key, spending);
    if (this.#keys.size > KEYS_MAX) {
      const stalest = this.#keys.keys().next();
      if (stalest.done === false) this.#keys.delete(stalest.value);
    }
    let gone = 0;
    while (gone < spending.spentMs.length && (spending.spentMs[gone] ?? 0) <= nowMs - this.#windowMs)
      spending.sum -= spending.weights[gone++] ?? 0;
    if (gone > 0) {
      spending.spentMs.splice(0, gone);
      spending.weights.splice(0, gone);
    }
    return spending;
  }
}
