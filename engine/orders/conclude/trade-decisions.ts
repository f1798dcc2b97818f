/**
 * The decisions of the trade path as they are reported: one wide event each to whoever listens (decision-event.ts), and
 * their rows of the record. A decision whose orders were sent has its row in the batch of the conclusion, or where the store
 * refuses that one, in whichever batch of its run comes next: that settles its intents, and a crash then leaves nobody who
 * would write the row. A refusal after a decision is stored here, beside the reply.
 */
import type { Clock } from "../../domain/clock.js";
import type { Deadline } from "../../domain/deadline.js";
import type { Logger } from "../../domain/logger.js";
import type { StateStore, StateWrite } from "../../storage/state-store.js";
import { problemOf, type Background } from "../background.js";
import { ownerOf, type TradeRun } from "../run.js";
import { recordReportedEnd, roundMs } from "../run-writes.js";
import type { ExecutionState, TradeContext, TradeData, TradeRequest } from "../types.js";
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

/** A reply as it was given. */
interface Replied {
  readonly data: TradeData;
  readonly elapsedMs: number;
}

/** Decisions of a run whose rows are not durable yet. */
interface OwedRows {
  replied: Replied | null;
  /** The reply in the batch that was built last. */
  inBatch: Replied | null;
  /** The state in which its end was reported after the reply; durable where the run says the same. */
  end: ExecutionState | null;
}

export class TradeDecisions {
  readonly #parts: DecisionParts;
  readonly #onDecision: DecisionSink;
  readonly #owed = new WeakMap<TradeRun, OwedRows>();

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

  /** Its row goes with the next batch of the run. */
  noteReply(run: TradeRun, data: TradeData, elapsedMs: number): void {
    this.#owedOf(run).replied = { data, elapsedMs };
  }

  /** The same of its end after the reply. False: it was reported in this state. */
  noteEnd(run: TradeRun, state: ExecutionState): boolean {
    const owed = this.#owedOf(run);
    if ((owed.end ?? run.toldEnd) === state) return false;
    owed.end = state;
    return true;
  }

  /**
   * For any batch of the run: the rows of its decisions that are owed, and of what is new of its orders. Marks an end as
   * reported in the run, which the batch is to hold so.
   */
  rows(run: TradeRun, data: TradeData, events: readonly OrderEvent[]): readonly StateWrite[] {
    const owed = this.#owedOf(run);
    const { end, replied } = owed;
    owed.inBatch = replied;
    const isEnd = end !== null && end !== run.toldEnd;
    if (isEnd) recordReportedEnd(run, end);
    // The events go with the first.
    if (replied !== null && isEnd)
      return [
        ...this.#decisionRows("replied", run, replied.data, events, replied.elapsedMs),
        ...this.#decisionRows("resolved", run, data, [], null),
      ];
    if (replied !== null) return this.#decisionRows("replied", run, replied.data, events, replied.elapsedMs);
    return isEnd
      ? this.#decisionRows("resolved", run, data, events, null)
      : this.#parts.records.eventWrites(run, events);
  }

  /** The batch that was built last is durable. */
  committed(run: TradeRun): void {
    const owed = this.#owed.get(run);
    if (owed === undefined) return;
    if (owed.replied === owed.inBatch) owed.replied = null;
    owed.inBatch = null;
  }

  #owedOf(run: TradeRun): OwedRows {
    const known = this.#owed.get(run);
    if (known !== undefined) return known;
    const owed = { replied: null, inBatch: null, end: null };
    this.#owed.set(run, owed);
    return owed;
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
