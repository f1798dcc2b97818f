/**
 * One request on its way through the trade path, a close or an open: sessions, idempotency, reading, routing, execution, and what a
 * retry, a replay or a crash before it makes of that. What can go wrong here is a refusal, as long as no order was sent.
 */
import { ServiceError, type ErrorCode } from "../domain/errors.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { RoutingReport } from "../routing/report.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import { problemOf } from "./background.js";
import { TradeAccounts, type Rooms } from "./trade-accounts.js";
import type { TradeConclusion, Concluded } from "./trade-conclude.js";
import { MIN_RETRY_MS, POSITIONS_DEADLINE_MS, type TradeFlight, type TradeParts } from "./trade-context.js";
import { executeTrade, type ExecuteEnd, type LateOrder } from "./trade-execute.js";
import { readAccounts, type AccountReading } from "./account-readings.js";
import { quoteOf, simulatedData } from "./trade-quote.js";
import { recoverRun } from "./trade-recover.js";
import { filledAnything, remainingSize, toTradeResult } from "./trade-reply.js";
import { tradeSide, type SendPlan } from "./trade-plan.js";
import { protectEntry } from "./trade-protect.js";
import type { MarketRooms, RouteAnswer, Routed } from "./trade-routing.js";
import { isOpening, unsettledAttempt, type ProtectionWish, type TradeRun } from "./trade-run.js";
import { roundMs } from "./trade-send.js";
import type { OpenTerms, TradeContext, TradeRequest, TradeResult } from "./trade-types.js";
import { Deadline } from "./deadline.js";
import type { IdempotencyBegin, IdempotencyTicket } from "./idempotency.js";
import { collectSecrets } from "./redact.js";
import { mintRouteId } from "./route-ids.js";

/** Symbols named in an UNKNOWN_SYMBOL. */
const PREVIEW_SYMBOLS = 20;

interface Refused {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly routing: RoutingReport | null;
}

export class TradeRequests {
  readonly #parts: TradeParts;
  readonly #conclusion: TradeConclusion;
  readonly #randomIds: RandomIds;

