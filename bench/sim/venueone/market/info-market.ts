/** `/info` queries about markets. */
import { type InfoQuery, SERVER_ERROR } from "../records/info-query.js";
import { allMidsData, assetCtx, type BookView, premiumOfRate, type Publisher } from "./market-rows.js";
import { candleRow, instrumentOf, tradeRow } from "../records/rows.js";
import { mismatch, readInt, readOneOf, readStructOrArray, readText, readUint, type Struct } from "../wire/shape.js";
import { metaReply, SPOT_PAIRS, spotCtx, spotMetaReply } from "../records/universe.js";
import { usdText, type Venue } from "../records/venue.js";

/** What queries about markets are answered from. */
export interface MarketInfo {
  readonly venue: Venue;
  readonly publisher: Publisher;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const RECENT_TRADES_MAX = 20;
const FUNDING_ROWS_MAX = 500;
const CANDLE_ROWS_MAX = 5_000;

/** Largest value of a market order, by the least of a coin's highest leverages: the venue's contract specifications. */
const MARKET_ORDER_VALUES: readonly (readonly [leverageMin: number, valueUsd: string])[] = [
  [25, "30000000.0"],
  [20, "5000000.0"],
  [10, "2000000.0"],
  [1, "500000.0"],
];

export const CANDLE_INTERVALS: Readonly<Record<string, number>> = {
  "1m": MINUTE_MS,
  "3m": 3 * MINUTE_MS,
  "5m": 5 * MINUTE_MS,
  "15m": 15 * MINUTE_MS,
  "30m": 30 * MINUTE_MS,
  "1h": HOUR_MS,
  "2h": 2 * HOUR_MS,
  "4h": 4 * HOUR_MS,
  "8h": 8 * HOUR_MS,
  "12h": 12 * HOUR_MS,
  "1d": 24 * HOUR_MS,
  "3d": 72 * HOUR_MS,
  "1w": 168 * HOUR_MS,
  // The engine keeps series of fixed length; a month is thirty days here.
  "1M": 720 * HOUR_MS,
};

export const MARKET_QUERIES: Readonly<Record<string, InfoQuery<MarketInfo>>> = {
  meta: {
    keys: ["dex"],
    weight: 20,
    answer: (fields, { venue }) => onFirstDex(fields, () => metaReply(venue.universe)),
  },
  metaAndAssetCtxs: {
    keys: ["dex"],
    weight: 20,
    answer: (fields, { venue }) =>
      onFirstDex(fields, () => [metaReply(venue.universe), venue.universe.perps.map((perp) => assetCtx(venue, perp))]),
  },
  allMids: {
    keys: ["dex"],
    weight: 2,
    answer: (fields, { venue }) => onFirstDex(fields, () => allMidsData(venue, spotMids())),
  },
  l2Book: { keys: ["coin", "nSigFigs", "mantissa"], weight: 2, answer: answerBook },
  recentTrades: {
    keys: ["coin"],
    weight: 20,
    rowsPerWeight: 20,
    answer: (fields, { venue }) => {
      const coin = readText(fields.required("coin"));
      if (!venue.exchange.instruments.has(coin)) return isListed(venue.universe.perpByName, coin) ? [] : null;
      const newest = venue.exchange.market.trades(coin).slice(-RECENT_TRADES_MAX);
      return newest.reverse().map((trade) => tradeRow(venue, trade));
    },
  },
  candleSnapshot: { keys: ["req"], weight: 20, rowsPerWeight: 60, answer: answerCandles },
  fundingHistory: {
    keys: ["coin", "startTime", "endTime"],
    weight: 20,
    rowsPerWeight: 20,
    answer: (fields, { venue }) => {
      const coin = readText(fields.required("coin"));
      const startTime = readUint(fields.required("startTime"));
      const endTime = readOptionalTime(fields, "endTime");
      if (!venue.exchange.instruments.has(coin)) return isListed(venue.universe.perpByName, coin) ? [] : SERVER_ERROR;
      return venue.exchange.market
        .fundingHistory(coin)
        .filter((point) => point.tsMs >= startTime && point.tsMs <= endTime)
        .slice(0, FUNDING_ROWS_MAX)
        .map((point) => ({
          coin,
          fundingRate: rateText(point.rateE8),
          premium: premiumOfRate(point.rateE8),
          time: point.tsMs,
        }));
    },
  },
  perpDexs: { keys: [], weight: 20, answer: () => [null] },
  perpDexStatus: {
    keys: ["dex"],
    weight: 20,
    answer: (fields, { venue }) => onFirstDex(fields, () => ({ totalNetDeposit: usdText(heldE12(venue)) })),
  },
  maxMarketOrderNtls: { keys: [], weight: 20, answer: () => MARKET_ORDER_VALUES },
  perpsAtOpenInterestCap: { keys: ["dex"], weight: 20, answer: () => [] },
  exchangeStatus: {
    keys: [],
    weight: 2,
    answer: (_fields, { venue }) => ({ time: venue.exchange.nowMs(), specialStatuses: null }),
  },
  spotMeta: { keys: [], weight: 20, answer: () => spotMetaReply() },
  spotMetaAndAssetCtxs: { keys: [], weight: 20, answer: () => [spotMetaReply(), SPOT_PAIRS.map(spotCtx)] },
};

/** Settled cash of all accounts, profits and fees included: the nearest figure here to the venue's net deposits. */
function heldE12(venue: Venue): bigint {
  return venue.exchange.accounts.all().reduce((sum, { walletE12 }) => sum + walletE12, 0n);
}

/** Only the first dex exists here; a query for another one fails like an unknown dex. */
function onFirstDex(fields: Struct, answer: () => unknown): unknown {
  const dex = fields.optional("dex");
  return dex === undefined || readText(dex) === "" ? answer() : SERVER_ERROR;
}

function answerBook(fields: Struct, { venue, publisher }: MarketInfo): unknown {
  const coin = readText(fields.required("coin"));
  const view = readBookView(fields);
  if (view === null) return SERVER_ERROR;
  if (!venue.exchange.instruments.has(coin)) {
    const isKnown = isListed(venue.universe.perpByName, coin) || SPOT_PAIRS.some((pair) => pair.name === coin);
    return isKnown ? { coin, time: venue.exchange.nowMs(), levels: [[], []] } : null;
  }
  return publisher.book(coin, view, publisher.stamp([coin]));
}

/** Returns null for aggregation arguments that the venue does not support. */
function readBookView(fields: Struct): BookView | null {
  const sigFigsNode = fields.optional("nSigFigs");
  const mantissaNode = fields.optional("mantissa");
  const nSigFigs = sigFigsNode === undefined ? null : readInt(sigFigsNode);
  const mantissa = mantissaNode === undefined ? null : readInt(mantissaNode);
  return isBookView(nSigFigs, mantissa) ? { nSigFigs, mantissa, fast: false } : null;
}

/** `nSigFigs` 2 to 5; `mantissa` 2 or 5, with `nSigFigs` 5 only. */
export function isBookView(nSigFigs: number | null, mantissa: number | null): boolean {
  if (nSigFigs !== null && (nSigFigs < 2 || nSigFigs > 5)) return false;
  return mantissa === null || (nSigFigs === 5 && (mantissa === 2 || mantissa === 5));
}

function answerCandles(fields: Struct, { venue }: MarketInfo): unknown {
  const request = readStructOrArray(fields.required("req"), ["coin", "interval", "startTime", "endTime"], "ignore");
  const coin = readText(request.required("coin"));
  const interval = readOneOf(request.required("interval"), Object.keys(CANDLE_INTERVALS));
  const startTime = readUint(request.required("startTime"));
  const endTime = readOptionalTime(request, "endTime");
  const intervalMs = CANDLE_INTERVALS[interval] ?? mismatch("interval");
  if (!venue.exchange.instruments.has(coin)) return isListed(venue.universe.perpByName, coin) ? [] : SERVER_ERROR;
  const instrument = instrumentOf(venue.exchange, coin);
  return venue.exchange.market
    .candles(coin, intervalMs)
    .filter((candle) => candle.openMs + intervalMs > startTime && candle.openMs <= endTime)
    .slice(-CANDLE_ROWS_MAX)
    .map((candle) => candleRow(instrument, interval, candle, intervalMs));
}

/** Spot prices as the first dex's mids carry them. */
export function spotMids(): Readonly<Record<string, string>> {
  return Object.fromEntries(SPOT_PAIRS.map((pair) => [pair.name, pair.px]));
}

function isListed(perps: ReadonlyMap<string, unknown>, coin: string): boolean {
  return perps.has(coin);
}

function readOptionalTime(fields: Struct, key: string): number {
  const node = fields.optional(key);
  return node === undefined ? Number.MAX_SAFE_INTEGER : readUint(node);
}

function rateText(rateE8: number): string {
  const digits = String(Math.abs(rateE8)).padStart(9, "0");
  const fraction = digits.slice(-8).replace(/0+$/, "");
  return `${rateE8 < 0 ? "-" : ""}${digits.slice(0, -8)}.${fraction === "" ? "0" : fraction}`;
}
