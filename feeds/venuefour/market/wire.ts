/**
 * The venue's market payloads under the venue's own field names. `S` in comments: a decimal string.
 * Times are Unix ms. Socket frames use letters, REST answers words, for the same things.
 */

/** One price level. */
export interface VenuefourWireLevel {
  /** Price, USDC per unit, S. */
  readonly p: string;
  /** Amount, base units of the contract, S. */
  readonly a: string;
}

/** `book` frame and REST `/book`: a whole book of up to 10 + 10 levels. */
export interface VenuefourWireBook {
  readonly s: string;
  /** Of the last change, not of the sending: an unchanged book is resent with the same. */
  readonly t: number;
  /** Bids falling, asks rising. */
  readonly l: readonly [readonly VenuefourWireLevel[], readonly VenuefourWireLevel[]];
}

/** `bbo` frame. A side without quotes has neither price nor amount. */
export interface VenuefourWireBbo {
  readonly s: string;
  readonly t: number;
  /** Venue sequence; repeats, but never fell within a symbol of this channel. 0 where absent. */
  readonly li: number;
  readonly bid: VenuefourWireLevel | null;
  readonly ask: VenuefourWireLevel | null;
}

export type VenuefourTradeSide = "open_long" | "open_short" | "close_long" | "close_short";

/** Row of a `trades` frame: the taker's side of one match. */
export interface VenuefourWireTrade {
  readonly s: string;
  readonly p: string;
  readonly a: string;
  readonly d: VenuefourTradeSide;
  /** History id, once per trade. */
  readonly h: number;
  readonly t: number;
}

/** Row of REST `/trades`; it carries no id. */
export interface VenuefourWireRestTrade {
  readonly price: string;
  readonly created_at: number;
}

/** Row of a `prices` frame and of REST `/info/prices`. Null when the row left it out. */
export interface VenuefourWirePrice {
  readonly symbol: string;
  readonly mark: string | null;
  readonly mid: string | null;
  readonly oracle: string | null;
  /** Paid in the past hour, fraction of notional, S. */
  readonly funding: string | null;
  /** Running estimate of what the coming hour pays, S. */
  readonly next_funding: string | null;
  /** Base units or USD: the documents contradict each other. */
  readonly open_interest: string | null;
  /** USD, S. */
  readonly volume_24h: string | null;
  /** Oracle price 24 h ago, S. */
  readonly yesterday_price: string | null;
  readonly timestamp: number;
}

/** Row of REST `/info`. */
export interface VenuefourWireMarket {
  readonly symbol: string;
  /** "perpetual" or "spot"; null in old answers, when all were perpetual. */
  readonly instrument_type: string | null;
  readonly tick_size: string;
  readonly lot_size: string;
  readonly max_leverage: number;
  /** USD of notional, S. */
  readonly min_order_size: string;
}
