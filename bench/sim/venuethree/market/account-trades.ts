/** Trades of one account, newest first, with the filters of `trades` (fact sheet 3.1). Needs a token. */
import type { VenuethreeContext } from "../orders/context.js";
import { refuseParameter } from "../wire/errors.js";
import type { Row } from "../wire/json.js";
import { printTrade } from "./trade-view.js";
import { integer } from "../wire/params.js";
import type { TradeSides } from "../orders/trade-sides.js";

export interface AccountCall {
  readonly context: VenuethreeContext;
  readonly params: URLSearchParams;
  readonly token: string | null;
}

const OK = 200;
const ALL_MARKETS = 255;
const ROLES: ReadonlySet<string> = new Set(["all", "maker", "taker"]);
const TYPES: ReadonlySet<string> = new Set(["all", "trade", "liquidation", "deleverage", "market-settlement"]);

export function accountTrades(call: AccountCall, accountIndex: number, sortBy: string, limit: number): Row {
  const { context, params } = call;
  context.tokens.require(call.token, accountIndex);
  const wanted = filterOf(params, accountIndex);
  const from = integer(params, "from") ?? -1;
  const cursor = readCursor(params);
  const rows = context.prints
    .of(accountIndex)
    .filter(wanted)
    .filter(({ trade }) => from < 0 || trade.tsMs <= from)
    .map((print) => printOwnTrade(context, print));
  const key = sortBy === "timestamp" ? "transaction_time" : sortBy;
  rows.sort((left, right) => Number(right[key]) - Number(left[key]) || Number(right.trade_id) - Number(left.trade_id));
  const rest = cursor === null ? rows : rows.slice(rows.findIndex((row) => String(row.trade_id) === cursor) + 1);
  return page("trades", rest, limit, (row) => String(row.trade_id));
}

/** As in the streams. */
export function printOwnTrade(context: VenuethreeContext, { trade, buyer, seller }: TradeSides): Row {
  const market = (buyer ?? seller)?.order.market;
  if (market === undefined) throw new RangeError("a print without an account in it");
  return printTrade(context, market, market.instrument, trade);
}

/** The next page begins after the last row of this one. Without a next page there is no cursor. */
export function page(name: string, rows: readonly Row[], limit: number, idOf: (row: Row) => string): Row {
  const shown = rows.slice(0, limit);
  const last = shown[shown.length - 1];
  const nextCursor = rows.length > limit && last !== undefined ? writeCursor(idOf(last)) : undefined;
  return { code: OK, [name]: shown, next_cursor: nextCursor };
}

/** Returns null for the beginning. Refuses a cursor that no answer gave. */
export function readCursor(params: URLSearchParams): string | null {
  const text = params.get("cursor");
  if (text === null || text === "") return null;
  const id = Buffer.from(text, "base64url").toString("latin1");
  if (!/^\d{1,20}$/.test(id) || writeCursor(id) !== text) throw refuseParameter("cursor");
  return id;
}

function writeCursor(id: string): string {
  return Buffer.from(id, "latin1").toString("base64url");
}

function filterOf(params: URLSearchParams, accountIndex: number): (print: TradeSides) => boolean {
  const marketId = integer(params, "market_id") ?? ALL_MARKETS;
  const orderIndex = params.get("order_index");
  const askFilter = integer(params, "ask_filter") ?? -1;
  const role = params.get("role") ?? "all";
  const type = params.get("type") ?? "all";
  if (!ROLES.has(role)) throw refuseParameter("role");
  if (!TYPES.has(type)) throw refuseParameter("type");
  if (askFilter < -1 || askFilter > 1) throw refuseParameter("ask_filter");
  if (orderIndex !== null && orderIndex !== "" && !/^\d{1,20}$/.test(orderIndex)) throw refuseParameter("order_index");
  return ({ buyer, seller }) => {
    const own = [buyer, seller].filter((side) => side?.order.account.index === accountIndex);
    return own.some((side) => {
      if (side === null || side === undefined) return false;
      const { order, fill } = side;
      if (marketId !== ALL_MARKETS && order.market.marketId !== marketId) return false;
      if (orderIndex !== null && orderIndex !== "" && String(order.index) !== orderIndex) return false;
      if (askFilter >= 0 && (order.fields.isAsk === 1) !== (askFilter === 1)) return false;
      if (role !== "all" && fill.maker !== (role === "maker")) return false;
      if (type !== "all" && (type === "liquidation") !== fill.liquidation) return false;
      return type === "all" || type === "trade" || type === "liquidation";
    });
  };
}
