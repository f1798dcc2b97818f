/**
 * Runs with orders that rest beyond those that are followed at once: each has its row in the store, as a followed one
 * has, and waits until one of those ends, or takes the place of one that nobody looks at, when credentials of its account
 * come by.
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
  /** Also by setting one aside that nobody looks at. False: each is looked at. */
  makeRoom(): boolean;
  /** Those of the account that had to have a place have it, or there is none. */
  settled(account: string): void;
  take(row: FollowRow<Run> & { readonly owners: Record<string, string> }): void;
}

export class WaitingRuns<Run extends FollowedRun> {
  readonly #parts: WaitingParts;
  readonly #owner: WaitingOwner<Run>;
  #isTaking = false;
  /** Somebody asked while they were taken. */
  #isAskedAgain = false;
  /** By route id, who waits longest first. */
  readonly #runs = new Map<string, WaitingRun<Run>>();
  /** Their route ids by account. */
  readonly #ofAccount = new Map<string, Set<string>>();
  /** Accounts whose credentials came by. */
  readonly #wanted = new Set<string>();

  constructor(parts: WaitingParts, owner: WaitingOwner<Run>) {
    this.#parts = parts;
    this.#owner = owner;
  }

  get hasRoom(): boolean {
    return this.#owner.hasRoom();
  }

  /** For one more, if need be in the place of one that nobody looks at. */
  makeRoom(): boolean {
    return this.#owner.makeRoom();
  }

  get size(): number {
    return this.#runs.size;
  }

  get isFull(): boolean {
    return this.#runs.size >= MAX_WAITING;
  }

  hasOrderOf(account: string): boolean {
    return this.#ofAccount.has(account);
  }

  get(routeId: string): WaitingRun<Run> | undefined {
    return this.#runs.get(routeId);
  }

  /** Keeps its place in the line. `isAtWork`: this object is the one that others share. */
  put({ recordKey, sinceMs, owners, run }: FollowRow<Run>, isAtWork: boolean): void {
    const { routeId } = run;
    this.#dropAccounts(routeId);
    for (const account of Object.values(owners)) {
      const own = this.#ofAccount.get(account) ?? new Set();
      this.#ofAccount.set(account, own.add(routeId));
    }
    this.#runs.set(routeId, {
      ownerId: run.ownerId ?? null,
      restingCount: run.attempts.filter(isResting).length,
      ...{ recordKey, sinceMs, owners: { ...owners } },
      run: isAtWork ? new WeakRef(run) : null,
    });
  }

  delete(routeId: string): void {
    this.#dropAccounts(routeId);
    this.#runs.delete(routeId);
  }

  #dropAccounts(routeId: string): void {
    for (const account of Object.values(this.#runs.get(routeId)?.owners ?? {})) {
      const own = this.#ofAccount.get(account);
      own?.delete(routeId);
      if (own?.size === 0) this.#ofAccount.delete(account);
    }
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
    if (this.#runs.size > 0 && this.hasRoom) this.#begin();
  }

  /** Those of the account first, whose credentials came by. */
  takeOf(account: string): void {
    if (!this.hasOrderOf(account)) return;
    this.#wanted.add(account);
    this.#begin();
  }

  #begin(): void {
    this.#isAskedAgain = true;
    if (!this.#isTaking) this.#parts.background.run("order_follow_next", this.#takeAll());
  }

  /** Ends in the turn in which it finds no further request, so that a later one starts another pass. */
  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    try {
      while (this.#isAskedAgain) {
        this.#isAskedAgain = false;
        await this.#takeWanted();
        for (const routeId of this.hasRoom ? [...this.#runs.keys()] : [])
          if (!(await this.#take(routeId, () => this.hasRoom))) break;
      }
    } finally {
      this.#isTaking = false;
      this.#settleWanted();
    }
  }

  async #takeWanted(): Promise<void> {
    for (const account of this.#wanted)
      for (const routeId of [...(this.#ofAccount.get(account) ?? [])])
        if (!(await this.#take(routeId, () => this.makeRoom()))) break;
    this.#settleWanted();
  }

  #settleWanted(): void {
    const settled = [...this.#wanted];
    this.#wanted.clear();
    for (const account of settled) this.#owner.settled(account);
  }

  /** False: there is no room. */
  async #take(routeId: string, hasRoom: () => boolean): Promise<boolean> {
    const stored = await this.#parts.store.get(this.#owner.namespace, routeId);
    const waiting = this.#runs.get(routeId);
    // Null until its first commit is durable; `takeNext` is called after that.
    if (stored === null || waiting === undefined) return true;
    if (!hasRoom()) return false;
    const { recordKey, sinceMs, owners } = waiting;
    this.delete(routeId);
    const run = waiting.run?.deref() ?? (decodeJson(stored) as FollowRow<Run>).run;
    this.#owner.take({ recordKey, sinceMs, owners, run });
    return true;
  }
}
