/** Orders, trades and their events as the venue prints them: which numbers are text, and with how many decimals. */
import { absBig, moneyText, pow10, priceText, qtyText, trimZeros } from "../../core/model/fixed.js";
import type { SimFill, SimInstrument, SimOrder, SimOrderEvent } from "../../core/model/types.js";
import type { OrderTag } from "./order-rules.js";

/** Untouched prices and quantities print as a bare zero. */
const ZERO = "0";
const AVERAGE_DECIMALS = 5;

/** `ack`: the answer given before the engine has matched; zero fills, status NEW, also for MARKET orders. */
export type OrderView = "ack" | "result" | "query" | "open";

export function printOrder(
  order: SimOrder,
  instrument: SimInstrument,
  view: OrderView,
  chainHash: boolean,
): Record<string, unknown> {
  const tag = tagOrDefault(order);
  const ack = view === "ack";
  const filled = ack ? 0 : order.filledLots;
  const executed = filled === 0 ? ZERO : qtyText(instrument, filled);
  const row: Record<string, unknown> = {
    orderId: order.orderId,
    symbol: order.symbol,
    status: ack ? "NEW" : order.status,
    clientOrderId: order.clientId ?? "",
    price: priceOrZero(instrument, order.type === "LIMIT" ? order.priceTicks : null),
    avgPrice: averageText(order, instrument, ack),
    origQty: order.closePosition && order.requestedLots === 0 ? ZERO : qtyText(instrument, order.requestedLots),
    executedQty: executed,
  };
  // GET answers leave out cumQty and add the creation time.
  if (view === "ack" || view === "result") row.cumQty = executed;
  row.cumQuote = ack || order.filledLots === 0 ? ZERO : trimZeros(moneyText(order.filledNotionalE12, 8));
  row.timeInForce = tag.timeInForce;
  row.type = order.triggered && order.trigger !== null ? order.type : tag.origType;
  row.reduceOnly = order.reduceOnly;
  row.closePosition = order.closePosition;
  row.side = order.side;
  row.positionSide = order.positionSide;
  row.stopPrice = priceOrZero(instrument, tag.stopTicks);
  row.workingType = tag.workingType;
  row.priceProtect = tag.priceProtect;
  row.origType = tag.origType;
  if (tag.priceRate !== null) {
    row.activatePrice = priceOrZero(instrument, tag.activateTicks);
    row.priceRate = tag.priceRate;
  }
  if (view === "query" || view === "open") row.time = order.createdMs;
  row.updateTime = ack ? order.createdMs : order.updatedMs;
  if (chainHash) row.newChainData = { hash: `0x${order.orderId.toString(16).padStart(64, "0")}` };
  return row;
}

export function printUserTrade(fill: SimFill, instrument: SimInstrument): Record<string, unknown> {
  return {
    symbol: fill.symbol,
    id: fill.tradeId,
    orderId: fill.orderId,
    side: fill.side,
    price: priceText(instrument, fill.priceTicks),
    qty: qtyText(instrument, fill.qtyLots),
    realizedPnl: moneyText(fill.realizedE12, 8),
    marginAsset: instrument.quote,
    quoteQty: quoteText(instrument, fill.priceTicks, fill.qtyLots),
    commission: moneyText(absBig(fill.feeE12), 8),
    commissionAsset: instrument.quote,
    time: fill.tsMs,
    positionSide: fill.positionSide,
    buyer: fill.side === "BUY",
    maker: fill.maker,
  };
}

/** `o` of ORDER_TRADE_UPDATE, fact sheet 6.7. */
export function printOrderEvent(
  order: SimOrder,
  instrument: SimInstrument,
  event: SimOrderEvent,
  fill: SimFill | null,
  openNotional: { bid: bigint; ask: bigint },
): Record<string, unknown> {
  const tag = tagOrDefault(order);
  const row: Record<string, unknown> = {
    s: order.symbol,
    c: order.clientId ?? "",
    S: order.side,
    o: order.triggered && order.trigger !== null ? order.type : tag.origType,
    f: tag.timeInForce,
    q: qtyText(instrument, order.requestedLots),
    p: priceOrZero(instrument, order.type === "LIMIT" ? order.priceTicks : null),
    ap: averageText(order, instrument, false),
    sp: priceOrZero(instrument, tag.stopTicks),
    x: executionOf(order, event),
    X: order.status,
    i: order.orderId,
    l: fill === null ? ZERO : qtyText(instrument, fill.qtyLots),
    z: order.filledLots === 0 ? ZERO : qtyText(instrument, order.filledLots),
    L: fill === null ? ZERO : priceText(instrument, fill.priceTicks),
  };
  // Fee fields are absent when there was no fee.
  if (fill !== null && fill.feeE12 !== 0n) {
    row.N = instrument.quote;
    row.n = moneyText(fill.feeE12, 8);
  }
  row.T = order.updatedMs;
  row.t = fill?.tradeId ?? 0;
  row.b = moneyTextOrZero(openNotional.bid);
  row.a = moneyTextOrZero(openNotional.ask);
  row.m = fill?.maker ?? false;
  row.R = order.reduceOnly;
  row.wt = tag.workingType;
  row.ot = tag.origType;
  row.ps = order.positionSide;
  row.cp = order.closePosition;
  if (tag.priceRate !== null) {
    row.AP = priceOrZero(instrument, tag.activateTicks);
    row.cr = tag.priceRate;
  }
  row.rp = fill === null || fill.realizedE12 === 0n ? ZERO : moneyText(fill.realizedE12, 8);
  return row;
}

/** Execution type of an event: a trigger that fires ends its order here, and the order it becomes reports itself. */
function executionOf(order: SimOrder, event: SimOrderEvent): string {
  if (event === "TRADE") return order.origin === "LIQUIDATION" ? "CALCULATED" : "TRADE";
  if (event === "TRIGGERED") return "EXPIRED";
  return event === "AMENDED" ? "NEW" : event;
}

/** price × quantity with the decimals of both. */
export function quoteText(instrument: SimInstrument, priceTicks: number, qtyLots: number): string {
  const decimals = instrument.priceDecimals + instrument.qtyDecimals;
  return moneyText(BigInt(priceTicks) * BigInt(qtyLots) * pow10(12 - decimals), decimals);
}

function averageText(order: SimOrder, instrument: SimInstrument, ack: boolean): string {
  const decimals = Math.max(AVERAGE_DECIMALS, instrument.priceDecimals);
  if (ack || order.filledLots === 0) return moneyText(0n, decimals);
  return moneyText((order.filledNotionalE12 * pow10(instrument.qtyDecimals)) / BigInt(order.filledLots), decimals);
}

function priceOrZero(instrument: SimInstrument, priceTicks: number | null): string {
  return priceTicks === null || priceTicks === 0 ? ZERO : trimZeros(priceText(instrument, priceTicks));
}

function moneyTextOrZero(amountE12: bigint): string {
  return amountE12 === 0n ? ZERO : trimZeros(moneyText(amountE12, 8));
}

/** Orders of the engine itself (liquidations) and of tests that trade without the protocol carry no tag. */
function tagOrDefault(order: SimOrder): OrderTag {
  return (
    (order.tag as OrderTag | undefined) ?? {
      origType: order.type,
      timeInForce: order.timeInForce === "POST_ONLY" ? "GTX" : order.timeInForce,
      stopTicks: order.trigger?.triggerTicks ?? 0,
      workingType: "CONTRACT_PRICE",
      priceProtect: false,
      activateTicks: null,
      priceRate: null,
    }
  );
}
