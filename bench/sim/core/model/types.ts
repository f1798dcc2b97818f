/**
 * Plain data of the engine: a protocol-free exchange (books, orders, accounts, truth) that every room of bench/sim
 * dresses in one venue's wire protocol. The engine itself is exchange.ts.
 *
 * Units. Prices are integer ticks of 10^-priceDecimals, quantities integer lots of 10^-qtyDecimals, money is `bigint`
 * in E12 (10^-12 of the quote asset), mark and index prices are safe integers in E8.
 */

export type SimSide = "BUY" | "SELL";
/** BOTH on one-way accounts; LONG or SHORT on hedge-mode accounts. */
export type SimPositionSide = "BOTH" | "LONG" | "SHORT";
/** `POST_ONLY` that would take is refused or expired by policy. `MARKET` orders act as IOC at `priceTicks` or unlimited. */
export type SimTimeInForce = "GTC" | "IOC" | "FOK" | "POST_ONLY";
/** Trigger kinds fire on `triggerTicks`: a stop with the loss, a take-profit with the gain, trailing follows the extreme. */
export type SimTriggerKind = "STOP" | "TAKE_PROFIT" | "TRAILING";
export type SimOrderStatus = "NEW" | "PARTIALLY_FILLED" | "FILLED" | "CANCELED" | "EXPIRED" | "REJECTED";
export type SimMarginMode = "cross" | "isolated";

/** One tier of the maintenance table: applies while the position notional is at most `notionalCap` (quote units). */
export interface SimBracket {
  readonly notionalFloor: number;
  readonly notionalCap: number;
  readonly maxLeverage: number;
  /** Maintenance rate in parts per million of the notional. */
  readonly maintenancePpm: number;
  /** Deduction ("cum") in quote units. */
  readonly cum: number;
}

export interface SimInstrument {
  /** The venue's own name, exact spelling: key of every map. */
  readonly symbol: string;
  /** Base asset in the factor model's terms: `BTC` on every venue moves with the same factor. */
  readonly base: string;
  readonly quote: string;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  /** `step`: multiples of priceStepTicks. `sigfigs5`: at most 5 significant figures, integer prices always allowed. */
  readonly priceRule: "step" | "sigfigs5";
  readonly priceStepTicks: number;
  readonly qtyStepLots: number;
  readonly maxLeverage: number;
  readonly brackets: readonly SimBracket[];
  /** Base units per contract: 1, or 1000 for kPEPE and 1000PEPE. Fair price of the contract = fairPrice(base) × this. */
  readonly contractSize: number;
  readonly fundingIntervalMs: number;
}

/** Units and steps of a market. */
export type SimGrid = Pick<SimInstrument, "priceDecimals" | "qtyDecimals" | "priceStepTicks" | "qtyStepLots">;

/** What differs between venues in the same engine. */
export interface SimPolicies {
  /** Reduce-only larger than the position: `clamp` trades the position at most, `reject` refuses with `REDUCE_ONLY`. */
  readonly reduceOnlyExcess: "clamp" | "reject";
  /** A post-only order that would take: refused with `POST_ONLY`, or accepted and at once EXPIRED. */
  readonly postOnlyCross: "reject" | "expire";
  /** An IOC or MARKET order that matches nothing: refused with `NO_LIQUIDITY`, or accepted and EXPIRED with zero fills. */
  readonly iocNoMatch: "reject" | "expire";
  /** Own resting order met by own taker: `cancelResting` cancels the maker (status CANCELED, reason SELF_TRADE), `allow` trades. */
  readonly selfTrade: "cancelResting" | "allow";
  /** A trigger order whose condition already holds when placed: refused with `WOULD_TRIGGER`, or fires at once. */
  readonly triggerAlreadyMet: "reject" | "fire";
  /** A client id may be used again: `whenClosed` unless an order with it is open, `always` (newest wins on lookup). */
  readonly clientIdReuse: "whenClosed" | "always";
  /** Default rates in thousandths of a basis point (4.5 bps = 4500). */
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
  readonly defaultLeverage: number;
}

/** Why the engine refused. The rooms translate these into the venue's codes and texts. */
export type SimRefusal =
  | "UNKNOWN_ACCOUNT"
  | "UNKNOWN_SYMBOL"
  | "BAD_PRICE" // not positive, or off the grid
  | "BAD_QTY"
  | "REDUCE_ONLY" // nothing to reduce, or would flip (policy reject)
  | "MARGIN"
  | "POST_ONLY"
  | "NO_LIQUIDITY"
  | "FOK"
  | "WOULD_TRIGGER"
  | "DUPLICATE_CLIENT_ID"
  | "POSITION_SIDE"
  | "LEVERAGE"
  | "NOT_FOUND"
  | "NO_CHANGE"
  | "HAS_POSITION"
  | "HAS_ORDERS"
  | "INSUFFICIENT_BALANCE"
  | "HALTED"
  | "TOO_MANY_ORDERS";

