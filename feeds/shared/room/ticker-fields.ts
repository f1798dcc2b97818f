/**
 * What the tickers of all venues have in common: Market → fields of interface spec 2.8, in canonical quoting: a contract
 * of 1000 PEPE prints its price divided and its volume multiplied by 1000. Exact decimal text throughout.
 */
import {
  decimalPlaces,
  divideBig,
  formatScaledBig,
  isPlainDecimal,
  parseScaledBig,
  pow10Big,
  scaleText,
} from "../../../engine/domain/decimal.js";
import type { FeedState, Market } from "../../../engine/market/market.js";
import type { Ticker } from "../../../engine/market/ticker.js";

/** Fields of one ticker, the fixed ones first, those that this service adds last. */
export type TickerFields = Readonly<Record<string, string | number | null>>;
export type TickerView = (market: Market, state: FeedState, ageMs: number) => TickerFields;

/** Decimals of a derived percentage. */
const PERCENT_PLACES = 4;

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

export function commonFields(market: Market, now = lastOrMark(market.ticker)) {
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

export function addedFields(market: Market, state: FeedState, ageMs: number) {
  const hours = market.ticker.fundingIntervalHours;
  return { state, ageMs, fundingIntervalHours: hours > 0 ? hours : null };
}