  constructor(parts: TradeParts, conclusion: TradeConclusion, randomIds: RandomIds) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#randomIds = randomIds;
  }

  /** Never rejects. Every session it opened is closed when it resolves, or belongs to the resolver. */
  async run(request: TradeRequest, context: TradeContext): Promise<TradeResult> {
    const { rooms, hash, idempotency, clock } = this.#parts;
    const deadline = new Deadline(clock, request.deadlineMs);
    const refuse = (refused: Refused): TradeResult => {
      this.#conclusion.emit("refused", request, context, deadline, { code: refused.code, routing: refused.routing });
      return { ok: false, code: refused.code, details: refused.details, replayed: false };
    };
    let accounts: TradeAccounts | null = null;
    let ticket: IdempotencyTicket | null = null;
    try {
      const early = refuseEarly(rooms, request);
      if (early !== null) return refuse(early);
      accounts = new TradeAccounts(rooms, request, hash);
      const preferred = request.preferredExchange;
      const problem = preferred === null ? null : accounts.problem(preferred);
      if (problem !== null) return refuse(refused("MISSING_CREDENTIALS", { exchange: preferred, problem }));

      const begun = await this.#begin(request, context, accounts);
      if (begun !== null && begun.kind === "refused") return refuse(refused(begun.code, {}));
      ticket = begun === null ? null : begun.ticket;
      const flight: TradeFlight = {
        request,
        accounts,
        ticket,
        deadline,
        quote: null,
        apiKeyId: context.apiKeyId,
        secrets: collectSecrets(request.credentials),
      };
      if (begun?.kind === "replay") return await this.#replay(flight, context, begun.result, begun.run);
      const end = await (begun?.kind === "recover"
        ? this.#recover(flight, context, begun.run)
        : this.#tradeAnew(flight, context, null));
      return end.ok ? end : refuse(end);
    } catch (error) {
      return refuse(this.#explain(error));
    } finally {
      accounts?.closeAll();
      // One whose last write is under way frees itself once that is durable.
      if (ticket !== null && !ticket.isEnding) idempotency.release(ticket);
    }
  }

  /** Null: no idempotency for this request (no key, a dry run, or no account that could scope it). */
  async #begin(
    request: TradeRequest,
    context: TradeContext,
    accounts: TradeAccounts,
  ): Promise<IdempotencyBegin | null> {
    if (context.idempotencyKey === null || request.dryRun) return null;
    const { hash, idempotency } = this.#parts;
    const accountScope = accounts.scopeHash(hash);
    if (context.apiKeyId === null && accountScope === null) return null;
    const scope = context.apiKeyId === null ? `accounts:${accountScope}` : `key:${context.apiKeyId}`;
    return idempotency.begin({ scope, key: context.idempotencyKey }, context.rawBody);
  }

  /** `earlier`: the run of a crashed request, all of whose orders are known by now. */
  async #tradeAnew(flight: TradeFlight, context: TradeContext, earlier: TradeRun | null): Promise<Concluded | Refused> {
    const { clock, routing, feeCache, observer } = this.#parts;
    const { request, accounts, deadline } = flight;
    const unbound = earlier === null ? this.#bindQuote(flight) : null;
    if (unbound !== null) return unbound;
    const startedMs = deadline.elapsedMs();
    const readMs = Math.min(POSITIONS_DEADLINE_MS, Math.max(MIN_RETRY_MS, deadline.leftMs()));
    const readings = await readAccounts(
      clock,
      accounts.all(),
      request.symbol,
      request.direction,
      feeCache,
      readMs,
      request.open !== null,
    );
    const readDoneMs = deadline.elapsedMs();
    const preferred = request.preferredExchange;
    if (preferred !== null && readings.get(preferred)?.failure === "AUTH") {
      return refused("MISSING_CREDENTIALS", { exchange: preferred });
    }

    const routeId = earlier?.routeId ?? mintRouteId("rt", clock.wallMs(), this.#randomIds);
    const size = earlier !== null && filledAnything(earlier) ? remainingSize(earlier) : null;
    const answer = routing.routeTrade(request, readings, routeId, size, new Set(), flight.quote);
    const routedMs = deadline.elapsedMs();
    observer.latency("positions", "", (readDoneMs - startedMs) * 1e3);
    observer.latency("route", "", (routedMs - readDoneMs) * 1e3);
    if (!answer.ok) return this.#refuseRoute(flight, context, answer, readings, earlier);
    if (request.dryRun) return this.#simulate(flight, context, answer.routed);
    const { plans } = answer.routed;
    if (plans.length === 0) throw new ServiceError("INTERNAL", { problem: "a routed trade without a plan" });

    const run = earlier ?? emptyRun(request, context, answer.routed, clock.wallMs());
    if (earlier !== null && size === null) {
      run.requestedSize = answer.routed.requestedSize;
      run.routing = answer.routed.report;
      run.adjustments = answer.routed.adjustments;
    }
    run.timingMs.positions = roundMs(readDoneMs - startedMs);
    run.timingMs.routing = roundMs(routedMs - readDoneMs);
    const end = await this.#execute(flight, run, plans, readings);
    if (end.kind === "notSent") {
      return end.error === null
        ? refused("IDEMPOTENCY_IN_PROGRESS", {})
        : refused(end.error.code, end.error.context, run.routing);
    }
    const unsent = refusedLocally(run);
    if (unsent !== null) {
      this.#conclusion.discard(flight, run);
      return unsent;
    }
    return this.#conclusion.finish(flight, context, run, [...end.late, ...(await this.#protect(flight, run))]);
  }

  /** Null: the call is bound to its quote, or to none. */
  #bindQuote(flight: TradeFlight): Refused | null {
    const { request, accounts } = flight;
    if (request.quoteId === null) return null;
    const use = this.#parts.quotes.use(request.quoteId, request, tradeSide(request), accounts.hashes());
    if (use.kind === "expired") return refused("QUOTE_EXPIRED", { reason: "EXPIRED" });
    if (use.kind === "mismatch")
      return refused("INVALID_PARAMETERS", { fields: [{ path: use.path, problem: use.problem }] });
    flight.quote = use.quote;
    return null;
  }

  /** The entry stands by now, so whatever goes wrong here is told, not thrown. */
  async #protect(flight: TradeFlight, run: TradeRun): Promise<readonly LateOrder[]> {
    if (run.protection === undefined) return [];
    try {
      return await protectEntry(this.#parts, flight, run);
    } catch (error) {
      this.#parts.logger.error("protection_failed", { routeId: run.routeId, problem: problemOf(error) });
      for (const attempt of run.attempts)
        if (attempt.outcome === "PENDING") attempt.outcome = attempt.sentAtMs === null ? "NOT_SENT" : "UNKNOWN";
      run.protection.problem ??= "INTERNAL";
      return [];
    }
  }

  /** A fault of ours after a send is an unknown outcome, never an error. */
  async #execute(
    flight: TradeFlight,
    run: TradeRun,
    plans: readonly SendPlan[],
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
  ): Promise<ExecuteEnd> {
    const earlierAttempts = run.attempts.length;
    try {
      return await executeTrade(this.#parts, flight, run, plans, readings);
    } catch (error) {
      if (run.attempts.slice(earlierAttempts).every((attempt) => attempt.sentAtMs === null)) throw error;
      this.#parts.logger.error("execute_failed_after_send", { routeId: run.routeId, problem: problemOf(error) });
      for (const attempt of run.attempts) if (attempt.outcome === "PENDING") attempt.outcome = "UNKNOWN";
      return { kind: "done", late: [] };
    }
  }

  /** Nothing to route for. After a crash that is an answer, not an error: what an earlier order did stands, and flat is flat. */
  #refuseRoute(
    flight: TradeFlight,
    context: TradeContext,
    answer: Extract<RouteAnswer, { ok: false }>,
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
    earlier: TradeRun | null,
  ): Concluded | Refused {
    const { request } = flight;
    const read = [...readings.values()];
    if (earlier !== null && isOpening(earlier) && filledAnything(earlier))
      return this.#conclusion.finish(flight, context, earlier, []);
    if (earlier !== null && !isOpening(earlier)) {
      const flat = read.length > 0 && read.every((reading) => isFlat(reading, request));
      if (flat && !filledAnything(earlier)) earlier.note = "ALREADY_FLAT";
      if (flat || filledAnything(earlier)) return this.#conclusion.finish(flight, context, earlier, []);
    }
    const preferred = request.preferredExchange;
    const failure = preferred === null ? null : (readings.get(preferred)?.failure ?? null);
    // The one venue named did not answer: its outage, not a matter of the candidates.
    const code =
      answer.code !== "NO_ELIGIBLE_VENUE" || failure === null
        ? answer.code
        : failure === "RATE_LIMITED"
          ? "VENUE_RATE_LIMITED"
          : "VENUE_UNAVAILABLE";
    const details = failure === null ? answer.details : { exchange: preferred, ...answer.details };
    const retryAfterMs = Math.max(0, ...read.map((reading) => reading.retryAfterMs ?? 0));
    return refused(code, retryAfterMs > 0 ? { ...details, retryAfterMs } : details, answer.report);
  }

  /** The stored reply; one that was not final in its current state. */
  async #replay(flight: TradeFlight, context: TradeContext, stored: TradeResult, run: TradeRun): Promise<TradeResult> {
    let result = stored;
    if (stored.ok && !stored.data.execution.final) {
      const current = await this.#parts.registry.get(run.routeId);
      if (current !== null) result = toTradeResult(current, true);
      const isOpen = current === null || !current.execution.final;
      if (isOpen && flight.ticket !== null && (await this.#lookOnce(flight, run))) {
        result = toTradeResult(await this.#conclusion.publishResolved(run, flight.ticket.recordKey), true);
      }
    }
    const replayed: TradeResult = { ...result, replayed: true };
    this.#conclusion.emit("replayed", flight.request, context, flight.deadline, {
      code: replayed.ok ? null : replayed.code,
      data: replayed.ok ? replayed.data : null,
    });
    return replayed;
  }

  /** Asks the venue once, with the caller's credentials, about an order that no resolver has in hand. */
  async #lookOnce(flight: TradeFlight, run: TradeRun): Promise<boolean> {
    const unsettled = unsettledAttempt(run);
    if (unsettled === null || this.#parts.resolver.isActive(unsettled.clientIdHex)) return false;
    return (await recoverRun(this.#parts, flight, run, false)) !== "STILL_UNKNOWN";
  }

  /** A crash left the record RUNNING: its order first. */
  async #recover(flight: TradeFlight, context: TradeContext, run: TradeRun): Promise<Concluded | Refused> {
    const end = await recoverRun(this.#parts, flight, run, true);
    if (end === "NOT_PLACED") {
      this.#conclusion.settleIntents(run);
      return this.#tradeAnew(flight, context, run);
    }
    if (end === "STILL_UNKNOWN") return this.#conclusion.leaveOpen(flight, context, run);
    // The crash may have come between the entry and its protection.
    return this.#conclusion.finish(flight, context, run, await this.#protect(flight, run));
  }

  #simulate(flight: TradeFlight, context: TradeContext, routed: Routed): Concluded {
    const nowMs = this.#parts.clock.wallMs();
    const run = emptyRun(flight.request, context, routed, nowMs);
    run.timingMs.total = roundMs(flight.deadline.elapsedMs());
    const side = tradeSide(flight.request);
    const quote = quoteOf(routed, side, nowMs, this.#randomIds);
    const { request, accounts } = flight;
    const bound = {
      symbol: request.symbol,
      side,
      size: routed.requestedSize,
      intent: request.open === null ? "CLOSE" : "OPEN",
      orderType: request.orderType,
      worstPrice: routed.bound?.worstPrice ?? routed.worstPrice,
      venues: routed.bound?.venues ?? [],
      accounts: accounts.hashes(),
    } as const;
    this.#parts.quotes.keep(quote.quoteId, bound, quote.expiresAt);
    const data = simulatedData(run, quote);
    this.#conclusion.emit("replied", flight.request, context, flight.deadline, { data });
    return { ok: true, success: true, data, replayed: false };
  }

  #explain(error: unknown): Refused {
    if (error instanceof ServiceError && error.code !== "INTERNAL") return refused(error.code, error.context);
    const detail = error instanceof ServiceError ? String(error.context.problem ?? "") : problemOf(error);
    this.#parts.logger.error("close_failed", { problem: detail });
    return refused("INTERNAL", {});
  }
}