export type SimResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: SimRefusal };

/** Returns a refusal without a cause in the market, or null to let the order pass. */
export type SimVeto = (accountId: string, request: SimOrderRequest) => SimRefusal | null;

export interface SimTrigger {
  readonly kind: SimTriggerKind;
  /** Not used by TRAILING, whose `activationTicks` may be null. */
  readonly triggerTicks: number;
  readonly source: "LAST" | "MARK";
  readonly activationTicks: number | null;
  /** TRAILING distance in parts per million. */
  readonly callbackPpm: number;
}

export interface SimOrderRequest {
  readonly symbol: string;
  readonly side: SimSide;
  readonly type: "LIMIT" | "MARKET";
  /** Ignored for MARKET (acts as IOC). */
  readonly timeInForce: SimTimeInForce;
  /** Limit price; for MARKET the worst price it may trade at, or null for no bound. */
  readonly priceTicks: number | null;
  /** 0 only together with `closePosition`. */
  readonly qtyLots: number;
  readonly reduceOnly: boolean;
  readonly positionSide: SimPositionSide;
  readonly clientId: string | null;
  /** The order rests untriggered until this fires. */
  readonly trigger: SimTrigger | null;
  /** With a trigger: at firing, closes whatever position there is on that side. */
  readonly closePosition: boolean;
  /** Opaque to the core, kept with the order for the room's own fields. */
  readonly tag?: unknown;
}

/** Live object: fields change as the order does. Rooms read, never write. */
export interface SimOrder {
  readonly orderId: number;
  readonly accountId: string;
  readonly symbol: string;
  readonly side: SimSide;
  readonly type: "LIMIT" | "MARKET";
  readonly timeInForce: SimTimeInForce;
  readonly priceTicks: number | null;
  /** Quantity asked for. A reduce-only clamp lowers `qtyLots` and does not change this. */
  readonly requestedLots: number;
  readonly qtyLots: number;
  readonly filledLots: number;
  /** Sum of price × quantity of all fills. */
  readonly filledNotionalE12: bigint;
  readonly feeE12: bigint;
  readonly status: SimOrderStatus;
  readonly reduceOnly: boolean;
  readonly closePosition: boolean;
  readonly positionSide: SimPositionSide;
  readonly clientId: string | null;
  readonly trigger: SimTrigger | null;
  /** A trigger order is not in the book until this is true. Always true without a trigger. */
  readonly triggered: boolean;
  /** Why a CANCELED or EXPIRED order ended: `USER`, `SELF_TRADE`, `REDUCE_ONLY`, `IOC`, `FOK`, `POST_ONLY`, `LIQUIDATION`, `MARGIN`, `SCHEDULED`, `REPLACED`, `BAND`; else null. */
  readonly endReason: string | null;
  /** `LIQUIDATION` orders are sent by the engine itself. */
  readonly origin: "USER" | "LIQUIDATION" | "ADL";
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly fills: readonly SimFill[];
  readonly tag: unknown;
}

/** One side of one trade, for an account (the house has no fills). */
export interface SimFill {
  readonly tradeId: number;
  readonly orderId: number;
  readonly accountId: string;
  readonly symbol: string;
  readonly side: SimSide;
  readonly positionSide: SimPositionSide;
  readonly priceTicks: number;
  readonly qtyLots: number;
  readonly maker: boolean;
  /** Positive = paid, negative = rebate. */
  readonly feeE12: bigint;
  readonly realizedE12: bigint;
  /** Signed position before and after this fill. */
  readonly positionBeforeLots: number;
  readonly positionAfterLots: number;
  readonly clientId: string | null;
  readonly liquidation: boolean;
  readonly tsMs: number;
}

/** A print of the public tape. */
export interface SimTrade {
  readonly tradeId: number;
  readonly symbol: string;
  readonly priceTicks: number;
  readonly qtyLots: number;
  /** Side of the taker. */
  readonly takerSide: SimSide;
  readonly buyerAccountId: string | null;
  readonly sellerAccountId: string | null;
  /** Same for all prints of one taking order (aggregated tapes group by it). */
  readonly takerId: number;
  readonly tsMs: number;
}

/** Live object. `qtyLots` is signed; cost is what the open quantity was entered for (signed like qty), exact. */
export interface SimPosition {
  readonly accountId: string;
  readonly symbol: string;
  readonly positionSide: SimPositionSide;
  readonly qtyLots: number;
  readonly costE12: bigint;
  /** Collateral of an isolated position; 0 under cross. */
  readonly isolatedE12: bigint;
  readonly cumFundingE12: bigint;
  /** Profit of all reductions since the account began, fees excluded. */
  readonly cumRealizedE12: bigint;
  readonly updatedMs: number;
}

