/**
 * The venue's payloads under the venue's own field names, as far as this room reads them. Times are
 * Unix ms numbers, prices and sizes decimal text, unless a field says otherwise. Source: the venue's
 * futures API pages (README.md) and the recorded frames in fixtures/.
 */

export type VenuetwoWireSide = "BUY" | "SELL";
export type VenuetwoWirePositionSide = "BOTH" | "LONG" | "SHORT";

/** GET exchangeInfo, one symbol. `pricePrecision` and `quantityPrecision` bound the printed decimals; they are not tick and step. */
export interface VenuetwoWireSymbol {
  readonly symbol: string;
  /** `PERPETUAL`; empty while a listing is pending. */
  readonly contractType: string;
  /** PENDING_TRADING, TRADING, PRE_SETTLE, SETTLING, CLOSE. */
  readonly status: string;
  readonly baseAsset: string;
  readonly quoteAsset: string;
  readonly pricePrecision: number;
  readonly quantityPrecision: number;
  readonly filters: readonly Readonly<Record<string, unknown>>[];
}

/** GET fundingInfo, one row. */
export interface VenuetwoWireFundingInfo {
  readonly symbol: string;
  readonly fundingIntervalHours: number;
}

/** `<s>@markPrice@1s`. */
export interface VenuetwoWireMarkPrice {
  readonly e: "markPriceUpdate";
  readonly E: number;
  readonly s: string;
  /** Mark price. */
  readonly p: string;
  /** Index price. */
  readonly i: string;
  /** Funding rate of the running interval, fraction; "" before the first. */
  readonly r: string;
  /** Next funding. */
  readonly T: number;
}

/** `<s>@ticker`: rolling 24 h. */
export interface VenuetwoWireTicker {
  readonly e: "24hrTicker";
  readonly E: number;
  readonly s: string;
  /** Price change, absolute and percent. */
  readonly p: string;
  readonly P: string;
  /** Last, open, high, low. */
  readonly c: string;
  readonly o: string;
  readonly h: string;
  readonly l: string;
  /** Volume in base units (contracts) and in quote. */
  readonly v: string;
  readonly q: string;
}

/** GET ticker/24hr, one row: the same facts under long names. */
export interface VenuetwoWireTicker24h {
  readonly symbol: string;
  readonly priceChange: string;
  readonly priceChangePercent: string;
  readonly lastPrice: string;
  readonly openPrice: string;
  readonly highPrice: string;
  readonly lowPrice: string;
  readonly volume: string;
  readonly quoteVolume: string;
  readonly closeTime: number;
}

/** GET premiumIndex, one row. */
export interface VenuetwoWirePremiumIndex {
  readonly symbol: string;
  readonly markPrice: string;
  readonly indexPrice: string;
  readonly lastFundingRate: string;
  readonly nextFundingTime: number;
  readonly time: number;
}

/** `ORDER_TRADE_UPDATE.o`, user stream. */
export interface VenuetwoWireOrderUpdate {
  /** Symbol, client order id, side, type, time in force. */
  readonly s: string;
  readonly c: string;
  readonly S: VenuetwoWireSide;
  readonly o: string;
  readonly f: string;
  /** Original quantity, price, average price, stop price; the latter two are null where they say nothing. */
  readonly q: string;
  readonly p: string;
  readonly ap: string | null;
  readonly sp: string | null;
  /** Execution type: NEW, CANCELED, CALCULATED, EXPIRED, TRADE; order status. */
  readonly x: string;
  readonly X: string;
  /** Order id, exact digits. */
  readonly i: string;
  /** Last filled quantity, cumulative filled quantity, last filled price. */
  readonly l: string;
  readonly z: string;
  readonly L: string;
  /** Fee asset and amount of this fill; absent or null without one. */
  readonly N: string | null;
  readonly n: string | null;
  /** Trade time, trade id (0 without a trade; exact digits). */
  readonly T: number;
  readonly t: string;
  /** Reduce only. */
  readonly R: boolean;
  /** Original type: keeps the conditional type after the trigger. */
  readonly ot: string;
  readonly ps: VenuetwoWirePositionSide;
}

/** `ACCOUNT_UPDATE.a.P[]`: one position row, absolute. */
export interface VenuetwoWirePositionUpdate {
  readonly s: string;
  /** Signed amount: negative is short. */
  readonly pa: string;
  readonly ep: string;
  readonly up: string;
  /** `cross` or `isolated`. */
  readonly mt: string;
  /** Isolated wallet. */
  readonly iw: string;
  readonly ps: VenuetwoWirePositionSide;
}

/** User stream events, told apart by `e`. */
export type VenuetwoWireUserEvent =
  | {
      readonly kind: "order";
      readonly tsEventMs: number;
      readonly tsTransactionMs: number;
      readonly order: VenuetwoWireOrderUpdate;
    }
  | {
      readonly kind: "account";
      readonly tsEventMs: number;
      readonly tsTransactionMs: number;
      readonly reason: string;
      readonly positions: readonly VenuetwoWirePositionUpdate[];
    }
  | { readonly kind: "leverage"; readonly tsEventMs: number; readonly symbol: string; readonly leverage: number }
  /** Something about the account changed that only REST tells exactly (position mode, margin mode, liquidation risk). */
  | { readonly kind: "config"; readonly tsEventMs: number }
  | { readonly kind: "expired"; readonly tsEventMs: number }
  /** Known, of no consequence here (MARGIN_CALL, TRADE_LITE, announcements …). */
  | { readonly kind: "ignored"; readonly event: string }
  | { readonly kind: "unknown"; readonly event: string }
  | { readonly kind: "malformed" };
