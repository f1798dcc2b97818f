/**
 * What follows from the core's events: states of the venue's orders, sides of prints, and the effects that one order
 * has on another (pairs that cancel each other, children of a filled parent, orders tied to a position, expiry).
 * Effects wait until the core has finished; `settle` carries them out and then lets the streams publish everything.
 */
import type { SimExchange } from "../../core/engine/exchange.js";
import type {
  SimAccount,
  SimAccountCause,
  SimFill,
  SimIncome,
  SimOrder,
  SimOrderEvent,
  SimPosition,
  SimTrade,
} from "../../core/model/types.js";
import type { SimRequestLog } from "../../core/server/request-log.js";
import type { Accounts, VenueAccount } from "../records/accounts.js";
import type { Listing } from "../records/listing.js";
import { endStatusOf } from "./order-view.js";
import type { OrderDesk, TradingMarket, VenueOrder } from "./orders.js";
import { launch, positionLots, tiedOrders } from "./placement.js";
import type { TradeBook, TradeSides } from "./trade-sides.js";

/** What the streams publish. Called in the order of events; `flush` ends a round. */
export interface EventListener {
  onPrint(account: VenueAccount, print: TradeSides): void;
  onPosition(account: VenueAccount, marketId: number): void;
  onCash(account: VenueAccount): void;
  onLiquidated(account: VenueAccount, order: VenueOrder): void;
  flush(): void;
}

export interface OrderEventsDeps {
  readonly exchange: SimExchange;
  readonly accounts: Accounts;
  readonly listing: Listing;
  readonly orders: OrderDesk;
  readonly prints: TradeBook;
  readonly log: SimRequestLog;
  readonly listener: EventListener;
}

/** Longest chain of effects of effects in one round. */
const ROUNDS_MAX = 100;
const LIQUIDATION_TYPE = 8;

export class OrderEvents {
  readonly #deps: OrderEventsDeps;
  readonly #endedNow: VenueOrder[] = [];
  readonly #closedNow: { readonly account: VenueAccount; readonly symbol: string }[] = [];
  readonly #costs = new Map<string, bigint>();
  /** Set while a trigger is replaced: the end of this core order is not the end of the venue's order. */
  #replacing: SimOrder | null = null;
  #isSettling = false;

  constructor(deps: OrderEventsDeps) {
    this.#deps = deps;
  }

  onTrade(trade: SimTrade): void {
    this.#deps.prints.onTrade(trade);
  }

