/**
 * venuethree's account rows → the core's positions, orders, fills, balances and funding. Pure. Knows the venue's traps:
 * unsigned sizes beside a sign, margin fractions in percent, times in seconds or milliseconds, `side` empty.
 */
import { decimalPlaces, divideBig, formatScaledBig, parseScaledBig, pow10Big } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  OrderStatus,
  OrderTrigger,
  OrderType,
  RejectReason,
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
import { canonicalPrice, lotsOf, ticksOf } from "../../shared/room/money-text.js";
import { uncountedPosition } from "../../shared/account/uncounted.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import type {
  VenuethreeWireAccount,
  VenuethreeWireAccountTrade,
  VenuethreeWireLimits,
  VenuethreeWireOrder,
  VenuethreeWirePosition,
  VenuethreeWirePositionFunding,
} from "./wire.js";
import { percentToFraction } from "../market/normalize.js";

const COLLATERAL_ASSET = "USDC";
/** Scale that holds every amount of the venue exactly. */
const AMOUNT_PLACES = 24;
/** Places of a price computed from two amounts. */
const AVERAGE_PLACES = 8;
/** Fees on trades are in units of 1e-6 of their value. */
const FEE_PLACES = 6;
/** Times below are seconds: 1e11 ms was in 1973. */
const SECONDS_BELOW = 100_000_000_000;

/** Of a market that is not listed. Returns null for a flat row. */
export function uncounted(wire: VenuethreeWirePosition, tsVenueMs: number): VenuePosition | null {
  const { symbol: nativeSymbol, position: size, avg_entry_price: entryPrice } = wire;
  const direction = wire.sign < 0 ? "SHORT" : "LONG";
  return uncountedPosition({ venue: "venuethree", nativeSymbol, size, direction, entryPrice, tsVenueMs });
}

/** Returns null for a flat row. */
export function normalizePosition(
  wire: VenuethreeWirePosition,
  instrument: Instrument,
  tsVenueMs: number,
): VenuePosition | null {
  const qtyLots = lotsOf(instrument, wire.position, "position");
  // The sign is beside it: a second one would be read as neither.
  if (qtyLots < 0) throw new WireFault("position", "has a sign of its own");
  if (qtyLots === 0) return null;
  if (wire.sign === 0) throw new WireFault("sign", "is 0 on an open position");
  const { marginMode, leverage } = marginOf(wire);
  return {
    venue: "venuethree",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    direction: wire.sign > 0 ? "LONG" : "SHORT",
    positionSide: "BOTH",
    qtyLots,
    entryPrice: canonicalPrice(instrument, wire.avg_entry_price, "avg_entry_price"),
    markPrice: priceOfValue(instrument, wire.position_value, qtyLots),
    liquidationPrice: isZero(wire.liquidation_price)
      ? null
      : canonicalPrice(instrument, wire.liquidation_price, "liquidation_price"),
    unrealizedPnl: plain(wire.unrealized_pnl, "unrealized_pnl"),
    leverage,
    marginMode,
    collateral:
      marginMode === "isolated" && wire.allocated_margin !== null
        ? plain(wire.allocated_margin, "allocated_margin")
        : null,
    tsVenueMs,
  };
}

export function marginOf(wire: VenuethreeWirePosition): {
  readonly marginMode: "cross" | "isolated";
  readonly leverage: number | null;
} {
  if (wire.margin_mode !== 0 && wire.margin_mode !== 1) throw new WireFault("margin_mode", "is neither 0 nor 1");
  return {
    marginMode: wire.margin_mode === 1 ? "isolated" : "cross",
    leverage: leverageOf(marginFractionOf(wire)),
  };
}

/** Percent text → units of 1e-4, as transactions have it; a finer percentage is rounded up. 0: not set. */
export function marginFractionOf(wire: VenuethreeWirePosition): number {
  const scaled = parseScaledBig(wire.initial_margin_fraction, AMOUNT_PLACES);
  if (scaled === null) throw new WireFault("initial_margin_fraction", "is not a decimal");
  return Number(divideBig(scaled, pow10Big(AMOUNT_PLACES - 2), "ceil"));
}

/** Units of 1e-4 → times; two decimals, as 3× is set as 3334 and reads 2.9994. */
export function leverageOf(marginFraction: number): number | null {
  return marginFraction > 0 ? Math.round(1_000_000 / marginFraction) / 100 : null;
}

