/** What a caller asks to open, checked against the interface spec before the chain or the wallet is asked. Pure. */
import { VENUEFIVE_ORDER_TYPES, type VenuefiveOrderType } from "../../schemas/venuefive/contracts.js";
import { leverageRange, NOTIONAL_MIN_E6, SLIPPAGE_BELOW_E10, SLIPPAGE_DEFAULT_E10 } from "./limits.js";
import { notionalE6, numberE10, priceE10, sizeE10, textE10, usdcE6, usdcText } from "./quantities.js";
import { invalid, VenuefiveTradeError } from "./trade-error.js";

export type VenuefiveDirection = "LONG" | "SHORT";
export type VenuefivePairs = Readonly<Record<string, number>>;

/** Interface spec 4.6; prices and amounts are decimal texts. */
export interface OpenPositionParameters {
  /** Of the pair map. */
  readonly symbol: string;
  readonly direction: VenuefiveDirection;
  /** Collateral in USDC. */
  readonly positionSizeUsd: string;
  readonly leverage: number;
  /** Of every order type: a market order's slippage and triggers are measured from it. */
  readonly openPrice: string;
  readonly orderType: VenuefiveOrderType;
  /** Default 0.3. */
  readonly slippagePercent?: number | undefined;
  readonly tp?: string | undefined;
  readonly sl?: string | undefined;
}

const OPEN_FIELDS = [
  ...["symbol", "direction", "positionSizeUsd", "leverage", "openPrice", "orderType"],
  ...["slippagePercent", "tp", "sl"],
];

export interface CheckedOpen {
  readonly symbol: string;
  readonly pairIndex: number;
  readonly direction: VenuefiveDirection;
  readonly orderTypeNumber: number;
  readonly isMarket: boolean;
  readonly leverage: number;
  readonly collateralE6: bigint;
  readonly leverageE10: bigint;
  readonly priceE10: bigint;
  readonly slippageE10: bigint;
  /** 0: none. */
  readonly tpE10: bigint;
  readonly slE10: bigint;
  /** Decimal text, in tokens at `openPrice`. */
  readonly size: string;
}

export function checkOpen(given: OpenPositionParameters, pairs: VenuefivePairs): CheckedOpen {
  checkFields(given, OPEN_FIELDS);
  const { symbol, pairIndex } = checkSymbol(given.symbol, pairs);
  const direction = checkDirection(given.direction);
  const orderTypeNumber = VENUEFIVE_ORDER_TYPES.indexOf(given.orderType);
  if (orderTypeNumber < 0) throw invalid("orderType", `one of ${VENUEFIVE_ORDER_TYPES.join(", ")}`);
  const collateralE6 = usdcE6(given.positionSizeUsd, "positionSizeUsd");
  const leverageE10 = checkLeverage(given.leverage, symbol, given.orderType);
  const price = checkPrice(given.openPrice, "openPrice");
  const slippageE10 = checkSlippage(given.slippagePercent);
  const triggers = checkTriggers(direction, price, triggerE10(given.tp, "tp"), triggerE10(given.sl, "sl"));
  const notional = notionalE6(collateralE6, leverageE10);
  if (notional < NOTIONAL_MIN_E6)
    throw refused(
      "NOTIONAL_TOO_SMALL",
      `the notional of ${usdcText(notional)} USD is below ${usdcText(NOTIONAL_MIN_E6)}`,
      {
        notional: usdcText(notional),
        minimum: usdcText(NOTIONAL_MIN_E6),
      },
    );
  return {
    ...{ symbol, pairIndex, direction, orderTypeNumber, leverage: given.leverage },
    isMarket: given.orderType === "MARKET" || given.orderType === "MARKET_ZERO_FEE",
    ...{ collateralE6, leverageE10, priceE10: price, slippageE10, ...triggers },
    size: textE10(sizeE10(notional, price)),
  };
}

