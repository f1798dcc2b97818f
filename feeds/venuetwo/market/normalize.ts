/**
 * Wire → domain, for what the streams bring (REST rows: account/normalize.ts). Pure but for
 * the ticker, which is assigned in place.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Ticker } from "../../../engine/market/ticker.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { lotsOf } from "../../shared/room/money-text.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import { normalizeOrder, normalizePosition, tradeIdOf, uncounted } from "../account/normalize.js";
import type { VenuetwoWireOrder } from "../account/wire.js";
import type {
  VenuetwoWireMarkPrice,
  VenuetwoWireOrderUpdate,
  VenuetwoWirePositionUpdate,
  VenuetwoWirePremiumIndex,
  VenuetwoWireTicker,
  VenuetwoWireTicker24h,
} from "./wire.js";

// ---------------------------------------------------------------- ticker

/** A frame older than the ticker's newest of the same kind is late; the caller keeps those times. */
export function applyMarkPrice(ticker: Ticker, wire: VenuetwoWireMarkPrice, tsRecvNs: number): void {
  ticker.markPrice = wire.p;
  ticker.indexPrice = wire.i;
  ticker.fundingRate = wire.r;
  ticker.nextFundingTime = wire.T;
  ticker.stamp(wire.E, tsRecvNs);
}

export function applyTicker(ticker: Ticker, wire: VenuetwoWireTicker, tsRecvNs: number): void {
  ticker.lastPrice = wire.c;
  ticker.openPrice = wire.o;
  // The stream has no previous close; the open of the rolling window is the price of 24 h ago.
  ticker.prevDayPrice = wire.o;
  ticker.high24h = wire.h;
  ticker.low24h = wire.l;
  ticker.change24h = wire.P;
  ticker.change24hAbs = wire.p;
  ticker.volume24h = wire.q;
  ticker.volumeBase = wire.v;
  ticker.stamp(wire.E, tsRecvNs);
}

export function applyPremiumIndex(ticker: Ticker, wire: VenuetwoWirePremiumIndex, tsRecvNs: number): void {
  ticker.markPrice = wire.markPrice;
  ticker.indexPrice = wire.indexPrice;
  ticker.fundingRate = wire.lastFundingRate;
  ticker.nextFundingTime = wire.nextFundingTime;
  ticker.stamp(wire.time, tsRecvNs);
}

export function applyTicker24h(ticker: Ticker, wire: VenuetwoWireTicker24h, tsRecvNs: number): void {
  ticker.lastPrice = wire.lastPrice;
  ticker.openPrice = wire.openPrice;
  ticker.prevDayPrice = wire.openPrice;
  ticker.high24h = wire.highPrice;
  ticker.low24h = wire.lowPrice;
  ticker.change24h = wire.priceChangePercent;
  ticker.change24hAbs = wire.priceChange;
  ticker.volume24h = wire.quoteVolume;
  ticker.volumeBase = wire.volume;
  ticker.stamp(wire.closeTime, tsRecvNs);
}

// ---------------------------------------------------------------- orders

/** The stream's order under the names REST has for it: one normalisation for both. */
function orderOfUpdate(wire: VenuetwoWireOrderUpdate): VenuetwoWireOrder {
  return {
    orderId: wire.i,
    symbol: wire.s,
    status: wire.X,
    clientOrderId: wire.c === "" ? null : wire.c,
    side: wire.S,
    positionSide: wire.ps,
    type: wire.o,
    // Liquidations of the sister dialect have a type of their own; they are market orders in effect.
    origType: wire.ot === "LIQUIDATION" ? "MARKET" : wire.ot,
    price: wire.p,
    avgPrice: wire.ap,
    origQty: wire.q,
    executedQty: wire.z,
    cumQuote: null,
    reduceOnly: wire.R,
    stopPrice: wire.sp,
    timeInForce: wire.f,
    time: null,
    updateTime: wire.T,
  };
}

/** Throws WireFault where the update does not fit the instrument: then only REST knows. */
export function normalizeOrderUpdate(wire: VenuetwoWireOrderUpdate, instrument: Instrument): VenueOrder {
  return normalizeOrder(orderOfUpdate(wire), instrument);
}

const FILL_WORDS: ReadonlySet<string> = new Set(["TRADE", "CALCULATED"]);

/** The trade in an update, null if it has none. Throws WireFault where something filled and it is not told how. */
export function normalizeFill(
  wire: VenuetwoWireOrderUpdate,
  order: VenueOrder,
  instrument: Instrument,
): Extract<AccountEvent, { kind: "fill" }> | null {
  const qtyLots = lotsOf(instrument, wire.l, "l");
  if (qtyLots === 0) return null;
  // CALCULATED is a liquidation: it fills like a trade.
  if (!FILL_WORDS.has(wire.x)) throw new WireFault("x", "is not a known word of a fill");
  if (!isPositive(wire.L)) throw new WireFault("L", "is not a price");
  if (!isPositive(wire.t)) throw new WireFault("t", "is not a trade id");
  const fee = wire.N !== null && wire.n !== null ? { amount: wire.n, asset: wire.N } : null;
  const isLiquidation = wire.x === "CALCULATED" || wire.c.startsWith("autoclose-");
  return {
    kind: "fill",
    order,
    qtyLots,
    price: wire.L,
    fee,
    tradeId: tradeIdOf(wire.s, wire.t),
    ...(isLiquidation ? { isLiquidation } : {}),
  };
}

function isPositive(text: string): boolean {
  return /[1-9]/.test(text) && !text.startsWith("-");
}

// ---------------------------------------------------------------- positions

/**
 * One row per symbol and position side; null when it is flat. What the event does not carry is null, but
 * for the leverage, which changes by an event of its own: the liquidation price moved with the position,
 * and the old one would mislead.
 */
/** Of a contract that is not listed. Null for a flat row. */
export function uncountedUpdate(wire: VenuetwoWirePositionUpdate, tsVenueMs: number): VenuePosition | null {
  const { s: symbol, pa: positionAmt, ps: positionSide, ep: entryPrice } = wire;
  return uncounted({ symbol, positionAmt, positionSide, entryPrice, updateTime: tsVenueMs });
}

export function normalizePositionUpdate(
  wire: VenuetwoWirePositionUpdate,
  instrument: Instrument,
  tsVenueMs: number,
  leverageBefore: number | null,
): VenuePosition | null {
  return normalizePosition(
    {
      symbol: wire.s,
      positionAmt: wire.pa,
      entryPrice: wire.ep,
      markPrice: null,
      unRealizedProfit: wire.up,
      liquidationPrice: null,
      leverage: leverageBefore === null ? null : String(leverageBefore),
      marginType: wire.mt,
      maxNotionalValue: null,
      isolatedMargin: wire.iw,
      positionSide: wire.ps,
      updateTime: tsVenueMs,
    },
    instrument,
  );
}
