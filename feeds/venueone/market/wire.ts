/**
 * The venue's payloads under the venue's own field names. `S` in comments: a decimal string.
 * Times are Unix ms. Old recordings lack newer fields, so most are optional: decoders check what is used.
 */

/** One price level. */
export interface VenueoneWireLevel {
  /** Price, quote per base unit, S. */
  readonly px: string;
  /** Size, base units, S. */
  readonly sz: string;
  /** Number of orders. */
  readonly n: number;
}

export interface VenueoneWireBook {
  readonly coin: string;
  readonly time: number;
  /** Bids descending, asks ascending. */
  readonly levels: readonly [readonly VenueoneWireLevel[], readonly VenueoneWireLevel[]];
}

export interface VenueoneWireBbo {
  readonly coin: string;
  readonly time: number;
  readonly bbo: readonly [VenueoneWireLevel | null, VenueoneWireLevel | null];
}

export interface VenueoneWireTrade {
  readonly coin: string;
  /** Aggressor: B buys, A sells. */
  readonly side: "A" | "B";
  readonly px: string;
  readonly sz: string;
  readonly time: number;
  /** Unique with (time, coin). */
  readonly tid: number;
}

export interface VenueoneWireContext {
  /** Running estimate for the coming hour, fraction per hour, S. */
  readonly funding: string;
  /** Base units, S. */
  readonly openInterest: string;
  readonly prevDayPx: string;
  /** Quote units over 24 h, S. */
  readonly dayNtlVlm: string;
  readonly oraclePx: string;
  readonly markPx: string;
  /** Null on delisted assets and empty books. */
  readonly midPx: string | null;
  /** Base units over 24 h, S; absent before 2025. */
  readonly dayBaseVlm: string | null;
}

export interface VenueoneWireAsset {
  readonly name: string;
  readonly szDecimals: number;
  readonly maxLeverage: number;
  readonly isDelisted: boolean;
}

export interface VenueoneWireMeta {
  /** Position in this list is the asset number; delisted assets keep theirs. */
  readonly universe: readonly VenueoneWireAsset[];
  /** Spot token index of the collateral; 0 is USDC. */
  readonly collateralToken: number;
}

export interface VenueoneWirePosition {
  readonly coin: string;
  /** Signed size, S. */
  readonly szi: string;
  readonly entryPx: string | null;
  readonly positionValue: string;
  readonly unrealizedPnl: string;
  readonly liquidationPx: string | null;
  readonly marginUsed: string;
  readonly leverageType: "cross" | "isolated";
  readonly leverage: number;
}

/** Row of `frontendOpenOrders`, of the `openOrders` stream and (with fewer fields) of `orderUpdates`. */
export interface VenueoneWireOrder {
  readonly coin: string;
  readonly side: "A" | "B";
  readonly limitPx: string;
  /** What remains; clamped for reduce-only orders without a fill. */
  readonly sz: string;
  readonly origSz: string;
  readonly oid: number;
  readonly timestamp: number;
  readonly cloid: string | null;
  readonly reduceOnly: boolean;
  readonly isTrigger: boolean;
  readonly triggerPx: string | null;
  /** "Limit", "Stop Market", …; null where the row has none. */
  readonly orderType: string | null;
  /** "Gtc", "Ioc", "Alo", "FrontendMarket", "LiquidationMarket"; null where the row has none. */
  readonly tif: string | null;
}

export interface VenueoneWireOrderUpdate {
  readonly order: VenueoneWireOrder;
  readonly status: string;
  readonly statusTimestamp: number;
}

export interface VenueoneWireFill {
  readonly coin: string;
  readonly px: string;
  readonly sz: string;
  readonly side: "A" | "B";
  readonly time: number;
  /** Signed position before the fill, S. */
  readonly startPosition: string;
  readonly oid: number;
  readonly tid: number;
  /** Negative is a rebate, S. */
  readonly fee: string;
  readonly feeToken: string;
  /** True: the order took liquidity. */
  readonly crossed: boolean;
  readonly cloid: string | null;
  /** Before fees, USDC. */
  readonly closedPnl: string | null;
  /** Whose liquidation it was part of, in lower case; absent on plain fills. The other side's row names the same user. */
  readonly liquidatedUser?: string;
}
