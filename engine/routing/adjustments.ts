/**
 * Reports what rounding, the venue's band and a split changed between the caller's request and what is sent. Exact; off
 * the hot path.
 */
import { formatScaled, multiplySafe, pow10 } from "../domain/decimal.js";
import {
  addRatio,
  compareRatio,
  divideRatio,
  formatRatio,
  multiplyRatio,
  type Ratio,
  ratio,
  ratioFromScaled,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import { candidateAt, instrumentOf, requestedSizeText, resultAt, worstPriceText } from "./report.js";
import { type Decision, ONE_MILLI_BPS, QUOTE_RATE_ONE_PPM, type RouteInput } from "./route-types.js";
import { exactReferenceMid } from "./scoring.js";

export interface Adjustment {
  field: "price" | "size";
  from: string;
  to: string;
  rule: "TICK_SIZE" | "PRICE_BAND" | "LOT_SIZE";
}

/**
 * Lists what rounding and the venue's band changed between the caller's request and the order of the selected venue.
 */
export function orderAdjustments(input: RouteInput, decision: Decision): Adjustment[] {
  const instrument = decision.selected < 0 ? null : instrumentOf(input, decision.selected);
  if (instrument === null) return [];
  const result = resultAt(decision, decision.selected);
  const adjustments: Adjustment[] = [];
  const from = wishedPriceText(input, decision, instrument);
  if (from !== null) {
    adjustments.push({
      field: "price",
      from,
      to: worstPriceText(input, decision) as string,
      rule: result.bandClamped ? "PRICE_BAND" : "TICK_SIZE",
    });
  }
  const requested = requestedSizeText(decision);
  const ordered = orderedSizeText(input, decision, instrument);
  if (requested !== ordered) adjustments.push({ field: "size", from: requested, to: ordered, rule: "LOT_SIZE" });
  return adjustments;
}

/** Total size that is sent. */
function orderedSizeText(input: RouteInput, decision: Decision, selected: Instrument): string {
  if (decision.legs.length < 2)
    return formatScaled(resultAt(decision, decision.selected).orderLots, canonicalQtyDecimals(selected));
  let total = ratio(0n);
  for (const index of decision.legs) {
    const instrument = instrumentOf(input, index);
    if (instrument === null) continue;
    total = addRatio(total, ratioFromScaled(resultAt(decision, index).orderLots, canonicalQtyDecimals(instrument)));
  }
  return formatRatio(total, 22, "floor");
}

/** Returns the unrounded bound as text; null where it equals what is sent, or where there is none. */
function wishedPriceText(input: RouteInput, decision: Decision, instrument: Instrument): string | null {
  const priceDecimals = canonicalPriceDecimals(instrument);
  const places = Math.max(0, priceDecimals) + 9;
  const { priceTicks } = resultAt(decision, decision.selected);
  const bound = wishedSafely(input, decision);
  const sentScale = bound === null ? Number.NaN : multiplySafe(priceTicks, pow10(bound.decimals - priceDecimals));
  if (bound !== null && bound.decimals <= places && !Number.isNaN(sentScale))
    return sentScale === bound.value ? null : formatScaled(bound.value, bound.decimals);
  const wished = wishedPrice(input, decision);
  if (wished === null || compareRatio(wished, ratioFromScaled(priceTicks, priceDecimals)) === 0) return null;
  return formatRatio(wished, places, "halfUp");
}

/**
 * The usual case of `wishedPrice`, in safe integers: no quote rates between the venues. Returns null where that is not
 * exact.
 */
function wishedSafely(input: RouteInput, decision: Decision): { value: number; decimals: number } | null {
  const reference = decision.reference;
  const instrument = reference < 0 ? null : instrumentOf(input, reference);
  if (instrument === null || input.rests || input.boundUnits > 0) return null;
  if (candidateAt(input, reference).quoteRatePpm !== candidateAt(input, decision.selected).quoteRatePpm) return null;
  const slippage = Math.round(input.maxSlippageBps * 1000);
  const share = ONE_MILLI_BPS + (input.side === "SELL" ? -slippage : slippage);
  // Half of the doubled mid is five tenths of it: one decimal more, and 7 decimals of ONE_MILLI_BPS.
  const value = multiplySafe(multiplySafe(resultAt(decision, reference).doubleMidTicks, share), 5);
  return Number.isNaN(value) ? null : { value, decimals: canonicalPriceDecimals(instrument) + 8 };
}

/**
 * Returns the unrounded bound in the venue's quote: the caller's limit, or the tighter of a quote's bound and reference
 * mid × (1 ∓ slippage).
 */
function wishedPrice(input: RouteInput, decision: Decision): Ratio | null {
  if (input.rests) return ratioFromScaled(input.limitUnits, input.limitDecimals);
  const rate = ratio(BigInt(candidateAt(input, decision.selected).quoteRatePpm), BigInt(QUOTE_RATE_ONE_PPM));
  const quoted = input.boundUnits > 0 ? ratioFromScaled(input.boundUnits, input.boundDecimals) : null;
  const mid = exactReferenceMid(input, decision);
  if (mid === null) return quoted === null ? null : divideRatio(quoted, rate);
  const slippage = Math.round(input.maxSlippageBps * 1000);
  const share = ratio(BigInt(ONE_MILLI_BPS + (input.side === "SELL" ? -slippage : slippage)), BigInt(ONE_MILLI_BPS));
  const slipped = multiplyRatio(mid, share);
  const isQuotedTighter = quoted !== null && compareRatio(quoted, slipped) === (input.side === "SELL" ? 1 : -1);
  return divideRatio(isQuotedTighter ? quoted : slipped, rate);
}
