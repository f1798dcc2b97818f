/**
 * Snapshots of the books under the venue's times. Invariants: a market's `t` only grows, except after the correction of
 * a clock far ahead; the same `t` always means the same book, over REST, `book` and `bbo`; the exchange remembers each,
 * so that a test can read the true book of any published `t`; a snapshot that did not change keeps its `t` and `li`.
 */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimInstrument } from "../../core/model/types.js";
import { publicationMs } from "../../core/market/publication-time.js";
import { aggregate, type BookLevels, printTouch, type Touch } from "./market-view.js";

export const AGG_LEVELS: readonly number[] = [1, 10, 100, 1_000, 10_000];

export interface BookSnapshot {
  readonly levels: BookLevels;
  readonly t: number;
  /** Id of the order behind the change: not the newest one when an old order was taken or withdrawn. */
  readonly li: number;
}

export interface TouchSnapshot {
  readonly touch: Touch;
  readonly t: number;
  readonly li: number;
  readonly i: number;
}

/** How far back the id of an old order may be. */
const OLD_ID_MAX = 700;

export class Publisher {
  readonly #exchange: SimExchange;
  readonly #random: Random;
  readonly #oldIdShare: () => number;
  readonly #stamps = new Map<string, { readonly t: number; readonly seq: number }>();
  readonly #books = new Map<string, { readonly text: string; readonly snapshot: BookSnapshot }>();

  constructor(exchange: SimExchange, random: Random, oldIdShare: () => number) {
    this.#exchange = exchange;
    this.#random = random;
    this.#oldIdShare = oldIdShare;
  }

  book(instrument: SimInstrument, aggLevel: number): BookSnapshot {
    const levels = aggregate(instrument, this.#exchange.market.book(instrument.symbol), aggLevel);
    const text = JSON.stringify(levels);
    const key = `${instrument.symbol}:${aggLevel}`;
    const shown = this.#books.get(key);
    if (shown?.text === text) return shown.snapshot;
    const snapshot = { levels, t: this.#stamp(instrument.symbol), li: this.#orderBehind(instrument.symbol) };
    this.#books.set(key, { text, snapshot });
    return snapshot;
  }

  touch(instrument: SimInstrument): TouchSnapshot {
    const { symbol } = instrument;
    const touch = printTouch(instrument, this.#exchange.market.bestBid(symbol), this.#exchange.market.bestAsk(symbol));
    return { touch, t: this.#stamp(symbol), li: this.#exchange.market.seq(symbol), i: this.#orderBehind(symbol) };
  }

  /** Later than the time of any other state that was shown. */
  #stamp(symbol: string): number {
    const seq = this.#exchange.market.seq(symbol);
    const last = this.#stamps.get(symbol);
    if (last?.seq === seq) return last.t;
    const t = publicationMs(this.#exchange.nowMs(), (last?.t ?? 0) + 1);
    this.#stamps.set(symbol, { t, seq });
    this.#exchange.controls.rememberPublication(symbol, t);
    return t;
  }

  #orderBehind(symbol: string): number {
    const newest = this.#exchange.market.seq(symbol);
    const isOld = this.#random.next() < this.#oldIdShare();
    return isOld ? newest - 1 - Math.floor(this.#random.next() * OLD_ID_MAX) : newest;
  }
}
