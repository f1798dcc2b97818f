/** Published calldata against what the library builds for the same input. */
import type { Address, Hex } from "viem";
import {
  approveCall,
  type ContractCall,
  callData,
  cancelCall,
  closeCall,
  marginCall,
  openCall,
  triggersCall,
  updateLimitCall,
} from "../venuefive/contract-calls.js";
import { checkOpen, type OpenPositionParameters } from "../venuefive/open-order.js";
import { tradingConfig } from "../venuefive/options.js";
import { usdcE6 } from "../venuefive/quantities.js";

export interface Vector {
  readonly id: string;
  readonly group: string;
  readonly input?: OpenPositionParameters & { readonly closeAmountUsdc?: string };
  readonly account?: Address;
  readonly args: readonly never[];
  readonly expected: { readonly to: Address; readonly data: Hex; readonly valueWei?: string };
}

export const CONFIG = tradingConfig({ publicClient: {} as never });
const FEE_WEI = 350_000_000_000_000n;

/** In the form of `expected`; null: of a function that the library does not call so. */
export function built(vector: Vector): { readonly to: Address; readonly data: Hex; readonly valueWei: string } | null {
  const call = callOf(vector);
  return call === null ? null : { to: call.address, data: callData(call), valueWei: String(call.value) };
}

function callOf({ group, input, account = "0x", args }: Vector): ContractCall | null {
  const { Trading, USDC } = CONFIG.addresses;
  const at = (place: number): bigint => BigInt(args[place] ?? 0);
  if (group === "openTrade" && input !== undefined)
    return openCall(Trading, account, checkOpen(input, CONFIG.pairs), FEE_WEI);
  if (group === "approve") return approveCall(USDC, args[0] as unknown as Address, at(1));
  const [pair, index] = [Number(args[0]), Number(args[1])];
  if (group === "closeTradeMarket") {
    const asked = input?.closeAmountUsdc;
    return closeCall(Trading, pair, index, asked === undefined ? at(2) : usdcE6(asked, "closeAmountUsdc"), FEE_WEI);
  }
  if (group === "cancelOpenLimitOrder") return cancelCall(Trading, pair, index);
  if (group === "updateOpenLimitOrder")
    return updateLimitCall(Trading, pair, index, { priceE10: at(2), slippageE10: at(3), tpE10: at(4), slE10: at(5) });
  // The functions without the source of the price are for an older client.
  if (args.length !== 6) return null;
  const update = { priceUpdateData: args[4] as unknown as Hex[], priceSourcing: args[5] as unknown as 0 | 1 };
  if (group === "updateMargin") {
    const kind = at(2) === 0n ? "DEPOSIT" : "WITHDRAW";
    return marginCall(Trading, pair, index, { kind, amountE6: at(3), update });
  }
  return triggersCall(Trading, pair, index, { slE10: at(2), tpE10: at(3), update });
}
