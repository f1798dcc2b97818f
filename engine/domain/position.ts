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
  /** Absolute size; 0 where it cannot be counted. */
  readonly qtyLots: number;
  /**
   * Absolute size as the venue prints it, of a holding in a contract that is not listed: there is no lot to count it in.
   * Present on such holdings alone. They are neither routed nor closed, and never taken for flat.
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

/** One account at one venue as a whole. Decimal strings in `quoteAsset`; null where the venue does not say. */
export interface AccountSummary {
  readonly venue: RoutableVenue;
  readonly quoteAsset: string;
  /** Value with open profit and loss. */
  readonly equity: string;
  readonly marginUsed: string | null;
  /** What new positions may use. */
  readonly free: string | null;
  /** Below this equity the venue liquidates. */
  readonly maintenanceMargin: string | null;
  readonly tsVenueMs: number;
}

/** Positive amount: received. */
export interface FundingPayment {
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly nativeSymbol: string;
  readonly amount: string;
  readonly asset: string;
  /** Rate of the interval as a fraction; null where the venue does not say. */
  readonly rate: string | null;
  readonly tsVenueMs: number;
}

/** Account rates in thousandths of a basis point; maker may be negative (rebate). */
export interface FeeRates {
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
}
