/** Orders from their first event to their last: ids, lookups, and the end that each of them has exactly once. */
import type { MatchingDeps } from "./engine-deps.js";
import type { AccountState, OrderState } from "../model/state.js";
import type { SimOrderRequest, SimOrderStatus } from "../model/types.js";

/** Orders remembered per account; the oldest closed one goes first. */
const ORDERS_MAX = 100_000;

/** `LIQUIDATION` and `ADL` are the engine's own. */
export type OrderOrigin = "USER" | "LIQUIDATION" | "ADL";

export class OrderRegistry {
  readonly byId = new Map<number, OrderState>();
  readonly #deps: MatchingDeps;
  #nextOrderId: number;

  constructor(deps: MatchingDeps) {
    this.#deps = deps;
    this.#nextOrderId = deps.firstOrderId;
  }

  create(account: AccountState, request: SimOrderRequest, origin: OrderOrigin): OrderState {
    const nowMs = this.#deps.nowMs();
    const order: OrderState = {
      orderId: this.#deps.nextOrderId?.() ?? this.#nextOrderId++,
      accountId: account.accountId,
      account,
      symbol: request.symbol,
      side: request.side,
      type: request.type,
      timeInForce: request.type === "MARKET" ? "IOC" : request.timeInForce,
      priceTicks: request.priceTicks,
      requestedLots: request.qtyLots,
      qtyLots: request.qtyLots,
      filledLots: 0,
      filledNotionalE12: 0n,
      feeE12: 0n,
      status: "NEW",
      reduceOnly: request.reduceOnly,
      closePosition: request.closePosition,
      positionSide: request.positionSide,
      clientId: request.clientId,
      trigger: request.trigger,
      triggered: request.trigger === null,
      endReason: null,
      origin,
      createdMs: nowMs,
      updatedMs: nowMs,
      fills: [],
      tag: request.tag,
      resting: null,
      extremeTicks: null,
    };
    this.#remember(order);
    this.#deps.listeners.order(order, "NEW", null);
    return order;
  }

  /** Ends an order by something else than its last fill, and takes what rests of it out of the book. */
  end(order: OrderState, status: SimOrderStatus, reason: string): void {
    const state = this.#deps.symbols.get(order.symbol);
    if (state === undefined) throw new RangeError(`no symbol ${order.symbol}`);
    state.triggers.delete(order);
    this.close(order);
    if (order.resting !== null) {
      state.book.remove(order.resting);
      order.resting = null;
    }
    order.status = status;
    order.endReason = reason;
    order.updatedMs = this.#deps.nowMs();
    this.#deps.listeners.order(order, status === "CANCELED" ? "CANCELED" : "EXPIRED", null);
  }

  /** The position of a reduce-only order is gone: the venue's policy names the end. */
  endReduceOnly(order: OrderState): void {
    const isClamping = this.#deps.policies.reduceOnlyExcess === "clamp";
    this.end(order, isClamping ? "CANCELED" : "EXPIRED", "REDUCE_ONLY");
  }

  /** The order is open no more. */
  close(order: OrderState): void {
    order.account.openOrders.delete(order.orderId);
    if (order.status === "FILLED") order.resting = null;
  }

  #remember(order: OrderState): void {
    const { account } = order;
    this.byId.set(order.orderId, order);
    account.orders.set(order.orderId, order);
    account.openOrders.set(order.orderId, order);
    if (order.clientId !== null) account.byClientId.set(order.clientId, order);
    if (account.orders.size > ORDERS_MAX) this.#forgetOldest(account);
  }

  #forgetOldest(account: AccountState): void {
    for (const order of account.orders.values()) {
      if (account.openOrders.has(order.orderId)) continue;
      account.orders.delete(order.orderId);
      this.byId.delete(order.orderId);
      if (order.clientId !== null && account.byClientId.get(order.clientId) === order)
        account.byClientId.delete(order.clientId);
      return;
    }
  }
}
