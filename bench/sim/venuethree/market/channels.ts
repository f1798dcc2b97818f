/** Channel names of clients (`order_book/0`) and what the venue answers on (`order_book:0`). */
import type { Accounts, VenueAccount } from "../records/accounts.js";
import { BAD_MARKET_CHANNEL, CODE } from "../wire/errors.js";
import type { Listing, VenuethreeMarket } from "../records/listing.js";
import { RESOLUTIONS } from "./market-view.js";
import type { TradingMarket } from "../orders/orders.js";

export type MarketChannelKind = "order_book" | "ticker" | "market_stats" | "trade" | "candle" | "height";

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

export type AccountChannelKind =
  | "account_all"
  | "account_market"
  | "account_all_orders"
  | "account_orders"
  | "account_all_trades"
  | "account_all_positions"
  | "account_all_assets"
  | "user_stats"
  | "account_tx"
  | "notification";

export interface AccountChannel {
  readonly kind: AccountChannelKind;
  /** What clients subscribe to, with colons. */
  readonly name: string;
  /** What frames are marked with. */
  readonly shownName: string;
  readonly account: VenueAccount;
  /** Null where a channel is about all markets. */
  readonly market: TradingMarket | null;
  readonly needsToken: boolean;
}

export type AccountChannelReading =
  | { readonly ok: true; readonly channel: AccountChannel }
  | { readonly ok: false; readonly code: number; readonly message: string };

const PER_MARKET: ReadonlySet<string> = new Set(["order_book", "ticker", "trade"]);
const PER_MARKET_OR_ALL: ReadonlySet<string> = new Set(["market_stats"]);
/** One has an interval besides the market, one has no market. */
const UNLIKE_OTHERS = ["candle", "height"] as const satisfies readonly MarketChannelKind[];
/** Each with the answer to "needs a token?" (fact sheet 9.3). */
const ACCOUNT: ReadonlyMap<AccountChannelKind, boolean> = new Map([
  ["account_all", false],
  ["account_market", true],
  ["account_all_orders", true],
  ["account_orders", true],
  ["account_all_trades", true],
  ["account_all_positions", true],
  ["account_all_assets", true],
  ["user_stats", false],
  ["account_tx", true],
  ["notification", true],
]);
/** Name a market before the account. */
const PER_MARKET_AND_ACCOUNT: ReadonlySet<AccountChannelKind> = new Set(["account_market", "account_orders"]);

/** @testonly What README.md lists. */
export const CHANNELS: readonly string[] = [...PER_MARKET, ...PER_MARKET_OR_ALL, ...UNLIKE_OTHERS, ...ACCOUNT.keys()];

/** Returns null for a name of no account channel. */
export function accountKindOf(text: string): AccountChannelKind | null {
  const kind = text.split("/")[0] as AccountChannelKind;
  return ACCOUNT.has(kind) ? kind : null;
}

export function readAccountChannel(
  kind: AccountChannelKind,
  text: string,
  listing: Listing,
  accounts: Accounts,
): AccountChannelReading {
  const parts = text.split("/");
  const hasMarket = PER_MARKET_AND_ACCOUNT.has(kind);
  if (parts.length !== (hasMarket ? 3 : 2)) return refuse(CODE.invalidChannel, `Invalid Channel: ${text}`);
  const accountText = parts[parts.length - 1] ?? "";
  const account = /^(?:0|[1-9]\d{0,14})$/.test(accountText) ? accounts.byIndex.get(Number(accountText)) : undefined;
  if (account === undefined) return refuse(CODE.invalidChannel, "Invalid Channel:  (accountId)");
  const marketText = parts[1] ?? "";
  const market =
    hasMarket && /^(?:0|[1-9]\d{0,3})$/.test(marketText) ? listing.byId.get(Number(marketText)) : undefined;
  if (hasMarket && (market === undefined || market.instrument === null))
    return refuse(CODE.invalidChannel, BAD_MARKET_CHANNEL);
  // The one name keeps its slashes, the other has the account in a field of its own.
  const shownName =
    kind === "account_market" ? text : kind === "account_orders" ? `${kind}:${marketText}` : parts.join(":");
  const channel: AccountChannel = {
    kind,
    name: parts.join(":"),
    shownName,
    account,
    market: market === undefined ? null : (market as TradingMarket),
    needsToken: ACCOUNT.get(kind) ?? true,
  };
  return { ok: true, channel };
}

export function readChannel(text: string, listing: Listing): ChannelReading {
  const parts = text.split("/");
  const [kind = "", first, second] = parts;
  const name = parts.join(":");
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

function refuse(
  code: number,
  message: string,
): { readonly ok: false; readonly code: number; readonly message: string } {
  return { ok: false, code, message };
}
