/** Records of the exchange in the venue's JSON shapes: orders, fills, books, trades, candles. Pure. */
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimCandle, SimFill, SimInstrument, SimLevel, SimOrder, SimTrade } from "../../core/model/types.js";
import { replyTextScaled, wireText } from "../wire/decimals.js";
import { E12_PER_USD, hash64, tagOf, usdText, type Venue } from "./venue.js";

export interface LevelRow {
  readonly px: string;
  readonly sz: string;
  readonly n: number;
}

export function pxText(instrument: SimInstrument, priceTicks: number): string {
  return replyTextScaled(BigInt(priceTicks), instrument.priceDecimals);
}

export function szText(instrument: SimInstrument, qtyLots: number): string {
  return replyTextScaled(BigInt(qtyLots), instrument.qtyDecimals);
}

/** An E8 price at the venue's price precision (5 significant figures, 6 - szDecimals decimals), nearest. */
export function markText(instrument: SimInstrument, priceE8: number): string {
  return replyTextScaled(BigInt(roundToGridTicks(instrument, priceE8)), instrument.priceDecimals);
}

function roundToGridTicks(instrument: SimInstrument, priceE8: number): number {
  const ticks = priceE8 / 10 ** (8 - instrument.priceDecimals);
  const digits = String(Math.max(1, Math.trunc(ticks))).length;
  // Whole prices are always allowed, so the step never exceeds one quote unit.
  const step = Math.min(10 ** Math.max(0, digits - 5), 10 ** instrument.priceDecimals);
  return Math.round(ticks / step) * step;
}

export function levelRow(instrument: SimInstrument, level: SimLevel): LevelRow {
  return {
    px: pxText(instrument, level.priceTicks),
    sz: szText(instrument, level.qtyLots),
    n: Math.max(1, level.orderCount),
  };
}

/** `nSigFigs` 2 to 5 with an optional mantissa of 2 or 5: bids round down, asks up, sizes and counts add up. */
export function aggregateLevels(
  levels: readonly SimLevel[],
  side: "bid" | "ask",
  nSigFigs: number,
  mantissa: number,
  levelMax: number,
): SimLevel[] {
  const buckets: { priceTicks: number; qtyLots: number; orderCount: number }[] = [];
  for (const level of levels) {
    const digits = String(level.priceTicks).length;
    const step = Math.max(1, 10 ** (digits - nSigFigs)) * mantissa;
    const rounded = side === "bid" ? Math.floor(level.priceTicks / step) : Math.ceil(level.priceTicks / step);
    const last = buckets.at(-1);
    if (last !== undefined && last.priceTicks === rounded * step) {
      last.qtyLots += level.qtyLots;
      last.orderCount += level.orderCount;
    } else if (buckets.length === levelMax) break;
    else buckets.push({ priceTicks: rounded * step, qtyLots: level.qtyLots, orderCount: level.orderCount });
  }
  return buckets;
}

/* ------------------------------------------------------------------ orders */

/** The venue's word for the state of an order. */
export function statusWord(order: SimOrder): string {
  switch (order.status) {
    case "FILLED":
      return "filled";
    case "REJECTED":
      return "rejected";
    case "NEW":
    case "PARTIALLY_FILLED":
      return order.trigger !== null && order.triggered ? "triggered" : "open";
    case "EXPIRED":
    case "CANCELED":
      return endedWord(order);
  }
}

function endedWord(order: SimOrder): string {
  switch (order.endReason) {
    case "SELF_TRADE":
      return "selfTradeCanceled";
    case "REDUCE_ONLY":
      return "reduceOnlyCanceled";
    case "LIQUIDATION":
      return "liquidatedCanceled";
    case "MARGIN":
      return "marginCanceled";
    case "SCHEDULED":
      return "scheduledCancel";
    case "SIBLING":
      return "siblingFilledCanceled";
    case "POST_ONLY":
      return "badAloPxRejected";
    case "IOC":
    case "FOK":
      // A partly filled IOC ends as `filled`, with what is left still shown in `sz`.
      return order.filledLots > 0 ? "filled" : "iocCancelRejected";
    default:
      return "canceled";
  }
}

