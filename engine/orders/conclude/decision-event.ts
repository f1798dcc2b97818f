/**
 * One wide event per decision, for the recorder and for metrics. Bounded (one report, at most MAX_ATTEMPTS
 * legs) and free of credentials: it holds what replies hold, no more.
 */
import type { ErrorCode } from "../../domain/errors.js";
import type { Direction } from "../../domain/order.js";
import type { RoutingReport } from "../../routing/report.js";
import type { TradeData } from "../types.js";

export interface DecisionEvent {
  /** `resolved`: an order of unknown outcome found its end after the reply. */
  readonly kind: "replied" | "refused" | "replayed" | "resolved";
  readonly tsMs: number;
  readonly ownerId: string | null;
  readonly requestId: string;
  readonly symbol: string;
  readonly direction: Direction;
  readonly dryRun: boolean;
  /** Refused only. */
  readonly code: ErrorCode | null;
  /** Set when refused after a decision; where `data` is set the code is in there. */
  readonly routing: RoutingReport | null;
  readonly data: TradeData | null;
  readonly elapsedMs: number;
}

/** Must not throw and must not keep the caller waiting. */
export type DecisionSink = (event: DecisionEvent) => void;
