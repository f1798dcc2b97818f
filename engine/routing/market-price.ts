/**
 * The worst price of one MARKET order on one venue (routing design 1.5, 1.6), from that venue's own live mid: without a
 * fresh LIVE book there is no price. Pure; pricing.ts does the router's pricing over many venues at once.
 *
 * Invariant: the price is at most `maxSlippageBps` from the mid, within the venue's band, and never looser than a bound
 * that was set earlier.
 */
import type { Side } from "../domain/order.js";
import { protectPrice, tighterPrice } from "../domain/price-grid.js";
import { BOOK_LIVE } from "../market/book.js";
import { DepthWalk, doubleMidTicks, walkDepth } from "../market/depth-walk.js";
import { ageMs, deepAgeLimitMs, mainAgeLimitMs } from "../market/freshness.js";
import type { Market } from "../market/market.js";
import { bandTicks } from "./price-band.js";
import { worstTicks } from "./pricing.js";
import { QUOTE_RATE_ONE_PPM } from "./route-types.js";

export interface MarketOrder {
  readonly side: Side;
  readonly qtyLots: number;
  readonly maxSlippageBps: number;
  readonly maxQuoteAgeMs: number;
  /** The bound that an earlier order of the same request carried; null means there was none. */
  readonly heldTicks: number | null;
}

export type MarketPrice =
  | { readonly ok: true; readonly capTicks: number; readonly doubleMidTicks: number }
  | { readonly ok: false; readonly reason: "BOOK_INVALID" | "BOOK_STALE" | "NO_PRICE" }
  /** Levels that the size needs lie beyond the cap. */
  | { readonly ok: false; readonly reason: "SLIPPAGE_CAP"; readonly capTicks: number; readonly filledLots: number };

/** Returns the cap, before the venue's band. */
export function capMarket(market: Market, order: MarketOrder, nowNs: number): MarketPrice {
  const doubleMid = liveDoubleMid(market, order.maxQuoteAgeMs, nowNs);
  if (typeof doubleMid === "string") return { ok: false, reason: doubleMid };
  const { instrument } = market;
  const { heldTicks, maxSlippageBps, qtyLots, side } = order;
  const rate = QUOTE_RATE_ONE_PPM;
  const own = protectPrice(
    instrument,
    side,
    worstTicks(side, maxSlippageBps, doubleMid, instrument, rate, instrument, rate),
  );
  const capTicks = heldTicks === null ? own : tighterPrice(side, own, heldTicks);
  if (!(capTicks > 0)) return { ok: false, reason: "NO_PRICE" };
  const walk = new DepthWalk();
  walkDepth(market, side, qtyLots, capTicks, isDeepFresh(market, order.maxQuoteAgeMs, nowNs), walk);
  // Levels that are not shown may hold the rest, and the bound applies to them too. Only levels seen beyond the bound
  // refuse the order.
  if (walk.capped && walk.filledLots < qtyLots)
    return { ok: false, reason: "SLIPPAGE_CAP", capTicks, filledLots: walk.filledLots };
  return { ok: true, capTicks, doubleMidTicks: doubleMid };
}

/** Returns the bound moved inside the venue's band, on the grid; 0 where there is no such price. */
export function insideBand(market: Market, side: Side, priceTicks: number, nowNs: number): number {
  const band = bandTicks({ side, nowNs }, market);
  if (band === 0) return priceTicks;
  const onGrid = protectPrice(market.instrument, side, tighterPrice(side, priceTicks, band));
  return onGrid > 0 ? onGrid : 0;
}

/** Returns twice the mid of a book that may price an order; else the reason why there is none. */
export function liveDoubleMid(
  market: Market,
  maxQuoteAgeMs: number,
  nowNs: number,
): number | "BOOK_INVALID" | "BOOK_STALE" {
  const { book } = market;
  if (book.state !== BOOK_LIVE) return "BOOK_INVALID";
  if (ageMs(book.tsProvenNs, nowNs) > mainAgeLimitMs(market.maxBookAgeMs, maxQuoteAgeMs)) return "BOOK_STALE";
  const doubleMid = doubleMidTicks(market);
  return doubleMid > 0 ? doubleMid : "BOOK_INVALID";
}

function isDeepFresh(market: Market, maxQuoteAgeMs: number, nowNs: number): boolean {
  const { deep } = market;
  if (deep === null || deep.state !== BOOK_LIVE) return false;
  return ageMs(deep.tsProvenNs, nowNs) <= deepAgeLimitMs(market.maxDeepAgeMs, market.maxBookAgeMs, maxQuoteAgeMs);
}
