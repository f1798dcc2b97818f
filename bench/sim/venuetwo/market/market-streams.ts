/**
 * Market streams, fact sheet 6.2: each name is produced at its own speed, only while somebody listens. One timer counts
 * in units of 50 ms; bookTicker follows each change of the top at once.
 */
import { priceText, qtyText } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimFill, SimInstrument, SimOrder, SimSide } from "../../core/model/types.js";
import type { AggregateTape } from "../records/aggregate-tape.js";
import { DepthDiff } from "./depth-diff.js";
import {
  INTERVALS,
  klineEvent,
  markPriceEvent,
  miniTickerEvent,
  printAggregate,
  printLevels,
  tickerEvent,
} from "./market-view.js";
import type { Topics } from "../records/topics.js";

/** Unit of all speeds; the venue calls `onTick` at this interval. */
export const TICK_MS = 50;
/** Speeds in ticks. */
const EVERY = {
  depth100: 2,
  depth250: 5,
  depth500: 10,
  aggTrade: 2,
  kline: 5,
  ticker: 10,
  second: 20,
  threeSeconds: 60,
} as const;
/** What streams are called: behind the symbol in small letters, or of all symbols. */
const NAMES = {
  depth: "@depth",
  depth100: "@depth@100ms",
  depth500: "@depth@500ms",
  bookTicker: "@bookTicker",
  aggTrade: "@aggTrade",
  markPrice: "@markPrice",
  markPriceFast: "@markPrice@1s",
  ticker: "@ticker",
  miniTicker: "@miniTicker",
  kline: "@kline_",
  forceOrder: "@forceOrder",
  allBookTickers: "!bookTicker",
  allForceOrders: "!forceOrder@arr",
  allMarkPrices: "!markPrice@arr",
  allMarkPricesFast: "!markPrice@arr@1s",
  allTickers: "!ticker@arr",
  allMiniTickers: "!miniTicker@arr",
} as const;
/** @testonly What README.md lists. */
export const STREAM_NAMES: readonly string[] = Object.values(NAMES);
const DIFF_SPEEDS = [
  { suffix: NAMES.depth100, every: EVERY.depth100 },
  { suffix: NAMES.depth, every: EVERY.depth250 },
  { suffix: NAMES.depth500, every: EVERY.depth500 },
] as const;
const PARTIAL = /^([^@]+)@depth(5|10|20)(@100ms|@500ms)?$/;
const KLINE = /^([^@]+)@kline_(\w+)$/;

interface SymbolStreams {
  readonly instrument: SimInstrument;
  readonly lower: string;
  /** One per speed; slow ones exist from their first subscription on. */
  readonly diffs: (DepthDiff | null)[];
  top: string;
  lastTickerId: number;
  partialSeq: number;
}

export class MarketStreams {
  readonly #exchange: SimExchange;
  readonly #topics: Topics;
  readonly #aggregates: ReadonlyMap<string, AggregateTape>;
  readonly #symbols = new Map<string, SymbolStreams>();
  readonly #byLower = new Map<string, SymbolStreams>();
  readonly #partialChains = new Map<string, number>();
  #tick = 0;

  constructor(exchange: SimExchange, topics: Topics, aggregates: ReadonlyMap<string, AggregateTape>) {
    this.#exchange = exchange;
    this.#topics = topics;
    this.#aggregates = aggregates;
    for (const instrument of exchange.instruments.values()) {
      const { symbol } = instrument;
      const streams: SymbolStreams = {
        instrument,
        lower: symbol.toLowerCase(),
        diffs: [new DepthDiff(instrument, exchange.market.seq(symbol)), null, null],
        top: "",
        lastTickerId: 0,
        partialSeq: exchange.market.seq(symbol),
      };
      this.#symbols.set(symbol, streams);
      this.#byLower.set(streams.lower, streams);
    }
  }

