/** Options whose texts need parsing, and the rules between them. Pure. */
import { isPlainDecimal, parseScaled } from "../../engine/domain/decimal.js";
import type { FeeRates } from "../../engine/domain/position.js";
import { isRoutableVenue, ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { type GuardPolicy, NO_LIMITS } from "../../engine/guards/guard-book.js";
import type { OptionValues } from "./config-options.js";
import { isHost } from "../http/origin-guard.js";
import type { StreamLimits } from "../stream/limits.js";

/** The limits of the stream that are options. */
export type StreamConfig = Pick<
  StreamLimits,
  | "connectionsMax"
  | "connectionsPerAddressMax"
  | "connectionsPerKeyMax"
  | "unauthenticatedPerAddressMax"
  | "subscriptionsMax"
  | "keysMax"
  | "privateKeysMax"
  | "levelsMax"
  | "connectionLevelsMax"
  | "frameBytesMax"
  | "framesPerSecond"
  | "softBufferBytes"
  | "hardBufferBytes"
  | "fatalBufferBytes"
>;

export function readGuards(values: OptionValues, problems: string[]): GuardPolicy {
  for (const symbol of values.TRADE_SYMBOLS)
    if (!isCanonicalSymbol(symbol))
      problems.push(`TRADE_SYMBOLS: ${JSON.stringify(symbol)} is no canonical symbol such as BTC`);
  for (const venue of values.TRADE_VENUES)
    if (!isRoutableVenue(venue))
      problems.push(`TRADE_VENUES: ${JSON.stringify(venue)} is none of ${ROUTABLE_VENUES.join(", ")}`);
  const orNull = <T>(items: readonly T[]): readonly T[] | null => (items.length === 0 ? null : items);
  const amount = (text: string): string | null => (text === "" ? null : text);
  return {
    global: {
      maxOrderNotional: amount(values.ORDER_NOTIONAL_MAX),
      maxDailyNotional: amount(values.DAILY_NOTIONAL_MAX),
      symbols: orNull(values.TRADE_SYMBOLS),
      venues: orNull(values.TRADE_VENUES.filter(isRoutableVenue)),
    },
    each: {
      ...NO_LIMITS,
      maxOrderNotional: amount(values.CALLER_ORDER_NOTIONAL_MAX),
      maxDailyNotional: amount(values.CALLER_DAILY_NOTIONAL_MAX),
    },
    byOwner: new Map(),
  };
}

/**
 * Thresholds of what waits for a slow reader: frames are merged first, then the reader is closed after a while, then at
 * once.
 */
const BUFFER_OPTIONS = ["STREAM_SOFT_BUFFER_BYTES", "STREAM_HARD_BUFFER_BYTES", "STREAM_FATAL_BUFFER_BYTES"] as const;

export function readStreamLimits(values: OptionValues, problems: string[]): StreamConfig {
  for (const [index, name] of BUFFER_OPTIONS.entries()) {
    const above = BUFFER_OPTIONS[index + 1];
    if (above !== undefined && values[name] >= values[above])
      problems.push(`${name} (${values[name]}) must be less than ${above} (${values[above]})`);
  }
  return {
    connectionsMax: values.STREAM_CONNECTIONS_MAX,
    connectionsPerAddressMax: values.STREAM_CONNECTIONS_PER_ADDRESS_MAX,
    connectionsPerKeyMax: values.STREAM_CONNECTIONS_PER_KEY_MAX,
    unauthenticatedPerAddressMax: values.STREAM_UNAUTHENTICATED_PER_ADDRESS_MAX,
    subscriptionsMax: values.STREAM_SUBSCRIPTIONS_MAX,
    keysMax: values.STREAM_KEYS_MAX,
    privateKeysMax: values.STREAM_ACCOUNT_KEYS_MAX,
    levelsMax: values.STREAM_LEVELS_MAX,
    connectionLevelsMax: values.STREAM_CONNECTION_LEVELS_MAX,
    frameBytesMax: values.STREAM_FRAME_BYTES_MAX,
    framesPerSecond: values.STREAM_FRAMES_PER_SECOND,
    softBufferBytes: values.STREAM_SOFT_BUFFER_BYTES,
    hardBufferBytes: values.STREAM_HARD_BUFFER_BYTES,
    fatalBufferBytes: values.STREAM_FATAL_BUFFER_BYTES,
  };
}

export function readHosts(values: OptionValues, problems: string[]): readonly string[] {
  for (const host of values.ALLOWED_HOSTS)
    if (!isHost(host)) problems.push(`ALLOWED_HOSTS: ${JSON.stringify(host)} is no host such as trade.example:8443`);
  return values.ALLOWED_HOSTS;
}

export function isAmount(text: string): boolean {
  return isPlainDecimal(text) && parseScaled(text, 6) > 0;
}

export function isCanonicalSymbol(text: string): boolean {
  return /^[\p{L}\p{N}]{1,24}$/u.test(text) && text === text.toUpperCase();
}

/** `USDT=0.9998` → 999 800. At most six decimals; within a factor of two of par, so that a slipped digit is caught. */
export function readQuoteRates(entries: readonly string[], problems: string[]): ReadonlyMap<string, number> {
  const rates = new Map<string, number>();
  for (const entry of entries) {
    const [asset = "", rate = "", ...rest] = entry.split("=");
    const ppm = isPlainDecimal(rate) ? parseScaled(rate, 6) : Number.NaN;
    if (
      rest.length > 0 ||
      !/^[A-Z0-9]{2,10}$/.test(asset) ||
      !(ppm >= 500_000 && ppm <= 2_000_000) ||
      rates.has(asset)
    ) {
      problems.push(
        "QUOTE_RATES must be entries such as USDT=0.9998: each asset once, from 0.5 to 2, at most six decimals",
      );
    } else rates.set(asset, ppm);
  }
  return rates;
}

/** Returns thousandths of a basis point; NaN when the text is no rate. */
export function milliBps(text: string): number {
  const value = isPlainDecimal(text) ? parseScaled(text, 3) : Number.NaN;
  return Math.abs(value) <= 100_000 ? value : Number.NaN;
}

export function readFees(venue: string, taker: string, maker: string, problems: string[]): FeeRates | null {
  if (taker === "" && maker === "") return null;
  if (taker === "" || maker === "") {
    problems.push(`${venue}_TAKER_FEE_BPS and ${venue}_MAKER_FEE_BPS must be set together`);
    return null;
  }
  return { takerFeeMilliBps: milliBps(taker), makerFeeMilliBps: milliBps(maker) };
}
