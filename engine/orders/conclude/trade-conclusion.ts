import type { RouteObserver } from "../decide/route-observer.js";
import type { ExecutionRegistry } from "../durable/execution-registry.js";
import type { OrderFollows } from "../follow/order-follows.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { problemOf } from "../background.js";
import { ConclusionCore, ResolvedListeners, type RowsOf, type ConclusionParts } from "./conclusion-core.js";
import type { TradeExecution } from "../send/execution.js";
import { doubtOrders, faultData } from "./fault.js";
import type { LateOrder } from "../send/execute.js";
import { buildTradeData, toTradeResult } from "./reply.js";
import { ownerOf, unsettledAttempt, type TradeRun } from "../run.js";
import { endTimings, roundMs } from "../run-writes.js";
import { freeNames, type FreeNamesParts } from "./free-names.js";
import { applyResolution } from "../send/outcome.js";
import type { TradeContext, TradeData, TradeResult } from "../types.js";
import { Deadline } from "../../domain/deadline.js";
import type { RecordSink } from "./record-sink.js";
import type { TradeDecisions } from "./trade-decisions.js";

/** What concludes a trade. */
export interface TradeConclusionParts extends ConclusionParts<TradeRun, TradeResult>, FreeNamesParts {
  readonly follows: OrderFollows<TradeRun>;
  readonly registry: ExecutionRegistry;
  readonly observer: RouteObserver;
  readonly records: RecordSink;
  readonly decisions: TradeDecisions;
  /** Called once the outcome of an order that its reply had as unknown is published: what it filled may need protection. */
  readonly onLateEnd: (run: TradeRun) => void;
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
  readonly #listeners: ResolvedListeners<ResolvedTrade>;
  readonly #core: ConclusionCore<TradeRun, TradeResult>;

