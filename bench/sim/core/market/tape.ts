/**
 * Public prints of one symbol and what venues derive from them: one-minute candles (backfilled from a seeded
 * backward walk, so that a fresh venue has a past) and the rolling 24 h ticker.
 */
import type { Random } from "../../../../engine/domain/random.js";
import { gaussian } from "./factor-model.js";
import { notionalE12 } from "../model/fixed.js";
import { keepBounded } from "../model/state.js";
import type { SimCandle, SimInstrument, SimTicker, SimTrade } from "../model/types.js";

const TRADES_MAX = 10_000;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
const CANDLES_MAX = 3000;
const BACKFILL_MINUTES = 1500;
/** Typical one-minute move of the backfill. */
const BACKFILL_MINUTE_VOLATILITY = 0.0006;
const BACKFILL_MINUTE_NOTIONAL = 250_000;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Candle = Mutable<SimCandle>;

/** One-minute series with lazily built past. */
export class CandleSeries {
  readonly #candles: Candle[] = [];

  get candles(): readonly SimCandle[] {
    return this.#candles;
  }

  /** Writes the past backward from `priceTicks`; trade ids descend from `firstTradeId`. */
  backfill(
    random: Random,
    nowMs: number,
    priceTicks: number,
    lotsPerMinute: number,
    firstTradeId: number,
    instrument: SimInstrument,
  ): void {
    let close = priceTicks;
    let tradeId = firstTradeId - 1;
    const past: Candle[] = [];
    const currentMinute = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    for (let back = 1; back <= BACKFILL_MINUTES; back++) {
      const openMs = currentMinute - back * MINUTE_MS;
      const open = Math.max(1, Math.round(close * Math.exp(BACKFILL_MINUTE_VOLATILITY * gaussian(random))));
      const high = Math.round(Math.max(open, close) * (1 + 0.0003 * random.next()));
      const low = Math.max(1, Math.round(Math.min(open, close) * (1 - 0.0003 * random.next())));
      const tradeCount = lotsPerMinute > 0 ? 1 + Math.floor(random.next() * 120) : 0;
      const volumeLots = lotsPerMinute > 0 ? Math.max(1, Math.round(lotsPerMinute * (0.3 + 1.4 * random.next()))) : 0;
      const takerBuyLots = Math.floor(volumeLots * (0.3 + 0.4 * random.next()));
      past.push({
        openMs,
        closeMs: openMs + MINUTE_MS - 1,
        openTicks: open,
        highTicks: high,
        lowTicks: low,
        closeTicks: close,
        volumeLots,
        quoteVolumeE12: notionalE12(instrument, Math.round((open + close) / 2), volumeLots),
        takerBuyLots,
        takerBuyQuoteE12: notionalE12(instrument, Math.round((open + close) / 2), takerBuyLots),
        tradeCount,
        firstTradeId: tradeId - tradeCount + 1,
        lastTradeId: tradeId,
      });
      tradeId -= tradeCount;
      close = open;
    }
    this.#candles.push(...past.reverse());
  }

  add(tsMs: number, priceTicks: number, qtyLots: number, quoteE12: bigint, takerBuys: boolean, tradeId: number): void {
    const openMs = Math.floor(tsMs / MINUTE_MS) * MINUTE_MS;
    let candle = this.#candles[this.#candles.length - 1];
    if (candle === undefined || candle.openMs < openMs) {
      // The venues open a minute at the last close; the first print then moves it.
      const openTicks = candle?.closeTicks ?? priceTicks;
      candle = {
        openMs,
        closeMs: openMs + MINUTE_MS - 1,
        openTicks,
        highTicks: openTicks,
        lowTicks: openTicks,
        closeTicks: openTicks,
        volumeLots: 0,
        quoteVolumeE12: 0n,
        takerBuyLots: 0,
        takerBuyQuoteE12: 0n,
        tradeCount: 0,
        firstTradeId: tradeId,
        lastTradeId: tradeId,
      };
      keepBounded(this.#candles, candle, CANDLES_MAX);
    }
    candle.highTicks = Math.max(candle.highTicks, priceTicks);
    candle.lowTicks = Math.min(candle.lowTicks, priceTicks);
    candle.closeTicks = priceTicks;
    if (qtyLots === 0) return;
    candle.volumeLots += qtyLots;
    candle.quoteVolumeE12 += quoteE12;
    if (takerBuys) {
      candle.takerBuyLots += qtyLots;
      candle.takerBuyQuoteE12 += quoteE12;
    }
    candle.tradeCount++;
    candle.lastTradeId = tradeId;
  }

  /** Joins minutes into candles of `intervalMs`, aligned to the epoch; newest last. */
  joined(intervalMs: number, countMax = 1500): SimCandle[] {
    const joined: Candle[] = [];
    for (let index = this.#candles.length - 1; index >= 0; index--) {
      const minute = this.#candles[index];
      if (minute === undefined) break;
      const openMs = Math.floor(minute.openMs / intervalMs) * intervalMs;
      const running = joined[joined.length - 1];
      if (running?.openMs === openMs) {
        running.openTicks = minute.openTicks;
        running.highTicks = Math.max(running.highTicks, minute.highTicks);
        running.lowTicks = Math.min(running.lowTicks, minute.lowTicks);
        running.volumeLots += minute.volumeLots;
        running.quoteVolumeE12 += minute.quoteVolumeE12;
        running.takerBuyLots += minute.takerBuyLots;
        running.takerBuyQuoteE12 += minute.takerBuyQuoteE12;
        running.tradeCount += minute.tradeCount;
        running.firstTradeId = minute.firstTradeId;
      } else {
        if (joined.length >= countMax) break;
        joined.push({ ...minute, openMs, closeMs: openMs + intervalMs - 1 });
      }
    }
    return joined.reverse();
  }
}

interface DaySums {
  readonly minute: number;
  high: number;
  low: number;
  volume: number;
  quote: bigint;
  count: number;
  open: SimCandle | null;
}

export class Tape {
  readonly trades: SimTrade[] = [];
  readonly last = new CandleSeries();
  readonly #instrument: SimInstrument;
  readonly #firstTradeId: number;
  #tradeId: number;
  #lastTicks: number;
  #lastLots = 0;
  /** Sums of the whole minutes of the last day, rebuilt once a minute. */
  #daySums: DaySums | null = null;

