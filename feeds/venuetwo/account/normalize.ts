/** venuetwo's account rows → the core's positions, orders, balances and fees. Pure. */
import {
  decimalPlaces,
  formatScaledBig,
  parseScaled,
  parseScaledBig,
  pow10Big,
} from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderStatus, OrderType, TimeInForce, VenueFill, VenueOrder } from "../../../engine/domain/order.js";
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
import type { VenuetwoWireBalance, VenuetwoWireCommission, VenuetwoWireOrder, VenuetwoWirePosition } from "./wire.js";
import type { VenuetwoWireAccount, VenuetwoWireIncome, VenuetwoWireTrade } from "./history-wire.js";

/** Null for a flat row. */
export function normalizePosition(wire: VenuetwoWirePosition, instrument: Instrument): VenuePosition | null {
  const signedLots = lotsOf(instrument, wire.positionAmt, "positionAmt");
  if (signedLots === 0) return null;
  // A hedge row whose sign contradicts its side would be closed the wrong way round.
  if ((wire.positionSide === "LONG" && signedLots < 0) || (wire.positionSide === "SHORT" && signedLots > 0)) {
    throw new WireFault("positionAmt", "contradicts positionSide");
  }
  const marginMode = marginModeOf(wire.marginType);
  return {
    venue: "venuetwo",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    direction: signedLots > 0 ? "LONG" : "SHORT",
    positionSide: wire.positionSide,
    qtyLots: Math.abs(signedLots),
    entryPrice: canonicalPrice(instrument, wire.entryPrice, "entryPrice"),
    markPrice: priceOrNull(instrument, wire.markPrice, "markPrice"),
    liquidationPrice: priceOrNull(instrument, wire.liquidationPrice, "liquidationPrice"),
    unrealizedPnl: wire.unRealizedProfit,
    leverage: wire.leverage === null ? null : integerOrNull(wire.leverage),
    marginMode,
    collateral: marginMode === "isolated" ? wire.isolatedMargin : null,
    tsVenueMs: wire.updateTime,
    ...(wire.native === undefined ? {} : { native: wire.native }),
  };
}

/** Of a contract that is not listed. Null for a flat row. */
export function uncounted(
  wire: Pick<VenuetwoWirePosition, "symbol" | "positionAmt" | "positionSide" | "entryPrice" | "updateTime" | "native">,
): VenuePosition | null {
  const { symbol: nativeSymbol, positionAmt: size, positionSide, entryPrice, updateTime: tsVenueMs } = wire;
  const position = uncountedPosition({ venue: "venuetwo", nativeSymbol, size, positionSide, entryPrice, tsVenueMs });
  return position === null || wire.native === undefined ? position : { ...position, native: wire.native };
}

/** `"0"` is the venue's way of saying that there is none. */
function priceOrNull(instrument: Instrument, text: string | null, field: string): string | null {
  if (text === null) return null;
  const canonical = canonicalPrice(instrument, text, field);
  return canonical === "0" || canonical.startsWith("-") ? null : canonical;
}

export function integerOrNull(text: string): number | null {
  const value = parseScaled(text, 0);
  return Number.isNaN(value) ? null : value;
}

/** Descriptive: an unknown word is no reason to hide a position. */
export function marginModeOf(text: string | null): VenuePosition["marginMode"] {
  const word = text?.toLowerCase() ?? "";
  return word === "isolated" ? "isolated" : word === "cross" || word === "crossed" ? "cross" : null;
}

/** Sheet section 7. An expired order (IOC remainder, FOK, GTX) is CANCELED with what it filled. */
const STATUS: Readonly<Record<string, OrderStatus>> = {
  NEW: "OPEN",
  NEW_INSURANCE: "OPEN",
  NEW_ADL: "OPEN",
  PENDING_NEW: "OPEN",
  PARTIALLY_FILLED: "PARTIALLY_FILLED",
  FILLED: "FILLED",
  CANCELED: "CANCELED",
  EXPIRED: "CANCELED",
  EXPIRED_IN_MATCH: "CANCELED",
  REJECTED: "REJECTED",
};

export function statusOfWord(word: string): OrderStatus {
  // hasOwn: a status named like a property of every object must not find one.
  return Object.hasOwn(STATUS, word) ? (STATUS[word] ?? "UNKNOWN") : "UNKNOWN";
}

const TYPE: Readonly<Record<string, OrderType>> = {
  LIMIT: "LIMIT",
  MARKET: "MARKET",
  STOP: "STOP_LIMIT",
  TAKE_PROFIT: "STOP_LIMIT",
  STOP_MARKET: "STOP_MARKET",
  TAKE_PROFIT_MARKET: "STOP_MARKET",
  TRAILING_STOP_MARKET: "STOP_MARKET",
};