/** What the plain order feeds show; trigger fields are hidden here. */
export function basicOrderRow(venue: Venue, order: SimOrder): Readonly<Record<string, unknown>> {
  const instrument = instrumentOf(venue.exchange, order.symbol);
  return {
    coin: order.symbol,
    side: order.side === "BUY" ? "B" : "A",
    limitPx: pxText(instrument, order.priceTicks ?? 0),
    sz: szText(instrument, order.qtyLots - order.filledLots),
    oid: order.orderId,
    timestamp: order.createdMs,
    origSz: szText(instrument, tagOf(order)?.askedLots ?? order.requestedLots),
    ...(cloidOf(order.clientId) === null ? {} : { cloid: order.clientId }),
    ...(order.reduceOnly || order.closePosition ? { reduceOnly: true } : {}),
  };
}

/** The full row of `frontendOpenOrders`, `orderStatus` and `historicalOrders`. */
export function frontendOrderRow(
  venue: Venue,
  order: SimOrder,
  children: readonly unknown[] = [],
): Readonly<Record<string, unknown>> {
  const instrument = instrumentOf(venue.exchange, order.symbol);
  const tag = tagOf(order);
  const { trigger } = order;
  return {
    coin: order.symbol,
    side: order.side === "BUY" ? "B" : "A",
    limitPx: pxText(instrument, order.priceTicks ?? 0),
    sz: szText(instrument, order.qtyLots - order.filledLots),
    oid: order.orderId,
    timestamp: order.createdMs,
    triggerCondition: trigger === null ? "N/A" : triggerCondition(instrument, order),
    isTrigger: trigger !== null,
    triggerPx: trigger === null ? "0.0" : pxText(instrument, trigger.triggerTicks),
    children,
    isPositionTpsl: tag?.grouping === "positionTpsl",
    reduceOnly: order.reduceOnly || order.closePosition,
    orderType: orderTypeWord(order),
    origSz: szText(instrument, tagOf(order)?.askedLots ?? order.requestedLots),
    tif: order.origin === "USER" ? (tag?.tif ?? null) : "LiquidationMarket",
    cloid: cloidOf(order.clientId),
  };
}

/** Orders that the exchange sends itself carry an id of its own making, which the venue would not show. */
function cloidOf(clientId: string | null): string | null {
  return clientId?.startsWith("0x") === true ? clientId : null;
}

function triggerCondition(instrument: SimInstrument, order: SimOrder): string {
  if (order.trigger === null) return "N/A";
  const isStop = order.trigger.kind === "STOP";
  const below = (order.side === "SELL") === isStop;
  const price = pxText(instrument, order.trigger.triggerTicks).replace(/\.0$/, "");
  return `Price ${below ? "below" : "above"} ${price}`;
}

function orderTypeWord(order: SimOrder): string {
  const tag = tagOf(order);
  if (order.trigger === null) return tag?.tif === "FrontendMarket" || order.type === "MARKET" ? "Market" : "Limit";
  const family = order.trigger.kind === "STOP" ? "Stop" : "Take Profit";
  return `${family} ${tag?.isTriggerMarket === false ? "Limit" : "Market"}`;
}

/* ------------------------------------------------------------------ trades and fills */

const TID_BITS = 50n;

/** A 50-bit number that both sides of a trade share. */
export function tidOf(venue: Venue, tradeId: number): number {
  const digest = BigInt(hash64(`tid:${venue.exchange.venue}:${tradeId}`).slice(0, 18));
  return Number(BigInt.asUintN(Number(TID_BITS), digest));
}

export function tradeRow(venue: Venue, trade: SimTrade): Readonly<Record<string, unknown>> {
  const instrument = instrumentOf(venue.exchange, trade.symbol);
  const party = (accountId: string | null, role: string): string =>
    accountId ?? `0x${hash64(`house:${role}:${trade.tradeId % 997}`).slice(2, 42)}`;
  return {
    coin: trade.symbol,
    side: trade.takerSide === "BUY" ? "B" : "A",
    px: pxText(instrument, trade.priceTicks),
    sz: szText(instrument, trade.qtyLots),
    time: trade.tsMs,
    hash: hash64(`trade:${trade.tradeId}`),
    tid: tidOf(venue, trade.tradeId),
    users: [party(trade.buyerAccountId, "buyer"), party(trade.sellerAccountId, "seller")],
  };
}

