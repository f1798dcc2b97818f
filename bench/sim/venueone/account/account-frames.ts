/** Data of the user streams, snapshot and live, read from venue and exchange. Streams.ts decides who gets it. */
import type { SimFill, SimIncome, SimOrder } from "../../core/model/types.js";
import { replyTextScaled } from "../wire/decimals.js";
import {
  frontendOrders,
  fundingRows,
  historicalOrders,
  type InfoContext,
  latestFills,
  spotState,
} from "./info-account.js";
import { activeAssetRow, clearinghouseRow } from "./account-rows.js";
import { basicOrderRow, fillRow, statusWord } from "../records/rows.js";
import type { StreamType, Subscription } from "../market/subscriptions.js";
import type { Commit } from "../orders/journal.js";
import { usdText, type Venue } from "../records/venue.js";

/** Rows in the first frame of a stream with history. */
const SNAPSHOT_ROWS_MAX = 500;

/** Returns the first frame of a user stream, or null where the venue sends none. */
export function snapshotData(context: InfoContext, subscription: Subscription, user: string): unknown {
  const { venue } = context;
  switch (subscription.type) {
    case "userFills":
      return { isSnapshot: true, user, fills: latestFills(venue, user, subscription.aggregateByTime) };
    case "userFundings":
      return { isSnapshot: true, user, fundings: fundingRows(venue, user).slice(-SNAPSHOT_ROWS_MAX).map(flatFunding) };
    case "userNonFundingLedgerUpdates": {
      const rows = venue.account(user)?.ledger.slice(-SNAPSHOT_ROWS_MAX) ?? [];
      return { isSnapshot: true, user, nonFundingLedgerUpdates: rows };
    }
    case "userHistoricalOrders":
      return { isSnapshot: true, user, orderHistory: historicalOrders(venue, user) };
    default:
      return stateData(context, subscription, user);
  }
}

/** Returns a full-state frame, which is sent on every change and at intervals; null for streams of another kind. */
export function stateData(context: InfoContext, subscription: Subscription, user: string): unknown {
  const { venue } = context;
  switch (subscription.type) {
    case "clearinghouseState":
      return { dex: "", user, clearinghouseState: clearinghouseRow(venue, user) };
    case "allDexsClearinghouseState":
      return { user, clearinghouseStates: [["", clearinghouseRow(venue, user)]] };
    case "openOrders":
      return { dex: "", user, orders: frontendOrders(context, user) };
    case "spotState":
      return { user, spotState: spotState(venue, user) };
    case "activeAssetData":
      return activeAssetRow(venue, user, subscription.coin ?? "");
    default:
      return null;
  }
}

function orderUpdateData(venue: Venue, orders: readonly SimOrder[]): readonly unknown[] {
  return orders.map((order) => ({
    order: basicOrderRow(venue, order),
    status: statusWord(order),
    statusTimestamp: order.updatedMs,
  }));
}

function orderHistoryData(venue: Venue, user: string, orders: readonly SimOrder[]): unknown {
  const history = historicalOrders(venue, user).slice(0, orders.length);
  return { user, orderHistory: history };
}

function fillData(venue: Venue, fills: readonly SimFill[]): readonly unknown[] {
  return fills.map((fill) => fillRow(venue, fill));
}

/** Funding as the streams show it: without the hash and the type. */
function fundingData(venue: Venue, incomes: readonly SimIncome[]): readonly Readonly<Record<string, unknown>>[] {
  return incomes.map((income) => {
    const decimals = venue.exchange.instruments.get(income.symbol ?? "")?.qtyDecimals ?? 0;
    return {
      time: income.tsMs,
      coin: income.symbol,
      usdc: usdText(income.amountE12),
      szi: replyTextScaled(BigInt(income.positionLots ?? 0), decimals),
      fundingRate: replyTextScaled(BigInt(income.fundingRateE8 ?? 0), 8),
      nSamples: null,
    };
  });
}

function flatFunding(row: { readonly time: number; readonly delta: Readonly<Record<string, unknown>> }): unknown {
  const { coin, usdc, szi, fundingRate, nSamples } = row.delta;
  return { time: row.time, coin, usdc, szi, fundingRate, nSamples };
}

/** A frame that a commit causes on the streams of one type; printed only where somebody listens. */
export interface UserEvent {
  readonly type: StreamType;
  readonly data: () => unknown;
}

/** Returns the frames of one commit for a user, in order; empty when nothing of the user changed. */
export function userEvents(venue: Venue, user: string, commit: Commit): readonly UserEvent[] {
  const orders = commit.orders.get(user) ?? [];
  const fills = commit.fills.get(user) ?? [];
  const funding = commit.funding.get(user) ?? [];
  if (orders.length + fills.length + funding.length === 0) return [];
  const liquidation = commit.liquidations.get(user);
  const canceled = orders.filter((order) => order.endReason === "LIQUIDATION" || order.endReason === "MARGIN");
  const nonUserCancel = canceled.map((order) => ({ coin: order.symbol, oid: order.orderId }));
  const events: UserEvent[] = [];
  const add = (type: StreamType, isDue: boolean, data: () => unknown): void => {
    if (isDue) events.push({ type, data });
  };
  add("orderUpdates", orders.length > 0, () => orderUpdateData(venue, orders));
  add("userHistoricalOrders", orders.length > 0, () => orderHistoryData(venue, user, orders));
  add("userFills", fills.length > 0, () => ({ user, fills: fillData(venue, fills) }));
  add("userFundings", funding.length > 0, () => ({ user, fundings: fundingData(venue, funding) }));
  add("userEvents", fills.length > 0, () => ({ fills: fillData(venue, fills) }));
  for (const income of funding) add("userEvents", true, () => ({ funding: fundingData(venue, [income])[0] }));
  add("userEvents", liquidation !== undefined, () => ({ liquidation }));
  add("userEvents", canceled.length > 0, () => ({ nonUserCancel }));
  add("notification", liquidation !== undefined, () => ({ notification: "Your position was liquidated." }));
  return events;
}
