/**
 * How venueone writes numbers (sheet section 2.1; gitbook "tick and lot size", read 2026-10): plain decimals, no
 * exponent, no trailing zeros, at most 8 places; a price has at most 5 significant figures and MAX − szDecimals
 * places, an integer price any length. The venue never rounds: it refuses. So each function says which way it
 * rounds, or returns null instead of rounding.
 */
import {
  divideBig,
  formatScaledBig,
  isPlainDecimal,
  parseScaledBig,
  pow10Big,
} from "../../../engine/domain/decimal.js";

/** Decimal places of any number on this wire. */
export const WIRE_DECIMALS = 8;
/** MAX of the price rule: places of a price plus szDecimals. */
export const MAX_PRICE_DECIMALS = { perp: 6, spot: 8 } as const;
const SIGNIFICANT_FIGURES = 5;
/** Scale of intermediate values: every plain decimal text fits it exactly. */
const EXACT_PLACES = 64;

export type MarketKind = keyof typeof MAX_PRICE_DECIMALS;

/** Canonical text of a number with at most 8 places; null if it is finer or no number. `-0` is `0`. */
export function floatToWire(text: string): string | null {
  const scaled = parseScaledBig(text, WIRE_DECIMALS);
  return scaled === null ? null : formatScaledBig(scaled, WIRE_DECIMALS);
}

/** text × 10^power as an exact integer; null where it would have to round. */
export function floatToInt(text: string, power: number): bigint | null {
  return parseScaledBig(text, power);
}

/** Price text cut (toward zero) to what the venue accepts; null if nothing is left or it is no number. */
export function formatPrice(text: string, szDecimals: number, kind: MarketKind): string | null {
  const scaled = parseScaledBig(text, EXACT_PLACES);
  if (scaled === null) return null;
  const places = pricePlaces(scaled, szDecimals, kind);
  return nonZeroText(truncateToPlaces(scaled, places), places);
}

/** Size text cut (toward zero) to szDecimals places; null if nothing is left or it is no number. */
export function formatSize(text: string, szDecimals: number): string | null {
  const scaled = parseScaledBig(text, EXACT_PLACES);
  return scaled === null ? null : nonZeroText(truncateToPlaces(scaled, szDecimals), szDecimals);
}

/** Returns true when the venue takes this price unchanged. */
export function isValidPrice(text: string, szDecimals: number, kind: MarketKind): boolean {
  if (!isPlainDecimal(text)) return false;
  const formatted = formatPrice(text, szDecimals, kind);
  return formatted !== null && parseScaledBig(formatted, EXACT_PLACES) === parseScaledBig(text, EXACT_PLACES);
}

/** Price text rounded to the nearest acceptable price, ties up: for display and references, never for a worst price. */
export function roundPrice(text: string, szDecimals: number, kind: MarketKind): string | null {
  const scaled = parseScaledBig(text, EXACT_PLACES);
  if (scaled === null) return null;
  const places = pricePlaces(scaled, szDecimals, kind);
  return nonZeroText(divideBig(scaled, pow10Big(EXACT_PLACES - places), "halfUp"), places);
}

/** Decimal places that a price of this magnitude may have. */
function pricePlaces(scaled: bigint, szDecimals: number, kind: MarketKind): number {
  const digits = String(scaled < 0n ? -scaled : scaled).length;
  const integerDigits = digits - EXACT_PLACES;
  return Math.min(Math.max(0, MAX_PRICE_DECIMALS[kind] - szDecimals), Math.max(0, SIGNIFICANT_FIGURES - integerDigits));
}

function truncateToPlaces(scaled: bigint, places: number): bigint {
  return scaled / pow10Big(EXACT_PLACES - places);
}

function nonZeroText(value: bigint, places: number): string | null {
  return value === 0n ? null : formatScaledBig(value, places);
}
