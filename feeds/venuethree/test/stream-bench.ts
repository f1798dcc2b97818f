/** A market stream on a virtual clock, a network opened by hand and a venue of one level a side, for tests. */
import { expect } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { MESSAGES_PER_MINUTE } from "../rules/limits.js";
import { VenuethreeRest } from "../market/rest.js";
import { MarketStream } from "../market/stream.js";
import { buildInstrument } from "../market/symbols.js";
import type { VenuethreeWireMarket, VenuethreeWireStats } from "../market/wire.js";
import { TinyVenue } from "./tiny-venue.js";

export class StreamBench {
  readonly clock = new VirtualClock();
  readonly clockOffset = new ClockOffset(this.clock);
  readonly network = new FakeNetwork();
  readonly venue = new TinyVenue(this.clock);
  readonly messages = new MessagePacer(this.clock, MESSAGES_PER_MINUTE, 60_000);
  readonly stream: MarketStream;
  readonly markets: readonly Market[];

  constructor(marketCount = 2, logger = silentLogger) {
    const { clock } = this;
    this.stream = new MarketStream({
      wsUrl: "ws://venue/stream",
      connector: this.network.connector,
      clock,
      random: createSeededRandom(5),
      logger,
      rest: new VenuethreeRest(this.venue, 1),
      clockOffset: this.clockOffset,
      budget: new ConnectionBudget(clock, { maxConnections: 32, connectsPerMinute: 60 }),
      messages: this.messages,
    });
    this.markets = Array.from({ length: marketCount }, (_, index) => marketOf(index + 1));
  }

  /** Time passes while the venue answers what it is sent, every 50 ms. */
  async pass(ms: number, each: (elapsedMs: number) => void = () => {}): Promise<void> {
    for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 50) {
      await this.clock.advanceAsync(50);
      for (const connection of this.network.connections) if (!connection.isEnded) this.venue.serve(connection);
      each(elapsedMs);
    }
  }

  async goLive(markets: readonly Market[]): Promise<FakeConnection> {
    this.stream.add(markets);
    this.network.last.open();
    await this.pass(300);
    for (const { book } of markets) expect(book.state).toBe(BOOK_LIVE);
    return this.network.last;
  }

  ageOf(market: Market): number {
    return ageMs(market.book.tsProvenNs, this.clock.monoNs());
  }
}

/** Statistics of a market of which the venue knows nothing yet. */
export const NO_STATS: VenuethreeWireStats = {
  market_id: 1,
  mark_price: null,
  index_price: null,
  mid_price: null,
  last_trade_price: null,
  open_interest: null,
  current_funding_rate: null,
  daily_base_token_volume: null,
  daily_quote_token_volume: null,
  daily_price_low: null,
  daily_price_high: null,
  daily_price_change: null,
};

export function sentTo(connection: FakeConnection, part: string): readonly string[] {
  return connection.sent.filter((text) => text.includes(part));
}

export function marketOf(marketId: number): Market {
  const wire: VenuethreeWireMarket = {
    symbol: `COIN${marketId}`,
    market_id: marketId,
    status: "active",
    price_decimals: 1,
    size_decimals: 1,
    min_initial_margin_fraction: 500,
    min_base_amount: null,
    min_quote_amount: null,
    multiplier: null,
    stats: { ...NO_STATS, market_id: marketId },
  };
  const instrument = buildInstrument(wire, { takerFeeMilliBps: 0, makerFeeMilliBps: 0 });
  if (typeof instrument === "string") throw new Error(instrument);
  return createMarket(instrument, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
}
