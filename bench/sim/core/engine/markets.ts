/** The markets of one venue: each with its book, tape, mark and crowd, opened from the list and moved step by step. */
import type { Clock } from "../../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../../engine/domain/random.js";
import type { SymbolState } from "./engine-deps.js";
import { seedOf } from "../market/factor-model.js";
import type { FairPrices } from "../market/fair-prices.js";
import { type FlowOptions, SymbolFlow } from "./flow.js";
import type { Listeners } from "../model/listeners.js";
import { MarkState } from "../market/marks.js";
import type { Matching } from "./matching.js";
import { OrderBook } from "../market/order-book.js";
import { Tape } from "../market/tape.js";
import type { SimInstrument } from "../model/types.js";
import type { UpdateIds } from "../market/update-ids.js";

export interface MarketDeps {
  /** Seeds the markets' randomness, together with `seed`. */
  readonly venue: string;
  readonly seed: number;
  readonly clock: Clock;
  readonly prices: FairPrices;
  readonly ids: UpdateIds;
  readonly listeners: Listeners;
  /** Null for empty books in which only users trade. */
  readonly flow: FlowOptions | null;
  /** Venue time. */
  nowMs(): number;
}

export class Markets {
  readonly symbols = new Map<string, SymbolState>();
  readonly marks = new Map<string, MarkState>();
  readonly #deps: MarketDeps;
  readonly #flows = new Map<string, SymbolFlow>();

  constructor(deps: MarketDeps) {
    this.#deps = deps;
  }

  state(symbol: string): SymbolState {
    const state = this.symbols.get(symbol);
    if (state === undefined) throw new RangeError(`no symbol ${symbol}`);
    return state;
  }

  mark(symbol: string): MarkState {
    const mark = this.marks.get(symbol);
    if (mark === undefined) throw new RangeError(`no symbol ${symbol}`);
    return mark;
  }

  /** Opens a market, with the crowd's first quotes in its book. */
  open(instrument: SimInstrument, matching: Matching): void {
    const { venue, seed, clock, prices, ids, listeners, nowMs } = this.#deps;
    const { symbol } = instrument;
    const random = createSeededRandom(seedOf(`${venue}/${symbol}`, seed));
    const openedMs = clock.wallMs();
    const fair = prices.of(instrument);
    const book = new OrderBook(symbol, {
      nextSeq: () => ids.next(),
      nowMs,
      onLevel: (...change) => listeners.level(...change),
    });
    const tape = this.#tape(instrument, random);
    const state: SymbolState = { instrument, book, tape, triggers: new Set(), halted: false };
    this.symbols.set(symbol, state);
    this.marks.set(symbol, new MarkState(instrument, random, openedMs, fair));
    this.#quote(state, random, matching);
  }

  /** Opens a market that has changed its grid: book and mark go on, tape and crowd are new. */
  reopen({ instrument, book, triggers }: SymbolState, matching: Matching): void {
    const { venue, seed } = this.#deps;
    const { symbol } = instrument;
    const random = createSeededRandom(seedOf(`${venue}/${symbol}/${book.seq}`, seed));
    const state = { instrument, book, tape: this.#tape(instrument, random), triggers, halted: false };
    this.symbols.set(symbol, state);
    this.#quote(state, random, matching);
  }

  /** One step of every crowd, and the marks that follow. */
  step(): void {
    for (const [symbol, { instrument, book }] of this.symbols) {
      const fair = this.#deps.prices.of(instrument);
      this.#flows.get(symbol)?.step(fair * 10 ** instrument.priceDecimals);
      const bid = book.bestPrice("BUY");
      const ask = book.bestPrice("SELL");
      const middle = bid === null || ask === null ? null : (bid + ask) / 2 / 10 ** instrument.priceDecimals;
      this.mark(symbol).update(fair, middle, this.#deps.nowMs());
    }
  }

  #tape(instrument: SimInstrument, random: Random): Tape {
    const ticks = Math.round(this.#deps.prices.of(instrument) * 10 ** instrument.priceDecimals);
    return new Tape(instrument, random, this.#deps.clock.wallMs(), Math.max(1, ticks));
  }

  #quote(state: SymbolState, random: Random, matching: Matching): void {
    if (this.#deps.flow === null) return;
    const { instrument } = state;
    const flow = new SymbolFlow(state, matching, random, this.#deps.flow);
    this.#flows.set(instrument.symbol, flow);
    flow.step(this.#deps.prices.of(instrument) * 10 ** instrument.priceDecimals);
  }
}
