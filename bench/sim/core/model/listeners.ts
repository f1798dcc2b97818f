/** Events of the engine, and the listeners that receive them. */
import type { AccountState, OrderState, PositionState } from "./state.js";
import type {
  SimAccount,
  SimAccountCause,
  SimConfigChange,
  SimFill,
  SimIncome,
  SimOrder,
  SimOrderEvent,
  SimPosition,
  SimSide,
  SimTrade,
} from "./types.js";

/** Called synchronously, in the order in which changes happen. */
export interface SimListener {
  /** A price level's visible total changed; 0 removes it. `seq` belongs to this change. */
  onLevel?(symbol: string, side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void;
  onTrade?(trade: SimTrade): void;
  /** `event`: NEW, TRADE (with fill), CANCELED, EXPIRED, TRIGGERED, REJECTED, AMENDED. The order already shows the new state. */
  onOrder?(order: SimOrder, event: SimOrderEvent, fill: SimFill | null): void;
  /** Cash or positions changed. `positions` are the touched ones. Called once per cause, after `onOrder`. */
  onAccount?(account: SimAccount, cause: SimAccountCause, positions: readonly SimPosition[]): void;
  onConfig?(account: SimAccount, change: SimConfigChange): void;
  onFunding?(income: SimIncome): void;
  /** After each market step, once per venue: the moment for conflated pushes. */
  onStep?(tsMs: number): void;
}

/** Fan-out to the listeners, in the order they were added. */
export class Listeners {
  readonly #listeners: SimListener[] = [];

  add(listener: SimListener): () => void {
    this.#listeners.push(listener);
    return () => {
      const index = this.#listeners.indexOf(listener);
      if (index >= 0) this.#listeners.splice(index, 1);
    };
  }

  level(symbol: string, side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void {
    for (const listener of this.#listeners) listener.onLevel?.(symbol, side, priceTicks, qtyLots, seq, tsMs);
  }

  trade(trade: SimTrade): void {
    for (const listener of this.#listeners) listener.onTrade?.(trade);
  }

  order(order: OrderState, event: SimOrderEvent, fill: SimFill | null): void {
    for (const listener of this.#listeners) listener.onOrder?.(order, event, fill);
  }

  account(account: AccountState, cause: SimAccountCause, positions: readonly PositionState[]): void {
    for (const listener of this.#listeners) listener.onAccount?.(account, cause, positions);
  }

  config(account: AccountState, change: SimConfigChange): void {
    for (const listener of this.#listeners) listener.onConfig?.(account, change);
  }

  funding(income: SimIncome): void {
    for (const listener of this.#listeners) listener.onFunding?.(income);
  }

  step(tsMs: number): void {
    for (const listener of this.#listeners) listener.onStep?.(tsMs);
  }
}
