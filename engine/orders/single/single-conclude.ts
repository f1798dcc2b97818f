/**
 * The end of a single order: what remembers it is brought up to date in one batch beside the reply: intents, the rows
 * of the record, the idempotency record, its name, its share of the daily limits. An order that was with the resolver
 * at the reply brings them up to date when it ends.
 *
 * Invariant: a crash leaves all of a conclusion or an open intent, from which the order is looked up again.
 */
import { ServiceError } from "../../domain/errors.js";
import type { VenueOrder } from "../../domain/order.js";
import type { StateCondition, StateWrite } from "../../storage/state-store.js";
import { isUnfilled } from "../attempt-figures.js";
import { problemOf } from "../background.js";
import { COMMIT_TRIES, ConclusionCommits } from "../conclusion-commits.js";
import { within } from "../../domain/deadline.js";
import type { IdempotencyTicket, RecordUpdate } from "../idempotency.js";
import { takeOrderEvents, type OrderEvent } from "../order-events.js";
import type { Resolution } from "../resolver.js";
import { STORE_TIMEOUT_MS } from "../limits.js";
import { isPriced, type OrderAttempt } from "../trade-run.js";
import { applyPrice } from "../fill-price.js";
import { applyResolution, intentOutcome } from "../send-outcome.js";
import type { OrderAnswer, OrderResolvedListener } from "./order-desk.js";
import { answerOf, resolvedOrder } from "./order-facts.js";
import type { OrderContext, SingleParts } from "./single-context.js";
import { isUnsettled, lastAttempt, neverAtVenue, type SingleRun, type StoredAnswer } from "./single-run.js";

const MAX_RESOLVED_LISTENERS = 16;

interface RecordToUpdate {
  readonly recordKey: string;
  readonly result: StoredAnswer;
}

export class SingleConclusion {
  readonly #parts: SingleParts;
  readonly #listeners = new Set<OrderResolvedListener>();
  readonly #commits: ConclusionCommits<SingleRun, StoredAnswer>;

  constructor(parts: SingleParts) {
    this.#parts = parts;
    this.#commits = new ConclusionCommits(parts);
  }

