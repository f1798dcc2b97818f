/**
 * Reads of accounts over REST (fact sheet 3.1). What a chain would show anyway (accounts, positions, keys,
 * transactions) needs no token; orders, trades, payments and limits do.
 */
import type { VenueAccount } from "../records/accounts.js";
import { page, readCursor } from "../market/account-trades.js";
import { printAccount, printApiKey, printDetailedAccount, printPositionFunding } from "./account-view.js";
import { CODE, refuseParameter, refuseTransaction, VenuethreeRefusal } from "../wire/errors.js";
import type { Row } from "../wire/json.js";
import type { Call, Route } from "../market/market-routes.js";
import { printOrder } from "../orders/order-view.js";
import type { TradingMarket, VenueOrder } from "../orders/orders.js";
import { integer, limitOf, required } from "../wire/params.js";
import { printTransaction } from "../orders/transactions.js";

const OK = 200;
const ALL_MARKETS = 255;
const ALL_KEYS = 255;
const PAGE_MAX = 100;
const HASH = /^[0-9a-f]{80}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

export const ACCOUNT_ROUTES: Readonly<Record<string, Route>> = {
  account,
  accountsByL1Address,
  apikeys,
  nextNonce,
  accountActiveOrders,
  accountInactiveOrders,
  accountLimits,
  positionFunding,
  tx,
  txFromL1TxHash,
  accountTxs,
};

/* ------------------------------------------------------------------ public */

function account(call: Call): Row {
  const { context, params } = call;
  const by = params.get("by");
  const value = params.get("value") ?? "";
  let found: readonly VenueAccount[];
  if (by === "index") {
    if (!/^\d{1,15}$/.test(value)) throw refuseParameter("value must be an account index");
    const one = context.accounts.byIndex.get(Number(value));
    found = one === undefined ? [] : [one];
  } else if (by === "l1_address") found = ofAddress(call, value);
  else throw refuseParameter("by must be index or l1_address");
  if (found.length === 0) throw refuseTransaction(21100);
  return { code: OK, total: found.length, accounts: found.map((each) => printDetailedAccount(context, each)) };
}

function accountsByL1Address(call: Call): Row {
  const address = call.params.get("l1_address") ?? "";
  const found = ofAddress(call, address);
  if (found.length === 0) throw refuseTransaction(21100);
  return { code: OK, l1_address: address, sub_accounts: found.map((each) => printAccount(call.context, each)) };
}

function ofAddress({ context }: Call, address: string): readonly VenueAccount[] {
  if (!ADDRESS.test(address)) throw refuseParameter("l1_address");
  return context.accounts.of(address);
}

function apikeys(call: Call): Row {
  const found = accountOf(call);
  const wanted = integer(call.params, "api_key_index") ?? ALL_KEYS;
  const keys = [...found.keys.values()]
    .filter((key) => wanted === ALL_KEYS || key.apiKeyIndex === wanted)
    .sort((left, right) => left.apiKeyIndex - right.apiKeyIndex);
  if (keys.length === 0) throw refuseTransaction(21109);
  return { code: OK, api_keys: keys.map(printApiKey) };
}

function nextNonce(call: Call): Row {
  const found = accountOf(call);
  const keyIndex = required(call.params, "api_key_index");
  if (keyIndex < 0 || keyIndex >= ALL_KEYS) throw refuseTransaction(21110);
  return { code: OK, nonce: call.context.desk.nextNonce(found, keyIndex) };
}

function tx({ context, params }: Call): Row {
  const by = params.get("by");
  const value = params.get("value") ?? "";
  const stored =
    by === "hash" && HASH.test(value)
      ? context.transactions.byHash(value.toLowerCase())
      : by === "sequence_index" && /^\d{1,15}$/.test(value)
        ? context.transactions.bySequence(Number(value))
        : undefined;
  if (stored === undefined) throw refuseParameter("by must be hash or sequence_index, with its value");
  if (stored === null) throw new VenuethreeRefusal(CODE.transactionNotFound, "transaction not found");
  return { code: OK, ...printTransaction(stored) };
}

/** Nothing here comes from the first layer. */
function txFromL1TxHash({ params }: Call): Row {
  if ((params.get("hash") ?? "") === "") throw refuseParameter("hash is required");
  throw new VenuethreeRefusal(CODE.transactionNotFound, "transaction not found");
}

/** Newest first. `index` continues after a sequence index; `types` is a list of numbers in JSON or with commas. */
function accountTxs({ context, params }: Call): Row {
  if (params.get("by") !== "account_index") throw refuseParameter("by must be account_index");
  const limit = limitOf(params, PAGE_MAX);
  const found = context.accounts.byIndex.get(required(params, "value"));
  if (found === undefined) throw refuseTransaction(21100);
  const below = integer(params, "index");
  const types = readTypes(params.get("types"));
  const rows = context.transactions
    .of(found)
    .filter((stored) => below === null || stored.sequenceIndex < below)
    .filter((stored) => types === null || types.has(stored.transaction.type));
  return { code: OK, txs: rows.slice(0, limit).map(printTransaction) };
}