/** |value| / size, nearest on the price grid. */
function priceOfValue(instrument: Instrument, value: string, qtyLots: number): string {
  const scaled = parseScaledBig(value, AMOUNT_PLACES);
  if (scaled === null) throw new WireFault("position_value", "is not a decimal");
  const numerator = (scaled < 0n ? -scaled : scaled) * pow10Big(instrument.priceDecimals + instrument.qtyDecimals);
  const ticks = divideBig(numerator, BigInt(qtyLots) * pow10Big(AMOUNT_PLACES), "halfUp");
  return formatScaledBig(ticks, instrument.priceDecimals + instrument.multiplierExp10);
}

/** Status word → ours, before fills are looked at. */
export function statusOfWord(word: string): "OPEN" | "FILLED" | "CANCELED" | "UNKNOWN" {
  if (word === "open" || word === "pending" || word === "in-progress") return "OPEN";
  if (word === "filled") return "FILLED";
  // Reasons may be added by the venue at any time; the first word is its convention.
  if (word === "canceled" || word.startsWith("canceled-")) return "CANCELED";
  return "UNKNOWN";
}

/** False for an unknown word: such an order may still fill. */
export function isEndWord(word: string): boolean {
  const status = statusOfWord(word);
  return status === "FILLED" || status === "CANCELED";
}

/** Null means by its owner, with another order of its owner's, or at the end of its time or its position. */
const END_REASONS: ReadonlyMap<string, RejectReason | null> = new Map([
  ["canceled-reduce-only", "REDUCE_ONLY"],
  ["canceled-margin-not-allowed", "INSUFFICIENT_MARGIN"],
  ["canceled-invalid-balance", "INSUFFICIENT_MARGIN"],
  ["canceled-too-much-slippage", "NO_LIQUIDITY"],
  ["canceled-not-enough-liquidity", "NO_LIQUIDITY"],
  ["canceled-post-only", "PRICE"],
  ...["canceled", "canceled-oco", "canceled-child", "canceled-expired", "canceled-liquidation"].map(
    (word) => [word, null] as const,
  ),
]);

function endReasonOf(word: string): Pick<VenueOrder, "endReason"> {
  if (statusOfWord(word) !== "CANCELED") return {};
  const known = END_REASONS.get(word);
  const endReason = known === undefined ? "VENUE_STATE" : known;
  return endReason === null ? {} : { endReason };
}

const TYPES: Readonly<Record<string, { readonly type: OrderType; readonly triggerKind?: OrderTrigger["kind"] }>> = {
  limit: { type: "LIMIT" },
  market: { type: "MARKET" },
  "stop-loss": { type: "STOP_MARKET", triggerKind: "STOP" },
  "stop-loss-limit": { type: "STOP_LIMIT", triggerKind: "STOP" },
  "take-profit": { type: "STOP_MARKET", triggerKind: "TAKE_PROFIT" },
  "take-profit-limit": { type: "STOP_LIMIT", triggerKind: "TAKE_PROFIT" },
  // Slices that the venue makes of one order, and its own liquidations, are executed at the market.
  twap: { type: "MARKET" },
  "twap-sub": { type: "MARKET" },
  liquidation: { type: "MARKET" },
};

const TIMES_IN_FORCE: Readonly<Record<string, TimeInForce>> = {
  "immediate-or-cancel": "IOC",
  "good-till-time": "GTC",
  "post-only": "POST_ONLY",
};

