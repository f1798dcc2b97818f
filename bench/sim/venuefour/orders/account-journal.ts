/**
 * What happened to the accounts, in the venue's own numbers: one row per event of an order, history ids of fills and
 * payments, the opening of positions. Invariants: history ids only grow, over all accounts; the sequence number `li` of
 * a private channel never falls; what an order's own arrival causes carries the order's id.
 */
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimAccount, SimFill, SimIncome, SimOrder, SimOrderEvent, SimPosition } from "../../core/model/types.js";
import type { Row } from "../market/market-view.js";
import { orderEventRow, orderUpdateRow, accountTradeRow, type PositionBirth } from "./order-view.js";

/** One event of an order, for the streams. */
export interface JournalEvent {
  readonly accountId: string;
  readonly orderId: number;
  readonly update: Row;
  /** Null without a fill. */
  readonly trade: Row | null;
}

/** As captured: ids of fills and order events count apart from order ids. */
const FIRST_HISTORY_ID = 641_452_000;
/** Orders whose events are remembered, and events of one; the oldest go. */
const ORDERS_MAX = 100_000;
const EVENTS_PER_ORDER_MAX = 500;
/** Events waiting to be sent; overflow drops the oldest. */
const WAITING_MAX = 50_000;

export class AccountJournal {
  readonly #exchange: SimExchange;
  readonly #walletOf: (accountId: string) => string;
  readonly #orderEvents = new Map<number, { readonly row: Row; readonly tsMs: number }[]>();
  readonly #fillIds = new WeakMap<SimFill, number>();
  readonly #paymentIds = new WeakMap<SimIncome, number>();
  readonly #births = new Map<string, PositionBirth>();
  readonly #lastLi = new Map<string, number>();
  #waiting: JournalEvent[] = [];
  /** Accounts whose positions changed since the last call. */
  readonly #moved = new Set<string>();
  #historyId = FIRST_HISTORY_ID;
  /** The order that is being placed: its own events share its id. */
  #arriving: number | null = null;

  constructor(exchange: SimExchange, walletOf: (accountId: string) => string) {
    this.#exchange = exchange;
    this.#walletOf = walletOf;
    exchange.addListener({
      onOrder: (order, event, fill) => this.#onOrder(order, event, fill),
      onAccount: (account, _cause, positions) => this.#onAccount(account, positions),
      onFunding: (income) => this.paymentId(income),
    });
  }

  /** Ends the arrival of a new order: what happens from here on has numbers of its own. */
  settled(): void {
    this.#arriving = null;
  }

  /** What happened since the last call, in order. */
  takeEvents(): readonly JournalEvent[] {
    const events = this.#waiting;
    this.#waiting = [];
    return events;
  }

  takeMoved(): readonly string[] {
    const moved = [...this.#moved];
    this.#moved.clear();
    return moved;
  }

  /** Newest first; only what is older than `lagMs`. */
  orderEvents(orderId: number, lagMs: number): readonly Row[] {
    const untilMs = this.#exchange.nowMs() - lagMs;
    const events = this.#orderEvents.get(orderId) ?? [];
    return events
      .filter((event) => event.tsMs <= untilMs)
      .map((event) => event.row)
      .reverse();
  }

  fillId(fill: SimFill): number {
    return this.#idOf(this.#fillIds, fill);
  }

  paymentId(income: SimIncome): number {
    return this.#idOf(this.#paymentIds, income);
  }

  birth(position: SimPosition): PositionBirth {
    const key = `${position.accountId}|${position.symbol}`;
    return this.#births.get(key) ?? { openedMs: position.updatedMs, fundingBeforeE12: 0n };
  }

  /** The newest number of an account's private channels. */
  li(accountId: string): number {
    const li = Math.max(this.#lastLi.get(accountId) ?? 0, this.#exchange.market.engineSeq());
    this.#lastLi.set(accountId, li);
    return li;
  }

  #onOrder(order: SimOrder, event: SimOrderEvent, fill: SimFill | null): void {
    const instrument = this.#exchange.instruments.get(order.symbol);
    if (instrument === undefined) return;
    const nowMs = this.#exchange.nowMs();
    if (event === "NEW") this.#arriving = order.orderId;
    const li =
      this.#arriving === order.orderId
        ? Math.max(order.orderId, this.#lastLi.get(order.accountId) ?? 0)
        : this.li(order.accountId);
    this.#lastLi.set(order.accountId, li);
    const historyId = fill === null ? ++this.#historyId : this.fillId(fill);
    this.#remember(order.orderId, orderEventRow(order, instrument, event, fill, historyId, nowMs), nowMs);
    const wallet = this.#walletOf(order.accountId);
    if (this.#waiting.length >= WAITING_MAX) this.#waiting.shift();
    this.#waiting.push({
      accountId: order.accountId,
      orderId: order.orderId,
      update: orderUpdateRow(order, instrument, event, fill, wallet, li),
      trade: fill === null ? null : accountTradeRow(fill, instrument, historyId, wallet, li),
    });
  }

  #onAccount(account: SimAccount, positions: readonly SimPosition[]): void {
    this.#moved.add(account.accountId);
    for (const position of positions) {
      const key = `${position.accountId}|${position.symbol}`;
      const sign = Math.sign(position.qtyLots);
      if (sign === 0) this.#births.delete(key);
      else if (!this.#births.has(key)) {
        this.#births.set(key, { openedMs: this.#exchange.nowMs(), fundingBeforeE12: position.cumFundingE12 });
      }
    }
  }

  #remember(orderId: number, row: Row, tsMs: number): void {
    const events = this.#orderEvents.get(orderId) ?? [];
    if (events.length >= EVENTS_PER_ORDER_MAX) events.shift();
    events.push({ row, tsMs });
    this.#orderEvents.set(orderId, events);
    if (this.#orderEvents.size <= ORDERS_MAX) return;
    const oldest = this.#orderEvents.keys().next();
    if (oldest.done === false) this.#orderEvents.delete(oldest.value);
  }

  #idOf<T extends object>(ids: WeakMap<T, number>, item: T): number {
    const known = ids.get(item);
    if (known !== undefined) return known;
    this.#historyId++;
    ids.set(item, this.#historyId);
    return this.#historyId;
  }
}
