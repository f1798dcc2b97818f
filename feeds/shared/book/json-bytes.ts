// hot path
/**
 * Reading JSON text where it lies, in bytes: white space, keys and figures, for the one-pass scanners of rooms.
 * Functions take a position and give the one after, or FAILED where something else is there. Nothing allocates.
 *
 * A figure is kept as digits and decimal places, trailing zeros of the fraction dropped: `"84143.0"` is (84143, 0).
 * Scaling to an instrument happens once the symbol is known, so the order of keys does not matter.
 */

/** Position meaning "not what this scanner reads". */
export const FAILED = -1;
/** Up to 15 digits are exact in a double whatever they are. */
const MAX_DIGITS = 15;

const QUOTE = 0x22;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** JSON white space only. */
export function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** Position of the value after the colon that must be at or after `at`. */
export function afterColon(bytes: Uint8Array, at: number): number {
  const colonAt = skipSpace(bytes, at);
  return bytes[colonAt] === COLON ? skipSpace(bytes, colonAt + 1) : FAILED;
}

/** Nothing but white space from `start`; reads no byte beyond the end, which would slow the loads of skipSpace. */
export function isEnd(bytes: Uint8Array, start: number): boolean {
  return start === bytes.length || skipSpace(bytes, start) === bytes.length;
}

/** Is the quoted string `text` at `at`? */
export function isKey(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  return bytes[at] === QUOTE && matches(bytes, at + 1, text) && bytes[at + 1 + text.length] === QUOTE;
}

export function matches(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text[index]) return false;
  }
  return true;
}

/** Position of the closing quote of a plain ASCII string that opens at `start`; FAILED for escapes and other alphabets. */
export function endOfPlainText(bytes: Uint8Array, start: number): number {
  if (start === FAILED || bytes[start] !== QUOTE) return FAILED;
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte < 0x20 || byte >= 0x7f || byte === BACKSLASH) return FAILED;
  }
  return FAILED;
}

/** Reads figures; the last one read is in its fields, `places` for decimals only. */
export class FigureScanner {
  digits = 0;
  places = 0;

  /** A quoted decimal without sign or exponent. */
  decimal(bytes: Uint8Array, start: number): number {
    if (start === FAILED || bytes[start] !== QUOTE) return FAILED;
    let at = start + 1;
    let digits = 0;
    let digit = (bytes[at] as number) - ZERO;
    while (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      digit = (bytes[++at] as number) - ZERO;
    }
    const integerDigits = at - start - 1;
    if (integerDigits === 0 || integerDigits > MAX_DIGITS) return FAILED;
    let places = 0;
    if (digit === DOT - ZERO) {
      const fractionStart = at + 1;
      let end = fractionStart;
      // Digits up to the last one that is not zero.
      for (digit = (bytes[++at] as number) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[++at] as number) - ZERO) {
        if (digit !== 0) end = at + 1;
      }
      if (at === fractionStart) return FAILED;
      places = end - fractionStart;
      if (integerDigits + places > MAX_DIGITS) return FAILED;
      for (let index = fractionStart; index < end; index++) digits = digits * 10 + ((bytes[index] as number) - ZERO);
    }
    if (digit !== QUOTE - ZERO) return FAILED;
    this.digits = digits;
    this.places = places;
    return at + 1;
  }

  /** A JSON integer ≥ 0. */
  integer(bytes: Uint8Array, start: number): number {
    if (start === FAILED) return FAILED;
    let at = start;
    let digits = 0;
    let byte = bytes[at] as number;
    while (byte >= ZERO && byte <= ZERO + 9) {
      digits = digits * 10 + (byte - ZERO);
      byte = bytes[++at] as number;
    }
    const count = at - start;
    // JSON knows no leading zeros.
    if (count === 0 || count > MAX_DIGITS || (count > 1 && bytes[start] === ZERO)) return FAILED;
    this.digits = digits;
    return at;
  }
}

/** Levels of one side as a frame gave them: figures before they are scaled, ticks and lots after. */
export class ScannedSide {
  count = 0;
  readonly priceDigits: Float64Array;
  readonly pricePlaces: Uint8Array;
  readonly qtyDigits: Float64Array;
  readonly qtyPlaces: Uint8Array;

  constructor(maxLevels: number) {
    this.priceDigits = new Float64Array(maxLevels);
    this.pricePlaces = new Uint8Array(maxLevels);
    this.qtyDigits = new Float64Array(maxLevels);
    this.qtyPlaces = new Uint8Array(maxLevels);
  }
}
