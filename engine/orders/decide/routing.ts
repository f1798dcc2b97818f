/**
 * Between the trade service and the pure router: fills the router's input from what was read, and copies the
 * decision out at once, because input and decision are reused by the next trade.
 */
import type { Clock } from "../../domain/clock.js";
import { compareDecimals, formatScaled } from "../../domain/decimal.js";
import type { ErrorCode } from "../../domain/errors.js";
import type { Side } from "../../domain/order.js";
import { isRoutableVenue, ROUTABLE_VENUES, type RoutableVenue } from "../../domain/venue.js";
import type { Market } from "../../market/market.js";
import type { MarketRoom, RoomStatus, RoutingHealth } from "../../ports.js";
import { orderAdjustments } from "../../routing/adjustments.js";
import { holdTogether } from "../../routing/eligibility.js";
import { decideRoute, decisionErrorCode } from "../../routing/decide.js";
import { buildRoutingReport, requestedSizeText, sizeMaxima, type RoutingReport } from "../../routing/report.js";
import { setBoundText, setSizeText } from "../../routing/route-input.js";
import {
  type Candidate,
  type CandidateResult,
  Decision,
  RouteInput,
  type RouteKind,
} from "../../routing/route-types.js";
import { isLeftBehind } from "../../routing/quote-bound.js";
import { splitRoute } from "../../routing/split.js";
import { commonWorstPrice } from "../../routing/worst-price.js";
import type { Rooms } from "../accounts.js";
import { addReading } from "./account-facts.js";
import type { AccountReading } from "./readings.js";
import { routeKindOf, setPrice, setSize } from "./request-terms.js";
import type { BoundQuote, ExecutionReport, TradeRequest } from "../types.js";
import type { RouteObserver } from "./route-observer.js";
import { stopLimitProblem } from "./stop-limit.js";
import { firesAtOnce, planOf, tradeSide, type SendPlan } from "./plan.js";

/** Configuration of the router that the venues' own data does not give. */
export interface RoutingSettings {
  readonly latencyFactor: number;
  /** Quote asset → common quote, parts per million; an asset not named counts 1, tagged `assumed`. */
  readonly quoteRatePpm: ReadonlyMap<string, number>;
  /** Documented delay a venue adds to taker orders. */
  readonly takerDelayMs: Readonly<Partial<Record<RoutableVenue, number>>>;
  /** Venues whose instruments carry configured fees, not the venue's published ones; absent: none. */
  readonly configuredFees?: ReadonlySet<RoutableVenue>;
}

export const DEFAULT_ROUTING_SETTINGS: RoutingSettings = {
  latencyFactor: 0.5,
  quoteRatePpm: new Map(),
  takerDelayMs: {},
};

export interface Routed {
  readonly report: RoutingReport;
  readonly requestedSize: string;
  readonly worstPrice: string;
  /** The loosest bound of the legs in the common quote: what later orders of the execution are held to. */
  readonly heldPrice: string;
  readonly expectedCostBps: string;
  readonly adjustments: ExecutionReport["adjustments"];
  /** The legs; none for a public quote: nothing can be sent. */
  readonly plans: readonly SendPlan[];
  /** What a quote of this decision binds: worst price in the common quote, and who was eligible. Null for a live call. */
  readonly bound: Pick<BoundQuote, "worstPrice" | "ownPrice" | "venues"> | null;
}

export type RouteAnswer =
  | { readonly ok: true; readonly routed: Routed }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly details: Readonly<Record<string, unknown>>;
      readonly report: RoutingReport | null;
    };

export interface QuoteRequest {
  readonly symbol: string;
  readonly side: Side;
  /** Base units. */
  readonly size: string;
  readonly maxSlippageBps: number;
  readonly maxQuoteAgeMs: number;
  /** How long the quote lives; absent: the default. */
  readonly quoteTtlMs?: number;
  readonly preferredExchange: RoutableVenue | null;
  readonly excludeExchanges: readonly RoutableVenue[];
}

const NO_PROBLEMS = (): null => null;

export type MarketRooms = ReadonlyMap<RoutableVenue, MarketRoom>;

export class TradeRouting {
  readonly #rooms: Rooms;
  /** Also those that cannot trade: a quote needs books only. */
  readonly #marketRooms: MarketRooms;
  readonly #clock: Clock;
  readonly #settings: RoutingSettings;
  readonly #observer: RouteObserver;
  readonly #input = new RouteInput();
  readonly #decision = new Decision();

  constructor(
    rooms: Rooms,
    marketRooms: MarketRooms,
    clock: Clock,
    settings: RoutingSettings,
    observer: RouteObserver,
  ) {
    this.#rooms = rooms;
    this.#marketRooms = marketRooms;
    this.#clock = clock;
    this.#settings = settings;
    this.#observer = observer;
  }

