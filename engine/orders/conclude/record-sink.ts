/**
 * What the record gets of closes. Rows that must not be lost are state-store writes which the conclusion of a close
 * commits in one batch with everything else that remembers it: they are there exactly if it is. The core knows no more
 * of the record than this port.
 */
import type { ErrorCode } from "../../domain/errors.js";
import type { Direction } from "../../domain/order.js";
import type { RoutingReport } from "../../routing/report.js";
import type { StateWrite } from "../../storage/state-store.js";
import type { TradeRun } from "../run.js";
import type { TradeData } from "../types.js";
import type { DecisionEvent } from "./decision-event.js";
import type { OrderEvent } from "./order-events.js";

/** What the rows of an order's states and fills tell of what the order belongs to. */
export interface RecordedRun
  extends Pick<
    TradeRun,
    "ownerId" | "routeId" | "requestId" | "symbol" | "direction" | "orderType" | "startedAtMs" | "positionsBefore"
  > {
  /** Null when it was not routed. */
  readonly routing: Pick<RoutingReport, "candidates" | "reference"> | null;
}

/** A decision, with what its orders did since the last report. */
export interface ConcludedTrade {
  readonly kind: "replied" | "resolved" | "refused";
  readonly tsMs: number;
  readonly ownerId: string | null;
  readonly requestId: string;
  readonly symbol: string;
  readonly direction: Direction;
  /** Refused only. */
  readonly code: ErrorCode | null;
  readonly routing: RoutingReport;
  readonly data: TradeData | null;
  /** Null means refused before any order. */
  readonly run: TradeRun | null;
  readonly events: readonly OrderEvent[];
  /** Null where it ended beside any request. */
  readonly elapsedMs: number | null;
}

export interface RecordSink {
  /**
   * One row, and one or two for each event: with the conclusion's own they stay within one batch of the store.
   * Deterministic keys: the same conclusion twice is the same rows.
   */
  decisionWrites(concluded: ConcludedTrade): readonly StateWrite[];
  /** Orders that had no effect with their close: events without a decision. */
  eventWrites(run: RecordedRun, events: readonly OrderEvent[]): readonly StateWrite[];
  /** The writes are durable. */
  committed(writes: readonly StateWrite[]): void;
  /**
   * A dry run, or a refusal before any decision: worth a row, not a wait for the disk, so it may be lost in a crash.
   * Must not throw.
   */
  note(event: DecisionEvent): void;
}

export const NO_RECORDS: RecordSink = {
  decisionWrites: () => [],
  eventWrites: () => [],
  committed() {},
  note() {},
};
