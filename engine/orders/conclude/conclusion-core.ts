/**
 * What becomes durable when something of a run has ended, the same for trades and single orders: its intents settled, what
 * its orders took of the daily limits given back, the rows of the record, and the reply under its idempotency key.
 *
 * Invariant: what is durable of a conclusion becomes so in one batch, beside the reply: a crash leaves all of it (the
 * rows of the record among it, once) or an open intent, from which the order is looked up again.
 */
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import { grownOrder, type GuardReservation, type Guards } from "../../guards/guards.js";
import type { StateCondition, StateStore, StateWrite } from "../../storage/state-store.js";
import { isUnfilled } from "../attempt-figures.js";
import { type Background, problemOf } from "../background.js";
import { COMMIT_TRIES, ConclusionCommits } from "./conclusion-commits.js";
import { applyPrice } from "../send/fill-price.js";
import type { IdempotencyRecords, IdempotencyTicket, RecordUpdate } from "../durable/idempotency.js";
import type { IntentLog } from "../durable/intent-log.js";
import { MAX_RESOLVED_LISTENERS } from "../limits.js";
import type { OrderedRun } from "../send/order-core.js";
import { takeOrderEvents, type OrderEvent } from "./order-events.js";
import type { OrderFollows } from "../follow/order-follows.js";
import type { RecordSink } from "./record-sink.js";
import type { Resolver } from "../send/resolver.js";
import { intentOutcome } from "../send/outcome.js";
import { isPriced, type OrderAttempt } from "../run.js";

export interface ConclusionParts<Run extends OrderedRun, Result> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: StateStore;
  readonly background: Background;
  readonly intents: IntentLog<Run>;
  readonly idempotency: IdempotencyRecords<Run, Result>;
  readonly guards: Guards;
  readonly reservations: WeakMap<OrderAttempt, GuardReservation>;
  readonly records: Pick<RecordSink, "committed">;
  readonly resolver: Resolver;
  readonly follows: Pick<OrderFollows<Run>, "rows" | "settle">;
}

/** Rows of a batch, and what they rest on. */
export interface ConclusionRows {
  readonly conditions: readonly StateCondition[];
  readonly writes: readonly StateWrite[];
}

/** What trades and single orders say and keep of their own. */
interface ConclusionOwner<Run> {
  /** More is known of a run since its reply. No end of it is reported. */
  publishProgress(run: Run, recordKey: string | null): Promise<void>;
  /** What goes with the settled orders of the run, beside their intents. */
  settledRows?(run: Run): Promise<ConclusionRows>;
  /** The batch of the run that was built last is durable. */
  committed?(run: Run): void;
}

/** Built at the last moment, so that they hold the run as it is by then. `events`: what is new of its orders. */
export type RowsOf = (events: readonly OrderEvent[]) => readonly StateWrite[] | Promise<readonly StateWrite[]>;

/** The reply that an idempotency record is to hold. */
export interface RecordToUpdate<Result> {
  readonly recordKey: string;
  readonly result: Result;
}

export class ConclusionCore<Run extends OrderedRun, Result> {
  readonly #parts: ConclusionParts<Run, Result>;
  readonly #owner: ConclusionOwner<Run>;
  readonly #commits: ConclusionCommits<Run, Result>;

  constructor(parts: ConclusionParts<Run, Result>, owner: ConclusionOwner<Run>) {
    this.#parts = parts;
    this.#owner = owner;
    this.#commits = new ConclusionCommits(parts);
  }

  /** Conclusions of one run are stored one after the other. The store saying no is tried again. */
  store(run: Run, rowsOf: RowsOf, update: RecordToUpdate<Result> | null = null): Promise<void> {
    return this.#store(run, COMMIT_TRIES, rowsOf, update);
  }

  /** The same for a reply that was given, which nobody repeats: until it is stored. */
  storeReply(run: Run, rowsOf: RowsOf): Promise<void> {
    return this.#commits.untilStored(() => this.store(run, rowsOf));
  }

  /**
   * The same, with one try: nobody waits for more. Where the store refuses, what `again` builds is stored later, with
   * what is known by then.
   */
  async storeOnce(
    run: Run,
    rowsOf: RowsOf,
    update: RecordToUpdate<Result> | null,
    again: () => Promise<void>,
  ): Promise<void> {
    await this.#commits.orAgain(this.#store(run, 1, rowsOf, update), again);
  }

  /** As `store`, with one try and no other. */
  storeNow(run: Run, rowsOf: RowsOf): Promise<void> {
    return this.#store(run, 1, rowsOf, null);
  }

  /**
   * The same, with the reply under its idempotency key, which is answered with it from memory until then. `latest`: the
   * reply as it is by then.
   */
  async complete(
    ticket: IdempotencyTicket<Run, Result>,
    run: Run,
    result: Result,
    rowsOf: RowsOf,
    latest: () => Result,
  ): Promise<void> {
    const { idempotency, logger } = this.#parts;
    const stored = await idempotency.complete(ticket, run, result, (doneWrites) =>
      this.storeReply(run, async (events) => [...(await rowsOf(events)), ...doneWrites(latest())]),
    );
    if (!stored) logger.warn("idempotency_not_stored", { routeId: run.routeId });
  }

