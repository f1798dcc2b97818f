/**
 * The end of a single order: the answer, and everything that remembers it (intents, the rows of the record, the
 * idempotency record, its name), stored by conclusion-core.ts. An order that was with the resolver at the reply brings
 * them up to date when it ends.
 */
import type { OrderFollows } from "../follow/order-follows.js";
import type { UnsettledOrders } from "./unsettled-orders.js";
import type { RecordSink } from "../conclude/record-sink.js";
import type { RecentOrders } from "./recent-orders.js";
import type { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { ServiceError } from "../../domain/errors.js";
import type { StateWrite } from "../../storage/state-store.js";
import {
  ConclusionCore,
  ResolvedListeners,
  type ConclusionRows,
  type RowsOf,
  type ConclusionParts,
} from "../conclude/conclusion-core.js";
import { within } from "../../domain/deadline.js";
import type { IdempotencyTicket } from "../durable/idempotency.js";
import type { Resolution } from "../send/resolver.js";
import { STORE_TIMEOUT_MS } from "../limits.js";
import { applyResolution, intentOutcome } from "../send/outcome.js";
import type { OrderAnswer, OrderResolvedListener } from "./order-desk.js";
import { answerOf, resolvedOrder } from "./order-facts.js";
import type { OrderContext } from "./single-context.js";
import { isUnsettled, lastAttempt, neverAtVenue, type SingleRun, type StoredAnswer } from "./single-run.js";

/** What concludes an order. */
export interface SingleConclusionParts extends ConclusionParts<SingleRun, StoredAnswer> {
  readonly names: ClientOrderIdIndex;
  readonly recent: RecentOrders;
  readonly records: RecordSink;
  readonly unsettled: UnsettledOrders;
  readonly follows: OrderFollows<SingleRun>;
}

export class SingleConclusion {
  readonly #parts: SingleConclusionParts;
  readonly #listeners: ResolvedListeners<Parameters<OrderResolvedListener>[0]>;
  readonly #core: ConclusionCore<SingleRun, StoredAnswer>;

  constructor(parts: SingleConclusionParts) {
    this.#parts = parts;
    this.#listeners = new ResolvedListeners(parts.logger);
    this.#core = new ConclusionCore<SingleRun, StoredAnswer>(parts, this);
  }

  /** Returns the function that ends the subscription. At most MAX_RESOLVED_LISTENERS. */
  onResolved(listener: OrderResolvedListener): () => void {
    return this.#listeners.add(listener);
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
      ticket === null
        ? this.#core.storeReply(run, this.#rowsOf(run))
        : this.#core.complete(ticket, run, answer, this.#rowsOf(run), () => answerOf(run, clock.wallMs()) ?? answer),
    );
    if (late !== null) background.run("order_late", this.#resolveLate(orderContext, run, late));
    this.#core.followPrices(run, ticket?.recordKey ?? null);
    return answer;
  }

  /**
   * Its last order never left this machine. Where none did a retry with the key begins again; where an earlier one did
   * and filled nothing, the record goes on counting them: a client id that was sent is never used again.
   */
  discard(orderContext: OrderContext, run: SingleRun): void {
    const { background } = this.#parts;
    const { ticket } = orderContext;
    if (ticket !== null && run.attempts.some(({ outcome }) => outcome !== "NOT_SENT")) {
      background.run("order_unsent", this.#keepRunning(ticket, run));
      return;
    }
    background.run("order_discard", this.#core.discard(ticket, run, this.#rowsOf(run)));
  }

  /** Found never to have been placed, before the request goes on: it may end in a refusal, which concludes nothing. */
  async settleAbsent(run: SingleRun): Promise<void> {
    const { background, clock, unsettled } = this.#parts;
    unsettled.remove(run);
    const storing = this.#core.storeNow(run, this.#rowsOf(run));
    background.run("order_settle", storing);
    // The next order may need what it releases; a store that stalls is met again at that one's intent.
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

  /** Reports the outcome of the order to whatever remembers it, once nothing of it is unsettled. */
  async publishResolved(run: SingleRun, recordKey: string | null): Promise<OrderAnswer> {
    const { clock, unsettled } = this.#parts;
    const nowMs = clock.wallMs();
    const answer = answerOf(run, nowMs);
    const attempt = lastAttempt(run);
    if (answer === null || attempt === null)
      throw new ServiceError("INTERNAL", { problem: "a resolved order without an answer" });
    this.#core.followPrices(run, recordKey);
    const resolved = resolvedOrder(run, attempt, nowMs);
    // From here on, in this turn and until it is stored, a question gets the end that is published below.
    const stored = unsettled.removeWhile(run, this.#storeResolved(run, recordKey, answer));
    this.#listeners.notify(resolved);
    await stored;
    return answer;
  }

  /** One try, as no caller waits for more; where the store refuses, it is stored later. */
  async #storeResolved(run: SingleRun, recordKey: string | null, result: OrderAnswer): Promise<void> {
    const update = recordKey === null ? null : { recordKey, result };
    await this.#core.storeOnce(run, this.#rowsOf(run), update, () =>
      this.#storeResolved(run, recordKey, answerOf(run, this.#parts.clock.wallMs()) ?? result),
    );
  }

  /** No end waits for the store any more. */
  stop(): void {
    this.#core.stop();
  }

  /** More is known of an order that rested at its reply. No end of it is reported. */
  async publishProgress(run: SingleRun, recordKey: string | null): Promise<void> {
    const answer = answerOf(run, this.#parts.clock.wallMs());
    const update = recordKey === null || answer === null ? null : { recordKey, result: answer };
    await this.#core.store(run, this.#rowsOf(run), update);
  }

  async #keepRunning(ticket: IdempotencyTicket<SingleRun, StoredAnswer>, run: SingleRun): Promise<void> {
    const { idempotency } = this.#parts;
    ticket.isEnding = true;
    try {
      // Unconditional: the key is ours until this is durable.
      await this.#core.store(run, async (events) => [
        ...(await this.#rowsOf(run)(events)),
        ...idempotency.runningRows(ticket, run).batch.writes,
      ]);
    } finally {
      idempotency.release(ticket);
    }
  }

  async #resolveLate(orderContext: OrderContext, run: SingleRun, late: Promise<Resolution>): Promise<void> {
    const attempt = lastAttempt(run);
    if (attempt === null || !applyResolution(this.#parts, attempt, await late)) return;
    await this.publishFound(orderContext, run);
  }

  /** Where no order of the run came to its venue, its name is free again. */
  async settledRows(run: SingleRun): Promise<ConclusionRows> {
    const { accountHash, clientOrderId, routeId } = run;
    if (clientOrderId === null || !neverAtVenue(run)) return { conditions: [], writes: [] };
    return this.#parts.names.freeRows(accountHash, clientOrderId, routeId);
  }

  #rowsOf(run: SingleRun): RowsOf {
    return async (events) => [
      ...(events.length === 0 ? [] : await this.#carryWrites(run)),
      ...this.#core.recordRows(run, () => this.#parts.records.eventWrites(run, events)),
    ];
  }

  /** For orders that have not ended: what was just reported is not reported again after a crash. */
  async #carryWrites(run: SingleRun): Promise<StateWrite[]> {
    const writes: StateWrite[] = [];
    for (const attempt of run.attempts) {
      if (intentOutcome(attempt) !== null) continue;
      const ref = { clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs };
      writes.push(...(await this.#parts.intents.carryWrites(ref, run)));
    }
    return writes;
  }
}
