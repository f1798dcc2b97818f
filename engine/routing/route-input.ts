// hot path
/**
 * Writes a caller's texts into a RouteInput without allocating. Each setter returns false, and leaves the input
 * unchanged, if the text is not a positive plain decimal that fits the safe range.
 */
import { decimalPlaces, MAX_ABS_DECIMALS, parseScaled } from "../domain/decimal.js";
import { FULL_PERCENT_E4, type RouteInput } from "./route-types.js";

/** Size in base units. */
export function setSizeText(input: RouteInput, text: string): boolean {
  const decimals = decimalPlaces(text);
  if (decimals > MAX_ABS_DECIMALS) return false;
  const units = parseScaled(text, decimals);
  if (!(units > 0)) return false;
  input.sizeMode = "UNITS";
  input.sizeUnits = units;
  input.sizeDecimals = decimals;
  return true;
}

/** Share of the open size: 0 < percent ≤ 100, at most four decimals. */
export function setSizePercentText(input: RouteInput, text: string): boolean {
  const percentE4 = parseScaled(text, 4);
  if (!(percentE4 > 0 && percentE4 <= FULL_PERCENT_E4)) return false;
  input.sizeMode = "PERCENT";
  input.sizePercentE4 = percentE4;
  return true;
}

/** "ALL": the whole open size. */
export function setSizeAll(input: RouteInput): void {
  input.sizeMode = "PERCENT";
  input.sizePercentE4 = FULL_PERCENT_E4;
}

/** Value in the common quote; entries only. */
export function setNotionalText(input: RouteInput, text: string): boolean {
  if (!setSizeText(input, text)) return false;
  input.sizeMode = "NOTIONAL";
  return true;
}

/** A worst price set earlier, in the common quote. */
export function setBoundText(input: RouteInput, text: string): boolean {
  const decimals = decimalPlaces(text);
  if (decimals > MAX_ABS_DECIMALS) return false;
  const units = parseScaled(text, decimals);
  if (!(units > 0)) return false;
  input.boundUnits = units;
  input.boundDecimals = decimals;
  return true;
}

/** Limit price in canonical quoting. */
export function setLimitText(input: RouteInput, text: string): boolean {
  const decimals = decimalPlaces(text);
  if (decimals > MAX_ABS_DECIMALS) return false;
  const units = parseScaled(text, decimals);
  if (!(units > 0)) return false;
  input.limitUnits = units;
  input.limitDecimals = decimals;
  return true;
}
