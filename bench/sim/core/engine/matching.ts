/**
 * The order engine: takes orders, changes and the house's quotes, and settles what follows from them. Everything that
 * an order causes has happened when `place` returns. Invariant: a reduce-only order never turns or enlarges a position.
 */
import { Crossing } from "./crossing.js";
import type { MatchingDeps, SymbolState } from "./engine-deps.js";
import { isOnGrid } from "../model/fixed.js";
import { checkMargin, checkOrder, mustReduce } from "./order-checks.js";
import { type OrderOrigin, OrderRegistry } from "./order-registry.js";
import type { AccountState, OrderState } from "../model/state.js";
import { watchTrigger } from "./triggers.js";
import type { SimOrderRequest, SimResult, SimSide } from "../model/types.js";

/** A cascade of triggers longer than this waits for the next step. */
const TRIGGER_ROUNDS_MAX = 100;

export class Matching {
  readonly orders: OrderRegistry;
  readonly #deps: MatchingDeps;
  readonly #crossing: Crossing;

  constructor(deps: MatchingDeps) {
    this.#deps = deps;
    this.orders = new OrderRegistry(deps);
    this.#crossing = new Crossing(deps, this.orders);
  }

  /* ---------------------------------------------------------------- user orders */

  place(account: AccountState, request: SimOrderRequest, origin: OrderOrigin = "USER"): SimResult<OrderState> {
    const refusal = origin === "USER" ? checkOrder(this.#deps, account, request) : null;
    if (refusal !== null) return { ok: false, reason: refusal };
    const order = this.orders.create(account, request, origin);
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
    this.orders.end(order, "CANCELED", reason);
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
    if (qtyLots <= order.filledLots) this.orders.end(order, "CANCELED", "USER");
    else this.#execute(order);
    this.settle();
    return { ok: true, value: order };
  }

  cancelAll(account: AccountState, symbol: string | null, reason: string): number {
    let count = 0;
    for (const order of [...account.openOrders.values()]) {
      if (symbol !== null && order.symbol !== symbol) continue;
      this.orders.end(order, "CANCELED", reason);
      count++;
    }
    return count;
  }

  /* ---------------------------------------------------------------- the house */

  /** Anonymous taker flow. Returns what was filled. */
  houseTake(symbol: string, side: SimSide, limitTicks: number | null, qtyLots: number): number {
    const left = this.#crossing.match(this.#state(symbol), { order: null, side, limitTicks }, qtyLots);
    this.settle();
    return qtyLots - left;
  }

  /** Anonymous maker: takes crossing users first; crossing house quotes are stale and withdrawn. */
  houseQuote(symbol: string, side: SimSide, priceTicks: number, qtyLots: number): void {
    const state = this.#state(symbol);
    const left = this.#crossing.match(state, { order: null, side, limitTicks: priceTicks }, qtyLots, true);
    if (left > 0) state.book.add(side, priceTicks, left, null);
    this.settle();
  }

  /* ---------------------------------------------------------------- after each action */

  /** Ends reduce-only orders without a position and fires triggers until nothing more happens. */
  settle(): void {
    const { touched } = this.#crossing;
    for (let round = 0; round < TRIGGER_ROUNDS_MAX; round++) {
      for (let item = touched.pop(); item !== undefined; item = touched.pop())
        this.#sweepReduceOnly(item.account, item.symbol);
      if (!this.#fireTriggers() && touched.length === 0) return;
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
    if (reduces && reducible === 0) this.orders.endReduceOnly(order);
    else if (!reduces && checkMargin(this.#deps, order.account, state, order, openLots) !== null) {
      this.orders.end(order, "EXPIRED", "MARGIN");
    } else this.#execute(order);
  }

  /* ---------------------------------------------------------------- matching */

  #execute(order: OrderState): void {
    const reason = this.#takeAndRest(order);
    if (reason === "REDUCE_ONLY") this.orders.endReduceOnly(order);
    else if (reason !== null) this.orders.end(order, "EXPIRED", reason);
  }

  /** Returns null when the order has filled or rests, else why it ends here. */
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
    const left = this.#crossing.match(state, { order, side, limitTicks: limit }, wanted);
    if (left === 0 || !order.account.openOrders.has(order.orderId)) return null;
    if (order.type === "MARKET") return limit === null ? "IOC" : "BAND";
    if (timeInForce === "IOC" || timeInForce === "FOK") return "IOC";
    if (limit === null) throw new RangeError("a limit order without price");
    order.resting = state.book.add(side, limit, left, order);
    return null;
  }

  /* ---------------------------------------------------------------- helpers */

  #sweepReduceOnly(account: AccountState, symbol: string): void {
    for (const order of [...account.openOrders.values()]) {
      if (order.symbol !== symbol || order.resting === null || !mustReduce(account, order)) continue;
      const reducible = this.#deps.ledger.reducibleLots(account, symbol, order.side, order.positionSide);
      if (reducible === 0) this.orders.endReduceOnly(order);
    }
  }

  #state(symbol: string): SymbolState {
    const state = this.#deps.symbols.get(symbol);
    if (state === undefined) throw new RangeError(`no symbol ${symbol}`);
    return state;
  }
}
