/**
 * The order engine: checks, price-time matching, triggers, and the end of orders. Everything an order causes has happened
 * when `place` returns. Invariants: filled ≤ ordered; a reduce-only order never turns or enlarges a position,
 * also when it rested while the position changed; each order ends exactly once.
 */
import type { MatchingDeps, SymbolState } from "./engine-deps.js";
import { isOnGrid } from "../model/fixed.js";
import { checkMargin, checkOrder, mustReduce } from "./order-checks.js";
import { type AccountState, type OrderState, oppositeSide, positionKey } from "../model/state.js";
import { watchTrigger } from "./triggers.js";
import type { SimOrderRequest, SimOrderStatus, SimResult, SimSide, SimTrade } from "../model/types.js";

/** Orders remembered per account; the oldest closed one goes first. */
const ORDERS_MAX = 100_000;
/** A cascade of triggers longer than this waits for the next step. */
const TRIGGER_ROUNDS_MAX = 100;

interface Taker {
  /** Null when the house. */
  readonly order: OrderState | null;
  readonly side: SimSide;
  readonly limitTicks: number | null;
}

export class Matching {
  readonly orders = new Map<number, OrderState>();
  readonly #deps: MatchingDeps;
  #nextOrderId: number;
  #takerId = 1;
  /** Accounts whose position changed in the running match: their reduce-only orders are looked over after it. */
  readonly #touched: { account: AccountState; symbol: string }[] = [];

  constructor(deps: MatchingDeps) {
    this.#deps = deps;
    this.#nextOrderId = deps.firstOrderId;
  }

  /* ---------------------------------------------------------------- user orders */

