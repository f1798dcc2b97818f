/** Accounts, positions, balances and statistics as the venue prints them (fact sheet 3.2, 9.3). Key order as recorded. */
import { absBig, moneyText, priceText, qtyText, scaledText, trimZeros } from "../../core/model/fixed.js";
import type { SimIncome, SimMargin, SimPosition } from "../../core/model/types.js";
import type { ApiKey, VenueAccount } from "../records/accounts.js";
import type { VenuethreeContext } from "../orders/context.js";
import type { Row } from "../wire/json.js";
import { marginFractionOf } from "../market/trade-view.js";
import { isPending, isPositionTied, type TradingMarket } from "../orders/orders.js";

const USDC_DECIMALS = 6;
const USDC_ASSET = 3;
const PRICE_DIGITS_MAX = 12;

function usdc(amountE12: bigint): string {
  return moneyText(amountE12, USDC_DECIMALS);
}

/** Row of `accountsByL1Address`. */
export function printAccount(context: VenuethreeContext, account: VenueAccount): Row {
  const { active, pending } = context.orders.openCount(account);
  const margin = context.exchange.accounts.margin(account.id);
  return {
    code: 0,
    account_type: account.type,
    account_trading_mode: 0,
    index: account.index,
    l1_address: account.l1Address,
    cancel_all_time: account.cancelAllMs,
    total_order_count: active + pending,
    total_isolated_order_count: isolatedOrderCount(context, account),
    pending_order_count: pending,
    available_balance: usdc(margin.availableE12),
    status: 1,
    collateral: usdc(margin.walletE12),
    transaction_time: account.transactionUs,
  };
}

/** Row of `account`. */
export function printDetailedAccount(context: VenuethreeContext, account: VenueAccount): Row {
  const margin = context.exchange.accounts.margin(account.id);
  return {
    ...printAccount(context, account),
    account_index: account.index,
    name: "",
    description: "",
    can_invite: true,
    referral_points_percentage: "",
    positions: printPositions(context, account),
    assets: [printAsset(context, account)],
    total_asset_value: usdc(margin.equityE12),
    cross_asset_value: usdc(margin.crossWalletE12 + margin.crossUnrealizedE12),
    pool_info: null,
    shares: [],
    created_at: Math.floor(account.createdMs / 1000),
    pending_unlocks: [],
    approved_integrators: [...account.integrators].map(([index, approval]) => ({
      account_index: index,
      max_perps_taker_fee: approval.takerFee,
      max_perps_maker_fee: approval.makerFee,
      approval_expiry: approval.expiryMs,
    })),
    can_rfq: false,
    can_rfq_market_ids: [],
    cross_initial_margin_requirement: usdc(margin.positionInitialE12),
    cross_maintenance_margin_requirement: usdc(margin.crossMaintenanceE12),
  };
}

function isolatedOrderCount({ exchange, orders }: VenuethreeContext, account: VenueAccount): number {
  return orders
    .open(account)
    .filter((order) => exchange.accounts.marginMode(account.id, order.market.symbol) === "isolated").length;
}

/** Markets with a position, also a closed one, with orders, or with a leverage of their own, by id. */
export function printPositions(context: VenuethreeContext, account: VenueAccount): Row[] {
  return context.listing.markets
    .filter((market): market is TradingMarket => market.instrument !== null)
    .flatMap((market) => {
      const row = printPosition(context, account, market);
      return row === null ? [] : [row];
    });
}

/** As a map by market id, for the streams. */
export function printPositionMap(context: VenuethreeContext, account: VenueAccount): Row {
  return Object.fromEntries(printPositions(context, account).map((row) => [String(row.market_id), row]));
}

