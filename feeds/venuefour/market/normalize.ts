/** Wire market data → domain: trades and ticker fields. Pure but for the ticker it is handed. */
import { parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Side } from "../../../engine/domain/order.js";
import type { Ticker } from "../../../engine/market/ticker.js";
import type { VenuefourTradeSide, VenuefourWirePrice, VenuefourWireTrade } from "./wire.js";

const HOUR_MS = 3_600_000;
const FUNDING_INTERVAL_HOURS = 1;

export interface Trade {
  /** Of the aggressor. */
  readonly side: Side;
  readonly priceTicks: number;
  readonly qtyLots: number;
}

/** Null means a number finer than the instrument's (protocol drift). */
export function normalizeTrade(wire: VenuefourWireTrade, instrument: Instrument): Trade | null {
  const priceTicks = parseScaled(wire.p, instrument.priceDecimals);
  const qtyLots = parseScaled(wire.a, instrument.qtyDecimals);
  if (!(priceTicks > 0) || !(qtyLots > 0)) return null;
  return { side: aggressorSide(wire.d), priceTicks, qtyLots };
}

/** Rows are the taker's: opening a long and closing a short are buys. */
function aggressorSide(side: VenuefourTradeSide): Side {
  return side === "open_long" || side === "close_short" ? "BUY" : "SELL";
}

/** Funding is paid on the whole UTC hour; the venue gives no time. */
export function nextFundingMs(nowVenueMs: number): number {
  return (Math.floor(nowVenueMs / HOUR_MS) + 1) * HOUR_MS;
}

/**
 * `hasTrade`: a trade has been seen, and its price is the last one; until then the mid takes its place, as the row has
 * none. `nowVenueMs` is ours by the venue's clock: a row may be resent long after its time.
 */
export function applyPrice(
  ticker: Ticker,
  wire: VenuefourWirePrice,
  hasTrade: boolean,
  nowVenueMs: number,
  tsRecvNs: number,
): void {
  ticker.markPrice = wire.mark ?? ticker.markPrice;
  ticker.indexPrice = wire.oracle ?? ticker.indexPrice;
  if (!hasTrade) ticker.lastPrice = wire.mid ?? ticker.lastPrice;
  ticker.prevDayPrice = wire.yesterday_price ?? ticker.prevDayPrice;
  ticker.volume24h = wire.volume_24h ?? ticker.volume24h;
  ticker.openInterest = wire.open_interest ?? ticker.openInterest;
  // What nextFundingTime will pay; `funding` is what the past hour paid.
  ticker.fundingRate = wire.next_funding ?? wire.funding ?? ticker.fundingRate;
  ticker.nextFundingTime = nextFundingMs(nowVenueMs);
  ticker.fundingIntervalHours = FUNDING_INTERVAL_HOURS;
  ticker.stamp(wire.timestamp, tsRecvNs);
}

export function applyLastTrade(ticker: Ticker, price: string, tsVenueMs: number, tsRecvNs: number): void {
  ticker.lastPrice = price;
  ticker.stamp(tsVenueMs, tsRecvNs);
}
