/** What the interface spec allows (section 8), and the bounds of the contracts that are checked before a signature. */
import { USDC_DECIMALS, VENUEFIVE_DECIMALS, type VenuefiveOrderType } from "../../schemas/venuefive/contracts.js";

const ONE_E10 = 10n ** BigInt(VENUEFIVE_DECIMALS);

export const NOTIONAL_MIN_E6 = 100n * 10n ** BigInt(USDC_DECIMALS);
/** 0.3 %. */
export const SLIPPAGE_DEFAULT_E10 = (3n * ONE_E10) / 10n;
/** The contract takes less than 80 %. */
export const SLIPPAGE_BELOW_E10 = 80n * ONE_E10;

export interface LeverageRange {
  readonly minE10: bigint;
  readonly maxE10: bigint;
}

const range = (min: bigint, max: bigint): LeverageRange => ({ minE10: min * ONE_E10, maxE10: max * ONE_E10 });

const USUAL = range(1n, 50n);
const OF_LARGE = range(1n, 75n);
const ZERO_FEE = range(75n, 250n);
const LARGE: ReadonlySet<string> = new Set(["ETH", "BTC"]);
const WITH_ZERO_FEE: ReadonlySet<string> = new Set(["ETH", "BTC", "SOL"]);

/** Returns null where the symbol has no orders of this type. */
export function leverageRange(symbol: string, orderType: VenuefiveOrderType): LeverageRange | null {
  if (orderType === "MARKET_ZERO_FEE") return WITH_ZERO_FEE.has(symbol) ? ZERO_FEE : null;
  return LARGE.has(symbol) ? OF_LARGE : USUAL;
}
