/**
 * The venue's public payloads under its own names. Amounts and prices are decimal text unless noted; fields that the
 * room does not read are left out. Order books and tickers are not here: decode.ts turns them into integers.
 */

/** Row of `orderBookDetails.order_book_details` (perpetuals). */
export interface VenuethreeWireMarket {
  /** Case-sensitive bare base. */
  readonly symbol: string;
  readonly market_id: number;
  /** `active` or `inactive`. */
  readonly status: string;
  readonly price_decimals: number;
  readonly size_decimals: number;
  /** Units of 1e-4: 500 is 5 %, 20×. */
  readonly min_initial_margin_fraction: number;
  /** Smallest size, and smallest value in quote units, of an order that rests; null where the row has none. */
  readonly min_base_amount: string | null;
  readonly min_quote_amount: string | null;
  /** Units of the base per contract; absent in older answers. */
  readonly multiplier: string | null;
  readonly stats: VenuethreeWireStats;
}

/**
 * What `market_stats` frames and `orderBookDetails` rows say of a market; null where they do not. Floats of the venue
 * are given as the shortest text of the double, which is how it prints them.
 */
export interface VenuethreeWireStats {
  readonly market_id: number;
  readonly mark_price: string | null;
  readonly index_price: string | null;
  readonly mid_price: string | null;
  readonly last_trade_price: string | null;
  /** Quote units in `market_stats`; `orderBookDetails` has base units under this name, which are not taken. */
  readonly open_interest: string | null;
  /** Percent per hour, estimate of the next payment. */
  readonly current_funding_rate: string | null;
  readonly daily_base_token_volume: string | null;
  readonly daily_quote_token_volume: string | null;
  readonly daily_price_low: string | null;
  readonly daily_price_high: string | null;
  /** Percent. */
  readonly daily_price_change: string | null;
}

/** One print of `trades` or `liquidation_trades`. */
export interface VenuethreeWireTrade {
  /** Digits: ids may leave the range of a double. */
  readonly trade_id: string;
  /** `trade`, `liquidation`, `deleverage`, `market-settlement`. */
  readonly type: string;
  readonly price: string;
  readonly size: string;
  /** True: the taker bought. */
  readonly is_maker_ask: boolean;
  /** Unix ms. */
  readonly timestamp: number;
}

/** Best price and summed size of a side, out of `orderBookOrders`; null when the side is empty. */
export interface VenuethreeWireBest {
  readonly price: string;
  readonly sizes: readonly string[];
  /** All orders at the price are in the answer. */
  readonly isWhole: boolean;
}

export interface VenuethreeWireTop {
  readonly bid: VenuethreeWireBest | null;
  readonly ask: VenuethreeWireBest | null;
}

/** Frames that are not on the hot path. */
export type VenuethreeSlowFrame =
  /** `marketId` is the channel's. */
  | {
      readonly kind: "trades";
      readonly isSnapshot: boolean;
      readonly marketId: number;
      readonly trades: readonly VenuethreeWireTrade[];
      readonly brokenCount: number;
    }
  | {
      readonly kind: "stats";
      readonly rows: readonly VenuethreeWireStats[];
      /** Unix ms; 0 where the frame has none (2025). */
      readonly tsVenueMs: number;
      readonly brokenCount: number;
    }
  | { readonly kind: "height"; readonly tsVenueMs: number }
  | { readonly kind: "pong" }
  | { readonly kind: "ping" }
  | { readonly kind: "connected" }
  /** `channel` as the venue writes it, with a colon. */
  | { readonly kind: "unsubscribed"; readonly channel: string }
  /** `channel` is what the text names, "" where it names none. */
  | { readonly kind: "error"; readonly code: number; readonly channel: string }
  /** Channels that this room does not read (spot, candles, accounts). */
  | { readonly kind: "ignored"; readonly channel: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "malformed" };