  place(
    account: AccountState,
    request: SimOrderRequest,
    origin: "USER" | "LIQUIDATION" | "ADL" = "USER",
  ): SimResult<OrderState> {
    const refusal = origin === "USER" ? checkOrder(this.#deps, account, request) : null;
    if (refusal !== null) return { ok: false, reason: refusal };
    const order = this.#create(account, request, origin);
    this.#deps.listeners.order(order, "NEW", null);
    if (order.trigger !== null) {
      const state = this.#state(order.symbol);
      state.triggers.add(order);
      this.#watch(state, order);
    } else this.#execute(order);
    this.settle();
    return { ok: true, value: order };
  }

  cancel(account: AccountState, orderId: number, reason: string): SimResult<OrderState> {
    const order = account.openOrders.get(orderId);
    if (order === undefined) return { ok: false, reason: "NOT_FOUND" };
    this.#end(order, "CANCELED", reason);
    return { ok: true, value: order };
  }

  amend(account: AccountState, orderId: number, qtyLots: number, priceTicks: number): SimResult<OrderState> {
    const order = account.openOrders.get(orderId);
    if (order === undefined || order.type !== "LIMIT" || order.resting === null)
      return { ok: false, reason: "NOT_FOUND" };
    const state = this.#state(order.symbol);
    if (!Number.isSafeInteger(qtyLots) || qtyLots <= 0 || qtyLots % state.instrument.qtyStepLots !== 0)
      return { ok: false, reason: "BAD_QTY" };
    if (!Number.isSafeInteger(priceTicks) || priceTicks <= 0 || !isOnGrid(state.instrument, priceTicks))
      return { ok: false, reason: "BAD_PRICE" };
    if (order.priceTicks === priceTicks && order.requestedLots === qtyLots) return { ok: false, reason: "NO_CHANGE" };
    if (mustReduce(account, order) && this.#deps.policies.reduceOnlyExcess === "reject") {
      const reducible = this.#deps.ledger.reducibleLots(account, order.symbol, order.side, order.positionSide);
      if (qtyLots - order.filledLots > reducible) return { ok: false, reason: "REDUCE_ONLY" };
    }
    const keepsPriority = order.priceTicks === priceTicks && qtyLots < order.qtyLots && qtyLots > order.filledLots;
    const shrinkLots = order.qtyLots - qtyLots;
    order.requestedLots = qtyLots;
    order.qtyLots = qtyLots;
    order.priceTicks = priceTicks;
    order.updatedMs = this.#deps.nowMs();
    if (keepsPriority) {
      state.book.reduce(order.resting, shrinkLots);
      this.#deps.listeners.order(order, "AMENDED", null);
      return { ok: true, value: order };
    }
    state.book.remove(order.resting);
    order.resting = null;
    this.#deps.listeners.order(order, "AMENDED", null);
    if (qtyLots <= order.filledLots) this.#end(order, "CANCELED", "USER");
    else this.#execute(order);
    this.settle();
    return { ok: true, value: order };
  }

  cancelAll(account: AccountState, symbol: string | null, reason: string): number {
    let count = 0;
    for (const order of [...account.openOrders.values()]) {
      if (symbol !== null && order.symbol !== symbol) continue;
      this.#end(order, "CANCELED", reason);
      count++;
    }
    return count;
  }

  /* ---------------------------------------------------------------- the house */

  /** Anonymous taker flow. Returns what was filled. */
  houseTake(symbol: string, side: SimSide, limitTicks: number | null, qtyLots: number): number {
    const left = this.#match(this.#state(symbol), { order: null, side, limitTicks }, qtyLots);
    this.settle();
    return qtyLots - left;
  }

  /** Anonymous maker: takes crossing users first; crossing house quotes are stale and withdrawn. */
  houseQuote(symbol: string, side: SimSide, priceTicks: number, qtyLots: number): void {
    const state = this.#state(symbol);
    const left = this.#match(state, { order: null, side, limitTicks: priceTicks }, qtyLots, true);
    if (left > 0) state.book.add(side, priceTicks, left, null);
    this.settle();
  }

  /* ---------------------------------------------------------------- after each action */

  /** Ends reduce-only orders without a position and fires triggers, until nothing more happens. */
  settle(): void {
    for (let round = 0; round < TRIGGER_ROUNDS_MAX; round++) {
      for (let item = this.#touched.pop(); item !== undefined; item = this.#touched.pop())
        this.#sweepReduceOnly(item.account, item.symbol);
      if (!this.#fireTriggers() && this.#touched.length === 0) return;
    }
  }

  #fireTriggers(): boolean {
    let fired = false;
    for (const state of this.#deps.symbols.values()) {
      if (state.triggers.size === 0) continue;
      for (const order of [...state.triggers]) {
        if (state.triggers.has(order) && this.#watch(state, order)) {
          this.#fire(state, order);
          fired = true;
        }
      }
    }
    return fired;
  }

  #watch(state: SymbolState, order: OrderState): boolean {
    return watchTrigger(state, order, this.#deps.markE8(order.symbol));
  }

  #fire(state: SymbolState, order: OrderState): void {
    state.triggers.delete(order);
    order.triggered = true;
    order.updatedMs = this.#deps.nowMs();
    const reducible = this.#deps.ledger.reducibleLots(order.account, order.symbol, order.side, order.positionSide);
    if (order.closePosition) {
      order.qtyLots = reducible;
      order.requestedLots = reducible;
    }
    this.#deps.listeners.order(order, "TRIGGERED", null);
    const reduces = mustReduce(order.account, order);
    const openLots = Math.max(0, order.qtyLots - reducible);
    if (reduces && reducible === 0) this.#end(order, this.#reduceOnlyEnd(), "REDUCE_ONLY");
    else if (!reduces && checkMargin(this.#deps, order.account, state, order, openLots) !== null) {
      this.#end(order, "EXPIRED", "MARGIN");
    } else this.#execute(order);
  }

  /* ---------------------------------------------------------------- matching */

  #execute(order: OrderState): void {
    const reason = this.#takeAndRest(order);
    if (reason !== null) this.#end(order, reason === "REDUCE_ONLY" ? this.#reduceOnlyEnd() : "EXPIRED", reason);
  }

  /** Null when the order has filled or rests, else why it ends here. */
  #takeAndRest(order: OrderState): string | null {
    const state = this.#state(order.symbol);
    const limit = order.priceTicks;
    let wanted = order.qtyLots - order.filledLots;
    if (mustReduce(order.account, order)) {
      const reducible = this.#deps.ledger.reducibleLots(order.account, order.symbol, order.side, order.positionSide);
      if (reducible === 0) return "REDUCE_ONLY";
      if (wanted > reducible) {
        order.qtyLots -= wanted - reducible;
        wanted = reducible;
      }
    }
    const { side, timeInForce } = order;
    const isPostOnly = order.type === "LIMIT" && timeInForce === "POST_ONLY";
    if (isPostOnly && state.book.takeable(side, limit, 1) > 0) return "POST_ONLY";
    if (timeInForce === "FOK" && state.book.takeable(side, limit, wanted) < wanted) return "FOK";
    const left = this.#match(state, { order, side, limitTicks: limit }, wanted);
    if (left === 0 || !order.account.openOrders.has(order.orderId)) return null;
    if (order.type === "MARKET") return limit === null ? "IOC" : "BAND";
    if (timeInForce === "IOC" || timeInForce === "FOK") return "IOC";
    if (limit === null) throw new RangeError("a limit order without price");
    order.resting = state.book.add(side, limit, left, order);
    return null;
  }

