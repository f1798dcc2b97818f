/** venuefour's account rows → the core's orders, fills, positions, balances and fees. Pure. */
import { decimalPlaces, formatScaledBig, parseScaledBig, pow10Big } from "../../../engine/domain/decimal.js";
import {
  divideRatio,
  formatRatio,
  multiplyRatio,
  addRatio,
  ratio,
  ratioFromText,
} from "../../../engine/domain/decimal-ratio.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderStatus, OrderTrigger, OrderType, VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type {
  AccountSummary,
  FeeRates,
  FundingPayment,
  VenueBalance,
  VenuePosition,
} from "../../../engine/domain/position.js";
import { canonicalPrice, lotsOf, milliBpsOf, ticksOf } from "../../shared/room/money-text.js";
import { uncountedPosition } from "../../shared/account/uncounted.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import type {
  VenuefourWireAccount,
  VenuefourWireFill,
  VenuefourWireFunding,
  VenuefourWireOrder,
  VenuefourWireOrderEvent,
  VenuefourWirePosition,
} from "./wire.js";

/** Collateral and fees. */
const ASSET = "USDC";
const AVERAGE_PLACES = 12;

/** Sheet section 8. What ended in part is CANCELED with what it filled. */
const STATUS: Readonly<Record<string, OrderStatus>> = {
  open: "OPEN",
  partially_filled: "PARTIALLY_FILLED",
  filled: "FILLED",
  cancelled: "CANCELED",
  rejected: "REJECTED",
};

const TYPE: Readonly<Record<string, readonly [OrderType, OrderTrigger["kind"]]>> = {
  limit: ["LIMIT", "STOP"],
  market: ["MARKET", "STOP"],
  stop_limit: ["STOP_LIMIT", "STOP"],
  stop_market: ["STOP_MARKET", "STOP"],
  stop_loss_limit: ["STOP_LIMIT", "STOP"],
  stop_loss_market: ["STOP_MARKET", "STOP"],
  take_profit_limit: ["STOP_LIMIT", "TAKE_PROFIT"],
  take_profit_market: ["STOP_MARKET", "TAKE_PROFIT"],
};

/** What was known of the order before, where a row cannot say it: a stop that fired shows its working type. */
export function normalizeOrder(wire: VenuefourWireOrder, instrument: Instrument): VenueOrder {
  if (wire.symbol !== instrument.nativeSymbol) throw new WireFault("symbol", "is another instrument's");
  const qtyLots = lotsOf(instrument, wire.amount, "amount");
  const filledLots = lotsOf(instrument, wire.filled, "filled");
  // A stop for the whole position can have the amount 0 until it fires.
  if (filledLots < 0 || (filledLots > qtyLots && qtyLots > 0)) throw new WireFault("filled", "is outside the order");
  // hasOwn: a word named like a property of every object must not find one.
  const type = Object.hasOwn(TYPE, wire.type) ? TYPE[wire.type] : undefined;
  if (type === undefined) throw new WireFault("order type", "is not a known word");
  const word = wire.status ?? (filledLots > 0 ? "partially_filled" : "open");
  const hasAverage = filledLots > 0 && wire.averagePrice !== null && /[1-9]/.test(wire.averagePrice);
  return {
    venue: "venuefour",
    nativeSymbol: wire.symbol,
    venueOrderId: wire.orderId,
    venueClientOrderId: wire.clientOrderId,
    side: wire.side === "bid" ? "BUY" : "SELL",
    type: type[0],
    status: Object.hasOwn(STATUS, word) ? (STATUS[word] ?? "UNKNOWN") : "UNKNOWN",
    venueStatus: word,
    priceTicks: ticksOf(instrument, wire.price, "price"),
    qtyLots,
    filledLots,
    averagePrice: hasAverage ? wire.averagePrice : null,
    reduceOnly: wire.reduceOnly,
    triggerPrice: wire.stopPrice !== null && /[1-9]/.test(wire.stopPrice) ? wire.stopPrice : null,
    ...(wire.stopPrice === null ? {} : { triggerKind: type[1] }),
    tsVenueMs: wire.updatedMs,
    fee: null,
  };
}

/** The order as its newest event left it; events oldest first, at least one. The average is of the fulfil events. */
export function normalizeOrderEvents(events: readonly VenuefourWireOrderEvent[], instrument: Instrument): VenueOrder {
  const newest = events[events.length - 1];
  const first = events[0];
  if (newest === undefined || first === undefined) throw new WireFault("order events", "is empty");
  const order = normalizeOrder({ ...newest.order, price: first.price }, instrument);
  return { ...order, averagePrice: averageOf(events, instrument, order.filledLots) };
}

/** Null where the events do not account for every lot. */
function averageOf(
  events: readonly VenuefourWireOrderEvent[],
  instrument: Instrument,
  filledLots: number,
): string | null {
  if (filledLots === 0) return null;
  let knownLots = 0;
  let value = ratio(0n);
  for (const { eventType, order, price } of events) {
    const lots = lotsOf(instrument, order.filled, "filled") - knownLots;
    if (!eventType.startsWith("fulfill") || lots <= 0) continue;
    value = addRatio(value, multiplyRatio(ratioFromText(price), ratio(BigInt(lots))));
    knownLots += lots;
  }
  return knownLots === filledLots
    ? formatRatio(divideRatio(value, ratio(BigInt(filledLots))), AVERAGE_PLACES, "halfUp")
    : null;
}

