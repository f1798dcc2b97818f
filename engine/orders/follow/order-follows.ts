/**
 * Orders that rest at their venue after their reply, followed to their end: what fills later, and how they end, reaches
 * whatever remembers them. The account's stream brings it where one is open (follow-sights.ts), a paced read otherwise
 * (follow-reads.ts).
 *
 * Invariants: nothing is ever sent; each growth and the end are published once, with the commit that makes them durable;
 * an end that no venue shows is not guessed.
 *
 * Durable: one row for each run with such orders, in the same batch as all that remembers the run; removed with its last
 * order. Credentials are not stored: they are in memory for CREDENTIALS_MS after they were last used, and after
 * that time, or a restart, an order waits for the next request with credentials of its account.
 *
 * Bounds: MAX_FOLLOWED runs at once, FOLLOW_MAX_MS each; what is more waits until one of them ends, or has no credentials
 * where it has (waiting-runs.ts), with its row and without credentials, and one beyond that too is reported in the log; reads on the background lane, one
 * at a time and READ_GAP_MS apart for each venue, as look-pause.ts says for one order.
 */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { Owners } from "../../domain/owner.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { SendBounds } from "../send/absence-proof.js";
import { rowsOnTheWay } from "../durable/rows-on-the-way.js";
import { decodeJson, encodeJson, type StateStore, type StateWrite } from "../../storage/state-store.js";
import { OrderListeners } from "./order-listeners.js";
import type { Background } from "../background.js";
import { hasOrderOf, ordersIn, restingIn, setOneAside, waitingIn } from "./follow-entries.js";
import { FollowKeys } from "./follow-keys.js";
import { FollowPublications } from "./follow-publications.js";
import { FOLLOW_MAX_MS, FollowReads } from "./follow-reads.js";
import { FIRST_PAUSE_MS, FollowSights } from "./follow-sights.js";
import { contractOf } from "../order-scale.js";
import { sessionHash, type Rooms } from "../accounts.js";
import {
  isResting,
  knowsMore,
  type Account,
  type Followed,
  type FollowedRun,
  type FollowEntry,
  type FollowOwner,
  type FollowOwners,
  type FollowRow,
} from "./followed-run.js";
import { ownerOf } from "../run.js";
import { WaitingRuns } from "./waiting-runs.js";
import { markUnfollowed } from "../run-writes.js";

export const MAX_FOLLOWED = 1_024;
const SCAN_ROWS = 256;

interface FollowParts {
  readonly bounds: SendBounds;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rooms: Rooms;
  readonly store: StateStore;
  readonly hash: KeyedHash;
  readonly owners: Owners;
  readonly background: Background;
  /** Runs at once; MAX_FOLLOWED where absent. */
  readonly maxFollowed?: number | undefined;
  /** Shared with whoever else follows orders of the same accounts; absent: own ones. */
  readonly listeners?: OrderListeners | undefined;
}

export class OrderFollows<Run extends FollowedRun> {
  readonly #parts: FollowParts;
  readonly #owner: FollowOwner<Run>;
  readonly #listeners: OrderListeners;
  readonly #entries = new Map<string, FollowEntry<Run>>();
  readonly #waiting: WaitingRuns<Run>;
  /** An order of an account without waits for them. */
  readonly #keys: FollowKeys;
  readonly #reads: FollowReads<Run>;
  readonly #publications: FollowPublications<Run>;
  readonly #sights: FollowSights<Run>;
  #stopped = false;

