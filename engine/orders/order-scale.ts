/**
 * Orders whose contract their venue lists on another scale by now: what they count means what it meant when they were
 * formed. Pure.
 *
 * Invariants: a size is never rounded up on its way to an order; an order is read on its own scale, of its own contract.
 */
import { canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { OrderAttempt, TradeRun } from "./run.js";

/** Canonical decimals in which everything that the run counts at this venue is whole: the finest of them. */
export function lotDecimals({ attempts, positionsBefore }: TradeRun, venue: RoutableVenue): number {
  let finest = Number.NEGATIVE_INFINITY;
  for (const counted of [...attempts, ...positionsBefore])
    if (counted.venue === venue) finest = Math.max(finest, counted.qtyDecimals);
  return finest;
}

/** Whole lots of another scale, canonical decimals both. */
export function lotsOn(lots: number, from: number, to: number, rounding: "floor" | "ceil" = "floor"): number {
  return to >= from ? lots * 10 ** (to - from) : Math[rounding](lots / 10 ** (from - to));
}

/** The same of a contract as it is listed. */
export function lotsOfContract(lots: number, from: number, instrument: Instrument): number {
  return lotsOn(lots, from, canonicalQtyDecimals(instrument));
}

/** The contract on the scale of the order, for reading it; null: the symbol is another contract by now. */
export function contractOf(
  { multiplierExp10, nativeSymbol, priceDecimals, qtyDecimals }: OrderAttempt,
  listed: Instrument,
): Instrument | null {
  if (listed.nativeSymbol !== nativeSymbol) return null;
  const own = {
    multiplierExp10,
    priceDecimals: priceDecimals - multiplierExp10,
    qtyDecimals: qtyDecimals + multiplierExp10,
  };
  const isSame =
    listed.multiplierExp10 === own.multiplierExp10 &&
    listed.priceDecimals === own.priceDecimals &&
    listed.qtyDecimals === own.qtyDecimals;
  return isSame ? listed : { ...listed, ...own };
}
