// hot path
/**
 * Rounds prices and sizes to a venue's grid, in integer arithmetic. Rounding is always toward the caller's protection:
 * a sell price up, a buy price down, a size down.
 *
 * `step`: a multiple of priceStepTicks. `sigfigs5`: also at most 5 significant figures, except that a price without
 * decimals may have any length. Both rules come down to "a multiple of a power of ten or of the step"; a sigfigs5
 * venue's step must be a power of ten in ticks.
 */
import { BAD_NUMBER, pow10 } from "./decimal.js";
import type { Instrument } from "./instrument.js";
import type { Side } from "./order.js";

const SIGNIFICANT_FIGURES = 5;

/** Returns the grid's step in ticks at this price. */
export function priceStepAt(instrument: Instrument, priceTicks: number): number {
  const step = instrument.priceStepTicks;
  if (instrument.priceRule === "step") return step;
  let significanceStep = 1;
  // A price of n digits may keep 5; whole prices are exempt, so the step never exceeds one unit.
  const unit = instrument.priceDecimals > 0 ? pow10(instrument.priceDecimals) : 1;
  let aboveFigures = pow10(SIGNIFICANT_FIGURES);
  while (aboveFigures <= priceTicks && significanceStep < unit) {
    significanceStep *= 10;
    aboveFigures *= 10;
  }
  return significanceStep > step ? significanceStep : step;
}

/** Returns the highest grid price ≤ priceTicks; 0 when there is none above zero. */
export function floorPrice(instrument: Instrument, priceTicks: number): number {
  if (!(priceTicks > 0)) return 0;
  return priceTicks - (priceTicks % priceStepAt(instrument, priceTicks));
}

/** Returns the lowest grid price ≥ priceTicks; BAD_NUMBER beyond the safe range. */
export function ceilPrice(instrument: Instrument, priceTicks: number): number {
  const step = priceStepAt(instrument, priceTicks);
  if (!(priceTicks > 0)) return step;
  const remainder = priceTicks % step;
  // Rounding up may add a digit (99999.6 → 100000). The result is then a power of ten, which is on every coarser step
  // too.
  const rounded = remainder === 0 ? priceTicks : priceTicks - remainder + step;
  return rounded <= Number.MAX_SAFE_INTEGER ? rounded : BAD_NUMBER;
}

/** Rounds toward the side that protects the caller: SELL up, BUY down (0 if nothing is left). */
export function protectPrice(instrument: Instrument, side: Side, priceTicks: number): number {
  return side === "SELL" ? ceilPrice(instrument, priceTicks) : floorPrice(instrument, priceTicks);
}

/** Returns the price that protects more. */
export function tighterPrice(side: Side, left: number, right: number): number {
  return side === "SELL" ? Math.max(left, right) : Math.min(left, right);
}

/** Rounds a size down to the venue's step. */
export function floorQty(instrument: Instrument, qtyLots: number): number {
  return qtyLots > 0 ? qtyLots - (qtyLots % instrument.qtyStepLots) : 0;
}