export function normalizeFill(wire: VenuefourWireFill, instrument: Instrument): VenueFill {
  if (wire.symbol !== instrument.nativeSymbol) throw new WireFault("symbol", "is another instrument's");
  const qtyLots = lotsOf(instrument, wire.amount, "amount");
  if (qtyLots <= 0) throw new WireFault("amount", "is not positive");
  const isOpening = wire.direction === "open_long" || wire.direction === "open_short";
  return {
    venue: "venuefour",
    symbol: instrument.symbol,
    nativeSymbol: wire.symbol,
    tradeId: String(wire.historyId),
    venueOrderId: wire.orderId,
    venueClientOrderId: wire.clientOrderId,
    side: wire.direction === "open_long" || wire.direction === "close_short" ? "BUY" : "SELL",
    qtyLots,
    price: canonicalPrice(instrument, wire.price, "price"),
    fee: { amount: wire.fee, asset: ASSET },
    isMaker: wire.isMaker,
    // The venue's figure is net of the fee.
    realizedPnl: isOpening ? "0" : sum(wire.pnl, wire.fee),
    tsVenueMs: wire.tsMs,
  };
}

/** A canonical price as the venue prints it. */
export function nativePrice(instrument: Instrument, canonical: string): string {
  const places = decimalPlaces(canonical);
  return formatScaledBig((parseScaledBig(canonical, places) ?? 0n) * pow10Big(instrument.multiplierExp10), places);
}

function sum(left: string, right: string): string {
  const places = Math.max(decimalPlaces(left), decimalPlaces(right));
  const total = (parseScaledBig(left, places) ?? 0n) + (parseScaledBig(right, places) ?? 0n);
  return formatScaledBig(total, places);
}

export function normalizeFunding(wire: VenuefourWireFunding, instrument: Instrument): FundingPayment {
  return {
    venue: "venuefour",
    symbol: instrument.symbol,
    nativeSymbol: wire.symbol,
    amount: wire.payout,
    asset: ASSET,
    rate: wire.rate,
    tsVenueMs: wire.tsMs,
  };
}

/** Of a contract that is not listed. Returns null for a row without size. */
export function uncounted(wire: VenuefourWirePosition): VenuePosition | null {
  const { symbol: nativeSymbol, amount: size, entryPrice, updatedMs: tsVenueMs } = wire;
  const direction = wire.side === "bid" ? "LONG" : "SHORT";
  return uncountedPosition({ venue: "venuefour", nativeSymbol, size, direction, entryPrice, tsVenueMs });
}

/**
 * Returns null for a row without size. The venue prints no mark, no profit and no leverage with a position: mark and
 * profit are the portfolio's to compute, `leverage` is what the account's settings say, null where they were not read.
 */
export function normalizePosition(
  wire: VenuefourWirePosition,
  instrument: Instrument,
  leverage: number | null,
): VenuePosition | null {
  const qtyLots = lotsOf(instrument, wire.amount, "amount");
  if (qtyLots < 0) throw new WireFault("amount", "is negative");
  if (qtyLots === 0) return null;
  return {
    venue: "venuefour",
    symbol: instrument.symbol,
    nativeSymbol: wire.symbol,
    direction: wire.side === "bid" ? "LONG" : "SHORT",
    positionSide: "BOTH",
    qtyLots,
    entryPrice: canonicalPrice(instrument, wire.entryPrice, "entry_price"),
    markPrice: null,
    liquidationPrice: liquidationPrice(wire, instrument),
    unrealizedPnl: null,
    leverage,
    marginMode: wire.isIsolated ? "isolated" : "cross",
    collateral: wire.isIsolated ? wire.margin : null,
    tsVenueMs: wire.updatedMs,
  };
}

/** Null and values below zero both mean that no price liquidates. */
function liquidationPrice(wire: VenuefourWirePosition, instrument: Instrument): string | null {
  if (wire.liquidationPrice === null) return null;
  const canonical = canonicalPrice(instrument, wire.liquidationPrice, "liquidation_price");
  return canonical.startsWith("-") || !/[1-9]/.test(canonical) ? null : canonical;
}

export function normalizeBalances(wire: VenuefourWireAccount): readonly VenueBalance[] {
  // Spot holdings secure the perpetuals too; a spot row of the collateral itself would count it twice.
  const spot = wire.spot
    .filter((row) => row.symbol !== ASSET)
    .map((row) => ({ asset: row.symbol, total: row.amount, available: row.available }));
  return [{ asset: ASSET, total: wire.balance, available: wire.availableToSpend }, ...spot];
}

export function normalizeFees(wire: VenuefourWireAccount): FeeRates {
  return {
    takerFeeMilliBps: milliBpsOf(wire.takerFee, "taker_fee"),
    makerFeeMilliBps: milliBpsOf(wire.makerFee, "maker_fee"),
  };
}

export function normalizeAccount(wire: VenuefourWireAccount): AccountSummary {
  return {
    venue: "venuefour",
    quoteAsset: ASSET,
    equity: wire.equity,
    marginUsed: wire.marginUsed,
    free: wire.availableToSpend,
    maintenanceMargin: wire.maintenance,
    tsVenueMs: wire.updatedMs,
  };
}
