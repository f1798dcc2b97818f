/**
 * A stop's limit is its caller's: it is sent as it was written, or refused. Pure.
 *
 * A venue with a band judges such a limit around the trigger, not around today's mark, so nothing here asks for a mark.
 */
import { formatScaled, parseScaledBig } from "../../domain/decimal.js";
import { canonicalPriceDecimals, type Instrument } from "../../domain/instrument.js";
import type { Side } from "../../domain/order.js";
import { priceStepAt, tighterPrice } from "../../domain/price-grid.js";
import { stopEdgeTicks } from "../../routing/price-band.js";
import type { PlanProblem, SendPlan } from "./plan.js";
import type { TradeRequest } from "../types.js";

/** Null when the limit goes out as its caller wrote it. */
export function stopLimitProblem(request: TradeRequest, plans: readonly SendPlan[]): PlanProblem | null {
  const { limitPrice, orderType } = request;
  if (orderType !== "STOP_LIMIT" || limitPrice === null) return null;
  for (const { instrument, priceTicks, priceDecimals, side, trigger } of plans) {
    if (parseScaledBig(limitPrice, priceDecimals) !== BigInt(priceTicks)) {
      const step = formatScaled(priceStepAt(instrument, priceTicks), priceDecimals);
      return { path: "limitPrice", problem: `must be a multiple of ${step}` };
    }
    const problem = trigger === null ? null : stopBandProblem(instrument, side, trigger.priceTicks, priceTicks);
    if (problem !== null) return { path: "limitPrice", problem };
  }
  return null;
}

/** Why the venue would refuse this limit with this trigger; null: it would not for its band. */
export function stopBandProblem(
  instrument: Instrument,
  side: Side,
  triggerTicks: number,
  limitTicks: number,
): string | null {
  const edge = stopEdgeTicks(instrument, side, triggerTicks);
  if (edge === 0 || limitTicks === tighterPrice(side, limitTicks, edge)) return null;
  const bound = formatScaled(edge, canonicalPriceDecimals(instrument));
  return `must not be ${side === "SELL" ? "below" : "above"} ${bound}, the edge of the venue's band around the trigger`;
}