/** Throws where it is no object, or has a field that is not of the operation: a misspelt stop loss must not be left out. */
export function checkFields(given: unknown, allowed: readonly string[]): void {
  if (typeof given !== "object" || given === null) throw invalid("parameters", "an object");
  const unknown = Object.keys(given).filter((name) => !allowed.includes(name));
  if (unknown.length > 0)
    throw refused("INVALID_PARAMETERS", `unknown parameters: ${unknown.join(", ")}`, { fields: unknown });
}

/** In any case; the pair map decides. */
export function checkSymbol(given: unknown, pairs: VenuefivePairs): { symbol: string; pairIndex: number } {
  if (typeof given !== "string") throw invalid("symbol", "a symbol of the pair map");
  const symbol = given.toUpperCase();
  const pairIndex = Object.hasOwn(pairs, symbol) ? pairs[symbol] : undefined;
  if (pairIndex === undefined) throw refused("UNKNOWN_SYMBOL", `${given} is not in the pair map`, { symbol: given });
  return { symbol, pairIndex };
}

export function checkDirection(given: unknown): VenuefiveDirection {
  if (given !== "LONG" && given !== "SHORT") throw invalid("direction", "LONG or SHORT");
  return given;
}

export function checkPrice(given: unknown, field: string): bigint {
  const price = priceE10(given, field);
  if (price === 0n) throw invalid(field, "a price above zero, for every order type");
  return price;
}

export function checkSlippage(given: unknown): bigint {
  const slippage = given === undefined ? SLIPPAGE_DEFAULT_E10 : numberE10(given, "slippagePercent");
  if (slippage >= SLIPPAGE_BELOW_E10)
    throw refused("SLIPPAGE_OUT_OF_RANGE", `slippagePercent must be below ${textE10(SLIPPAGE_BELOW_E10)}`, {
      slippagePercent: textE10(slippage),
    });
  return slippage;
}

export const triggerE10 = (given: unknown, field: string): bigint =>
  given === undefined ? 0n : priceE10(given, field);

/** The take profit lies on the profit's side of the price, the stop loss on the other; 0 is none. */
export function checkTriggers(direction: VenuefiveDirection, price: bigint, tpE10: bigint, slE10: bigint) {
  const isLong = direction === "LONG";
  const side = (isAbove: boolean): string => `${isAbove ? "above" : "below"} the price of a ${direction}`;
  if (tpE10 !== 0n && (isLong ? tpE10 <= price : tpE10 >= price))
    throw refused("INVALID_TAKE_PROFIT", `tp must be ${side(isLong)}`, { tp: textE10(tpE10), price: textE10(price) });
  if (slE10 !== 0n && (isLong ? slE10 >= price : slE10 <= price))
    throw refused("INVALID_STOP_LOSS", `sl must be ${side(!isLong)}`, { sl: textE10(slE10), price: textE10(price) });
  return { tpE10, slE10 };
}

/** Of a pair, a position or a limit order. */
export function checkIndex(given: unknown, field: "pairIndex" | "tradeIndex" | "orderIndex"): number {
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= 0) return given;
  if (field === "pairIndex")
    throw refused("UNKNOWN_PAIR", "pairIndex must be a whole number of a pair", { pairIndex: given });
  throw invalid(field, "a whole number from zero");
}

function checkLeverage(given: unknown, symbol: string, orderType: VenuefiveOrderType): bigint {
  const leverage = numberE10(given, "leverage");
  const range = leverageRange(symbol, orderType);
  if (range === null) throw refused("ZERO_FEE_NOT_ALLOWED", `${symbol} has no ${orderType}`, { symbol });
  const { minE10, maxE10 } = range;
  if (leverage < minE10 || leverage > maxE10)
    throw refused("LEVERAGE_OUT_OF_RANGE", `leverage must be ${textE10(minE10)} to ${textE10(maxE10)}`, {
      ...{ symbol, orderType, leverage: textE10(leverage), minimum: textE10(minE10), maximum: textE10(maxE10) },
    });
  return leverage;
}

function refused(
  code: ConstructorParameters<typeof VenuefiveTradeError>[0],
  message: string,
  details: Readonly<Record<string, unknown>>,
): VenuefiveTradeError {
  return new VenuefiveTradeError(code, message, { details });
}
