/** Subscriptions of clients: `{source, …}` to the topic of the local venue. */
import type { SimInstrument } from "../../core/model/types.js";
import type { MarketContext } from "./market-context.js";
import { INTERVALS } from "./market-view.js";
import { AGG_LEVELS } from "./publisher.js";

export type Subscription =
  | { readonly source: "prices"; readonly topic: string }
  | { readonly source: "book"; readonly topic: string; readonly instrument: SimInstrument; readonly aggLevel: number }
  | { readonly source: "bbo" | "trades"; readonly topic: string; readonly instrument: SimInstrument }
  | {
      readonly source: "candle" | "mark_price_candle";
      readonly topic: string;
      readonly instrument: SimInstrument;
      readonly interval: string;
      readonly intervalMs: number;
    };

const PER_SYMBOL = ["book", "bbo", "trades"] as const;
const CANDLES = ["candle", "mark_price_candle"] as const;
/** @testonly What README.md lists. */
export const MARKET_CHANNELS: readonly string[] = ["prices", ...PER_SYMBOL, ...CANDLES];

/**
 * `invalid`: answered with an error frame. `unanswered`: the venue sends nothing at all, as for a symbol that it does
 * not know; other values that it cannot serve get the same here.
 */
export type SubscriptionReading = Subscription | "invalid" | "unanswered";

export function readSubscription(params: unknown, context: MarketContext): SubscriptionReading {
  if (typeof params !== "object" || params === null || Array.isArray(params)) return "invalid";
  const { source, symbol, agg_level: aggLevel = 1, interval } = params as Record<string, unknown>;
  if (source === "prices") return { source, topic: "prices" };
  const perSymbol = PER_SYMBOL.find((name) => name === source);
  const candle = CANDLES.find((name) => name === source);
  if (perSymbol === undefined && candle === undefined) return "invalid";
  const instrument = typeof symbol === "string" ? context.exchange.instruments.get(symbol) : undefined;
  if (instrument === undefined) return "unanswered";
  if (candle !== undefined) {
    const intervalMs = typeof interval === "string" ? INTERVALS.get(interval) : undefined;
    if (intervalMs === undefined) return "unanswered";
    const name = String(interval);
    const topic = `${candle}:${instrument.symbol}:${name}`;
    return { source: candle, topic, instrument, interval: name, intervalMs };
  }
  if (perSymbol === "bbo" || perSymbol === "trades")
    return { source: perSymbol, topic: `${perSymbol}:${instrument.symbol}`, instrument };
  if (typeof aggLevel !== "number" || !AGG_LEVELS.includes(aggLevel)) return "unanswered";
  return { source: "book", topic: `book:${instrument.symbol}:${aggLevel}`, instrument, aggLevel };
}
