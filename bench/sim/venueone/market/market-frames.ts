/** Data of the market streams. Undefined means that a push would contain nothing new. */
import { deflateRawSync } from "node:zlib";
import type { SimTrade } from "../../core/model/types.js";
import { candleRow, instrumentOf, tradeRow } from "../records/rows.js";
import { SPOT_PAIRS, spotCtx } from "../records/universe.js";
import type { Venue } from "../records/venue.js";
import { CANDLE_INTERVALS, type MarketInfo, spotMids } from "./info-market.js";
import { allMidsData, assetCtx } from "./market-rows.js";
import type { Subscription } from "./subscriptions.js";

/** Trades older than this are not replayed on subscribing. */
const TRADE_REPLAY_MS = 20_000;

/** What one stream has yet to send, and what it sent last. */
export interface StreamMemory {
  readonly pendingTrades: SimTrade[];
  lastTouch: string;
  readonly lastCtx: Map<string, string>;
}

export function marketData(info: MarketInfo, subscription: Subscription, memory: StreamMemory): unknown {
  const { venue } = info;
  const coin = subscription.coin ?? "";
  switch (subscription.type) {
    case "bbo":
      return touchData(info, coin, memory);
    case "trades":
      return memory.pendingTrades.length === 0
        ? undefined
        : memory.pendingTrades.splice(0).map((trade) => tradeRow(venue, trade));
    case "activeAssetCtx":
      return ctxData(venue, coin);
    case "allMids":
      return { mids: allMidsData(venue, spotMids()) };
    case "allDexsAssetCtxs":
      return { ctxs: [["", venue.universe.perps.map((perp) => assetCtx(venue, perp))]] };
    case "assetCtxs":
      return { dex: "", ctxs: venue.universe.perps.map((perp) => assetCtx(venue, perp)) };
    case "fastAssetCtxs":
      return fastCtxs(venue, memory);
    case "candle":
      return runningCandle(venue, coin, subscription.interval ?? "");
    default:
      // Books have a push of their own; the other streams are of users.
      return undefined;
  }
}

export function streamBook(info: MarketInfo, subscription: Subscription, time: number): unknown {
  const coin = subscription.coin ?? "";
  return info.venue.exchange.instruments.has(coin)
    ? info.publisher.book(coin, subscription, time)
    : { coin, time, levels: [[], []] };
}

/** First frame of `trades`. */
export function recentTrades(venue: Venue, coin: string): readonly unknown[] {
  const since = venue.exchange.nowMs() - TRADE_REPLAY_MS;
  const recent = venue.exchange.instruments.has(coin) ? venue.exchange.market.trades(coin) : [];
  return recent.filter((trade) => trade.tsMs >= since).map((trade) => tradeRow(venue, trade));
}

/** Only when the touch differs from the last one sent. */
function touchData({ venue, publisher }: MarketInfo, coin: string, memory: StreamMemory): unknown {
  if (!venue.exchange.instruments.has(coin)) return undefined;
  const touch = publisher.touch(coin);
  const shown = JSON.stringify(touch);
  if (shown === memory.lastTouch) return undefined;
  memory.lastTouch = shown;
  return { coin, time: publisher.stamp([coin]), bbo: touch };
}

function ctxData(venue: Venue, coin: string): unknown {
  const pair = SPOT_PAIRS.find((candidate) => candidate.name === coin);
  if (pair !== undefined) return { coin, ctx: spotCtx(pair) };
  const perp = venue.universe.perpByName.get(coin);
  return { coin, ctx: perp === undefined ? null : assetCtx(venue, perp) };
}

/** Prices that changed since the last push, packed. */
function fastCtxs(venue: Venue, memory: StreamMemory): string {
  const changed: Record<string, { markPx?: unknown; midPx?: unknown }> = {};
  for (const perp of venue.universe.perps) {
    const { markPx, midPx } = assetCtx(venue, perp);
    const shown = JSON.stringify([markPx, midPx]);
    if (memory.lastCtx.get(perp.name) === shown) continue;
    memory.lastCtx.set(perp.name, shown);
    changed[perp.name] = { markPx, ...(midPx === null ? {} : { midPx }) };
  }
  return deflateRawSync(JSON.stringify(changed)).toString("base64");
}

function runningCandle({ exchange }: Venue, coin: string, interval: string): unknown {
  const intervalMs = CANDLE_INTERVALS[interval];
  if (intervalMs === undefined || !exchange.instruments.has(coin)) return undefined;
  const running = exchange.market.candles(coin, intervalMs).at(-1);
  return running === undefined ? undefined : candleRow(instrumentOf(exchange, coin), interval, running, intervalMs);
}
