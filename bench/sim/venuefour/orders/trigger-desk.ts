/**
 * Orders that wait for a price: stops, the protection of a position, and the children that an order carries until it
 * has filled (fact sheet section 6). A refusal changes nothing.
 */
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimInstrument, SimOrder, SimSide, SimTrigger } from "../../core/model/types.js";
import type { VenuefourContext } from "./context.js";
import { refuseBody, refuseBusiness } from "../wire/errors.js";
import { amount as amountText } from "../market/market-view.js";
import type { Fields } from "../wire/operations.js";
import { type Caller, type OrderChecks, sideOf, textOrNull } from "./order-checks.js";
import { enterOrder } from "./order-entry.js";
import { type OrderTag, type OrderWord, tagOf } from "./order-view.js";

/** Children waiting for their parents; the oldest goes. */
const WAITING_CHILDREN_MAX = 10_000;

interface Protection {
  readonly stopTicks: number;
  readonly limitTicks: number | null;
  /** Null for the whole position. */
  readonly lots: number | null;
  readonly clientId: string | null;
  readonly triggerPriceType: string | null;
}

export interface WaitingChildren {
  readonly caller: Caller;
  readonly takeProfit: Protection | null;
  readonly stopLoss: Protection | null;
}

export class TriggerDesk {
  readonly #context: VenuefourContext;
  readonly #exchange: SimExchange;
  readonly #checks: OrderChecks;
  /** By parent: placed once it has filled. */
  readonly #children = new Map<number, WaitingChildren>();

  constructor(context: VenuefourContext, checks: OrderChecks) {
    this.#context = context;
    this.#exchange = context.exchange;
    this.#checks = checks;
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

  /** The protection that an order carries for the position it will open; null when it carries none. */
  childrenOf(caller: Caller, instrument: SimInstrument, fields: Fields): WaitingChildren | null {
    const takeProfit = this.#protectionOrNull(instrument, fields.take_profit);
    const stopLoss = this.#protectionOrNull(instrument, fields.stop_loss);
    if (takeProfit === null && stopLoss === null) return null;
    this.#checks.checkClientId(caller, takeProfit?.clientId);
    this.#checks.checkClientId(caller, stopLoss?.clientId);
    return { caller, takeProfit, stopLoss };
  }

  /** Keeps the children until their parent has filled. */
  keepChildren(order: SimOrder, children: WaitingChildren | null): void {
    if (children === null) return;
    this.#children.set(order.orderId, children);
    if (this.#children.size <= WAITING_CHILDREN_MAX) return;
    const oldest = this.#children.keys().next();
    if (oldest.done === false) this.#children.delete(oldest.value);
  }

  /** The children of an order, which wait for it no longer. */
  takeChildren(orderId: number): WaitingChildren | null {
    const children = this.#children.get(orderId) ?? null;
    this.#children.delete(orderId);
    return children;
  }

  /** Places the children of parents that have ended with fills. */
  settle(): void {
    for (const [parentId, waiting] of [...this.#children]) {
      const parent = this.#exchange.orders.find(parentId);
      const isOpen = parent?.status === "NEW" || parent?.status === "PARTIALLY_FILLED";
      if (isOpen) continue;
      this.#children.delete(parentId);
      if (parent !== null && parent.filledLots > 0) this.#placeChildren(parent, waiting);
    }
  }

  /** Cancels the protection of positions that are gone or have turned. */
  dropProtection(accountId: string): void {
    for (const order of this.#exchange.orders.open(accountId)) {
      if (!tagOf(order).isProtection) continue;
      const lots = this.#exchange.accounts.position(accountId, order.symbol, "BOTH")?.qtyLots ?? 0;
      if (lots === 0 || lots > 0 === (order.side === "BUY"))
        this.#exchange.orders.cancel(accountId, order.orderId, "POSITION_CLOSED");
    }
  }

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
    return enterOrder(this.#context, this.#checks, caller, instrument, {
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
    for (const order of this.#exchange.orders.open(caller.accountId, symbol)) {
      if (tagOf(order).isProtection && order.closePosition && order.trigger?.kind === kind)
        this.#exchange.orders.cancel(caller.accountId, order.orderId, "REPLACED");
    }
  }
}
