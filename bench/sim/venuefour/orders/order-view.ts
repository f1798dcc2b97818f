/** Orders, fills, positions and accounts as the venue prints them, fact sheet sections 5 and 7. */
import { absBig, moneyText, notionalE12, pow10, trimZeros } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimFill, SimInstrument, SimOrder, SimOrderEvent, SimPosition } from "../../core/model/types.js";
import { amount, price, type Row } from "../market/market-view.js";

const MONEY_DECIMALS = 6;

export type OrderWord =
  | "limit"
  | "market"
  | "stop_limit"
  | "stop_market"
  | "take_profit_limit"
  | "take_profit_market"
  | "stop_loss_limit"
  | "stop_loss_market";

/** What the engine does not know of an order; stored with it. */
export interface OrderTag {
  readonly word: OrderWord;
  /** Limit price, or the bound of a market order; "0" for a stop that fires at market. */
  readonly initialTicks: number | null;
  readonly parentId: number | null;
  readonly triggerPriceType: string | null;
  /** Take-profit or stop-loss of a position: ends with it. */
  readonly isProtection: boolean;
}

/** Orders of the engine itself (liquidations) and of tests that trade without the protocol carry no tag. */
export function tagOf(order: SimOrder): OrderTag {
  return (
    (order.tag as OrderTag | undefined) ?? {
      word: order.type === "MARKET" ? "market" : "limit",
      initialTicks: order.priceTicks,
      parentId: null,
      triggerPriceType: null,
      isProtection: false,
    }
  );
}

export function sideWord(side: SimOrder["side"]): "bid" | "ask" {
  return side === "BUY" ? "bid" : "ask";
}

/** `rejected` for what never rested. Everything else that ends unfilled, an IOC remainder too, is `cancelled`. */
function statusWord(order: SimOrder): string {
  if (order.endReason === "POST_ONLY" || order.endReason === "SELF_TRADE") return "rejected";
  if (order.status === "NEW") return "open";
  return order.status === "PARTIALLY_FILLED" || order.status === "FILLED" ? order.status.toLowerCase() : "cancelled";
}

const END_WORDS: Readonly<Record<string, string>> = {
  USER: "cancel",
  REPLACED: "cancel",
  POST_ONLY: "post_only_rejected",
  SELF_TRADE: "self_trade_prevented",
  IOC: "expired",
  BAND: "expired",
};

function reasonWord(order: SimOrder): string | null {
  return order.endReason === null ? null : (END_WORDS[order.endReason] ?? "force_cancel");
}

function eventWord(order: SimOrder, event: SimOrderEvent): string {
  switch (event) {
    case "NEW":
      return order.trigger === null ? "make" : "stop_created";
    case "TRADE":
      return order.type === "MARKET" ? "fulfill_market" : "fulfill_limit";
    case "TRIGGERED":
      return "stop_triggered";
    case "AMENDED":
      return "adjust";
    default:
      return reasonWord(order) ?? "cancel";
  }
}

/** Average of the fills, six decimals or the price's own, truncated; "0" before a fill. */
function averageText(order: SimOrder, instrument: SimInstrument): string {
  if (order.filledLots === 0) return "0";
  const average = (order.filledNotionalE12 * pow10(instrument.qtyDecimals)) / BigInt(order.filledLots);
  return trimZeros(moneyText(average, Math.max(MONEY_DECIMALS, instrument.priceDecimals)));
}

function initialPrice(order: SimOrder, instrument: SimInstrument): string {
  const { initialTicks } = tagOf(order);
  return initialTicks === null ? "0" : price(instrument, initialTicks);
}

function stopPrice(order: SimOrder, instrument: SimInstrument): string | null {
  return order.trigger === null ? null : price(instrument, order.trigger.triggerTicks);
}

function cancelledLots(order: SimOrder): number {
  return order.status === "CANCELED" || order.status === "EXPIRED" ? order.requestedLots - order.filledLots : 0;
}

/** Row of `GET /orders`. */
export function openOrderRow(order: SimOrder, instrument: SimInstrument): Row {
  const tag = tagOf(order);
  return {
    order_id: order.orderId,
    client_order_id: order.clientId,
    symbol: order.symbol,
    side: sideWord(order.side),
    price: initialPrice(order, instrument),
    initial_amount: amount(instrument, order.requestedLots),
    filled_amount: amount(instrument, order.filledLots),
    cancelled_amount: amount(instrument, cancelledLots(order)),
    stop_price: stopPrice(order, instrument),
    order_type: tag.word,
    stop_parent_order_id: tag.parentId,
    trigger_price_type: tag.triggerPriceType,
    reduce_only: order.reduceOnly,
    created_at: order.createdMs,
    updated_at: order.updatedMs,
  };
}

