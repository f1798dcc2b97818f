/**
 * Market data replies built from the exchange. Invariant: a coin's book is published under strictly increasing times,
 * except after the correction of a clock far ahead. The same time always means the same levels, over REST and every
 * socket. The exchange remembers each publication, so that a test can read the true book of any published time.
 */
import { publicationMs } from "../../core/market/publication-time.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimBookSnapshot, SimInstrument, SimLevel } from "../../core/model/types.js";
import { replyTextScaled } from "../wire/decimals.js";
import { aggregateLevels, instrumentOf, type LevelRow, levelRow, markText, pxText } from "../records/rows.js";
import type { Perp } from "../records/universe.js";
import type { Venue } from "../records/venue.js";

const LEVELS_MAX = 20;
const FAST_LEVELS = 5;
const E8 = 100_000_000;
/** Levels read to find the average price of the impact notional. */
const IMPACT_LEVELS = 60;
const IMPACT_NOTIONAL_MAJOR = 20_000;
const IMPACT_NOTIONAL_OTHER = 6_000;

export interface BookView {
  readonly nSigFigs: number | null;
  readonly mantissa: number | null;
  readonly fast: boolean;
}

export class Publisher {
  readonly #exchange: SimExchange;
  readonly #shown = new Map<string, { readonly time: number; readonly seq: number }>();

  constructor(exchange: SimExchange) {
    this.#exchange = exchange;
  }

  /** One publication time for all these coins: later than any older state shown of them. */
  stamp(coins: readonly string[]): number {
    const exchange = this.#exchange;
    const nowMs = exchange.nowMs();
    let time = nowMs;
    for (const coin of coins) {
      const last = this.#shown.get(coin);
      if (last === undefined) continue;
      const earliestMs = last.seq === exchange.market.seq(coin) ? last.time : last.time + 1;
      time = Math.max(time, publicationMs(nowMs, earliestMs));
    }
    for (const coin of coins) {
      this.#shown.set(coin, { time, seq: exchange.market.seq(coin) });
      exchange.controls.rememberPublication(coin, time);
    }
    return time;
  }

