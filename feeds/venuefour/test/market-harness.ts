/** A market stream over fake connections, a scripted REST and a virtual clock, for tests. */
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMarket, NO_MARKET_LISTENER, type Market } from "../../../engine/market/market.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import { VenuefourRest } from "../market/rest.js";
import { MarketStream } from "../market/stream.js";
import { buildInstruments, DEFAULT_FEES } from "../market/symbols.js";

export interface SeenTrade {
  readonly symbol: string;
  readonly side: string;
  readonly priceTicks: number;
  readonly qtyLots: number;
  readonly tradeId: string | number;
  readonly tsVenueMs: number;
}

interface Params {
  readonly source: string;
  readonly symbol?: string;
  readonly agg_level?: number;
}

/** BTC has the recorded grid; all others one of two places. */
export function marketRow(symbol: string) {
  const isBtc = symbol === "BTC";
  return {
    symbol,
    instrument_type: "perpetual",
    tick_size: isBtc ? "1" : "0.01",
    lot_size: isBtc ? "0.00001" : "0.01",
    max_leverage: 10,
    min_order_size: "10",
  };
}

export function setup(symbols: readonly string[] = ["BTC", "ETH"], startMs = 1_790_000_000_000) {
  const clock = new VirtualClock(startMs);
  const network = new FakeNetwork();
  const http = new ScriptedHttp(clock);
  const trades: SeenTrade[] = [];
  const logs: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    logs.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const markets = new Map<string, Market>();
  const clockOffset = new ClockOffset(clock);
  const stream = new MarketStream({
    wsUrl: "ws://venue/ws",
    clock,
    random: createSeededRandom(1),
    logger,
    connector: network.connector,
    clockOffset,
    budget: new ConnectionBudget(clock, { maxConnections: 300, connectsPerMinute: 30 }),
    messagesPerSecond: 30,
    rest: new VenuefourRest(http, "/api/v1"),
    listed: (symbol) => markets.get(symbol),
  });
  const { bySymbol } = buildInstruments(symbols.map(marketRow), DEFAULT_FEES);
  for (const instrument of bySymbol.values()) {
    const market = createMarket(instrument, { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 });
    market.signal.listen({
      ...NO_MARKET_LISTENER,
      traded: ({ instrument: { symbol } }, side, priceTicks, qtyLots, tradeId, tsVenueMs) =>
        trades.push({ symbol, side, priceTicks, qtyLots, tradeId, tsVenueMs }),
    });
    markets.set(instrument.nativeSymbol, market);
    stream.add(market);
  }
  stream.start();
  const at = (index: number): FakeConnection => {
    const connection = network.connections[index];
    if (connection === undefined) throw new Error(`no connection ${index}`);
    return connection;
  };
  return {
    clock,
    clockOffset,
    network,
    http,
    stream,
    trades,
    logs,
    market(symbol: string): Market {
      const found = markets.get(symbol);
      if (found === undefined) throw new Error(`no ${symbol}`);
      return found;
    },
    /** The connection of the first twenty markets. */
    first: at(0),
    /** The connection of the prices: the last that was opened. */
    prices: network.last,
    at,
    /** Opens what is new and lets the subscriptions out; the venue echoes all but these symbols. */
    open(silent: readonly string[] = []): void {
      for (const connection of network.connections) if (!connection.isEnded) connection.open();
      clock.advance(100);
      for (const connection of network.connections) echoAll(connection, silent);
    },
  };
}

export function subscriptionsOf(connection: FakeConnection, method = "subscribe"): readonly Params[] {
  return connection.sent
    .map((text) => JSON.parse(text) as { method: string; params: Params })
    .filter((frame) => frame.method === method)
    .map((frame) => frame.params);
}

/** What the venue answers to the subscriptions sent so far. */
export function echoAll(connection: FakeConnection, silent: readonly string[] = []): void {
  if (connection.isEnded) return;
  for (const params of subscriptionsOf(connection))
    if (!silent.includes(params.symbol ?? ""))
      connection.receive(JSON.stringify({ channel: "subscribe", data: params }));
}

export function bookText(symbol: string, t: number, bid = "100", ask = "101", li = 1): string {
  const l = [[{ a: "1", n: 1, p: bid }], [{ a: "2", n: 1, p: ask }]];
  return JSON.stringify({ channel: "book", data: { l, li, s: symbol, t } });
}

export function bboText(symbol: string, t: number, bid = "100", ask = "101", li = 1): string {
  return JSON.stringify({ channel: "bbo", data: { A: "2", B: "1", a: ask, b: bid, i: 5, li, s: symbol, t } });
}

export function tradeText(symbol: string, h: number, t = 1_790_000_000_000, p = "100"): string {
  const row = { a: "1", d: "open_long", h, it: 0, li: 1, p, s: symbol, t, tc: "normal" };
  return JSON.stringify({ channel: "trades", data: [row] });
}

export function priceRow(symbol: string, timestamp: number, mark = "100") {
  return {
    funding: "0.0000125",
    mark,
    mid: "100.5",
    next_funding: "0.00002",
    open_interest: "7",
    oracle: "99",
    symbol,
    timestamp,
    volume_24h: "1000",
    yesterday_price: "90",
  };
}
