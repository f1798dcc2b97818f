import type { RouteObserver } from "../decide/route-observer.js";
import type { ExecutionRegistry } from "../durable/execution-registry.js";
import type { OrderFollows } from "../follow/order-follows.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { StateWrite, StateStore } from "../../storage/state-store.js";
import { problemOf } from "../background.js";
import { ConclusionCore, ResolvedListeners, type RowsOf, type ConclusionParts } from "./conclusion-core.js";
import type { TradeExecution } from "../send/execution.js";
import { doubtOrders, faultData } from "./fault.js";
import type { LateOrder } from "../send/execute.js";
import { buildTradeData, toTradeResult } from "./reply.js";
import { endTimings, recordToldEnd, roundMs, unsettledAttempt, type TradeRun } from "../run.js";
import { freeNames, type FreeNamesParts } from "./free-names.js";
import { applyResolution } from "../send/outcome.js";
import type { TradeContext, TradeData, TradeRequest, TradeResult } from "../types.js";
import { Deadline } from "../../domain/deadline.js";
import type { DecisionEvent, DecisionSink } from "./decision-event.js";
import type { OrderEvent } from "./order-events.js";
import type { ConcludedTrade, RecordSink } from "./record-sink.js";

/** What concludes a trade. */
export interface TradeConclusionParts extends ConclusionParts<TradeRun, TradeResult>, FreeNamesParts {
  readonly follows: OrderFollows<TradeRun>;
  readonly registry: ExecutionRegistry;
  readonly observer: RouteObserver;
  readonly records: RecordSink;
  readonly store: StateStore;
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
  readonly #parts: TradeConclusionParts;
  readonly #onDecision: DecisionSink;
  readonly #listeners: ResolvedListeners<ResolvedTrade>;
  readonly #core: ConclusionCore<TradeRun, TradeResult>;

  constructor(parts: TradeConclusionParts, onDecision: DecisionSink) {
    this.#parts = parts;
    this.#listeners = new ResolvedListeners(parts.logger);
    this.#core = new ConclusionCore<TradeRun, TradeResult>(parts, this);
    this.#onDecision = onDecision;
  }

  /** Returns the function that ends the subscription. At most MAX_RESOLVED_LISTENERS. */
  onResolved(listener: ResolvedListener): () => void {
    return this.#listeners.add(listener);
  }

