/**
 * Decimal texts of the venue. Inside the protocol layer every price, size and USD amount is a bigint of 1e-8 units
 * (the venue's own wire precision), so that nothing here can round by accident.
 */

/** Largest integer part the wire takes; beyond it the venue's 64-bit fixed point would overflow. */
const INTEGER_DIGITS_MAX = 11;

/**
 * A wire decimal: unsigned, no exponent, at most 8 decimals once trailing zeros are gone. Null for anything else.
 * Leading and trailing zeros are accepted here and vanish on re-serialization.
 */
export function parseWireDecimalE8(text: string): bigint | null {
  const match = /^(\d*)(?:\.(\d*))?$/.exec(text);
  if (match === null) return null;
  const integer = (match[1] ?? "").replace(/^0+/, "");
  const fraction = (match[2] ?? "").replace(/0+$/, "");
  if ((match[1] ?? "") === "" && (match[2] ?? "") === "") return null;
  if (integer.length > INTEGER_DIGITS_MAX || fraction.length > 8) return null;
  return BigInt(integer + fraction.padEnd(8, "0"));
}

/** Canonical wire text: no trailing zeros, no trailing dot. This is what gets hashed. */
export function wireText(valueE8: bigint): string {
  const negative = valueE8 < 0n;
  const digits = (negative ? -valueE8 : valueE8).toString().padStart(9, "0");
  const fraction = digits.slice(-8).replace(/0+$/, "");
  const integer = digits.slice(0, -8);
  return `${negative ? "-" : ""}${integer}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Text as replies print it, of a value of any scale: a whole number carries `.0`. */
export function replyTextScaled(value: bigint, scale: number): string {
  const negative = value < 0n;
  const digits = (negative ? -value : value).toString().padStart(scale + 1, "0");
  const fraction = scale === 0 ? "" : digits.slice(-scale).replace(/0+$/, "");
  const integer = scale === 0 ? digits : digits.slice(0, -scale);
  return `${negative ? "-" : ""}${integer}.${fraction === "" ? "0" : fraction}`;
}

/** Decimals in use, 0 to 8. */
export function decimalCount(valueE8: bigint): number {
  const text = wireText(valueE8);
  const dot = text.indexOf(".");
  return dot < 0 ? 0 : text.length - dot - 1;
}

/** Sizes carry at most `szDecimals` decimals. */
export function isSizeAligned(sizeE8: bigint, szDecimals: number): boolean {
  return sizeE8 % 10n ** BigInt(8 - szDecimals) === 0n;
}

/** Prices: at most 5 significant figures and 6 - szDecimals decimals (8 - szDecimals on spot); integers always pass. */
export function isPriceAligned(priceE8: bigint, szDecimals: number, isSpot = false): boolean {
  const decimals = decimalCount(priceE8);
  if (decimals === 0) return true;
  if (decimals > (isSpot ? 8 : 6) - szDecimals) return false;
  return wireText(priceE8).replace(".", "").replace(/^0+/, "").length <= 5;
}
