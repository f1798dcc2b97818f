/**
 * The worst price of a MARKET order (routing design 1.6), from the venue's own live mid: a fresh LIVE book or nothing
 * is sent. The caller's own bound and the venue's price band tighten it, never widen it.
 */
import { formatScaled } from "../../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../domain/instrument.js";
import type { Side } from "../../domain/order.js";
import { protectPrice, tighterPrice } from "../../domain/price-grid.js";
import { BOOK_LIVE } from "../../market/book.js";
import { DepthWalk, doubleMidTicks, walkDepth } from "../../market/depth-walk.js";
import { ageMs, deepAgeLimitMs, mainAgeLimitMs } from "../../market/freshness.js";
import type { Market } from "../../market/market.js";
import { bandTicks } from "../../routing/price-band.js";
import { worstTicks } from "../../routing/pricing.js";
import { refusal } from "./order-check.js";
import type { OrderAdjustment, OrderRefusal } from "./order-desk.js";
import { MAX_QUOTE_AGE_MS } from "./single-context.js";

interface MarketAsk {
  readonly side: Side;
  readonly qtyLots: number;
  /** The caller's own bound, on the grid. */
  readonly worstTicks: number | null;
  readonly maxSlippageBps: number;
}

interface MarketBound {
  readonly ok: true;
  readonly priceTicks: number;
  readonly adjustments: readonly OrderAdjustment[];
}

const QUOTE_RATE_PPM = 1_000_000;

export function boundMarket(market: Market, ask: MarketAsk, nowNs: number): MarketBound | OrderRefusal {
  const doubleMid = liveDoubleMid(market, nowNs);
  if (typeof doubleMid === "string") return unavailable(market, doubleMid);
  const { instrument } = market;
  const { side, qtyLots, maxSlippageBps } = ask;
  const exact = worstTicks(side, maxSlippageBps, doubleMid, instrument, QUOTE_RATE_PPM, instrument, QUOTE_RATE_PPM);
  const cap = protectPrice(instrument, side, exact);
  if (!(cap > 0)) return unavailable(market, "NO_PRICE");
  const walk = new DepthWalk();
  walkDepth(market, side, qtyLots, cap, isDeepFresh(market, nowNs), walk);
  // Levels that are not shown may hold the rest, and the bound holds for them too; levels seen beyond it do not.
  if (walk.capped && walk.filledLots < qtyLots) {
    return refusal("SLIPPAGE_CAP", {
      exchange: instrument.venue,
      maxSlippageBps,
      worstPrice: formatScaled(cap, canonicalPriceDecimals(instrument)),
      sizeWithinCap: formatScaled(walk.filledLots, canonicalQtyDecimals(instrument)),
    });
  }
  return tighten(market, ask, cap, nowNs);
}

/** Twice the mid of a book that may price an order; else why there is none. */
export function liveDoubleMid(market: Market, nowNs: number): number | "BOOK_INVALID" | "BOOK_STALE" {
  const { book } = market;
  if (book.state !== BOOK_LIVE) return "BOOK_INVALID";
  if (ageMs(book.tsProvenNs, nowNs) > mainAgeLimitMs(market.maxBookAgeMs, MAX_QUOTE_AGE_MS)) return "BOOK_STALE";
  const doubleMid = doubleMidTicks(market);
  return doubleMid > 0 ? doubleMid : "BOOK_INVALID";
}

function tighten(market: Market, ask: MarketAsk, cap: number, nowNs: number): MarketBound | OrderRefusal {
  const { instrument } = market;
  const { side } = ask;
  const adjustments: OrderAdjustment[] = [];
  const note = (from: number, to: number, rule: string): void => {
    const priceDecimals = canonicalPriceDecimals(instrument);
    const text = (ticks: number): string => formatScaled(ticks, priceDecimals);
    if (from !== to) adjustments.push({ field: "price", from: text(from), to: text(to), rule });
  };
  let priceTicks = cap;
  if (ask.worstTicks !== null) {
    priceTicks = tighterPrice(side, cap, ask.worstTicks);
    note(ask.worstTicks, priceTicks, "MAX_SLIPPAGE");
  }
  const band = bandTicks({ side, nowNs }, market);
  if (band > 0) {
    const banded = protectPrice(instrument, side, tighterPrice(side, priceTicks, band));
    note(priceTicks, banded, "PRICE_BAND");
    priceTicks = banded;
  }
  return priceTicks > 0 ? { ok: true, priceTicks, adjustments } : unavailable(market, "NO_PRICE");
}

function isDeepFresh(market: Market, nowNs: number): boolean {
  const { deep } = market;
  if (deep === null || deep.state !== BOOK_LIVE) return false;
  const limitMs = deepAgeLimitMs(market.maxDeepAgeMs, market.maxBookAgeMs, MAX_QUOTE_AGE_MS);
  return ageMs(deep.tsProvenNs, nowNs) <= limitMs;
}

function unavailable(market: Market, reason: string): OrderRefusal {
  return refusal("VENUE_UNAVAILABLE", { exchange: market.instrument.venue, reason });
}
