/**
 * Executes orders of callers whose signature has been checked, fact sheet section 6. Each method returns the venue's
 * answer or throws its refusal; a refusal changes nothing.
 */
import { parseSafe, pow10 } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimInstrument, SimOrder, SimOrderRequest, SimSide } from "../../core/model/types.js";
import type { VenuefourContext } from "./context.js";
import { refuseBody, refuseBusiness } from "../wire/errors.js";
import type { Fields } from "../wire/operations.js";
import { type Caller, OrderChecks, sideOf, textOrNull } from "./order-checks.js";
import { enterOrder } from "./order-entry.js";
import type { OrderTag, OrderWord } from "./order-view.js";
import { TriggerDesk } from "./trigger-desk.js";

/** Slippage of a market order: a percentage with this many decimals, above zero and at most a hundred. */
const SLIPPAGE_DECIMALS = 6;
const SLIPPAGE_MAX = 100 * 10 ** SLIPPAGE_DECIMALS;

export class OrderDesk {
  readonly #context: VenuefourContext;
  readonly #exchange: SimExchange;
  readonly #checks: OrderChecks;
  /** Orders that wait for a price, and the protection of positions. */
  readonly triggers: TriggerDesk;

  constructor(context: VenuefourContext) {
    this.#context = context;
    this.#exchange = context.exchange;
    this.#checks = new OrderChecks(context);
    this.triggers = new TriggerDesk(context, this.#checks);
  }

  /* ---------------------------------------------------------------- new orders */

  createMarket(caller: Caller, fields: Fields): SimOrder {
    const instrument = this.#checks.instrument(fields);
    const side = sideOf(fields);
    const lots = this.#checks.lots(instrument, fields.amount);
    const slippage = parseSafe(String(fields.slippage_percent), SLIPPAGE_DECIMALS);
    if (slippage === null || slippage <= 0 || slippage > SLIPPAGE_MAX)
      throw refuseBody("slippage_percent: out of range");
    const { symbol } = instrument;
    const best = side === "BUY" ? this.#exchange.market.bestAsk(symbol) : this.#exchange.market.bestBid(symbol);
    if (best === null)
      throw refuseBusiness("noReasonablePrice", `No reasonable price for ${symbol}`, this.#context.quirks);
    const children = this.triggers.childrenOf(caller, instrument, fields);
    const order = this.#place(caller, instrument, {
      ...this.#basics(caller, instrument, fields, lots, best.priceTicks),
      type: "MARKET",
      timeInForce: "IOC",
      priceTicks: bound(instrument, best.priceTicks, side, slippage),
    });
    this.triggers.keepChildren(order, children);
    return order;
  }

