/** Decimal texts of account answers in the core's units. Exact unless a name says how it rounds. */
import {
  decimalPlaces,
  formatScaledBig,
  parseScaled,
  parseScaledBig,
  parseScaledRounded,
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