  /** Returns what could not be filled. `quoting`: crossing house makers are withdrawn instead of traded with. */
  #match(state: SymbolState, taker: Taker, wantedLots: number, quoting = false): number {
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
      if (maker.owner !== null && !this.#prepareMaker(maker.owner, taker)) continue;
      const qtyLots = Math.min(left, maker.lots);
      this.#trade(state, taker, maker.owner, maker.priceTicks, qtyLots, takerId, () => book.reduce(maker, qtyLots));
      left -= qtyLots;
    }
    return left;
  }

  /** Self-trade rule and reduce-only clamp of a resting order about to trade; false when it was taken out. */
  #prepareMaker(maker: OrderState, taker: Taker): boolean {
    if (this.#deps.policies.selfTrade === "cancelResting" && taker.order?.account === maker.account) {
      this.#end(maker, "CANCELED", "SELF_TRADE");
      return false;
    }
    if (!mustReduce(maker.account, maker)) return true;
    const reducible = this.#deps.ledger.reducibleLots(maker.account, maker.symbol, maker.side, maker.positionSide);
    if (reducible === 0) {
      this.#end(maker, this.#reduceOnlyEnd(), "REDUCE_ONLY");
      return false;
    }
    this.#shrink(maker, reducible);
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
    if (order.status === "FILLED") this.#close(order);
    this.#deps.listeners.order(order, "TRADE", fill);
    const position = account.positions.get(positionKey(order.symbol, order.positionSide));
    this.#deps.listeners.account(account, "ORDER", position === undefined ? [] : [position]);
    this.#touched.push({ account, symbol: order.symbol });
  }

  /* ---------------------------------------------------------------- helpers */

  #sweepReduceOnly(account: AccountState, symbol: string): void {
    for (const order of [...account.openOrders.values()]) {
      if (order.symbol !== symbol || order.resting === null || !mustReduce(account, order)) continue;
      const reducible = this.#deps.ledger.reducibleLots(account, symbol, order.side, order.positionSide);
      if (reducible === 0) this.#end(order, this.#reduceOnlyEnd(), "REDUCE_ONLY");
    }
  }

  #shrink(order: OrderState, toLots: number): void {
    if (order.resting === null || order.resting.lots <= toLots) return;
    const excess = order.resting.lots - toLots;
    this.#state(order.symbol).book.reduce(order.resting, excess);
    order.qtyLots -= excess;
  }

  #reduceOnlyEnd(): SimOrderStatus {
    return this.#deps.policies.reduceOnlyExcess === "clamp" ? "CANCELED" : "EXPIRED";
  }

  #create(account: AccountState, request: SimOrderRequest, origin: "USER" | "LIQUIDATION" | "ADL"): OrderState {
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
    this.orders.set(order.orderId, order);
    account.orders.set(order.orderId, order);
    account.openOrders.set(order.orderId, order);
    if (order.clientId !== null) account.byClientId.set(order.clientId, order);
    if (account.orders.size > ORDERS_MAX) this.#forgetOldest(account);
    return order;
  }

  #forgetOldest(account: AccountState): void {
    for (const order of account.orders.values()) {
      if (account.openOrders.has(order.orderId)) continue;
      account.orders.delete(order.orderId);
      this.orders.delete(order.orderId);
      if (order.clientId !== null && account.byClientId.get(order.clientId) === order)
        account.byClientId.delete(order.clientId);
      return;
    }
  }

  #end(order: OrderState, status: SimOrderStatus, reason: string): void {
    const state = this.#state(order.symbol);
    state.triggers.delete(order);
    this.#close(order);
    if (order.resting !== null) {
      state.book.remove(order.resting);
      order.resting = null;
    }
    order.status = status;
    order.endReason = reason;
    order.updatedMs = this.#deps.nowMs();
    this.#deps.listeners.order(order, status === "CANCELED" ? "CANCELED" : "EXPIRED", null);
  }

  #close(order: OrderState): void {
    order.account.openOrders.delete(order.orderId);
    if (order.status === "FILLED") order.resting = null;
  }

  #state(symbol: string): SymbolState {
    const state = this.#deps.symbols.get(symbol);
    if (state === undefined) throw new RangeError(`no symbol ${symbol}`);
    return state;
  }
}
