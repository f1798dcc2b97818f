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
  /** Absolute size. */
  readonly qtyLots: number;
  readonly entryPrice: string;
  readonly markPrice: string | null;
  readonly liquidationPrice: string | null;
  readonly unrealizedPnl: string | null;
  readonly leverage: number | null;
  readonly marginMode: "cross" | "isolated" | null;
  readonly collateral: string | null;
  readonly tsVenueMs: number;
}

export interface VenueBalance {
  readonly asset: string;
  readonly total: string;
  readonly available: string;
}

/** Account rates in thousandths of a basis point; maker may be negative (rebate). */
export interface FeeRates {
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
}