export interface SimAccount {
  readonly accountId: string;
  readonly hedgeMode: boolean;
  /** Settled cash incl. isolated collateral; unrealized profit excluded. */
  readonly walletE12: bigint;
  /** Cash of the spot wallet (transfers only). */
  readonly spotE12: bigint;
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
  readonly positions: ReadonlyMap<string, SimPosition>;
  readonly tag: unknown;
}

/** Computed figures of an account at the current mark. */
export interface SimMargin {
  readonly walletE12: bigint;
  readonly unrealizedE12: bigint;
  /** Wallet + unrealized over everything. */
  readonly equityE12: bigint;
  readonly crossWalletE12: bigint;
  readonly crossUnrealizedE12: bigint;
  readonly positionInitialE12: bigint;
  readonly orderInitialE12: bigint;
  readonly maintenanceE12: bigint;
  readonly crossMaintenanceE12: bigint;
  /** What new orders may use; never negative. */
  readonly availableE12: bigint;
}

export interface SimPositionFigures {
  readonly notionalE12: bigint;
  readonly unrealizedE12: bigint;
  readonly initialE12: bigint;
  readonly maintenanceE12: bigint;
  /** Entry price as E12 per unit (average, truncated); 0n when flat. */
  readonly entryPriceE12: bigint;
  /** Null when flat or when no positive price liquidates. E12 per unit. */
  readonly liquidationPriceE12: bigint | null;
  readonly leverage: number;
  readonly marginMode: SimMarginMode;
}

export interface SimIncome {
  readonly id: number;
  readonly accountId: string;
  readonly symbol: string | null;
  readonly type: "TRANSFER" | "REALIZED_PNL" | "FUNDING_FEE" | "COMMISSION" | "INSURANCE_CLEAR";
  readonly amountE12: bigint;
  readonly tradeId: number | null;
  /** Funding only: rate in E8 and the signed position it was charged on. */
  readonly fundingRateE8: number | null;
  readonly positionLots: number | null;
  readonly tsMs: number;
}

export interface SimLevel {
  readonly priceTicks: number;
  readonly qtyLots: number;
  readonly orderCount: number;
}

/** One resting order as the book holds it; the object stays the same while the order rests, so it can carry an identity. */
export interface SimResting {
  readonly priceTicks: number;
  readonly lots: number;
  /** Null for the house. */
  readonly owner: SimOrder | null;
}

/** A full or top-N picture of one book. Best first. */
export interface SimBookSnapshot {
  readonly symbol: string;
  readonly seq: number;
  /** Venue time of the last change. */
  readonly tsMs: number;
  readonly bids: readonly SimLevel[];
  readonly asks: readonly SimLevel[];
}

export interface SimTicker {
  readonly symbol: string;
  readonly lastTicks: number;
  readonly lastLots: number;
  readonly openTicks: number;
  readonly highTicks: number;
  readonly lowTicks: number;
  readonly volumeLots: number;
  readonly quoteVolumeE12: bigint;
  readonly firstTradeId: number;
  readonly lastTradeId: number;
  readonly tradeCount: number;
  readonly openMs: number;
  readonly closeMs: number;
}

export interface SimMark {
  readonly symbol: string;
  readonly markE8: number;
  readonly indexE8: number;
  /** Rate of the running interval, E8 per interval (venue-native interval of the instrument). */
  readonly fundingRateE8: number;
  readonly nextFundingMs: number;
  readonly openInterestLots: number;
  readonly tsMs: number;
}

export interface SimCandle {
  readonly openMs: number;
  readonly closeMs: number;
  readonly openTicks: number;
  readonly highTicks: number;
  readonly lowTicks: number;
  readonly closeTicks: number;
  readonly volumeLots: number;
  readonly quoteVolumeE12: bigint;
  readonly takerBuyLots: number;
  readonly takerBuyQuoteE12: bigint;
  readonly tradeCount: number;
  readonly firstTradeId: number;
  readonly lastTradeId: number;
}

export type SimOrderEvent = "NEW" | "TRADE" | "CANCELED" | "EXPIRED" | "TRIGGERED" | "REJECTED" | "AMENDED";
export type SimAccountCause =
  | "ORDER"
  | "FUNDING_FEE"
  | "DEPOSIT"
  | "WITHDRAW"
  | "MARGIN_TRANSFER"
  | "ASSET_TRANSFER"
  | "ADJUSTMENT"
  | "INSURANCE_CLEAR"
  | "MARGIN_TYPE_CHANGE";
export type SimConfigChange =
  | { readonly kind: "leverage"; readonly symbol: string; readonly leverage: number }
  | { readonly kind: "marginMode"; readonly symbol: string; readonly mode: SimMarginMode }
  | { readonly kind: "hedgeMode"; readonly hedgeMode: boolean };

export interface SimAccountOptions {
  readonly accountId: string;
  /** Decimal text in quote units. */
  readonly deposit: string;
  readonly spotDeposit?: string;
  readonly hedgeMode?: boolean;
  readonly takerFeeMilliBps?: number;
  readonly makerFeeMilliBps?: number;
  readonly tag?: unknown;
}