  /** Returns the function that ends the subscription. At most MAX_RESOLVED_LISTENERS. */
  onResolved(listener: OrderResolvedListener): () => void {
    if (this.#listeners.size >= MAX_RESOLVED_LISTENERS) {
      throw new ServiceError("INTERNAL", { problem: "too many listeners for resolved orders" });
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The answer of a run as far as its request carried it; the durable parts follow beside it. `late`: still with the resolver. */
  finish(orderContext: OrderContext, run: SingleRun, late: Promise<Resolution> | null): OrderAnswer {
    const { background, follows, unsettled, recent, clock } = this.#parts;
    const { ticket } = orderContext;
    const answer = answerOf(run, clock.wallMs());
    if (answer === null) throw new ServiceError("INTERNAL", { problem: "an order without an answer" });
    if (isUnsettled(run)) unsettled.add({ run, recordKey: ticket?.recordKey ?? null, fromEarlierStart: false });
    else unsettled.remove(run);
    recent.add(run);
    const { credentials, session } = orderContext;
    follows.consider(run, ticket?.recordKey ?? null, () => ({ session, credentials }));
    background.run(
      "order_conclusion",
      ticket === null ? this.#store(run, COMMIT_TRIES, () => []) : this.#complete(ticket, run, answer),
    );
    if (late !== null) background.run("order_late", this.#resolveLate(orderContext, run, late));
    this.#followPrice(run, ticket?.recordKey ?? null);
    return answer;
  }

  /** A fill whose price is being read: it brings up to date what remembers the order. */
  #followPrice(run: SingleRun, recordKey: string | null): void {
    const attempt = lastAttempt(run);
    const price = attempt === null ? null : this.#parts.resolver.priceOf(attempt.clientIdHex);
    if (attempt === null || price === null) return;
    this.#parts.background.run("fill_price", this.#storePrice(run, attempt, price, recordKey));
  }

  async #storePrice(
    run: SingleRun,
    attempt: OrderAttempt,
    price: Promise<VenueOrder | null>,
    recordKey: string | null,
  ): Promise<void> {
    applyPrice(this.#parts, attempt, await price);
    if (attempt.order === null || !isPriced(attempt.order)) return;
    const answer = answerOf(run, this.#parts.clock.wallMs());
    const update = recordKey === null || answer === null ? null : { recordKey, result: answer };
    await this.#store(run, COMMIT_TRIES, () => [], update);
  }

  /**
   * Its last order never left this machine. Where none did a retry with the key begins again; where an earlier one did
   * and came to nothing, the record goes on counting them: a client id that was sent is never used again.
   */
  discard(orderContext: OrderContext, run: SingleRun): void {
    const { background, idempotency } = this.#parts;
    const { ticket } = orderContext;
    if (ticket !== null && run.attempts.some(({ outcome }) => outcome !== "NOT_SENT")) {
      background.run("order_unsent", this.#keepRunning(ticket, run));
      return;
    }
    const store = (ownWrites: () => StateWrite[]): Promise<void> => this.#store(run, COMMIT_TRIES, ownWrites);
    background.run("order_discard", ticket === null ? store(() => []) : idempotency.discard(ticket, store));
  }

  /** Found never to have been placed, before the request goes on: it may end in a refusal, which concludes nothing. */
  async settleAbsent(run: SingleRun): Promise<void> {
    const { background, clock, unsettled } = this.#parts;
    unsettled.remove(run);
    const storing = this.#store(run, 1, () => []);
    background.run("order_settle", storing);
    // What it gives back may be what the next order needs; a store that stalls is met again at that one's intent.
    await within(
      clock,
      storing.catch(() => {}),
      STORE_TIMEOUT_MS,
    );
  }

  /** As publishResolved, with the account at hand: an order that was found resting is followed from here on. */
  publishFound({ credentials, session, ticket }: OrderContext, run: SingleRun): Promise<OrderAnswer> {
    const recordKey = ticket?.recordKey ?? null;
    this.#parts.follows.consider(run, recordKey, () => ({ session, credentials }));
    return this.publishResolved(run, recordKey);
  }

  /** Tells everybody who remembers the order what became of it, once nothing of it is unsettled. */
  async publishResolved(run: SingleRun, recordKey: string | null): Promise<OrderAnswer> {
    const { clock, logger, unsettled } = this.#parts;
    const nowMs = clock.wallMs();
    const answer = answerOf(run, nowMs);
    const attempt = lastAttempt(run);
    if (answer === null || attempt === null)
      throw new ServiceError("INTERNAL", { problem: "a resolved order without an answer" });
    this.#followPrice(run, recordKey);
    const resolved = resolvedOrder(run, attempt, nowMs);
    // From here on, in this turn and until it is stored, who asks meets the end that is told below.
    const stored = unsettled.removeWhile(run, this.#storeResolved(run, recordKey, answer));
    for (const listener of this.#listeners) {
      try {
        listener(resolved);
      } catch (error) {
        logger.error("resolved_listener_threw", { problem: problemOf(error) });
      }
    }
    await stored;
    return answer;
  }

  /** Nobody waits for more than one try; a store that refuses gets it later. */
  async #storeResolved(run: SingleRun, recordKey: string | null, result: OrderAnswer): Promise<void> {
    const update = recordKey === null ? null : { recordKey, result };
    const storing = this.#store(run, 1, () => [], update);
    await this.#commits.orAgain(storing, () =>
      this.#storeResolved(run, recordKey, answerOf(run, this.#parts.clock.wallMs()) ?? result),
    );
  }

  /** No end waits for the store any more. */
  stop(): void {
    this.#commits.stop();
  }

  /** More is known of an order that rested at its reply. No end of it is reported. */
  async publishProgress(run: SingleRun, recordKey: string | null): Promise<void> {
    const answer = answerOf(run, this.#parts.clock.wallMs());
    const update = recordKey === null || answer === null ? null : { recordKey, result: answer };
    await this.#store(run, COMMIT_TRIES, () => [], update);
  }

  async #keepRunning(ticket: IdempotencyTicket<SingleRun, StoredAnswer>, run: SingleRun): Promise<void> {
    const { idempotency } = this.#parts;
    ticket.isEnding = true;
    try {
      // Unconditional: the key is ours until this is durable.
      await this.#store(run, COMMIT_TRIES, () => [...idempotency.runningRows(ticket, run).batch.writes]);
    } finally {
      idempotency.release(ticket);
    }
  }

  async #complete(
    ticket: IdempotencyTicket<SingleRun, StoredAnswer>,
    run: SingleRun,
    answer: OrderAnswer,
  ): Promise<void> {
    const { idempotency, logger } = this.#parts;
    const store = (ownWrites: () => StateWrite[]): Promise<void> => this.#store(run, COMMIT_TRIES, ownWrites);
    if (!(await idempotency.complete(ticket, run, answer, store))) {
      logger.warn("idempotency_not_stored", { routeId: run.routeId });
    }
  }

  async #resolveLate(orderContext: OrderContext, run: SingleRun, late: Promise<Resolution>): Promise<void> {
    const attempt = lastAttempt(run);
    if (attempt === null || !applyResolution(this.#parts, attempt, await late)) return;
    await this.publishFound(orderContext, run);
  }

  /** Conclusions of one run are stored one after the other. The store saying no is tried again, `tries` times in all. */
  async #store(
    run: SingleRun,
    tries: number,
    ownWrites: () => StateWrite[],
    update: RecordToUpdate | null = null,
  ): Promise<void> {
    await this.#commits.store(run, tries, update?.recordKey ?? null, (read) =>
      this.#commit(run, ownWrites, update, read),
    );
  }

  /** false: the record, or the row of a name, changed meanwhile. */
  async #commit(
    run: SingleRun,
    ownWrites: () => StateWrite[],
    update: RecordToUpdate | null,
    read: RecordUpdate<StoredAnswer> | null,
  ): Promise<boolean> {
    const { clock, follows, records, store } = this.#parts;
    const settled = await this.#settleWrites(run);
    const taken = takeOrderEvents(run, clock.wallMs());
    let committed = false;
    try {
      const carried = taken.events.length === 0 ? [] : await this.#carryWrites(run);
      const writes = [
        ...settled.writes,
        ...carried,
        ...this.#rows(run, taken.events),
        ...ownWrites(),
        ...follows.rows(run),
      ];
      const conditions = [...settled.conditions];
      if (update !== null && read?.kind === "update") {
        conditions.push(read.condition);
        writes.push(read.write(update.result));
      }
      committed = writes.length === 0 || (await store.commit({ conditions, writes }));
      if (committed) {
        records.committed(writes);
        follows.settle(run);
      }
      return committed;
    } finally {
      if (!committed) taken.untake();
    }
  }

