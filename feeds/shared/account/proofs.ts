/**
 * What a venue has proven of a key, trusted for a stated time.
 *
 * Invariant: never longer than `ttlMs`, by the clock that ends it first: the wall clock may be set back, and the
 * monotonic one may stop while the machine sleeps. Bound: `max`; the one used longest ago is forgotten.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";

interface Proof {
  readonly wallMs: number;
  readonly monoNs: number;
}

export class Proofs {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #proofs: LRUCache<string, Proof>;

  constructor(clock: Clock, max: number, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#proofs = new LRUCache({ max });
  }

  add(name: string): void {
    this.#proofs.set(name, { wallMs: this.#clock.wallMs(), monoNs: this.#clock.monoNs() });
  }

  has(name: string): boolean {
    const proof = this.#proofs.get(name);
    if (proof === undefined) return false;
    const passedMs = (this.#clock.monoNs() - proof.monoNs) / 1e6;
    return passedMs < this.#ttlMs && this.#clock.wallMs() - proof.wallMs < this.#ttlMs;
  }
}
