/** What the contracts compute, in their integers: prices, leverage and percents 1e10, USDC 1e6. Divisions are down. */
import { VENUEFIVE_DECIMALS } from "../../../schemas/venuefive/contracts.js";

const SCALE = 10n ** BigInt(VENUEFIVE_DECIMALS);
const PERCENT = 100n;

export interface LiquidationOf {
  readonly openPrice: bigint;
  readonly isLong: boolean;
  readonly collateral: bigint;
  readonly leverage: bigint;
  readonly rolloverFee: bigint;
  /** Whole percents of the collateral whose loss ends it. */
  readonly threshold: bigint;
}

/** Zero: there is none. */
export function liquidationPriceOf(of: LiquidationOf): bigint {
  const { openPrice, isLong, collateral, leverage, rolloverFee, threshold } = of;
  const notional = (collateral * leverage) / SCALE;
  if (notional === 0n) return 0n;
  const distance = (openPrice * ((collateral * threshold) / PERCENT - rolloverFee)) / notional;
  const price = isLong ? openPrice - distance : openPrice + distance;
  return price > 0n ? price : 0n;
}

export interface CloseOf {
  readonly openPrice: bigint;
  readonly closePrice: bigint;
  readonly isLong: boolean;
  /** The part that is closed. */
  readonly collateral: bigint;
  readonly leverage: bigint;
  /** Percent of the notional at the close. */
  readonly closeFee: bigint;
  readonly rolloverFee: bigint;
}

export interface CloseValue {
  readonly grossPnl: bigint;
  readonly closingFee: bigint;
  /** What comes back of the collateral. */
  readonly sent: bigint;
}

/** Of a close that leaves something. */
export function closeValueOf(of: CloseOf): CloseValue {
  const { openPrice, closePrice, isLong, collateral, leverage, closeFee, rolloverFee } = of;
  const notional = collateral * leverage;
  const moved = isLong ? closePrice - openPrice : openPrice - closePrice;
  const grossPnl = (notional * moved) / openPrice / SCALE;
  const closingFee = ((notional / SCALE + grossPnl) * closeFee) / PERCENT / SCALE;
  return { grossPnl, closingFee, sent: collateral + grossPnl - closingFee - rolloverFee };
}