  /** Ended intents, and what orders that took nothing give back. */
  async #settleWrites(
    run: SingleRun,
  ): Promise<{ readonly conditions: StateCondition[]; readonly writes: StateWrite[] }> {
    const { intents, names } = this.#parts;
    const writes: StateWrite[] = [];
    const conditions: StateCondition[] = [];
    for (const attempt of run.attempts) {
      const outcome = intentOutcome(attempt);
      if (outcome === null) continue;
      const ref = { clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs };
      writes.push(...(await intents.settleWrites(ref, outcome)));
      if (isUnfilled(attempt)) writes.push(...(await this.#releaseUnfilled(attempt)));
    }
    if (run.clientOrderId !== null && neverAtVenue(run)) {
      const freed = await names.freeRows(run.accountHash, run.clientOrderId, run.routeId);
      writes.push(...freed.writes);
      conditions.push(...freed.conditions);
    }
    return { conditions, writes };
  }

  /** Of orders that have not ended: what was just told of them is not told again after a crash. */
  async #carryWrites(run: SingleRun): Promise<StateWrite[]> {
    const writes: StateWrite[] = [];
    for (const attempt of run.attempts) {
      if (intentOutcome(attempt) !== null) continue;
      const ref = { clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs };
      writes.push(...(await this.#parts.intents.carryWrites(ref, run)));
    }
    return writes;
  }

  async #releaseUnfilled(attempt: OrderAttempt): Promise<readonly StateWrite[]> {
    const { guards, reservations } = this.#parts;
    const reservation = reservations.get(attempt);
    if (reservation !== undefined) return reservation.release();
    return guards.releaseEarlier(attempt.clientIdHex, attempt.intentAtMs);
  }

  #rows(run: SingleRun, events: readonly OrderEvent[]): readonly StateWrite[] {
    const { logger, records } = this.#parts;
    try {
      return records.eventWrites(run, events);
    } catch (error) {
      // A row that cannot be written must not keep the conclusion from being stored.
      logger.error("record_rows_failed", { routeId: run.routeId, problem: problemOf(error) });
      return [];
    }
  }
}