export function normalizeOrder(wire: VenuethreeWireOrder, instrument: Instrument): VenueOrder {
  const qtyLots = lotsOf(instrument, wire.initial_base_amount, "initial_base_amount");
  const filledLots = lotsOf(instrument, wire.filled_base_amount, "filled_base_amount");
  // hasOwn: a word named like a property of every object must not find one.
  const kind = Object.hasOwn(TYPES, wire.type) ? TYPES[wire.type] : undefined;
  if (kind === undefined) throw new WireFault("type", "is not a known word");
  const timeInForce = Object.hasOwn(TIMES_IN_FORCE, wire.time_in_force)
    ? TIMES_IN_FORCE[wire.time_in_force]
    : undefined;
  return {
    venue: "venuethree",
    nativeSymbol: instrument.nativeSymbol,
    venueOrderId: wire.order_id,
    venueClientOrderId: wire.client_order_id === "0" ? null : wire.client_order_id,
    side: wire.is_ask ? "SELL" : "BUY",
    type: kind.type,
    status: finalStatus(statusOfWord(wire.status), filledLots, qtyLots),
    venueStatus: wire.status,
    ...endReasonOf(wire.status),
    priceTicks: ticksOf(instrument, wire.price, "price"),
    qtyLots,
    filledLots,
    averagePrice: filledLots === 0 ? null : averagePrice(wire.filled_quote_amount, instrument, filledLots),
    reduceOnly: wire.reduce_only,
    triggerPrice: isZero(wire.trigger_price) ? null : plain(wire.trigger_price, "trigger_price"),
    ...(timeInForce === undefined ? {} : { timeInForce }),
    ...(kind.triggerKind === undefined ? {} : { triggerKind: kind.triggerKind }),
    tsVenueMs: Math.floor(wire.transaction_time / 1_000),
    fee: null,
  };
}

/** When the order was made; never changes. */
export function createdMsOf(wire: VenuethreeWireOrder): number {
  return wire.created_at < SECONDS_BELOW ? wire.created_at * 1_000 : wire.created_at;
}

/** An order that ended with 0 < filled < quantity is CANCELED; PARTIALLY_FILLED means still open. */
function finalStatus(status: ReturnType<typeof statusOfWord>, filledLots: number, qtyLots: number): OrderStatus {
  // A reduce-only order for the whole position has no quantity of its own.
  if (status === "FILLED") return filledLots === qtyLots || qtyLots === 0 ? "FILLED" : "CANCELED";
  if (status === "OPEN" && filledLots > 0) return "PARTIALLY_FILLED";
  return status;
}

/** Quote / base, cut. */
function averagePrice(quote: string, instrument: Instrument, filledLots: number): string {
  const scaled = parseScaledBig(quote, AMOUNT_PLACES);
  if (scaled === null) throw new WireFault("filled_quote_amount", "is not a decimal");
  const numerator = scaled * pow10Big(AVERAGE_PLACES + instrument.qtyDecimals);
  return formatScaledBig(divideBig(numerator, BigInt(filledLots) * pow10Big(AMOUNT_PLACES), "floor"), AVERAGE_PLACES);
}

/** The account's own side of a trade; of a trade with itself the taker's. Null when it is on neither side. */
export function normalizeFill(
  wire: VenuethreeWireAccountTrade,
  accountIndex: number,
  instrument: Instrument,
): VenueFill | null {
  const isAskOurs = wire.ask_account_id === accountIndex;
  const isBidOurs = wire.bid_account_id === accountIndex;
  if (!isAskOurs && !isBidOurs) return null;
  const isAsk = isAskOurs && isBidOurs ? !wire.is_maker_ask : isAskOurs;
  const isMaker = isAsk === wire.is_maker_ask;
  const clientId = isAsk ? wire.ask_client_id : wire.bid_client_id;
  return {
    venue: "venuethree",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    tradeId: wire.trade_id,
    venueOrderId: isAsk ? wire.ask_id : wire.bid_id,
    venueClientOrderId: clientId === "0" ? null : clientId,
    side: isAsk ? "SELL" : "BUY",
    qtyLots: lotsOf(instrument, wire.size, "size"),
    price: canonicalPrice(instrument, wire.price, "price"),
    fee: { amount: feeOf(wire.usd_amount, isMaker ? wire.maker_fee : wire.taker_fee), asset: COLLATERAL_ASSET },
    isMaker,
    realizedPnl: plainOrNull(isAsk ? wire.ask_account_pnl : wire.bid_account_pnl),
    tsVenueMs: wire.timestamp,
  };
}

/** value × fee / 1e6, exact. */
function feeOf(usdAmount: string, fee: number): string {
  const scaled = parseScaledBig(usdAmount, AMOUNT_PLACES);
  if (scaled === null) throw new WireFault("usd_amount", "is not a decimal");
  return formatScaledBig(scaled * BigInt(fee), AMOUNT_PLACES + FEE_PLACES);
}

