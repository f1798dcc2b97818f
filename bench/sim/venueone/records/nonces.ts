/**
 * The replay guard of one signer. Invariants: no nonce is admitted twice; an admitted nonce lies inside the time
 * window and, once 100 are held, above the smallest of the 100 highest. Any nonce seen inside the window is
 * remembered, so "duplicate" wins over "too low".
 */

const DAY_MS = 86_400_000;
/** The documented window is (T - 2 days, T + 1 day); live it was about 120 s tighter at both ends. */
const INWARD_MARGIN_MS = 120_000;
const HIGHEST_KEPT = 100;
/** Remembered nonces per signer. Overflow drops the lowest, which the 100-highest rule refuses anyway. */
const REMEMBERED_MAX = 20_000;

export type NonceVerdict =
  | { readonly kind: "admitted" }
  | { readonly kind: "duplicate" }
  | { readonly kind: "tooLow"; readonly min: number }
  | { readonly kind: "tooHigh"; readonly max: number };

export class NonceSet {
  readonly #seen = new Set<number>();
  /** Ascending, at most 100. */
  readonly #highest: number[] = [];

  /** Consumes the nonce when it returns `admitted`. */
  admit(nonce: number, nowMs: number): NonceVerdict {
    const max = nowMs + DAY_MS - INWARD_MARGIN_MS;
    const oldest = nowMs - 2 * DAY_MS + INWARD_MARGIN_MS;
    if (nonce > max) return { kind: "tooHigh", max };
    if (this.#seen.has(nonce) && nonce >= oldest) return { kind: "duplicate" };
    if (nonce < oldest) return { kind: "tooLow", min: oldest };
    const floor = this.#highest.length < HIGHEST_KEPT ? undefined : this.#highest[0];
    if (floor !== undefined && nonce <= floor) return { kind: "tooLow", min: floor };
    this.#seen.add(nonce);
    insertAscending(this.#highest, nonce);
    if (this.#highest.length > HIGHEST_KEPT) this.#highest.shift();
    if (this.#seen.size > REMEMBERED_MAX) forgetLowest(this.#seen);
    return { kind: "admitted" };
  }
}

function insertAscending(sorted: number[], value: number): void {
  let index = sorted.length;
  while (index > 0 && (sorted[index - 1] ?? 0) > value) index--;
  sorted.splice(index, 0, value);
}

/** Drops the lower half at once, so that the sort is paid once per 10 000 nonces. */
function forgetLowest(seen: Set<number>): void {
  const sorted = [...seen].sort((left, right) => left - right);
  for (const nonce of sorted.slice(0, sorted.length / 2)) seen.delete(nonce);
}
