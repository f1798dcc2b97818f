/**
 * What the venue takes for an opening (interface spec 4.6 and 8, and the contract's own checks), and the integers that it
 * becomes. The caller's wallet sends it, never this service: here it proves what is read and said of such orders.
 */
import { formatScaledBig, parseScaledBig } from "../../../engine/domain/decimal.js";
import {
  USDC_DECIMALS,
  VENUEFIVE_DECIMALS,
  VENUEFIVE_ORDER_TYPES,
  type VenuefiveOrderType,
} from "../../../schemas/venuefive/contracts.js";

export interface OpenInput {
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  /** Decimal texts; the collateral in USDC. */
  readonly positionSizeUsd: string;
  readonly leverage: string;
  readonly openPrice: string;
  readonly orderType: VenuefiveOrderType;
  readonly slippagePercent: string | null;
  readonly tp: string | null;
  readonly sl: string | null;
}

export type OpenRefusal =
  | "SYMBOL"
  | "DECIMALS"
  | "OPEN_PRICE"
  | "LEVERAGE_MIN"
  | "LEVERAGE_MAX"
  | "ZERO_FEE_SYMBOL"
  | "NOTIONAL"
  | "TAKE_PROFIT"
  | "STOP_LOSS"
  | "SLIPPAGE";

/** The tuple of `openTrade` and what comes with it. */
export interface OpenArgs {
  readonly t: Readonly<Record<string, string | boolean | bigint>>;
  readonly type: number;
  readonly slippage: bigint;
}

export type CheckedOpen =
  | { readonly ok: true; readonly args: OpenArgs }
  | { readonly ok: false; readonly refusal: OpenRefusal; readonly message: string };

const SCALE = 10n ** BigInt(VENUEFIVE_DECIMALS);
const times = (leverage: number): bigint => BigInt(leverage) * SCALE;
const LEVERAGE = { min: times(1), max: times(50), maxOfLarge: times(75) };
const ZERO_FEE_LEVERAGE = { min: times(75), max: times(250) };
const LARGE: ReadonlySet<string> = new Set(["ETH", "BTC"]);
const ZERO_FEE: ReadonlySet<string> = new Set(["ETH", "BTC", "SOL"]);
const NOTIONAL_MIN = 100n * 10n ** BigInt(USDC_DECIMALS);
const SLIPPAGE_DEFAULT = "0.3";
const SLIPPAGE_END = 80n * SCALE;

/** `symbols`: by index of the pair. */
export function checkOpen(input: OpenInput, trader: string, symbols: readonly string[]): CheckedOpen {
  const pairIndex = symbols.indexOf(input.symbol);
  if (pairIndex < 0) return refused("SYMBOL", `${input.symbol} is not in the map of pairs`);
  const collateral = parseScaledBig(input.positionSizeUsd, USDC_DECIMALS);
  const [leverage, openPrice] = [scaled(input.leverage), scaled(input.openPrice)];
  const [slippage, tp, sl] = [
    scaled(input.slippagePercent ?? SLIPPAGE_DEFAULT),
    scaled(input.tp ?? "0"),
    scaled(input.sl ?? "0"),
  ];
  if (collateral === null) return refused("DECIMALS", `USDC has ${USDC_DECIMALS} decimals`);
  if (leverage === null || openPrice === null || slippage === null || tp === null || sl === null)
    return refused("DECIMALS", `a number is not plain, or finer than ${VENUEFIVE_DECIMALS} decimals`);
  const refusal =
    checkLeverage(input, leverage) ??
    checkPrices(input.direction === "LONG", openPrice, tp, sl) ??
    (slippage < 0n || slippage >= SLIPPAGE_END ? refused("SLIPPAGE", "slippage is below 80 percent") : null) ??
    checkNotional(collateral, leverage);
  if (refusal !== null) return refusal;
  const type = VENUEFIVE_ORDER_TYPES.indexOf(input.orderType);
  const buy = input.direction === "LONG";
  // The contract sets trader, index and time itself, and takes the collateral in `positionSizeUSDC`.
  const t = { trader, pairIndex: BigInt(pairIndex), index: 0n, initialPosToken: 0n, positionSizeUSDC: collateral };
  return { ok: true, args: { t: { ...t, openPrice, buy, leverage, tp, sl, timestamp: 0n }, type, slippage } };
}

type Refused = Extract<CheckedOpen, { ok: false }>;

function checkLeverage({ symbol, orderType }: OpenInput, leverage: bigint): Refused | null {
  const isZeroFee = orderType === "MARKET_ZERO_FEE";
  if (isZeroFee && !ZERO_FEE.has(symbol)) return refused("ZERO_FEE_SYMBOL", "without fees are ETH, BTC and SOL alone");
  const ordinaryMax = LARGE.has(symbol) ? LEVERAGE.maxOfLarge : LEVERAGE.max;
  const { min, max } = isZeroFee ? ZERO_FEE_LEVERAGE : { min: LEVERAGE.min, max: ordinaryMax };
  if (leverage < min) return refused("LEVERAGE_MIN", `leverage is ${text(min)} at least`);
  return leverage > max ? refused("LEVERAGE_MAX", `leverage is ${text(max)} at most`) : null;
}

/** Null tp or sl are zero: none. */
function checkPrices(isLong: boolean, open: bigint, tp: bigint, sl: bigint): Refused | null {
  if (open <= 0n) return refused("OPEN_PRICE", "every order has an open price");
  if (tp < 0n || (tp !== 0n && (isLong ? tp <= open : tp >= open)))
    return refused("TAKE_PROFIT", "a take profit is on the side of profit");
  if (sl < 0n || (sl !== 0n && (isLong ? sl >= open : sl <= open)))
    return refused("STOP_LOSS", "a stop loss is on the side of loss");
  return null;
}

function checkNotional(collateral: bigint, leverage: bigint): Refused | null {
  const notional = (collateral * leverage) / SCALE;
  if (collateral > 0n && notional >= NOTIONAL_MIN) return null;
  return refused("NOTIONAL", `notional is ${formatScaledBig(notional, USDC_DECIMALS)}, 100 USD at least`);
}

function scaled(number: string): bigint | null {
  return parseScaledBig(number, VENUEFIVE_DECIMALS);
}

function text(value: bigint): string {
  return formatScaledBig(value, VENUEFIVE_DECIMALS);
}

function refused(refusal: OpenRefusal, message: string): Refused {
  return { ok: false, refusal, message };
}