/** `tick` is in units of 1e-6: a tenth of a thousandth of a basis point is not lost. */
export function normalizeFees(wire: VenuethreeWireLimits): FeeRates {
  return { makerFeeMilliBps: wire.current_maker_fee_tick * 10, takerFeeMilliBps: wire.current_taker_fee_tick * 10 };
}

export function normalizeFunding(wire: VenuethreeWirePositionFunding, instrument: Instrument): FundingPayment {
  const rate = percentToFraction(wire.rate);
  return {
    venue: "venuethree",
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    amount: plain(wire.change, "change"),
    asset: COLLATERAL_ASSET,
    rate: rate === "" ? null : rate,
    tsVenueMs: fundingMsOf(wire),
  };
}

export function fundingMsOf({ timestamp }: VenuethreeWirePositionFunding): number {
  return timestamp < SECONDS_BELOW ? timestamp * 1_000 : timestamp;
}

/** One row per asset over all accounts given; the collateral of perpetuals counts as its asset. */
export function normalizeBalances(accounts: readonly VenuethreeWireAccount[]): readonly VenueBalance[] {
  const sums = new Map<string, { total: bigint; available: bigint }>();
  const addTo = (asset: string, total: bigint, available: bigint): void => {
    const sum = sums.get(asset) ?? { total: 0n, available: 0n };
    sums.set(asset, { total: sum.total + total, available: sum.available + available });
  };
  for (const account of accounts) {
    addTo(COLLATERAL_ASSET, amount(account.collateral), amount(account.available_balance));
    for (const { symbol, balance, locked_balance: locked, margin_balance: margin } of account.assets) {
      // Collateral in USDC is already counted; other assets may serve as collateral too.
      const marginAmount = symbol === COLLATERAL_ASSET || margin === null ? 0n : amount(margin);
      addTo(symbol, amount(balance) + marginAmount, amount(balance) - amount(locked));
    }
  }
  return [...sums]
    .filter(([asset, { total }]) => asset === COLLATERAL_ASSET || total !== 0n)
    .map(([asset, { total, available }]) => ({
      asset,
      total: formatScaledBig(total, AMOUNT_PLACES),
      available: formatScaledBig(available, AMOUNT_PLACES),
    }));
}

export function normalizeSummary(accounts: readonly VenuethreeWireAccount[], tsVenueMs: number): AccountSummary {
  const sum = (of: (account: VenuethreeWireAccount) => bigint): string =>
    formatScaledBig(
      accounts.reduce((total, account) => total + of(account), 0n),
      AMOUNT_PLACES,
    );
  const tellsMargin = accounts.every((account) => account.cross_initial_margin_requirement !== null);
  const tellsMaintenance = accounts.every((account) => account.cross_maintenance_margin_requirement !== null);
  return {
    venue: "venuethree",
    quoteAsset: COLLATERAL_ASSET,
    equity: sum((account) => amount(account.total_asset_value)),
    marginUsed: tellsMargin
      ? sum((account) => amount(account.cross_initial_margin_requirement ?? "0") + isolatedMargin(account))
      : null,
    free: sum((account) => amount(account.available_balance)),
    maintenanceMargin: tellsMaintenance
      ? sum((account) => amount(account.cross_maintenance_margin_requirement ?? "0"))
      : null,
    tsVenueMs,
  };
}

function isolatedMargin(account: VenuethreeWireAccount): bigint {
  let total = 0n;
  for (const { margin_mode: mode, allocated_margin: margin } of account.positions) {
    if (mode === 1 && margin !== null) total += amount(margin);
  }
  return total;
}

function amount(text: string): bigint {
  const scaled = parseScaledBig(text, AMOUNT_PLACES);
  if (scaled === null) throw new WireFault("amount", "is finer than any amount of this venue");
  return scaled;
}

/** Without trailing zeros, and without the sign that the venue prints before a zero. */
function plain(text: string, field: string): string {
  const places = decimalPlaces(text);
  const scaled = parseScaledBig(text, places);
  if (scaled === null) throw new WireFault(field, "is not a decimal");
  return formatScaledBig(scaled, places);
}

function plainOrNull(text: string | null): string | null {
  return text === null ? null : plain(text, "pnl");
}

function isZero(text: string): boolean {
  return parseScaledBig(text, decimalPlaces(text)) === 0n;
}
