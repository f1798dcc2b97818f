// hot path
/** Decimal text in bytes → scaled integer, exact or refused: the careful half of the digit scanner. */

/** Not a plain decimal number. */
export const SCAN_MALFORMED = -1;
/** A plain decimal that `decimals` places or 2^53 cannot hold. */
export const SCAN_DRIFT = -2;

const ZERO = 0x30;
const NINE = 0x39;
const DOT = 0x2e;

/**
 * Scales the unsigned decimal in `bytes[start, end)` by 10^decimals. At least one digit before the
 * point, and at least one after it if there is one. Zeros beyond the last place are dropped, any
 * other digit there is SCAN_DRIFT: an order book is never rounded.
 */
export function scanDecimal(bytes: Uint8Array, start: number, end: number, decimals: number): number {
  let at = start;
  let value = 0;
  let byte = at < end ? (bytes[at] as number) : 0;
  while (byte >= ZERO && byte <= NINE) {
    value = value * 10 + (byte - ZERO);
    at++;
    byte = at < end ? (bytes[at] as number) : 0;
  }
  if (at === start) return SCAN_MALFORMED;
  let placesLeft = decimals;
  let hasLostDigit = false;
  if (byte === DOT) {
    at++;
    const fractionStart = at;
    byte = at < end ? (bytes[at] as number) : 0;
    while (byte >= ZERO && byte <= NINE) {
      if (placesLeft > 0) {
        value = value * 10 + (byte - ZERO);
        placesLeft--;
      } else if (byte !== ZERO) {
        hasLostDigit = true;
      }
      at++;
      byte = at < end ? (bytes[at] as number) : 0;
    }
    if (at === fractionStart) return SCAN_MALFORMED;
  }
  if (at !== end) return SCAN_MALFORMED;
  if (hasLostDigit) return SCAN_DRIFT;
  for (; placesLeft > 0; placesLeft--) value *= 10;
  return value <= Number.MAX_SAFE_INTEGER ? value : SCAN_DRIFT;
}
