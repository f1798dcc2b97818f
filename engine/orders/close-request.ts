/**
 * One request on its way through the close path: sessions, idempotency, reading, routing, execution, and what a
 * retry, a replay or a crash before it makes of that. What can go wrong here is a refusal, as long as no order was sent.
 */
import { ServiceError, type ErrorCode } from "../domain/errors.js";
import { closingSide } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { RoutingReport } from "../routing/report.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import { problemOf } from "./background.js";
import { CloseAccounts, type Rooms } from "./close-accounts.js";
import type { CloseConclusion, Concluded } from "./close-conclude.js";
import { MIN_RETRY_MS, POSITIONS_DEADLINE_MS, type CloseFlight, type CloseParts } from "./close-context.js";
import { executeClose, type ExecuteEnd } from "./close-execute.js";
import { readAccounts, type AccountReading } from "./close-positions.js";
import { quoteOf, simulatedData } from "./close-quote.js";
import { recoverRun } from "./close-recover.js";
import { filledAnything, remainingSize, toCloseResult } from "./close-reply.js";
import type { MarketRooms, RouteAnswer, Routed, SendPlan } from "./close-routing.js";
import { unsettledAttempt, type CloseRun } from "./close-run.js";
import { roundMs } from "./close-send.js";
import type { CloseContext, CloseRequest, CloseResult } from "./close-types.js";
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

export class CloseRequests {
  readonly #parts: CloseParts;
  readonly #conclusion: CloseConclusion;
  readonly #randomIds: RandomIds;