export function normalizeOrder(wire: VenuetwoWireOrder, instrument: Instrument): VenueOrder {
  if (wire.symbol !== instrument.nativeSymbol) throw new WireFault("symbol", "is another instrument's");
  const qtyLots = lotsOf(instrument, wire.origQty, "origQty");
  const filledLots = lotsOf(instrument, wire.executedQty, "executedQty");
  // A close-all order has quantity 0 until it triggers, and then fills what there is.
  if (filledLots < 0 || (filledLots > qtyLots && qtyLots > 0))
    throw new WireFault("executedQty", "is outside the order");
  const typeWord = wire.origType ?? wire.type;
  const type = Object.hasOwn(TYPE, typeWord) ? TYPE[typeWord] : undefined;
  if (type === undefined) throw new WireFault("type", "is not a known word");
  return {
    venue: "venuetwo",
    nativeSymbol: wire.symbol,
    venueOrderId: wire.orderId,
    venueClientOrderId: wire.clientOrderId,
    side: wire.side,
    type,
    status: statusOfWord(wire.status),
    venueStatus: wire.status,
    priceTicks: ticksOf(instrument, wire.price, "price"),
    qtyLots,
    filledLots,
    averagePrice: filledLots > 0 && wire.avgPrice !== null && /[1-9]/.test(wire.avgPrice) ? wire.avgPrice : null,
    // In hedge mode the venue forbids the flag and the side takes its place: a SELL of LONG can only reduce.
    reduceOnly: wire.reduceOnly || isHedgeClose(wire),
    ...triggerOf(wire, typeWord),
    ...timeInForceOf(wire.timeInForce),
    tsVenueMs: wire.updateTime,
    fee: null,
  };
}

function triggerOf(wire: VenuetwoWireOrder, typeWord: string): Pick<VenueOrder, "triggerKind" | "triggerPrice"> {
  if (wire.stopPrice === null || !/[1-9]/.test(wire.stopPrice)) return { triggerPrice: null };
  return { triggerPrice: wire.stopPrice, triggerKind: typeWord.startsWith("TAKE_PROFIT") ? "TAKE_PROFIT" : "STOP" };
}

/** Descriptive: words without a counterpart here (HIDDEN, GTD, …) are left out. */
const TIME_IN_FORCE: Readonly<Record<string, TimeInForce>> = {
  GTC: "GTC",
  IOC: "IOC",
  FOK: "FOK",
  GTX: "POST_ONLY",
  RPI: "POST_ONLY",
};

function timeInForceOf(word: string | null): Pick<VenueOrder, "timeInForce"> {
  const timeInForce = word !== null && Object.hasOwn(TIME_IN_FORCE, word) ? TIME_IN_FORCE[word] : undefined;
  return timeInForce === undefined ? {} : { timeInForce };
}

function isHedgeClose(wire: VenuetwoWireOrder): boolean {
  return (
    (wire.positionSide === "LONG" && wire.side === "SELL") || (wire.positionSide === "SHORT" && wire.side === "BUY")
  );
}

export function normalizeBalance(wire: VenuetwoWireBalance): VenueBalance {
  return { asset: wire.asset, total: wire.balance, available: wire.availableBalance };
}

export function normalizeCommission(wire: VenuetwoWireCommission): FeeRates {
  return {
    takerFeeMilliBps: milliBpsOf(wire.takerCommissionRate, "takerCommissionRate"),
    makerFeeMilliBps: milliBpsOf(wire.makerCommissionRate, "makerCommissionRate"),
  };
}

/** `nowVenueMs` where the answer carries no time of its own: the venue prints 0 there. */
export function normalizeAccount(wire: VenuetwoWireAccount, nowVenueMs: number): AccountSummary {
  return {
    venue: "venuetwo",
    quoteAsset: "USDT",
    equity: wire.totalMarginBalance,
    marginUsed: wire.totalInitialMargin,
    free: wire.availableBalance,
    maintenanceMargin: wire.totalMaintMargin,
    tsVenueMs: wire.updateTime === 0 ? nowVenueMs : wire.updateTime,
  };
}

/** Trade ids count per symbol. */
export function tradeIdOf(nativeSymbol: string, id: string): string {
  return `${nativeSymbol}:${id}`;
}

export function normalizeTrade(wire: VenuetwoWireTrade, instrument: Instrument): VenueFill {
  return {
    venue: "venuetwo",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    tradeId: tradeIdOf(instrument.nativeSymbol, wire.id),
    venueOrderId: wire.orderId,
    // A trade does not name it.
    venueClientOrderId: null,
    side: wire.side,
    qtyLots: lotsOf(instrument, wire.qty, "qty"),
    price: canonicalPrice(instrument, wire.price, "price"),
    // Its sign differs between the documentation and live rows; a rebate cannot be told from a fee.
    fee: { amount: wire.commission.replace(/^-/, ""), asset: wire.commissionAsset },
    isMaker: wire.isMaker,
    realizedPnl: wire.realizedPnl,
    tsVenueMs: wire.time,
  };
}

/** A canonical price in the venue's own quoting, as the stream prints it: a contract of 1000 units costs 1000 times as much. */
export function nativePrice(instrument: Instrument, canonical: string): string {
  const places = decimalPlaces(canonical);
  return formatScaledBig((parseScaledBig(canonical, places) ?? 0n) * pow10Big(instrument.multiplierExp10), places);
}

export function normalizeFunding(wire: VenuetwoWireIncome, instrument: Instrument): FundingPayment {
  return {
    venue: "venuetwo",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    amount: wire.income,
    asset: wire.asset,
    rate: null,
    tsVenueMs: wire.time,
  };
}
