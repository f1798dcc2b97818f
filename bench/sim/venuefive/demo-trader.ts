/**
 * What the demo trader holds on the local venuefive: an open position and a resting limit order. The chain lets anybody
 * send for it, so that no key of its is needed here.
 */
import { encodeFunctionData, type Hex, numberToHex, parseUnits } from "viem";
import { GAS_MAX } from "../chain/chain-account.js";
import { contractCall } from "./calls.js";
import type { VenuefiveContract } from "./contracts/artifacts.js";
import { scaled } from "./pairs.js";
import { VENUEFIVE_ADDRESSES } from "./plan.js";
import type { VenuefiveWorld } from "./world.js";

export interface DemoOrder {
  readonly pairIndex: number;
  /** Decimal texts. */
  readonly price: string;
  readonly collateral: string;
  readonly leverage: string;
  /** Of the contracts: MARKET or LIMIT. */
  readonly type: 0 | 2;
}

const USDC_DECIMALS = 6;
const USDC = "10000";
const COINS = "10";
/** What is paid to the keeper of the real venue. */
const EXECUTION_FEE_WEI = 350_000_000_000_000n;
/** The model moves between the order and the keeper's round. */
const SLIPPAGE_PERCENT = "20";

/** Resolves when all is sent; blocks and the keeper do the rest. Throws where the chain refuses a call. */
export async function openDemoOrders(world: VenuefiveWorld, trader: Hex, orders: readonly DemoOrder[]): Promise<void> {
  const { rpc } = world.chain;
  await world.fund(trader, { usdc: USDC, coins: COINS });
  await rpc("anvil_impersonateAccount", [trader]);
  let nonce = 0;
  const send = async (contract: VenuefiveContract, functionName: string, args: readonly unknown[], value = 0n) => {
    const { to, abi } = contractCall(contract, functionName, args);
    const data = encodeFunctionData({ abi, functionName, args });
    const fields = { gas: numberToHex(GAS_MAX), value: numberToHex(value), nonce: numberToHex(nonce++) };
    // In this order in one block, so each is not asked beforehand whether it would succeed.
    await rpc("eth_sendTransaction", [{ from: trader, to, data, ...fields }]);
  };
  await send("Usdc", "approve", [VENUEFIVE_ADDRESSES.TradingStorage, parseUnits(USDC, USDC_DECIMALS)]);
  for (const { pairIndex, price, collateral, leverage, type } of orders) {
    const trade = {
      ...{ trader, pairIndex: BigInt(pairIndex), index: 0n, initialPosToken: 0n },
      ...{ positionSizeUSDC: parseUnits(collateral, USDC_DECIMALS), openPrice: scaled(price), buy: true },
      ...{ leverage: scaled(leverage), tp: 0n, sl: 0n, timestamp: 0n },
    };
    await send("Trading", "openTrade", [trade, type, scaled(SLIPPAGE_PERCENT)], EXECUTION_FEE_WEI);
  }
}