  create(caller: Caller, fields: Fields): SimOrder {
    const instrument = this.#checks.instrument(fields);
    const lots = this.#checks.lots(instrument, fields.amount);
    const limitTicks = this.#checks.ticks(instrument, fields.price);
    const { timeInForce, priceTicks } = this.#checks.limitOf(
      instrument,
      sideOf(fields),
      String(fields.tif),
      limitTicks,
    );
    const children = this.triggers.childrenOf(caller, instrument, fields);
    const order = this.#place(caller, instrument, {
      ...this.#basics(caller, instrument, fields, lots, priceTicks),
      type: "LIMIT",
      timeInForce,
      priceTicks,
    });
    this.triggers.keepChildren(order, children);
    return order;
  }

  /** Replaces the old order by a new one: post-only, with the old one's side, flag and client id. */
  edit(caller: Caller, fields: Fields): SimOrder {
    const instrument = this.#checks.instrument(fields);
    const old = this.#open(caller, instrument, fields, false);
    const lots = this.#checks.lots(instrument, fields.amount);
    const priceTicks = this.#checks.ticks(instrument, fields.price);
    if (!old.reduceOnly) this.#checks.checkNotional(caller, instrument, lots, priceTicks);
    if (old.reduceOnly) this.#checks.checkReduceOnly(caller, instrument, old.side, lots);
    this.#exchange.orders.cancel(caller.accountId, old.orderId, "REPLACED");
    const children = this.triggers.takeChildren(old.orderId);
    const order = this.#place(caller, instrument, {
      symbol: instrument.symbol,
      side: old.side,
      type: "LIMIT",
      timeInForce: "POST_ONLY",
      priceTicks,
      qtyLots: lots,
      reduceOnly: old.reduceOnly,
      positionSide: "BOTH",
      clientId: old.clientId,
      trigger: null,
      closePosition: false,
    });
    this.triggers.keepChildren(order, children);
    return order;
  }

  /* ---------------------------------------------------------------- the end of orders */

  cancel(caller: Caller, fields: Fields, isStop: boolean): SimOrder {
    const order = this.#open(caller, this.#checks.instrument(fields), fields, isStop);
    this.#exchange.orders.cancel(caller.accountId, order.orderId);
    this.triggers.takeChildren(order.orderId);
    return order;
  }

  /** Orders that wait for a trigger stay: they have a cancel of their own. */
  cancelAll(caller: Caller, fields: Fields): number {
    const isAll = fields.all_symbols === true;
    if (!isAll && fields.symbol === undefined) throw refuseBody("missing field `symbol`");
    const symbol = isAll ? undefined : this.#checks.instrument(fields).symbol;
    let count = 0;
    for (const order of this.#exchange.orders.open(caller.accountId, symbol)) {
      if (order.trigger !== null && !order.triggered) continue;
      if (order.reduceOnly && fields.exclude_reduce_only === true) continue;
      if (!this.#exchange.orders.cancel(caller.accountId, order.orderId).ok) continue;
      this.triggers.takeChildren(order.orderId);
      count++;
    }
    return count;
  }

  /* ---------------------------------------------------------------- parts */

  /** What market and limit orders share; the checks of the sheet in its order. */
  #basics(
    caller: Caller,
    instrument: SimInstrument,
    fields: Fields,
    qtyLots: number,
    priceTicks: number,
  ): Omit<SimOrderRequest, "type" | "timeInForce" | "priceTicks" | "tag"> {
    const side = sideOf(fields);
    const reduceOnly = fields.reduce_only === true;
    this.#checks.checkClientId(caller, fields.client_order_id);
    if (reduceOnly) this.#checks.checkReduceOnly(caller, instrument, side, qtyLots);
    else this.#checks.checkNotional(caller, instrument, qtyLots, priceTicks);
    return {
      symbol: instrument.symbol,
      side,
      qtyLots,
      reduceOnly,
      positionSide: "BOTH",
      clientId: textOrNull(fields.client_order_id),
      trigger: null,
      closePosition: false,
    };
  }

  #place(caller: Caller, instrument: SimInstrument, request: SimOrderRequest): SimOrder {
    const word: OrderWord = request.type === "MARKET" ? "market" : "limit";
    const tag: OrderTag = {
      word,
      initialTicks: request.priceTicks,
      parentId: null,
      triggerPriceType: null,
      isProtection: false,
    };
    const clientId = request.clientId?.toLowerCase() ?? null;
    return enterOrder(this.#context, this.#checks, caller, instrument, { ...request, clientId, tag });
  }

  #open(caller: Caller, instrument: SimInstrument, fields: Fields, isStop: boolean): SimOrder {
    const { order_id: orderId, client_order_id: clientId } = fields;
    if ((orderId === undefined) === (clientId === undefined))
      throw refuseBody("exactly one of `order_id` and `client_order_id` is expected");
    const order =
      typeof orderId === "number"
        ? this.#exchange.orders.find(orderId)
        : this.#exchange.orders.findByClientId(caller.accountId, String(clientId).toLowerCase());
    const isOpen = order?.status === "NEW" || order?.status === "PARTIALLY_FILLED";
    if (
      order === null ||
      !isOpen ||
      order.accountId !== caller.accountId ||
      order.symbol !== instrument.symbol ||
      (order.trigger !== null && !order.triggered) !== isStop
    )
      throw refuseBusiness("orderNotFound", "Failed to cancel order", this.#context.quirks);
    return order;
  }
}

/** In percent from the top, rounded to the nearest tick, as in two captured orders. */
function bound(instrument: SimInstrument, bestTicks: number, side: SimSide, slippage: number): number {
  const whole = 100n * pow10(SLIPPAGE_DECIMALS);
  const factor = side === "BUY" ? whole + BigInt(slippage) : whole - BigInt(slippage);
  const step = BigInt(instrument.priceStepTicks);
  const steps = (2n * BigInt(bestTicks) * factor + whole * step) / (2n * whole * step);
  return Math.max(instrument.priceStepTicks, Number(steps * step));
}
