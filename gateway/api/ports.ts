/** What the routes need from the close path; wiring.ts binds it to the close service, tests to a fake. */
import type { ErrorCode } from "../../engine/domain/errors.js";
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
import type { StoreStatus } from "../../engine/storage/state-store.js";
import type { UnknownOrderRow } from "../../schemas/service.js";

export type QuoteAnswer =
  | { readonly ok: true; readonly routing: RoutingReport; readonly quote: Quote }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

/** Oldest first, at most as many as were asked for. */
export interface OrderRows {
  readonly count: number;
  readonly orders: readonly UnknownOrderRow[];
}

export interface TradeDesk {
  /** The public dry run: books only, synchronous, nothing sent. */
  quote(request: QuoteRequest): QuoteAnswer;
  /** Never throws or rejects for what a venue or a caller does. At once where nothing has to be waited for. */
  trade(request: TradeRequest, context: TradeContext): TradeResult | Promise<TradeResult>;
  /** Null means no such execution (any more). Rejects with STORE_UNAVAILABLE. */
  execution(routeId: string): Promise<TradeData | null>;
  /** As `execution`, after an order of unknown outcome was looked up with these credentials. */
  askExecution(routeId: string, credentials: TradeRequest["credentials"]): Promise<ExecutionAnswer>;
  /** Orders of unknown outcome. */
  unknownOrders(limit: number): OrderRows;
  /** Orders that their venue acknowledged and whose end was not seen. */
  openOrders(limit: number): OrderRows;
  /** Runs with orders that rest and are followed to their end; of their orders, those that wait for credentials. */
  followed(): { readonly count: number; readonly unattendedCount: number };
  /** Of the durable state. */
  storeStatus(): StoreStatus;
}
