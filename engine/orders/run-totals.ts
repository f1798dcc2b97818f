/** What the orders of a trade come to: submitted, filled and remaining sizes, and the average price. Pure and exact. */
import {
  addRatio,
  compareRatio,
  divideRatio,
  formatRatio,
  multiplyRatio,
  ratio,
  ratioFromScaled,
  ratioFromText,
  subtractRatio,
  type Ratio,
} from "../domain/decimal-ratio.js";
import { filledLots, submittedLots } from "./attempt-figures.js";
import { positionAttempts, type OrderAttempt, type TradeRun } from "./run.js";

const ZERO = ratio(0n);
const ONE = ratio(1n);
const SIZE_PLACES = 24;

export interface Totals {
  readonly requested: Ratio;
  readonly submitted: Ratio;
  readonly filled: Ratio;
  readonly remaining: Ratio;
  /** Quote units over all fills with a price. */
  readonly notional: Ratio;
  readonly average: Ratio | null;
  /** The same in the common quote, to be measured against the mid. */
  readonly commonAverage: Ratio | null;
}

/** Base units still to be traded, as text; "0" when done. */
export function remainingSize(run: TradeRun): string {
  return formatRatio(sumUp(run).remaining, SIZE_PLACES, "floor");
}

export function filledAnything(run: TradeRun): boolean {
  return positionAttempts(run).some((attempt) => filledLots(attempt) > 0);
}

export function sumUp(run: TradeRun): Totals {
  const requested = ratioFromText(run.requestedSize);
  let filled = ZERO;
  let priced = ZERO;
  let notional = ZERO;
  let common = ZERO;
  let submitted = ZERO;
  const attempts = positionAttempts(run);
  const legs = isSplit(attempts);
  for (const attempt of attempts) {
    // Legs go out together; a retry goes out for what the ones before it left.
    if (isSent(attempt) && !legs) submitted = addRatio(filled, lots(attempt, submittedLots(attempt)));
    const filledHere = lots(attempt, filledLots(attempt));
    filled = addRatio(filled, filledHere);
    const price = averagePrice(attempt);
    if (price === null) continue;
    priced = addRatio(priced, filledHere);
    const value = multiplyRatio(price, filledHere);
    notional = addRatio(notional, value);
    common = addRatio(common, multiplyRatio(value, quoteRate(run, attempt.venue)));
  }
  if (legs) submitted = submittedOverLegs(attempts, requested);
  // An order that was refused later does not shrink what was submitted before it.
  if (compareRatio(submitted, filled) < 0) submitted = filled;
  return {
    requested,
    submitted,
    filled,
    // One that was made larger since may fill more than was asked for.
    remaining: compareRatio(filled, requested) > 0 ? ZERO : subtractRatio(requested, filled),
    notional,
    average: priced.num === 0n ? null : divideRatio(notional, priced),
    commonAverage: priced.num === 0n ? null : divideRatio(common, priced),
  };
}

/** Of the venue's quote in the common one, as the decision had it. */
export function quoteRate(run: TradeRun, venue: string | null): Ratio {
  const rate = run.routing.candidates.find(({ exchange }) => exchange === venue)?.quoteRate;
  return rate === undefined ? ONE : ratioFromText(rate);
}

/** The first orders of all legs, and what later ones sent beyond what those left unfilled; never above the request. */
function submittedOverLegs(attempts: readonly OrderAttempt[], requested: Ratio): Ratio {
  let first = ZERO;
  for (const attempt of attempts)
    if (isSent(attempt) && attempt.attempt === 1) first = addRatio(first, lots(attempt, submittedLots(attempt)));
  return compareRatio(first, requested) > 0 ? requested : first;
}

export function isSplit(attempts: readonly OrderAttempt[]): boolean {
  return attempts.some(({ leg }) => leg !== attempts[0]?.leg);
}

export function isSent(attempt: OrderAttempt): boolean {
  return attempt.outcome !== "NOT_SENT";
}

/** Canonical quoting; null while nothing filled. */
export function averagePrice(attempt: OrderAttempt): Ratio | null {
  const native = attempt.order?.averagePrice ?? null;
  if (native === null || filledLots(attempt) === 0) return null;
  return multiplyRatio(ratioFromText(native), ratioFromScaled(1, attempt.multiplierExp10));
}

export function lots(attempt: OrderAttempt, count: number): Ratio {
  return ratioFromScaled(count, attempt.qtyDecimals);
}

export function sizeText(value: Ratio): string {
  return formatRatio(value, SIZE_PLACES, "floor");
}