/** What needs neither a session nor the store to refuse. */
function refuseEarly(rooms: Rooms, request: TradeRequest): Refused | null {
  const unlisted = unlistedSymbol(rooms, request.symbol);
  if (unlisted !== null) return refused("UNKNOWN_SYMBOL", unlisted);
  const preferred = request.preferredExchange;
  if (preferred === null || (request.credentials[preferred] ?? null) !== null) return null;
  return refused("MISSING_CREDENTIALS", { exchange: preferred });
}

/** Details of an UNKNOWN_SYMBOL; null when some venue lists it. */
export function unlistedSymbol(rooms: MarketRooms, symbol: string): Record<string, unknown> | null {
  for (const room of rooms.values()) if (room.markets.has(symbol)) return null;
  const listed = new Set<string>();
  for (const room of rooms.values()) {
    for (const name of room.markets.keys()) if (listed.size < PREVIEW_SYMBOLS) listed.add(name);
  }
  const availableSymbols = [...listed].sort();
  return { symbol, availableSymbols, preview: availableSymbols.join(", ") };
}

/** Every order was stopped by our own limiter, breaker or check: no venue has seen any of them. */
function refusedLocally(run: TradeRun): Refused | null {
  const last = run.attempts.at(-1);
  if (last === undefined || run.attempts.some((attempt) => attempt.outcome !== "NOT_SENT")) return null;
  const code =
    last.reason === "TRADING_HALTED"
      ? "TRADING_HALTED"
      : last.reason === "RATE_LIMITED"
        ? "VENUE_RATE_LIMITED"
        : "VENUE_UNAVAILABLE";
  const details = { exchange: last.venue, reason: last.reason, candidates: run.routing.candidates };
  return refused(code, details, run.routing);
}

