/** Integers of the chain as decimal text, and what follows from them; every division is the contracts' own. */
import { formatScaledBig } from "../../../engine/domain/decimal.js";
import { USDC_DECIMALS, VENUEFIVE_DECIMALS } from "../../../schemas/venuefive/contracts.js";

const SCALE = 10n ** BigInt(VENUEFIVE_DECIMALS);
const USDC = 10n ** BigInt(USDC_DECIMALS);

/** A price, a leverage, a percent. */
export function scaledText(value: string | bigint): string {
  return formatScaledBig(BigInt(value), VENUEFIVE_DECIMALS);
}

export function usdcText(value: string | bigint): string {
  return formatScaledBig(BigInt(value), USDC_DECIMALS);
}

/**
 * In tokens: notional over price, rounded down at each division; of a pair whose base is the dollar the notional itself.
 * Zero where there is no price.
 */
export function sizeText(collateral: string, leverage: string, price: string, isDollarBased: boolean): string {
  const notional = (BigInt(collateral) * BigInt(leverage)) / SCALE;
  if (isDollarBased) return usdcText(notional);
  if (BigInt(price) === 0n) return "0";
  return formatScaledBig((notional * SCALE * SCALE) / BigInt(price) / USDC, VENUEFIVE_DECIMALS);
}

/** Of a closed part before fees; toward zero, as the contracts divide. */
export function grossPnl(collateral: string, percentProfit: string): bigint {
  return (BigInt(collateral) * BigInt(percentProfit)) / SCALE / 100n;
}