/** Row of `GET /orders/history`. */
export function orderHistoryRow(order: SimOrder, instrument: SimInstrument): Row {
  const tag = tagOf(order);
  return {
    order_id: order.orderId,
    client_order_id: order.clientId,
    symbol: order.symbol,
    side: sideWord(order.side),
    initial_price: initialPrice(order, instrument),
    average_filled_price: averageText(order, instrument),
    amount: amount(instrument, order.requestedLots),
    filled_amount: amount(instrument, order.filledLots),
    order_status: statusWord(order),
    order_type: tag.word,
    stop_price: stopPrice(order, instrument),
    stop_parent_order_id: tag.parentId,
    reduce_only: order.reduceOnly,
    reason: reasonWord(order),
    created_at: order.createdMs,
    updated_at: order.updatedMs,
  };
}

/** Row of `GET /orders/history_by_id`: the order after this event. A fill shows its own price. */
export function orderEventRow(
  order: SimOrder,
  instrument: SimInstrument,
  event: SimOrderEvent,
  fill: SimFill | null,
  historyId: number,
  tsMs: number,
): Row {
  const tag = tagOf(order);
  return {
    history_id: historyId,
    order_id: order.orderId,
    client_order_id: order.clientId,
    symbol: order.symbol,
    side: sideWord(order.side),
    price: fill === null ? initialPrice(order, instrument) : price(instrument, fill.priceTicks),
    initial_amount: amount(instrument, order.requestedLots),
    filled_amount: amount(instrument, order.filledLots),
    cancelled_amount: amount(instrument, cancelledLots(order)),
    event_type: eventWord(order, event),
    order_type: tag.word,
    order_status: statusWord(order),
    stop_price: stopPrice(order, instrument),
    stop_parent_order_id: tag.parentId,
    reduce_only: order.reduceOnly,
    created_at: tsMs,
  };
}

/** Row of `account_order_updates`. */
export function orderUpdateRow(
  order: SimOrder,
  instrument: SimInstrument,
  event: SimOrderEvent,
  fill: SimFill | null,
  wallet: string,
  li: number,
): Row {
  const tag = tagOf(order);
  return {
    I: order.clientId,
    a: amount(instrument, order.requestedLots),
    ct: order.createdMs,
    d: sideWord(order.side),
    f: amount(instrument, order.filledLots),
    i: order.orderId,
    ip: initialPrice(order, instrument),
    li,
    lp: fill === null ? "0" : price(instrument, fill.priceTicks),
    oe: eventWord(order, event),
    os: statusWord(order),
    ot: tag.word,
    p: averageText(order, instrument),
    r: order.reduceOnly,
    s: order.symbol,
    si: tag.parentId,
    sp: stopPrice(order, instrument),
    tp: tag.triggerPriceType,
    u: wallet,
    ut: order.updatedMs,
  };
}

/** Row of `account_orders`. */
export function accountOrderRow(order: SimOrder, instrument: SimInstrument): Row {
  const tag = tagOf(order);
  return {
    I: order.clientId,
    a: amount(instrument, order.requestedLots),
    c: amount(instrument, cancelledLots(order)),
    d: sideWord(order.side),
    f: amount(instrument, order.filledLots),
    i: order.orderId,
    ot: tag.word,
    p: initialPrice(order, instrument),
    ro: order.reduceOnly,
    s: order.symbol,
    sp: stopPrice(order, instrument),
    st: tag.parentId,
    t: order.createdMs,
  };
}

/* ------------------------------------------------------------------ fills */

/** A fill that both closes and opens is printed as what it closed. */
function fillSide(fill: SimFill): string {
  const closes = fill.positionBeforeLots !== 0 && fill.positionBeforeLots > 0 === (fill.side === "SELL");
  if (fill.side === "BUY") return closes ? "close_short" : "open_long";
  return closes ? "close_long" : "open_short";
}

/** Nearest at six decimals, as two recorded fills show. */
function nearest(amountE12: bigint): bigint {
  const unit = pow10(12 - MONEY_DECIMALS);
  const rounded = (absBig(amountE12) + unit / 2n) / unit;
  return (amountE12 < 0n ? -rounded : rounded) * unit;
}

function moneyNearest(amountE12: bigint): string {
  return trimZeros(moneyText(nearest(amountE12), MONEY_DECIMALS));
}

interface FillFigures {
  readonly fee: string;
  /** Net of the fee. */
  readonly pnl: string;
  readonly entry: string;
}

