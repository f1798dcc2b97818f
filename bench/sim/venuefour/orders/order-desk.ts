/**
 * Executes orders of callers whose signature has been checked, fact sheet section 6. Each method answers what the venue
 * answers or throws its refusal; a refusal has changed nothing.
 */
import { parseSafe, pow10 } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimInstrument, SimOrder, SimOrderRequest, SimSide, SimTrigger } from "../../core/model/types.js";
import type { VenuefourContext } from "./context.js";
import { refuseBody, refuseBusiness } from "../wire/errors.js";
import { amount as amountText } from "../market/market-view.js";
import type { Fields } from "../wire/operations.js";
import { type Caller, OrderChecks } from "./order-checks.js";
import { type OrderTag, type OrderWord, tagOf } from "./order-view.js";

/** Slippage of a market order: a percentage with this many decimals, above zero and at most a hundred. */
const SLIPPAGE_DECIMALS = 6;
const SLIPPAGE_MAX = 100 * 10 ** SLIPPAGE_DECIMALS;
/** Children waiting for their parents; the oldest goes. */
const WAITING_CHILDREN_MAX = 10_000;

interface Protection {
  readonly stopTicks: number;
  readonly limitTicks: number | null;
  /** Null when the whole position. */
  readonly lots: number | null;
  readonly clientId: string | null;
  readonly triggerPriceType: string | null;
}

interface WaitingChildren {
  readonly caller: Caller;
  readonly takeProfit: Protection | null;
  readonly stopLoss: Protection | null;
}

export class OrderDesk {
  readonly #context: VenuefourContext;
  readonly #exchange: SimExchange;
  readonly #checks: OrderChecks;
  /** By parent: placed once it has filled. */
  readonly #children = new Map<number, WaitingChildren>();

