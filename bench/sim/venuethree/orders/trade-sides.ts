/**
 * Who was in a print: the core's tape names accounts only, clients are shown orders, fees and what the position was.
 * Prints without an account in them have no entry and keep the crowd's made-up sides.
 */
import type { SimFill, SimTrade } from "../../core/model/types.js";
import { tradeKey } from "../wire/ids.js";
import type { VenueOrder } from "./orders.js";

export interface TradeSide {
  readonly order: VenueOrder;
  readonly fill: SimFill;
  /** Entry cost of the position before, quote units, signed like the position. */
  readonly costBeforeE12: bigint;
}

export interface TradeSides {
  readonly trade: SimTrade;
  buyer: TradeSide | null;
  seller: TradeSide | null;
}

/** Prints remembered over all markets, and per account; the oldest go. */
const PRINTS_MAX = 50_000;
const OWN_MAX = 20_000;

export class TradeBook {
  readonly #prints = new Map<string, TradeSides>();
  readonly #own = new Map<number, TradeSides[]>();
  #last: SimTrade | null = null;

  /** The core reports a print before its fills. */
  onTrade(trade: SimTrade): void {
    this.#last = trade;
  }

  onFill(order: VenueOrder, fill: SimFill, costBeforeE12: bigint): TradeSides {
    const key = tradeKey(fill.symbol, fill.tradeId);
    let print = this.#prints.get(key);
    if (print === undefined) {
      const trade = this.#last;
      if (trade === null || trade.tradeId !== fill.tradeId || trade.symbol !== fill.symbol)
        throw new RangeError("a fill without its print");
      print = { trade, buyer: null, seller: null };
      this.#prints.set(key, print);
      if (this.#prints.size > PRINTS_MAX) {
        const oldest = this.#prints.keys().next();
        if (oldest.done === false) this.#prints.delete(oldest.value);
      }
    }
    const side = { order, fill, costBeforeE12 };
    if (fill.side === "BUY") print.buyer = side;
    else print.seller = side;
    const own = this.#own.get(order.account.index) ?? [];
    this.#own.set(order.account.index, own);
    // An account that traded with itself has the print once.
    if (own[own.length - 1] !== print) own.push(print);
    if (own.length > OWN_MAX) own.splice(0, OWN_MAX >>> 1);
    return print;
  }

  sidesOf(trade: SimTrade): TradeSides | null {
    return this.#prints.get(tradeKey(trade.symbol, trade.tradeId)) ?? null;
  }

  /** Prints of an account, oldest first. */
  of(accountIndex: number): readonly TradeSides[] {
    return this.#own.get(accountIndex) ?? [];
  }
}