/** The entry price behind a fill: what the closed part was entered for, or the fill's own. */
function fillFigures(fill: SimFill, instrument: SimInstrument): FillFigures {
  const closedLots = fillSide(fill).startsWith("close") ? Math.min(fill.qtyLots, Math.abs(fill.positionBeforeLots)) : 0;
  const fee = nearest(fill.feeE12);
  let entry = price(instrument, fill.priceTicks);
  if (closedLots > 0) {
    const notional = notionalE12(instrument, fill.priceTicks, closedLots);
    const cost = fill.side === "SELL" ? notional - fill.realizedE12 : notional + fill.realizedE12;
    const entryE12 = (cost * pow10(instrument.qtyDecimals)) / BigInt(closedLots);
    entry = trimZeros(moneyText(entryE12, Math.max(MONEY_DECIMALS, instrument.priceDecimals)));
  }
  return { fee: moneyNearest(fill.feeE12), pnl: moneyNearest(nearest(fill.realizedE12) - fee), entry };
}

/** Row of `GET /trades/history`. */
export function tradeHistoryRow(fill: SimFill, instrument: SimInstrument, historyId: number): Row {
  const { fee, pnl, entry } = fillFigures(fill, instrument);
  return {
    history_id: historyId,
    order_id: fill.orderId,
    client_order_id: fill.clientId,
    symbol: fill.symbol,
    amount: amount(instrument, fill.qtyLots),
    price: price(instrument, fill.priceTicks),
    entry_price: entry,
    fee,
    pnl,
    event_type: fill.maker ? "fulfill_maker" : "fulfill_taker",
    side: fillSide(fill),
    created_at: fill.tsMs,
    cause: fill.liquidation ? "market_liquidation" : "normal",
  };
}

/** Row of `account_trades`. */
export function accountTradeRow(
  fill: SimFill,
  instrument: SimInstrument,
  historyId: number,
  wallet: string,
  li: number,
): Row {
  const { fee, pnl, entry } = fillFigures(fill, instrument);
  return {
    I: fill.clientId,
    a: amount(instrument, fill.qtyLots),
    f: fee,
    h: historyId,
    i: fill.orderId,
    it: 0,
    li,
    n: pnl,
    o: entry,
    p: price(instrument, fill.priceTicks),
    s: fill.symbol,
    t: fill.tsMs,
    tc: fill.liquidation ? "market_liquidation" : "normal",
    te: fill.maker ? "fulfill_maker" : "fulfill_taker",
    ts: fillSide(fill),
    u: wallet,
  };
}

/* ------------------------------------------------------------------ positions */

/** What the engine does not keep of a position: when it was opened, and its funding until then. */
export interface PositionBirth {
  readonly openedMs: number;
  readonly fundingBeforeE12: bigint;
}

/** Signed six decimals, nearest. */
export function money(amountE12: bigint): string {
  return moneyNearest(amountE12);
}

interface PositionTexts {
  readonly side: "bid" | "ask";
  readonly amount: string;
  readonly entry: string;
  readonly margin: string;
  readonly funding: string;
  readonly isIsolated: boolean;
  readonly liquidation: string | null;
}

function positionTexts(exchange: SimExchange, position: SimPosition, birth: PositionBirth): PositionTexts {
  const instrument = exchange.instruments.get(position.symbol);
  if (instrument === undefined) throw new RangeError(`no market ${position.symbol}`);
  const figures = exchange.accounts.positionFigures(position);
  const isIsolated = figures.marginMode === "isolated";
  const decimals = Math.max(MONEY_DECIMALS, instrument.priceDecimals);
  return {
    side: position.qtyLots > 0 ? "bid" : "ask",
    amount: amount(instrument, Math.abs(position.qtyLots)),
    entry: trimZeros(moneyText(figures.entryPriceE12, decimals)),
    margin: isIsolated ? money(position.isolatedE12) : "0",
    funding: money(position.cumFundingE12 - birth.fundingBeforeE12),
    isIsolated,
    liquidation:
      figures.liquidationPriceE12 === null ? null : trimZeros(moneyText(figures.liquidationPriceE12, decimals)),
  };
}

/** Row of `GET /positions`. */
export function positionRow(exchange: SimExchange, position: SimPosition, birth: PositionBirth): Row {
  const texts = positionTexts(exchange, position, birth);
  return {
    symbol: position.symbol,
    side: texts.side,
    amount: texts.amount,
    entry_price: texts.entry,
    margin: texts.margin,
    funding: texts.funding,
    isolated: texts.isIsolated,
    liquidation_price: texts.liquidation,
    created_at: birth.openedMs,
    updated_at: position.updatedMs,
  };
}

/** Row of `account_positions`. */
export function accountPositionRow(exchange: SimExchange, position: SimPosition, birth: PositionBirth): Row {
  const texts = positionTexts(exchange, position, birth);
  return {
    a: texts.amount,
    d: texts.side,
    f: texts.funding,
    i: texts.isIsolated,
    l: texts.liquidation,
    m: texts.margin,
    p: texts.entry,
    s: position.symbol,
    t: position.updatedMs,
  };
}