function readTypes(text: string | null): ReadonlySet<number> | null {
  if (text === null || text === "") return null;
  const inner = text.replace(/^\[|\]$/g, "");
  if (!/^\d{1,3}(?:,\d{1,3})*$/.test(inner)) throw refuseParameter("types");
  return new Set(inner.split(",").map(Number));
}

/* ------------------------------------------------------------------ private */

function accountActiveOrders(call: Call): Row {
  const found = privateAccount(call);
  const marketId = marketFilter(call);
  const orders = call.context.orders
    .open(found)
    .filter((order) => marketId === ALL_MARKETS || order.market.marketId === marketId);
  return { code: OK, orders: orders.map((order) => printOrder(order, false)) };
}

/** Newest first. */
function accountInactiveOrders(call: Call): Row {
  const { params, context } = call;
  const found = privateAccount(call);
  const limit = limitOf(params, PAGE_MAX);
  const marketId = marketFilter(call);
  const askFilter = integer(params, "ask_filter") ?? -1;
  if (askFilter < -1 || askFilter > 1) throw refuseParameter("ask_filter");
  const isInTime = timeFilter(params.get("between_timestamps"));
  const cursor = readCursor(params);
  const orders = context.orders.ended(found).toReversed();
  const behind = cursor === null ? orders : orders.slice(orders.findIndex(({ index }) => String(index) === cursor) + 1);
  const rows = behind
    .filter((order) => marketId === ALL_MARKETS || order.market.marketId === marketId)
    .filter((order) => askFilter < 0 || (order.fields.isAsk === 1) === (askFilter === 1))
    .filter(isInTime)
    .slice(0, limit + 1)
    .map((order) => printOrder(order, false));
  return page("orders", rows, limit, (row) => String(row.order_id));
}

/** `start-end` in milliseconds, of the last change. */
function timeFilter(text: string | null): (order: VenueOrder) => boolean {
  if (text === null || text === "") return () => true;
  const match = /^(\d{1,15})[-,](\d{1,15})$/.exec(text);
  if (match === null) throw refuseParameter("between_timestamps");
  const [startMs, endMs] = [Number(match[1]), Number(match[2])];
  return (order) => order.updatedMs >= startMs && order.updatedMs <= endMs;
}

function accountLimits(call: Call): Row {
  const found = privateAccount(call);
  const fees = call.context.exchange.accounts.find(found.id);
  const isStandard = found.tier === "standard";
  return {
    code: OK,
    max_llp_percentage: 25,
    user_tier: found.tier,
    can_create_public_pool: true,
    max_llp_amount: "0.000000",
    // Thousandths of a basis point in the core, 1e-6 here.
    current_maker_fee_tick: Math.round((fees?.makerFeeMilliBps ?? 0) / 10),
    current_taker_fee_tick: Math.round((fees?.takerFeeMilliBps ?? 0) / 10),
    effective_lit_stakes: "0",
    leased_lit: "0",
    user_tier_name: isStandard ? "Standard" : "Premium",
    user_tier_last_update: Math.floor(found.createdMs / 1000),
  };
}

function positionFunding(call: Call): Row {
  const { params, context } = call;
  const found = privateAccount(call);
  const limit = limitOf(params, PAGE_MAX);
  const marketId = marketFilter(call);
  const side = params.get("side") ?? "all";
  if (side !== "all" && side !== "long" && side !== "short") throw refuseParameter("side");
  const cursor = readCursor(params);
  const rows = context.exchange.accounts
    .income(found.id)
    .filter((income) => income.type === "FUNDING_FEE" && income.symbol !== null)
    .toReversed()
    .filter((income) => cursor === null || income.id < Number(cursor))
    .flatMap((income) => {
      const market = context.listing.bySymbol.get(income.symbol ?? "");
      if (market === undefined || market.instrument === null) return [];
      return marketId === ALL_MARKETS || market.marketId === marketId
        ? [printPositionFunding(income, market as TradingMarket)]
        : [];
    })
    .filter((row) => side === "all" || row.position_side === side);
  return page("position_fundings", rows, limit, (row) => String(row.funding_id));
}

/* ------------------------------------------------------------------ parameters */

function accountOf({ context, params }: Call): VenueAccount {
  const index = required(params, "account_index");
  const found = context.accounts.byIndex.get(index);
  if (found === undefined) throw refuseTransaction(21100);
  return found;
}

/** Checks the token before it reports anything about the account. */
function privateAccount(call: Call): VenueAccount {
  call.context.tokens.require(call.token, required(call.params, "account_index"));
  return accountOf(call);
}

function marketFilter({ context, params }: Call): number {
  const id = integer(params, "market_id") ?? ALL_MARKETS;
  if (id !== ALL_MARKETS && !context.listing.byId.has(id)) throw refuseTransaction(21602);
  return id;
}
