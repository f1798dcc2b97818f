/** A position as one venue reports it. Decimal strings are in canonical quoting (multiplier applied). */
import type { Direction, PositionSide } from "./order.js";
import type { RoutableVenue } from "./venue.js";

export interface VenuePosition {
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly nativeSymbol: string;
  readonly direction: Direction;
  /** BOTH on one-way accounts. */
  readonly positionSide: PositionSide;
  /** Absolute size; 0 where it cannot be counted in lots. */
  readonly qtyLots: number;
  /**
   * Absolute size as the venue prints it, for a holding in a contract that is not listed, which has no lot to count in.
   * Present on such holdings alone. They are neither routed nor closed, and never treated as flat.
   */
  readonly uncounted?: string;
  readonly entryPrice: string;
  readonly markPrice: string | null;
  readonly liquidationPrice: string | null;
  readonly unrealizedPnl: string | null;
  readonly leverage: number | null;
  readonly marginMode: "cross" | "isolated" | null;
  readonly collateral: string | null;
  readonly tsVenueMs: number;
  /** Texts of the venue's own row under its own names, where the interface shows that row (spec 2.5). */
  readonly native?: Readonly<Record<string, string>>;
}

export interface VenueBalance {
  readonly asset: string;
  readonly total: string;
  readonly available: string;
}

/** Totals of one account at one venue. Decimal strings in `quoteAsset`; null where the venue does not report them. */
export interface AccountSummary {
  readonly venue: RoutableVenue;
  readonly quoteAsset: string;
  /** Account value including unrealized profit and loss. */
  readonly equity: string;
  readonly marginUsed: string | null;
  /** What new positions may use as margin. */
  readonly free: string | null;
  /** Below this equity the venue liquidates. */
  readonly maintenanceMargin: string | null;
  readonly tsVenueMs: number;
}

/** A positive amount was received. */
export interface FundingPayment {
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly nativeSymbol: string;
  readonly amount: string;
  readonly asset: string;
  /** Rate of the interval as a fraction; null where the venue does not report it. */
  readonly rate: string | null;
  readonly tsVenueMs: number;
}

/** The account's rates in thousandths of a basis point; maker may be negative (rebate). */
export interface FeeRates {
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
}
