/**
 * Between the close service and the pure router: fills the router's input from what was read, and copies the
 * decision out at once, because input and decision are reused by the next close.
 */
import type { Clock } from "../domain/clock.js";
import type { ErrorCode } from "../domain/errors.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import { closingSide, type PositionSide, type Side } from "../domain/order.js";
import { isRoutableVenue, ROUTABLE_VENUES, type RoutableVenue } from "../domain/venue.js";
import type { Market } from "../market/market.js";
import type { MarketRoom, RoomStatus, RoutingHealth } from "../ports.js";
import { decideRoute, decisionErrorCode } from "../routing/decide.js";
import {
  buildRoutingReport,
  orderAdjustments,
  requestedSizeText,
  sizeMaxima,
  type RoutingReport,
} from "../routing/report.js";
import { setLimitText, setSizeAll, setSizePercentText, setSizeText } from "../routing/route-input.js";
import { Decision, RouteInput, type Candidate } from "../routing/route-types.js";
import type { Rooms } from "./close-accounts.js";
import { heldPosition, openLots, positionSideOf, type AccountReading } from "./close-positions.js";
import type { PositionBefore } from "./close-run.js";
import type { CloseRequest, ExecutionReport } from "./close-types.js";

/** Configuration of the router that the venues' own data does not give. */
export interface RoutingSettings {
  readonly latencyFactor: number;
  /** Quote asset → common quote, parts per million; an asset not named counts 1, tagged `assumed`. */
  readonly quoteRatePpm: ReadonlyMap<string, number>;
  /** Documented delay a venue adds to taker orders. */
  readonly takerDelayMs: Readonly<Partial<Record<RoutableVenue, number>>>;
}

export const DEFAULT_ROUTING_SETTINGS: RoutingSettings = {
  latencyFactor: 0.5,
  quoteRatePpm: new Map(),
  takerDelayMs: {},
};

/** One order to be sent, on the venue's grid. */
export interface SendPlan {
  readonly venue: RoutableVenue;
  readonly instrument: Instrument;
  readonly qtyLots: number;
  readonly priceTicks: number;
  readonly positionSide: PositionSide;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
  readonly before: PositionBefore;
}

export interface Routed {
  readonly report: RoutingReport;
  readonly requestedSize: string;
  readonly worstPrice: string;
  readonly expectedCostBps: string;
  readonly adjustments: ExecutionReport["adjustments"];
  /** Null for a public quote: nothing can be sent. */
  readonly plan: SendPlan | null;
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
  readonly preferredExchange: RoutableVenue | null;
  readonly excludeExchanges: readonly RoutableVenue[];
}

export type MarketRooms = ReadonlyMap<RoutableVenue, MarketRoom>;

export class CloseRouting {
  readonly #rooms: Rooms;
  /** Also those that cannot trade: a quote needs books only. */
  readonly #marketRooms: MarketRooms;
  readonly #clock: Clock;
  readonly #settings: RoutingSettings;
  readonly #input = new RouteInput();
  readonly #decision = new Decision();

  constructor(rooms: Rooms, marketRooms: MarketRooms, clock: Clock, settings: RoutingSettings) {
    this.#rooms = rooms;
    this.#marketRooms = marketRooms;
    this.#clock = clock;
    this.#settings = settings;
  }

