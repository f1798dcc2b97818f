/** `/info` queries about one account. Anybody may ask about anybody; an unknown account answers empty, never an error. */
import type { MarketInfo } from "../market/info-market.js";
import type { Tpsl } from "../orders/tpsl.js";
import { type InfoQuery, SERVER_ERROR } from "../records/info-query.js";
import type { SimFill, SimOrder } from "../../core/model/types.js";
import { activeAssetRow, clearinghouseRow } from "./account-rows.js";
import { basicOrderRow, fillRow, frontendOrderRow, statusWord } from "../records/rows.js";
import { readAddress, readBool, readCloid, readText, readUint, type Struct } from "../wire/shape.js";
import { addressCap } from "../records/budgets.js";
import { feesRow, portfolioRows } from "./account-extras.js";
import { replyTextScaled } from "../wire/decimals.js";
import { tagOf, usdText, type Venue } from "../records/venue.js";

const FILLS_MAX = 2_000;
const FILLS_REACHABLE = 10_000;
const ORDERS_MAX = 2_000;
const LEDGER_ROWS_MAX = 500;

/** What queries are answered from. */
export interface InfoContext extends MarketInfo {
  readonly tpsl: Tpsl;
}

export const ACCOUNT_QUERIES: Readonly<Record<string, InfoQuery<InfoContext>>> = {
  clearinghouseState: {
    keys: ["user", "dex"],
    weight: 2,
    answer: (fields, { venue }) => {
      const user = readUser(fields);
      return isOtherDex(fields) ? SERVER_ERROR : clearinghouseRow(venue, user);
    },
  },
  spotClearinghouseState: {
    keys: ["user"],
    weight: 2,
    answer: (fields, { venue }) => spotState(venue, readUser(fields)),
  },
  openOrders: {
    keys: ["user", "dex"],
    weight: 20,
    answer: (fields, { venue }) =>
      newestFirst(openOrdersOf(venue, readUser(fields))).map((order) => basicOrderRow(venue, order)),
  },
  frontendOpenOrders: {
    keys: ["user", "dex"],
    weight: 20,
    answer: (fields, context) => frontendOrders(context, readUser(fields)),
  },
  orderStatus: { keys: ["user", "oid"], weight: 2, answer: answerOrderStatus },
  historicalOrders: {
    keys: ["user"],
    weight: 20,
    rowsPerWeight: 20,
    answer: (fields, { venue }) => historicalOrders(venue, readUser(fields)),
  },
  userFills: {
    keys: ["user", "aggregateByTime"],
    weight: 20,
    rowsPerWeight: 20,
    answer: (fields, { venue }) => {
      const user = readUser(fields);
      return latestFills(venue, user, readFlag(fields, "aggregateByTime"));
    },
  },
  userFillsByTime: {
    keys: ["user", "startTime", "endTime", "aggregateByTime", "reversed"],
    weight: 20,
    rowsPerWeight: 20,
    answer: answerFillsByTime,
  },
  userRateLimit: {
    keys: ["user"],
    weight: 20,
    answer: (fields, { venue }) => {
      const account = venue.account(readUser(fields));
      return {
        cumVlm: usdText(account?.volumeE12 ?? 0n),
        nRequestsUsed: account?.requestsUsed ?? 0,
        nRequestsCap:
          account === null ? venue.limits.addressRequests : addressCap(account, venue.limits.addressRequests, false),
        nRequestsSurplus: 0,
      };
    },
  },
  userFees: { keys: ["user"], weight: 20, answer: (fields, { venue }) => feesRow(venue, readUser(fields)) },
  userRole: { keys: ["user"], weight: 60, answer: (fields, { venue }) => roleRow(venue, readUser(fields)) },
  extraAgents: {
    keys: ["user"],
    weight: 20,
    answer: (fields, { venue }) =>
      venue.agents
        .list(readUser(fields), venue.exchange.nowMs())
        .filter((agent) => agent.name !== "")
        .map((agent) => ({ name: agent.name, address: agent.address, validUntil: agent.validUntilMs })),
  },
  userAbstraction: {
    keys: ["user"],
    weight: 20,
    answer: (fields, { venue }) => venue.account(readUser(fields))?.abstraction ?? "default",
  },
  userFunding: {
    keys: ["user", "startTime", "endTime"],
    weight: 20,
    rowsPerWeight: 20,
    answer: (fields, { venue }) => inTime(fields, fundingRows(venue, readUser(fields))),
  },
  userNonFundingLedgerUpdates: {
    keys: ["user", "startTime", "endTime"],
    weight: 20,
    rowsPerWeight: 20,
    answer: (fields, { venue }) => inTime(fields, venue.account(readUser(fields))?.ledger ?? []),
  },
  activeAssetData: {
    keys: ["user", "coin"],
    weight: 20,
    answer: (fields, { venue }) => {
      const user = readUser(fields);
      const coin = readText(fields.required("coin"));
      return venue.exchange.instruments.has(coin) ? activeAssetRow(venue, user, coin) : SERVER_ERROR;
    },
  },
  preTransferCheck: {
    keys: ["user", "source"],
    weight: 20,
    answer: (fields, { venue }) => {
      const exists = venue.account(readUser(fields)) !== null;
      return { fee: exists ? "0.0" : "1.0", isSanctioned: false, userExists: exists, userHasSentTx: exists };
    },
  },
  portfolio: { keys: ["user"], weight: 20, answer: (fields, { venue }) => portfolioRows(venue, readUser(fields)) },
};

