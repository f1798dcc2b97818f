/** What the routes need from the close path; wiring.ts binds it to the close service, tests to a fake. */
import type { ErrorCode } from "../../engine/domain/errors.js";
import type { Asker } from "../../engine/orders/durable/execution-registry.js";
import type { QuoteRequest } from "../../engine/orders/decide/routing.js";
import type {
  TradeContext,
  TradeData,
  TradeRequest,
  TradeResult,
  ExecutionAnswer,
  Quote,
} from "../../engine/orders/types.js";
import type { RoutingReport } from "../../engine/routing/report.js";
import type { Restored } from "../../engine/storage/instance/instance-mark.js";
import type { StoreStatus } from "../../engine/storage/state-store.js";
import type { UnknownOrderRow } from "../../schemas/service.js";

export type QuoteAnswer =
  | { readonly ok: true; readonly routing: RoutingReport; readonly quote: Quote }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

/** Oldest first, at most as many as requested. */
export interface OrderRows {
  readonly count: number;
  readonly orders: readonly UnknownOrderRow[];
}

export interface TradeDesk {
  /** The public dry run: books only, synchronous, nothing sent. `ownerId`: whose quote it is. */
  quote(request: QuoteRequest, ownerId: string | null): QuoteAnswer;
  /**
   * Never throws or rejects because of a venue or a caller. Returns the result itself when nothing has to be waited
   * for.
   */
  trade(request: TradeRequest, context: TradeContext): TradeResult | Promise<TradeResult>;
  /** Returns null when there is no such execution for the asker, or no longer. Rejects with STORE_UNAVAILABLE. */
  execution(routeId: string, asker: Asker): Promise<TradeData | null>;
  /** Like `execution`, after looking up an order of unknown outcome with these credentials. */
  askExecution(routeId: string, credentials: TradeRequest["credentials"], asker: Asker): Promise<ExecutionAnswer>;
  /** Orders of unknown outcome that the asker may see. */
  unknownOrders(limit: number, asker: Asker): OrderRows;
  /** Orders that their venue acknowledged and that have not been seen to end; of those that the asker may see. */
  openOrders(limit: number, asker: Asker): OrderRows;
  /**
   * `count`: runs with resting orders that are followed to their end; `unattendedCount`: those of their orders that
   * wait for credentials, or for their turn. Of those that the asker may see.
   */
  followed(asker: Asker): { readonly count: number; readonly unattendedCount: number };
  /** The state of the durable store. */
  storeStatus(): ServedStoreStatus;
}

export interface ServedStoreStatus extends StoreStatus {
  /** Absent or null: nothing says that it was put back. */
  readonly restored?: Restored | null;
}
