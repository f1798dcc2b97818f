/**
 * Market streams, fact sheet section 7: books on a timer, repeated when nothing changed; the best bid and offer on
 * change only; trades as they happen. A stream without listeners is not produced.
 */
import { TopicBoard } from "../../core/server/topic-board.js";
import type { SimInstrument, SimTrade } from "../../core/model/types.js";
import type { SimSocket } from "../../core/server/server-types.js";
import type { MarketContext } from "./market-context.js";
import { printCandle, printPrices, tradeFrameRow } from "./market-view.js";
import type { BookSnapshot } from "./publisher.js";
import type { Subscription } from "./subscriptions.js";

/** Trades of one market waiting for the next pulse; overflow drops the oldest. */
const WAITING_TRADES_MAX = 1_000;

interface ShownBook {
  readonly snapshot: BookSnapshot;
  readonly text: string;
  /** The snapshot before this one; empty before the first change. */
  readonly textBefore: string;
}

export class MarketStreams {
  readonly board = new TopicBoard();
  readonly #context: MarketContext;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #marketIndex: ReadonlyMap<string, number>;
  readonly #waitingTrades = new Map<string, { trade: SimTrade; li: number }[]>();
  readonly #shownBooks = new Map<string, ShownBook>();
  /** Newest text per topic that sends changes only. */
  readonly #shownTexts = new Map<string, string>();
  #pulse = 0;

  constructor(context: MarketContext) {
    this.#context = context;
    this.#marketIndex = new Map([...context.exchange.instruments.keys()].map((symbol, index) => [symbol, index]));
  }

  /** Starts the stream. Call `sendFirst` after the echo. */
  add(socket: SimSocket, subscription: Subscription): void {
    const { topic } = subscription;
    if (!this.board.isWanted(topic)) this.#begin(subscription);
    this.#subscriptions.set(topic, subscription);
    this.board.add(socket, topic);
  }

  /** Only books begin with a snapshot. */
  sendFirst(socket: SimSocket, subscription: Subscription): void {
    if (subscription.source !== "book") return;
    const { topic, instrument, aggLevel } = subscription;
    const snapshot = this.#context.publisher.book(instrument, aggLevel);
    socket.push("market", `first/${topic}`, bookText(instrument, snapshot), false);
  }

  remove(socket: SimSocket, topic: string): boolean {
    const wasOn = this.board.remove(socket, topic);
    this.#forgetUnwanted(topic);
    return wasOn;
  }

  drop(socket: SimSocket): void {
    const topics = [...this.board.of(socket)];
    this.board.drop(socket);
    for (const topic of topics) this.#forgetUnwanted(topic);
  }

  onTrade(trade: SimTrade, li: number): void {
    const waiting = this.#waitingTrades.get(trade.symbol);
    if (waiting === undefined) return;
    if (waiting.length >= WAITING_TRADES_MAX) waiting.shift();
    waiting.push({ trade, li });
  }

  /** One pulse of the venue's timer. */
  onPulse(): void {
    this.#pulse++;
    const { cadences } = this.#context;
    for (const topic of [...this.board.topics]) {
      const subscription = this.#subscriptions.get(topic);
      if (subscription === undefined) continue;
      switch (subscription.source) {
        case "book":
          if (this.#isDue(cadences.bookMs)) this.#pushBook(subscription);
          break;
        case "bbo":
          this.#pushTouch(topic, subscription.instrument);
          break;
        case "trades":
          this.#pushTrades(topic, subscription.instrument);
          break;
        case "prices":
          if (this.#isDue(cadences.pricesMs)) this.#pushPrices();
          break;
        default:
          if (this.#isDue(cadences.candleMs)) this.#pushCandle(subscription);
      }
    }
  }

  #isDue(everyMs: number): boolean {
    return this.#pulse % Math.max(1, Math.round(everyMs / this.#context.cadences.pulseMs)) === 0;
  }

  #begin(subscription: Subscription): void {
    const { topic, source } = subscription;
    if (source === "trades") this.#waitingTrades.set(subscription.instrument.symbol, []);
    // The stream sends changes from here on. It never sends the present state.
    if (source === "bbo")
      this.#shownTexts.set(topic, JSON.stringify(this.#context.publisher.touch(subscription.instrument).touch));
  }

  #forgetUnwanted(topic: string): void {
    if (this.board.isWanted(topic)) return;
    const subscription = this.#subscriptions.get(topic);
    if (subscription?.source === "trades") this.#waitingTrades.delete(subscription.instrument.symbol);
    this.#subscriptions.delete(topic);
    this.#shownBooks.delete(topic);
    this.#shownTexts.delete(topic);
  }