function readUser(fields: Struct): string {
  return readAddress(fields.required("user"));
}

function readFlag(fields: Struct, key: string): boolean {
  const node = fields.optional(key);
  return node !== undefined && readBool(node);
}

function isOtherDex(fields: Struct): boolean {
  const dex = fields.optional("dex");
  return dex !== undefined && readText(dex) !== "";
}

/** Rows inside the requested time, bounds inclusive, oldest first, at most 500. */
function inTime<T extends { readonly time: number }>(fields: Struct, rows: readonly T[]): readonly T[] {
  const start = fields.optional("startTime");
  const end = fields.optional("endTime");
  const startTime = start === undefined ? 0 : readUint(start);
  const endTime = end === undefined ? Number.MAX_SAFE_INTEGER : readUint(end);
  return rows.filter((row) => row.time >= startTime && row.time <= endTime).slice(0, LEDGER_ROWS_MAX);
}

export function openOrdersOf(venue: Venue, user: string): readonly SimOrder[] {
  return venue.exchange.accounts.find(user) === null ? [] : venue.exchange.orders.open(user);
}

function newestFirst<T>(items: readonly T[]): T[] {
  return [...items].reverse();
}

/** Rows of `frontendOpenOrders`, with waiting TP/SL under their parent. */
export function frontendOrders({ venue, tpsl }: InfoContext, user: string): readonly unknown[] {
  return newestFirst(openOrdersOf(venue, user)).map((order) =>
    frontendOrderRow(venue, order, tpsl.childRows(order.orderId)),
  );
}

function answerOrderStatus(fields: Struct, { venue, tpsl }: InfoContext): unknown {
  const user = readUser(fields);
  const ref = fields.required("oid");
  const found =
    ref.kind === "number" ? orderByOid(venue, user, readUint(ref)) : orderByCloid(venue, user, readCloid(ref));
  if (found === null) return { status: "unknownOid" };
  return {
    status: "order",
    order: {
      order: frontendOrderRow(venue, found, tpsl.childRows(found.orderId)),
      status: statusWord(found),
      statusTimestamp: found.updatedMs,
    },
  };
}

function orderByOid(venue: Venue, user: string, oid: number): SimOrder | null {
  const order = venue.exchange.orders.find(oid);
  return order === null || order.accountId !== user ? null : order;
}

/** The index by cloid lags behind the acknowledgement. */
function orderByCloid(venue: Venue, user: string, cloid: string): SimOrder | null {
  if (venue.exchange.accounts.find(user) === null) return null;
  const order = venue.exchange.orders.findByClientId(user, cloid);
  if (order === null || venue.exchange.nowMs() < (tagOf(order)?.indexedMs ?? 0)) return null;
  return order;
}

export function historicalOrders(venue: Venue, user: string): readonly unknown[] {
  if (venue.exchange.accounts.find(user) === null) return [];
  return newestFirst(venue.exchange.orders.all(user).slice(-ORDERS_MAX)).map((order) => ({
    order: frontendOrderRow(venue, order),
    status: statusWord(order),
    statusTimestamp: order.updatedMs,
  }));
}

/** The latest fills, newest first. */
export function latestFills(venue: Venue, user: string, aggregate: boolean): readonly unknown[] {
  if (venue.exchange.accounts.find(user) === null) return [];
  const newest = newestFirst(venue.exchange.accounts.fills(user).slice(-FILLS_MAX));
  return fillRows(venue, newest, aggregate);
}

