/**
 * Violations of a wallet, in memory (docs/mpc.md, 3.4): three in ten minutes, and its sessions are refused for the next
 * ten. Attempts to make a wallet have a new id each, so they are counted together.
 */
import type { Clock } from "../../domain/clock.js";

export const VIOLATIONS_MAX = 3;
const WINDOW_NS = 600_000 * 1e6;
/** The count of all attempts to make a wallet. */
export const NEW_WALLETS = "new";

interface Count {
  atNs: number[];
  refusedUntilNs: number;
}

export class ViolationCount {
  readonly #clock: Clock;
  readonly #counts = new Map<string, Count>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True: this one made it three, and the ten minutes begin. `key`: wallet id, or NEW_WALLETS. */
  note(key: string): boolean {
    const nowNs = this.#clock.monoNs();
    const count = this.#counts.get(key) ?? { atNs: [], refusedUntilNs: 0 };
    this.#counts.set(key, count);
    count.atNs = [...count.atNs.filter((atNs) => nowNs - atNs < WINDOW_NS), nowNs];
    if (count.atNs.length < VIOLATIONS_MAX) return false;
    count.atNs = [];
    count.refusedUntilNs = nowNs + WINDOW_NS;
    return true;
  }

  isRefused(key: string): boolean {
    const count = this.#counts.get(key);
    return count !== undefined && this.#clock.monoNs() < count.refusedUntilNs;
  }
}
