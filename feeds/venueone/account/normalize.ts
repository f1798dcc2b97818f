/**
 * venueone's account rows → the core's positions, orders and fees. Pure. Knows the venue's traps: a reduce-only
 * order's `sz` shrinks without a fill, and the venue also calls an order `filled` whose remainder was dropped.
 */
import { divideBig, formatScaledBig, parseScaledBig, pow10Big } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  OrderStatus,
  OrderTrigger,
  OrderType,
  TimeInForce,
  VenueFill,
  VenueOrder,
} from "../../../engine/domain/order.js";
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
import type { VenueoneWireAccount, VenueoneWireFees, VenueoneWireSpotBalance } from "./wire.js";
import type { VenueoneWireFunding } from "./history-wire.js";
import type { VenueoneWireFill, VenueoneWireOrder, VenueoneWirePosition } from "../market/wire.js";

/** Places of an average price computed from fills; the venue prints as many at most. */
const AVERAGE_PLACES = 8;
/** Scale that holds any fee text exactly. */
const FEE_PLACES = 24;

/** Of a coin that is not listed. Null for a flat row. */
export function uncounted(wire: VenueoneWirePosition, tsVenueMs: number): VenuePosition | null {
  const { coin: nativeSymbol, szi: size, entryPx: entryPrice } = wire;
  return uncountedPosition({ venue: "venueone", nativeSymbol, size, entryPrice, tsVenueMs });
}

/** Null for a flat row. */
export function normalizePosition(
  wire: VenueoneWirePosition,
  instrument: Instrument,
  tsVenueMs: number,
): VenuePosition | null {
  const signedLots = lotsOf(instrument, wire.szi, "szi");
  if (signedLots === 0) return null;
  if (wire.entryPx === null) throw new WireFault("entryPx", "is missing on an open position");
  const isIsolated = wire.leverageType === "isolated";
  return {
    venue: "venueone",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    direction: signedLots > 0 ? "LONG" : "SHORT",
    positionSide: "BOTH",
    qtyLots: Math.abs(signedLots),
    entryPrice: canonicalPrice(instrument, wire.entryPx, "entryPx"),
    markPrice: markPrice(wire, instrument, Math.abs(signedLots)),
    liquidationPrice:
      wire.liquidationPx === null ? null : canonicalPrice(instrument, wire.liquidationPx, "liquidationPx"),
    unrealizedPnl: wire.unrealizedPnl,
    leverage: wire.leverage,
    marginMode: wire.leverageType,
    collateral: isIsolated ? wire.marginUsed : null,
    tsVenueMs,
  };
}

/** positionValue = |szi| × mark (exact on recorded accounts); nearest price of the tick's own places. */
function markPrice(wire: VenueoneWirePosition, instrument: Instrument, qtyLots: number): string {
  const places = instrument.priceDecimals + instrument.qtyDecimals;
  const value = parseScaledBig(wire.positionValue, FEE_PLACES);
  if (value === null) throw new WireFault("positionValue", "is not a decimal");
  // value × 10^-24 / (lots × 10^-qtyDecimals), in units of 10^-priceDecimals.
  const ticks = divideBig(value * pow10Big(places), BigInt(qtyLots) * pow10Big(FEE_PLACES), "halfUp");
  return formatScaledBig(ticks, instrument.priceDecimals + instrument.multiplierExp10);
}

const CANCELED_WORDS: ReadonlySet<string> = new Set(["canceled", "scheduledCancel", "internalCancel"]);

/** Status word → ours, before fills are looked at. */
export function statusOfWord(word: string): "OPEN" | "FILLED" | "CANCELED" | "REJECTED" | "UNKNOWN" {
  if (word === "open" || word === "triggered") return "OPEN";
  if (word === "filled") return "FILLED";
  if (CANCELED_WORDS.has(word) || word.endsWith("Canceled")) return "CANCELED";
  // Words may be added by the venue at any time; these endings are its convention.
  if (word === "rejected" || word.endsWith("Rejected")) return "REJECTED";
  return "UNKNOWN";
}

/** Returns false for an unknown word: such an order may still fill. */
export function isEndWord(word: string): boolean {
  const status = statusOfWord(word);
  return status !== "OPEN" && status !== "UNKNOWN";
}

/** What the row alone says was filled; null where only the fills can tell. */
export function filledLotsOfRow(wire: VenueoneWireOrder, instrument: Instrument): number | null {
  const qtyLots = lotsOf(instrument, wire.origSz, "origSz");
  const remainingLots = lotsOf(instrument, wire.sz, "sz");
  if (remainingLots === qtyLots) return 0;
  return wire.reduceOnly ? null : qtyLots - remainingLots;
}

