/**
 * The decisions of the trade path as they are reported: one wide event each to whoever listens (decision-event.ts), and
 * their rows of the record. A decision whose orders were sent has its row in the batch of the conclusion; a refusal after a
 * decision is stored here, beside the reply.
 */
import type { Clock } from "../../domain/clock.js";
import type { Deadline } from "../../domain/deadline.js";
import type { Logger } from "../../domain/logger.js";
import type { StateStore, StateWrite } from "../../storage/state-store.js";
import { problemOf, type Background } from "../background.js";
import { ownerOf, type TradeRun } from "../run.js";
import { roundMs } from "../run-writes.js";
import type { TradeContext, TradeData, TradeRequest } from "../types.js";
import type { DecisionEvent, DecisionSink } from "./decision-event.js";
import type { OrderEvent } from "./order-events.js";
import type { ConcludedTrade, RecordSink } from "./record-sink.js";

/** What reports a decision. */
interface DecisionParts {
  readonly background: Background;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: RecordSink;
  readonly store: StateStore;
}

export class TradeDecisions {
  readonly #parts: DecisionParts;
  readonly #onDecision: DecisionSink;

  constructor(parts: DecisionParts, onDecision: DecisionSink) {
    this.#parts = parts;
    this.#onDecision = onDecision;
  }

  emit(
    kind: DecisionEvent["kind"],
    request: Pick<TradeRequest, "symbol" | "direction" | "dryRun">,
    context: Pick<TradeContext, "ownerId" | "requestId">,
    deadline: Deadline,
    what: Partial<Pick<DecisionEvent, "code" | "routing" | "data">>,
  ): void {
    const event: DecisionEvent = {
      kind,
      tsMs: this.#parts.clock.wallMs(),
      ownerId: context.ownerId,
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

  /** For the batch of the conclusion. */
  rows(
    kind: "replied" | "resolved",
    run: TradeRun,
    data: TradeData,
    events: readonly OrderEvent[],
    elapsedMs: number | null,
  ): readonly StateWrite[] {
    const { clock, records } = this.#parts;
    const { requestId, symbol, direction } = run;
    const ownerId = ownerOf(run);
    const close = { kind, tsMs: clock.wallMs(), ownerId, requestId, symbol, direction, code: null, elapsedMs } as const;
    return records.decisionWrites({ ...close, routing: data.routing, data, run, events });
  }

  /** A close that was routed and then refused: a decision like others, only that no order followed. */
  async #storeRefusal(event: DecisionEvent, routing: ConcludedTrade["routing"]): Promise<void> {
    const { tsMs, ownerId, requestId, symbol, direction, code, elapsedMs } = event;
    const refused = { kind: "refused", tsMs, ownerId, requestId, symbol, direction, code, routing, elapsedMs } as const;
    const writes = this.#parts.records.decisionWrites({ ...refused, data: null, run: null, events: [] });
    if (writes.length === 0) return;
    await this.#parts.store.commit({ writes });
    this.#parts.records.committed(writes);
  }
}
