/** What the market channels of one API server show, printed from the engine's state of that moment. Changes nothing. */
import type { SimTrade } from "../../core/model/types.js";
import type { Channel } from "./channels.js";
import { isLiquidation, type VenuethreeContext } from "../orders/context.js";
import { heightAt, microseconds } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";
import { printCandle, printMarketStats, printTouch } from "./market-view.js";
import { printTrade } from "./trade-view.js";

export type FrameType = "subscribed" | "update";

export class MarketFrames {
  readonly #context: VenuethreeContext;
  /** How far the nonces of this server are below the engine's change ids. */
  readonly #nonceShift: number;

  constructor(context: VenuethreeContext, nonceShift: number) {
    this.#context = context;
    this.#nonceShift = nonceShift;
  }

  emptyTicker(market: VenuethreeMarket): Row | null {
    if (!this.#context.quirks.emptySnapshots) return null;
    return {
      channel: `ticker:${market.marketId}`,
      nonce: this.#context.exchange.market.engineSeq() - this.#nonceShift,
      ticker: { s: market.symbol, a: printTouch(null, null), b: printTouch(null, null), last_updated_at: 0 },
      timestamp: this.#context.exchange.nowMs(),
      type: "subscribed/ticker",
    };
  }

  /** Newest first, as clients that append them in reverse rely on. */
  trades(channel: Channel, market: VenuethreeMarket, trades: readonly SimTrade[], type: FrameType): Row {
    const { instrument } = market;
    const rows = (isWanted: boolean): Row[] =>
      instrument === null
        ? []
        : trades
            .filter((trade) => isLiquidation(this.#context, trade) === isWanted)
            .map((trade) => printTrade(this.#context, market, instrument, trade))
            .reverse();
    return {
      channel: channel.name,
      liquidation_trades: rows(true),
      nonce: this.#context.exchange.market.seq(market.symbol) - this.#nonceShift,
      trades: rows(false),
      type: `${type}/trade`,
    };
  }

  ticker(channel: Channel, market: VenuethreeMarket, type: FrameType): Row {
    const { exchange } = this.#context;
    const book = exchange.market.book(market.symbol, 1);
    const changedUs = microseconds(book.tsMs, book.seq);
    return {
      channel: channel.name,
      last_updated_at: changedUs,
      nonce: book.seq - this.#nonceShift,
      ticker: {
        s: market.symbol,
        a: printTouch(market.instrument, book.asks[0] ?? null),
        b: printTouch(market.instrument, book.bids[0] ?? null),
        last_updated_at: changedUs,
      },
      timestamp: exchange.nowMs(),
      type: `${type}/ticker`,
    };
  }

  /** The running candle; null before the first trade. */
  candle(channel: Channel, market: VenuethreeMarket, type: FrameType): Row | null {
    const { exchange } = this.#context;
    if (market.instrument === null) return null;
    const candles = exchange.market.candles(market.symbol, channel.intervalMs);
    const open = candles[candles.length - 1];
    if (open === undefined) return null;
    const row = printCandle(market, market.instrument, open, open.openMs);
    return { candles: [row], channel: channel.name, timestamp: exchange.nowMs(), type: `${type}/candle` };
  }

  height(type: FrameType): Row {
    const timestamp = this.#context.exchange.nowMs();
    return { channel: "height", height: heightAt(timestamp), timestamp, type: `${type}/height` };
  }

  /** Of one market or of all; null for a market that does not trade. */
  stats(channel: Channel, type: FrameType): Row | null {
    const { listing, exchange } = this.#context;
    const chosen = channel.market === null ? listing.markets : [channel.market];
    const rows: Record<string, Row> = {};
    for (const market of chosen) {
      if (market.instrument !== null)
        rows[market.marketId] = printMarketStats(this.#context, market, market.instrument);
    }
    const first = channel.market === null ? rows : rows[channel.market.marketId];
    if (first === undefined) return null;
    return { channel: channel.name, market_stats: first, timestamp: exchange.nowMs(), type: `${type}/market_stats` };
  }

  statsUpdate(name: string, stats: Row): Row {
    const timestamp = this.#context.exchange.nowMs();
    return { channel: name, market_stats: stats, timestamp, type: "update/market_stats" };
  }
}
