/** When a waiting order fires: stops with the loss, take-profits with the gain, trailing stops from the extreme. */
import type { SymbolState } from "./engine-deps.js";
import type { OrderState } from "../model/state.js";
import type { SimSide, SimTrigger } from "../model/types.js";

/** Follows the price for one waiting order. Returns true when it fires. */
export function watchTrigger(state: SymbolState, order: OrderState, markE8: number): boolean {
  const { trigger } = order;
  if (trigger === null) return false;
  if (trigger.kind !== "TRAILING") return triggerMet(state, order.side, trigger, markE8);
  const price = watchedTicks(state, trigger.source, markE8);
  if (order.extremeTicks === null) {
    const { activationTicks } = trigger;
    const active =
      activationTicks === null || (order.side === "SELL" ? price >= activationTicks : price <= activationTicks);
    if (!active) return false;
    order.extremeTicks = price;
  }
  if (order.side === "SELL") {
    order.extremeTicks = Math.max(order.extremeTicks, price);
    return price * 1_000_000 <= order.extremeTicks * (1_000_000 - trigger.callbackPpm);
  }
  order.extremeTicks = Math.min(order.extremeTicks, price);
  return price * 1_000_000 >= order.extremeTicks * (1_000_000 + trigger.callbackPpm);
}

/** Returns true when the condition of a stop or take-profit holds now. */
export function triggerMet(state: SymbolState, side: SimSide, trigger: SimTrigger, markE8: number): boolean {
  const price = watchedTicks(state, trigger.source, markE8);
  const upward = (trigger.kind === "STOP") === (side === "BUY");
  return upward ? price >= trigger.triggerTicks : price <= trigger.triggerTicks;
}

function watchedTicks(state: SymbolState, source: "LAST" | "MARK", markE8: number): number {
  return source === "LAST" ? state.tape.lastTicks : Math.round((markE8 / 1e8) * 10 ** state.instrument.priceDecimals);
}