  /* ---------------------------------------------------------------- pushes */

  #pushBook(subscription: Extract<Subscription, { source: "book" }>): void {
    const { topic, instrument, aggLevel } = subscription;
    const snapshot = this.#context.publisher.book(instrument, aggLevel);
    let shown = this.#shownBooks.get(topic);
    if (shown?.snapshot !== snapshot) {
      shown = { snapshot, text: bookText(instrument, snapshot), textBefore: shown?.text ?? "" };
      this.#shownBooks.set(topic, shown);
    }
    this.board.publish(topic, topic, shown.text, true);
    const { staleBookShare } = this.#context.quirks;
    if (shown.textBefore !== "" && staleBookShare > 0 && this.#context.random.next() < staleBookShare)
      this.board.publish(topic, topic, shown.textBefore, true);
  }

  #pushTouch(topic: string, instrument: SimInstrument): void {
    const { publisher, exchange } = this.#context;
    const seqKey = `${topic}/seq`;
    const seq = String(exchange.market.seq(instrument.symbol));
    if (this.#shownTexts.get(seqKey) === seq) return;
    this.#shownTexts.set(seqKey, seq);
    const { touch, t, li, i } = publisher.touch(instrument);
    const text = JSON.stringify(touch);
    if (this.#shownTexts.get(topic) === text) return;
    this.#shownTexts.set(topic, text);
    const frame = { channel: "bbo", data: { ...touch, i, li, s: instrument.symbol, t } };
    this.board.publish(topic, topic, JSON.stringify(frame), true);
  }

  #pushTrades(topic: string, instrument: SimInstrument): void {
    const { symbol } = instrument;
    const waiting = this.#waitingTrades.get(symbol) ?? [];
    if (waiting.length === 0) return;
    this.#waitingTrades.set(symbol, []);
    const index = this.#marketIndex.get(symbol) ?? 0;
    const data = waiting.map(({ trade, li }) => tradeFrameRow(instrument, trade, "normal", index, li));
    this.board.publish(topic, topic, JSON.stringify({ channel: "trades", data }), false);
  }

  #pushPrices(): void {
    const { exchange } = this.#context;
    const data = [...exchange.instruments.values()].map((instrument) => printPrices(exchange, instrument));
    const text = JSON.stringify(data.map(({ timestamp: _timestamp, ...figures }) => figures));
    if (this.#shownTexts.get("prices") === text) return;
    this.#shownTexts.set("prices", text);
    this.board.publish("prices", "prices", JSON.stringify({ channel: "prices", data }), false);
  }

  #pushCandle(subscription: Extract<Subscription, { source: "candle" | "mark_price_candle" }>): void {
    const { topic, source, instrument, interval, intervalMs } = subscription;
    const kind = source === "candle" ? "last" : "mark";
    const candles = this.#context.exchange.market.candles(instrument.symbol, intervalMs, kind);
    const running = candles[candles.length - 1];
    if (running === undefined) return;
    const text = JSON.stringify({ channel: source, data: printCandle(instrument, running, interval, kind) });
    if (this.#shownTexts.get(topic) === text) return;
    this.#shownTexts.set(topic, text);
    this.board.publish(topic, topic, text, false);
  }
}

/** Keys in alphabetical order, as captured. */
function bookText(instrument: SimInstrument, { levels, li, t }: BookSnapshot): string {
  return JSON.stringify({ channel: "book", data: { l: levels, li, s: instrument.symbol, t } });
}
