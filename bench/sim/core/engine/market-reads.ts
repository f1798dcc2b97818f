/** What the markets of a venue show, now and as of a recent update or time. Changes nothing. */
import type { Ledger } from "../money/ledger.js";
import type { FundingPoint } from "../market/marks.js";
import type { Markets } from "./markets.js";
import type { SimBookSnapshot, SimCandle, SimLevel, SimMark, SimResting, SimTicker, SimTrade } from "../model/types.js";
import type { UpdateIds } from "../market/update-ids.js";

const TRADES_SHOWN_MAX = 5000;

export interface MarketReadsDeps {
  readonly markets: Markets;
  readonly ids: UpdateIds;
  readonly ledger: Ledger;
  nowMs(): number;
}

export class MarketReads {
  readonly #markets: Markets;
  readonly #deps: MarketReadsDeps;

  constructor(deps: MarketReadsDeps) {
    this.#markets = deps.markets;
    this.#deps = deps;
  }

  /** Current top `depth` levels per side (all when omitted). */
  book(symbol: string, depth = Number.MAX_SAFE_INTEGER): SimBookSnapshot {
    return this.#markets.state(symbol).book.snapshot(depth);
  }

  /** The first `count` resting orders of one side, best price first, in queue order. */
  restingOrders(symbol: string, side: "BUY" | "SELL", count: number): readonly SimResting[] {
    return this.#markets.state(symbol).book.resting(side, count);
  }

  bestBid(symbol: string): SimLevel | null {
    return this.#markets.state(symbol).book.best("BUY");
  }

  bestAsk(symbol: string): SimLevel | null {
    return this.#markets.state(symbol).book.best("SELL");
  }

  /** Update id of the last change of this book. */
  seq(symbol: string): number {
    return this.#markets.state(symbol).book.seq;
  }

  /** Newest update id over all books. */
  engineSeq(): number {
    return this.#deps.ids.newest;
  }

  /** Newest last; at most 5000 are kept per symbol. */
  trades(symbol: string): readonly SimTrade[] {
    return this.#markets.state(symbol).tape.trades.slice(-TRADES_SHOWN_MAX);
  }

  ticker(symbol: string): SimTicker {
    return this.#markets.state(symbol).tape.ticker(this.#deps.nowMs());
  }

  mark(symbol: string): SimMark {
    const { ledger, nowMs } = this.#deps;
    return this.#markets.mark(symbol).snapshot(ledger.openInterestLots(symbol), nowMs());
  }

  /** Built from trades; at most 1500 per interval, the running one last. Source `mark`/`index` give candles of those prices (volumes 0). */
  candles(symbol: string, intervalMs: number, source: "last" | "mark" | "index" = "last"): readonly SimCandle[] {
    if (source === "mark") return this.#markets.mark(symbol).markCandles.joined(intervalMs);
    if (source === "index") return this.#markets.mark(symbol).indexCandles.joined(intervalMs);
    return this.#markets.state(symbol).tape.last.joined(intervalMs);
  }

  fundingHistory(symbol: string): readonly FundingPoint[] {
    return this.#markets.mark(symbol).funding;
  }

  /** The true book after the last change with id ≤ seq; null when unknown or older than the kept history (65 536 changes per symbol). */
  trueBook(symbol: string, seq: number, depth = Number.MAX_SAFE_INTEGER): SimBookSnapshot | null {
    return this.#markets.state(symbol).book.trueSnapshot(seq, depth);
  }

  /** The true book as of venue time: at a remembered publication of exactly that time, else after the last change at or before it. */
  trueBookAtTime(symbol: string, tsMs: number, depth = Number.MAX_SAFE_INTEGER): SimBookSnapshot | null {
    const { book } = this.#markets.state(symbol);
    const seq = book.history.seqAtTime(tsMs);
    return seq === null ? null : book.trueSnapshot(seq, depth);
  }
}
