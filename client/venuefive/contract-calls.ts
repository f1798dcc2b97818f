/** Calls of the contracts as data: who is called with what. Pure; `vectors.test.ts` holds them to the published bytes. */
import { type Abi, type Address, encodeFunctionData, type Hex, parseAbi } from "viem";
import {
  MULTICALL_ABI,
  PAIR_NAMES_ABI,
  TRADING_ABI,
  TRADING_CALLBACKS_ABI,
  TRADING_STORAGE_ABI,
  USDC_ALLOWANCE_ABI,
} from "../../schemas/venuefive/abi.js";
import type { CheckedOpen } from "./open-order.js";

export const TRADING = /* @__PURE__ */ parseAbi(TRADING_ABI);
export const TRADING_STORAGE = /* @__PURE__ */ parseAbi(TRADING_STORAGE_ABI);
export const TRADING_CALLBACKS = /* @__PURE__ */ parseAbi(TRADING_CALLBACKS_ABI);
export const PAIR_STORAGE = /* @__PURE__ */ parseAbi(PAIR_NAMES_ABI);
export const MULTICALL = /* @__PURE__ */ parseAbi(MULTICALL_ABI);
export const USDC = /* @__PURE__ */ parseAbi(USDC_ALLOWANCE_ABI);

/** Those that the library speaks to; the callbacks' is read from the chain. */
export interface VenuefiveAddresses {
  readonly Trading: Address;
  readonly TradingStorage: Address;
  readonly PairStorage: Address;
  readonly Multicall: Address;
  readonly USDC: Address;
}

export interface ContractCall {
  readonly address: Address;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args: readonly unknown[];
  /** In wei. */
  readonly value: bigint;
}

export interface PriceUpdate {
  readonly priceUpdateData: readonly Hex[];
  /** 0 core, 1 pro. */
  readonly priceSourcing: 0 | 1;
}

export const MARGIN_KINDS = ["DEPOSIT", "WITHDRAW"] as const;
export type MarginKind = (typeof MARGIN_KINDS)[number];

/** What the contract asks for beside oracle bytes. */
const ORACLE_FEE_WEI = 1n;

export const callData = ({ abi, functionName, args }: ContractCall): Hex =>
  encodeFunctionData({ abi, functionName, args });

/** The collateral goes in `positionSizeUSDC`; index, `initialPosToken` and timestamp are the contract's to fill. */
export function openCall(address: Address, trader: Address, order: CheckedOpen, feeWei: bigint): ContractCall {
  const trade = {
    trader,
    pairIndex: BigInt(order.pairIndex),
    index: 0n,
    initialPosToken: 0n,
    positionSizeUSDC: order.collateralE6,
    openPrice: order.priceE10,
    buy: order.direction === "LONG",
    leverage: order.leverageE10,
    tp: order.tpE10,
    sl: order.slE10,
    timestamp: 0n,
  };
  return trading(address, "openTrade", [trade, order.orderTypeNumber, order.slippageE10], feeWei);
}

/** `amountE6` is collateral. */
export const closeCall = (address: Address, pair: number, index: number, amountE6: bigint, feeWei: bigint) =>
  trading(address, "closeTradeMarket", [BigInt(pair), BigInt(index), amountE6], feeWei);

export const cancelCall = (address: Address, pair: number, index: number) =>
  trading(address, "cancelOpenLimitOrder", [BigInt(pair), BigInt(index)], 0n);

export interface LimitOrderValues {
  readonly priceE10: bigint;
  readonly slippageE10: bigint;
  readonly tpE10: bigint;
  readonly slE10: bigint;
}

export const updateLimitCall = (address: Address, pair: number, index: number, values: LimitOrderValues) =>
  trading(
    address,
    "updateOpenLimitOrder",
    [BigInt(pair), BigInt(index), values.priceE10, values.slippageE10, values.tpE10, values.slE10],
    0n,
  );

export function marginCall(
  address: Address,
  pair: number,
  index: number,
  { kind, amountE6, update }: OracleChange<{ readonly kind: MarginKind; readonly amountE6: bigint }>,
): ContractCall {
  return withOracle(address, "updateMargin", [pair, index, MARGIN_KINDS.indexOf(kind), amountE6], update);
}

/** The stop loss comes before the take profit. */
export const triggersCall = (
  address: Address,
  pair: number,
  index: number,
  { slE10, tpE10, update }: OracleChange<{ readonly slE10: bigint; readonly tpE10: bigint }>,
): ContractCall => withOracle(address, "updateTpAndSl", [pair, index, slE10, tpE10], update);

type OracleChange<T> = T & { readonly update: PriceUpdate };

function withOracle(
  address: Address,
  functionName: string,
  [pair, index, ...change]: readonly [number, number, number | bigint, bigint],
  { priceUpdateData, priceSourcing }: PriceUpdate,
): ContractCall {
  const args = [BigInt(pair), BigInt(index), ...change, priceUpdateData, priceSourcing];
  return trading(address, functionName, args, ORACLE_FEE_WEI);
}

export const approveCall = (usdc: Address, spender: Address, amount: bigint): ContractCall => ({
  address: usdc,
  abi: USDC,
  functionName: "approve",
  args: [spender, amount],
  value: 0n,
});

const trading = (address: Address, functionName: string, args: readonly unknown[], value: bigint): ContractCall => ({
  address,
  abi: TRADING,
  functionName,
  args,
  value,
});
