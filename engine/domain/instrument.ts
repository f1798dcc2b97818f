/**
 * A perpetual contract as one venue lists it, with everything needed to use integers inside.
 *
 * Units: a **tick** is one unit of the last decimal place the venue may print in a price
 * (10^-priceDecimals in the venue's own quoting), a **lot** the same for sizes. The venue's own
 * increments are whole numbers of them (`priceStepTicks`, `qtyStepLots`), so a wire price becomes an
 * integer by shifting its digits, never by dividing.
 *
 * Contracts with a multiplier (kPEPE, 1000PEPE) are the base asset PEPE: `multiplierExp10` = 3 means
 * one contract is 1000 units, so the same integer reads with three more price decimals and three
 * fewer size decimals on our side (`canonicalPriceDecimals`, `canonicalQtyDecimals`; the latter may
 * be negative). Ticks and lots themselves never change.
 */
import type { RoutableVenue } from "./venue.js";

export interface Instrument {
  readonly venue: RoutableVenue;
  /** Canonical symbol: upper-case base asset (`BTC`, `PEPE`). */
  readonly symbol: string;
  /** The venue's own name, exactly as its API spells it. */
  readonly nativeSymbol: string;
  /** The venue's numeric id where it has one, else -1. */
  readonly nativeId: number;
  readonly multiplierExp10: number;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  /** `step`: price must be a multiple of priceStepTicks. `sigfigs5`: also at most 5 significant figures unless an integer price. */
  readonly priceRule: "step" | "sigfigs5";
  readonly priceStepTicks: number;
  readonly qtyStepLots: number;
  readonly minQtyLots: number;
  /** Largest order in lots; Number.MAX_SAFE_INTEGER where the venue states none. */
  readonly maxQtyLots: number;
  /** Minimum order value in quote units, decimal string; "0" where there is none. */
  readonly minNotional: string;
  /**
   * Whether the venue enforces minNotional on reduce-only orders too. `exceptFullClose`: yes, unless the order closes
   * the whole position.
   */
  readonly minNotionalOnReduceOnly: "no" | "exceptFullClose";
  /** Higher minimums for orders that rest and may open, where the venue has them. */
  readonly restingMinimum?: { readonly qtyLots: number; readonly notional: string };
  /**
   * Price band around the mark for limit prices, as integer parts per million of the mark (BUY ≤ mark × up, SELL ≥ mark × down).
   * The limit of a stop is judged the same way around its trigger. 0 where the venue has none, or does not publish its width.
   */
  readonly bandUpPpm: number;
  readonly bandDownPpm: number;
  /**
   * The venue accepts only limit prices above mark × low and up to mark × high, on both sides, as integer parts per
   * million ("80% away from the reference price"). Our own prices are never near these bounds. Absent: it has none.
   */
  readonly wideBand?: { readonly lowPpm: number; readonly highPpm: number };
  /**
   * A stop or take-profit that becomes a market order carries no price bound at this venue. Absent: it carries ours.
   */
  readonly marketTriggersUnpriced?: true;
  readonly quoteAsset: string;
  /**
   * Default fee rates in thousandths of a basis point (4.5 bps = 4500). The account's own rate replaces them where
   * known.
   */
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
  readonly maxLeverage: number;
  readonly status: "TRADING" | "HALTED";
}

export function canonicalPriceDecimals(instrument: Instrument): number {
  return instrument.priceDecimals + instrument.multiplierExp10;
}

/** May be negative: -3 means lots count thousands of the base asset. */
export function canonicalQtyDecimals(instrument: Instrument): number {
  return instrument.qtyDecimals - instrument.multiplierExp10;
}

/**
 * Reports whether both have the same units of ticks and lots and are the same contract: a number counted on another
 * scale means something else.
 */
export function isSameScale(left: Instrument, right: Instrument): boolean {
  return (
    left.nativeSymbol === right.nativeSymbol &&
    left.nativeId === right.nativeId &&
    left.multiplierExp10 === right.multiplierExp10 &&
    left.priceDecimals === right.priceDecimals &&
    left.qtyDecimals === right.qtyDecimals &&
    // A book's ladder is laid out by this step.
    left.priceStepTicks === right.priceStepTicks
  );
}