/** Returns null when there is nothing to show of this market. */
export function printPosition(context: VenuethreeContext, account: VenueAccount, market: TradingMarket): Row | null {
  const { exchange, orders } = context;
  const { instrument, symbol, marketId } = market;
  const position = exchange.accounts.position(account.id, symbol, "BOTH");
  const own = orders.open(account).filter((order) => order.market.marketId === marketId);
  if (position === null && own.length === 0 && !account.marginFractions.has(marketId)) return null;
  const lots = position?.qtyLots ?? 0;
  const figures = position === null ? null : exchange.accounts.positionFigures(position);
  const isIsolated = exchange.accounts.marginMode(account.id, symbol) === "isolated";
  const pendingCount = own.filter(isPending).length;
  return {
    market_id: marketId,
    symbol,
    initial_margin_fraction: scaledText(marginFractionOf(account, market), 2),
    open_order_count: own.length - pendingCount,
    pending_order_count: pendingCount,
    position_tied_order_count: own.filter(isPositionTied).length,
    sign: lots < 0 ? -1 : 1,
    position: qtyText(instrument, Math.abs(lots)),
    avg_entry_price: moneyText(absBig(figures?.entryPriceE12 ?? 0n), instrument.priceDecimals),
    // A flat row has been seen with a sign before its zero.
    position_value: lots === 0 ? "-0.000000" : usdc(figures?.notionalE12 ?? 0n),
    unrealized_pnl: usdc(figures?.unrealizedE12 ?? 0n),
    realized_pnl: usdc(position?.cumRealizedE12 ?? 0n),
    liquidation_price: liquidationText(figures?.liquidationPriceE12 ?? null),
    total_funding_paid_out: usdc(-(position?.cumFundingE12 ?? 0n)),
    margin_mode: isIsolated ? 1 : 0,
    margin_set_flag: 1,
    allocated_margin: usdc(isIsolated ? (position?.isolatedE12 ?? 0n) : 0n),
    total_discount: "0.000000",
  };
}

function liquidationText(priceE12: bigint | null): string {
  return priceE12 === null ? "0" : trimZeros(moneyText(priceE12, PRICE_DIGITS_MAX));
}

/** The one asset: spot balance, and the perps collateral as its margin balance. */
export function printAsset(context: VenuethreeContext, account: VenueAccount): Row {
  const spotE12 = context.exchange.accounts.find(account.id)?.spotE12 ?? 0n;
  return {
    symbol: "USDC",
    asset_id: USDC_ASSET,
    balance: usdc(spotE12),
    locked_balance: "0.000000",
    margin_mode: "disabled",
    margin_balance: trimmedMoney(context.exchange.accounts.margin(account.id).walletE12),
  };
}

/** Six decimals, more where there are (39.995369556 was seen). */
function trimmedMoney(amountE12: bigint): string {
  const text = moneyText(amountE12, 9);
  return text.endsWith("000") ? text.slice(0, -3) : text;
}

/** `stats` of `user_stats`. With one margin account, cross and total are equal. */
export function printStats(context: VenuethreeContext, account: VenueAccount): Row {
  const margin = context.exchange.accounts.margin(account.id);
  const notionalE12 = sumNotional(context, account);
  const figures = {
    available_balance: usdc(margin.availableE12),
    buying_power: "0",
    collateral: usdc(margin.walletE12),
    leverage: ratioText(notionalE12, margin, 1n),
    margin_usage: ratioText(margin.positionInitialE12, margin, 100n),
    portfolio_value: usdc(margin.equityE12),
  };
  return { account_trading_mode: 0, ...figures, cross_stats: figures, total_stats: figures };
}

function sumNotional({ exchange }: VenuethreeContext, account: VenueAccount): bigint {
  let sum = 0n;
  const positions: Iterable<SimPosition> = exchange.accounts.find(account.id)?.positions.values() ?? [];
  for (const position of positions) sum += exchange.accounts.positionFigures(position).notionalE12;
  return sum;
}

/** Share of the equity with two decimals, rounded down. */
function ratioText(amountE12: bigint, margin: SimMargin, times: bigint): string {
  return margin.equityE12 <= 0n ? "0.00" : scaledText((amountE12 * times * 100n) / margin.equityE12, 2);
}

/** Row of `apikeys`. */
export function printApiKey(key: ApiKey): Row {
  return {
    account_index: key.accountIndex,
    api_key_index: key.apiKeyIndex,
    nonce: key.nextNonce,
    public_key: Buffer.from(key.publicKey).toString("hex"),
    transaction_time: key.transactionUs,
  };
}

/** Row of `positionFunding`; `change` is what the account got. */
export function printPositionFunding(income: SimIncome, market: TradingMarket): Row {
  const lots = income.positionLots ?? 0;
  return {
    timestamp: Math.floor(income.tsMs / 1000),
    market_id: market.marketId,
    funding_id: income.id,
    change: usdc(income.amountE12),
    discount: "0.000000",
    rate: scaledText(Math.round((income.fundingRateE8 ?? 0) / 100), 4),
    position_size: qtyText(market.instrument, Math.abs(lots)),
    position_side: lots < 0 ? "short" : "long",
  };
}

/** Mark and entry as texts for notifications. */
export function printLiquidation(market: TradingMarket, lots: number, priceTicks: number, tsMs: number): Row {
  return {
    id: `${market.marketId}-${tsMs}`,
    is_ask: lots > 0,
    size: qtyText(market.instrument, Math.abs(lots)),
    price: priceText(market.instrument, priceTicks),
    timestamp: Math.floor(tsMs / 1000),
    market_index: market.marketId,
  };
}
