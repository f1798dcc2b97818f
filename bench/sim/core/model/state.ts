/** The engine's own mutable records behind the read-only types of types.ts. Only engine files of this folder write them. */
import type {
  SimAccount,
  SimAccountOptions,
  SimFill,
  SimIncome,
  SimMarginMode,
  SimOrder,
  SimPosition,
  SimPositionSide,
  SimSide,
} from "./types.js";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Quantity that rests in a book. */
export interface Resting {
  readonly side: SimSide;
  readonly priceTicks: number;
  lots: number;
  /** Null for the house. */
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
