/**
 * A taker meets the book in price-time order: trades, and the fills of both sides. Invariants: filled ≤ ordered; a
 * resting reduce-only order never turns or enlarges a position, even when the position has changed since it was placed.
 */
import type { MatchingDeps, SymbolState } from "./engine-deps.js";
import { mustReduce } from "./order-checks.js";
import type { OrderRegistry } from "./order-registry.js";
import { type AccountState, type OrderState, oppositeSide, positionKey } from "../model/state.js";
import type { SimSide, SimTrade } from "../model/types.js";

export interface Taker {
  /** Null for the house. */
  readonly order: OrderState | null;
  readonly side: SimSide;
  readonly limitTicks: number | null;
}

export class Crossing {
  /** Accounts whose position has changed since their reduce-only orders were last checked. */
  readonly touched: { readonly account: AccountState; readonly symbol: string }[] = [];
  readonly #deps: MatchingDeps;
  readonly #orders: OrderRegistry;
  #takerId = 1;

  constructor(deps: MatchingDeps, orders: OrderRegistry) {
    this.#deps = deps;
    this.#orders = orders;
  }

  /** Returns what could not be filled. `quoting`: crossing house makers are withdrawn instead of traded with. */
  match(state: SymbolState, taker: Taker, wantedLots: number, quoting = false): number {
    const { book } = state;
    const makerSide = oppositeSide(taker.side);
    const takerId = this.#takerId++;
    let left = wantedLots;
    while (left > 0) {
      const maker = book.front(makerSide);
      if (maker === null) break;
      if (
        taker.limitTicks !== null &&
        (taker.side === "BUY" ? maker.priceTicks > taker.limitTicks : maker.priceTicks < taker.limitTicks)
      )
        break;
      if (maker.owner === null && quoting) {
        book.remove(maker);
        continue;
      }
      if (maker.owner !== null && !this.#prepareMaker(state, maker.owner, taker)) continue;
      const qtyLots = Math.min(left, maker.lots);
      this.#trade(state, taker, maker.owner, maker.priceTicks, qtyLots, takerId, () => book.reduce(maker, qtyLots));
      left -= qtyLots;
    }
    return left;
  }

  /** Self-trade rule and reduce-only clamp of a resting order about to trade; false when it was taken out. */
  #prepareMaker(state: SymbolState, maker: OrderState, taker: Taker): boolean {
    if (this.#deps.policies.selfTrade === "cancelResting" && taker.order?.account === maker.account) {
      this.#orders.end(maker, "CANCELED", "SELF_TRADE");
      return false;
    }
    if (!mustReduce(maker.account, maker)) return true;
    const reducible = this.#deps.ledger.reducibleLots(maker.account, maker.symbol, maker.side, maker.positionSide);
    if (reducible === 0) {
      this.#orders.endReduceOnly(maker);
      return false;
    }
    this.#shrink(state, maker, reducible);
    return true;
  }

  #trade(
    state: SymbolState,
    taker: Taker,
    maker: OrderState | null,
    priceTicks: number,
    qtyLots: number,
    takerId: number,
    takeFromBook: () => void,
  ): void {
    const { ledger, listeners } = this.#deps;
    const tradeId = state.tape.nextTradeId();
    const { symbol } = state.instrument;
    const buyer = taker.side === "BUY" ? taker.order : maker;
    const seller = taker.side === "BUY" ? maker : taker.order;
    takeFromBook();
    const trade: SimTrade = {
      tradeId,
      symbol,
      priceTicks,
      qtyLots,
      takerSide: taker.side,
      buyerAccountId: buyer?.accountId ?? null,
      sellerAccountId: seller?.accountId ?? null,
      takerId,
      tsMs: this.#deps.nowMs(),
    };
    // House against house is one inventory: nothing to book.
    if (maker !== null || taker.order !== null) {
      if (maker === null) ledger.applyHouse(symbol, oppositeSide(taker.side), priceTicks, qtyLots);
      if (taker.order === null) ledger.applyHouse(symbol, taker.side, priceTicks, qtyLots);
    }
    state.tape.add(trade);
    listeners.trade(trade);
    if (maker !== null) this.#fill(maker, tradeId, priceTicks, qtyLots, true);
    if (taker.order !== null) this.#fill(taker.order, tradeId, priceTicks, qtyLots, false);
  }

  #fill(order: OrderState, tradeId: number, priceTicks: number, qtyLots: number, maker: boolean): void {
    const { account } = order;
    const fill = this.#deps.ledger.applyFill(order, tradeId, priceTicks, qtyLots, maker);
    order.status = order.filledLots === order.qtyLots ? "FILLED" : "PARTIALLY_FILLED";
    order.updatedMs = fill.tsMs;
    if (order.status === "FILLED") this.#orders.close(order);
    this.#deps.listeners.order(order, "TRADE", fill);
    const position = account.positions.get(positionKey(order.symbol, order.positionSide));
    this.#deps.listeners.account(account, "ORDER", position === undefined ? [] : [position]);
    this.touched.push({ account, symbol: order.symbol });
  }

  #shrink(state: SymbolState, order: OrderState, toLots: number): void {
    if (order.resting === null || order.resting.lots <= toLots) return;
    const excess = order.resting.lots - toLots;
    state.book.reduce(order.resting, excess);
    order.qtyLots -= excess;
  }
}