  /** `size`: what is still to be closed, in place of the request's own. `tried`: venues that must not be chosen again. */
  routeClose(
    request: CloseRequest,
    readings: ReadonlyMap<RoutableVenue, AccountReading>,
    routeId: string,
    size: string | null,
    tried: ReadonlySet<RoutableVenue>,
  ): RouteAnswer {
    const input = this.#input;
    input.reset(
      request.orderType === "LIMIT" ? "CLOSE_LIMIT" : "CLOSE_MARKET",
      closingSide(request.direction),
      this.#clock.monoNs(),
    );
    input.maxSlippageBps = request.maxSlippageBps;
    input.maxQuoteAgeMs = request.maxQuoteAgeMs;
    input.latencyFactor = this.#settings.latencyFactor;
    input.preferred = request.preferredExchange ?? "";
    const problem = setSize(input, request, size);
    if (problem !== null) return invalid(problem.path, problem.problem);
    if (request.orderType === "LIMIT" && (request.limitPrice === null || !setLimitText(input, request.limitPrice)))
      return invalid("limitPrice", "must be a positive decimal text");
    // Venues without a room are listed too: a reply says of every venue why it was not chosen.
    for (const venue of ROUTABLE_VENUES) {
      const room = this.#rooms.get(venue);
      const market = room?.markets.get(request.symbol) ?? null;
      const candidate = this.#addCandidate(venue, room, market);
      candidate.excluded = tried.has(venue) || request.excludeExchanges.includes(venue);
      const reading = readings.get(venue);
      // A venue that does not list the symbol was not read; with credentials it must say so, not NO_CREDENTIALS.
      candidate.hasCredentials =
        reading !== undefined || (market === null && isGiven(request, venue)) || isOverruled(request, venue);
      if (reading === undefined) continue;
      candidate.positionKnown = reading.positions !== null;
      candidate.longLots = openLots(reading.positions ?? [], "LONG");
      candidate.shortLots = openLots(reading.positions ?? [], "SHORT");
      if (reading.fees !== null) {
        candidate.takerFeeMilliBps = reading.fees.takerFeeMilliBps;
        candidate.makerFeeMilliBps = reading.fees.makerFeeMilliBps;
        candidate.feeSource = "account";
      }
    }
    return this.#decide(routeId, (candidate, orderLots, priceTicks) =>
      closePlan(request, candidate, orderLots, priceTicks, readings),
    );
  }

  /** Books only: no credentials, no positions. */
  routeQuote(request: QuoteRequest, routeId: string): RouteAnswer {
    const input = this.#input;
    input.reset("QUOTE", request.side, this.#clock.monoNs());
    input.maxSlippageBps = request.maxSlippageBps;
    input.maxQuoteAgeMs = request.maxQuoteAgeMs;
    input.latencyFactor = this.#settings.latencyFactor;
    input.preferred = request.preferredExchange ?? "";
    if (!setSizeText(input, request.size)) return invalid("size", "must be a positive decimal text");
    for (const venue of ROUTABLE_VENUES) {
      const room = this.#marketRooms.get(venue);
      const candidate = this.#addCandidate(venue, room, room?.markets.get(request.symbol) ?? null);
      candidate.excluded = request.excludeExchanges.includes(venue);
    }
    return this.#decide(routeId, () => null);
  }

  #addCandidate(venue: RoutableVenue, room: MarketRoom | undefined, market: Market | null): Candidate {
    const candidate = this.#input.addCandidate(venue, market);
    if (room === undefined) return candidate;
    const health = room.routingHealth ?? healthOf(room.status());
    candidate.healthy = health.breaker !== "open";
    candidate.budgetAvailable = health.exitTokens > 0;
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
    planOf: (candidate: Candidate, orderLots: number, priceTicks: number) => SendPlan | null,
  ): RouteAnswer {
    const input = this.#input;
    const decision = this.#decision;
    decideRoute(input, decision);
    const report = buildRoutingReport(input, decision, { routeId, decidedAtMs: this.#clock.wallMs() });
    const code = decisionErrorCode(decision);
    if (code !== null) return { ok: false, code, details: this.#details(code, report), report };
    const candidate = input.candidates[decision.selected];
    const result = decision.results[decision.selected];
    if (candidate === undefined || result === undefined) throw new RangeError("the decision selected no candidate");
    return {
      ok: true,
      routed: {
        report,
        requestedSize: requestedSizeText(decision),
        worstPrice: report.limits.worstPrice ?? "0",
        expectedCostBps: report.candidates[decision.selected]?.costBps ?? "0",
        adjustments: orderAdjustments(input, decision),
        plan: planOf(candidate, result.orderLots, result.priceTicks),
      },
    };
  }

  #details(code: ErrorCode, report: RoutingReport): Record<string, unknown> {
    const preferred = this.#input.preferred;
    if (code === "SIZE_EXCEEDS_POSITION")
      return { ...sizeMaxima(this.#input, this.#decision), candidates: report.candidates };
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

function setSize(
  input: RouteInput,
  request: CloseRequest,
  size: string | null,
): { readonly path: string; readonly problem: string } | null {
  if (size !== null)
    return setSizeText(input, size) ? null : { path: "size", problem: "is outside the range that can be held exactly" };
  if (request.sizePercent !== null)
    return setSizePercentText(input, request.sizePercent)
      ? null
      : { path: "sizePercent", problem: "must be above 0 and at most 100, with at most 4 decimals" };
  if (request.size === "ALL") {
    setSizeAll(input);
    return null;
  }
  if (request.size !== null && setSizeText(input, request.size)) return null;
  return { path: "size", problem: "must be a positive decimal text or ALL" };
}

/** Each venue has one position side per direction, so one plan closes it. */
function closePlan(
  request: CloseRequest,
  candidate: Candidate,
  orderLots: number,
  priceTicks: number,
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
): SendPlan | null {
  const reading = isRoutableVenue(candidate.venue) ? readings.get(candidate.venue) : undefined;
  if (reading === undefined || reading.positions === null) return null;
  const instrument = reading.instrument;
  return {
    venue: reading.account.venue,
    instrument,
    qtyLots: orderLots,
    priceTicks,
    positionSide: positionSideOf(reading.positions, request.direction),
    priceDecimals: canonicalPriceDecimals(instrument),
    qtyDecimals: canonicalQtyDecimals(instrument),
    takerFeeMilliBps: candidate.takerFeeMilliBps,
    makerFeeMilliBps: candidate.makerFeeMilliBps,
    before: {
      venue: reading.account.venue,
      qtyLots: openLots(reading.positions, request.direction),
      qtyDecimals: canonicalQtyDecimals(instrument),
      entryPrice: heldPosition(reading.positions, request.direction)?.entryPrice ?? null,
    },
  };
}

function isGiven(request: CloseRequest, venue: RoutableVenue): boolean {
  const raw = request.credentials[venue];
  return raw !== undefined && raw !== null;
}

/** Credentials for a venue that the caller's preference rules out: no session was opened, NOT_PREFERRED says why. */
function isOverruled(request: CloseRequest, venue: RoutableVenue): boolean {
  return request.preferredExchange !== null && request.preferredExchange !== venue && isGiven(request, venue);
}

function invalid(path: string, problem: string): RouteAnswer {
  return { ok: false, code: "INVALID_PARAMETERS", details: { fields: [{ path, problem }] }, report: null };
}