  constructor(context: VenuefourContext) {
    this.#context = context;
    this.#exchange = context.exchange;
    this.#checks = new OrderChecks(context);
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
    const best = side === "BUY" ? this.#exchange.bestAsk(symbol) : this.#exchange.bestBid(symbol);
    if (best === null)
      throw refuseBusiness("noReasonablePrice", `No reasonable price for ${symbol}`, this.#context.quirks);
    const children = this.#childrenOf(caller, instrument, fields);
    const order = this.#place(caller, instrument, {
      ...this.#basics(caller, instrument, fields, lots, best.priceTicks),
      type: "MARKET",
      timeInForce: "IOC",
      priceTicks: bound(instrument, best.priceTicks, side, slippage),
    });
    this.#await(order, children);
    return order;
  }

  create(caller: Caller, fields: Fields): SimOrder {
    const instrument = this.#checks.instrument(fields);
    const lots = this.#checks.lots(instrument, fields.amount);
    const asked = this.#checks.ticks(instrument, fields.price);
    const { timeInForce, priceTicks } = this.#checks.limitOf(instrument, sideOf(fields), String(fields.tif), asked);
    const children = this.#childrenOf(caller, instrument, fields);
    const order = this.#place(caller, instrument, {
      ...this.#basics(caller, instrument, fields, lots, priceTicks),
      type: "LIMIT",
      timeInForce,
      priceTicks,
    });
    this.#await(order, children);
    return order;
  }

  /** A new order in the place of the old: post-only, with the old one's side, flag and client id. */
  edit(caller: Caller, fields: Fields): SimOrder {
    const instrument = this.#checks.instrument(fields);
    const old = this.#open(caller, instrument, fields, false);
    const lots = this.#checks.lots(instrument, fields.amount);
    const priceTicks = this.#checks.ticks(instrument, fields.price);
    if (!old.reduceOnly) this.#checks.checkNotional(caller, instrument, lots, priceTicks);
    if (old.reduceOnly) this.#checks.checkReduceOnly(caller, instrument, old.side, lots);
    this.#exchange.cancel(caller.accountId, old.orderId, "REPLACED");
    const children = this.#children.get(old.orderId);
    this.#children.delete(old.orderId);
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
    this.#await(order, children ?? null);
    return order;
  }

  createStop(caller: Caller, fields: Fields): SimOrder {
    const instrument = this.#checks.instrument(fields);
    const stop = fields.stop_order as Fields;
    const protection = this.#protection(instrument, stop);
    const word = protection.limitTicks === null ? "stop_market" : "stop_limit";
    this.#checks.checkClientId(caller, stop.client_order_id);
    return this.#placeTrigger(caller, instrument, sideOf(fields), "STOP", word, protection, {
      isReduceOnly: fields.reduce_only === true,
      isProtection: false,
      parentId: null,
      lots: protection.lots ?? 0,
      isWholePosition: false,
    });
  }

  /** Replaces the protection of the whole position of the same kind; one with an amount comes on top. */
  setPositionTpsl(caller: Caller, fields: Fields): void {
    const instrument = this.#checks.instrument(fields);
    const side = sideOf(fields);
    const takeProfit = this.#protectionOrNull(instrument, fields.take_profit);
    const stopLoss = this.#protectionOrNull(instrument, fields.stop_loss);
    if (takeProfit === null && stopLoss === null) throw refuseBody("missing field `take_profit` or `stop_loss`");
    const { quirks } = this.#context;
    const { symbol } = instrument;
    const positionLots = this.#checks.positionLots(caller, symbol);
    if (positionLots === 0)
      throw refuseBusiness("positionNotFound", `Position not found for ${caller.wallet}: ${symbol}`, quirks);
    if (side !== (positionLots > 0 ? "SELL" : "BUY"))
      throw refuseBusiness("invalidStopSide", "Invalid stop order side: must be opposite to position side", quirks);
    for (const protection of [takeProfit, stopLoss]) {
      if (protection === null) continue;
      this.#checks.checkClientId(caller, protection.clientId);
      if ((protection.lots ?? 0) > Math.abs(positionLots))
        throw refuseBusiness(
          "invalidStopAmount",
          `Invalid stop order amount: ${amountText(instrument, protection.lots ?? 0)} exceeds position amount ${amountText(instrument, Math.abs(positionLots))}`,
          quirks,
        );
    }
    for (const [kind, protection] of [
      ["TAKE_PROFIT", takeProfit],
      ["STOP", stopLoss],
    ] as const) {
      if (protection === null) continue;
      if (protection.lots === null) this.#dropWhole(caller, symbol, kind);
      this.#protect(caller, instrument, side, kind, protection, Math.abs(positionLots), null);
    }
  }

  /* ---------------------------------------------------------------- the end of orders */

  cancel(caller: Caller, fields: Fields, isStop: boolean): SimOrder {
    const order = this.#open(caller, this.#checks.instrument(fields), fields, isStop);
    this.#exchange.cancel(caller.accountId, order.orderId);
    this.#children.delete(order.orderId);
    return order;
  }

  /** Orders that wait for a trigger stay: they have a cancel of their own. */
  cancelAll(caller: Caller, fields: Fields): number {
    const isAll = fields.all_symbols === true;
    if (!isAll && fields.symbol === undefined) throw refuseBody("missing field `symbol`");
    const symbol = isAll ? undefined : this.#checks.instrument(fields).symbol;
    let count = 0;
    for (const order of this.#exchange.openOrders(caller.accountId, symbol)) {
      if (order.trigger !== null && !order.triggered) continue;
      if (order.reduceOnly && fields.exclude_reduce_only === true) continue;
      if (!this.#exchange.cancel(caller.accountId, order.orderId).ok) continue;
      this.#children.delete(order.orderId);
      count++;
    }
    return count;
  }

  /** Whatever follows from what happened: children of filled parents, protection of positions that are gone. */
  settle(): void {
    for (const [parentId, waiting] of [...this.#children]) {
      const parent = this.#exchange.order(parentId);
      const isOpen = parent?.status === "NEW" || parent?.status === "PARTIALLY_FILLED";
      if (isOpen) continue;
      this.#children.delete(parentId);
      if (parent !== null && parent.filledLots > 0) this.#placeChildren(parent, waiting);
    }
  }

  dropProtection(accountId: string): void {
    for (const order of this.#exchange.openOrders(accountId)) {
      if (!tagOf(order).isProtection) continue;
      const lots = this.#exchange.position(accountId, order.symbol, "BOTH")?.qtyLots ?? 0;
      if (lots === 0 || lots > 0 === (order.side === "BUY"))
        this.#exchange.cancel(accountId, order.orderId, "POSITION_CLOSED");
    }
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
    return this.#placed(caller, instrument, { ...request, clientId, tag });
  }

  #placed(caller: Caller, instrument: SimInstrument, request: SimOrderRequest): SimOrder {
    const done = this.#exchange.place(caller.accountId, request);
    this.#context.journal.settled();
    if (done.ok) return done.value;
    throw this.#checks.refusalOf(done.reason, caller, instrument, request);
  }

  #open(caller: Caller, instrument: SimInstrument, fields: Fields, isStop: boolean): SimOrder {
    const { order_id: orderId, client_order_id: clientId } = fields;
    if ((orderId === undefined) === (clientId === undefined))
      throw refuseBody("exactly one of `order_id` and `client_order_id` is expected");
    const order =
      typeof orderId === "number"
        ? this.#exchange.order(orderId)
        : this.#exchange.orderByClientId(caller.accountId, String(clientId).toLowerCase());
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

  /* ---------------------------------------------------------------- triggers */

  #protectionOrNull(instrument: SimInstrument, value: unknown): Protection | null {
    return value === undefined ? null : this.#protection(instrument, value as Fields);
  }

  #protection(instrument: SimInstrument, fields: Fields): Protection {
    return {
      stopTicks: this.#checks.ticks(instrument, fields.stop_price),
      limitTicks: fields.limit_price === undefined ? null : this.#checks.ticks(instrument, fields.limit_price),
      lots: fields.amount === undefined ? null : this.#checks.lots(instrument, fields.amount),
      clientId: textOrNull(fields.client_order_id)?.toLowerCase() ?? null,
      triggerPriceType: textOrNull(fields.trigger_price_type),
    };
  }

  #childrenOf(caller: Caller, instrument: SimInstrument, fields: Fields): WaitingChildren | null {
    const takeProfit = this.#protectionOrNull(instrument, fields.take_profit);
    const stopLoss = this.#protectionOrNull(instrument, fields.stop_loss);
    if (takeProfit === null && stopLoss === null) return null;
    this.#checks.checkClientId(caller, takeProfit?.clientId);
    this.#checks.checkClientId(caller, stopLoss?.clientId);
    return { caller, takeProfit, stopLoss };
  }

  #await(order: SimOrder, children: WaitingChildren | null): void {
    if (children === null) return;
    this.#children.set(order.orderId, children);
    if (this.#children.size <= WAITING_CHILDREN_MAX) return;
    const oldest = this.#children.keys().next();
    if (oldest.done === false) this.#children.delete(oldest.value);
  }

  #placeChildren(parent: SimOrder, { caller, takeProfit, stopLoss }: WaitingChildren): void {
    const instrument = this.#exchange.instruments.get(parent.symbol);
    if (instrument === undefined) return;
    const side = parent.side === "BUY" ? "SELL" : "BUY";
    const lots = parent.filledLots;
    if (takeProfit !== null)
      this.#protect(caller, instrument, side, "TAKE_PROFIT", { ...takeProfit, lots }, lots, parent.orderId);
    if (stopLoss !== null) this.#protect(caller, instrument, side, "STOP", { ...stopLoss, lots }, lots, parent.orderId);
  }

  #protect(
    caller: Caller,
    instrument: SimInstrument,
    side: SimSide,
    kind: "STOP" | "TAKE_PROFIT",
    protection: Protection,
    positionLots: number,
    parentId: number | null,
  ): void {
    const word = `${kind === "STOP" ? "stop_loss" : "take_profit"}_${protection.limitTicks === null ? "market" : "limit"}`;
    this.#placeTrigger(caller, instrument, side, kind, word as OrderWord, protection, {
      isReduceOnly: true,
      isProtection: true,
      parentId,
      lots: protection.lots ?? positionLots,
      isWholePosition: protection.lots === null,
    });
  }

  #placeTrigger(
    caller: Caller,
    instrument: SimInstrument,
    side: SimSide,
    kind: "STOP" | "TAKE_PROFIT",
    word: OrderWord,
    protection: Protection,
    more: {
      readonly isReduceOnly: boolean;
      readonly isProtection: boolean;
      readonly parentId: number | null;
      readonly lots: number;
      readonly isWholePosition: boolean;
    },
  ): SimOrder {
    const { stopTicks, limitTicks, clientId, triggerPriceType } = protection;
    const trigger: SimTrigger = {
      kind,
      triggerTicks: stopTicks,
      source: triggerPriceType === "last_trade_price" ? "LAST" : "MARK",
      activationTicks: null,
      callbackPpm: 0,
    };
    const { parentId, isProtection } = more;
    const tag: OrderTag = { word, initialTicks: limitTicks, parentId, triggerPriceType, isProtection };
    return this.#placed(caller, instrument, {
      symbol: instrument.symbol,
      side,
      type: limitTicks === null ? "MARKET" : "LIMIT",
      timeInForce: limitTicks === null ? "IOC" : "GTC",
      priceTicks: limitTicks,
      qtyLots: more.lots,
      reduceOnly: more.isReduceOnly,
      positionSide: "BOTH",
      clientId,
      trigger,
      closePosition: more.isWholePosition,
      tag,
    });
  }

  #dropWhole(caller: Caller, symbol: string, kind: "STOP" | "TAKE_PROFIT"): void {
    for (const order of this.#exchange.openOrders(caller.accountId, symbol)) {
      if (tagOf(order).isProtection && order.closePosition && order.trigger?.kind === kind)
        this.#exchange.cancel(caller.accountId, order.orderId, "REPLACED");
    }
  }
}

function sideOf(fields: Fields): SimSide {
  return fields.side === "bid" ? "BUY" : "SELL";
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** From the top, in percent, to the nearest tick: two captured orders fit. */
function bound(instrument: SimInstrument, bestTicks: number, side: SimSide, slippage: number): number {
  const whole = 100n * pow10(SLIPPAGE_DECIMALS);
  const factor = side === "BUY" ? whole + BigInt(slippage) : whole - BigInt(slippage);
  const step = BigInt(instrument.priceStepTicks);
  const steps = (2n * BigInt(bestTicks) * factor + whole * step) / (2n * whole * step);
  return Math.max(instrument.priceStepTicks, Number(steps * step));
}