function fillRows(venue: Venue, fills: readonly SimFill[], aggregate: boolean): readonly unknown[] {
  const rows = fills.map((fill) => fillRow(venue, fill));
  return aggregate ? aggregateRows(rows) : rows;
}

/** Joins fills of one crossing order at one time: sizes, fees and profit add up, the price is the average. */
function aggregateRows(rows: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] {
  const joined = new Map<string, Record<string, unknown>>();
  for (const row of rows) {
    const key = `${String(row.oid)}:${String(row.time)}`;
    const before = joined.get(key);
    if (before === undefined || row.crossed !== true)
      joined.set(before === undefined ? key : `${key}:${String(row.tid)}`, { ...row });
    else {
      const size = scaled(before.sz) + scaled(row.sz);
      const value = scaled(before.sz) * scaled(before.px) + scaled(row.sz) * scaled(row.px);
      before.px = replyTextScaled(value / size, 8);
      for (const field of ["sz", "fee", "closedPnl"])
        before[field] = replyTextScaled(scaled(before[field]) + scaled(row[field]), 8);
    }
  }
  return [...joined.values()];
}

/** Reply text as an integer of 1e-8. */
function scaled(text: unknown): bigint {
  const [integer = "0", fraction = ""] = String(text).split(".");
  const negative = integer.startsWith("-");
  const digits = BigInt(`${integer.replace("-", "")}${fraction.padEnd(8, "0").slice(0, 8)}`);
  return negative ? -digits : digits;
}

function answerFillsByTime(fields: Struct, { venue }: InfoContext): unknown {
  const user = readUser(fields);
  const startTime = readUint(fields.required("startTime"));
  const endNode = fields.optional("endTime");
  const endTime = endNode === undefined ? Number.MAX_SAFE_INTEGER : readUint(endNode);
  const aggregate = readFlag(fields, "aggregateByTime");
  const reversed = readFlag(fields, "reversed");
  if (venue.exchange.accounts.find(user) === null) return [];
  const reachable = venue.exchange.accounts.fills(user).slice(-FILLS_REACHABLE);
  const inside = reachable.filter((fill) => fill.tsMs >= startTime && fill.tsMs <= endTime);
  const ordered = reversed ? newestFirst(inside) : inside;
  return fillRows(venue, ordered.slice(0, FILLS_MAX), aggregate);
}

export function spotState(venue: Venue, user: string): Readonly<Record<string, unknown>> {
  const spotE12 = venue.exchange.accounts.find(user)?.spotE12 ?? 0n;
  if (spotE12 === 0n) return { balances: [] };
  return { balances: [{ coin: "USDC", token: 0, total: usdText(spotE12), hold: "0.0", entryNtl: "0.0" }] };
}

export function roleRow(venue: Venue, user: string): Readonly<Record<string, unknown>> {
  const agent = venue.agents.find(user, venue.exchange.nowMs());
  if (agent !== null) return { role: "agent", data: { user: agent.accountId } };
  const account = venue.account(user);
  if (account === null || !venue.hasDeposited(account)) return { role: "missing" };
  return account.role === "subAccount"
    ? { role: "subAccount", data: { master: account.master } }
    : { role: account.role };
}

/** Rows of `userFunding`, oldest first; `usdc` is what the account received. */
export function fundingRows(
  venue: Venue,
  user: string,
): readonly { readonly time: number; readonly hash: string; readonly delta: Readonly<Record<string, unknown>> }[] {
  if (venue.exchange.accounts.find(user) === null) return [];
  return venue.exchange.accounts.income(user).flatMap((entry) => {
    const instrument = entry.symbol === null ? undefined : venue.exchange.instruments.get(entry.symbol);
    if (entry.type !== "FUNDING_FEE" || instrument === undefined) return [];
    const szi = replyTextScaled(BigInt(entry.positionLots ?? 0), instrument.qtyDecimals);
    const fundingRate = replyTextScaled(BigInt(entry.fundingRateE8 ?? 0), 8);
    const delta = {
      type: "funding",
      coin: entry.symbol,
      usdc: usdText(entry.amountE12),
      szi,
      fundingRate,
      nSamples: null,
    };
    return [{ time: entry.tsMs, hash: `0x${"0".repeat(64)}`, delta }];
  });
}
