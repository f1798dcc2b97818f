/** Which channels a market needs, and how long each may be silent. Names are as the client writes them. */
import type { ProbeResult, SubscriptionSpec } from "../../shared/net/subscriptions.js";
import type { MarketSlot } from "./entry.js";

/** Of each market, all on one connection. */
export const CHANNELS_PER_MARKET = 3;
/** On each connection: the venue's block height, several a second, a steady sign of life. */
export const HEIGHT_CHANNEL = "height";
/** On one connection: statistics of all markets, the changed ones in each frame. */
export const STATS_CHANNEL = "market_stats/all";

/** Silence after which a ticker is compared with the book, without a call. */
const TICKER_SILENCE_MS = 10_000;
/** With any market active statistics change each second; silence this long is looked into. */
const STATS_SILENCE_MS = 30_000;

export function bookChannel(marketId: number): string {
  return `order_book/${marketId}`;
}

/** Silence of a book says nothing, and its repair needs acknowledgements: market/quiet-probe.ts and book-subscription.ts see to it. */
export function bookSpec(slot: MarketSlot): SubscriptionSpec {
  return { name: bookChannel(slot.marketId), livenessMs: 0, probe: null };
}

export function tickerSpec(slot: MarketSlot): SubscriptionSpec {
  return {
    name: `ticker/${slot.marketId}`,
    livenessMs: TICKER_SILENCE_MS,
    probe: () => Promise.resolve(slot.isTouchConsistent() ? "quiet" : "dead"),
  };
}

/** Nobody trades: silence says nothing. */
export function tradeSpec(slot: MarketSlot): SubscriptionSpec {
  return { name: `trade/${slot.marketId}`, livenessMs: 0, probe: null };
}

/** Its silence is judged by shard.ts: it withholds the proof of every book before it replaces the connection. */
export function heightSpec(): SubscriptionSpec {
  return { name: HEIGHT_CHANNEL, livenessMs: 0, probe: null };
}

export function statsSpec(probe: () => Promise<ProbeResult>): SubscriptionSpec {
  return { name: STATS_CHANNEL, livenessMs: STATS_SILENCE_MS, probe };
}
