/**
 * Reads of followed orders: one at a time and READ_GAP_MS apart for each venue, on the background lane, of one order with
 * pauses that grow while nothing happens (look-pause.ts).
 */
import type { Clock } from "../../domain/clock.js";
import { INDEXING_LAG_MS, isProvenAbsent, isYoungCancel, momentOf, type SendBounds } from "../send/absence-proof.js";
import { within } from "../../domain/deadline.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { problemOf } from "../background.js";
import type { FollowKeys } from "./follow-keys.js";
import { isResting, type Followed, type FollowedRun } from "./followed-run.js";
import { PacedReads, type PacedLook } from "./paced-reads.js";
import type { OrderRef } from "../../ports.js";
import { isUnshown, type OrderAttempt } from "../run.js";
import { restingPauseMs } from "../send/look-pause.js";
import { newestOf } from "./newest-id.js";

/** Venues keep the record of an order that ended about as long. */
export const FOLLOW_MAX_MS = 30 * 86_400_000;
export const READ_GAP_MS = 1_000;
const READ_TIMEOUT_MS = 3_000;
/** "No such order" of one that rested, so often: its end cannot be learnt any more. */
const MAX_ABSENT = 5;
/** Other credentials of the account may do. */
const REFUSED: ReadonlySet<string> = new Set(["AUTH", "NEEDS_CREDENTIALS"]);
/** A read that shows fills without their price, so often: the venue does not say it. */
const MAX_UNPRICED = 5;

interface ReadParts {
  readonly bounds: SendBounds;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose orders they are. */
interface ReadOwner<Run> {
  orders(): Iterable<Followed<Run>>;
  readonly keys: FollowKeys;
  isLive(account: string): boolean;
  isReadElsewhere(run: Run, attempt: OrderAttempt): boolean;
  /** False: it filled without a price, and is to be read again. `isReplaced`: another id is in its place. */
  see(order: Followed<Run>, seen: VenueOrder, isTakenUnpriced: boolean, isReplaced?: true): boolean;
  /** Its venue acknowledged it and never showed it: it was never placed. */
  seeAbsent(order: Followed<Run>): void;
  /** Other credentials of the account are in use, or none any more. */
  renew(account: string): void;
  stopFollowing(order: Followed<Run>, reason: string): void;
}

export class FollowReads<Run extends FollowedRun> {
  readonly #parts: ReadParts;
  readonly #owner: ReadOwner<Run>;
  readonly #readers = new Map<RoutableVenue, PacedReads>();

  constructor(parts: ReadParts, owner: ReadOwner<Run>) {
    this.#parts = parts;
    this.#owner = owner;
  }

  /** What is due at the venue may have changed. */
  wake(venue: RoutableVenue): void {
    let reads = this.#readers.get(venue);
    if (reads === undefined) {
      reads = new PacedReads(this.#parts.clock, READ_GAP_MS, () => this.#nextDue(venue));
      this.#readers.set(venue, reads);
    }
    reads.wake();
  }

  /** Bounded by one read. */
  async stop(): Promise<void> {
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
  }

  /** The order of the venue that waits longest for its look. */
  #nextDue(venue: RoutableVenue): PacedLook | null {
    const { keys } = this.#owner;
    let next: Followed<Run> | null = null;
    for (const order of this.#owner.orders())
      if (order.room.venue === venue && keys.has(order.account) && (next === null || order.dueNs < next.dueNs))
        next = order;
    if (next === null) return null;
    const order = next;
    return { dueNs: order.dueNs, look: () => this.#look(order) };
  }

  async #look(order: Followed<Run>): Promise<void> {
    const { clock, logger } = this.#parts;
    const owner = this.#owner;
    const { account, attempt, entry } = order;
    order.dueNs = clock.monoNs() + this.#pauseNs(order);
    if ((clock.monoNs() - entry.sinceNs) / 1e6 > FOLLOW_MAX_MS) return owner.stopFollowing(order, "TOO_OLD");
    if (owner.keys.expire(account)) owner.renew(account);
    if (!owner.keys.has(account)) return;
    if (owner.isReadElsewhere(entry.run, attempt)) return;
    try {
      const began = momentOf(clock, order.room);
      const read = await this.#read(order);
      if (read === null) {
        // Its stream may have missed what there is to see.
        order.isAnswered = false;
        order.dueNs = Math.min(order.dueNs, clock.monoNs() + restingPauseMs(order.pauseMs, false) * 1e6);
        return;
      }
      order.isAnswered = true;
      if (!isResting(attempt)) return;
      if (read.order !== null && isYoungCancel(attempt, read.order, order.room.venueClock.nowAtLeastMs())) {
        order.dueNs = clock.monoNs() + INDEXING_LAG_MS * 1e6;
        return;
      }
      const newest = read.order === null ? null : await this.#newestOf(order, read.order);
      if (!isResting(attempt) || (newest === null && read.order !== null)) return;
      if (newest === null && isUnshown(attempt) && isProvenAbsent(this.#parts.bounds.of(attempt), began))
        return owner.seeAbsent(order);
      if (newest === null) order.absentCount++;
      else {
        order.absentCount = 0;
        if (owner.see(order, newest, order.unpricedCount >= MAX_UNPRICED)) order.unpricedCount = 0;
        else order.unpricedCount++;
      }
      if (order.absentCount >= MAX_ABSENT) owner.stopFollowing(order, "NOT_FOUND");
    } catch (error) {
      // A room never throws for what a venue does: a bug of ours, and the next look comes.
      logger.error("order_follow_failed", { routeId: entry.run.routeId, problem: problemOf(error) });
    }
  }

  /** Null where that cannot be learnt now. */
  #newestOf(order: Followed<Run>, found: VenueOrder): Promise<VenueOrder | null> {
    const { attempt } = order;
    return newestOf(attempt, found, {
      read: async (venueOrderId) => {
        const read = await this.#read(order, { venueOrderId });
        return isResting(attempt) ? read : null;
      },
      seeReplaced: (progress) => this.#owner.see(order, progress, false, true),
    });
  }

  /** Grows while nothing happens. */
  #pauseNs(order: Followed<Run>): number {
    const isTold = this.#owner.isLive(order.account) && order.isAnswered;
    const pauseMs = restingPauseMs(order.pauseMs, isTold);
    order.pauseMs = restingPauseMs(2 * order.pauseMs, true);
    return pauseMs * 1e6;
  }

  /** Null when the venue did not answer. */
  async #read(
    { account, attempt, instrument, room }: Followed<Run>,
    by: OrderRef | null = null,
  ): Promise<{ order: VenueOrder | null } | null> {
    const keys = this.#owner.keys.get(account);
    const session = keys?.open() ?? null;
    if (session === null) return null;
    try {
      const options = { timeoutMs: READ_TIMEOUT_MS, lane: "background" } as const;
      // As far back as a look that proves an absence has to go.
      const since = isUnshown(attempt) ? { sentAfterVenueMs: attempt.sentAfterVenueMs ?? 0 } : {};
      const ref = by ?? { clientIdHex: attempt.clientIdHex, ...since };
      const reading = room.reader.readOrder(session, instrument, ref, options);
      const read = await within(this.#parts.clock, reading, READ_TIMEOUT_MS);
      if (read.done && read.value.ok) return { order: read.value.value };
      const isRefused = read.done && !read.value.ok && REFUSED.has(read.value.code);
      if (isRefused && this.#owner.keys.get(account) === keys && this.#owner.keys.refuse(account))
        this.#owner.renew(account);
      return null;
    } finally {
      session.close();
    }
  }
}