export interface FilledSummary {
  readonly filledLots: number;
  readonly averagePrice: string | null;
  readonly fee: { readonly amount: string; readonly asset: string } | null;
}

export const NOTHING_FILLED: FilledSummary = { filledLots: 0, averagePrice: null, fee: null };

/** Sum over the fills of one order; fills of others and repeated ones are left out. */
export function summarizeFills(fills: readonly VenueoneWireFill[], oid: number, instrument: Instrument): FilledSummary {
  let lots = 0;
  let weighted = 0n;
  let fee = 0n;
  let feeAsset: string | null = null;
  let isOneFeeAsset = true;
  const seen = new Set<number>();
  for (const fill of fills) {
    if (fill.oid !== oid || fill.coin !== instrument.nativeSymbol || seen.has(fill.tid)) continue;
    seen.add(fill.tid);
    const fillLots = lotsOf(instrument, fill.sz, "sz");
    const price = parseScaledBig(fill.px, AVERAGE_PLACES);
    const feePart = parseScaledBig(fill.fee, FEE_PLACES);
    if (price === null || feePart === null) throw new WireFault("fill", "has a price or fee too fine");
    lots += fillLots;
    weighted += price * BigInt(fillLots);
    fee += feePart;
    if (feeAsset !== null && feeAsset !== fill.feeToken) isOneFeeAsset = false;
    feeAsset = fill.feeToken;
  }
  if (lots === 0) return NOTHING_FILLED;
  return {
    filledLots: lots,
    // Cut, as the venue cuts the average it prints.
    averagePrice: formatScaledBig(divideBig(weighted, BigInt(lots), "floor"), AVERAGE_PLACES),
    fee: feeAsset !== null && isOneFeeAsset ? { amount: formatScaledBig(fee, FEE_PLACES), asset: feeAsset } : null,
  };
}

/** `word` is the order's status word, `filled` what is known of its fills. */
export function normalizeOrder(
  wire: VenueoneWireOrder,
  word: string,
  tsVenueMs: number,
  instrument: Instrument,
  filled: FilledSummary,
): VenueOrder {
  const qtyLots = lotsOf(instrument, wire.origSz, "origSz");
  return {
    venue: "venueone",
    nativeSymbol: instrument.nativeSymbol,
    venueOrderId: String(wire.oid),
    venueClientOrderId: wire.cloid,
    side: wire.side === "B" ? "BUY" : "SELL",
    type: orderType(wire),
    status: finalStatus(statusOfWord(word), filled.filledLots, qtyLots),
    venueStatus: word,
    ...(word.startsWith("reduceOnly") ? { endReason: "REDUCE_ONLY" } : {}),
    priceTicks: ticksOf(instrument, wire.limitPx, "limitPx"),
    qtyLots,
    filledLots: filled.filledLots,
    averagePrice: filled.averagePrice,
    reduceOnly: wire.reduceOnly,
    triggerPrice: wire.isTrigger ? wire.triggerPx : null,
    ...timeInForceOf(wire.tif),
    ...(wire.isTrigger ? { triggerKind: triggerKindOf(wire) } : {}),
    tsVenueMs,
    fee: filled.fee,
  };
}

/** Descriptive: a word that is not known is left out. */
const TIME_IN_FORCE: Readonly<Record<string, TimeInForce>> = {
  Gtc: "GTC",
  Ioc: "IOC",
  Alo: "POST_ONLY",
  FrontendMarket: "IOC",
  LiquidationMarket: "IOC",
};

function timeInForceOf(tif: string | null): Pick<VenueOrder, "timeInForce"> {
  const timeInForce = tif !== null && Object.hasOwn(TIME_IN_FORCE, tif) ? TIME_IN_FORCE[tif] : undefined;
  return timeInForce === undefined ? {} : { timeInForce };
}

function triggerKindOf(wire: VenueoneWireOrder): OrderTrigger["kind"] {
  return wire.orderType?.startsWith("Take Profit") === true ? "TAKE_PROFIT" : "STOP";
}

/** An order that ended with 0 < filled < quantity is CANCELED; PARTIALLY_FILLED means still open. */
function finalStatus(status: ReturnType<typeof statusOfWord>, filledLots: number, qtyLots: number): OrderStatus {
  if (status === "FILLED") return filledLots === qtyLots ? "FILLED" : "CANCELED";
  if (status === "OPEN" && filledLots > 0) return "PARTIALLY_FILLED";
  return status;
}

