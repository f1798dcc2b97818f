/**
 * Runs with orders that rest beyond those that are followed at once: each has its row in the store, as a followed one
 * has, and waits until one of those ends.
 *
 * Invariant: one object of a run at a time. While somebody is at work on the run it is that one that is followed later,
 * else the one in its row, which is as new.
 *
 * Bound: MAX_WAITING runs, of each what its row has beside the run.
 */
import { isResting, type FollowedRun, type FollowRow } from "./followed-run.js";

const MAX_WAITING = 16_384;

export interface WaitingRun<Run extends object> {
  readonly ownerId: string | null;
  readonly restingCount: number;
  readonly recordKey: string | null;
  readonly sinceMs: number;
  readonly owners: Record<string, string>;
  /** Null where nobody of this process has had it. */
  readonly run: WeakRef<Run> | null;
}

export class WaitingRuns<Run extends FollowedRun> {
  /** By route id, who waits longest first. */
  readonly #runs = new Map<string, WaitingRun<Run>>();

  get size(): number {
    return this.#runs.size;
  }

  get isFull(): boolean {
    return this.#runs.size >= MAX_WAITING;
  }

  get(routeId: string): WaitingRun<Run> | undefined {
    return this.#runs.get(routeId);
  }

  /** Keeps its place in the line. `isAtWork`: this object is the one that others share. */
  put({ recordKey, sinceMs, owners, run }: FollowRow<Run>, isAtWork: boolean): void {
    this.#runs.set(run.routeId, {
      ownerId: run.ownerId ?? null,
      restingCount: run.attempts.filter(isResting).length,
      ...{ recordKey, sinceMs, owners: { ...owners } },
      run: isAtWork ? new WeakRef(run) : null,
    });
  }

  delete(routeId: string): void {
    this.#runs.delete(routeId);
  }

  routeIds(): IterableIterator<string> {
    return this.#runs.keys();
  }

  values(): IterableIterator<WaitingRun<Run>> {
    return this.#runs.values();
  }
}
