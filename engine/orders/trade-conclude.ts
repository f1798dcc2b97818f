/**
 * The end of a trade: the reply, and everything that remembers it (registry, idempotency record, intents, list of
 * unknown orders, the record, decision events). An order that was with the resolver at the reply brings them up to date
 * when it ends.
 *
 * Invariant: what is durable of a conclusion becomes so in one batch, beside the reply: a crash leaves all of it (the
 * rows of the record among it, once) or an open intent, from which the order is looked up again.
 */
import { ServiceError } from "../domain/errors.js";
import type { VenueOrder } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { StateCondition, StateWrite } from "../storage/state-store.js";
import { problemOf } from "./background.js";
import { COMMIT_TRIES, ConclusionCommits } from "./conclusion-commits.js";
import type { TradeExecution, TradeParts } from "./trade-context.js";
import { doubtOrders, faultData } from "./trade-fault.js";
import type { LateOrder } from "./trade-execute.js";
import { buildTradeData, toTradeResult } from "./trade-reply.js";
import { filledLots } from "./attempt-figures.js";
import {
  endTimings,
  isPriced,
  recordToldEnd,
  roundMs,
  unsettledAttempt,
  type OrderAttempt,
  type TradeRun,
} from "./trade-run.js";
import { applyPrice } from "./fill-price.js";
import { freeNames } from "./free-names.js";
import { applyResolution, intentOutcome } from "./send-outcome.js";
import type { TradeContext, TradeData, TradeRequest, TradeResult } from "./trade-types.js";
import { Deadline } from "../domain/deadline.js";
import type { DecisionEvent, DecisionSink } from "./decision-event.js";
import type { IdempotencyTicket, RecordUpdate } from "./idempotency.js";
import { takeOrderEvents, type OrderEvent } from "./order-events.js";
import type { ConcludedTrade } from "./record-sink.js";

const MAX_RESOLVED_LISTENERS = 16;

interface RecordToUpdate {
  readonly recordKey: string;
  readonly result: TradeResult;
}

/** A trade whose outcome was unknown at its reply has found its end. Holds no credential. */
export interface ResolvedTrade {
  readonly routeId: string;
  readonly data: TradeData;
  /** Whose orders these are: `accountHashOf` of each session that sent one. */
  readonly accounts: readonly { readonly venue: RoutableVenue; readonly accountHash: string }[];
}

/** Called in the turn in which the end is known; must not throw. */
export type ResolvedListener = (resolved: ResolvedTrade) => void;

export interface Concluded {
  readonly ok: true;
  readonly success: boolean;
  readonly data: TradeData;
  readonly replayed: false;
}

export class TradeConclusion {
  readonly #parts: TradeParts;
  readonly #onDecision: DecisionSink;
  readonly #listeners = new Set<ResolvedListener>();
  readonly #commits: ConclusionCommits<TradeRun, TradeResult>;

  constructor(parts: TradeParts, onDecision: DecisionSink) {
    this.#parts = parts;
    this.#commits = new ConclusionCommits(parts);
    this.#onDecision = onDecision;
  }