  onOrder(core: SimOrder, event: SimOrderEvent, fill: SimFill | null): void {
    if (core === this.#replacing) return;
    const order = this.#orderOf(core);
    if (order === null) return;
    const { orders, prints, listener, exchange } = this.#deps;
    if (event === "NEW") {
      order.core = core;
      order.state = "live";
    }
    if (event === "TRIGGERED") order.triggeredMs = exchange.nowMs();
    if (fill !== null) {
      const cost = this.#costs.get(costKey(core.accountId, core.symbol)) ?? 0n;
      listener.onPrint(order.account, prints.onFill(order, fill, cost));
    }
    if (event === "TRADE" && core.status !== "FILLED") orders.touch(order);
    else if (event === "NEW" || event === "TRIGGERED" || event === "AMENDED") orders.touch(order);
    else {
      orders.end(order, this.#endStatus(order));
      this.#endedNow.push(order);
      if (core.origin === "LIQUIDATION") listener.onLiquidated(order.account, order);
    }
  }

  onAccount(account: SimAccount, _cause: SimAccountCause, positions: readonly SimPosition[]): void {
    const venueAccount = this.#deps.accounts.byId(account.accountId);
    if (venueAccount === null) return;
    for (const position of positions) {
      const key = costKey(account.accountId, position.symbol);
      const before = this.#costs.get(key) ?? 0n;
      this.#costs.set(key, position.costE12);
      const market = this.#deps.listing.bySymbol.get(position.symbol);
      if (market !== undefined) this.#deps.listener.onPosition(venueAccount, market.marketId);
      // Flat, or on the other side now.
      const isOver = position.qtyLots === 0 || (before !== 0n && before > 0n !== position.costE12 > 0n);
      if (isOver) this.#closedNow.push({ account: venueAccount, symbol: position.symbol });
    }
    this.#deps.listener.onCash(venueAccount);
  }

  onFunding(income: SimIncome): void {
    const account = this.#deps.accounts.byId(income.accountId);
    const market = income.symbol === null ? undefined : this.#deps.listing.bySymbol.get(income.symbol);
    if (account !== null && market !== undefined) this.#deps.listener.onPosition(account, market.marketId);
  }

  /** The core's order behind a waiting trigger is replaced by `action`. */
  replacing<T>(order: VenueOrder, action: () => T): T {
    this.#replacing = order.core;
    try {
      return action();
    } finally {
      this.#replacing = null;
    }
  }

  /** Ends what has no order in the core. */
  endWaiting(order: VenueOrder, status: string): void {
    this.#deps.orders.end(order, status);
    this.#endedNow.push(order);
  }

  settle(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    try {
      for (let round = 0; round < ROUNDS_MAX && this.#hasWork(); round++) {
        for (const order of this.#endedNow.splice(0)) this.#afterEnd(order);
        for (const { account, symbol } of this.#closedNow.splice(0)) this.#afterClose(account, symbol);
      }
    } finally {
      this.#isSettling = false;
    }
    this.#deps.listener.flush();
  }

  /** Once per market step: orders whose time is over. */
  onStep(nowMs: number): void {
    const { accounts, orders } = this.#deps;
    for (const account of accounts.byIndex.values()) {
      for (const order of orders.open(account)) {
        const { orderExpiry } = order.fields;
        if (orderExpiry !== 0 && orderExpiry <= nowMs) this.cancel(order, "EXPIRED");
      }
    }
    this.settle();
  }

  /** Cancels an open order, with or without a core order behind it. `reason` is the core's word. */
  cancel(order: VenueOrder, reason: string): void {
    if (order.state === "live" && order.core !== null)
      this.#deps.exchange.orders.cancel(order.account.id, order.core.orderId, reason);
    else if (order.state === "waiting") this.endWaiting(order, WAITING_ENDS.get(reason) ?? "canceled");
  }

  #hasWork(): boolean {
    return this.#endedNow.length > 0 || this.#closedNow.length > 0;
  }

  #afterEnd(order: VenueOrder): void {
    const filledLots = order.core?.filledLots ?? 0;
    if (order.sibling !== null && order.sibling.state !== "ended") this.cancel(order.sibling, "OCO");
    for (const child of order.children) {
      if (child.state !== "waiting") continue;
      if (filledLots === 0) this.endWaiting(child, "canceled-child");
      else this.#start(child);
    }
  }

  #start(child: VenueOrder): void {
    const { exchange, log } = this.#deps;
    const placed = launch(exchange, child);
    if (placed.ok) log.executed(child.logIndex, placed.value.orderId);
    else this.endWaiting(child, "canceled-child");
  }

  #afterClose(account: VenueAccount, symbol: string): void {
    const { exchange, orders } = this.#deps;
    const held = positionLots(exchange, account.id, symbol);
    for (const order of tiedOrders(orders.open(account), symbol)) {
      const reduces = held !== 0 && (order.fields.isAsk === 1) === held > 0;
      if (!reduces) this.cancel(order, "REDUCE_ONLY");
    }
  }

  #endStatus(order: VenueOrder): string {
    const status = endStatusOf(order);
    if (status !== "canceled-too-much-slippage") return status;
    const { exchange } = this.#deps;
    const { symbol } = order.market;
    const far = order.fields.isAsk === 1 ? exchange.market.bestBid(symbol) : exchange.market.bestAsk(symbol);
    return far === null ? "canceled-not-enough-liquidity" : status;
  }

  /** Orders that the venue sends itself get their place when they first show. */
  #orderOf(core: SimOrder): VenueOrder | null {
    const { accounts, listing, orders } = this.#deps;
    if (core.tag !== undefined) return core.tag as VenueOrder;
    const known = this.#ofVenue.get(core);
    if (known !== undefined) return known;
    const account = accounts.byId(core.accountId);
    const market = listing.bySymbol.get(core.symbol);
    if (account === null || market === undefined || market.instrument === null) return null;
    const created = orders.create({
      account,
      market: market as TradingMarket,
      fields: {
        marketIndex: market.marketId,
        clientOrderIndex: 0,
        baseAmount: core.requestedLots,
        price: core.priceTicks ?? 0,
        isAsk: core.side === "SELL" ? 1 : 0,
        type: core.origin === "USER" ? 0 : LIQUIDATION_TYPE,
        timeInForce: core.timeInForce === "GTC" ? 1 : core.timeInForce === "POST_ONLY" ? 2 : 0,
        reduceOnly: core.reduceOnly ? 1 : 0,
        triggerPrice: core.trigger?.triggerTicks ?? 0,
        orderExpiry: 0,
      },
      txHash: null,
    });
    this.#ofVenue.set(core, created);
    return created;
  }

  /** Core orders without a transaction: liquidations, and orders of tests that trade without the protocol. */
  readonly #ofVenue = new WeakMap<SimOrder, VenueOrder>();
}

const WAITING_ENDS: ReadonlyMap<string, string> = new Map([
  ["EXPIRED", "canceled-expired"],
  ["OCO", "canceled-oco"],
]);

function costKey(accountId: string, symbol: string): string {
  return `${accountId}/${symbol}`;
}
