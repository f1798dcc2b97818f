/**
 * Sizes to offer for a symbol: what some thousand, ten thousand … of the quote asset buy, as a person would write it.
 */
import { compareDecimal, divideDecimal, parseDecimal, printDecimal, type Decimal } from "../decimal.js";

const VALUES = [1_000, 10_000, 100_000, 1_000_000];
const PLACES = 18;

/**
 * As many as the page has places for; empty while the price is unknown. `minSize` is the smallest that any venue
 * accepts.
 */
export function offeredSizes(price: string | null, minSize: string | null): string[] {
  const per = parseDecimal(price);
  if (per === null || per.units <= 0n) return [];
  const least = parseDecimal(minSize) ?? { units: 0n, places: 0 };
  return VALUES.map((value) => {
    const exact = divideDecimal({ units: BigInt(value), places: 0 }, per, PLACES);
    const round = exact === null ? null : roundSize(exact);
    return round === null || compareDecimal(round, least) < 0 ? "" : printDecimal(round);
  });
}

/** Rounds down to 1, 2 or 5 times a power of ten; returns null for nothing. */
function roundSize({ units, places }: Decimal): Decimal | null {
  if (units <= 0n) return null;
  const digits = units.toString();
  const power = digits.length - 1;
  const first = Number(digits[0]);
  const step = first >= 5 ? 5n : first >= 2 ? 2n : 1n;
  return { units: step * 10n ** BigInt(power), places };
}
