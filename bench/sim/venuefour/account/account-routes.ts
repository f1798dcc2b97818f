/** Reads of an account, fact sheet section 5: public by address, no signature. */
import { maxBig } from "../../core/model/fixed.js";
import type { SimFill, SimIncome, SimOrder } from "../../core/model/types.js";
import type { VenuefourContext } from "../orders/context.js";
import { fromBase58 } from "../wire/base58.js";
import { refuseQuery, VenuefourRefusal } from "../wire/errors.js";
import { type Answer, type Call, integer, required, type Route } from "../market/market-routes.js";
import { amount, e8, type Row } from "../market/market-view.js";
import { money, openOrderRow, orderHistoryRow, positionRow, tradeHistoryRow } from "../orders/order-view.js";
import type { AccountSettings } from "../orders/account-settings.js";

type AccountCall = Call<VenuefourContext>;

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000;
const CURSOR_PREFIX = "1111";

export function accountRoutes(
  settings: Pick<AccountSettings, "print">,
): Readonly<Record<string, Route<VenuefourContext>>> {
  return {
    positions,
    account: accountInfo,
    "account/settings": (call) => ({ data: settings.print(accountIdOf(call) ?? "") }),
    orders,
    "orders/history": ordersHistory,
    "orders/history_by_id": orderHistoryById,
    "trades/history": tradesHistory,
    "funding/history": fundingHistory,
    portfolio,
  };
}

/** Returns null for an address that nobody here has; everything of it is empty. */
function accountIdOf({ context, params }: AccountCall): string | null {
  const address = required(params, "account");
  if (fromBase58(address, 32) === null) throw refuseQuery("account: invalid public key");
  return context.keys.accountIdOf(address);
}

function positions(call: AccountCall): Answer {
  const { exchange, journal } = call.context;
  const accountId = accountIdOf(call);
  const data = [...(accountId === null ? [] : (exchange.accounts.find(accountId)?.positions.values() ?? []))]
    .filter((position) => position.qtyLots !== 0)
    .map((position) => positionRow(exchange, position, journal.birth(position)));
  return { data, more: { last_order_id: accountId === null ? exchange.market.engineSeq() : journal.li(accountId) } };
}

function accountInfo(call: AccountCall): Answer {
  const accountId = accountIdOf(call);
  if (accountId === null) throw new VenuefourRefusal(404, `Account not found: ${call.params.get("account")}`, 404);
  const data = printAccount(call.context, accountId);
  return { data: call.context.quirks.accountShape === "array" ? [data] : data };
}

export function printAccount({ exchange }: VenuefourContext, accountId: string): Row {
  const margin = exchange.accounts.margin(accountId);
  const account = exchange.accounts.find(accountId);
  const open = exchange.orders.open(accountId);
  const stopCount = open.filter(isWaiting).length;
  const available = maxBig(0n, margin.availableE12);
  return {
    balance: money(margin.crossWalletE12),
    fee_level: 0,
    maker_fee: rate(account?.makerFeeMilliBps ?? 0),
    taker_fee: rate(account?.takerFeeMilliBps ?? 0),
    account_equity: money(margin.equityE12),
    cross_account_equity: money(margin.crossWalletE12 + margin.crossUnrealizedE12),
    spot_market_value: "0",
    spot_collateral: "0",
    available_to_spend: money(available),
    available_to_withdraw: money(available < margin.crossWalletE12 ? available : margin.crossWalletE12),
    pending_balance: "0",
    pending_interest: "0",
    total_margin_used: money(margin.positionInitialE12 + margin.orderInitialE12),
    cross_mmr: money(margin.crossMaintenanceE12),
    positions_count: [...(account?.positions.values() ?? [])].filter((position) => position.qtyLots !== 0).length,
    orders_count: open.length - stopCount,
    stop_orders_count: stopCount,
    spot_balances: [],
    updated_at: exchange.nowMs(),
  };
}

function isWaiting(order: SimOrder): boolean {
  return order.trigger !== null && !order.triggered;
}

/** Thousandths of a basis point as a fraction. */
function rate(milliBps: number): string {
  return e8(milliBps * 10, 8);
}

/** Newest first; waiting stop orders are listed with the others. */
function orders(call: AccountCall): Answer {
  const { exchange, journal } = call.context;
  const accountId = accountIdOf(call);
  const open = accountId === null ? [] : [...exchange.orders.open(accountId)].reverse();
  const data = open.map((order) => rowOf(call.context, order, openOrderRow));
  // Absent on an empty list, as captured.
  return accountId === null || data.length === 0 ? { data } : { data, more: { last_order_id: journal.li(accountId) } };
}

function ordersHistory(call: AccountCall): Answer {
  const { exchange } = call.context;
  const accountId = accountIdOf(call);
  const all = accountId === null ? [] : [...exchange.orders.all(accountId)].reverse();
  return page(
    call,
    all,
    (order) => order.orderId,
    (order) => rowOf(call.context, order, orderHistoryRow),
  );
}

