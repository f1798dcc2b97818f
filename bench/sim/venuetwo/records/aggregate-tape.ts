/** Aggregated trades: prints of one taking order at one price are one row, as on the venue. */
import { keepBounded } from "../../core/model/state.js";
import type { SimTrade } from "../../core/model/types.js";

export interface AggregateTrade {
  readonly id: number;
  readonly symbol: string;
  readonly priceTicks: number;
  qtyLots: number;
  readonly firstId: number;
  lastId: number;
  readonly takerId: number;
  readonly buyerIsMaker: boolean;
  readonly tsMs: number;
}

const ROWS_MAX = 10_000;
const FIRST_ID = 20_000_000;

export class AggregateTape {
  readonly rows: AggregateTrade[] = [];
  #nextId = FIRST_ID;
  /** Rows not yet streamed. */
  #pending: AggregateTrade[] = [];

  add(trade: SimTrade): void {
    const last = this.rows[this.rows.length - 1];
    if (
      last !== undefined &&
      last.takerId === trade.takerId &&
      last.priceTicks === trade.priceTicks &&
      this.#pending[this.#pending.length - 1] === last
    ) {
      last.qtyLots += trade.qtyLots;
      last.lastId = trade.tradeId;
      return;
    }
    const row: AggregateTrade = {
      id: this.#nextId++,
      symbol: trade.symbol,
      priceTicks: trade.priceTicks,
      qtyLots: trade.qtyLots,
      firstId: trade.tradeId,
      lastId: trade.tradeId,
      takerId: trade.takerId,
      buyerIsMaker: trade.takerSide === "SELL",
      tsMs: trade.tsMs,
    };
    keepBounded(this.rows, row, ROWS_MAX);
    keepBounded(this.#pending, row, ROWS_MAX);
  }

  /** Rows since the last call; they do not change any more. */
  drain(): readonly AggregateTrade[] {
    const drained = this.#pending;
    this.#pending = [];
    return drained;
  }
}
