/**
 * Exact arithmetic on decimal texts, for display and for the order of book levels. The client cannot import the
 * engine's number module, so it has this small one: values are integers scaled by a power of ten in a bigint, and
 * nothing goes through a binary fraction. Grammar: `-?digits[.digits]`; anything else gives null, never a wrong number.
 */

/** Longer texts are refused unread: no price or size is nearly as long, and the work is bounded. */
const MAX_CHARS = 64;
const PLAIN = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/** value = units / 10^places */
export interface Decimal {
  readonly units: bigint;
  readonly places: number;
}

export function parseDecimal(text: unknown): Decimal | null {
  if (typeof text !== "string" || text.length > MAX_CHARS || !PLAIN.test(text)) return null;
  const point = text.indexOf(".");
  if (point < 0) return { units: BigInt(text), places: 0 };
  return { units: BigInt(text.slice(0, point) + text.slice(point + 1)), places: text.length - point - 1 };
}

export function isDecimalText(text: unknown): text is string {
  return typeof text === "string" && text.length <= MAX_CHARS && PLAIN.test(text);
}

/** Reports whether a decimal text has the value 0: `"0"`, `"0.000"`. */
export function isZeroText(text: string): boolean {
  return /^-?0(\.0+)?$/.test(text);
}

/** Plain text without trailing zeros; `-0` is `0`. */
export function printDecimal({ units, places }: Decimal): string {
  const negative = units < 0n;
  const digits = (negative ? -units : units).toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const fraction = places === 0 ? "" : digits.slice(digits.length - places).replace(/0+$/, "");
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

export function addDecimal(a: Decimal, b: Decimal): Decimal {
  const places = Math.max(a.places, b.places);
  return { units: unitsAt(a, places) + unitsAt(b, places), places };
}

export function multiplyDecimal(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, places: a.places + b.places };
}

/** Returns a / b to `places` decimals, nearest, a tie away from zero; null for a zero divisor. */
export function divideDecimal(a: Decimal, b: Decimal, places: number): Decimal | null {
  if (b.units === 0n) return null;
  const numerator = a.units * 10n ** BigInt(places + b.places);
  return { units: divideNearest(numerator, b.units * 10n ** BigInt(a.places)), places };
}

/** Rounds to the nearest at `places` decimals, a tie away from zero. */
export function roundDecimal(value: Decimal, places: number): Decimal {
  if (value.places <= places) return { units: unitsAt(value, places), places };
  return { units: divideNearest(value.units, 10n ** BigInt(value.places - places)), places };
}

/** -1, 0 or 1. */
export function compareDecimal(a: Decimal, b: Decimal): number {
  const places = Math.max(a.places, b.places);
  const difference = unitsAt(a, places) - unitsAt(b, places);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/**
 * Compares two non-negative plain texts without making numbers of them, because a book does this for each level it
 * visits. -1, 0 or 1; `1.0` equals `1`.
 */
export function comparePriceText(a: string, b: string): number {
  if (a === b) return 0;
  const pointA = a.indexOf(".");
  const pointB = b.indexOf(".");
  const wholeA = pointA < 0 ? a.length : pointA;
  const wholeB = pointB < 0 ? b.length : pointB;
  if (wholeA !== wholeB) return wholeA < wholeB ? -1 : 1;
  const length = Math.max(a.length, b.length);
  for (let index = 0; index < length; index++) {
    if (index === wholeA) continue;
    // A digit past the end counts as zero.
    const digitA = index < a.length ? a.charCodeAt(index) : 48;
    const digitB = index < b.length ? b.charCodeAt(index) : 48;
    if (digitA !== digitB) return digitA < digitB ? -1 : 1;
  }
  return 0;
}

function unitsAt(value: Decimal, places: number): bigint {
  return places === value.places ? value.units : value.units * 10n ** BigInt(places - value.places);
}

function divideNearest(numerator: bigint, denominator: bigint): bigint {
  const negative = numerator < 0n !== denominator < 0n;
  const n = numerator < 0n ? -numerator : numerator;
  const d = denominator < 0n ? -denominator : denominator;
  const rounded = (2n * n + d) / (2n * d);
  return negative ? -rounded : rounded;
}
