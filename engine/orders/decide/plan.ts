/**
 * The orders of a decision on their venues' grids: position orders, stops, and the triggers that protect an entry. Pure.
 *
 * Invariant: only the position order of an entry is not reduce-only.
 */
import { decimalPlaces, isPlainDecimal, parseScaledRounded } from "../../domain/decimal.js";
import { formatRatio, multiplyRatio, ratio, ratioFromText } from "../../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import { closingSide, type OrderTrigger, type Side } from "../../domain/order.js";
import { ceilPrice, floorPrice } from "../../domain/price-grid.js";
import { isRoutableVenue, type RoutableVenue } from "../../domain/venue.js";
import type { Candidate, CandidateResult } from "../../routing/route-types.js";
import { heldPosition, isHedged, openLots, positionSideOf, type AccountReading } from "./readings.js";
import type { OrderTerms } from "../order-terms.js";
import type { AttemptRole, PositionBefore } from "../run.js";
import type { OpenTerms, TradeRequest } from "../types.js";

/** One order to be sent, on the venue's grid. */
export interface SendPlan extends OrderTerms {
  readonly role: AttemptRole;
  readonly leg: number;
  readonly venue: RoutableVenue;
  /** False for the position orders of an entry alone. */
  readonly reduceOnly: boolean;
  /** LIMIT: what of it should trade on arrival, by the decision's walk. */
  readonly marketableLots?: number;
  readonly before: PositionBefore;
}

export interface PlanProblem {
  readonly path: string;
  readonly problem: string;
}

/** The side of the order: an entry into a long buys, its close sells. */
export function tradeSide(request: Pick<TradeRequest, "direction" | "open">): Side {
  const closing = closingSide(request.direction);
  if (request.open === null) return closing;
  return closing === "SELL" ? "BUY" : "SELL";
}

/** Each venue has one position side per direction, so one plan per venue does it. */
export function planOf(
  request: TradeRequest,
  candidate: Candidate,
  result: CandidateResult,
  leg: number,
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
): SendPlan | null {
  const reading = isRoutableVenue(candidate.venue) ? readings.get(candidate.venue) : undefined;
  if (reading === undefined || reading.positions === null) return null;
  const { instrument, positions } = reading;
  const { orderType, triggerPrice, direction } = request;
  const opens = request.open !== null;
  const side = tradeSide(request);
  const opposite = openLots(positions, direction === "LONG" ? "SHORT" : "LONG");
  const hedged = isHedged(reading);
  return {
    role: "POSITION",
    leg,
    venue: reading.account.venue,
    instrument,
    side,
    type: orderType,
    timeInForce: orderType === "LIMIT" || orderType === "STOP_LIMIT" ? "GTC" : "IOC",
    trigger:
      triggerPrice === null
        ? null
        : { kind: "STOP", priceTicks: triggerTicks(instrument, side, "STOP", triggerPrice), source: "MARK" },
    reduceOnly: !opens,
    qtyLots: result.orderLots,
    priceTicks: result.priceTicks,
    positionSide: opens ? (hedged ? direction : "BOTH") : positionSideOf(positions, direction),
    doubleMidTicks: result.doubleMidTicks,
    priceDecimals: canonicalPriceDecimals(instrument),
    qtyDecimals: canonicalQtyDecimals(instrument),
    takerFeeMilliBps: candidate.takerFeeMilliBps,
    makerFeeMilliBps: candidate.makerFeeMilliBps,
    before: {
      venue: reading.account.venue,
      qtyLots: openLots(positions, direction),
      qtyDecimals: canonicalQtyDecimals(instrument),
      entryPrice: heldPosition(positions, direction)?.entryPrice ?? null,
      ...(opens && !hedged && opposite > 0 ? { oppositeLots: opposite } : {}),
    },
    ...(orderType === "LIMIT" && result.walk.filledLots > 0 ? { marketableLots: result.walk.filledLots } : {}),
  };
}

/** A trigger that the market is beyond already would fire at once: not what a caller asks for. Null when none would. */
export function firesAtOnce(request: TradeRequest, plans: readonly SendPlan[]): PlanProblem | null {
  for (const plan of plans) {
    const { instrument, doubleMidTicks, trigger } = plan;
    // The exit of the position: what a stop of it does.
    const out = closingSide(request.direction);
    if (trigger !== null && isBeyond(trigger.priceTicks, doubleMidTicks, out, "STOP"))
      return { path: "triggerPrice", problem: "would fire at once" };
    if (request.open === null) continue;
    // A LIMIT is protected from its own price on.
    const entry = request.orderType === "LIMIT" ? 2 * plan.priceTicks : doubleMidTicks;
    for (const [path, kind, text] of protectionsOf(request.open)) {
      if (isBeyond(triggerTicks(instrument, out, kind, text), entry, out, kind))
        return { path, problem: "would fire at once" };
    }
  }
  return null;
}

type TriggerKind = OrderTrigger["kind"];

/** What an entry is to be protected by, as path, kind and trigger price. */
export function protectionsOf(
  terms: Pick<OpenTerms, "takeProfit" | "stopLoss">,
): (readonly [path: "takeProfit" | "stopLoss", kind: TriggerKind, triggerPrice: string])[] {
  const wanted: (readonly ["takeProfit" | "stopLoss", TriggerKind, string])[] = [];
  if (terms.takeProfit !== null) wanted.push(["takeProfit", "TAKE_PROFIT", terms.takeProfit]);
  if (terms.stopLoss !== null) wanted.push(["stopLoss", "STOP", terms.stopLoss]);
  return wanted;
}

/** A SELL stop fires at or below its trigger, a SELL take-profit at or above; a BUY the other way. No price: not known. */
function isBeyond(ticks: number, doublePriceTicks: number, side: Side, kind: TriggerKind): boolean {
  if (!(ticks > 0)) return true;
  if (doublePriceTicks === 0) return false;
  return (side === "SELL") === (kind === "STOP") ? 2 * ticks >= doublePriceTicks : 2 * ticks <= doublePriceTicks;
}

/** Onto the grid toward the market, so that it fires no later than asked; 0 where there is no such price. */
export function triggerTicks(instrument: Instrument, side: Side, kind: TriggerKind, text: string): number {
  const up = (side === "SELL") === (kind === "STOP");
  const ticks = parseScaledRounded(text, canonicalPriceDecimals(instrument), up ? "ceil" : "floor");
  const onGrid = up ? ceilPrice(instrument, ticks) : floorPrice(instrument, ticks);
  return onGrid > 0 ? onGrid : 0;
}

/** The worst price of a MARKET that waits for `trigger`, exactly; null where the text is no price. */
export function slippedPrice(trigger: string, side: Side, slippageBps: number): string | null {
  if (!isPlainDecimal(trigger)) return null;
  const share = ratio(BigInt(Math.round(10_000 + (side === "SELL" ? -slippageBps : slippageBps))), 10_000n);
  const rounding = side === "SELL" ? "ceil" : "floor";
  return formatRatio(multiplyRatio(ratioFromText(trigger), share), decimalPlaces(trigger) + 2, rounding);
}