  /** Returns the function that ends the subscription. At most MAX_RESOLVED_LISTENERS. */
  onResolved(listener: ResolvedListener): () => void {
    if (this.#listeners.size >= MAX_RESOLVED_LISTENERS) {
      throw new ServiceError("INTERNAL", { problem: "too many listeners for execution.resolved" });
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The reply of a run that this request carried to its end; the durable parts follow beside it. */
  finish(execution: TradeExecution, context: TradeContext, run: TradeRun, late: readonly LateOrder[]): Concluded {
    const { registry } = this.#parts;
    const reply = this.#reply(execution, context, run);
    const { ticket } = execution;
    this.#followResting(execution, run);
    const elapsedMs = roundMs(execution.deadline.elapsedMs());
    const listed = ticket !== null || unsettledAttempt(run) !== null || late.length > 0;
    const store = (ownWrites: () => StateWrite[]): Promise<void> =>
      this.#store(run, COMMIT_TRIES, (events) => [
        ...(listed ? registry.persistWrites(reply.data, run) : []),
        ...ownWrites(),
        ...this.#decisionRows("replied", run, reply.data, events, elapsedMs),
      ]);
    this.#parts.background.run(
      "conclusion",
      ticket === null ? store(() => []) : this.#complete(ticket, run, reply, store),
    );
    this.#parts.background.run("names_free", freeNames(this.#parts, execution, run));
    this.followLate(execution, context, run, late);
    this.#followPrices(run, ticket?.recordKey ?? null);
    return reply;
  }

  /** Fills whose price is being read: it brings up to date what remembers the run. */
  #followPrices(run: TradeRun, recordKey: string | null): void {
    for (const attempt of run.attempts) {
      const price = this.#parts.resolver.priceOf(attempt.clientIdHex);
      if (price === null) continue;
      this.#parts.background.run("fill_price", this.#publishPrice(run, attempt, price, recordKey));
    }
  }

  async #publishPrice(
    run: TradeRun,
    attempt: OrderAttempt,
    price: Promise<VenueOrder | null>,
    recordKey: string | null,
  ): Promise<void> {
    applyPrice(this.#parts, attempt, await price);
    if (attempt.order !== null && isPriced(attempt.order)) await this.publishProgress(run, recordKey);
  }

  /** Orders that are with the resolver still: their ends bring up to date what remembers the run. */
  followLate(execution: TradeExecution, context: TradeContext, run: TradeRun, late: readonly LateOrder[]): void {
    this.#followResting(execution, run);
    for (const order of late)
      this.#parts.background.run("late_resolution", this.#resolveLate(execution, context, run, order));
  }

  /** What rests is followed from here on, with the credentials it was sent with. */
  #followResting(execution: TradeExecution, run: TradeRun): void {
    const { follows } = this.#parts;
    follows.consider(run, execution.ticket?.recordKey ?? null, (venue) => {
      const account = execution.accounts.get(venue);
      return account === null ? null : { session: account.session, credentials: execution.request.credentials[venue] };
    });
  }

  /** More is known of a run, or was sent for it, since its reply. No end of it is reported. */
  async publishProgress(run: TradeRun, recordKey: string | null): Promise<void> {
    const { registry, records } = this.#parts;
    this.#followPrices(run, recordKey);
    const data = this.dataOf(run);
    registry.remember(data, run);
    const rowsOf = (events: readonly OrderEvent[]): StateWrite[] => [
      ...registry.persistWrites(data, run),
      ...records.eventWrites(run, events),
    ];
    const update = recordKey === null ? null : { recordKey, result: toTradeResult(data, false) };
    await this.#store(run, COMMIT_TRIES, rowsOf, update);
  }

  /** The end of a run none of whose orders left this machine: a retry with the key runs again. */
  discard(execution: TradeExecution, run: TradeRun): void {
    const { background, idempotency, records } = this.#parts;
    const { ticket } = execution;
    const store = (ownWrites: () => StateWrite[]): Promise<void> =>
      this.#store(run, COMMIT_TRIES, (events) => [...ownWrites(), ...records.eventWrites(run, events)]);
    background.run("close_discard", ticket === null ? store(() => []) : idempotency.discard(ticket, store));
    background.run("names_free", freeNames(this.#parts, execution, run));
  }

  /** Orders found never to have been placed, before the close goes on: it may end in a refusal, which concludes nothing. */
  settleIntents(run: TradeRun): void {
    this.#parts.background.run("intent_settle", this.#settleOnly(run));
  }

  /** The reply of a run that stays open: its record stays RUNNING, and the next request with the key looks again. */
  leaveOpen(execution: TradeExecution, context: TradeContext, run: TradeRun): Concluded {
    return this.#reply(execution, context, run);
  }

  /** Tells everybody who remembers the run what became of its last unknown order. */
  async publishResolved(run: TradeRun, recordKey: string | null): Promise<TradeData> {
    const { registry, logger } = this.#parts;
    this.#followPrices(run, recordKey);
    const data = this.dataOf(run);
    // Still unknown: another leg, or it could not be printed, see dataOf.
    registry.track(run);
    registry.remember(data, run);
    // Another order of it may still be open to be read: then the end is reported later, once.
    // The outcome of its protection since, after a crash too, is no second end.
    const isEnd = unsettledAttempt(run) === null && run.toldEnd !== data.execution.state;
    if (isEnd) recordToldEnd(run, data.execution.state);
    const resolved = isEnd ? { routeId: run.routeId, data, accounts: accountsOf(run) } : null;
    for (const listener of resolved === null ? [] : this.#listeners) {
      try {
        if (resolved !== null) listener(resolved);
      } catch (error) {
        logger.error("resolved_listener_threw", { problem: problemOf(error) });
      }
    }
    await this.#storeResolved(run, recordKey, isEnd, data);
    return data;
  }

  /** Nobody waits for more than one try; a store that refuses gets it later. */
  async #storeResolved(run: TradeRun, recordKey: string | null, isEnd: boolean, data: TradeData): Promise<void> {
    const { registry, records } = this.#parts;
    const rowsOf = (events: readonly OrderEvent[]): StateWrite[] => [
      ...registry.persistWrites(data, run),
      ...(isEnd ? this.#decisionRows("resolved", run, data, events, null) : records.eventWrites(run, events)),
    ];
    const update = recordKey === null ? null : { recordKey, result: toTradeResult(data, false) };
    await this.#commits.orAgain(this.#store(run, 1, rowsOf, update), () =>
      this.#storeResolved(run, recordKey, isEnd, this.dataOf(run)),
    );
  }

  /** No end waits for the store any more. */
  stop(): void {
    this.#commits.stop();
  }

  /** As publishResolved, for an end that was found by asking: no request is at work on it any more. */
  async publishLookup(run: TradeRun, recordKey: string | null): Promise<void> {
    const deadline = new Deadline(this.#parts.clock, 0);
    const data = await this.publishResolved(run, recordKey);
    this.emit("resolved", { ...run, dryRun: false }, run, deadline, { data });
  }

  /**
   * The reply as the run stands. A run that cannot be printed is a fault of ours, met when orders may be at work: its
   * orders are unknown from then on, to be read again, and the reply says so.
   */
  dataOf(run: TradeRun): TradeData {
    const nowMs = this.#parts.clock.wallMs();
    try {
      return buildTradeData(run, nowMs);
    } catch (error) {
      this.#parts.logger.error("reply_not_built", { routeId: run.routeId, problem: problemOf(error) });
      doubtOrders(run);
      return faultData(run, nowMs);
    }
  }

  emit(
    kind: DecisionEvent["kind"],
    request: Pick<TradeRequest, "symbol" | "direction" | "dryRun">,
    context: Pick<TradeContext, "requestId">,
    deadline: Deadline,
    what: Partial<Pick<DecisionEvent, "code" | "routing" | "data">>,
  ): void {
    const event: DecisionEvent = {
      kind,
      tsMs: this.#parts.clock.wallMs(),
      requestId: context.requestId,
      symbol: request.symbol,
      direction: request.direction,
      dryRun: request.dryRun,
      code: what.code ?? null,
      routing: what.routing ?? null,
      data: what.data ?? null,
      elapsedMs: roundMs(deadline.elapsedMs()),
    };
    try {
      this.#onDecision(event);
      if (event.dryRun || (event.kind === "refused" && event.routing === null)) this.#parts.records.note(event);
    } catch (error) {
      // A recorder that fails must not fail a close.
      this.#parts.logger.error("decision_sink_threw", { problem: problemOf(error) });
    }
    if (event.kind === "refused" && event.routing !== null && !event.dryRun) {
      this.#parts.background.run("refusal_record", this.#storeRefusal(event, event.routing));
    }
  }

  /** A close that was routed and then refused: a decision like others, only that no order followed. */
  async #storeRefusal(event: DecisionEvent, routing: ConcludedTrade["routing"]): Promise<void> {
    const { tsMs, requestId, symbol, direction, code, elapsedMs } = event;
    const refused = { kind: "refused", tsMs, requestId, symbol, direction, code, routing, elapsedMs } as const;
    const writes = this.#parts.records.decisionWrites({ ...refused, data: null, run: null, events: [] });
    if (writes.length === 0) return;
    await this.#parts.store.commit({ writes });
    this.#parts.records.committed(writes);
  }

  #reply(execution: TradeExecution, context: TradeContext, run: TradeRun): Concluded {
    const { registry } = this.#parts;
    const elapsedMs = execution.deadline.elapsedMs();
    endTimings(run, elapsedMs);
    this.#parts.observer.latency("total", "", elapsedMs * 1e3);
    const data = this.dataOf(run);
    registry.remember(data, run);
    registry.track(run);
    this.emit("replied", execution.request, context, execution.deadline, { data });
    return { ok: true, success: data.execution.state !== "REJECTED", data, replayed: false };
  }

  async #complete(
    ticket: IdempotencyTicket,
    run: TradeRun,
    result: TradeResult,
    store: (ownWrites: () => StateWrite[]) => Promise<void>,
  ): Promise<void> {
    const stored = await this.#parts.idempotency.complete(ticket, run, result, store);
    if (!stored) this.#parts.logger.warn("idempotency_not_stored", { routeId: run.routeId });
  }

  /**
   * One batch: the ended intents of the run, what `writesOf` adds, built at the last moment, and the update of an
   * idempotency record. Conclusions of one run are stored one after the other. The store saying no is tried again
   * `tries` times in all.
   */
  async #store(
    run: TradeRun,
    tries: number,
    writesOf: (events: readonly OrderEvent[]) => StateWrite[],
    update: RecordToUpdate | null = null,
  ): Promise<void> {
    await this.#commits.store(run, tries, update?.recordKey ?? null, (read) =>
      this.#commit(run, writesOf, update, read),
    );
  }

  async #settleOnly(run: TradeRun): Promise<void> {
    const writes = await this.#settleWrites(run, true);
    if (writes.length > 0) await this.#parts.store.commit({ writes });
  }

  /** `absentOnly`: of orders that are nowhere; what others did is settled with the rows that tell of it. */
  async #settleWrites(run: TradeRun, absentOnly: boolean): Promise<StateWrite[]> {
    const writes: StateWrite[] = [];
    for (const attempt of run.attempts) {
      const outcome = intentOutcome(attempt);
      if (outcome === null || (absentOnly && outcome !== "NOT_PLACED")) continue;
      const ref = { clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs };
      writes.push(...(await this.#parts.intents.settleWrites(ref, outcome)), ...(await this.#releaseWrites(attempt)));
    }
    return writes;
  }

  /** An entry's order that ended with nothing filled gives back what it took of the daily limits. */
  async #releaseWrites(attempt: OrderAttempt): Promise<readonly StateWrite[]> {
    if (attempt.reduceOnly !== false || filledLots(attempt) > 0 || attempt.order?.status === "OPEN") return [];
    const { guards, reservations } = this.#parts;
    const reservation = reservations.get(attempt);
    if (reservation === undefined) return guards.releaseEarlier(attempt.clientIdHex, attempt.intentAtMs);
    return reservation.release();
  }

  /** false: the record changed meanwhile. */
  async #commit(
    run: TradeRun,
    writesOf: (events: readonly OrderEvent[]) => StateWrite[],
    update: RecordToUpdate | null,
    read: RecordUpdate | null,
  ): Promise<boolean> {
    const { clock, follows, records, store } = this.#parts;
    const settled = await this.#settleWrites(run, false);
    const taken = takeOrderEvents(run, clock.wallMs());
    let committed = false;
    try {
      const writes = [...settled, ...writesOf(taken.events), ...follows.rows(run)];
      const conditions: StateCondition[] = [];
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

  #decisionRows(
    kind: "replied" | "resolved",
    run: TradeRun,
    data: TradeData,
    events: readonly OrderEvent[],
    elapsedMs: number | null,
  ): readonly StateWrite[] {
    const { clock, logger, records } = this.#parts;
    try {
      const { requestId, symbol, direction } = run;
      const close = { kind, tsMs: clock.wallMs(), requestId, symbol, direction, code: null, elapsedMs } as const;
      return records.decisionWrites({ ...close, routing: data.routing, data, run, events });
    } catch (error) {
      // A row that cannot be written must not keep the conclusion from being stored.
      logger.error("record_rows_failed", { routeId: run.routeId, problem: problemOf(error) });
      return [];
    }
  }

  async #resolveLate(execution: TradeExecution, context: TradeContext, run: TradeRun, late: LateOrder): Promise<void> {
    if (!applyResolution(this.#parts, late.attempt, await late.resolution)) {
      // No end, but the order may say more than it did at the reply.
      const data = this.dataOf(run);
      this.#parts.registry.remember(data, run);
      this.#parts.registry.track(run);
      return;
    }
    this.#followResting(execution, run);
    const data = await this.publishResolved(run, execution.ticket?.recordKey ?? null);
    if (unsettledAttempt(run) === null) this.emit("resolved", execution.request, context, execution.deadline, { data });
  }
}

function accountsOf(run: TradeRun): ResolvedTrade["accounts"] {
  const accounts = new Map<string, ResolvedTrade["accounts"][number]>();
  for (const { venue, accountHash } of run.attempts)
    if (accountHash !== undefined) accounts.set(`${venue} ${accountHash}`, { venue, accountHash });
  return [...accounts.values()];
}