export function fillRow(venue: Venue, fill: SimFill): Readonly<Record<string, unknown>> {
  const { exchange } = venue;
  const instrument = instrumentOf(exchange, fill.symbol);
  const order = exchange.orders.find(fill.orderId);
  const builder = order === null ? null : (tagOf(order)?.builder ?? null);
  const builderE12 = builder === null ? 0n : builderFeeE12(instrument, fill, builder.feeTenthsBps);
  return {
    coin: fill.symbol,
    px: pxText(instrument, fill.priceTicks),
    sz: szText(instrument, fill.qtyLots),
    side: fill.side === "BUY" ? "B" : "A",
    time: fill.tsMs,
    startPosition: szText(instrument, fill.positionBeforeLots),
    dir: directionWord(fill.positionBeforeLots, fill.positionAfterLots),
    closedPnl: usdText(fill.realizedE12),
    hash: hash64(`trade:${fill.tradeId}`),
    oid: fill.orderId,
    crossed: !fill.maker,
    fee: usdText(fill.feeE12 + builderE12),
    ...(builderE12 > 0n ? { builderFee: usdText(builderE12) } : {}),
    tid: tidOf(venue, fill.tradeId),
    ...(cloidOf(fill.clientId) === null ? {} : { cloid: fill.clientId }),
    ...(fill.liquidation
      ? {
          liquidation: {
            liquidatedUser: fill.accountId,
            markPx: markText(instrument, exchange.market.mark(fill.symbol).markE8),
            method: "market",
          },
        }
      : {}),
    feeToken: "USDC",
    twapId: null,
  };
}

/** A builder's share in tenths of a basis point, truncated to 6 decimals like every perp fee. */
export function builderFeeE12(instrument: SimInstrument, fill: SimFill, feeTenthsBps: number): bigint {
  const scale = 12 - instrument.priceDecimals - instrument.qtyDecimals;
  const notional = BigInt(fill.priceTicks) * BigInt(fill.qtyLots) * 10n ** BigInt(scale);
  const fee = (notional * BigInt(feeTenthsBps)) / 100_000n;
  return fee - (fee % 1_000_000n);
}

function directionWord(beforeLots: number, afterLots: number): string {
  if (beforeLots > 0 && afterLots < 0) return "Long > Short";
  if (beforeLots < 0 && afterLots > 0) return "Short > Long";
  const side = (beforeLots === 0 ? afterLots : beforeLots) > 0 ? "Long" : "Short";
  return `${Math.abs(afterLots) > Math.abs(beforeLots) ? "Open" : "Close"} ${side}`;
}

export function candleRow(
  instrument: SimInstrument,
  interval: string,
  candle: SimCandle,
  intervalMs: number,
): Readonly<Record<string, unknown>> {
  return {
    t: candle.openMs,
    T: candle.openMs + intervalMs - 1,
    s: instrument.symbol,
    i: interval,
    o: pxText(instrument, candle.openTicks),
    c: pxText(instrument, candle.closeTicks),
    h: pxText(instrument, candle.highTicks),
    l: pxText(instrument, candle.lowTicks),
    v: szText(instrument, candle.volumeLots),
    n: candle.tradeCount,
  };
}

/** Volume as the budget texts print it: two decimals. */
export function volumeText(volumeE12: bigint): string {
  const cents = volumeE12 / (E12_PER_USD / 100n);
  const digits = cents.toString().padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

export function instrumentOf(exchange: SimExchange, symbol: string): SimInstrument {
  const instrument = exchange.instruments.get(symbol);
  if (instrument === undefined) throw new RangeError(`no instrument ${symbol}`);
  return instrument;
}

/** A price at E8 for texts that name a bid and an ask. */
export function plainPx(instrument: SimInstrument, priceTicks: number): string {
  return wireText(BigInt(priceTicks) * 10n ** BigInt(8 - instrument.priceDecimals));
}
