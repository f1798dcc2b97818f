/**
 * One of the servers behind the venue's address: its own offsets and batches, and the streams of the connections it
 * holds. Frames of one channel go to all its listeners alike; a channel without listeners costs nothing.
 */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimSide, SimTrade } from "../../core/model/types.js";
import type { SimSocket } from "../../core/server/server-types.js";
import { TopicBoard } from "../../core/server/topic-board.js";
import { BookFeed, emptyBook } from "./book-feed.js";
import { type Channel, type ChannelReading, readChannel } from "./channels.js";
import { isLiquidation, type VenuethreeContext } from "../orders/context.js";
import { heightAt, microseconds } from "../wire/ids.js";
import { printJson, type Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";
import { printCandle, printMarketStats, printTouch } from "./market-view.js";
import { printTrade } from "./trade-view.js";

/** A subscription to trades starts with this many. */
const TRADES_REPEATED = 50;
/** Trades of one market waiting for the next batch; overflow drops the oldest. */
const WAITING_TRADES_MAX = 1_000;

export interface ApiServerOptions {
  readonly context: VenuethreeContext;
  readonly random: Random;
  /** What the nonces of this server lie below the engine's change ids. */
  readonly nonceShift: number;
  /** Pulses its batches lag behind those of the first server. */
  readonly phase: number;
}

export class ApiServer {
  readonly board = new TopicBoard();
  readonly #context: VenuethreeContext;
  readonly #random: Random;
  readonly #nonceShift: number;
  readonly #phase: number;
  readonly #feeds = new Map<string, BookFeed>();
  readonly #offsets = new Map<string, number>();
  readonly #waitingTrades = new Map<string, SimTrade[]>();
  /** Newest text per channel that tells changes only. */
  readonly #told = new Map<string, string>();
  readonly #channels = new Map<string, Channel>();
  #pulse = 0;

  constructor(options: ApiServerOptions) {
    this.#context = options.context;
    this.#random = options.random;
    this.#nonceShift = options.nonceShift;
    this.#phase = options.phase;
  }

  read(text: string): ChannelReading {
    return readChannel(text, this.#context.listing);
  }

  subscribe(socket: SimSocket, channel: Channel): void {
    const isFirst = !this.board.isWanted(channel.name);
    this.#channels.set(channel.name, channel);
    const told = this.#told.get(channel.name);
    const first = this.#first(channel, isFirst);
    // What the newcomer was told now, the others still have to hear.
    if (told !== undefined) this.#told.set(channel.name, told);
    this.board.add(socket, channel.name);
    if (first !== null) socket.push("market", `subscribed/${channel.name}`, printJson(first), false);
  }

  unsubscribe(socket: SimSocket, channel: Channel): boolean {
    const wasOn = this.board.remove(socket, channel.name);
    this.#forgetUnwanted(channel.name);
    return wasOn;
  }

  drop(socket: SimSocket): void {
    const names = [...this.board.of(socket)];
    this.board.drop(socket);
    for (const name of names) this.#forgetUnwanted(name);
  }

  onLevel(symbol: string, side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void {
    this.#feeds.get(symbol)?.add(side, priceTicks, qtyLots, seq, tsMs);
  }

  onTrade(trade: SimTrade): void {
    const waiting = this.#waitingTrades.get(trade.symbol);
    if (waiting === undefined) return;
    if (waiting.length >= WAITING_TRADES_MAX) waiting.shift();
    waiting.push(trade);
  }

  /** One pulse of the venue's timer. */
  onPulse(): void {
    this.#pulse++;
    const { cadences } = this.#context;
    const isBatch = this.#isDue(cadences.bookMs);
    const isStats = this.#isDue(cadences.statsMs);
    for (const name of [...this.board.topics]) {
      const channel = this.#channels.get(name);
      if (channel === undefined) continue;
      if (channel.kind === "order_book" && isBatch) this.#pushBook(channel);
      else if (channel.kind === "trade" && isBatch) this.#pushTrades(channel);
      else if (channel.kind === "ticker") this.#pushTicker(channel);
      else if (channel.kind === "candle" && this.#isDue(cadences.candleMs)) this.#pushCandle(channel);
      else if (channel.kind === "height" && this.#isDue(cadences.heightMs))
        this.#publish(channel, this.#height("update"));
    }
    if (isStats) this.#pushStats();
  }

  #isDue(everyMs: number): boolean {
    const pulses = Math.max(1, Math.round(everyMs / this.#context.cadences.pulseMs));
    return (this.#pulse + this.#phase) % pulses === 0;
  }

  #forgetUnwanted(name: string): void {
    if (this.board.isWanted(name)) return;
    const channel = this.#channels.get(name);
    this.#channels.delete(name);
    this.#told.delete(name);
    if (channel?.market === null || channel?.market === undefined) return;
    const { symbol } = channel.market;
    const feed = channel.kind === "order_book" ? this.#feeds.get(symbol) : undefined;
    if (feed !== undefined) {
      this.#offsets.set(symbol, feed.offset);
      this.#feeds.delete(symbol);
    }
    if (channel.kind === "trade") this.#waitingTrades.delete(symbol);
  }

  #publish(channel: Channel, frame: Row, sequenced = false): void {
    this.board.publish(channel.name, `update/${channel.name}`, printJson(frame), sequenced);
  }

  /* ---------------------------------------------------------------- first frames */

  /** Null when the venue says nothing. */
  #first(channel: Channel, isFirst: boolean): Row | null {
    const { market, kind } = channel;
    if (kind === "height") return this.#height("subscribed");
    if (kind === "market_stats") return this.#stats(channel, "subscribed");
    if (market === null) return null;
    if (kind === "ticker")
      return market.instrument === null ? this.#emptyTicker(market) : this.#ticker(channel, market, "subscribed");
    if (market.instrument === null) return kind === "order_book" ? this.#emptyBook(market) : null;
    if (kind === "order_book") return this.#bookSnapshot(market, isFirst);
    if (kind === "trade") return this.#tradeSnapshot(channel, market, isFirst);
    return this.#candle(channel, market, "subscribed");
  }

  #emptyBook(market: VenuethreeMarket): Row | null {
    return this.#context.quirks.emptySnapshots ? emptyBook(market, this.#context.exchange.nowMs()) : null;
  }

  #emptyTicker(market: VenuethreeMarket): Row | null {
    if (!this.#context.quirks.emptySnapshots) return null;
    return {
      channel: `ticker:${market.marketId}`,
      nonce: this.#context.exchange.engineSeq() - this.#nonceShift,
      ticker: { s: market.symbol, a: printTouch(null, null), b: printTouch(null, null), last_updated_at: 0 },
      timestamp: this.#context.exchange.nowMs(),
      type: "subscribed/ticker",
    };
  }

  #bookSnapshot(market: VenuethreeMarket, isFirst: boolean): Row | null {
    const { exchange, quirks } = this.#context;
    const { symbol, instrument } = market;
    if (instrument === null) return null;
    let feed = isFirst ? undefined : this.#feeds.get(symbol);
    if (feed === undefined) {
      feed = new BookFeed(
        market,
        instrument,
        this.#random,
        this.#nextOffset(symbol),
        this.#nonceShift,
        exchange.seq(symbol),
      );
      this.#feeds.set(symbol, feed);
    }
    // What waits for the next batch is not in the snapshot: the batch follows it in the chain.
    const book = exchange.trueBook(symbol, feed.toldSeq) ?? exchange.book(symbol);
    return feed.snapshot(book, exchange.nowMs(), quirks);
  }

  /** The server's counter moves on while nobody listens. */
  #nextOffset(symbol: string): number {
    const before = this.#offsets.get(symbol) ?? 100_000 + Math.floor(this.#random.next() * 40_000_000);
    return before + 1 + Math.floor(this.#random.next() * 500);
  }

  #tradeSnapshot(channel: Channel, market: VenuethreeMarket, isFirst: boolean): Row {
    // Trades that still wait are told with the snapshot and again with the batch; clients tell them apart by id.
    if (isFirst) this.#waitingTrades.set(market.symbol, []);
    const newest = this.#context.exchange.trades(market.symbol).slice(-TRADES_REPEATED);
    return this.#trades(channel, market, newest, "subscribed");
  }

  /* ---------------------------------------------------------------- pushes */

  #pushBook(channel: Channel): void {
    const { exchange, quirks } = this.#context;
    const frame = this.#feeds.get(channel.market?.symbol ?? "")?.take(exchange.nowMs(), quirks);
    if (frame !== null && frame !== undefined) this.#publish(channel, frame, true);
  }

  #pushTrades(channel: Channel): void {
    const { market } = channel;
    const waiting = this.#waitingTrades.get(market?.symbol ?? "");
    if (market === null || waiting === undefined || waiting.length === 0) return;
    this.#waitingTrades.set(market.symbol, []);
    this.#publish(channel, this.#trades(channel, market, waiting, "update"));
  }

  /** Newest first, as clients that append them in reverse rely on. */
  #trades(channel: Channel, market: VenuethreeMarket, trades: readonly SimTrade[], type: string): Row {
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
      nonce: this.#context.exchange.seq(market.symbol) - this.#nonceShift,
      trades: rows(false),
      type: `${type}/trade`,
    };
  }

  #pushTicker(channel: Channel): void {
    const { market } = channel;
    if (market === null || market.instrument === null) return;
    const seq = String(this.#context.exchange.seq(market.symbol));
    if (this.#told.get(channel.name) === seq) return;
    this.#publish(channel, this.#ticker(channel, market, "update"));
  }

  #ticker(channel: Channel, market: VenuethreeMarket, type: string): Row {
    const { exchange } = this.#context;
    const book = exchange.book(market.symbol, 1);
    this.#told.set(channel.name, String(book.seq));
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

  #pushCandle(channel: Channel): void {
    if (channel.market === null) return;
    const before = this.#told.get(channel.name);
    const frame = this.#candle(channel, channel.market, "update");
    if (frame !== null && this.#told.get(channel.name) !== before) this.#publish(channel, frame);
  }

  #candle(channel: Channel, market: VenuethreeMarket, type: string): Row | null {
    const { exchange } = this.#context;
    if (market.instrument === null) return null;
    const candles = exchange.candles(market.symbol, channel.intervalMs);
    const open = candles[candles.length - 1];
    if (open === undefined) return null;
    const row = printCandle(market, market.instrument, open, open.openMs);
    this.#told.set(channel.name, JSON.stringify(row));
    return { candles: [row], channel: channel.name, timestamp: exchange.nowMs(), type: `${type}/candle` };
  }

  #height(type: string): Row {
    const timestamp = this.#context.exchange.nowMs();
    return { channel: "height", height: heightAt(timestamp), timestamp, type: `${type}/height` };
  }

  /* ---------------------------------------------------------------- statistics */

  #stats(channel: Channel, type: string): Row | null {
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

  /** Only markets whose figures changed, to their own channel and to `all`. */
  #pushStats(): void {
    const { listing, exchange } = this.#context;
    const all = this.#channels.get("market_stats:all");
    const changed: Record<string, Row> = {};
    for (const market of listing.markets) {
      const own = this.#channels.get(`market_stats:${market.marketId}`);
      if (market.instrument === null || (all === undefined && own === undefined)) continue;
      const row = printMarketStats(this.#context, market, market.instrument);
      const text = JSON.stringify(row);
      const key = `stats:${market.marketId}`;
      if (this.#told.get(key) === text) continue;
      this.#told.set(key, text);
      changed[market.marketId] = row;
      if (own !== undefined) this.#publish(own, this.#statsUpdate(own.name, row, exchange.nowMs()));
    }
    if (all !== undefined && Object.keys(changed).length > 0)
      this.#publish(all, this.#statsUpdate(all.name, changed, exchange.nowMs()));
  }

  #statsUpdate(name: string, stats: Row, timestamp: number): Row {
    return { channel: name, market_stats: stats, timestamp, type: "update/market_stats" };
  }
}
