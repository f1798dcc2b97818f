/**
 * The end of a close: the reply, and everything that remembers it (registry, idempotency record, list of unknown
 * orders, decision events). An order that was with the resolver at the reply brings them up to date when it ends.
 */
import { ServiceError } from "../domain/errors.js";
import { problemOf } from "./background.js";
import type { CloseFlight, CloseParts } from "./close-context.js";
import { doubtOrders, faultData } from "./close-fault.js";
import type { LateOrder } from "./close-execute.js";
import { buildCloseData, toCloseResult } from "./close-reply.js";
import { unknownAttempt, type Attempt, type CloseRun } from "./close-run.js";
import { applyResolution, roundMs } from "./close-send.js";
import type { CloseContext, CloseData, CloseRequest, CloseResult } from "./close-types.js";
import { Deadline } from "./deadline.js";
import type { CloseDecisionEvent, DecisionSink } from "./decision-event.js";
import type { IdempotencyTicket } from "./idempotency.js";

const MAX_RESOLVED_LISTENERS = 16;

/** An order of unknown outcome found its end after the reply. */
export type ResolvedListener = (data: CloseData) => void;

export interface Concluded {
  readonly ok: true;
  readonly success: boolean;
  readonly data: CloseData;
  readonly replayed: false;
}

export class CloseConclusion {
  readonly #parts: CloseParts;
  readonly #onDecision: DecisionSink;
  readonly #listeners = new Set<ResolvedListener>();

  constructor(parts: CloseParts, onDecision: DecisionSink) {
    this.#parts = parts;
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
  finish(flight: CloseFlight, context: CloseContext, run: CloseRun, late: LateOrder | null): Concluded {
    const { registry } = this.#parts;
    const reply = this.#reply(flight, context, run);
    const unknown = unknownAttempt(run);
    if (unknown === null && registry.isUnknown(run.routeId)) registry.markKnown(run.routeId);
    if (flight.ticket !== null || unknown !== null || late !== null) {
      this.#parts.background.run("execution_persist", registry.persist(reply.data, run));
    }
    if (flight.ticket !== null) {
      this.#parts.background.run("idempotency_complete", this.#complete(flight.ticket, run, reply));
    }
    if (late !== null) this.#parts.background.run("late_resolution", this.#resolveLate(flight, context, run, late));
    return reply;
  }

  /** The reply of a run that stays open: its record stays RUNNING, and the next request with the key looks again. */
  leaveOpen(flight: CloseFlight, context: CloseContext, run: CloseRun): Concluded {
    return this.#reply(flight, context, run);
  }

  /** Tells everybody who remembers the run what became of its last unknown order. */
  async publishResolved(run: CloseRun, recordKey: string | null): Promise<CloseData> {
    const { registry, idempotency, logger } = this.#parts;
    const data = this.dataOf(run);
    const unknown = unknownAttempt(run);
    // Still unknown: only when it could not be printed, see dataOf.
    if (unknown !== null) this.#markUnknown(run, unknown);
    else if (registry.isUnknown(run.routeId)) registry.markKnown(run.routeId);
    registry.remember(data, run);
    for (const listener of this.#listeners) {
      try {
        listener(data);
      } catch (error) {
        logger.error("resolved_listener_threw", { problem: problemOf(error) });
      }
    }
    await registry.persist(data, run);
    if (recordKey !== null) await idempotency.update(recordKey, run, toCloseResult(data, false));
    return data;
  }

  /** As publishResolved, for an end that was found by asking: no request is at work on it any more. */
  async publishAsked(run: CloseRun, recordKey: string | null): Promise<void> {
    const deadline = new Deadline(this.#parts.clock, 0);
    const data = await this.publishResolved(run, recordKey);
    this.emit("resolved", { ...run, dryRun: false }, run, deadline, { data });
  }

  /**
   * The reply as the run stands. A run that cannot be printed is a fault of ours, met when orders may be at work: its
   * orders are unknown from then on, to be read again, and the reply says so.
   */
  dataOf(run: CloseRun): CloseData {
    const nowMs = this.#parts.clock.wallMs();
    try {
      return buildCloseData(run, nowMs);
    } catch (error) {
      this.#parts.logger.error("reply_not_built", { routeId: run.routeId, problem: problemOf(error) });
      doubtOrders(run);
      return faultData(run, nowMs);
    }
  }

  emit(
    kind: CloseDecisionEvent["kind"],
    request: Pick<CloseRequest, "symbol" | "direction" | "dryRun">,
    context: Pick<CloseContext, "requestId">,
    deadline: Deadline,
    what: Partial<Pick<CloseDecisionEvent, "code" | "routing" | "data">>,
  ): void {
    try {
      this.#onDecision({
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
      });
    } catch (error) {
      // A recorder that fails must not fail a close.
      this.#parts.logger.error("decision_sink_threw", { problem: problemOf(error) });
    }
  }

  #reply(flight: CloseFlight, context: CloseContext, run: CloseRun): Concluded {
    const { registry } = this.#parts;
    run.timingMs.total = roundMs(flight.deadline.elapsedMs());
    const data = this.dataOf(run);
    registry.remember(data, run);
    const unknown = unknownAttempt(run);
    if (unknown !== null) this.#markUnknown(run, unknown);
    this.emit("replied", flight.request, context, flight.deadline, { data });
    return { ok: true, success: data.execution.state !== "REJECTED", data, replayed: false };
  }

  async #complete(ticket: IdempotencyTicket, run: CloseRun, result: CloseResult): Promise<void> {
    const stored = await this.#parts.idempotency.complete(ticket, run, result);
    if (!stored) this.#parts.logger.warn("idempotency_not_stored", { routeId: run.routeId });
  }

  async #resolveLate(flight: CloseFlight, context: CloseContext, run: CloseRun, late: LateOrder): Promise<void> {
    if (!applyResolution(this.#parts, late.attempt, await late.resolution)) return;
    const data = await this.publishResolved(run, flight.ticket?.recordKey ?? null);
    this.emit("resolved", flight.request, context, flight.deadline, { data });
  }

  #markUnknown(run: CloseRun, attempt: Attempt): void {
    this.#parts.registry.markUnknown({
      routeId: run.routeId,
      venue: attempt.venue,
      symbol: run.symbol,
      venueClientOrderId: attempt.venueClientOrderId,
      sinceMs: attempt.intentAtMs,
      fromEarlierStart: false,
    });
  }
}
