/** What price-grid.ts rounds to, as a question: tests hold its answers and those of the checks against each other. */
import type { Instrument } from "../instrument.js";
import { floorPrice } from "../price-grid.js";

/** May this price be sent as it is? */
export function isPriceOnGrid(instrument: Instrument, priceTicks: number): boolean {
  return priceTicks > 0 && floorPrice(instrument, priceTicks) === priceTicks;
}