  /** None of the run's orders left this machine: a retry with the key runs again. */
  async discard(ticket: IdempotencyTicket<Run, Result> | null, run: Run, rowsOf: RowsOf): Promise<void> {
    if (ticket === null) return this.store(run, rowsOf);
    return this.#parts.idempotency.discard(ticket, (removals) =>
      this.store(run, async (events) => [...(await rowsOf(events)), ...removals()]),
    );
  }

  /** Fills whose price is being read: it brings up to date what remembers the run. */
  followPrices(run: Run, recordKey: string | null): void {
    for (const attempt of run.attempts) {
      const price = this.#parts.resolver.priceOf(attempt.clientIdHex);
      if (price === null) continue;
      this.#parts.background.run("fill_price", this.#publishPrice(run, attempt, price, recordKey));
    }
  }

  /** Orders that are nowhere: their intents, before their run goes on. What others did is settled with the rows that tell of it. */
  async settleAbsent(run: Run): Promise<void> {
    const { writes } = await this.#settledRows(run, true);
    if (writes.length > 0) await this.#parts.store.commit({ writes });
  }

  /** Rows of the record; one that cannot be written must not keep the conclusion from being stored. */
  recordRows(run: Run, rows: () => readonly StateWrite[]): readonly StateWrite[] {
    try {
      return rows();
    } catch (error) {
      this.#parts.logger.error("record_rows_failed", { routeId: run.routeId, problem: problemOf(error) });
      return [];
    }
  }

  /** No end waits for the store any more. */
  stop(): void {
    this.#commits.stop();
  }

  async #publishPrice(
    run: Run,
    attempt: OrderAttempt,
    price: Promise<VenueOrder | null>,
    recordKey: string | null,
  ): Promise<void> {
    applyPrice(this.#parts, attempt, await price);
    if (attempt.order !== null && isPriced(attempt.order)) await this.#owner.publishProgress(run, recordKey);
  }

  #store(run: Run, tries: number, rowsOf: RowsOf, update: RecordToUpdate<Result> | null): Promise<void> {
    return this.#commits.store(run, tries, update?.recordKey ?? null, (read) =>
      this.#commit(run, rowsOf, update, read),
    );
  }

  /** false: the record, or what a condition rests on, changed meanwhile. */
  async #commit(
    run: Run,
    rowsOf: RowsOf,
    update: RecordToUpdate<Result> | null,
    read: RecordUpdate<Result> | null,
  ): Promise<boolean> {
    const { clock, follows, records, store } = this.#parts;
    const settled = await this.#settledRows(run, false);
    const taken = takeOrderEvents(run, clock.wallMs());
    let committed = false;
    try {
      const own = await rowsOf(taken.events);
      const writes = [...settled.writes, ...own, ...follows.rows(run)];
      const conditions = [...settled.conditions];
      if (update !== null && read?.kind === "update") {
        conditions.push(read.condition);
        writes.push(read.write(update.result));
      }
      committed = writes.length === 0 || (await store.commit({ conditions, writes }));
      if (committed) {
        records.committed(writes);
        this.#owner.committed?.(run);
        follows.settle(run);
      }
      return committed;
    } finally {
      taken.end(committed);
    }
  }

  /** Ended intents, and the released reservations of orders that filled nothing. */
  async #settledRows(run: Run, absentOnly: boolean): Promise<ConclusionRows> {
    const writes: StateWrite[] = [];
    for (const attempt of run.attempts) {
      const outcome = intentOutcome(attempt);
      if (outcome === null || (absentOnly && outcome !== "NOT_PLACED")) continue;
      const ref = { clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs };
      writes.push(...(await this.#parts.intents.settleWrites(ref, outcome)), ...(await this.#releaseRows(attempt)));
    }
    const own = absentOnly ? undefined : await this.#owner.settledRows?.(run);
    return own === undefined
      ? { conditions: [], writes }
      : { conditions: own.conditions, writes: [...writes, ...own.writes] };
  }

  /** Releases the daily-limit reservation of an opening order that ended with nothing filled, and of what it grew by. */
  async #releaseRows(attempt: OrderAttempt): Promise<readonly StateWrite[]> {
    if (attempt.reduceOnly !== false || !isUnfilled(attempt)) return [];
    const { guards, reservations } = this.#parts;
    const reservation = reservations.get(attempt);
    const own =
      reservation === undefined
        ? await guards.releaseEarlier(attempt.clientIdHex, attempt.intentAtMs)
        : reservation.release();
    return [...own, ...guards.releaseGrowth(grownOrder(attempt.venue, attempt.venueClientOrderId))];
  }
}

/** Subscribers to ends that came after the reply, at most MAX_RESOLVED_LISTENERS. A listener must not throw. */
export class ResolvedListeners<Resolved> {
  readonly #logger: Logger;
  readonly #listeners = new Set<(resolved: Resolved) => void>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns the function that ends the subscription. */
  add(listener: (resolved: Resolved) => void): () => void {
    if (this.#listeners.size >= MAX_RESOLVED_LISTENERS)
      throw new ServiceError("INTERNAL", { problem: "too many listeners for resolved orders" });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** In the turn in which the end is known. */
  notify(resolved: Resolved): void {
    for (const listener of this.#listeners) {
      try {
        listener(resolved);
      } catch (error) {
        this.#logger.error("resolved_listener_threw", { problem: problemOf(error) });
      }
    }
  }
}
