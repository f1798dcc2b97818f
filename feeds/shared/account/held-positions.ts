/** Pictures of an account's positions, compared. Pure. */
import type { VenuePosition } from "../../../engine/domain/position.js";

/** Do these pictures hold the same sizes? */
export function sameSizes(left: readonly VenuePosition[], right: readonly VenuePosition[]): boolean {
  const sizes = (positions: readonly VenuePosition[]): string =>
    positions
      .filter(({ qtyLots, uncounted }) => qtyLots > 0 || uncounted !== undefined)
      .map(({ direction, nativeSymbol, qtyLots, uncounted }) => `${nativeSymbol} ${direction} ${uncounted ?? qtyLots}`)
      .sort()
      .join();
  return sizes(left) === sizes(right);
}

/** By `nativeSymbol`, how far the signed size moved from one picture to the next; a contract that did not move is left out. */
export function signedChanges(
  before: readonly VenuePosition[],
  after: readonly VenuePosition[],
): ReadonlyMap<string, number> {
  return changesBy(before, after, ({ nativeSymbol }) => nativeSymbol);
}

/** The same of each direction by itself, by `<nativeSymbol> <direction>`: both sides of a hedge may move by as much. */
export function sideChanges(
  before: readonly VenuePosition[],
  after: readonly VenuePosition[],
): ReadonlyMap<string, number> {
  return changesBy(before, after, ({ direction, nativeSymbol }) => `${nativeSymbol} ${direction}`);
}

function changesBy(
  before: readonly VenuePosition[],
  after: readonly VenuePosition[],
  keyOf: (position: VenuePosition) => string,
): ReadonlyMap<string, number> {
  const changes = new Map<string, number>();
  const add = (position: VenuePosition, sign: number): void => {
    const { direction, qtyLots } = position;
    const lots = direction === "LONG" ? qtyLots : -qtyLots;
    changes.set(keyOf(position), (changes.get(keyOf(position)) ?? 0) + sign * lots);
  };
  for (const position of before) add(position, -1);
  for (const position of after) add(position, 1);
  for (const [key, lots] of changes) if (lots === 0) changes.delete(key);
  return changes;
}
