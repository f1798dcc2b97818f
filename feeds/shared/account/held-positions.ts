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
  const changes = new Map<string, number>();
  const add = ({ direction, nativeSymbol, qtyLots }: VenuePosition, sign: number): void => {
    const lots = direction === "LONG" ? qtyLots : -qtyLots;
    changes.set(nativeSymbol, (changes.get(nativeSymbol) ?? 0) + sign * lots);
  };
  for (const position of before) add(position, -1);
  for (const position of after) add(position, 1);
  for (const [coin, lots] of changes) if (lots === 0) changes.delete(coin);
  return changes;
}
