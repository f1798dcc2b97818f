/**
 * The trade path: one request in, one position closed at the best exit or opened at the best entry, one reply out.
 *
 *   sessions → idempotency → live positions and fees → route → intent durable → send → outcome → reply
 *
 * Invariants: no order without explicit side, none but an entry's own without reduceOnly; filled ≤ submitted ≤ requested ≤ position; an unknown
 * outcome is never re-sent, re-routed or reported as failed; one idempotency key, one execution, across crashes;
 * every session is closed at the end of the request or of the resolution of its order.
 *
 * Bounds: MAX_IN_FLIGHT trades (beyond: OVERLOADED); each part names its own bounds.
 */
import type { ErrorCode } from "../../domain/errors.js";
import type { RoutingReport } from "../../routing/report.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import type { OrderListeners } from "../follow/order-listeners.js";
import type { Background } from "../background.js";
import type { Rooms } from "../accounts.js";
import { ExecutionLookup, type ExecutionLookupParts } from "./execution-lookup.js";
import { TradeConclusion, type ResolvedListener, type TradeConclusionParts } from "../conclude/trade-conclusion.js";
import { TradeDecisions } from "../conclude/trade-decisions.js";
import { giveQuote } from "./quote.js";
import { unlistedSymbol } from "./refusals.js";
import { ordersIn } from "./replays.js";
import { TradeRequests, type RequestParts } from "./request.js";
import {
  TradeRouting,
  DEFAULT_ROUTING_SETTINGS,
  type MarketRooms,
  type QuoteRequest,
  type RoutingSettings,
} from "../decide/routing.js";
import type { FollowOwner } from "../follow/followed-run.js";
import { OrderFollows } from "../follow/order-follows.js";
import { isOfPosition, unsettledAttempt, type TradeRun } from "../run.js";
import type { TradeContext, TradeData, TradeRequest, TradeResult, ExecutionAnswer, Quote } from "../types.js";
import { Deadline, within } from "../../domain/deadline.js";
import type { DecisionSink } from "../conclude/decision-event.js";
import { ExecutionRegistry, type Asker } from "../durable/execution-registry.js";
import { ProtectionWatch, type WatchParts } from "../protect/watch.js";
import { FeeCache } from "../decide/fee-cache.js";
import type { IntentLog, OrderIntent } from "../durable/intent-log.js";
import { QuoteBook } from "./quote-book.js";
import type { ListedOrder } from "../listed-orders.js";
import { QuoteIds } from "./quote-ids.js";
import { NO_RECORDS, type RecordSink } from "../conclude/record-sink.js";
import { NO_OBSERVER, type RouteObserver } from "../decide/route-observer.js";
import type { ResolverCounts } from "../send/resolver.js";
import { sendingParts, type SendingOptions } from "../send/sending-parts.js";
import { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { mintRouteId } from "../route-ids.js";

export const MAX_IN_FLIGHT = 2_000;
/** For metrics, which name nobody. */
const SERVICE: Asker = { ownerId: null, payer: null, seesAll: true };

export interface TradeServiceOptions extends SendingOptions {
  readonly rooms: Rooms;
  /** For quotes; the rooms above where absent. */
  readonly marketRooms?: MarketRooms;
  readonly onDecision?: DecisionSink;
  /** Where rows of orders and decisions go; none are kept where absent. */
  readonly records?: RecordSink;
  readonly routing?: RoutingSettings;
  readonly observer?: RouteObserver;
  /** Shared with the desk of single orders; own ones where absent. */
  readonly listeners?: OrderListeners;
  /** The same: what callers call their orders. */
  readonly names?: ClientOrderIdIndex;
  readonly maxInFlight?: number;
  /** Executions in memory. */
  readonly maxRecent?: number;
  readonly maxWatched?: number;
  readonly maxFollowed?: number;
}

export interface TradeServiceStatus {
  readonly inFlight: number;
  readonly draining: boolean;
  readonly unknownCount: number;
  readonly unknown: readonly ListedOrder[];
  /** Acknowledged by their venue, and their end not seen. */
  readonly openCount: number;
  readonly open: readonly ListedOrder[];
  readonly resolver: ResolverCounts;
  /** Entries that are watched for what they fill after their reply. */
  readonly watchedCount: number;
  /** Trades with orders that rest and are followed to their end. */
  readonly followedCount: number;
  /** Of their orders, those that nobody looks at before credentials of their account come by. */
  readonly unattendedCount: number;
}

export type QuoteResult =
  | { readonly ok: true; readonly routing: RoutingReport; readonly quote: Quote }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

/** Whatever the steps take, built once. Each step names what it takes itself. */
type TradeParts = RequestParts &
  WatchParts &
  TradeConclusionParts &
  ExecutionLookupParts & { readonly background: Background; readonly intents: IntentLog };

export class TradeService {
  readonly #parts: TradeParts;
  readonly #conclusion: TradeConclusion;
  readonly #requests: TradeRequests;
  readonly #watch: ProtectionWatch;
  readonly #lookup: ExecutionLookup;
  readonly #randomIds: RandomIds;
  readonly #marketRooms: MarketRooms;
  readonly #maxInFlight: number;
  readonly #executions = new Set<Promise<TradeResult>>();
  #draining = false;

  constructor(options: TradeServiceOptions) {
    const { clock, store, hash, rooms, randomIds, listeners } = options;
    this.#marketRooms = options.marketRooms ?? rooms;
    const { recordOptions: _, ...sending } = sendingParts<TradeRun, TradeResult>(options);
    const records = options.records ?? NO_RECORDS;
    const observer = options.observer ?? NO_OBSERVER;
    this.#parts = {
      ...sending,
      rooms,
      routing: new TradeRouting(rooms, this.#marketRooms, clock, options.routing ?? DEFAULT_ROUTING_SETTINGS, observer),
      names: options.names ?? new ClientOrderIdIndex(store, hash, clock),
      registry: new ExecutionRegistry(store, clock, sending.owners, options.maxRecent),
      follows: new OrderFollows<TradeRun>(
        { ...sending, rooms, listeners, maxFollowed: options.maxFollowed },
        this.#followOwner(),
      ),
      feeCache: new FeeCache(clock),
      records,
      decisions: new TradeDecisions({ ...sending, records }, options.onDecision ?? (() => {})),
      quotes: new QuoteBook(clock, new QuoteIds(hash, randomIds.randomHex128()), sending.owners),
      observer,
      onLateEnd: ({ routeId }) => this.#watch.wake(routeId),
    };
    this.#conclusion = new TradeConclusion(this.#parts);
    this.#watch = new ProtectionWatch(this.#parts, this.#conclusion, options.maxWatched);
    this.#requests = new TradeRequests(this.#parts, this.#conclusion, this.#watch, randomIds);
    this.#lookup = new ExecutionLookup(this.#parts, this.#conclusion);
    this.#randomIds = randomIds;
    this.#maxInFlight = options.maxInFlight ?? MAX_IN_FLIGHT;
  }

  /** Before the first close: lists orders that an earlier start may have left, and begins the sweeps. */
  async start(): Promise<void> {
    const { follows, intents, registry, idempotency, rooms, background } = this.#parts;
    for (const run of await follows.load()) {
      registry.remember(this.#conclusion.dataOf(run), run);
      registry.track(run, true);
    }
    for (const intent of latestByRoute(await intents.listOpen())) {
      const run = (await this.#runOf(intent)) ?? (await registry.unsettledRun(intent.routeId));
      if (run !== null) follows.adopt(run);
      if (run !== null && unsettledAttempt(run) !== null) {
        registry.remember(this.#conclusion.dataOf(run), run);
        registry.track(run, true);
        continue;
      }
      registry.markUnknown({
        routeId: intent.routeId,
        venue: intent.venue,
        symbol: intent.symbol,
        venueClientOrderId:
          rooms.get(intent.venue)?.orders.venueClientOrderId(intent.clientIdHex) ?? intent.clientIdHex,
        sinceMs: intent.createdAtMs,
        fromEarlierStart: true,
        ownerId: intent.ownerId ?? null,
      });
      if (run !== null) registry.remember(this.#conclusion.dataOf(run), run);
    }
    background.startSweeps([idempotency, intents, registry]);
  }

  /** A dry run that needs no wait, in this turn; null: `trade` it is. */
  tradeAtOnce(request: TradeRequest, context: TradeContext): TradeResult | null {
    return this.#draining ? null : this.#requests.runAtOnce(request, context);
  }

  /** A close or an open, as the request says. Never rejects for what a caller, a venue or the store does. */
  async trade(request: TradeRequest, context: TradeContext): Promise<TradeResult> {
    if (this.#draining) return { ok: false, code: "SHUTTING_DOWN", details: {}, replayed: false };
    if (this.#executions.size >= this.#maxInFlight)
      return { ok: false, code: "OVERLOADED", details: {}, replayed: false };
    const execution = this.#requests.run(request, context);
    this.#executions.add(execution);
    try {
      return await execution;
    } finally {
      this.#executions.delete(execution);
    }
  }

  /** Public dry run: books only. The quote is the caller's. */
  quote(request: QuoteRequest, ownerId: string | null): QuoteResult {
    const { clock, routing } = this.#parts;
    const unlisted = unlistedSymbol(this.#marketRooms, request.symbol);
    if (unlisted !== null) return { ok: false, code: "UNKNOWN_SYMBOL", details: unlisted };
    const nowMs = clock.wallMs();
    const answer = routing.routeQuote(request, mintRouteId("rt", nowMs, this.#randomIds));
    if (!answer.ok) return { ok: false, code: answer.code, details: answer.details };
    const { symbol, side, maxSlippageBps } = request;
    const terms = { symbol, side, maxSlippageBps, intent: null, orderType: "MARKET", accounts: null, ownerId } as const;
    const quote = giveQuote(this.#parts.quotes, answer.routed, terms, request.quoteTtlMs);
    return { ok: true, routing: answer.routed.report, quote };
  }

  /** Current state of a trade; null: not known to this caller (any more). Rejects with STORE_UNAVAILABLE. */
  async execution(routeId: string, asker: Asker): Promise<TradeData | null> {
    const data = await this.#parts.registry.dataFor(routeId, asker);
    return data === null ? null : this.#watch.watchedReport(data);
  }

  /** As `execution`, but an order of unknown outcome is looked up first where the credentials are its account's. */
  async askExecution(
    routeId: string,
    credentials: TradeRequest["credentials"],
    asker: Asker,
  ): Promise<ExecutionAnswer> {
    if (this.#draining) return { ok: true, data: await this.execution(routeId, asker) };
    const answer = await this.#lookup.ask(routeId, credentials, asker);
    return answer.ok && answer.data !== null ? { ...answer, data: this.#watch.watchedReport(answer.data) } : answer;
  }

  /** Orders as the asker may see them; the other figures are of the service. */
  status(asker: Asker = SERVICE): TradeServiceStatus {
    const { follows, registry, resolver } = this.#parts;
    return {
      inFlight: this.#executions.size,
      draining: this.#draining,
      ...registry.listed(asker),
      resolver: resolver.counts(),
      watchedCount: this.#watch.count,
      ...follows.countsFor(asker.ownerId, asker.seesAll),
    };
  }

  /** Called when an order of unknown outcome found its end after the reply. Returns the function that ends it. */
  onResolved(listener: ResolvedListener): () => void {
    return this.#conclusion.onResolved(listener);
  }

  /**
   * Refuses new trades, and lets whatever may still send an order end: running ones, the resolver's last looks, the watch's;
   * at most `timeoutMs`. A dead-man's switch that fires after it leaves none of their orders behind.
   */
  async endSending(timeoutMs: number): Promise<void> {
    this.#draining = true;
    const { clock, resolver } = this.#parts;
    const deadline = new Deadline(clock, timeoutMs);
    await within(clock, Promise.all(this.#executions), deadline.leftMs());
    // What the resolver's last looks find is the watch's to protect.
    await within(clock, resolver.stop(), deadline.leftMs());
    await within(clock, this.#watch.stop(), deadline.leftMs());
  }

  /** The same, and waits for writes; at most `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    const { clock, background } = this.#parts;
    const deadline = new Deadline(clock, timeoutMs);
    background.stopSweeps();
    await this.endSending(deadline.leftMs());
    await within(clock, this.#parts.follows.stop(), deadline.leftMs());
    this.#conclusion.stop();
    while (background.size > 0 && deadline.leftMs() > 0) {
      await within(clock, background.settled(), deadline.leftMs());
    }
  }

  #followOwner(): FollowOwner<TradeRun> {
    return {
      namespace: "followed-trade",
      publish: (run, recordKey) => this.#conclusion.publishProgress(run, recordKey),
      onSight: (run, order) => this.#watch.onSight(run, order !== null),
      isReadElsewhere: ({ routeId }, attempt) => isOfPosition(attempt) && this.#watch.isWatching(routeId),
    };
  }

  /** The latest state of the close that an open intent belongs to; null: the registry has it, or nobody. */
  async #runOf(intent: OrderIntent): Promise<TradeRun | null> {
    const { follows, idempotency, registry } = this.#parts;
    // What is known of one that is followed is as new as anything stored.
    const followed = follows.runOf(intent.routeId);
    if (followed !== null && followed.attempts.length >= (intent.run?.attempts.length ?? 0)) return followed;
    if (intent.idempotencyRecord === null) {
      // A reply that was given is newer than the intent, but for what a watch sent since.
      const replied = await registry.get(intent.routeId);
      return replied === null || ordersIn(replied) < (intent.run?.attempts.length ?? 0) ? intent.run : null;
    }
    const run = await idempotency.readRun(intent.idempotencyRecord);
    return run !== null && run.routeId === intent.routeId ? run : null;
  }
}

/** Each order's intent carries the run as of its write: of one trade the one that knows the most orders counts. */
function latestByRoute(intents: readonly OrderIntent[]): Iterable<OrderIntent> {
  const latest = new Map<string, OrderIntent>();
  for (const intent of intents) {
    const known = latest.get(intent.routeId)?.run?.attempts.length ?? 0;
    if ((intent.run?.attempts.length ?? 0) >= known) latest.set(intent.routeId, intent);
  }
  return latest.values();
}
