/**
 * Subscriptions of the socket: typed reading, the normalized echo, and what is wrong with one. Invariant: two requests
 * for the same stream have the same key, however their JSON was written.
 */
import { CANDLE_INTERVALS, isBookView } from "./info-market.js";
import type { JsonNode } from "../wire/json.js";
import {
  decodeOrNull,
  mismatch,
  readAddress,
  readBool,
  readInt,
  readStruct,
  readText,
  type Struct,
} from "../wire/shape.js";
import { SPOT_PAIRS, type Universe } from "../records/universe.js";

export interface Subscription {
  readonly type: StreamType;
  readonly channel: string;
  readonly coin: string | null;
  readonly user: string | null;
  readonly nSigFigs: number | null;
  readonly mantissa: number | null;
  readonly fast: boolean;
  readonly interval: string | null;
  readonly aggregateByTime: boolean;
  /** As the venue echoes it. */
  readonly echo: Readonly<Record<string, unknown>>;
  readonly key: string;
}

export type SubscriptionReading =
  | { readonly kind: "ok"; readonly subscription: Subscription }
  /** Not typeable: the whole frame is quoted back. */
  | { readonly kind: "unparsable" }
  /** Typed, but asks for something that does not exist. */
  | { readonly kind: "invalid"; readonly json: string }
  /** The venue drops the connection without an answer. */
  | { readonly kind: "kills" };

const STREAMS = {
  l2Book: ["coin", "nSigFigs", "mantissa", "fast"],
  bbo: ["coin"],
  trades: ["coin"],
  activeAssetCtx: ["coin"],
  candle: ["coin", "interval"],
  allMids: ["dex"],
  assetCtxs: ["dex"],
  fastAssetCtxs: [],
  allDexsAssetCtxs: [],
  orderUpdates: ["user"],
  userFills: ["user", "aggregateByTime"],
  userEvents: ["user"],
  userFundings: ["user"],
  userNonFundingLedgerUpdates: ["user"],
  clearinghouseState: ["user", "dex"],
  openOrders: ["user", "dex"],
  spotState: ["user"],
  allDexsClearinghouseState: ["user"],
  activeAssetData: ["user", "coin"],
  notification: ["user"],
  userHistoricalOrders: ["user"],
} as const satisfies Record<string, readonly string[]>;

export type StreamType = keyof typeof STREAMS;

/** @testonly What README.md lists. */
export const STREAM_TYPES: readonly string[] = Object.keys(STREAMS);

/** Streams whose frames do not name their user. */
const NAMELESS_CHANNELS: Partial<Record<StreamType, string>> = { userEvents: "user" };

export function readSubscription(node: JsonNode, universe: Universe): SubscriptionReading {
  const typed = decodeOrNull(() => typeSubscription(node));
  if (typed === null) return { kind: "unparsable" };
  return judge(typed, universe);
}

function typeSubscription(node: JsonNode): Subscription & { readonly dex: string } {
  const type = readStreamType(node);
  const keys = STREAMS[type];
  const fields = readStruct(node, ["type", ...keys], "ignore");
  const has = (key: string): boolean => keys.some((known) => known === key);
  const coin = has("coin") ? readText(fields.required("coin")) : null;
  const user = has("user") ? readAddress(fields.required("user")) : null;
  const nSigFigs = has("nSigFigs") ? readOptional(fields, "nSigFigs", readInt) : null;
  const mantissa = has("mantissa") ? readOptional(fields, "mantissa", readInt) : null;
  const fast = has("fast") ? (readOptional(fields, "fast", readBool) ?? false) : false;
  const interval = has("interval") ? readText(fields.required("interval")) : null;
  const aggregateByTime = has("aggregateByTime") ? readOptional(fields, "aggregateByTime", readBool) : null;
  const dex = has("dex") ? readOptional(fields, "dex", readText) : null;
  // The echo of a book subscription has its defaults filled in, as recorded; other optional fields are echoed as given.
  const echo: Record<string, unknown> = { type };
  if (coin !== null) echo.coin = coin;
  if (user !== null) echo.user = user;
  if (interval !== null) echo.interval = interval;
  if (type === "l2Book") Object.assign(echo, { nSigFigs, mantissa, fast });
  if (isGiven(node, "aggregateByTime") && has("aggregateByTime")) echo.aggregateByTime = aggregateByTime;
  if (isGiven(node, "dex") && has("dex")) echo.dex = dex;
  const key = JSON.stringify([
    type,
    coin,
    user,
    nSigFigs,
    mantissa,
    fast,
    interval,
    aggregateByTime ?? false,
    dex ?? "",
  ]);
  return {
    type,
    channel: NAMELESS_CHANNELS[type] ?? type,
    coin,
    user,
    nSigFigs,
    mantissa,
    fast,
    interval,
    aggregateByTime: aggregateByTime ?? false,
    echo,
    key,
    dex: dex ?? "",
  };
}

function judge(typed: Subscription & { readonly dex: string }, universe: Universe): SubscriptionReading {
  const { dex, ...subscription } = typed;
  const { coin, type } = subscription;
  const isSpot = SPOT_PAIRS.some((pair) => pair.name === coin);
  if (coin !== null && !universe.perpByName.has(coin) && !isSpot) return { kind: "kills" };
  if (!isBookView(subscription.nSigFigs, subscription.mantissa)) return { kind: "kills" };
  const invalid: SubscriptionReading = { kind: "invalid", json: JSON.stringify(subscription.echo) };
  if (dex !== "") return invalid;
  if (type === "activeAssetData" && isSpot) return invalid;
  if (subscription.interval !== null && !Object.hasOwn(CANDLE_INTERVALS, subscription.interval)) return invalid;
  if (type === "activeAssetCtx" && isSpot) {
    return { kind: "ok", subscription: { ...subscription, channel: "activeSpotAssetCtx" } };
  }
  return { kind: "ok", subscription };
}

function readStreamType(node: JsonNode): StreamType {
  const tag = readStruct(node, ["type"], "ignore");
  const text = readText(tag.required("type"));
  return isStreamType(text) ? text : mismatch("unknown stream type");
}

function isStreamType(text: string): text is StreamType {
  return Object.hasOwn(STREAMS, text);
}

function readOptional<T>(fields: Struct, key: string, read: (node: JsonNode) => T): T | null {
  const node = fields.optional(key);
  return node === undefined ? null : read(node);
}

function isGiven(node: JsonNode, key: string): boolean {
  return node.kind === "object" && node.entries.some(([known]) => known === key);
}
