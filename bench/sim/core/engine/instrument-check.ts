/** What the engine needs of an instrument beyond its type. */
import type { SimInstrument } from "../model/types.js";

/** Throws RangeError, or returns the instrument. */
export function checkInstrument(instrument: SimInstrument): SimInstrument {
  if (instrument.priceDecimals + instrument.qtyDecimals > 12)
    throw new RangeError(`${instrument.symbol}: too many decimals for E12 money`);
  if (instrument.brackets.length === 0) throw new RangeError(`${instrument.symbol}: no margin brackets`);
  return instrument;
}
