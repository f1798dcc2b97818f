/**
 * One side of a venue's book as the stream sends it: `[price, size]` texts, best first. Never changed in place: an
 * update makes a new side that shares the untouched levels, so a reader may keep the one it has.
 *
 * Invariant: strictly ordered by price value (bids falling, asks rising), sizes above zero.
 */
import { comparePriceText, isDecimalText, isZeroText } from "../decimal.js";

export type Level = readonly [price: string, size: string];
export type Side = readonly Level[];

/** A longer side is refused as malformed: the largest depth that can be requested is well below. */
export const MAX_SIDE_LEVELS = 5000;

/** Reads a side of a snapshot. Returns null when it is not one (wrong shape, wrong order, a zero size). */
export function sideOf(value: unknown, bids: boolean): Side | null {
  const levels = levelsOf(value);
  if (levels === null) return null;
  for (let index = 0; index < levels.length; index++) {
    const [price, size] = levels[index] as Level;
    if (isZeroText(size)) return null;
    const before = levels[index - 1];
    if (before !== undefined && !isBefore(before[0], price, bids)) return null;
  }
  return levels;
}

/**
 * Applies absolute sizes; `"0"` removes, and removing a missing level does nothing. Returns null when the update is
 * malformed.
 */
export function mergeSide(side: Side, value: unknown, bids: boolean): Side | null {
  const changes = levelsOf(value);
  if (changes === null) return null;
  if (changes.length === 0) return side;
  const merged = side.slice();
  for (const change of changes) {
    const at = indexOf(merged, change[0], bids);
    const held = merged[at];
    const isHeld = held !== undefined && comparePriceText(held[0], change[0]) === 0;
    if (isZeroText(change[1])) {
      if (isHeld) merged.splice(at, 1);
    } else merged.splice(at, isHeld ? 1 : 0, change);
  }
  return merged.length > MAX_SIDE_LEVELS ? null : merged;
}

/** Index of the price, or where it belongs. */
function indexOf(side: Side, price: string, bids: boolean): number {
  let low = 0;
  let high = side.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore((side[middle] as Level)[0], price, bids)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(a: string, b: string, bids: boolean): boolean {
  const order = comparePriceText(a, b);
  return bids ? order > 0 : order < 0;
}

/** An absent side is empty. */
function levelsOf(value: unknown): Level[] | null {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_SIDE_LEVELS) return null;
  const levels: Level[] = [];
  for (const one of value as unknown[]) {
    if (!Array.isArray(one)) return null;
    const [price, size] = one as unknown[];
    if (!isAmount(price) || !isAmount(size)) return null;
    levels.push([price, size]);
  }
  return levels;
}

function isAmount(text: unknown): text is string {
  return isDecimalText(text) && !text.startsWith("-");
}