  /** The reply of a run that this request carried to its end; the durable parts follow beside it. */
  finish(execution: TradeExecution, context: TradeContext, run: TradeRun, late: readonly LateOrder[]): Concluded {
    const { registry } = this.#parts;
    const reply = this.#reply(execution, context, run);
    const { ticket } = execution;
    this.#followResting(execution, run);
    const elapsedMs = roundMs(execution.deadline.elapsedMs());
    const listed = ticket !== null || unsettledAttempt(run) !== null || late.length > 0;
    const rowsOf: RowsOf = (events) => [
      ...(listed ? registry.persistWrites(reply.data, run) : []),
      ...this.#decisionRows("replied", run, reply.data, events, elapsedMs),
    ];
    this.#parts.background.run(
      "conclusion",
      ticket === null ? this.#core.store(run, rowsOf) : this.#core.complete(ticket, run, reply, rowsOf),
    );
    this.#parts.background.run("names_free", freeNames(this.#parts, execution, run));
    this.followLate(execution, context, run, late);
    this.#core.followPrices(run, ticket?.recordKey ?? null);
    return reply;
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
    this.#core.followPrices(run, recordKey);
    const data = this.dataOf(run);
    registry.remember(data, run);
    const rowsOf: RowsOf = (events) => [
      ...registry.persistWrites(data, run),
      ...this.#core.recordRows(run, () => records.eventWrites(run, events)),
    ];
    const update = recordKey === null ? null : { recordKey, result: toTradeResult(data, false) };
    await this.#core.store(run, rowsOf, update);
  }

  /** The end of a run none of whose orders left this machine: a retry with the key runs again. */
  discard(execution: TradeExecution, run: TradeRun): void {
    const { background, records } = this.#parts;
    const rowsOf: RowsOf = (events) => this.#core.recordRows(run, () => records.eventWrites(run, events));
    background.run("close_discard", this.#core.discard(execution.ticket, run, rowsOf));
    background.run("names_free", freeNames(this.#parts, execution, run));
  }

  /** Orders found never to have been placed, before the close goes on: it may end in a refusal, which concludes nothing. */
  settleIntents(run: TradeRun): void {
    this.#parts.background.run("intent_settle", this.#core.settleAbsent(run));
  }

  /** The reply of a run that stays open: its record stays RUNNING, and the next request with the key looks again. */
  leaveOpen(execution: TradeExecution, context: TradeContext, run: TradeRun): Concluded {
    return this.#reply(execution, context, run);
  }

  /** Reports the outcome of the run's last unknown order to whatever remembers the run. */
  async publishResolved(run: TradeRun, recordKey: string | null): Promise<TradeData> {
    const { registry } = this.#parts;
    this.#core.followPrices(run, recordKey);
    const data = this.dataOf(run);
    // Still unknown: another leg, or it could not be printed, see dataOf.
    registry.track(run);
    registry.remember(data, run);
    // Another order of it may still be open to be read: then the end is reported later, once.
    // The outcome of its protection since, after a crash too, is no second end.
    const isEnd = unsettledAttempt(run) === null && run.toldEnd !== data.execution.state;
    if (isEnd) recordToldEnd(run, data.execution.state);
    if (isEnd) this.#listeners.tell({ routeId: run.routeId, data, accounts: accountsOf(run) });
    await this.#storeResolved(run, recordKey, isEnd, data);
    return data;
  }

  /** One try, as no caller waits for more; where the store refuses, it is stored later. */
  async #storeResolved(run: TradeRun, recordKey: string | null, isEnd: boolean, data: TradeData): Promise<void> {
    const { registry, records } = this.#parts;
    const rowsOf: RowsOf = (events) => [
      ...registry.persistWrites(data, run),
      ...(isEnd
        ? this.#decisionRows("resolved", run, data, events, null)
        : this.#core.recordRows(run, () => records.eventWrites(run, events))),
    ];
    const update = recordKey === null ? null : { recordKey, result: toTradeResult(data, false) };
    await this.#core.storeOnce(run, rowsOf, update, () => this.#storeResolved(run, recordKey, isEnd, this.dataOf(run)));
  }

  /** No end waits for the store any more. */
  stop(): void {
    this.#core.stop();
  }

  /** As publishResolved, for an end that was found by asking: no request is at work on it any more. */
  async publishLookup(run: TradeRun, recordKey: string | null): Promise<void> {
    const deadline = new Deadline(this.#parts.clock, 0);
    const data = await this.publishResolved(run, recordKey);
    this.emit("resolved", { ...run, dryRun: false }, run, deadline, { data });
  }

  /**
   * The reply to the run as it is. A run that cannot be printed is a fault of ours, met when orders may be at work: its
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

  #decisionRows(
    kind: "replied" | "resolved",
    run: TradeRun,
    data: TradeData,
    events: readonly OrderEvent[],
    elapsedMs: number | null,
  ): readonly StateWrite[] {
    const { clock, records } = this.#parts;
    const { requestId, symbol, direction } = run;
    const close = { kind, tsMs: clock.wallMs(), requestId, symbol, direction, code: null, elapsedMs } as const;
    return this.#core.recordRows(run, () =>
      records.decisionWrites({ ...close, routing: data.routing, data, run, events }),
    );
  }

  async #resolveLate(execution: TradeExecution, context: TradeContext, run: TradeRun, late: LateOrder): Promise<void> {
    if (!applyResolution(this.#parts, late.attempt, await late.resolution)) {
      // Not ended, but more may be known of the order than at the reply.
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
