/**
 * Books whose figures do not fit the listed grid. No snapshot mends that, and each costs 20 of weight: at the first
 * misfit the list is read, at a second one no more snapshots are asked for until DRIFT_PAUSE_MS after the first. A market
 * that is listed again starts afresh.
 */
import type { Clock } from "../../../engine/domain/clock.js";

const DRIFT_PAUSE_MS = 20_000;

export class DriftPause {
  readonly #clock: Clock;
  /** By decoder slot, the first misfit and how many came since. Bounded by the markets. */
  readonly #misfits = new Map<number, { readonly sinceNs: number; readonly count: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a misfit; true for the first. */
  isFirst(slot: number): boolean {
    const present = this.#present(slot);
    const sinceNs = present?.sinceNs ?? this.#clock.monoNs();
    this.#misfits.set(slot, { sinceNs, count: (present?.count ?? 0) + 1 });
    return present === null;
  }

  /** Of the pause; 0 while there is none. */
  leftMs(slot: number): number {
    const present = this.#present(slot);
    if (present === null || present.count < 2) return 0;
    return Math.ceil(DRIFT_PAUSE_MS - (this.#clock.monoNs() - present.sinceNs) / 1e6);
  }

  forget(slot: number): void {
    this.#misfits.delete(slot);
  }

  #present(slot: number): { readonly sinceNs: number; readonly count: number } | null {
    const misfit = this.#misfits.get(slot);
    return misfit !== undefined && this.#clock.monoNs() - misfit.sinceNs < DRIFT_PAUSE_MS * 1e6 ? misfit : null;
  }
}
