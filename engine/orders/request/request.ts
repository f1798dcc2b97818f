/**
 * One request on its way through the trade path, a close or an open: sessions, idempotency, reading, routing, execution, and what a
 * retry, a replay or a crash before it makes of that. What can go wrong here is a refusal, as long as no order was sent.
 */
import type { ExecutionRegistry } from "../durable/execution-registry.js";
import type { OrderFollows } from "../follow/order-follows.js";
import type { FeeCache } from "../decide/fee-cache.js";
import { ServiceError } from "../../domain/errors.js";
import type { Owners } from "../../domain/owner.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import { problemOf } from "../background.js";
import { waitForPrices } from "../send/fill-price.js";
import { TradeAccounts } from "../accounts.js";
import type { TradeConclusion, Concluded } from "../conclude/trade-conclusion.js";
import type { TradeDecisions } from "../conclude/trade-decisions.js";
import { MIN_RETRY_MS, POSITIONS_DEADLINE_MS } from "../limits.js";
import type { TradeExecution } from "../send/execution.js";
import { executeTrade, type ExecuteEnd, type LateOrder, type ExecuteParts } from "../send/execute.js";
import {
  readAccounts,
  readHeldAccounts,
  verifyReadings,
  type AccountReading,
  type Readings,
} from "../decide/readings.js";
import { giveQuote, simulatedData } from "./quote.js";
import type { QuoteBook } from "./quote-book.js";
import { bindQuote, claimQuote, releaseQuote } from "./quote-use.js";
import type { TradeContext, TradeRequest, TradeResult } from "../types.js";
import { collectSecrets, redactVenueText } from "../redact.js";
import { recoverRun } from "./recover.js";
import { filledAnything, remainingSize } from "../run-totals.js";
import { emptyRun, executionOf } from "./empty-run.js";
import { TradeKeys } from "./keys.js";
import { TradeReplays } from "./replays.js";
import { tradeSide, type SendPlan } from "../decide/plan.js";
import type { ProtectionWatch } from "../protect/watch.js";
import { protectSafely, type ProtectParts } from "../protect/protect.js";
import {
  DEFAULT_RETRY_MS,
  isFlat,
  refused,
  refusedUnexecuted,
  refuseEarly,
  turnsOnStreams,
  type Refused,
} from "./refusals.js";
import { orderWaitMs } from "../decide/account-facts.js";
import type { RouteAnswer, Routed } from "../decide/routing.js";
import { isOpening, type TradeRun } from "../run.js";
import { endTimings, recordAbandoned, recordDecision, recordNote, recordTimings, roundMs } from "../run-writes.js";
import { unreadVenues } from "../decide/unread-venues.js";
import { Deadline } from "../../domain/deadline.js";
import type { IdempotencyTicket, IdempotencyRecords } from "../durable/idempotency.js";
import { mintRouteId } from "../route-ids.js";

/** What answers a request. */
export interface RequestParts extends ExecuteParts, ProtectParts {
  readonly decisions: TradeDecisions;
  readonly feeCache: FeeCache;
  readonly follows: OrderFollows<TradeRun>;
  readonly idempotency: IdempotencyRecords;
  readonly owners: Owners;
  readonly quotes: QuoteBook;
  readonly registry: ExecutionRegistry;
}

/** Where a decision led: to an end (a refusal, a dry run), or on to its orders. */
type Decided =
  | { readonly end: Concluded | Refused }
  /** A refusal that turns on streamed positions: the venues are to be asked first. */
  | { readonly end: null; readonly routed: null }
  | { readonly end: null; readonly routed: Routed; readonly positionsMs: number; readonly routingMs: number };

const NONE_TRIED: ReadonlySet<RoutableVenue> = new Set();

export class TradeRequests {
  readonly #parts: RequestParts;
  readonly #conclusion: TradeConclusion;
  readonly #watch: ProtectionWatch;
  readonly #randomIds: RandomIds;
  readonly #keys: TradeKeys;
  readonly #replays: TradeReplays;

