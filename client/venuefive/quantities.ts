/**
 * Decimal texts to the integers of the contracts and back. Invariant: a value passes exactly or not at all; nothing is
 * rounded, and nothing goes through a binary fraction.
 */
import { USDC_DECIMALS, VENUEFIVE_DECIMALS } from "../../schemas/venuefive/contracts.js";
import { parseDecimal, printDecimal } from "../decimal.js";
import { invalid, VenuefiveTradeError } from "./trade-error.js";

const ONE_E10 = 10n ** BigInt(VENUEFIVE_DECIMALS);
const ONE_E6 = 10n ** BigInt(USDC_DECIMALS);

/** Of prices, as their text. */
export const priceE10 = (text: unknown, field: string): bigint => scaled(text, VENUEFIVE_DECIMALS, field);

export const usdcE6 = (text: unknown, field: string): bigint => scaled(text, USDC_DECIMALS, field);

/** Of leverage and percents, which the interface spec types as numbers: what counts is the shortest text of the number. */
export function numberE10(value: unknown, field: string): bigint {
  if (typeof value !== "number" || !Number.isFinite(value)) throw invalid(field, "a number");
  return scaled(plainText(value), VENUEFIVE_DECIMALS, field);
}

export const usdcText = (unitsE6: bigint): string => printDecimal({ units: unitsE6, places: USDC_DECIMALS });
export const textE10 = (unitsE10: bigint): string => printDecimal({ units: unitsE10, places: VENUEFIVE_DECIMALS });

/** In 1e-6 USD, floored like the contract's. */
export const notionalE6 = (collateralE6: bigint, leverageE10: bigint): bigint => (collateralE6 * leverageE10) / ONE_E10;

/** In tokens, floored at each division like the venue's own figure. */
export const sizeE10 = (notional: bigint, price: bigint): bigint => (notional * ONE_E10 * ONE_E10) / price / ONE_E6;

function scaled(text: unknown, places: number, field: string): bigint {
  const decimal = parseDecimal(text);
  if (decimal === null || decimal.units < 0n) throw invalid(field, "a decimal text such as 12.5");
  if (decimal.places > places)
    throw new VenuefiveTradeError("TOO_MANY_DECIMALS", `${field} has more than ${places} decimals`, {
      details: { field, value: text, decimalsMax: places },
    });
  return decimal.units * 10n ** BigInt(places - decimal.places);
}

/** The shortest text that reads back as this number, without an exponent. */
function plainText(value: number): string {
  const [digits = "", exponent] = String(value).split("e");
  if (exponent === undefined) return digits;
  const [whole = "", fraction = ""] = digits.replace("-", "").split(".");
  const point = whole.length + Number(exponent);
  const all = whole + fraction;
  const sign = value < 0 ? "-" : "";
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${all}`;
  return `${sign}${all.padEnd(point, "0")}`;
}
