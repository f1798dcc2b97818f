/**
 * Bytes → wire types of market data, checked at the border (channels of accounts: account/frames.ts).
 * For the two depth channels this is the reference that market/scan.ts must equal, and the way for
 * frames the scanner declines. Nothing here throws: what can not be read comes out as `malformed`.
 */
import { plainFromVenueNumber } from "../../../engine/domain/decimal.js";
import {
  asFields,
  asList,
  decimalField,
  decimalOrNull,
  decodeWith,
  type Fields,
  flagField,
  integerField,
  isFields,
  oneOf,
  textField,
  textOrNull,
  WireFault,
} from "../../shared/room/wire-fields.js";
import type {
  VenueoneWireAsset,
  VenueoneWireBbo,
  VenueoneWireBook,
  VenueoneWireContext,
  VenueoneWireLevel,
  VenueoneWireMeta,
  VenueoneWireTrade,
} from "./wire.js";

export type VenueoneMarketFrame =
  | { readonly kind: "book"; readonly book: VenueoneWireBook }
  | { readonly kind: "bbo"; readonly bbo: VenueoneWireBbo }
  | { readonly kind: "trades"; readonly trades: readonly VenueoneWireTrade[] }
  | { readonly kind: "context"; readonly coin: string; readonly context: VenueoneWireContext }
  | {
      readonly kind: "subscribed";
      readonly method: string;
      readonly type: string;
      readonly coin: string | null;
      readonly user: string | null;
    }
  | { readonly kind: "pong" }
  | { readonly kind: "error"; readonly text: string }
  /** A channel that is known and not read here. */
  | { readonly kind: "ignored"; readonly channel: string }
  /** The plain-text greeting and other non-JSON text. */
  | { readonly kind: "text" }
  /** A channel that the fact sheet does not know: protocol drift. */
  | { readonly kind: "unknown"; readonly channel: string }
  /** A known channel that does not fit, or no frame at all. `subject`: its coin or user, where that could still be read. */
  | { readonly kind: "malformed"; readonly channel: string; readonly subject: string | null; readonly problem: string };

/** Streams we never subscribe on a socket of market data (or replies we never ask for); a frame of one is harmless. */
const IGNORED_CHANNELS: ReadonlySet<string> = new Set([
  "activeAssetData",
  "activeSpotAssetCtx",
  "allDexsAssetCtxs",
  "allDexsClearinghouseState",
  "allMids",
  "assetCtxs",
  "candle",
  "clearinghouseState",
  "fastAssetCtxs",
  "notification",
  "openOrders",
  "orderUpdates",
  "post",
  "spotAssetCtxs",
  "spotState",
  "twapStates",
  "user",
  "userFills",
  "userFundings",
  "userHistoricalOrders",
  "userNonFundingLedgerUpdates",
  "userTwapHistory",
  "userTwapSliceFills",
  "webData2",
  "webData3",
]);

/** First byte of every frame but the greeting. */
const OPEN_BRACE = 0x7b;
/** An address or a coin in a log line is cut to this. */
const MAX_SUBJECT_CHARS = 64;

export function decodeFrame(data: Uint8Array): VenueoneMarketFrame {
  return decodeFrameBy(data, decodeMarketChannel);
}

/** One frame, its payload by `decodeChannel`, which throws WireFault where a payload does not fit. */
export function decodeFrameBy<Frame>(
  data: Uint8Array,
  decodeChannel: (channel: string, payload: unknown) => Frame,
): Frame | Extract<VenueoneMarketFrame, { readonly kind: "text" | "malformed" }> {
  const firstByte = data[0];
  const frame = parseJson(data);
  if (frame === undefined && firstByte !== OPEN_BRACE) return { kind: "text" };
  const channel = isFields(frame) && typeof frame.channel === "string" ? frame.channel : null;
  if (!isFields(frame) || channel === null)
    return { kind: "malformed", channel: "", subject: null, problem: "no channel" };
  const decoded = decodeWith(frame.data, (payload) => decodeChannel(channel, payload));
  if (decoded.ok) return decoded.value;
  return { kind: "malformed", channel, subject: subjectOf(frame.data), problem: decoded.problem };
}

/** Undefined where it is none. All numbers of this venue (ids, times) are safe integers. */
function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

export function decodeMarketChannel(channel: string, data: unknown): VenueoneMarketFrame {
  switch (channel) {
    case "l2Book":
      return { kind: "book", book: decodeBook(data) };
    case "bbo":
      return { kind: "bbo", bbo: decodeBbo(data) };
    case "trades":
      return { kind: "trades", trades: decodeTrades(data) };
    case "activeAssetCtx": {
      const row = asFields(data, "activeAssetCtx");
      return { kind: "context", coin: textField(row, "coin"), context: decodeContext(row.ctx) };
    }
    case "subscriptionResponse": {
      const row = asFields(data, "subscriptionResponse");
      const subscription = asFields(row.subscription, "subscription");
      const type = textField(subscription, "type");
      const coin = textOrNull(subscription, "coin");
      return {
        kind: "subscribed",
        method: textField(row, "method"),
        type,
        coin,
        user: textOrNull(subscription, "user"),
      };
    }
    case "pong":
      return { kind: "pong" };
    case "error":
      if (typeof data !== "string") throw new WireFault("error", "is not text");
      return { kind: "error", text: data };
    default:
      return IGNORED_CHANNELS.has(channel) ? { kind: "ignored", channel } : { kind: "unknown", channel };
  }
}

