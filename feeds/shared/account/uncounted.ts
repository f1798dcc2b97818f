/** A holding in a contract that no listed instrument describes: there is no lot to count it in, and it is not flat. */
import type { Direction, PositionSide } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";

interface UncountedRow {
  readonly venue: RoutableVenue;
  readonly nativeSymbol: string;
  /** As the venue prints it, with a sign or without. */
  readonly size: string;
  /** Absent: the sign of the size says it. */
  readonly direction?: Direction;
  readonly positionSide?: PositionSide;
  readonly entryPrice: string | null;
  readonly tsVenueMs: number;
}

/** Names in logs and replies. */
const MAX_NAME_CHARS = 32;

/** Null for a flat row. All figures are the venue's own: no multiplier is known. */
export function uncountedPosition(row: UncountedRow): VenuePosition | null {
  if (!/[1-9]/.test(row.size)) return null;
  const name = row.nativeSymbol.slice(0, MAX_NAME_CHARS);
  return {
    venue: row.venue,
    symbol: name,
    nativeSymbol: name,
    direction: row.direction ?? (row.size.startsWith("-") ? "SHORT" : "LONG"),
    positionSide: row.positionSide ?? "BOTH",
    qtyLots: 0,
    uncounted: row.size.replace(/^-/, ""),
    entryPrice: row.entryPrice ?? "0",
    markPrice: null,
    liquidationPrice: null,
    unrealizedPnl: null,
    leverage: null,
    marginMode: null,
    collateral: null,
    tsVenueMs: row.tsVenueMs,
  };
}