function rowOf<T>(
  { exchange }: VenuefourContext,
  order: SimOrder,
  print: (order: SimOrder, instrument: NonNullable<ReturnType<typeof exchange.instruments.get>>) => T,
): T {
  const instrument = exchange.instruments.get(order.symbol);
  if (instrument === undefined) throw new RangeError(`no market ${order.symbol}`);
  return print(order, instrument);
}

/** Of any account, by anybody. */
function orderHistoryById({ context, params }: AccountCall): Answer {
  required(params, "order_id");
  const orderId = integer(params, "order_id") ?? 0;
  const data = context.journal.orderEvents(orderId, context.quirks.historyLagMs);
  if (data.length === 0) throw new VenuefourRefusal(404, `Order history not found for order ID: ${orderId}`, 404);
  return { data };
}

function tradesHistory(call: AccountCall): Answer {
  const { exchange, journal } = call.context;
  const { params } = call;
  const accountId = accountIdOf(call);
  const symbol = params.get("symbol");
  const startMs = integer(params, "start_time") ?? 0;
  const endMs = integer(params, "end_time") ?? Number.MAX_SAFE_INTEGER;
  const wanted = (fill: SimFill): boolean =>
    (symbol === null || fill.symbol === symbol) && fill.tsMs >= startMs && fill.tsMs <= endMs;
  const fills = accountId === null ? [] : [...exchange.accounts.fills(accountId)].reverse().filter(wanted);
  return page(
    call,
    fills,
    (fill) => journal.fillId(fill),
    (fill) => {
      const instrument = exchange.instruments.get(fill.symbol);
      if (instrument === undefined) throw new RangeError(`no market ${fill.symbol}`);
      return tradeHistoryRow(fill, instrument, journal.fillId(fill));
    },
  );
}

function fundingHistory(call: AccountCall): Answer {
  const { exchange, journal } = call.context;
  const accountId = accountIdOf(call);
  const paid = (accountId === null ? [] : [...exchange.accounts.income(accountId)])
    .reverse()
    .filter((income) => income.type === "FUNDING_FEE");
  return page(
    call,
    paid,
    (income) => journal.paymentId(income),
    (income) => fundingRow(call.context, income),
  );
}

function fundingRow({ exchange, journal }: VenuefourContext, income: SimIncome): Row {
  const instrument = exchange.instruments.get(income.symbol ?? "");
  const lots = income.positionLots ?? 0;
  return {
    history_id: journal.paymentId(income),
    symbol: income.symbol,
    side: lots > 0 ? "bid" : "ask",
    amount: instrument === undefined ? "0" : amount(instrument, Math.abs(lots)),
    payout: money(income.amountE12),
    rate: e8(income.fundingRateE8 ?? 0, 8),
    created_at: income.tsMs,
  };
}

/** There is no history of an account's value here: the present value is the whole of it. */
function portfolio(call: AccountCall): Answer {
  const { exchange } = call.context;
  const accountId = accountIdOf(call);
  if (accountId === null) return { data: [] };
  const margin = exchange.accounts.margin(accountId);
  const pnl = exchange.accounts
    .income(accountId)
    .filter((income) => income.type !== "TRANSFER")
    .reduce((sum, income) => sum + income.amountE12, margin.unrealizedE12);
  return { data: [{ account_equity: money(margin.equityE12), pnl: money(pnl), timestamp: exchange.nowMs() }] };
}

/** Items newest first. A page begins after the id that its cursor names, also when newer items were added meanwhile. */
function page<T>(call: AccountCall, items: readonly T[], idOf: (item: T) => number, print: (item: T) => Row): Answer {
  const limit = Math.min(integer(call.params, "limit") ?? LIMIT_DEFAULT, LIMIT_MAX);
  if (limit < 1) throw refuseQuery("limit: must be positive");
  const cursor = call.params.get("cursor");
  const beforeId = cursor === null ? Number.MAX_SAFE_INTEGER : readCursor(cursor);
  const rest = items.filter((item) => idOf(item) < beforeId);
  const shown = rest.slice(0, limit);
  const last = shown[shown.length - 1];
  const hasMore = rest.length > shown.length;
  const next = hasMore && last !== undefined ? `${CURSOR_PREFIX}${idOf(last).toString(36)}` : "";
  return { data: shown.map(print), more: { next_cursor: next, has_more: hasMore } };
}

function readCursor(cursor: string): number {
  const digits = cursor.slice(CURSOR_PREFIX.length);
  const id = cursor.startsWith(CURSOR_PREFIX) && /^[0-9a-z]{1,11}$/.test(digits) ? Number.parseInt(digits, 36) : -1;
  if (!Number.isSafeInteger(id) || id < 0) throw new VenuefourRefusal(400, "Invalid cursor", 400);
  return id;
}
