/**
 * The worst price of a single MARKET order (routing/market-price.ts) as its caller's reply shows it. The caller's own bound
 * and the venue's price band tighten it, never widen it.
 */
import { formatScaled } from "../../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../domain/instrument.js";
import type { Side } from "../../domain/order.js";
import { tighterPrice } from "../../domain/price-grid.js";
import type { Market } from "../../market/market.js";
import { capMarket, insideBand } from "../../routing/market-price.js";
import { refusal } from "./order-check.js";
import type { OrderAdjustment, OrderRefusal } from "./order-desk.js";
import { MAX_QUOTE_AGE_MS } from "./single-context.js";

interface MarketAsk {
  readonly side: Side;
  readonly qtyLots: number;
  /** The caller's own bound, on the grid. */
  readonly worstTicks: number | null;
  readonly maxSlippageBps: number;
  /** The bound that an earlier order of the same request carried; null: there was none. */
  readonly heldTicks: number | null;
}

interface MarketBound {
  readonly ok: true;
  readonly priceTicks: number;
  readonly adjustments: readonly OrderAdjustment[];
}

export function boundMarket(market: Market, ask: MarketAsk, nowNs: number): MarketBound | OrderRefusal {
  const priced = capMarket(market, { ...ask, maxQuoteAgeMs: MAX_QUOTE_AGE_MS }, nowNs);
  if (priced.ok) return tighten(market, ask, priced.capTicks, nowNs);
  if (priced.reason !== "SLIPPAGE_CAP") return unavailable(market, priced.reason);
  const { instrument } = market;
  return refusal("SLIPPAGE_CAP", {
    exchange: instrument.venue,
    maxSlippageBps: ask.maxSlippageBps,
    worstPrice: formatScaled(priced.capTicks, canonicalPriceDecimals(instrument)),
    sizeWithinCap: formatScaled(priced.filledLots, canonicalQtyDecimals(instrument)),
  });
}

function tighten(market: Market, ask: MarketAsk, cap: number, nowNs: number): MarketBound | OrderRefusal {
  const { side } = ask;
  const adjustments: OrderAdjustment[] = [];
  const note = (from: number, to: number, rule: string): void => {
    const priceDecimals = canonicalPriceDecimals(market.instrument);
    const text = (ticks: number): string => formatScaled(ticks, priceDecimals);
    if (from !== to) adjustments.push({ field: "price", from: text(from), to: text(to), rule });
  };
  let priceTicks = cap;
  if (ask.worstTicks !== null) {
    priceTicks = tighterPrice(side, cap, ask.worstTicks);
    note(ask.worstTicks, priceTicks, "MAX_SLIPPAGE");
  }
  const banded = insideBand(market, side, priceTicks, nowNs);
  note(priceTicks, banded, "PRICE_BAND");
  return banded > 0 ? { ok: true, priceTicks: banded, adjustments } : unavailable(market, "NO_PRICE");
}

function unavailable(market: Market, reason: string): OrderRefusal {
  return refusal("VENUE_UNAVAILABLE", { exchange: market.instrument.venue, reason });
}
