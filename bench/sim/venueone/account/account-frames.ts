/** Data of the user streams, snapshot and live. Pure reading of venue and exchange; who gets it is streams.ts' business. */
import type { SimFill, SimIncome, SimOrder } from "../../core/model/types.js";
import { replyTextScaled } from "../wire/decimals.js";
import { frontendOrders, fundingRows, historicalOrders, latestFills, spotState } from "./info-account.js";
import type { InfoContext } from "./info-account.js";
import { activeAssetRow, clearinghouseRow } from "./account-rows.js";
import { basicOrderRow, fillRow, statusWord } from "../records/rows.js";
import type { Subscription } from "../market/subscriptions.js";
import { usdText, type Venue } from "../records/venue.js";

/** Rows in the first frame of a stream with history. */
const SNAPSHOT_ROWS_MAX = 500;

/** First frame of a user stream; null where the venue sends none. */
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

/** Full-state frames, sent on every change and at intervals; null for streams of another kind. */
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

export function orderUpdateData(venue: Venue, orders: readonly SimOrder[]): readonly unknown[] {
  return orders.map((order) => ({
    order: basicOrderRow(venue, order),
    status: statusWord(order),
    statusTimestamp: order.updatedMs,
  }));
}

export function orderHistoryData(venue: Venue, user: string, orders: readonly SimOrder[]): unknown {
  const history = historicalOrders(venue, user).slice(0, orders.length);
  return { user, orderHistory: history };
}

export function fillData(venue: Venue, fills: readonly SimFill[]): readonly unknown[] {
  return fills.map((fill) => fillRow(venue, fill));
}

/** Funding as the streams show it: without the hash and the type. */
export function fundingData(venue: Venue, incomes: readonly SimIncome[]): readonly Readonly<Record<string, unknown>>[] {
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
