/**
 * Exact numbers of the local venues: decimal text to scaled integers and back, money in E12, price grids.
 * Kept apart from the product's number module on purpose: a venue that computed with the code under test
 * would share its mistakes.
 */
import type { SimInstrument } from "./types.js";

export const MONEY_DECIMALS = 12;
/** Fee rates are thousandths of a basis point: 1e-7 each. */
const MILLI_BPS_ONE = 10_000_000n;

const POW10: readonly bigint[] = Array.from({ length: 31 }, (_, exponent) => 10n ** BigInt(exponent));

export function pow10(exponent: number): bigint {
  return POW10[exponent] ?? 10n ** BigInt(exponent);
}

/** price × quantity in E12; exact because priceDecimals + qtyDecimals ≤ 12 is asserted when instruments load. */
export function notionalE12(instrument: SimInstrument, priceTicks: number, qtyLots: number): bigint {
  return (
    BigInt(priceTicks) * BigInt(qtyLots) * pow10(MONEY_DECIMALS - instrument.priceDecimals - instrument.qtyDecimals)
  );
}

/** Quantity valued at an E8 price, truncated toward zero below E12. */
export function valueAtE8(instrument: SimInstrument, priceE8: number, qtyLots: number): bigint {
  const scale = MONEY_DECIMALS - 8 - instrument.qtyDecimals;
  const product = BigInt(priceE8) * BigInt(qtyLots);
  return scale >= 0 ? product * pow10(scale) : product / pow10(-scale);
}

/** Fees round up to the venue's favour, rebates down: nobody gains by splitting an order. */
export function feeE12(notional: bigint, rateMilliBps: number): bigint {
  return ceilDiv(notional * BigInt(rateMilliBps), MILLI_BPS_ONE);
}

export function ceilDiv(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend % divisor !== 0n && dividend > 0n === divisor > 0n ? quotient + 1n : quotient;
}

export function absBig(value: bigint): bigint {
  return value < 0n ? -value : value;
}

export function maxBig(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}

/** Plain decimal text to an integer of 10^-decimals; null when it is not a plain decimal or has finer digits. */
export function parseScaled(text: string, decimals: number): bigint | null {
  const match = /^(-?)(\d{1,30})(?:\.(\d{0,30}))?$/.exec(text) ?? /^(-?)()\.(\d{1,30})$/.exec(text);
  if (match === null) return null;
  const fraction = (match[3] ?? "").replace(/0+$/, "");
  if (fraction.length > decimals) return null;
  const digits = BigInt(`${match[2]}${fraction.padEnd(decimals, "0")}` || "0");
  return match[1] === "-" ? -digits : digits;
}

/** As parseScaled, into a safe integer. */
export function parseSafe(text: string, decimals: number): number | null {
  const value = parseScaled(text, decimals);
  if (value === null || value > BigInt(Number.MAX_SAFE_INTEGER) || value < -BigInt(Number.MAX_SAFE_INTEGER))
    return null;
  return Number(value);
}

/** Integer of 10^-decimals as decimal text with exactly that many decimals. */
export function scaledText(value: bigint | number, decimals: number): string {
  const negative = value < 0;
  const digits = String(negative ? -value : value).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(digits.length - decimals)}`;
  return negative ? `-${text}` : text;
}

export function priceText(instrument: SimInstrument, priceTicks: number): string {
  return scaledText(priceTicks, instrument.priceDecimals);
}

export function qtyText(instrument: SimInstrument, qtyLots: number): string {
  return scaledText(qtyLots, instrument.qtyDecimals);
}

/** Money truncated toward zero to `decimals`. */
export function moneyText(amountE12: bigint, decimals: number): string {
  const scaled =
    decimals >= MONEY_DECIMALS
      ? amountE12 * pow10(decimals - MONEY_DECIMALS)
      : amountE12 / pow10(MONEY_DECIMALS - decimals);
  return scaledText(scaled, decimals);
}

/** Drops trailing zeros of the fraction, and the point when nothing is left. */
export function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Distance between allowed prices around `priceTicks`. */
export function gridStepTicks(instrument: SimInstrument, priceTicks: number): number {
  if (instrument.priceRule === "step") return instrument.priceStepTicks;
  const digits = String(Math.abs(Math.trunc(priceTicks))).length;
  const bySignificance = digits > 5 ? 10 ** (digits - 5) : 1;
  return Math.max(instrument.priceStepTicks, Math.min(bySignificance, 10 ** instrument.priceDecimals));
}

export function isOnGrid(instrument: SimInstrument, priceTicks: number): boolean {
  return priceTicks % gridStepTicks(instrument, priceTicks) === 0;
}

export function floorToGrid(instrument: SimInstrument, priceTicks: number): number {
  const step = gridStepTicks(instrument, priceTicks);
  return Math.floor(priceTicks / step) * step;
}

export function ceilToGrid(instrument: SimInstrument, priceTicks: number): number {
  const step = gridStepTicks(instrument, priceTicks);
  return Math.ceil(priceTicks / step) * step;
}
