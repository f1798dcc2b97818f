import { describe, expect, it } from "vitest";
import { VENUEFIVE_ADDRESSES, VENUEFIVE_CHAIN_ID } from "../../bench/sim/venuefive/plan.js";
import { readConfig } from "../app/config.js";
import { venuefiveSettings } from "./local-venuefive.js";

const LOCAL = { rpcUrl: "http://127.0.0.1:8545", chainId: VENUEFIVE_CHAIN_ID, addresses: VENUEFIVE_ADDRESSES };

describe("the local venuefive of the demo, as settings of the service,", () => {
  it("is none where it does not run: the service starts without", () => {
    expect(venuefiveSettings(null)).toEqual({});
  });

  it("is the chain that runs, with its contracts and all of its events", () => {
    const result = readConfig(venuefiveSettings(LOCAL), () => null);
    if (!result.ok) throw new Error(result.problems.join());
    const { Trading, TradingStorage, PairStorage, Multicall, Usdc } = VENUEFIVE_ADDRESSES;
    const addresses = { Trading, TradingStorage, PairStorage, Multicall, USDC: Usdc };
    expect(result.config.clientSigned).toMatchObject({
      ...{ rpcUrls: [LOCAL.rpcUrl], chainId: 8453, fromBlock: 1 },
      addresses: Object.fromEntries(Object.entries(addresses).map(([name, at]) => [name, at.toLowerCase()])),
    });
  });

  it("without one of its contracts is refused by name, and does not read the real one's in its place", () => {
    const { Multicall: _, ...others } = VENUEFIVE_ADDRESSES;
    const result = readConfig(venuefiveSettings({ ...LOCAL, addresses: others }), () => null);
    expect(result).toEqual({ ok: false, problems: ["VENUEFIVE_MULTICALL_ADDRESS must be 0x and 40 hex digits"] });
  });
});
