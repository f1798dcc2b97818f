/** Decimal texts of account answers in the core's units. Exact unless a name says how it rounds. */
import {
  decimalPlaces,
  divideBig,
  formatScaledBig,
  MAX_DECIMAL_CHARS,
  parseScaled,
  parseScaledBig,
  parseScaledRounded,
  pow10Big,
} from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { WireFault } from "./wire-fields.js";

/** Size text → lots, sign kept. A size finer than the instrument's lot is a fault: it must not be cut silently. */
export function lotsOf(instrument: Instrument, text: string, field: string): number {
  const lots = parseScaled(text, instrument.qtyDecimals);
  if (Number.isNaN(lots)) throw new WireFault(field, "is not a whole number of lots");
  return lots;
}

/** Price text → ticks; a price finer than the instrument's tick is a fault. */
export function ticksOf(instrument: Instrument, text: string, field: string): number {
  const ticks = parseScaled(text, instrument.priceDecimals);
  if (Number.isNaN(ticks)) throw new WireFault(field, "is not a whole number of ticks");
  return ticks;
}

/** A native price as canonical text: a contract of 1000 units costs 1000 times as much as one unit. */
export function canonicalPrice(instrument: Instrument, nativeText: string, field: string): string {
  const places = decimalPlaces(nativeText);
  const scaled = parseScaledBig(nativeText, places);
  if (scaled === null) throw new WireFault(field, "is not a decimal");
  return formatScaledBig(scaled, places + instrument.multiplierExp10);
}

/** Fee rate as a fraction of notional → thousandths of a basis point, up: a fee is never taken for lower than it is. */
export function milliBpsOf(rate: string, field: string): number {
  const milliBps = parseScaledRounded(rate, 7, "ceil");
  if (Number.isNaN(milliBps)) throw new WireFault(field, "is not a rate");
  return milliBps;
}

/**
 * An amount in a token's smallest unit → decimal text in token units. Null for one that is not positive, finer than
 * `placesMax`, or longer than any venue's text: it must be refused, not rounded.
 */
export function tokenText(amount: bigint, decimals: number, placesMax: number): string | null {
  if (amount <= 0n) return null;
  const text = formatScaledBig(amount, decimals);
  return text.length > MAX_DECIMAL_CHARS || decimalPlaces(text) > placesMax ? null : text;
}

/** Decimal text in token units → the token's smallest unit, rounded down: a venue may print more places than the token has. */
export function tokenUnits(text: string, decimals: number, field: string): bigint {
  const places = decimalPlaces(text);
  const scaled = parseScaledBig(text, places);
  if (scaled === null) throw new WireFault(field, "is not a decimal");
  return divideBig(scaled * pow10Big(decimals), pow10Big(places), "floor");
}