  /**
   * `size`: what is still to be done, in place of the request's own. `tried`: venues that must not be chosen again.
   * `held`: the bound of the execution's first decision; null: this is the first. `problemOf`: what is wrong with the
   * credentials given for a venue, fit for a reply; null for nothing.
   */
  routeTrade(
    request: TradeRequest,
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
    routeId: string,
    size: string | null,
    tried: ReadonlySet<RoutableVenue>,
    quote: BoundQuote | null,
    held: string | null,
    problemOf: (venue: RoutableVenue) => string | null = NO_PROBLEMS,
  ): RouteAnswer {
    const input = this.#beginInput(routeKindOf(request), tradeSide(request), request);
    // What is left after a first try goes to one venue.
    input.allowSplit = request.allowSplit && tried.size === 0;
    const problem = setSize(input, request, size) ?? setPrice(input, request, quote);
    if (problem !== null) return invalid(problem.path, problem.problem);
    // What an execution is held to is within its quote already.
    const stated = held ?? quote?.worstPrice ?? null;
    if (stated !== null && request.orderType === "MARKET") setBoundText(input, stated);
    // Venues without a room are listed too: a reply says of every venue why it was not chosen.
    for (const venue of ROUTABLE_VENUES) {
      const room = this.#rooms.get(venue);
      const market = room?.markets.get(request.symbol) ?? null;
      if (market !== null) this.#observer.beforeRoute(market);
      const candidate = this.#addCandidate(venue, room, market);
      candidate.excluded =
        tried.has(venue) || request.excludeExchanges.includes(venue) || quote?.venues.includes(venue) === false;
      const reading = readings.get(venue);
      // A venue that does not list the symbol was not read; with credentials it must say so, not NO_CREDENTIALS.
      candidate.problem = problemOf(venue) ?? "";
      candidate.hasCredentials =
        reading !== undefined || (market === null && isGiven(request, venue)) || isOverruled(request, venue);
      if (reading !== undefined) addReading(candidate, market, request, reading);
    }
    const answer = this.#decide(routeId, request.maxLegs, request.dryRun, (candidate, result, leg) =>
      planOf(request, candidate, result, leg, readings),
    );
    if (!answer.ok) {
      // The way of a quote that the market has left behind.
      if (quote === null || !isLeftBehind(input, this.#decision, answer.code, request.maxLegs)) return answer;
      return { ...answer, code: "QUOTE_EXPIRED", details: { ...answer.details, reason: "PRICE_MOVED" } };
    }
    if (quote !== null && compareDecimals(answer.routed.requestedSize, quote.size) > 0)
      return invalid("size", "is more than was quoted");
    const { plans } = answer.routed;
    const early = firesAtOnce(request, plans) ?? stopLimitProblem(request, plans);
    return early === null ? answer : invalid(early.path, early.problem);
  }

  /** Books only: no credentials, no positions. */
  routeQuote(request: QuoteRequest, routeId: string): RouteAnswer {
    const input = this.#beginInput("QUOTE", request.side, request);
    if (!setSizeText(input, request.size)) return invalid("size", "must be a positive decimal text");
    for (const venue of ROUTABLE_VENUES) {
      const room = this.#marketRooms.get(venue);
      const candidate = this.#addCandidate(venue, room, room?.markets.get(request.symbol) ?? null);
      candidate.excluded = request.excludeExchanges.includes(venue);
    }
    return this.#decide(routeId, 1, true, () => null);
  }

  /** The input of the trade before is overwritten. */
  #beginInput(
    kind: RouteKind,
    side: Side,
    request: Pick<QuoteRequest, "maxSlippageBps" | "maxQuoteAgeMs" | "preferredExchange">,
  ): RouteInput {
    const input = this.#input;
    input.reset(kind, side, this.#clock.monoNs());
    input.maxSlippageBps = request.maxSlippageBps;
    input.maxQuoteAgeMs = request.maxQuoteAgeMs;
    input.latencyFactor = this.#settings.latencyFactor;
    input.preferred = request.preferredExchange ?? "";
    return input;
  }

  #addCandidate(venue: RoutableVenue, room: MarketRoom | undefined, market: Market | null): Candidate {
    const candidate = this.#input.addCandidate(venue, market);
    if (this.#settings.configuredFees?.has(venue) === true) candidate.feeSource = "config";
    if (room === undefined) return candidate;
    const health = room.routingHealth ?? healthOf(room.status());
    // A venue that limits us is well: there is no budget for it.
    const isLimited = (health.limitedForMs ?? 0) > 0;
    candidate.healthy = isLimited || health.breaker !== "open";
    // Entries never draw on what is kept for exits.
    const hasTokens = this.#input.opens ? room.status().laneTokens.trade > 0 : health.exitTokens > 0;
    candidate.budgetAvailable = hasTokens && !isLimited;
    candidate.latencyMsP90 = room.ackLatency.p90();
    candidate.takerDelayMs = this.#settings.takerDelayMs[venue] ?? 0;
    const ratePpm = market === null ? undefined : this.#settings.quoteRatePpm.get(market.instrument.quoteAsset);
    if (ratePpm !== undefined) {
      candidate.quoteRatePpm = ratePpm;
      candidate.quoteRateSource = "config";
    }
    return candidate;
  }

  #decide(
    routeId: string,
    maxLegs: number,
    isQuote: boolean,
    toPlan: (candidate: Candidate, result: CandidateResult, leg: number) => SendPlan | null,
  ): RouteAnswer {
    const input = this.#input;
    const decision = this.#decision;
    decideRoute(input, decision);
    if (input.allowSplit) splitRoute(input, decision, maxLegs);
    const report = buildRoutingReport(input, decision, { routeId, decidedAtMs: this.#clock.wallMs() });
    const code = decisionErrorCode(decision);
    if (code !== null) return { ok: false, code, details: this.#details(code, report), report };
    const plans: SendPlan[] = [];
    const chosen = decision.legs.length > 0 ? decision.legs : [decision.selected];
    for (const [leg, index] of chosen.entries()) {
      const candidate = input.candidates[index];
      const result = decision.results[index];
      if (candidate === undefined || result === undefined) throw new RangeError("the decision selected no candidate");
      const plan = toPlan(candidate, result, leg);
      if (plan !== null) plans.push(plan);
    }
    return {
      ok: true,
      routed: {
        report,
        requestedSize: requestedSizeText(decision),
        worstPrice: report.limits.worstPrice ?? "0",
        heldPrice: commonWorstPrice(input, decision),
        expectedCostBps: report.candidates[decision.selected]?.costBps ?? "0",
        adjustments: orderAdjustments(input, decision),
        plans,
        bound: isQuote
          ? {
              worstPrice: commonWorstPrice(input, decision),
              ownPrice: input.rests ? formatScaled(input.limitUnits, input.limitDecimals) : null,
              venues: eligibleVenues(report),
            }
          : null,
      },
    };
  }

  #details(code: ErrorCode, report: RoutingReport): Record<string, unknown> {
    const preferred = this.#input.preferred;
    if (code === "NO_ELIGIBLE_VENUE" && this.#input.opens) return { trade: "open", candidates: report.candidates };
    if (code === "SIZE_EXCEEDS_POSITION") {
      const maxima = sizeMaxima(this.#input, this.#decision);
      // Together they hold it: it is not too much, only for one of them.
      const isForSplit = !this.#input.allowSplit && holdTogether(this.#input, this.#decision);
      const reason = maxima.maxTotalSize === "0" ? "NO_POSITION" : isForSplit ? "NEEDS_SPLIT" : null;
      return { ...maxima, ...(reason === null ? {} : { reason }), candidates: report.candidates };
    }
    if (code === "MISSING_CREDENTIALS") return { exchange: preferred };
    if (code === "VENUE_UNAVAILABLE" || code === "VENUE_RATE_LIMITED") {
      const blocked = report.candidates.find(
        (candidate) => candidate.reasonCode === "RATE_BUDGET" || candidate.reasonCode === "VENUE_UNHEALTHY",
      );
      return { exchange: preferred !== "" ? preferred : (blocked?.exchange ?? ""), candidates: report.candidates };
    }
    return { candidates: report.candidates };
  }
}

function healthOf(status: RoomStatus): RoutingHealth {
  return { breaker: status.breaker, exitTokens: status.laneTokens.exit };
}

function eligibleVenues(report: RoutingReport): RoutableVenue[] {
  const venues: RoutableVenue[] = [];
  for (const { eligible, exchange } of report.candidates)
    if (eligible && isRoutableVenue(exchange)) venues.push(exchange);
  return venues;
}

function isGiven(request: TradeRequest, venue: RoutableVenue): boolean {
  const raw = request.credentials[venue];
  return raw !== undefined && raw !== null;
}

/** Credentials for a venue that the caller's preference rules out: no session was opened, NOT_PREFERRED says why. */
function isOverruled(request: TradeRequest, venue: RoutableVenue): boolean {
  return request.preferredExchange !== null && request.preferredExchange !== venue && isGiven(request, venue);
}

function invalid(path: string, problem: string): RouteAnswer {
  return { ok: false, code: "INVALID_PARAMETERS", details: { fields: [{ path, problem }] }, report: null };
}
