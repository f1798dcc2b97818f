/**
 * Wire → domain for statistics, and the arithmetic on them. Pure but for the ticker, which is assigned in place.
 * Units of the venue: funding in percent per hour, change in percent, open interest in quote units.
 */
import { formatScaledBig, isPlainDecimal, parseScaledBig, decimalPlaces } from "../../../engine/domain/decimal.js";
import { addRatio, divideRatio, formatRatio, ratio, ratioFromText } from "../../../engine/domain/decimal-ratio.js";
import type { Ticker } from "../../../engine/market/ticker.js";
import type { VenuethreeWireStats, VenuethreeWireTrade } from "./wire.js";

const HOUR_MS = 3_600_000;
const FUNDING_INTERVAL_HOURS = 1;

/** Absent fields leave what is known. `priceDecimals` are the market's, for the derived price of 24 h ago. */
export function applyStats(
  ticker: Ticker,
  wire: VenuethreeWireStats,
  priceDecimals: number,
  tsVenueMs: number,
  tsRecvNs: number,
): void {
  const lastPrice = wire.last_trade_price ?? ticker.lastPrice;
  const change24h = wire.daily_price_change ?? ticker.change24h;
  // Derived again only when one of its inputs changed.
  if (lastPrice !== ticker.lastPrice || change24h !== ticker.change24h) {
    ticker.prevDayPrice = prevDayPrice(lastPrice, change24h, priceDecimals);
  }
  ticker.markPrice = wire.mark_price ?? ticker.markPrice;
  ticker.indexPrice = wire.index_price ?? ticker.indexPrice;
  ticker.lastPrice = lastPrice;
  ticker.openInterest = wire.open_interest ?? ticker.openInterest;
  ticker.high24h = wire.daily_price_high ?? ticker.high24h;
  ticker.low24h = wire.daily_price_low ?? ticker.low24h;
  ticker.change24h = change24h;
  ticker.volume24h = wire.daily_quote_token_volume ?? ticker.volume24h;
  ticker.volumeBase = wire.daily_base_token_volume ?? ticker.volumeBase;
  if (wire.current_funding_rate !== null) ticker.fundingRate = percentToFraction(wire.current_funding_rate);
  ticker.fundingIntervalHours = FUNDING_INTERVAL_HOURS;
  ticker.nextFundingTime = nextFundingMs(tsVenueMs);
  ticker.stamp(tsVenueMs, tsRecvNs);
}

/** Funding is paid on the whole hour. */
export function nextFundingMs(nowVenueMs: number): number {
  return (Math.floor(nowVenueMs / HOUR_MS) + 1) * HOUR_MS;
}

/** `"0.0012"` percent → `"0.000012"`, exact; "" for what is no number. */
export function percentToFraction(percent: string): string {
  if (!isPlainDecimal(percent)) return "";
  const places = decimalPlaces(percent);
  const scaled = parseScaledBig(percent, places);
  return scaled === null ? "" : formatScaledBig(scaled, places + 2);
}

/**
 * last / (1 + change / 100), computed exactly and printed on the market's price grid, nearest; "" while either is
 * unknown, and for a fall of 100 % or more, which names no price.
 */
export function prevDayPrice(last: string, changePercent: string, priceDecimals: number): string {
  if (!isPlainDecimal(last) || !isPlainDecimal(changePercent)) return "";
  const factor = addRatio(ratio(1n), divideRatio(ratioFromText(changePercent), ratio(100n)));
  if (factor.num <= 0n) return "";
  return formatRatio(divideRatio(ratioFromText(last), factor), priceDecimals, "halfUp");
}

/** Oldest first in any order of the lists: by time, then by id. */
export function inOrder(trades: readonly VenuethreeWireTrade[]): readonly VenuethreeWireTrade[] {
  return [...trades].sort(
    (left, right) =>
      left.timestamp - right.timestamp ||
      left.trade_id.length - right.trade_id.length ||
      (left.trade_id < right.trade_id ? -1 : left.trade_id > right.trade_id ? 1 : 0),
  );
}
