/**
 * Market → ticker payload of interface spec 2.8, in canonical quoting: a contract of 1000 PEPE prints its price
 * divided and its volume multiplied by 1000. Exact decimal text throughout.
 */
import {
  decimalPlaces,
  divideBig,
  formatScaledBig,
  isPlainDecimal,
  parseScaledBig,
  pow10Big,
} from "../../engine/domain/decimal.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import type { Ticker } from "../../engine/market/ticker.js";
import type { VenuefourTicker, VenueoneTicker, VenuethreeTicker, VenuetwoTicker } from "../../schemas/ticker.js";

/** Decimals of a derived percentage. */
const PERCENT_PLACES = 4;

/** `text` × 10^exponent; null when the venue has not sent it. */
export function scaleText(text: string, exponent: number): string | null {
  if (!isPlainDecimal(text)) return null;
  const places = decimalPlaces(text);
  const scaled = parseScaledBig(text, places);
  return scaled === null ? null : formatScaledBig(scaled, places - exponent);
}

interface Change {
  readonly percent: string | null;
  readonly absolute: string | null;
}

/** From the venue where it prints the change, else from its own prices: `now` is of the kind of `prevDayPrice`. */
function changeOf(ticker: Ticker, now: string, exponent: number): Change {
  const derived = deriveChange(now, ticker.prevDayPrice);
  return {
    percent: percentText(ticker.change24h) ?? derived.percent,
    absolute:
      scaleText(ticker.change24hAbs, -exponent) ??
      (derived.absolute === null ? null : scaleText(derived.absolute, -exponent)),
  };
}

/** As a derived one: nearest at four decimals. Null when the venue has not sent it. */
function percentText(text: string): string | null {
  if (!isPlainDecimal(text)) return null;
  const places = decimalPlaces(text);
  const scaled = parseScaledBig(text, places);
  if (scaled === null || places <= PERCENT_PLACES) return scaled === null ? null : formatScaledBig(scaled, places);
  return formatScaledBig(divideBig(scaled, pow10Big(places - PERCENT_PLACES), "halfUp"), PERCENT_PLACES);
}

export function deriveChange(last: string, previous: string): Change {
  if (!isPlainDecimal(last) || !isPlainDecimal(previous)) return { percent: null, absolute: null };
  const places = Math.max(decimalPlaces(last), decimalPlaces(previous));
  const now = parseScaledBig(last, places);
  const before = parseScaledBig(previous, places);
  if (now === null || before === null) return { percent: null, absolute: null };
  const difference = now - before;
  return {
    // Nearest: a percentage for people, never part of a price.
    percent:
      before === 0n
        ? null
        : formatScaledBig(divideBig(difference * 100n * pow10Big(PERCENT_PLACES), before, "halfUp"), PERCENT_PLACES),
    absolute: formatScaledBig(difference, places),
  };
}

function lastOrMark({ lastPrice, markPrice }: Ticker): string {
  return lastPrice === "" ? markPrice : lastPrice;
}

function commonPart(market: Market, now = lastOrMark(market.ticker)) {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  const change = changeOf(ticker, now, exponent);
  return {
    symbol: instrument.symbol,
    markPrice: scaleText(ticker.markPrice, -exponent),
    lastPrice: scaleText(ticker.lastPrice, -exponent),
    prevDayPrice: scaleText(ticker.prevDayPrice, -exponent),
    change24h: change.percent,
    change24hAbs: change.absolute,
    // A value in the quote asset: the multiplier cancels out.
    volume24h: scaleText(ticker.volume24h, 0),
    timestamp: Math.max(0, ticker.tsVenueMs),
  };
}

function additions(market: Market, state: FeedState, ageMs: number) {
  const hours = market.ticker.fundingIntervalHours;
  return { state, ageMs, fundingIntervalHours: hours > 0 ? hours : null };
}

export function venueonePayload(market: Market, state: FeedState, ageMs: number): VenueoneTicker {
  const { ticker, instrument } = market;
  return {
    ...commonPart(market),
    fundingRate: scaleText(ticker.fundingRate, 0),
    openInterest: scaleText(ticker.openInterest, instrument.multiplierExp10),
    ...additions(market, state, ageMs),
  };
}

export function venuetwoPayload(market: Market, state: FeedState, ageMs: number): VenuetwoTicker {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  return {
    ...commonPart(market),
    asterSymbol: instrument.nativeSymbol,
    indexPrice: scaleText(ticker.indexPrice, -exponent),
    openPrice: scaleText(ticker.openPrice, -exponent),
    high24h: scaleText(ticker.high24h, -exponent),
    low24h: scaleText(ticker.low24h, -exponent),
    fundingRate: scaleText(ticker.fundingRate, 0),
    nextFundingTime: ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null,
    volumeBase: scaleText(ticker.volumeBase, exponent),
    ...additions(market, state, ageMs),
  };
}

const VENUETHREE_NOTE = "markPrice is the last trade price; the venue's own mark is venueMarkPrice.";

/** Interface spec 2.8: on venuethree the mark price is the last trade price. */
export function venuethreePayload(market: Market, state: FeedState, ageMs: number): VenuethreeTicker {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  const common = commonPart(market);
  return {
    ...common,
    markPrice: common.lastPrice,
    marketId: instrument.nativeId,
    indexPrice: scaleText(ticker.indexPrice, -exponent),
    high24h: scaleText(ticker.high24h, -exponent),
    low24h: scaleText(ticker.low24h, -exponent),
    note: VENUETHREE_NOTE,
    venueMarkPrice: scaleText(ticker.markPrice, -exponent),
    fundingRate: scaleText(ticker.fundingRate, 0),
    nextFundingTime: ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null,
    // A value in the quote asset: the multiplier cancels out.
    openInterest: scaleText(ticker.openInterest, 0),
    ...additions(market, state, ageMs),
  };
}

export function venuefourPayload(market: Market, state: FeedState, ageMs: number): VenuefourTicker {
  const { ticker, instrument } = market;
  const exponent = instrument.multiplierExp10;
  return {
    // Its price of yesterday is the oracle's, and so is the one it is compared with.
    ...commonPart(market, ticker.indexPrice),
    indexPrice: scaleText(ticker.indexPrice, -exponent),
    fundingRate: scaleText(ticker.fundingRate, 0),
    nextFundingTime: ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null,
    // Without the multiplier: it would cancel out in USD, and which unit this is the documents do not agree.
    openInterest: scaleText(ticker.openInterest, 0),
    ...additions(market, state, ageMs),
  };
}
