/** What is read of an address on the chain of a client-signed venue → the forms of its routes (interface spec 2.2, 2.6). Pure. */
import { divideRatio, formatRatio, multiplyRatio, ratio, ratioFromText } from "../../engine/domain/decimal-ratio.js";
import { isPlainDecimal } from "../../engine/domain/decimal.js";
import type {
  ChainHistoryPage,
  ClientSignedMarketOrder,
  ClientSignedOrder,
  ClientSignedOrderFound,
  ClientSignedPosition,
  ClosedTrade,
} from "../../engine/client-signed-room.js";
import type { VenuefivePosition } from "../../schemas/positions.js";
import type { VenuefiveOrder, VenuefiveOrderRecord, VenuefiveTrade } from "../../schemas/venuefive-records.js";

const EXCHANGE = "venuefive";
const PERCENT_PLACES = 4;
const NO_PRICE = "-";

/** Interface spec 2.6: there is no mark but the entry, and what is lost so far is the rollover fee alone. */
export function chainPosition(position: ClientSignedPosition, walletAddress: string): VenuefivePosition {
  const { rolloverFee, collateral, entryPrice } = position;
  return {
    symbol: position.symbol,
    exchange: EXCHANGE,
    direction: position.direction,
    size: position.size,
    entryPrice,
    markPrice: entryPrice,
    liquidationPrice: position.liquidationPrice ?? NO_PRICE,
    unrealizedPnl: negative(rolloverFee),
    unrealizedPnlPercent: shareOf(negative(rolloverFee), collateral),
    leverage: Number(position.leverage),
    collateral,
    margin: collateral,
    timestamp: position.openedAtMs,
    isZfp: position.isZeroFee,
    walletAddress,
  };
}

/** Zero has no sign. */
function negative(amount: string): string {
  return isPlainDecimal(amount) && ratioFromText(amount).num !== 0n ? `-${amount}` : "0";
}

function shareOf(amount: string, whole: string): string {
  const of = ratioFromText(whole);
  if (of.num === 0n) return "0";
  return formatRatio(multiplyRatio(divideRatio(ratioFromText(amount), of), ratio(100n)), PERCENT_PLACES, "halfUp");
}

export function chainOrder(order: ClientSignedOrder, walletAddress: string): VenuefiveOrder {
  return {
    orderId: order.orderId,
    symbol: order.symbol,
    exchange: EXCHANGE,
    direction: order.direction,
    orderType: order.orderType,
    price: order.price,
    size: order.size,
    collateral: order.collateral,
    leverage: numberOrNull(order.leverage),
    tp: order.takeProfit,
    sl: order.stopLoss,
    slippagePercent: order.slippagePercent,
    liquidationPrice: order.liquidationPrice,
    status: order.status,
    timestamp: order.timestampMs,
    walletAddress,
    txHash: order.txHash,
  };
}

export function chainTrade(trade: ClosedTrade, walletAddress: string): VenuefiveTrade {
  return {
    symbol: trade.symbol,
    exchange: EXCHANGE,
    direction: trade.direction,
    entryPrice: trade.entryPrice,
    exitPrice: trade.exitPrice,
    collateral: trade.collateral,
    size: trade.size,
    leverage: Number(trade.leverage),
    realizedPnl: trade.realizedPnl,
    fees: trade.fees,
    usdcReceived: trade.usdcReceived,
    isZfp: trade.isZeroFee,
    isLiquidation: trade.isLiquidation,
    openedAt: trade.openedAtMs,
    closedAt: trade.closedAtMs,
    txHash: trade.txHash,
    walletAddress,
  };
}

/** What a page says of itself beside its rows. */
export function pageFacts({ nextCursor, since, older, toBlock }: ChainHistoryPage<unknown>) {
  return { nextCursor, since: { block: since.block, time: since.timeMs }, older, toBlock };
}

/** Returns null for a transaction that neither made nor changed an order. */
export function chainOrderRecord(found: ClientSignedOrderFound): VenuefiveOrderRecord | null {
  switch (found.kind) {
    case "limit":
      return limitRecord(found.order, found.walletAddress);
    case "market":
      return marketRecord(found.order);
    case "transaction":
      return found.status === "NO_ORDER" ? null : transactionRecord(found.txHash, found.status);
  }
}

/** What it would do is not known before a block has it: not failed, and no order yet. */
function transactionRecord(txHash: string, status: "PENDING" | "REVERTED"): VenuefiveOrderRecord {
  return {
    ...{ orderId: txHash, symbol: null, side: null, type: null },
    status: status === "PENDING" ? "UNKNOWN" : "REJECTED",
    ...{ price: null, quantity: null, filledQuantity: null, averagePrice: null, timestamp: null, exchange: EXCHANGE },
    ...{ clientOrderId: null, reduceOnly: null, triggerPrice: null },
    venueStatus: status === "PENDING" ? "NOT_MINED" : "REVERTED",
    ...{ venueTimestamp: null, venueOrderId: null, direction: null, collateral: null, leverage: null, isZfp: null },
    ...{ txHash, walletAddress: null },
  };
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text);
}

const SIDES = { LONG: "BUY", SHORT: "SELL" } as const;

function limitRecord(order: ClientSignedOrder, walletAddress: string): VenuefiveOrderRecord {
  return {
    orderId: order.orderId,
    symbol: order.symbol,
    side: order.direction === null ? null : SIDES[order.direction],
    type: order.orderType,
    // The normalized order knows no expiry: it has ended without a fill.
    status: order.status === "EXPIRED" ? "CANCELED" : order.status,
    price: order.price,
    quantity: order.size,
    filledQuantity: order.status === "FILLED" ? order.size : "0",
    averagePrice: null,
    timestamp: order.timestampMs,
    exchange: EXCHANGE,
    clientOrderId: null,
    reduceOnly: false,
    triggerPrice: order.orderType === "STOP_LIMIT" ? order.price : null,
    venueStatus: order.status,
    venueTimestamp: order.timestampMs,
    venueOrderId: null,
    direction: order.direction,
    collateral: order.collateral,
    leverage: numberOrNull(order.leverage),
    isZfp: null,
    txHash: order.txHash,
    walletAddress,
  };
}

const MARKET_STATUS = { PENDING: "OPEN", FILLED: "FILLED", CANCELED: "CANCELED" } as const;

function marketRecord(order: ClientSignedMarketOrder): VenuefiveOrderRecord {
  const isBuy = (order.direction === "LONG") === order.isOpen;
  const isFilled = order.status === "FILLED";
  return {
    orderId: order.txHash,
    symbol: order.symbol,
    side: isBuy ? "BUY" : "SELL",
    type: "MARKET",
    status: MARKET_STATUS[order.status],
    price: order.price,
    quantity: order.size,
    filledQuantity: isFilled ? order.size : "0",
    averagePrice: isFilled ? order.price : null,
    timestamp: order.timestampMs,
    exchange: EXCHANGE,
    clientOrderId: null,
    reduceOnly: !order.isOpen,
    triggerPrice: null,
    venueStatus: order.status,
    venueTimestamp: order.timestampMs,
    venueOrderId: order.venueOrderId,
    direction: order.direction,
    collateral: order.collateral,
    leverage: Number(order.leverage),
    isZfp: order.isZeroFee,
    txHash: order.txHash,
    walletAddress: order.walletAddress,
  };
}
