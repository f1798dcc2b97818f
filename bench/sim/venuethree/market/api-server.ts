/**
 * One of the servers behind the venue's address: its own offsets and batches, and the streams of the connections it
 * holds. Frames of one channel go to all its listeners alike; a channel without listeners costs nothing.
 */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimSide, SimTrade } from "../../core/model/types.js";
import type { SimSocket } from "../../core/server/server-types.js";
import { TopicBoard } from "../../core/server/topic-board.js";
import { BookFeeds } from "./book-feeds.js";
import type { Channel } from "./channels.js";
import type { VenuethreeContext } from "../orders/context.js";
import { printJson, type Row } from "../wire/json.js";
import { MarketFrames } from "./market-frames.js";
import { printMarketStats } from "./market-view.js";

/** A subscription to trades starts with this many. */
const TRADES_REPEATED = 50;
/** Trades of one market waiting for the next batch; overflow drops the oldest. */
const WAITING_TRADES_MAX = 1_000;

export interface ApiServerOptions {
  readonly context: VenuethreeContext;
  readonly random: Random;
  /** How far the nonces of this server are below the engine's change ids. */
  readonly nonceShift: number;
  /** Pulses its batches lag behind those of the first server. */
  readonly phase: number;
}

export class ApiServer {
  readonly board = new TopicBoard();
  readonly #context: VenuethreeContext;
  readonly #phase: number;
  readonly #frames: MarketFrames;
  readonly #books: BookFeeds;
  readonly #waitingTrades = new Map<string, SimTrade[]>();
  /** Of channels that show changes only: what the listeners were last shown. */
  readonly #shown = new Map<string, string>();
  readonly #channels = new Map<string, Channel>();
  #pulse = 0;

  constructor({ context, random, nonceShift, phase }: ApiServerOptions) {
    this.#context = context;
    this.#phase = phase;
    this.#frames = new MarketFrames(context, nonceShift);
    this.#books = new BookFeeds(context, random, nonceShift);
  }

  subscribe(socket: SimSocket, channel: Channel): void {
    const isFirst = !this.board.isWanted(channel.name);
    this.#channels.set(channel.name, channel);
    const first = this.#first(channel, isFirst);
    // What only the newcomer is shown here, the others have yet to see.
    if (first !== null && !this.#shown.has(channel.name)) this.#remember(channel, first);
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
    this.#books.add(symbol, side, priceTicks, qtyLots, seq, tsMs);
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
      if (channel.kind === "order_book" && isBatch)
        this.#publish(channel, this.#books.take(channel.market?.symbol ?? ""), true);
      else if (channel.kind === "trade" && isBatch) this.#pushTrades(channel);
      else if (channel.kind === "ticker") this.#pushTicker(channel);
      else if (channel.kind === "candle" && this.#isDue(cadences.candleMs)) this.#pushCandle(channel);
      else if (channel.kind === "height" && this.#isDue(cadences.heightMs))
        this.#publish(channel, this.#frames.height("update"));
    }
    if (isStats) this.#pushStats();
  }

  #isDue(everyMs: number): boolean {
    const pulses = Math.max(1, Math.round(everyMs / this.#context.cadences.pulseMs));
    return (this.#pulse + this.#phase) % pulses === 0;
  }

  /** The first listener's frame is what later changes are measured against. */
  #remember({ name, kind, market }: Channel, first: Row): void {
    if (kind === "candle") this.#shown.set(name, JSON.stringify(first.candles));
    if (kind !== "ticker" || market === null || market.instrument === null) return;
    this.#shown.set(name, String(this.#context.exchange.market.seq(market.symbol)));
  }

  #forgetUnwanted(name: string): void {
    if (this.board.isWanted(name)) return;
    const channel = this.#channels.get(name);
    this.#channels.delete(name);
    this.#shown.delete(name);
    const symbol = channel?.market?.symbol;
    if (symbol === undefined) return;
    if (channel?.kind === "order_book") this.#books.close(symbol);
    if (channel?.kind === "trade") this.#waitingTrades.delete(symbol);
  }

  /** Without a frame nothing happens. */
  #publish(channel: Channel, frame: Row | null, sequenced = false): void {
    if (frame === null) return;
    this.board.publish(channel.name, `update/${channel.name}`, printJson(frame), sequenced);
  }

  /** Returns null when the venue sends nothing. */
  #first(channel: Channel, isFirst: boolean): Row | null {
    const { market, kind } = channel;
    if (kind === "height") return this.#frames.height("subscribed");
    if (kind === "market_stats") return this.#frames.stats(channel, "subscribed");
    if (market === null) return null;
    if (kind === "order_book") return this.#books.snapshot(market, isFirst);
    if (kind === "ticker")
      return market.instrument === null
        ? this.#frames.emptyTicker(market)
        : this.#frames.ticker(channel, market, "subscribed");
    if (market.instrument === null) return null;
    if (kind === "candle") return this.#frames.candle(channel, market, "subscribed");
    // Trades that still wait are shown here and again with the batch; clients tell them apart by id.
    if (isFirst) this.#waitingTrades.set(market.symbol, []);
    const newest = this.#context.exchange.market.trades(market.symbol).slice(-TRADES_REPEATED);
    return this.#frames.trades(channel, market, newest, "subscribed");
  }

  #pushTrades(channel: Channel): void {
    const { market } = channel;
    const waiting = this.#waitingTrades.get(market?.symbol ?? "");
    if (market === null || waiting === undefined || waiting.length === 0) return;
    this.#waitingTrades.set(market.symbol, []);
    this.#publish(channel, this.#frames.trades(channel, market, waiting, "update"));
  }

  #pushTicker(channel: Channel): void {
    const { market } = channel;
    if (market === null || market.instrument === null) return;
    const seq = String(this.#context.exchange.market.seq(market.symbol));
    if (this.#shown.get(channel.name) === seq) return;
    this.#shown.set(channel.name, seq);
    this.#publish(channel, this.#frames.ticker(channel, market, "update"));
  }

  #pushCandle(channel: Channel): void {
    if (channel.market === null) return;
    const frame = this.#frames.candle(channel, channel.market, "update");
    const text = JSON.stringify(frame?.candles);
    if (frame === null || this.#shown.get(channel.name) === text) return;
    this.#shown.set(channel.name, text);
    this.#publish(channel, frame);
  }

  /** Only markets whose figures changed, to their own channel and to `all`. */
  #pushStats(): void {
    const { listing } = this.#context;
    const all = this.#channels.get("market_stats:all");
    const changed: Record<string, Row> = {};
    for (const market of listing.markets) {
      const own = this.#channels.get(`market_stats:${market.marketId}`);
      if (market.instrument === null || (all === undefined && own === undefined)) continue;
      const row = printMarketStats(this.#context, market, market.instrument);
      const text = JSON.stringify(row);
      const key = `stats:${market.marketId}`;
      if (this.#shown.get(key) === text) continue;
      this.#shown.set(key, text);
      changed[market.marketId] = row;
      if (own !== undefined) this.#publish(own, this.#frames.statsUpdate(own.name, row));
    }
    if (all !== undefined && Object.keys(changed).length > 0)
      this.#publish(all, this.#frames.statsUpdate(all.name, changed));
  }
}
