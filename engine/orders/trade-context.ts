/** What the parts of the trade path share: ports, collaborators, bounds. Built once by the trade service. */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { GuardReservation, Guards } from "../guards/guards.js";
import type { StateStore } from "../storage/state-store.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import type { SendBounds } from "./absence-proof.js";
import type { Background } from "./background.js";
import type { TradeAccounts, Rooms } from "./trade-accounts.js";
import type { OrderCore } from "./order-core.js";
import type { TradeRequest, TradeResult } from "./trade-types.js";
import type { TradeRouting } from "./trade-routing.js";
import type { ClientIdSource } from "./client-id.js";
import type { Deadline } from "../domain/deadline.js";
import type { ExecutionRegistry } from "./execution-registry.js";
import type { FeeCache } from "./fee-cache.js";
import type { IdempotencyRecords, IdempotencyTicket } from "./idempotency.js";
import type { IntentLog } from "./intent-log.js";
import type { ClientOrderIdIndex } from "./client-order-id-index.js";
import type { BoundQuote, QuoteBook } from "./quote-book.js";
import type { RecordSink } from "./record-sink.js";
import type { RouteObserver } from "./route-observer.js";
import type { Resolver } from "./resolver.js";
import type { OrderFollows } from "./order-follows.js";
import type { OrderAttempt, TradeRun } from "./trade-run.js";

export interface TradeParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rooms: Rooms;
  readonly store: StateStore;
  readonly hash: KeyedHash;
  readonly routing: TradeRouting;
  readonly clientIds: ClientIdSource;
  readonly intents: IntentLog;
  readonly names: ClientOrderIdIndex;
  readonly idempotency: IdempotencyRecords;
  readonly registry: ExecutionRegistry;
  readonly resolver: Resolver;
  readonly follows: OrderFollows<TradeRun>;
  readonly bounds: SendBounds;
  readonly feeCache: FeeCache;
  readonly background: Background;
  readonly records: RecordSink;
  readonly quotes: QuoteBook;
  readonly guards: Guards;
  /** What opening orders of this process took of the daily limits, until their end is stored. */
  readonly reservations: WeakMap<OrderAttempt, GuardReservation>;
  readonly observer: RouteObserver;
  readonly core: OrderCore<TradeRun, TradeResult>;
}

/** One request on its way. */
export interface TradeExecution {
  /** As it came; bound to a quote with the quote's slippage where it names none. */
  request: TradeRequest;
  readonly accounts: TradeAccounts;
  readonly ticket: IdempotencyTicket | null;
  readonly deadline: Deadline;
  /** What the call is bound to; null: nothing, or not looked up yet. */
  quote: BoundQuote | null;
  /** ALL and percent: venues whose position the decision did not know. */
  unread: readonly RoutableVenue[];
  /** The API key of the caller, for limits; null in public mode. */
  readonly apiKeyId: string | null;
  /** Texts to blank in whatever a venue says. */
  readonly secrets: readonly string[];
}
