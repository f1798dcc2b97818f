/** The engine's own mutable records behind the read-only types of types.ts. Only engine files of this folder write them. */
import type {
  SimAccount,
  SimAccountCause,
  SimAccountOptions,
  SimConfigChange,
  SimFill,
  SimIncome,
  SimListener,
  SimMarginMode,
  SimOrder,
  SimOrderEvent,
  SimPosition,
  SimPositionSide,
  SimSide,
  SimTrade,
} from "./types.js";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Quantity that rests in a book. */
export interface Resting {
  readonly side: SimSide;
  readonly priceTicks: number;
  lots: number;
  /** Null when the house. */
  readonly owner: OrderState | null;
}

export interface OrderState extends Mutable<Omit<SimOrder, "fills">> {
  fills: SimFill[];
  readonly account: AccountState;
  /** In the book now, else null. */
  resting: Resting | null;
  /** TRAILING: extreme price since activation; null until activated. */
  extremeTicks: number | null;
}

export type PositionState = Mutable<SimPosition>;

export interface AccountState extends Mutable<Omit<SimAccount, "positions">> {
  /** Keyed by positionKey. Flat positions stay, so that their cumulative funding is kept. */
  readonly positions: Map<string, PositionState>;
  readonly leverages: Map<string, number>;
  readonly marginModes: Map<string, SimMarginMode>;
  readonly openOrders: Map<number, OrderState>;
  readonly orders: Map<number, OrderState>;
  readonly byClientId: Map<string, OrderState>;
  readonly fills: SimFill[];
  readonly income: SimIncome[];
}

/** Records kept per account; the oldest half goes when the bound is reached. */
export const RECORDS_MAX = 50_000;

export function keepBounded<T>(list: T[], item: T, max = RECORDS_MAX): void {
  if (list.length >= max) list.splice(0, max >>> 1);
  list.push(item);
}

export function positionKey(symbol: string, side: SimPositionSide): string {
  return `${symbol}|${side}`;
}

export function oppositeSide(side: SimSide): SimSide {
  return side === "BUY" ? "SELL" : "BUY";
}

export function sideSign(side: SimSide): 1 | -1 {
  return side === "BUY" ? 1 : -1;
}

export function createAccountState(options: SimAccountOptions, fees: { taker: number; maker: number }): AccountState {
  return {
    accountId: options.accountId,
    hedgeMode: options.hedgeMode ?? false,
    walletE12: 0n,
    spotE12: 0n,
    takerFeeMilliBps: options.takerFeeMilliBps ?? fees.taker,
    makerFeeMilliBps: options.makerFeeMilliBps ?? fees.maker,
    positions: new Map(),
    tag: options.tag,
    leverages: new Map(),
    marginModes: new Map(),
    openOrders: new Map(),
    orders: new Map(),
    byClientId: new Map(),
    fills: [],
    income: [],
  };
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
