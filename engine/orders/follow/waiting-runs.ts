/**
 * Runs with orders that rest beyond those that are followed at once: each has its row in the store, as a followed one
 * has, and waits until one of those ends.
 *
 * Invariant: one object of a run at a time. While somebody is at work on the run it is that one that is followed later,
 * else the one in its row, which is as new.
 *
 * Bound: MAX_WAITING runs, of each what its row has beside the run.
 */
import { decodeJson, type StateStore } from "../../storage/state-store.js";
import type { Background } from "../background.js";
import { sessionHash } from "../accounts.js";
import type { Logger } from "../../domain/logger.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import { ownerOf } from "../run.js";
import { isResting, type Account, type FollowedRun, type FollowRow } from "./followed-run.js";

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

interface WaitingParts {
  readonly background: Background;
  readonly hash: KeyedHash;
  readonly logger: Logger;
  readonly store: Pick<StateStore, "get">;
}

/** Who follows them. */
interface WaitingOwner<Run> {
  readonly namespace: string;
  hasRoom(): boolean;
  take(row: FollowRow<Run> & { readonly owners: Record<string, string> }): void;
}

export class WaitingRuns<Run extends FollowedRun> {
  readonly #parts: WaitingParts;
  readonly #owner: WaitingOwner<Run>;
  #isTaking = false;
  /** By route id, who waits longest first. */
  readonly #runs = new Map<string, WaitingRun<Run>>();

  constructor(parts: WaitingParts, owner: WaitingOwner<Run>) {
    this.#parts = parts;
    this.#owner = owner;
  }

  get hasRoom(): boolean {
    return this.#owner.hasRoom();
  }

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

  values(): IterableIterator<WaitingRun<Run>> {
    return this.#runs.values();
  }

  /** It is durable with the commit that comes next, as a followed one, and has its turn when one of those ends. */
  wait(row: FollowRow<Run>, accountOf: (venue: RoutableVenue) => Account | null): void {
    const { hash, logger } = this.#parts;
    const { routeId } = row.run;
    const isNew = this.#runs.get(routeId) === undefined;
    if (isNew && this.isFull) {
      logger.warn("order_not_followed", { routeId });
      return;
    }
    const owners = { ...row.owners };
    for (const { venue } of row.run.attempts.filter(isResting)) {
      const account = accountOf(venue);
      if (account !== null) owners[venue] ??= sessionHash(hash, account.session, ownerOf(row.run));
    }
    this.put({ ...row, owners }, true);
    if (isNew) logger.warn("order_follow_waits", { routeId });
  }

  /** While there is room: those that wait longest, from whoever is at work on them, else from their rows. */
  takeNext(): void {
    if (this.#isTaking || this.#runs.size === 0 || !this.hasRoom) return;
    this.#isTaking = true;
    this.#parts.background.run(
      "order_follow_next",
      this.#take().finally(() => {
        this.#isTaking = false;
      }),
    );
  }

  async #take(): Promise<void> {
    for (const routeId of [...this.#runs.keys()]) {
      if (!this.hasRoom) return;
      const stored = await this.#parts.store.get(this.#owner.namespace, routeId);
      const waiting = this.#runs.get(routeId);
      if (waiting === undefined || !this.hasRoom) continue;
      // Its first commit is on its way: `takeNext` is called after it.
      if (stored === null) continue;
      const { recordKey, sinceMs, owners } = waiting;
      this.#runs.delete(routeId);
      const run = waiting.run?.deref() ?? (decodeJson(stored) as FollowRow<Run>).run;
      this.#owner.take({ recordKey, sinceMs, owners, run });
    }
  }
}
