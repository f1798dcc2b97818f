/**
 * The price that an order carries: a caller's own limit, kept inside the venue's band, or the bound of a MARKET from the
 * live book, never looser than what an earlier order of the same request carried.
 */
import type { Side } from "../../domain/order.js";
import { tighterPrice } from "../../domain/price-grid.js";
import { liveDoubleMid } from "../../routing/market-price.js";
import { limitBandRefusal } from "./limit-band.js";
import { boundMarket } from "./market-bound.js";
import { checkMinNotional, refusal, type CheckedOrder } from "./order-check.js";
import type { OrderAdjustment, OrderRefusal } from "./order-desk.js";
import { MAX_QUOTE_AGE_MS, type OrderContext } from "./single-context.js";
import { lastAttempt, type SingleRun } from "./single-run.js";

/** The first order's bound holds for those after it. */
export interface HeldBound {
  /** Null before the first, and where the caller's own price is the bound. */
  ticks: number | null;
}

interface OrderPrice {
  readonly ok: true;
  readonly priceTicks: number;
  readonly adjustments: readonly OrderAdjustment[];
}

type Priced = Pick<OrderContext, "instrument" | "room">;

/** By the mark of now: whatever an earlier order of the key came to has been answered before. */
export function beyondBand({ room, instrument }: Priced, order: CheckedOrder, nowNs: number): OrderRefusal | null {
  if (order.type !== "LIMIT" || order.priceTicks === null) return null;
  return limitBandRefusal(room.markets.get(instrument.symbol), order.side, order.priceTicks, nowNs);
}

/** The price that is sent. A MARKET takes it from the live book, or is not sent. */
export function priceOrder(
  priced: Priced,
  order: CheckedOrder,
  heldTicks: number | null,
  nowNs: number,
): OrderPrice | OrderRefusal {
  if (order.priceTicks !== null) return { ok: true, priceTicks: order.priceTicks, adjustments: [] };
  const { instrument, room } = priced;
  const market = room.markets.get(instrument.symbol);
  if (market === undefined) return refusal("VENUE_UNAVAILABLE", { exchange: instrument.venue, reason: "BOOK_INVALID" });
  const bound = boundMarket(market, { ...order, heldTicks }, nowNs);
  if (!bound.ok) return bound;
  // Venues value a market order near the mid: refused is only what falls short at its dearest.
  const dearest = Math.max(bound.priceTicks, Math.ceil(liveDoubleMidOf(priced, nowNs) / 2));
  return checkMinNotional(instrument, order, dearest) ?? bound;
}

/** Twice the mid, in ticks; 0: there is no live one. */
export function liveDoubleMidOf({ room, instrument }: Priced, nowNs: number): number {
  const market = room.markets.get(instrument.symbol);
  const doubleMid = market === undefined ? 0 : liveDoubleMid(market, MAX_QUOTE_AGE_MS, nowNs);
  return typeof doubleMid === "number" ? doubleMid : 0;
}

/** Of an order that a book priced; null: it carried its caller's own price. */
export function boundOf(run: SingleRun): number | null {
  return run.type === "MARKET" ? (lastAttempt(run)?.priceTicks ?? null) : null;
}

/** The tightest bound that an order before this one carried, in this request or before a crash; null: none did. */
export function tightestBound(side: Side, held: HeldBound | null, earlier: SingleRun | null): number | null {
  let ticks = held?.ticks ?? null;
  for (const { priceTicks } of earlier?.attempts ?? [])
    ticks = ticks === null ? priceTicks : tighterPrice(side, ticks, priceTicks);
  return ticks;
}
