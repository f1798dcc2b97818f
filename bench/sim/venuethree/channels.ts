/** Channel names of clients (`order_book/0`) and what the venue answers on (`order_book:0`). */
import { BAD_MARKET_CHANNEL, CODE } from "./errors.js";
import type { Listing, VenuethreeMarket } from "./listing.js";
import { RESOLUTIONS } from "./market-view.js";

export type MarketChannelKind =
  | "order_book"
  | "ticker"
  | "market_stats"
  | "spot_market_stats"
  | "trade"
  | "candle"
  | "height";

export interface Channel {
  readonly kind: MarketChannelKind;
  /** Name in answers. */
  readonly name: string;
  /** Null for `all` and for `height`. */
  readonly market: VenuethreeMarket | null;
  /** Of candles; 0 elsewhere. */
  readonly intervalMs: number;
}

export type ChannelReading =
  | { readonly ok: true; readonly channel: Channel }
  | { readonly ok: false; readonly code: number; readonly message: string };

const PER_MARKET: ReadonlySet<string> = new Set(["order_book", "ticker", "trade"]);
const PER_MARKET_OR_ALL: ReadonlySet<string> = new Set(["market_stats", "spot_market_stats"]);
/** Need a token; some need none by the documentation, but without accounts all are refused alike. */
const ACCOUNT: ReadonlySet<string> = new Set([
  "account_all",
  "account_market",
  "account_all_orders",
  "account_orders",
  "account_all_trades",
  "account_all_positions",
  "account_all_assets",
  "account_spot_avg_entry_prices",
  "user_stats",
  "account_tx",
  "notification",
  "pool_data",
  "pool_info",
]);

/** `hasAuth`: the client sent a token along. */
export function readChannel(text: string, hasAuth: boolean, listing: Listing): ChannelReading {
  const parts = text.split("/");
  const [kind = "", first, second] = parts;
  const name = parts.join(":");
  if (ACCOUNT.has(kind)) {
    return hasAuth
      ? refuse(CODE.invalidAuth, "invalid auth: invalid signature")
      : refuse(CODE.parameter, `invalid param : auth field is required: ${name}`);
  }
  if (kind === "height" && parts.length === 1) return accept({ kind, name, market: null, intervalMs: 0 });
  if (PER_MARKET_OR_ALL.has(kind) && first === "all" && parts.length === 2)
    return accept({ kind: kind as MarketChannelKind, name, market: null, intervalMs: 0 });
  const isPerMarket = PER_MARKET.has(kind) || PER_MARKET_OR_ALL.has(kind);
  if (!isPerMarket && kind !== "candle") return refuse(CODE.invalidChannel, `Invalid Channel: ${text}`);
  // One name per market: no leading zeros.
  const market =
    first !== undefined && /^(?:0|[1-9]\d{0,3})$/.test(first) ? listing.byId.get(Number(first)) : undefined;
  if (market === undefined || parts.length !== (isPerMarket ? 2 : 3))
    return refuse(CODE.invalidChannel, BAD_MARKET_CHANNEL);
  if (isPerMarket) return accept({ kind: kind as MarketChannelKind, name, market, intervalMs: 0 });
  const intervalMs = RESOLUTIONS.get(second ?? "");
  // Weekly candles are answered over REST only.
  if (intervalMs === undefined || second === "1w") return refuse(CODE.invalidChannel, "Invalid Channel:  (resolution)");
  return accept({ kind: "candle", name, market, intervalMs });
}

function accept(channel: Channel): ChannelReading {
  return { ok: true, channel };
}

function refuse(code: number, message: string): ChannelReading {
  return { ok: false, code, message };
}