/** Coin or user of a payload that could not be decoded, so that what depends on it can be doubted. */
function subjectOf(payload: unknown): string | null {
  if (!isFields(payload)) return null;
  const subject = payload.coin ?? payload.user;
  return typeof subject === "string" ? subject.slice(0, MAX_SUBJECT_CHARS) : null;
}

/** Also the body of REST `l2Book`. */
export function decodeBook(value: unknown): VenueoneWireBook {
  const row = asFields(value, "book");
  const levels = asList(row.levels, "levels");
  if (levels.length !== 2) throw new WireFault("levels", "are not two sides");
  const bids = asList(levels[0], "bids").map(decodeLevel);
  return {
    coin: textField(row, "coin"),
    time: integerField(row, "time"),
    levels: [bids, asList(levels[1], "asks").map(decodeLevel)],
  };
}

function decodeBbo(value: unknown): VenueoneWireBbo {
  const row = asFields(value, "bbo");
  const sides = asList(row.bbo, "bbo");
  if (sides.length !== 2) throw new WireFault("bbo", "are not two sides");
  const [bid, ask] = sides;
  return {
    coin: textField(row, "coin"),
    time: integerField(row, "time"),
    bbo: [bid === null ? null : decodeLevel(bid), ask === null ? null : decodeLevel(ask)],
  };
}

function decodeLevel(value: unknown): VenueoneWireLevel {
  const row = asFields(value, "level");
  // The count is descriptive and unused; a level without one is still a level.
  const n = row.n === undefined ? 0 : integerField(row, "n");
  return { px: unsignedField(row, "px"), sz: unsignedField(row, "sz"), n };
}

/** Depth has no negative numbers; one would poison a book silently. */
function unsignedField(row: Fields, name: string): string {
  const plain = plainFromVenueNumber(textField(row, name));
  if (plain === null || plain.startsWith("-")) throw new WireFault(name, "is not an unsigned decimal");
  return plain;
}

/** Also the body of REST `recentTrades`. */
export function decodeTrades(value: unknown): readonly VenueoneWireTrade[] {
  return asList(value, "trades").map((item) => {
    const row = asFields(item, "trade");
    return {
      coin: textField(row, "coin"),
      side: oneOf(row, "side", ["A", "B"]),
      px: unsignedField(row, "px"),
      sz: unsignedField(row, "sz"),
      time: integerField(row, "time"),
      // Hand-made samples lack it; dedupe then goes by the other fields.
      tid: row.tid === undefined ? 0 : integerField(row, "tid"),
    };
  });
}

function decodeContext(value: unknown): VenueoneWireContext {
  const row = asFields(value, "ctx");
  return {
    funding: decimalField(row, "funding"),
    openInterest: decimalField(row, "openInterest"),
    prevDayPx: decimalField(row, "prevDayPx"),
    dayNtlVlm: decimalField(row, "dayNtlVlm"),
    oraclePx: decimalField(row, "oraclePx"),
    markPx: decimalField(row, "markPx"),
    midPx: decimalOrNull(row, "midPx"),
    dayBaseVlm: decimalOrNull(row, "dayBaseVlm"),
  };
}

export function decodeMeta(value: unknown): VenueoneWireMeta {
  const row = asFields(value, "meta");
  return {
    universe: asList(row.universe, "universe").map(decodeAsset),
    // Missing in recordings before late 2025, when USDC was the only one.
    collateralToken: row.collateralToken === undefined ? 0 : integerField(row, "collateralToken"),
  };
}

function decodeAsset(value: unknown): VenueoneWireAsset {
  const row = asFields(value, "asset");
  return {
    name: textField(row, "name"),
    szDecimals: integerField(row, "szDecimals"),
    maxLeverage: row.maxLeverage === undefined ? 1 : integerField(row, "maxLeverage"),
    isDelisted: flagField(row, "isDelisted"),
  };
}

export interface VenueoneWireUniverse {
  readonly meta: VenueoneWireMeta;
  /** Joined with `meta.universe` by position. */
  readonly contexts: readonly VenueoneWireContext[];
}

/** Body of `metaAndAssetCtxs`. */
export function decodeUniverse(value: unknown): VenueoneWireUniverse {
  const pair = asList(value, "metaAndAssetCtxs");
  const meta = decodeMeta(pair[0]);
  const contexts = asList(pair[1], "contexts").map(decodeContext);
  if (contexts.length !== meta.universe.length) throw new WireFault("contexts", "do not match the universe");
  return { meta, contexts };
}