  constructor(instrument: SimInstrument, random: Random, nowMs: number, priceTicks: number) {
    this.#instrument = instrument;
    this.#firstTradeId = 1_000_000 + Math.floor(random.next() * 1_000_000);
    this.#tradeId = this.#firstTradeId;
    this.#lastTicks = priceTicks;
    const lotsPerMinute = Math.max(
      1,
      Math.round((BACKFILL_MINUTE_NOTIONAL / priceTicks) * 10 ** (instrument.priceDecimals + instrument.qtyDecimals)),
    );
    this.last.backfill(random, nowMs, priceTicks, lotsPerMinute, this.#firstTradeId, instrument);
  }

  get lastTicks(): number {
    return this.#lastTicks;
  }

  nextTradeId(): number {
    return this.#tradeId++;
  }

  add(trade: SimTrade): void {
    keepBounded(this.trades, trade, TRADES_MAX);
    this.#lastTicks = trade.priceTicks;
    this.#lastLots = trade.qtyLots;
    const quote = notionalE12(this.#instrument, trade.priceTicks, trade.qtyLots);
    this.last.add(trade.tsMs, trade.priceTicks, trade.qtyLots, quote, trade.takerSide === "BUY", trade.tradeId);
  }

  ticker(nowMs: number): SimTicker {
    const day = this.#closedDay(nowMs);
    const candles = this.last.candles;
    const newest = candles[candles.length - 1];
    const running = newest !== undefined && newest.openMs >= day.minute ? newest : null;
    const open = day.open ?? running;
    return {
      symbol: this.#instrument.symbol,
      lastTicks: this.#lastTicks,
      lastLots: this.#lastLots,
      openTicks: open?.openTicks ?? this.#lastTicks,
      highTicks: Math.max(day.high, running?.highTicks ?? 0, this.#lastTicks),
      lowTicks: Math.min(day.low, running?.lowTicks ?? Number.MAX_SAFE_INTEGER, this.#lastTicks),
      volumeLots: day.volume + (running?.volumeLots ?? 0),
      quoteVolumeE12: day.quote + (running?.quoteVolumeE12 ?? 0n),
      firstTradeId: open?.firstTradeId ?? this.#firstTradeId,
      lastTradeId: this.#tradeId - 1,
      tradeCount: day.count + (running?.tradeCount ?? 0),
      openMs: day.minute - (DAY_MINUTES - 1) * MINUTE_MS,
      closeMs: nowMs,
    };
  }

  #closedDay(nowMs: number): DaySums {
    const minute = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    if (this.#daySums?.minute === minute) return this.#daySums;
    const sums: DaySums = { minute, high: 0, low: Number.MAX_SAFE_INTEGER, volume: 0, quote: 0n, count: 0, open: null };
    const fromMs = minute - (DAY_MINUTES - 1) * MINUTE_MS;
    for (const candle of this.last.candles) {
      if (candle.openMs < fromMs || candle.openMs >= minute) continue;
      sums.open ??= candle;
      sums.high = Math.max(sums.high, candle.highTicks);
      sums.low = Math.min(sums.low, candle.lowTicks);
      sums.volume += candle.volumeLots;
      sums.quote += candle.quoteVolumeE12;
      sums.count += candle.tradeCount;
    }
    this.#daySums = sums;
    return sums;
  }
}
