/**
 * What happened to positions between two states of one account at one venue. Pure.
 *
 * Invariant: applying the changes to the first state gives the second; a closed position is reported once, as its last
 * state with size 0.
 */
import type { Direction } from "../domain/order.js";
import type { VenuePosition } from "../domain/position.js";

export type PositionEvent = "opened" | "changed" | "closed" | "liquidated";

export interface PositionChange {
  readonly event: PositionEvent;
  /** Its present state; size 0 once it is closed. */
  readonly position: VenuePosition;
  /** False: only the venue's own figures changed (its mark, profit, liquidation price). */
  readonly isHeld: boolean;
}

/** One position per symbol and direction: a hedge-mode account holds both directions at once. */
export function positionKey(symbol: string, direction: Direction): string {
  return `${symbol}|${direction}`;
}

/** `wasLiquidated` reports whether a fill showed that the venue itself reduced this position. */
export function positionChanges(
  before: readonly VenuePosition[],
  after: readonly VenuePosition[],
  wasLiquidated: (position: VenuePosition) => boolean,
): PositionChange[] {
  const known = byKey(before);
  const changes: PositionChange[] = [];
  for (const [key, position] of byKey(after)) {
    const old = known.get(key);
    known.delete(key);
    if (old === undefined) changes.push({ event: "opened", position, isHeld: true });
    else if (differs(old, position)) {
      const event = position.qtyLots < old.qtyLots && wasLiquidated(old) ? "liquidated" : "changed";
      changes.push({ event, position, isHeld: isOtherHolding(old, position) });
    }
  }
  for (const old of known.values()) {
    const event = wasLiquidated(old) ? "liquidated" : "closed";
    changes.push({ event, position: { ...old, qtyLots: 0 }, isHeld: true });
  }
  return changes;
}

function byKey(positions: readonly VenuePosition[]): Map<string, VenuePosition> {
  const found = new Map<string, VenuePosition>();
  for (const position of positions) {
    if (position.qtyLots > 0) found.set(positionKey(position.symbol, position.direction), position);
  }
  return found;
}

/** Reports whether the holding itself differs, not just the venue's figures for it. */
function isOtherHolding(left: VenuePosition, right: VenuePosition): boolean {
  return (
    left.qtyLots !== right.qtyLots ||
    left.entryPrice !== right.entryPrice ||
    left.leverage !== right.leverage ||
    left.marginMode !== right.marginMode ||
    left.positionSide !== right.positionSide ||
    left.nativeSymbol !== right.nativeSymbol
  );
}

function differs(left: VenuePosition, right: VenuePosition): boolean {
  return (
    isOtherHolding(left, right) ||
    left.markPrice !== right.markPrice ||
    left.unrealizedPnl !== right.unrealizedPnl ||
    left.liquidationPrice !== right.liquidationPrice ||
    left.collateral !== right.collateral
  );
}