/** A market order is an IOC limit here and everywhere on this venue; only the venue's own UI gets the word. */
function orderType(wire: VenueoneWireOrder): OrderType {
  const text = wire.orderType ?? "";
  if (wire.isTrigger || text.startsWith("Stop") || text.startsWith("Take Profit")) {
    return text.endsWith("Limit") ? "STOP_LIMIT" : "STOP_MARKET";
  }
  return text === "" || text === "Limit" ? "LIMIT" : "MARKET";
}

export function normalizeFees(wire: VenueoneWireFees): FeeRates {
  return {
    takerFeeMilliBps: milliBpsOf(wire.userCrossRate, "userCrossRate"),
    makerFeeMilliBps: milliBpsOf(wire.userAddRate, "userAddRate"),
  };
}

/** Separate accounts: equity and free margin of the perp account. */
export function normalizePerpBalance(wire: VenueoneWireAccount): VenueBalance {
  return { asset: "USDC", total: wire.accountValue, available: wire.withdrawable };
}

/** Unified accounts keep their collateral here. Outcome tokens (`+10`) are no asset. */
export function normalizeSpotBalances(rows: readonly VenueoneWireSpotBalance[]): readonly VenueBalance[] {
  return rows
    .filter((row) => !row.coin.startsWith("+"))
    .map((row) => {
      const total = parseScaledBig(row.total, FEE_PLACES);
      const hold = parseScaledBig(row.hold, FEE_PLACES);
      if (total === null || hold === null) throw new WireFault("balance", "is not a decimal");
      return {
        asset: row.coin,
        total: formatScaledBig(total, FEE_PLACES),
        available: formatScaledBig(total - hold, FEE_PLACES),
      };
    });
}

/** The venue compares cross equity; isolated collateral is added on both sides of the comparison. */
export function normalizePerpAccount(wire: VenueoneWireAccount, nowVenueMs: number): AccountSummary {
  const crossMaintenance = wire.crossMaintenanceMarginUsed;
  const isolated = exact(wire.accountValue) - exact(wire.crossAccountValue);
  return {
    venue: "venueone",
    quoteAsset: "USDC",
    equity: wire.accountValue,
    marginUsed: wire.totalMarginUsed,
    free: wire.withdrawable,
    maintenanceMargin:
      crossMaintenance === null ? null : formatScaledBig(exact(crossMaintenance) + isolated, FEE_PLACES),
    tsVenueMs: wire.time === 0 ? nowVenueMs : wire.time,
  };
}

/** Unified accounts: the venue shows collateral and what is held of it, and no maintenance margin of the whole. */
export function normalizeUnifiedAccount(rows: readonly VenueoneWireSpotBalance[], nowVenueMs: number): AccountSummary {
  const usdc = rows.find((row) => row.coin === "USDC");
  const total = usdc?.total ?? "0";
  const hold = usdc?.hold ?? "0";
  return {
    venue: "venueone",
    quoteAsset: "USDC",
    equity: total,
    marginUsed: hold,
    free: formatScaledBig(exact(total) - exact(hold), FEE_PLACES),
    maintenanceMargin: null,
    tsVenueMs: nowVenueMs,
  };
}

function exact(text: string): bigint {
  const scaled = parseScaledBig(text, FEE_PLACES);
  if (scaled === null) throw new WireFault("amount", "is not a decimal");
  return scaled;
}

export function normalizeFill(wire: VenueoneWireFill, instrument: Instrument): VenueFill {
  return {
    venue: "venueone",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    tradeId: String(wire.tid),
    venueOrderId: String(wire.oid),
    venueClientOrderId: wire.cloid,
    side: wire.side === "B" ? "BUY" : "SELL",
    qtyLots: lotsOf(instrument, wire.sz, "sz"),
    price: canonicalPrice(instrument, wire.px, "px"),
    fee: { amount: wire.fee, asset: wire.feeToken },
    isMaker: !wire.crossed,
    realizedPnl: wire.closedPnl,
    tsVenueMs: wire.time,
  };
}

export function normalizeFunding(wire: VenueoneWireFunding, instrument: Instrument): FundingPayment {
  return {
    venue: "venueone",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    amount: wire.usdc,
    asset: "USDC",
    rate: wire.fundingRate,
    tsVenueMs: wire.time,
  };
}