  constructor(parts: FollowParts, owner: FollowOwner<Run>) {
    const maxFollowed = parts.maxFollowed ?? MAX_FOLLOWED;
    this.#parts = parts;
    this.#owner = owner;
    this.#listeners = parts.listeners ?? new OrderListeners(parts);
    this.#waiting = new WaitingRuns<Run>(parts, {
      namespace: owner.namespace,
      hasRoom: () => !this.#stopped && this.#entries.size < maxFollowed,
      makeRoom: () =>
        !this.#stopped && (this.#entries.size < maxFollowed || setOneAside(this.#entries, this.#keys, this.#waiting)),
      settled: (account) => this.#forgetKeys(account),
      take: (row) => void this.#take(row),
    });
    this.#keys = new FollowKeys(parts);
    this.#reads = new FollowReads<Run>(parts, {
      orders: () => ordersIn(this.#entries.values()),
      keys: this.#keys,
      isLive: (account) => this.#listeners.isLive(account),
      isReadElsewhere: (run, attempt) => owner.isReadElsewhere?.(run, attempt) === true,
      see: (order, seen, isTakenUnpriced, isReplaced) => this.#sights.see(order, seen, isTakenUnpriced, isReplaced),
      seeAbsent: (order) => this.#sights.seeAbsent(order),
      renew: (account) => this.#sights.renew(account),
      stopFollowing: (order, reason) => this.#stopFollowing(order, reason),
    });
    this.#publications = new FollowPublications<Run>(parts, owner, (entry) => this.#update(entry));
    this.#sights = new FollowSights<Run>(parts, {
      orders: () => ordersIn(this.#entries.values()),
      keys: this.#keys,
      listeners: this.#listeners,
      wake: (venue) => this.#reads.wake(venue),
      onSight: (run, order) => owner.onSight?.(run, order),
      publish: (entry) => this.#publications.publish(entry),
    });
  }

  /** Runs with orders that are followed, those that wait for credentials or for their turn included. */
  get count(): number {
    return this.#entries.size + this.#waiting.size;
  }

  /** Orders that are not read until a request brings credentials of their account, or until it is their turn. */
  get waitingCount(): number {
    return waitingIn(this.#entries.values(), this.#keys) + restingIn(this.#waiting.values());
  }

  /** The run that all readers of a followed order share; null: it is not followed. */
  runOf(routeId: string): Run | null {
    return this.#entries.get(routeId)?.run ?? null;
  }

  /** What the accounts of the run are followed with, as far as it is kept; by venue. */
  credentialsOf(run: Run): Partial<Record<RoutableVenue, unknown>> {
    const found: Partial<Record<RoutableVenue, unknown>> = {};
    const entry = this.#entries.get(run.routeId);
    for (const venue of this.#parts.rooms.keys()) {
      const keys = this.#keys.get(entry?.owners[venue] ?? "");
      if (keys !== null) found[venue] = keys.credentials;
    }
    return found;
  }

  /** Resumes what an earlier start left. */
  async load(): Promise<readonly Run[]> {
    const { clock, store, logger } = this.#parts;
    const { namespace } = this.#owner;
    let leftCount = 0;
    for (let after = ""; ; ) {
      const page = await store.scan(namespace, { prefix: "", limit: SCAN_ROWS, ...(after === "" ? {} : { after }) });
      for (const { key, value } of page) {
        after = key;
        const row = decodeJson(value) as FollowRow<Run>;
        if (clock.wallMs() - row.sinceMs > FOLLOW_MAX_MS) {
          logger.warn("order_follow_ended", { routeId: key });
          await store.commit({ writes: [{ namespace, key, value: null }] });
        } else if (this.#waiting.hasRoom) this.#take({ ...row, owners: { ...row.owners } });
        else if (!this.#waiting.isFull) this.#waiting.put(row, false);
        else leftCount++;
      }
      if (page.length < SCAN_ROWS) break;
    }
    if (this.#waiting.size > 0) logger.warn("order_follows_wait", { count: this.#waiting.size, leftCount });
    return [...this.#entries.values()].map(({ run }) => run);
  }

  /** Of two copies of a run after a crash the one that knows more is the one that all share from here on. */
  adopt(run: Run): void {
    const waiting = this.#waiting.get(run.routeId);
    if (waiting !== undefined) this.#waiting.put({ ...waiting, run }, true);
    const entry = this.#entries.get(run.routeId);
    if (entry === undefined || entry.run === run || !knowsMore(run, entry.run)) return;
    const accounts = new Set([...entry.orders.values()].map(({ account }) => account));
    for (const clientIdHex of [...entry.orders.keys()]) this.#unfollow(entry, clientIdHex);
    entry.run = run;
    this.#update(entry);
    // Only now: its orders are followed on with the same credentials.
    for (const account of accounts) this.#forgetKeys(account);
  }

  /**
   * Follows the orders of the run that rest and are not followed yet. `accountOf`: of the venues it can name; `owners`: by
   * venue, who owns those of others, which wait for credentials. After `stop` they have their row alone, for the next
   * start: a reply may come later than its process waits for.
   */
  consider(
    run: Run,
    recordKey: string | null,
    accountOf: (venue: RoutableVenue) => Account | null,
    owners: FollowOwners = {},
  ): void {
    this.adopt(run);
    const resting = run.attempts.filter(isResting);
    if (resting.length === 0) return;
    const { clock, hash } = this.#parts;
    const { routeId } = run;
    const waiting = this.#waiting.get(routeId);
    const begun = { recordKey, sinceMs: clock.wallMs(), ...waiting, owners: { ...owners, ...waiting?.owners }, run };
    let entry = this.#entries.get(routeId);
    if (entry === undefined && !this.#waiting.makeRoom()) {
      this.#waiting.wait(begun, accountOf);
      return;
    }
    this.#waiting.delete(routeId);
    entry ??= this.#take(begun);
    for (const { clientIdHex, venue } of resting) {
      const account = accountOf(venue);
      const key = account === null ? owners[venue] : sessionHash(hash, account.session, ownerOf(run));
      if (key !== undefined) entry.owners[venue] ??= key;
      if (account === null || key === undefined) continue;
      // Whoever asks for an order that is followed already shows nothing of what its keys may do.
      const isNew = !entry.orders.has(clientIdHex);
      if (!this.#stopped && this.#keys.meet(key, venue, account, isNew)) this.#sights.renew(key);
    }
    this.#update(entry);
    // Credentials are kept for orders that are looked at alone.
    if (entry.unlistedCount > 0) for (const owner of Object.values(entry.owners)) this.#forgetKeys(owner);
  }

  /** Credentials came by: orders of that account that the caller reaches and that waited for them are followed again. */
  meet(venue: RoutableVenue, account: Account, ownerId: string | null): void {
    if (this.count === 0 || this.#stopped) return;
    this.#waiting.takeNext();
    for (const entry of this.#entries.values()) if (entry.unlistedCount > 0) this.#update(entry);
    for (const owner of this.#parts.owners.reachedBy(ownerId)) {
      const key = sessionHash(this.#parts.hash, account.session, owner);
      if (!hasOrderOf(this.#entries.values(), key) && !this.#waiting.hasOrderOf(key)) continue;
      this.#keys.meet(key, venue, account, false);
      this.#waiting.takeOf(key);
      this.#sights.resume(key);
    }
  }

  /** Runs that are followed, and those of their orders that wait for credentials, as far as the caller reaches them. */
  countsFor(
    ownerId: string | null,
    seesAll: boolean,
  ): { readonly followedCount: number; readonly unattendedCount: number } {
    if (seesAll) return { followedCount: this.count, unattendedCount: this.waitingCount };
    const { owners } = this.#parts;
    const reached = [...this.#entries.values()].filter(({ run }) => owners.reaches(ownerId, run.ownerId));
    const waiting = [...this.#waiting.values()].filter((one) => owners.reaches(ownerId, one.ownerId));
    return {
      followedCount: reached.length + waiting.length,
      unattendedCount: waitingIn(reached, this.#keys) + restingIn(waiting),
    };
  }

  /** With the commit of whatever is concluded of the run. */
  rows(run: Run): StateWrite[] {
    const entry = this.#entries.get(run.routeId);
    // A copy that another path brought further: the older one here would be published over it.
    this.adopt(run);
    const followed = entry === undefined || entry.run === run ? (entry ?? this.#waiting.get(run.routeId)) : undefined;
    if (followed === undefined) return [];
    const { namespace } = this.#owner;
    const key = run.routeId;
    if (!run.attempts.some(isResting)) return [{ namespace, key, value: null }];
    const { recordKey, sinceMs, owners } = followed;
    return [{ namespace, key, value: encodeJson({ recordKey, sinceMs, owners, run } satisfies FollowRow<Run>) }];
  }

  /** Those that ended, or were found to, by whomever. */
  settle(run: Run): void {
    const entry = this.#entries.get(run.routeId);
    if (entry?.run === run && !entry.isDirty) this.#update(entry);
    if (this.#waiting.size === 0) return;
    if (!run.attempts.some(isResting)) this.#waiting.delete(run.routeId);
    // Its own row may have been what was missing.
    this.#waiting.takeNext();
  }

  /** Bounded by one read. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sights.stop();
    const ended = this.#reads.stop();
    for (const entry of this.#entries.values()) {
      for (const order of entry.orders.values()) order.unlisten?.();
      this.#publications.stop(entry);
    }
    this.#keys.clear();
    await ended;
  }

  #take(row: FollowRow<Run> & Pick<FollowEntry<Run>, "owners">): FollowEntry<Run> {
    const { clock } = this.#parts;
    const sinceNs = clock.monoNs() - Math.max(0, clock.wallMs() - row.sinceMs) * 1e6;
    const entry = {
      ...row,
      sinceNs,
      unlistedCount: 0,
      orders: new Map(),
      isPublishing: false,
      isDirty: false,
      again: null,
    };
    this.#entries.set(row.run.routeId, entry);
    this.#update(entry);
    return entry;
  }

  /** Brings what is followed in line with what rests. */
  #update(entry: FollowEntry<Run>): void {
    const { rooms, clock } = this.#parts;
    const { orders, owners, run } = entry;
    for (const [clientIdHex, { account, attempt }] of orders) {
      if (isResting(attempt)) continue;
      this.#unfollow(entry, clientIdHex);
      this.#forgetKeys(account);
    }
    entry.unlistedCount = 0;
    for (const attempt of run.attempts) {
      const { clientIdHex, venue } = attempt;
      const account = owners[venue];
      const room = rooms.get(venue);
      const listed = room?.markets.get(run.symbol)?.instrument;
      const instrument = listed === undefined ? null : contractOf(attempt, listed);
      if (!isResting(attempt) || orders.has(clientIdHex) || account === undefined) continue;
      if (room === undefined || instrument === null) {
        entry.unlistedCount++;
        continue;
      }
      const order: Followed<Run> = {
        ...{ entry, attempt, room, instrument, account },
        unlisten: null,
        pauseMs: FIRST_PAUSE_MS,
        dueNs: clock.monoNs() + FIRST_PAUSE_MS * 1e6,
        isAnswered: false,
        absentCount: 0,
        unpricedCount: 0,
      };
      orders.set(clientIdHex, order);
      this.#sights.begin(order);
    }
    if (run.attempts.some(isResting) || entry.isPublishing || entry.again !== null) return;
    this.#entries.delete(run.routeId);
    this.#waiting.takeNext();
  }

  #unfollow({ orders }: FollowEntry<Run>, clientIdHex: string): void {
    const order = orders.get(clientIdHex);
    orders.delete(clientIdHex);
    order?.unlisten?.();
  }

  /** Of an account without followed orders. */
  #forgetKeys(account: string): void {
    if (!hasOrderOf(this.#entries.values(), account)) this.#keys.forget(account);
  }

  #stopFollowing({ attempt, entry }: Followed<Run>, reason: string): void {
    const { background, logger } = this.#parts;
    const { run } = entry;
    logger.warn("order_follow_ended", { routeId: run.routeId, venue: attempt.venue, reason });
    markUnfollowed(attempt);
    const store = async (): Promise<void> => {
      // A row that goes says nothing of the record.
      if (run.attempts.some(isResting))
        for (let rows = rowsOnTheWay(run); rows !== null; rows = rowsOnTheWay(run)) await rows;
      await this.#parts.store.commit({ writes: this.rows(run) });
    };
    background.run("order_follow_end", store());
    this.#update(entry);
  }
}
