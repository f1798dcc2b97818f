import { parseAbi, toEventSelector, toFunctionSelector } from "viem";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as ABIS from "./abi.js";

const PUBLISHED = new URL("../../bench/sim/venuefive/fixtures/abi.json", import.meta.url);
const { contracts } = JSON.parse(readFileSync(PUBLISHED, "utf8")) as { contracts: Record<string, readonly string[]> };
const CONTRACT_OF = {
  TRADING_ABI: "Trading",
  TRADING_STORAGE_ABI: "TradingStorage",
  TRADING_CALLBACKS_ABI: "TradingCallbacks",
  MULTICALL_ABI: "Multicall",
  PAIR_STORAGE_ABI: "PairStorage",
  PAIR_NAMES_ABI: "PairStorage",
  USDC_ABI: "USDC",
  USDC_ALLOWANCE_ABI: "USDC",
} as const satisfies Record<keyof typeof ABIS, string>;

describe("the contracts of venuefive", () => {
  it.each(Object.entries(ABIS))("%s says what the vendor published", (name, lines) => {
    const contract = CONTRACT_OF[name as keyof typeof CONTRACT_OF];
    const published = parseAbi((contracts[contract] ?? []) as readonly string[]).map((item) => JSON.stringify(item));
    const ours = parseAbi(lines as readonly string[]);
    expect(ours.length).toBeGreaterThan(1);
    for (const item of ours) expect(published).toContain(JSON.stringify(item));
  });

  it("have the selectors that the chain knows", () => {
    const trading = parseAbi(ABIS.TRADING_ABI);
    const open = trading.find((item) => item.type === "function" && item.name === "openTrade");
    const initiated = trading.find((item) => item.type === "event" && item.name === "MarketOrderInitiated");
    expect(toFunctionSelector(open as never)).toBe("0x19cde9a1");
    expect(toEventSelector(initiated as never)).toBe(
      "0x9d20fe25d5b18ddf053eb042d606b6f438ec532c9978753d5284b6128063a1bd",
    );
  });
});