  /** The `l2Book` data of a coin under a stamp. */
  book(coin: string, view: BookView, time: number): Readonly<Record<string, unknown>> {
    return bookData(this.#exchange, coin, view, time);
  }

  /** Best level of each side. */
  touch(coin: string): readonly [LevelRow | null, LevelRow | null] {
    const instrument = instrumentOf(this.#exchange, coin);
    const bid = this.#exchange.market.bestBid(coin);
    const ask = this.#exchange.market.bestAsk(coin);
    return [bid === null ? null : levelRow(instrument, bid), ask === null ? null : levelRow(instrument, ask)];
  }
}

function bookData(
  exchange: SimExchange,
  coin: string,
  view: BookView,
  time: number,
): Readonly<Record<string, unknown>> {
  const instrument = instrumentOf(exchange, coin);
  const levelMax = view.fast ? FAST_LEVELS : LEVELS_MAX;
  const book: SimBookSnapshot =
    view.nSigFigs === null ? exchange.market.book(coin, levelMax) : exchange.market.book(coin);
  const pick = (levels: readonly SimLevel[], side: "bid" | "ask"): readonly SimLevel[] =>
    view.nSigFigs === null
      ? levels.slice(0, levelMax)
      : aggregateLevels(levels, side, view.nSigFigs, view.mantissa ?? 1, levelMax);
  const bids = pick(book.bids, "bid");
  const asks = pick(book.asks, "ask");
  const bid = bids[0];
  const ask = asks[0];
  const spread =
    view.nSigFigs === null || bid === undefined || ask === undefined
      ? {}
      : { spread: pxText(instrument, ask.priceTicks - bid.priceTicks) };
  return {
    coin,
    time,
    levels: [bids.map((level) => levelRow(instrument, level)), asks.map((level) => levelRow(instrument, level))],
    ...spread,
    ...(view.fast ? { fast: true } : {}),
  };
}

/** Middle of the touch at full precision, or null when a side is empty. */
export function midText(exchange: SimExchange, coin: string): string | null {
  const bid = exchange.market.bestBid(coin);
  const ask = exchange.market.bestAsk(coin);
  if (bid === null || ask === null) return null;
  const { priceDecimals } = instrumentOf(exchange, coin);
  return replyTextScaled(BigInt(bid.priceTicks + ask.priceTicks) * 5n, priceDecimals + 1);
}

/** `allMids`: the perps; a coin without both sides shows its mark. Spot names are there too on the first dex. */
export function allMidsData(venue: Venue, spotPrices: Readonly<Record<string, string>>): Record<string, string> {
  const mids: Record<string, string> = { ...spotPrices };
  for (const perp of venue.universe.perps) {
    if (perp.isDelisted) continue;
    const instrument = instrumentOf(venue.exchange, perp.name);
    mids[perp.name] =
      midText(venue.exchange, perp.name) ?? markText(instrument, venue.exchange.market.mark(perp.name).markE8);
  }
  return mids;
}

/** The asset context of a perp; a delisted one has nulls where the live ones have prices. */
export function assetCtx(venue: Venue, perp: Perp): Readonly<Record<string, unknown>> {
  const { exchange } = venue;
  if (perp.isDelisted) {
    return {
      funding: "0.0",
      openInterest: "0.0",
      prevDayPx: "1.0",
      dayNtlVlm: "0.0",
      premium: null,
      oraclePx: "1.0",
      markPx: "1.0",
      midPx: null,
      impactPxs: null,
      dayBaseVlm: "0.0",
    };
  }
  const instrument = instrumentOf(exchange, perp.name);
  const mark = exchange.market.mark(perp.name);
  const ticker = exchange.market.ticker(perp.name);
  const impact = impactPrices(exchange, instrument);
  return {
    funding: replyTextScaled(BigInt(mark.fundingRateE8), 8),
    openInterest: replyTextScaled(BigInt(mark.openInterestLots), instrument.qtyDecimals),
    prevDayPx: pxText(instrument, ticker.openTicks),
    dayNtlVlm: replyTextScaled(ticker.quoteVolumeE12, 12),
    premium: impact === null ? null : premiumText(instrument, impact, mark.indexE8),
    oraclePx: markText(instrument, mark.indexE8),
    markPx: markText(instrument, mark.markE8),
    midPx: midText(exchange, perp.name),
    impactPxs: impact === null ? null : impact.map((ticks) => impactText(instrument, ticks)),
    dayBaseVlm: replyTextScaled(BigInt(ticker.volumeLots), instrument.qtyDecimals),
  };
}

/** Average prices (in ticks, fractional) at which the impact notional would sell and buy. */
function impactPrices(exchange: SimExchange, instrument: SimInstrument): [number, number] | null {
  const book = exchange.market.book(instrument.symbol, IMPACT_LEVELS);
  const major = instrument.symbol === "BTC" || instrument.symbol === "ETH";
  const notional = major ? IMPACT_NOTIONAL_MAJOR : IMPACT_NOTIONAL_OTHER;
  const bid = averagePrice(instrument, book.bids, notional);
  const ask = averagePrice(instrument, book.asks, notional);
  return bid === null || ask === null ? null : [bid, ask];
}

/** Returns null when the levels hold less than the notional. Floats: a statistic that never reaches an order. */
function averagePrice(instrument: SimInstrument, levels: readonly SimLevel[], notional: number): number | null {
  const unit = 10 ** -(instrument.priceDecimals + instrument.qtyDecimals);
  let left = notional;
  let lots = 0;
  for (const level of levels) {
    const value = level.priceTicks * level.qtyLots * unit;
    if (value >= left) return notional / unit / (lots + left / (level.priceTicks * unit));
    left -= value;
    lots += level.qtyLots;
  }
  return null;
}

function impactText(instrument: SimInstrument, ticks: number): string {
  return replyTextScaled(BigInt(Math.round(ticks * 10)), instrument.priceDecimals + 1);
}

function premiumText(instrument: SimInstrument, impact: readonly [number, number], indexE8: number): string {
  const oracle = (indexE8 / E8) * 10 ** instrument.priceDecimals;
  const premium = (Math.max(impact[0] - oracle, 0) - Math.max(oracle - impact[1], 0)) / oracle;
  return replyTextScaled(BigInt(Math.round(premium * 1e10)), 10);
}

/** Premium that gives this hourly rate by the venue's formula. Inside the dead band it is not determined: 0 there. */
export function premiumOfRate(rateE8: number): string {
  const eightHourE8 = rateE8 * 8;
  const interestE8 = 10_000;
  const clampE8 = 50_000;
  const premiumE8 =
    eightHourE8 > interestE8 ? eightHourE8 + clampE8 : eightHourE8 < interestE8 ? eightHourE8 - clampE8 : 0;
  return replyTextScaled(BigInt(premiumE8), 8);
}