function isFlat(reading: AccountReading, request: TradeRequest): boolean {
  return reading.positions !== null && !reading.positions.some((position) => position.direction === request.direction);
}

function refused(
  code: ErrorCode,
  details: Readonly<Record<string, unknown>>,
  routing: RoutingReport | null = null,
): Refused {
  return { ok: false, code, details, routing };
}

function emptyRun(request: TradeRequest, context: TradeContext, routed: Routed, startedAtMs: number): TradeRun {
  const { open } = request;
  const isProtected = open !== null && (open.takeProfit !== null || open.stopLoss !== null);
  return {
    ...(open === null ? {} : { intent: "OPEN" }),
    ...(isProtected ? { protection: protectionOf(open) } : {}),
    routeId: routed.report.routeId,
    requestId: context.requestId,
    symbol: request.symbol,
    direction: request.direction,
    side: tradeSide(request),
    orderType: request.orderType,
    waitFor: request.waitFor,
    clientOrderId: request.clientOrderId,
    requestedSize: routed.requestedSize,
    routing: routed.report,
    adjustments: [...routed.adjustments],
    startedAtMs,
    positionsBefore: [],
    attempts: [],
    note: null,
    positionAfter: null,
    timingMs: { total: 0, positions: 0, routing: 0, sign: 0, venue: 0 },
  };
}

function protectionOf(open: OpenTerms): ProtectionWish {
  const { takeProfit, stopLoss, closeOnProtectionFailure } = open;
  return { takeProfit, stopLoss, closeOnFailure: closeOnProtectionFailure, problem: null };
}
