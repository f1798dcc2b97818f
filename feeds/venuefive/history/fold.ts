/**
 * Events as the records that callers see: pure. A limit order is what its first known event, its last change and its end
 * say; a closed trade is one event; a market order is what was queued and what became of it.
 */
import type { ClientSignedMarketOrder, ClientSignedOrder, ClosedTrade } from "../../../engine/client-signed-room.js";
import { VENUEFIVE_ORDER_TYPES } from "../../../schemas/venuefive/contracts.js";
import { grossPnl, scaledText, sizeText, usdcText } from "./amounts.js";
import type { ClosingEvent, EventOf, MarketEvent, OrderEvent } from "./event.js";

export type SymbolOf = (pairIndex: number) => string;
/** Whether the base of a pair is the dollar: its size is its notional then. */
export type DollarBased = (pairIndex: number) => boolean;

/** `latest` may be `start`; `before`: the event before the latest, where there is one. */
export interface OrderEvents {
  readonly start: OrderEvent;
  readonly latest: OrderEvent;
  readonly before: OrderEvent | null;
}

type Change = Pick<
  ClientSignedOrder,
  | "direction"
  | "orderType"
  | "price"
  | "collateral"
  | "leverage"
  | "takeProfit"
  | "stopLoss"
  | "slippagePercent"
  | "size"
>;

export function foldOrder(
  { start, latest, before }: OrderEvents,
  symbolOf: SymbolOf,
  isDollarBased: DollarBased,
): ClientSignedOrder {
  const { pairIndex, index } = start;
  const isOver = latest.kind === "filled" || latest.kind === "canceled";
  return {
    orderId: `${pairIndex}:${index}:${start.block}`,
    symbol: symbolOf(pairIndex),
    ...changeOf({ start, latest, before }, isDollarBased(pairIndex)),
    liquidationPrice: null,
    status: latest.kind === "filled" ? "FILLED" : latest.kind === "canceled" ? "CANCELED" : "OPEN",
    timestampMs: isOver ? latest.timeMs : start.timeMs,
    txHash: latest.txHash,
  };
}

function changeOf({ start, latest, before }: OrderEvents, isDollarBased: boolean): Change {
  const placed = start.kind === "placed" ? start : null;
  const updated = latest.kind === "updated" ? latest : before?.kind === "updated" ? before : null;
  const filled = latest.kind === "filled" ? latest : null;
  const price = updated?.price ?? placed?.price ?? filled?.triggerPrice ?? null;
  // Of one that was placed before the index began, its fill has the collateral after the fee of the opening.
  const collateral =
    placed?.collateral ?? (latest.kind === "canceled" ? latest.collateral : filled?.collateral) ?? null;
  const leverage = placed?.leverage ?? filled?.trade.leverage ?? null;
  const isLong = placed?.isLong ?? filled?.trade.isLong ?? null;
  const stops = updated ?? filled?.trade ?? null;
  return {
    direction: isLong === null ? null : isLong ? "LONG" : "SHORT",
    orderType: placed === null ? null : orderTypeOf(placed),
    price: price === null ? null : scaledText(price),
    size:
      price === null || collateral === null || leverage === null
        ? null
        : sizeText(collateral, leverage, price, isDollarBased),
    collateral: collateral === null ? null : usdcText(collateral),
    leverage: leverage === null ? null : scaledText(leverage),
    takeProfit: stops === null ? null : orNone(stops.tp),
    stopLoss: stops === null ? null : orNone(stops.sl),
    // A change of an order has its slippage, and the event of it has not.
    slippagePercent: placed === null || updated !== null ? null : scaledText(placed.slippage),
  };
}

function orderTypeOf({ orderType }: EventOf<"placed">): ClientSignedOrder["orderType"] {
  const type = VENUEFIVE_ORDER_TYPES[orderType];
  return type === "LIMIT" || type === "STOP_LIMIT" ? type : null;
}

function orNone(price: string): string | null {
  return price === "0" ? null : scaledText(price);
}

/**
 * `realizedPnl`: what came back less the collateral that was closed; the opening's fee was taken at the opening and is not in
 * it. `fees`: what the profit at the closing price (`percentProfit` of the event, within the venue's limits) is above it:
 * closing fee, rollover, the keeper's reward, of a zero-fee position the venue's share. Null where the venue gave some of a
 * loss back, which the event does not tell.
 */
export function foldClosing(event: ClosingEvent, symbolOf: SymbolOf, isDollarBased: DollarBased): ClosedTrade {
  const { trade, collateral, sent } = event;
  const pnl = BigInt(sent) - BigInt(collateral);
  const fees = grossPnl(collateral, event.percentProfit) - pnl;
  return {
    symbol: symbolOf(event.pairIndex),
    direction: trade.isLong ? "LONG" : "SHORT",
    entryPrice: scaledText(trade.openPrice),
    exitPrice: scaledText(event.price),
    collateral: usdcText(collateral),
    size: sizeText(collateral, trade.leverage, trade.openPrice, isDollarBased(event.pairIndex)),
    leverage: scaledText(trade.leverage),
    realizedPnl: usdcText(pnl),
    fees: fees < 0n ? null : usdcText(fees),
    usdcReceived: usdcText(sent),
    isZeroFee: event.isZeroFee,
    isLiquidation: event.kind === "triggered" && event.trigger === "LIQ",
    openedAtMs: trade.openedAt === 0 ? null : trade.openedAt * 1_000,
    closedAtMs: event.timeMs,
    txHash: event.txHash,
  };
}

/** Of the events of one order of the venue, oldest first. Null: it was queued before what is known, and given up. */
export function foldMarketOrder(
  events: readonly MarketEvent[],
  symbolOf: SymbolOf,
  isDollarBased: DollarBased,
): ClientSignedMarketOrder | null {
  const queued = events.find((event) => event.kind === "queued") ?? null;
  const executed = events.find((event) => event.kind === "executed") ?? null;
  const first = queued ?? executed;
  if (first === null) return null;
  const isCanceled = executed === null && events.some(({ kind }) => kind === "gave-up");
  const isLong = queued?.isLong ?? executed?.trade.isLong ?? false;
  // What is asked to be closed is in no event before it is.
  const collateral = executed !== null && !executed.isOpen ? executed.collateral : first.collateral;
  return {
    txHash: first.txHash,
    venueOrderId: first.orderId,
    symbol: symbolOf(first.pairIndex),
    direction: isLong ? "LONG" : "SHORT",
    isOpen: first.isOpen,
    isZeroFee: first.isZeroFee,
    collateral: usdcText(collateral),
    leverage: scaledText(queued?.leverage ?? executed?.trade.leverage ?? "0"),
    status: executed !== null ? "FILLED" : isCanceled ? "CANCELED" : "PENDING",
    price: executed === null ? null : scaledText(executed.price),
    size: executed === null ? null : executedSize(executed, isDollarBased(first.pairIndex)),
    timestampMs: first.timeMs,
    walletAddress: first.trader,
  };
}

/** At the price of the opening, also of a close: its collateral and leverage say what the notional was then. */
function executedSize({ collateral, trade }: EventOf<"executed">, isDollarBased: boolean): string {
  return sizeText(collateral, trade.leverage, trade.openPrice, isDollarBased);
}
