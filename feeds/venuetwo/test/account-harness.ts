/** Streamed accounts of venuetwo on a virtual clock, over a network and a REST that answer what a test holds true. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { type Logger, silentLogger } from "../../../engine/domain/logger.js";
import type { VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountReader, AccountSession, HistoryPage, HistoryQuery, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { FakeNetwork } from "../../shared/test/fake-connector.js";
import type { FillHistory } from "../account/missed-fills.js";
import { type VenuetwoAccountStreams, venuetwoAccountStreams } from "../account/streams.js";
import { openVenuetwoSession } from "../account/session.js";
import { normalizeSymbol } from "../market/symbols.js";

export const BTC = ((): Instrument => {
  const made = normalizeSymbol({
    symbol: "BTCUSDT",
    contractType: "PERPETUAL",
    status: "TRADING",
    baseAsset: "BTC",
    quoteAsset: "USDT",
    pricePrecision: 1,
    quantityPrecision: 3,
    filters: [
      { filterType: "PRICE_FILTER", minPrice: "0.1", maxPrice: "1000000", tickSize: "0.1" },
      { filterType: "LOT_SIZE", stepSize: "0.001", maxQty: "1000", minQty: "0.001" },
    ],
  });
  if (typeof made === "string") throw new Error(made);
  return made;
})();

export function session(name: string, secret = "s"): AccountSession {
  const opened = openVenuetwoSession({ apiKey: `key-${name}`, apiSecret: secret });
  if (!opened.ok) throw new Error(opened.problem);
  return opened.session;
}

export function position(qtyLots: number, tsVenueMs: number): VenuePosition {
  return {
    venue: "venuetwo",
    symbol: "BTC",
    nativeSymbol: "BTCUSDT",
    direction: "LONG",
    positionSide: "BOTH",
    qtyLots,
    entryPrice: "100",
    markPrice: null,
    liquidationPrice: null,
    unrealizedPnl: "0",
    leverage: 5,
    marginMode: "cross",
    collateral: null,
    tsVenueMs,
  };
}

export function order(venueOrderId: string, status: VenueOrder["status"], filledLots = 0): VenueOrder {
  return {
    venue: "venuetwo",
    nativeSymbol: "BTCUSDT",
    venueOrderId,
    venueClientOrderId: null,
    side: "SELL",
    type: "LIMIT",
    status,
    venueStatus: status === "OPEN" ? "NEW" : status,
    priceTicks: 1_000,
    qtyLots: 10,
    filledLots,
    averagePrice: null,
    reduceOnly: true,
    triggerPrice: null,
    tsVenueMs: 1,
    fee: null,
  };
}

/** A trade of an order, as `userTrades` has it. */
export function fill(venueOrderId: string, id: string, qtyLots: number, tsVenueMs: number): VenueFill {
  return {
    venue: "venuetwo",
    symbol: "BTC",
    nativeSymbol: "BTCUSDT",
    tradeId: `BTCUSDT:${id}`,
    venueOrderId,
    venueClientOrderId: null,
    side: "SELL",
    qtyLots,
    price: "100",
    fee: { amount: "0.01", asset: "USDT" },
    isMaker: true,
    realizedPnl: null,
    tsVenueMs,
  };
}