  constructor(parts: CloseParts, conclusion: CloseConclusion, randomIds: RandomIds) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#randomIds = randomIds;
  }

  /** Never rejects. Every session it opened is closed when it resolves, or belongs to the resolver. */
  async run(request: CloseRequest, context: CloseContext): Promise<CloseResult> {
    const { rooms, hash, idempotency, clock } = this.#parts;
    const deadline = new Deadline(clock, request.deadlineMs);
    const refuse = (refused: Refused): CloseResult => {
      this.#conclusion.emit("refused", request, context, deadline, { code: refused.code, routing: refused.routing });
      return { ok: false, code: refused.code, details: refused.details, replayed: false };
    };
    let accounts: CloseAccounts | null = null;
    let ticket: IdempotencyTicket | null = null;
    try {
      const early = refuseEarly(rooms, request);
      if (early !== null) return refuse(early);
      accounts = new CloseAccounts(rooms, request, hash);
      const preferred = request.preferredExchange;
      const problem = preferred === null ? null : accounts.problem(preferred);
      if (problem !== null) return refuse(refused("MISSING_CREDENTIALS", { exchange: preferred, problem }));

      const begun = await this.#begin(request, context, accounts);
      if (begun !== null && begun.kind === "refused") return refuse(refused(begun.code, {}));
      ticket = begun === null ? null : begun.ticket;
      const flight: CloseFlight = { request, accounts, ticket, deadline, secrets: collectSecrets(request.credentials) };
      if (begun?.kind === "replay") return await this.#replay(flight, context, begun.result, begun.run);
      const end = await (begun?.kind === "recover"
        ? this.#recover(flight, context, begun.run)
        : this.#closeAnew(flight, context, null));
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
    request: CloseRequest,
    context: CloseContext,
    accounts: CloseAccounts,
  ): Promise<IdempotencyBegin | null> {
    if (context.idempotencyKey === null || request.dryRun) return null;
    const { hash, idempotency } = this.#parts;
    const accountScope = accounts.scopeHash(hash);
    if (context.apiKeyId === null && accountScope === null) return null;
    const scope = context.apiKeyId === null ? `accounts:${accountScope}` : `key:${context.apiKeyId}`;
    return idempotency.begin({ scope, key: context.idempotencyKey }, context.rawBody);
  }

  /** `earlier`: the run of a crashed request, all of whose orders are known by now. */
  async #closeAnew(flight: CloseFlight, context: CloseContext, earlier: CloseRun | null): Promise<Concluded | Refused> {
    const { clock, routing, feeCache } = this.#parts;
    const { request, accounts, deadline } = flight;
    const startedMs = deadline.elapsedMs();
    const readMs = Math.min(POSITIONS_DEADLINE_MS, Math.max(MIN_RETRY_MS, deadline.leftMs()));
    const readings = await readAccounts(clock, accounts.all(), request.symbol, request.direction, feeCache, readMs);
    const readDoneMs = deadline.elapsedMs();
    const preferred = request.preferredExchange;
    if (preferred !== null && readings.get(preferred)?.failure === "AUTH") {
      return refused("MISSING_CREDENTIALS", { exchange: preferred });
    }

    const routeId = earlier?.routeId ?? mintRouteId("rt", clock.wallMs(), this.#randomIds);
    const size = earlier !== null && filledAnything(earlier) ? remainingSize(earlier) : null;
    const answer = routing.routeClose(request, readings, routeId, size, new Set());
    const routedMs = deadline.elapsedMs();
    if (!answer.ok) return this.#refuseRoute(flight, context, answer, readings, earlier);
    if (request.dryRun) return this.#simulate(flight, context, answer.routed);
    const { plan } = answer.routed;
    if (plan === null) throw new ServiceError("INTERNAL", { problem: "a routed close without a plan" });

    const run = earlier ?? emptyRun(request, context, answer.routed, clock.wallMs());
    if (earlier !== null && size === null) {
      run.requestedSize = answer.routed.requestedSize;
      run.routing = answer.routed.report;
      run.adjustments = answer.routed.adjustments;
    }
    run.timingMs.positions = roundMs(readDoneMs - startedMs);
    run.timingMs.routing = roundMs(routedMs - readDoneMs);
    const end = await this.#execute(flight, run, plan, readings);
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
    return this.#conclusion.finish(flight, context, run, end.late);
  }

  /** A fault of ours after a send is an unknown outcome, never an error. */
  async #execute(
    flight: CloseFlight,
    run: CloseRun,
    plan: SendPlan,
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
  ): Promise<ExecuteEnd> {
    const earlierAttempts = run.attempts.length;
    try {
      return await executeClose(this.#parts, flight, run, plan, readings);
    } catch (error) {
      if (run.attempts.slice(earlierAttempts).every((attempt) => attempt.sentAtMs === null)) throw error;
      this.#parts.logger.error("execute_failed_after_send", { routeId: run.routeId, problem: problemOf(error) });
      for (const attempt of run.attempts) if (attempt.outcome === "PENDING") attempt.outcome = "UNKNOWN";
      return { kind: "done", late: null };
    }
  }

  /** Nothing to route for. After a crash that is an answer, not an error: what an earlier order did stands, and flat is flat. */
  #refuseRoute(
    flight: CloseFlight,
    context: CloseContext,
    answer: Extract<RouteAnswer, { ok: false }>,
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
    earlier: CloseRun | null,
  ): Concluded | Refused {
    const { request } = flight;
    const read = [...readings.values()];
    if (earlier !== null) {
      const flat = read.length > 0 && read.every((reading) => isFlat(reading, request));
      if (flat && !filledAnything(earlier)) earlier.note = "ALREADY_FLAT";
      if (flat || filledAnything(earlier)) return this.#conclusion.finish(flight, context, earlier, null);
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
  async #replay(flight: CloseFlight, context: CloseContext, stored: CloseResult, run: CloseRun): Promise<CloseResult> {
    let result = stored;
    if (stored.ok && !stored.data.execution.final) {
      const current = await this.#parts.registry.get(run.routeId);
      if (current !== null) result = toCloseResult(current, true);
      const isOpen = current === null || !current.execution.final;
      if (isOpen && flight.ticket !== null && (await this.#lookOnce(flight, run))) {
        result = toCloseResult(await this.#conclusion.publishResolved(run, flight.ticket.recordKey), true);
      }
    }
    const replayed: CloseResult = { ...result, replayed: true };
    this.#conclusion.emit("replayed", flight.request, context, flight.deadline, {
      code: replayed.ok ? null : replayed.code,
      data: replayed.ok ? replayed.data : null,
    });
    return replayed;
  }

  /** Asks the venue once, with the caller's credentials, about an order that no resolver has in hand. */
  async #lookOnce(flight: CloseFlight, run: CloseRun): Promise<boolean> {
    const unsettled = unsettledAttempt(run);
    if (unsettled === null || this.#parts.resolver.isActive(unsettled.clientIdHex)) return false;
    return (await recoverRun(this.#parts, flight, run, false)) !== "STILL_UNKNOWN";
  }

  /** A crash left the record RUNNING: its order first. */
  async #recover(flight: CloseFlight, context: CloseContext, run: CloseRun): Promise<Concluded | Refused> {
    const end = await recoverRun(this.#parts, flight, run, true);
    if (end === "NOT_PLACED") {
      this.#conclusion.settleIntents(run);
      return this.#closeAnew(flight, context, run);
    }
    return end === "FOUND"
      ? this.#conclusion.finish(flight, context, run, null)
      : this.#conclusion.leaveOpen(flight, context, run);
  }

  #simulate(flight: CloseFlight, context: CloseContext, routed: Routed): Concluded {
    const nowMs = this.#parts.clock.wallMs();
    const run = emptyRun(flight.request, context, routed, nowMs);
    run.timingMs.total = roundMs(flight.deadline.elapsedMs());
    const quote = quoteOf(routed, closingSide(flight.request.direction), nowMs, this.#randomIds);
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
function refuseEarly(rooms: Rooms, request: CloseRequest): Refused | null {
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
function refusedLocally(run: CloseRun): Refused | null {
  const last = run.attempts.at(-1);
  if (last === undefined || run.attempts.some((attempt) => attempt.outcome !== "NOT_SENT")) return null;
  const code = last.reason === "RATE_LIMITED" ? "VENUE_RATE_LIMITED" : "VENUE_UNAVAILABLE";
  const details = { exchange: last.venue, reason: last.reason, candidates: run.routing.candidates };
  return refused(code, details, run.routing);
}

function isFlat(reading: AccountReading, request: CloseRequest): boolean {
  return reading.positions !== null && !reading.positions.some((position) => position.direction === request.direction);
}

function refused(
  code: ErrorCode,
  details: Readonly<Record<string, unknown>>,
  routing: RoutingReport | null = null,
): Refused {
  return { ok: false, code, details, routing };
}

function emptyRun(request: CloseRequest, context: CloseContext, routed: Routed, startedAtMs: number): CloseRun {
  return {
    routeId: routed.report.routeId,
    requestId: context.requestId,
    symbol: request.symbol,
    direction: request.direction,
    side: closingSide(request.direction),
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
