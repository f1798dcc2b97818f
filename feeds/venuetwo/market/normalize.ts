/** Wire → ticker, which is assigned in place (accounts: account/normalize-pushed.ts). */
import type { Ticker } from "../../../engine/market/ticker.js";
import type {
  VenuetwoWireMarkPrice,
  VenuetwoWirePremiumIndex,
  VenuetwoWireTicker,
  VenuetwoWireTicker24h,
} from "./wire.js";

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