/** The venue's truth, read over REST. */
export class Truth implements AccountReader, FillHistory {
  fills: VenueFill[] = [];
  movedSymbols: string[] = [];
  fillFailure: Extract<Read<never>, { ok: false }> | null = null;
  /** Symbol and start of each. */
  readonly fillReads: { readonly symbol: string; readonly sinceMs: number }[] = [];
  movedReads = 0;
  /** Rows of one page, whatever was asked for. */
  pageRows = 1_000;
  positions: VenuePosition[] = [];
  openOrders: VenueOrder[] = [];
  finishedOrders = new Map<string, VenueOrder>();
  failure: Extract<Read<never>, { ok: false }> | null = null;
  positionReads = 0;
  openOrderReads = 0;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  #read<T>(value: T): Promise<Read<T>> {
    if (this.failure !== null) return Promise.resolve(this.failure);
    return Promise.resolve({ ok: true, value, asOfMs: this.#clock.wallMs(), source: "venue" });
  }

  readPositions(): Promise<Read<readonly VenuePosition[]>> {
    this.positionReads++;
    return this.#read([...this.positions]);
  }

  readOpenOrders(): Promise<Read<readonly VenueOrder[]>> {
    this.openOrderReads++;
    return this.#read([...this.openOrders]);
  }

  readOrder(
    _session: AccountSession,
    _instrument: Instrument,
    ref: { readonly clientIdHex: string } | { readonly venueOrderId: string },
  ): Promise<Read<VenueOrder | null>> {
    return this.#read("venueOrderId" in ref ? (this.finishedOrders.get(ref.venueOrderId) ?? null) : null);
  }

  readFills(_session: AccountSession, query: HistoryQuery): Promise<Read<HistoryPage<VenueFill>>> {
    const { instrument, sinceMs, limit, cursor } = query;
    if (instrument === null || sinceMs === null) throw new Error("trades are asked per symbol, from a time on");
    this.fillReads.push({ symbol: instrument.nativeSymbol, sinceMs });
    if (this.fillFailure !== null) return Promise.resolve(this.fillFailure);
    const listed = this.fills
      .filter(({ nativeSymbol, tsVenueMs }) => nativeSymbol === instrument.nativeSymbol && tsVenueMs >= sinceMs)
      .sort((left, right) => right.tsVenueMs - left.tsVenueMs);
    const from = Number(cursor ?? 0);
    const end = from + Math.min(limit, this.pageRows);
    const nextCursor = end < listed.length ? String(end) : null;
    return this.#read({ rows: listed.slice(from, end), nextCursor });
  }

  readMovedSymbols(): Promise<Read<readonly string[]>> {
    this.movedReads++;
    return this.#read([...this.movedSymbols]);
  }

  readBalances(): Promise<Read<never[]>> {
    return this.#read([]);
  }

  readFeeRates(): Promise<Read<never>> {
    return Promise.resolve(failedRead("VENUE_ERROR", "not here"));
  }
}

export function accountUpdate(pa: string, E: number, s = "BTCUSDT"): string {
  const P = [{ s, pa, ep: "100.0", cr: "0", up: "0", mt: "cross", iw: "0", ps: "BOTH", ma: "USDT" }];
  return JSON.stringify({ e: "ACCOUNT_UPDATE", E, T: E, a: { m: "ORDER", B: [], P } });
}

/** Nothing ever filled. */
export const NO_FILLS: FillHistory = {
  readFills: () => Promise.resolve({ ok: true, value: { rows: [], nextCursor: null }, asOfMs: 1, source: "venue" }),
  readMovedSymbols: () => Promise.resolve({ ok: true, value: [], asOfMs: 1, source: "venue" }),
};

type StreamsOptions = Parameters<typeof venuetwoAccountStreams>[0];

export interface StreamedTruth {
  readonly clock: Clock;
  readonly network: FakeNetwork;
  readonly truth: AccountReader;
  readonly history?: FillHistory;
  /** How far the venue's clock is known to be ahead. */
  readonly aheadMs: () => number;
  readonly latestVenueMs?: () => number;
  readonly logger?: Logger;
  readonly listenKeys?: StreamsOptions["listenKeys"];
  /** BTCUSDT alone where it is left out. */
  readonly instrumentOf?: StreamsOptions["instrumentOf"];
}

const LISTEN_KEYS: StreamsOptions["listenKeys"] = {
  create: () => Promise.resolve({ ok: true, value: "listen/1", asOfMs: 1, source: "venue" }),
  extend: () => Promise.resolve({ ok: true, value: "extended", asOfMs: 1, source: "venue" }),
};

export function streamsOf(of: StreamedTruth): VenuetwoAccountStreams {
  const { aheadMs, clock, network, truth } = of;
  return venuetwoAccountStreams({
    wsUrl: "ws://venue",
    layout: "single",
    connector: network.connector,
    clock,
    random: createSeededRandom(3),
    logger: of.logger ?? silentLogger,
    budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute: 300 }),
    reader: truth,
    history: of.history ?? NO_FILLS,
    listenKeys: of.listenKeys ?? LISTEN_KEYS,
    instrumentOf: of.instrumentOf ?? ((nativeSymbol) => (nativeSymbol === "BTCUSDT" ? BTC : null)),
    clockOffsetMs: aheadMs,
    latestVenueMs: of.latestVenueMs ?? (() => clock.wallMs() + aheadMs() + 5_000),
  });
}