  constructor(parts: TradeConclusionParts) {
    this.#parts = parts;
    this.#listeners = new ResolvedListeners(parts.logger);
    this.#core = new ConclusionCore<TradeRun, TradeResult>(parts, {
      publishProgress: (run, recordKey) => this.publishProgress(run, recordKey),
      committed: (run) => parts.decisions.committed(run),
    });
  }

  /** Returns the function that ends the subscription. At most MAX_RESOLVED_LISTENERS. */
  onResolved(listener: ResolvedListener): () => void {
    return this.#listeners.add(listener);
  }

  /** The reply of a run that this request carried to its end; the durable parts follow beside it. */
  finish(execution: TradeExecution, context: TradeContext, run: TradeRun, late: readonly LateOrder[]): Concluded {
    const { decisions, registry } = this.#parts;
    const reply = this.#reply(execution, context, run);
    const { ticket } = execution;
    this.#followResting(execution, run);
    const elapsedMs = roundMs(execution.deadline.elapsedMs());
    const listed = ticket !== null || unsettledAttempt(run) !== null || late.length > 0;
    // What the store refuses is stored later, and more may be known of the run by then.
    const latest = atFirst(reply.data, () => this.dataOf(run));
    decisions.noteReply(run, reply.data, elapsedMs);
    const rowsOf: RowsOf = (events) => {
      const data = latest();
      const rows = this.#core.recordRows(run, () => decisions.rows(run, data, events));
      return [...(listed ? registry.persistWrites(data, run) : []), ...rows];
    };
    this.#parts.background.run(
      "conclusion",
      ticket === null
        ? this.#core.storeReply(run, rowsOf)
        : this.#core.complete(
            ticket,
            run,
            reply,
            rowsOf,
            atFirst<TradeResult>(reply, () => toTradeResult(this.dataOf(run), false)),
          ),
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
    this.#core.followPrices(run, recordKey);
    const data = this.dataOf(run);
    this.#parts.registry.remember(data, run);
    const update = recordKey === null ? null : { recordKey, result: toTradeResult(data, false) };
    await this.#core.store(run, laterRows(this.#parts, this.#core, run, data), update);
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

  /**
   * The reply of a run that stays open: its record stays RUNNING, and the next request with the key looks again. What of it
   * was found at rest is followed meanwhile: whoever finds the rest may have other credentials.
   */
  leaveOpen(execution: TradeExecution, context: TradeContext, run: TradeRun): Concluded {
    this.#followResting(execution, run);
    return this.#reply(execution, context, run);
  }

  /** Reports the outcome of the run's last unknown order to whatever remembers the run. */
  async publishResolved(run: TradeRun, recordKey: string | null): Promise<TradeData> {
    const { decisions, registry } = this.#parts;
    this.#core.followPrices(run, recordKey);
    const data = this.dataOf(run);
    // Still unknown: another leg, or it could not be printed, see dataOf.
    registry.track(run);
    registry.remember(data, run);
    // Another order of it may still be open to be read: then the end is reported later, once.
    // The outcome of its protection since, after a crash too, is no second end.
    if (unsettledAttempt(run) === null && decisions.noteEnd(run, data.execution.state))
      this.#listeners.notify({ routeId: run.routeId, data, accounts: accountsOf(run) });
    await this.#storeResolved(run, recordKey, data);
    return data;
  }

  /** One try, as no caller waits for more; where the store refuses, it is stored later. */
  async #storeResolved(run: TradeRun, recordKey: string | null, data: TradeData): Promise<void> {
    const update = recordKey === null ? null : { recordKey, result: toTradeResult(data, false) };
    await this.#core.storeOnce(run, laterRows(this.#parts, this.#core, run, data), update, () =>
      this.#storeResolved(run, recordKey, this.dataOf(run)),
    );
  }

  /** No end waits for the store any more. */
  stop(): void {
    this.#core.stop();
  }

  /** As publishResolved, for an end that was found by asking: no request is at work on it any more. */
  async publishLookup(run: TradeRun, recordKey: string | null): Promise<void> {
    const deadline = new Deadline(this.#parts.clock, 0);
    const data = await this.publishResolved(run, recordKey);
    this.#parts.decisions.emit(
      "resolved",
      { ...run, dryRun: false },
      { requestId: run.requestId, ownerId: ownerOf(run) },
      deadline,
      { data },
    );
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

  #reply(execution: TradeExecution, context: TradeContext, run: TradeRun): Concluded {
    const { decisions, observer, registry } = this.#parts;
    const elapsedMs = execution.deadline.elapsedMs();
    endTimings(run, elapsedMs);
    observer.latency("total", "", elapsedMs * 1e3);
    const data = this.dataOf(run);
    registry.remember(data, run);
    registry.track(run);
    decisions.emit("replied", execution.request, context, execution.deadline, { data });
    return { ok: true, success: data.execution.state !== "REJECTED", data, replayed: false };
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
    this.#parts.onLateEnd(run);
    if (unsettledAttempt(run) === null)
      this.#parts.decisions.emit("resolved", execution.request, context, execution.deadline, { data });
  }
}

/** Of a conclusion after the reply. */
function laterRows(
  { decisions, registry }: Pick<TradeConclusionParts, "decisions" | "registry">,
  core: ConclusionCore<TradeRun, TradeResult>,
  run: TradeRun,
  data: TradeData,
): RowsOf {
  return (events) => {
    // First, for they mark in the run what is reported.
    const rows = core.recordRows(run, () => decisions.rows(run, data, events));
    return [...registry.persistWrites(data, run), ...rows];
  };
}

function accountsOf(run: TradeRun): ResolvedTrade["accounts"] {
  const accounts = new Map<string, ResolvedTrade["accounts"][number]>();
  for (const { venue, accountHash } of run.attempts)
    if (accountHash !== undefined) accounts.set(`${venue} ${accountHash}`, { venue, accountHash });
  return [...accounts.values()];
}

/** What was given, the first time that it is asked for. */
function atFirst<T>(given: T, later: () => T): () => T {
  let isAsked = false;
  return () => {
    if (isAsked) return later();
    isAsked = true;
    return given;
  };
}