  constructor(parts: RequestParts, conclusion: TradeConclusion, watch: ProtectionWatch, randomIds: RandomIds) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#watch = watch;
    this.#randomIds = randomIds;
    this.#keys = new TradeKeys(parts);
    this.#replays = new TradeReplays(parts, conclusion, watch);
  }

  /**
   * A dry run of a close over streamed accounts waits for nothing, so it ends in the turn it came in: a promise for each
   * step would cost as much as the decision. Null when something has to be asked, or refused; nothing was done yet.
   */
  runAtOnce(request: TradeRequest, context: TradeContext): TradeResult | null {
    if (!request.dryRun || request.open !== null) return null;
    const { rooms, hash, clock, feeCache } = this.#parts;
    const deadline = new Deadline(clock, request.deadlineMs);
    if (refuseEarly(rooms, request) !== null) return null;
    const accounts = new TradeAccounts(rooms, request, hash, context.ownerId, context.payer);
    try {
      if (request.preferredExchange !== null && accounts.problem(request.preferredExchange) !== null) return null;
      const readings = readHeldAccounts(accounts.all(), request, feeCache);
      if (readings === null) return null;
      const execution = executionOf(request, context, accounts, null, deadline);
      const unbound = bindQuote(this.#parts.quotes, execution, null);
      const decided =
        unbound === null ? this.#decide(execution, context, readings, 0, null, null, false) : { end: unbound };
      const { end } = decided;
      if (end === null) {
        if (decided.routed === null) return null;
        throw new ServiceError("INTERNAL", { problem: "a dry run without an end" });
      }
      return end.ok ? end : this.#refuse(request, context, deadline, end);
    } catch (error) {
      return this.#refuse(request, context, deadline, this.#explain(error));
    } finally {
      accounts.closeAll();
    }
  }

  /** Never rejects. Every session it opened is closed when it resolves, or belongs to the resolver. */
  async run(request: TradeRequest, caller: TradeContext): Promise<TradeResult> {
    const { rooms, hash, idempotency, clock } = this.#parts;
    let context = caller;
    const deadline = new Deadline(clock, request.deadlineMs);
    const refuse = (refused: Refused): TradeResult => this.#refuse(request, context, deadline, refused);
    let accounts: TradeAccounts | null = null;
    let ticket: IdempotencyTicket | null = null;
    try {
      const early = refuseEarly(rooms, request);
      if (early !== null) return refuse(early);
      accounts = new TradeAccounts(rooms, request, hash, caller.ownerId, caller.payer);
      const preferred = request.preferredExchange;
      const problem = preferred === null ? null : accounts.problem(preferred);
      if (problem !== null) return refuse(refused("MISSING_CREDENTIALS", { exchange: preferred, problem }));
      for (const { session, venue } of accounts.all())
        this.#parts.follows.meet(venue, { session, credentials: request.credentials[venue] }, caller.ownerId);

      const { begun, ownerId } = await this.#keys.begin(request, caller, accounts);
      if (ownerId !== caller.ownerId) {
        context = { ...caller, ownerId };
        accounts.assignTo(ownerId);
      }
      if (begun !== null && begun.kind === "refused") return refuse(refused(begun.code, {}));
      ticket = begun === null ? null : begun.ticket;
      const execution = executionOf(request, context, accounts, ticket, deadline);
      if (begun?.kind === "replay") return await this.#replays.replay(execution, context, begun.result, begun.run);
      const end = await (begun?.kind === "recover"
        ? this.#recover(execution, context, begun.run)
        : this.#executeFresh(execution, context, null));
      if (!end.ok) return refuse(end);
      // The use of the key that the crash cut short, carried on.
      return begun?.kind === "recover" ? { ...end, replayed: true } : end;
    } catch (error) {
      return refuse(this.#explain(error));
    } finally {
      accounts?.closeAll();
      // One whose last write is under way frees itself once that is durable.
      if (ticket !== null && !ticket.isEnding) idempotency.release(ticket);
    }
  }

  #refuse(request: TradeRequest, context: TradeContext, deadline: Deadline, refused: Refused): TradeResult {
    this.#parts.decisions.emit("refused", request, context, deadline, { code: refused.code, routing: refused.routing });
    return { ok: false, code: refused.code, details: refused.details, replayed: false };
  }

  /** `earlier`: the run of a crashed request, all of whose orders are known by now. */
  async #executeFresh(
    execution: TradeExecution,
    context: TradeContext,
    earlier: TradeRun | null,
  ): Promise<Concluded | Refused> {
    const { clock, feeCache, quotes } = this.#parts;
    const unbound = bindQuote(quotes, execution, earlier);
    if (unbound !== null) return this.#keepEarlierFills(execution, context, unbound, earlier);
    const { request, accounts, deadline } = execution;
    const startedMs = deadline.elapsedMs();
    const readMs = Math.min(POSITIONS_DEADLINE_MS, Math.max(MIN_RETRY_MS, deadline.leftMs()));
    let readings = await readAccounts(clock, accounts.all(), request, feeCache, readMs);
    const size = earlier !== null && filledAnything(earlier) ? remainingSize(earlier) : null;
    let decided = this.#decide(execution, context, readings, startedMs, earlier, size, false);
    if (decided.end === null && decided.routed === null) {
      const verifyMs = Math.min(POSITIONS_DEADLINE_MS, Math.max(MIN_RETRY_MS, deadline.leftMs()));
      readings = (await verifyReadings(clock, readings, request, verifyMs)) ?? readings;
      decided = this.#decide(execution, context, readings, startedMs, earlier, size, true);
    }
    if (decided.end !== null) return this.#keepEarlierFills(execution, context, decided.end, earlier);
    const { routed } = decided;
    if (routed === null) throw new ServiceError("INTERNAL", { problem: "positions verified twice" });
    const { plans } = routed;
    if (plans.length === 0) throw new ServiceError("INTERNAL", { problem: "a routed trade without a plan" });

    const run = earlier ?? emptyRun(execution, context, routed, clock.wallMs());
    if (earlier !== null && size === null) {
      const { adjustments, report, requestedSize } = routed;
      recordDecision(run, { requestedSize, unread: execution.unread, routing: report, adjustments });
    }
    recordTimings(run, { positions: decided.positionsMs, routing: decided.routingMs });
    const taken = claimQuote(quotes, execution, run);
    if (taken !== null) return this.#keepEarlierFills(execution, context, taken, earlier);
    const end = await this.#execute(execution, run, plans, readings);
    if (end.kind === "notSent") {
      return end.error === null
        ? refused("IDEMPOTENCY_IN_PROGRESS", {})
        : refused(end.error.code, end.error.context, run.routing);
    }
    const unsent = refusedUnexecuted(run, request);
    if (unsent !== null) {
      this.#conclusion.discard(execution, run);
      return unsent;
    }
    const late = [...end.late, ...(await this.#protect(execution, context, run))];
    await waitForPrices(this.#parts, run.attempts, run.waitFor === "ACK" ? 0 : execution.deadline.leftMs());
    return this.#conclusion.finish(execution, context, run, late);
  }

  /**
   * The decision on what was read since `startedMs`; `size`: what is still to be done, in place of the request's own.
   * `isVerified`: nothing streamed is left to ask the venues about.
   */
  #decide(
    execution: TradeExecution,
    context: TradeContext,
    readings: Readings,
    startedMs: number,
    earlier: TradeRun | null,
    size: string | null,
    isVerified: boolean,
  ): Decided {
    const { clock, routing, observer, rooms } = this.#parts;
    const { request, deadline } = execution;
    const readDoneMs = deadline.elapsedMs();
    const preferred = request.preferredExchange;
    if (preferred !== null && readings.get(preferred)?.failure === "AUTH") {
      const problem = keyProblem(execution, readings, preferred);
      return { end: refused("MISSING_CREDENTIALS", { exchange: preferred, problem }) };
    }
    const routeId = earlier?.routeId ?? mintRouteId("rt", clock.wallMs(), this.#randomIds);
    const answer = routing.routeTrade(
      request,
      readings,
      routeId,
      size,
      NONE_TRIED,
      execution.quote,
      earlier?.heldPrice ?? null,
      (venue) => keyProblem(execution, readings, venue),
    );
    const routedMs = deadline.elapsedMs();
    if (!answer.ok && !isVerified && turnsOnStreams(answer, readings, request)) return { end: null, routed: null };
    observer.latency("positions", "", (readDoneMs - startedMs) * 1e3);
    observer.latency("route", "", (routedMs - readDoneMs) * 1e3);
    execution.unread = unreadVenues(rooms, request, readings, execution.quote);
    if (!answer.ok) return { end: this.#refuseRoute(execution, context, answer, readings, earlier) };
    const positionsMs = roundMs(readDoneMs - startedMs);
    const routingMs = roundMs(routedMs - readDoneMs);
    if (request.dryRun) return { end: this.#simulate(execution, context, answer.routed, positionsMs, routingMs) };
    return { end: null, routed: answer.routed, positionsMs, routingMs };
  }

  /** After a crash a refusal to go on does not refuse what filled before it: that is reported, an entry with its protection. */
  async #keepEarlierFills(
    execution: TradeExecution,
    context: TradeContext,
    end: Concluded | Refused,
    earlier: TradeRun | null,
  ): Promise<Concluded | Refused> {
    if (end.ok || earlier === null || !filledAnything(earlier)) return end;
    return this.#conclusion.finish(execution, context, earlier, await this.#protect(execution, context, earlier));
  }

  /** What filled is protected before the reply; what may fill later is watched from then on. */
  async #protect(execution: TradeExecution, context: TradeContext, run: TradeRun): Promise<readonly LateOrder[]> {
    const late = await protectSafely(this.#parts, execution, run);
    this.#watch.consider(execution, context, run);
    return late;
  }

  /** A fault of ours after a send is an unknown outcome, never an error. */
  async #execute(
    execution: TradeExecution,
    run: TradeRun,
    plans: readonly SendPlan[],
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
  ): Promise<ExecuteEnd> {
    const earlierAttempts = run.attempts.length;
    try {
      return await executeTrade(this.#parts, execution, run, plans, readings);
    } catch (error) {
      if (run.attempts.slice(earlierAttempts).every((attempt) => attempt.sentAtMs === null)) throw error;
      this.#parts.logger.error("execute_failed_after_send", { routeId: run.routeId, problem: problemOf(error) });
      for (const attempt of run.attempts) recordAbandoned(attempt);
      return { kind: "done", late: [] };
    } finally {
      releaseQuote(this.#parts.quotes, execution, run);
    }
  }

  /** Nothing to route for. After a crash that may be an answer, not an error: flat is flat. */
  #refuseRoute(
    execution: TradeExecution,
    context: TradeContext,
    answer: Extract<RouteAnswer, { ok: false }>,
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
    earlier: TradeRun | null,
  ): Concluded | Refused {
    const { request } = execution;
    const read = [...readings.values()];
    if (earlier !== null && !isOpening(earlier) && !filledAnything(earlier)) {
      const flat = read.length > 0 && read.every((reading) => isFlat(reading, request));
      if (flat) {
        recordNote(earlier, "ALREADY_FLAT");
        return this.#conclusion.finish(execution, context, earlier, []);
      }
    }
    const preferred = request.preferredExchange;
    const failure = preferred === null ? null : (readings.get(preferred)?.failure ?? null);
    // The one venue named did not answer: its outage or its limit, not a matter of the candidates.
    const isOfVenue = answer.code === "NO_ELIGIBLE_VENUE" || answer.code === "VENUE_UNAVAILABLE";
    const code =
      !isOfVenue || failure === null
        ? answer.code
        : failure === "RATE_LIMITED"
          ? "VENUE_RATE_LIMITED"
          : "VENUE_UNAVAILABLE";
    const details = failure === null ? answer.details : { exchange: preferred, ...answer.details };
    const isLimited = answer.code === "VENUE_RATE_LIMITED";
    const waitsMs = read.map((reading) =>
      Math.max(reading.retryAfterMs ?? 0, isLimited ? orderWaitMs(reading, request.open) : 0),
    );
    const leastMs = code === "VENUE_RATE_LIMITED" ? DEFAULT_RETRY_MS : 0;
    const knownMs = Math.ceil(Math.max(0, ...waitsMs));
    const retryAfterMs = knownMs > 0 ? knownMs : leastMs;
    return refused(code, retryAfterMs > 0 ? { ...details, retryAfterMs } : details, answer.report);
  }

  /** A crash left the record RUNNING: its order first. */
  async #recover(execution: TradeExecution, context: TradeContext, run: TradeRun): Promise<Concluded | Refused> {
    const end = await recoverRun(this.#parts, execution, run, true);
    if (end === "NOT_PLACED") {
      this.#conclusion.settleIntents(run);
      return this.#executeFresh(execution, context, run);
    }
    if (end === "STILL_UNKNOWN") return this.#conclusion.leaveOpen(execution, context, run);
    // The crash may have come between the entry and its protection.
    return this.#conclusion.finish(execution, context, run, await this.#protect(execution, context, run));
  }

  #simulate(
    execution: TradeExecution,
    context: TradeContext,
    routed: Routed,
    positionsMs: number,
    routingMs: number,
  ): Concluded {
    const nowMs = this.#parts.clock.wallMs();
    const run = emptyRun(execution, context, routed, nowMs);
    recordTimings(run, { positions: positionsMs, routing: routingMs });
    endTimings(run, execution.deadline.elapsedMs());
    const { request, accounts } = execution;
    const terms = {
      symbol: request.symbol,
      side: tradeSide(request),
      intent: request.open === null ? "CLOSE" : "OPEN",
      orderType: request.orderType,
      maxSlippageBps: request.maxSlippageBps,
      accounts: accounts.hashes(),
      ownerId: execution.ownerId,
    } as const;
    const quote = giveQuote(this.#parts.quotes, routed, terms, request.quoteTtlMs);
    const data = simulatedData(run, quote);
    this.#parts.decisions.emit("replied", execution.request, context, execution.deadline, { data });
    return { ok: true, success: true, data, replayed: false };
  }

  #explain(error: unknown): Refused {
    if (error instanceof ServiceError && error.code !== "INTERNAL") return refused(error.code, error.context);
    const detail = error instanceof ServiceError ? String(error.context.problem ?? "") : problemOf(error);
    this.#parts.logger.error("close_failed", { problem: detail });
    return refused("INTERNAL", {});
  }
}

/** What is wrong with the credentials for a venue: their form, or the venue's own words, without what is secret in them. */
function keyProblem({ accounts, request }: TradeExecution, readings: Readings, venue: RoutableVenue): string | null {
  const problem = accounts.problem(venue) ?? readings.get(venue)?.problem ?? null;
  // A dry run has no list of its secrets.
  return problem === null ? null : redactVenueText(problem, collectSecrets(request.credentials));
}