  onLevel(symbol: string, side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void {
    const streams = this.#symbols.get(symbol);
    if (streams === undefined) return;
    for (const diff of streams.diffs) diff?.add(side, priceTicks, qtyLots, seq, tsMs);
    const name = `${streams.lower}${NAMES.bookTicker}`;
    if (this.#topics.wanted(name) || this.#topics.wanted(NAMES.allBookTickers))
      this.#bookTicker(streams, name, seq, tsMs);
  }

  onLiquidation(order: SimOrder, fill: SimFill): void {
    const streams = this.#symbols.get(order.symbol);
    if (streams === undefined) return;
    const { instrument } = streams;
    const event = {
      e: "forceOrder",
      E: this.#exchange.nowMs(),
      o: {
        s: order.symbol,
        S: order.side,
        o: "LIMIT",
        f: "IOC",
        q: qtyText(instrument, order.qtyLots),
        p: priceText(instrument, fill.priceTicks),
        ap: priceText(instrument, fill.priceTicks),
        X: order.status,
        l: qtyText(instrument, fill.qtyLots),
        z: qtyText(instrument, order.filledLots),
        T: fill.tsMs,
      },
    };
    this.#topics.publish(`${streams.lower}${NAMES.forceOrder}`, "market", event, false);
    this.#topics.publish(NAMES.allForceOrders, "market", event, false);
  }

  /** Called when a name gets a listener: slow diff chains begin with their first listener. */
  onWanted(name: string): void {
    const at = name.indexOf("@");
    const streams = this.#byLower.get(name.slice(0, at));
    if (streams === undefined) return;
    const index = DIFF_SPEEDS.findIndex((speed) => name.slice(at) === speed.suffix);
    if (index > 0 && streams.diffs[index] === null)
      streams.diffs[index] = new DepthDiff(streams.instrument, this.#exchange.market.seq(streams.instrument.symbol));
  }

  #bookTicker(streams: SymbolStreams, name: string, seq: number, tsMs: number): void {
    const { instrument } = streams;
    const bid = this.#exchange.market.bestBid(instrument.symbol);
    const ask = this.#exchange.market.bestAsk(instrument.symbol);
    if (bid === null || ask === null) return;
    const top = `${bid.priceTicks}/${bid.qtyLots}/${ask.priceTicks}/${ask.qtyLots}`;
    if (top === streams.top) return;
    streams.top = top;
    const event = {
      e: "bookTicker",
      u: seq,
      s: instrument.symbol,
      b: priceText(instrument, bid.priceTicks),
      B: qtyText(instrument, bid.qtyLots),
      a: priceText(instrument, ask.priceTicks),
      A: qtyText(instrument, ask.qtyLots),
      T: tsMs,
      E: this.#exchange.nowMs(),
    };
    this.#topics.publish(name, "market", event, false);
    this.#topics.publish(NAMES.allBookTickers, "market", event, false);
  }

  onTick(): void {
    this.#tick++;
    const nowMs = this.#exchange.nowMs();
    for (const streams of this.#symbols.values()) this.#depth(streams, nowMs);
    if (this.#due(EVERY.aggTrade)) this.#aggTrades(nowMs);
    for (const name of this.#topics.names) this.#onName(name, nowMs);
    if (this.#due(EVERY.second)) {
      this.#arrays(nowMs);
    }
    if (this.#due(EVERY.threeSeconds)) this.#publishMarks(NAMES.allMarkPrices, nowMs);
  }

  #due(every: number): boolean {
    return this.#tick % every === 0;
  }

  #depth(streams: SymbolStreams, nowMs: number): void {
    for (const [index, speed] of DIFF_SPEEDS.entries()) {
      const diff = streams.diffs[index];
      if (diff === null || diff === undefined || !this.#due(speed.every)) continue;
      const event = diff.take(nowMs);
      if (event !== null) this.#topics.publish(`${streams.lower}${speed.suffix}`, "market", event, true);
    }
  }

  #aggTrades(nowMs: number): void {
    for (const [symbol, tape] of this.#aggregates) {
      const streams = this.#symbols.get(symbol);
      for (const row of tape.drain()) {
        if (streams === undefined || !this.#topics.wanted(`${streams.lower}${NAMES.aggTrade}`)) continue;
        const event = { e: "aggTrade", E: nowMs, s: symbol, ...printAggregate(streams.instrument, row) };
        this.#topics.publish(`${streams.lower}${NAMES.aggTrade}`, "market", event, false);
      }
    }
  }

  /** Everything that is produced per wanted name. */
  #onName(name: string, nowMs: number): void {
    const at = name.indexOf("@");
    const streams = this.#byLower.get(name.slice(0, at));
    if (streams === undefined) return;
    const { instrument } = streams;
    const kind = name.slice(at);
    if (
      kind === NAMES.markPriceFast ? this.#due(EVERY.second) : kind === NAMES.markPrice && this.#due(EVERY.threeSeconds)
    ) {
      this.#topics.publish(name, "market", markPriceEvent(this.#exchange.market.mark(instrument.symbol), nowMs), false);
    } else if (kind === NAMES.ticker && this.#due(EVERY.ticker)) {
      this.#topics.publish(
        name,
        "market",
        tickerEvent(instrument, this.#exchange.market.ticker(instrument.symbol), nowMs),
        false,
      );
    } else if (kind === NAMES.miniTicker && this.#due(EVERY.ticker)) {
      this.#topics.publish(
        name,
        "market",
        miniTickerEvent(instrument, this.#exchange.market.ticker(instrument.symbol), nowMs),
        false,
      );
    } else if (kind.startsWith(NAMES.kline) && this.#due(EVERY.kline)) this.#kline(name, streams, nowMs);
    else if (kind.startsWith(NAMES.depth)) this.#partial(name, streams, nowMs);
  }

  #kline(name: string, streams: SymbolStreams, nowMs: number): void {
    const interval = KLINE.exec(name)?.[2] ?? "";
    const intervalMs = INTERVALS.get(interval);
    if (intervalMs === undefined) return;
    const candles = this.#exchange.market.candles(streams.instrument.symbol, intervalMs);
    const running = candles[candles.length - 1];
    if (running !== undefined)
      this.#topics.publish(name, "market", klineEvent(streams.instrument, running, interval, nowMs), false);
  }

  /** Whole top levels in the frame of a depth update: to replace, not to merge. */
  #partial(name: string, streams: SymbolStreams, nowMs: number): void {
    const match = PARTIAL.exec(name);
    if (match === null) return;
    const every = match[3] === "@100ms" ? EVERY.depth100 : match[3] === "@500ms" ? EVERY.depth500 : EVERY.depth250;
    if (!this.#due(every)) return;
    const { instrument } = streams;
    const book = this.#exchange.market.book(instrument.symbol, Number(match[2]));
    const previous = this.#partialChains.get(name) ?? streams.partialSeq;
    if (book.seq === previous) return;
    this.#partialChains.set(name, book.seq);
    const event = {
      e: "depthUpdate",
      E: nowMs,
      T: book.tsMs,
      s: instrument.symbol,
      U: previous + 1,
      u: book.seq,
      pu: previous,
      b: printLevels(instrument, book.bids),
      a: printLevels(instrument, book.asks),
    };
    this.#topics.publish(name, "market", event, true);
  }

  #arrays(nowMs: number): void {
    this.#publishMarks(NAMES.allMarkPricesFast, nowMs);
    const wantsTicker = this.#topics.wanted(NAMES.allTickers);
    const wantsMini = this.#topics.wanted(NAMES.allMiniTickers);
    if (!wantsTicker && !wantsMini) return;
    const changed = [...this.#symbols.values()].flatMap((streams) => {
      const ticker = this.#exchange.market.ticker(streams.instrument.symbol);
      if (ticker.lastTradeId === streams.lastTickerId) return [];
      streams.lastTickerId = ticker.lastTradeId;
      return [{ instrument: streams.instrument, ticker }];
    });
    if (changed.length === 0) return;
    this.#topics.publish(
      NAMES.allTickers,
      "market",
      changed.map(({ instrument, ticker }) => tickerEvent(instrument, ticker, nowMs)),
      false,
    );
    this.#topics.publish(
      NAMES.allMiniTickers,
      "market",
      changed.map(({ instrument, ticker }) => miniTickerEvent(instrument, ticker, nowMs)),
      false,
    );
  }

  #publishMarks(name: string, nowMs: number): void {
    if (!this.#topics.wanted(name)) return;
    this.#topics.publish(
      name,
      "market",
      [...this.#symbols.keys()].map((symbol) => markPriceEvent(this.#exchange.market.mark(symbol), nowMs)),
      false,
    );
  }
}
