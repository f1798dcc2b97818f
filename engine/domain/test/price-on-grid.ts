/** Tests whether price-grid.ts would leave a price unchanged, so that its rounding and the checks can be compared. */
import type { Instrument } from "../instrument.js";
import { floorPrice } from "../price-grid.js";

/** Reports whether this price may be sent as it is. */
export function isPriceOnGrid(instrument: Instrument, priceTicks: number): boolean {
  return priceTicks > 0 && floorPrice(instrument, priceTicks) === priceTicks;
}
