/** Rows of the chain → the core's positions and orders: integers until the last line, then decimal text. Pure. */
import type { ClientSignedOrder, ClientSignedPosition } from "../../../engine/client-signed-room.js";
import { formatScaledBig } from "../../../engine/domain/decimal.js";
import { USDC_DECIMALS, VENUEFIVE_DECIMALS } from "../../../schemas/venuefive/contracts.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import type { PlacedOrder } from "../history/placed-orders.js";
import { type PairMap, symbolOf } from "../market/pair-map.js";
import type { OrderRow, TradeRow } from "./slots.js";

const SCALE = 10n ** BigInt(VENUEFIVE_DECIMALS);
const USDC = 10n ** BigInt(USDC_DECIMALS);

export interface PairMeaning {
  readonly map: PairMap;
  readonly dollarBased: ReadonlySet<number>;
}

/** In USDC, down: the chain counts the same. */
export function notionalOf(collateral: bigint, leverage: bigint): bigint {
  return (collateral * leverage) / SCALE;
}

/** Tokens as decimal text; of a pair whose base is the dollar the notional itself. */
export function sizeOf(collateral: bigint, leverage: bigint, price: bigint, isDollarBased: boolean): string {
  const notional = notionalOf(collateral, leverage);
  if (isDollarBased) return usdcText(notional);
  if (price === 0n) throw new WireFault("price", "is zero");
  return priceText((notional * SCALE * SCALE) / price / USDC);
}

export function positionOf(row: TradeRow, { map, dollarBased }: PairMeaning): ClientSignedPosition {
  const { pairIndex, index, collateral, leverage, openPrice } = row;
  return {
    pairIndex,
    index,
    symbol: symbolOf(map, pairIndex),
    direction: row.isLong ? "LONG" : "SHORT",
    size: sizeOf(collateral, leverage, openPrice, dollarBased.has(pairIndex)),
    entryPrice: priceText(openPrice),
    liquidationPrice: priceOrNull(row.liquidationPrice),
    rolloverFee: usdcText(row.rolloverFee),
    leverage: priceText(leverage),
    collateral: usdcText(collateral),
    takeProfit: priceOrNull(row.tp),
    stopLoss: priceOrNull(row.sl),
    openedAtMs: row.openedAt * 1_000,
    isZeroFee: row.isZeroFee,
    isBeingClosed: row.isBeingClosed,
  };
}

export function orderOf(row: OrderRow, { map, dollarBased }: PairMeaning, placed: PlacedOrder): ClientSignedOrder {
  const { pairIndex, index, collateral, leverage, price } = row;
  return {
    orderId: `${pairIndex}:${index}:${placed.block}`,
    symbol: symbolOf(map, pairIndex),
    direction: row.isLong ? "LONG" : "SHORT",
    orderType: placed.orderType,
    price: priceText(price),
    size: sizeOf(collateral, leverage, price, dollarBased.has(pairIndex)),
    collateral: usdcText(collateral),
    leverage: priceText(leverage),
    takeProfit: priceOrNull(row.tp),
    stopLoss: priceOrNull(row.sl),
    slippagePercent: priceText(row.slippage),
    liquidationPrice: priceOrNull(row.liquidationPrice),
    status: "OPEN",
    timestampMs: placed.timestampMs,
    txHash: placed.txHash,
  };
}

export function usdcText(amount: bigint): string {
  return formatScaledBig(amount, USDC_DECIMALS);
}

function priceText(value: bigint): string {
  return formatScaledBig(value, VENUEFIVE_DECIMALS);
}

function priceOrNull(value: bigint): string | null {
  return value === 0n ? null : priceText(value);
}
