/**
 * Wire market data → domain: trades, ticker fields, instruments' contexts. Pure but for the ticker
 * it is handed. (Accounts and orders: account/reader.ts, orders.ts.)
 */
import { parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Side } from "../../../engine/domain/order.js";
import type { Ticker } from "../../../engine/market/ticker.js";
import type { VenueoneWireContext, VenueoneWireTrade } from "./wire.js";

const HOUR_MS = 3_600_000;
const FUNDING_INTERVAL_HOURS = 1;

export interface Trade {
  readonly instrument: Instrument;
  /** Of the aggressor. */
  readonly side: Side;
  readonly priceTicks: number;
  readonly qtyLots: number;
  /** Unique with symbol and venue time. */
  readonly tradeId: string;
  readonly tsVenueMs: number;
  readonly tsRecvNs: number;
}

/** Null means a number finer than the instrument's (protocol drift). */
export function normalizeTrade(wire: VenueoneWireTrade, instrument: Instrument, tsRecvNs: number): Trade | null {
  const priceTicks = parseScaled(wire.px, instrument.priceDecimals);
  const qtyLots = parseScaled(wire.sz, instrument.qtyDecimals);
  if (!(priceTicks > 0) || !(qtyLots > 0)) return null;
  return {
    instrument,
    side: wire.side === "B" ? "BUY" : "SELL",
    priceTicks,
    qtyLots,
    tradeId: String(wire.tid),
    tsVenueMs: wire.time,
    tsRecvNs,
  };
}

/** Fundings are paid on the whole UTC hour; the venue's own nextFundingTime was measured to be the previous one. */
export function nextFundingMs(nowVenueMs: number): number {
  return (Math.floor(nowVenueMs / HOUR_MS) + 1) * HOUR_MS;
}

/** The context carries no time of its own: `nowVenueMs` is ours by the venue's clock. */
export function applyContext(ticker: Ticker, wire: VenueoneWireContext, nowVenueMs: number, tsRecvNs: number): void {
  ticker.markPrice = wire.markPx;
  // Without a mid (empty book, delisted) the last trade is the last price.
  if (wire.midPx !== null) ticker.lastPrice = wire.midPx;
  ticker.indexPrice = wire.oraclePx;
  ticker.prevDayPrice = wire.prevDayPx;
  ticker.volume24h = wire.dayNtlVlm;
  if (wire.dayBaseVlm !== null) ticker.volumeBase = wire.dayBaseVlm;
  ticker.fundingRate = wire.funding;
  ticker.openInterest = wire.openInterest;
  ticker.nextFundingTime = nextFundingMs(nowVenueMs);
  ticker.fundingIntervalHours = FUNDING_INTERVAL_HOURS;
  ticker.stamp(nowVenueMs, tsRecvNs);
}

/** Serves as last price only while the venue gives no mid. */
export function applyLastTrade(ticker: Ticker, wire: VenueoneWireTrade, hasMid: boolean, tsRecvNs: number): void {
  if (hasMid) return;
  ticker.lastPrice = wire.px;
  ticker.stamp(wire.time, tsRecvNs);
}
