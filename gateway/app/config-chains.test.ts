/** Chains and deposit pairs of the configuration: what is read, what is refused, and that no URL of an endpoint is shown. */
import { describe, expect, it } from "vitest";
import { readConfig } from "./config.js";
import type { Environment } from "./config-reading.js";

const SERVE = { UNWIND_PROFILE: "serve", AUTH_MODE: "signed", KEK_PASSPHRASE: "long enough for a test" };
const read = (environment: Environment) => readConfig(environment, () => null);
const problems = (environment: Environment): readonly string[] => {
  const result = read(environment);
  return result.ok ? [] : result.problems;
};
const transfers = (environment: Environment) => {
  const result = read(environment);
  if (!result.ok) throw new Error(result.problems.join("; "));
  return result.config.transfers;
};

describe("chains", () => {
  it("are none without endpoints", () => {
    expect(transfers({})).toEqual({
      ...{ chains: [], explorerUrls: new Map(), depositWaitMs: 20_000, reconcileIntervalMs: 3_600_000 },
    });
  });

  it("are those that have endpoints, each with its confirmations and limits of gas", () => {
    const { chains, explorerUrls } = transfers({
      CHAIN_56_RPC_URLS: "https://one.example/key, https://two.example/",
      CHAIN_56_CONFIRMATIONS: "3",
      CHAIN_56_TIP_MAX_GWEI: "0.05",
      CHAIN_42161_RPC_URLS: "http://127.0.0.1:8545",
      EXPLORER_URL_56: "https://explorer.example/",
    });
    expect(chains).toEqual([
      {
        chainId: 56,
        rpcUrls: ["https://one.example/key", "https://two.example/"],
        confirmations: 3,
        gasLimits: { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 50_000_000n },
      },
      {
        chainId: 42161,
        rpcUrls: ["http://127.0.0.1:8545"],
        confirmations: 64,
        gasLimits: { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
      },
    ]);
    expect([...explorerUrls]).toEqual([[56, "https://explorer.example"]]);
  });

  it.each([
    ["ws://one.example/secretkey", "CHAIN_1_RPC_URLS: endpoint 1 must be a URL of http or https"],
    ["secretkey", "CHAIN_1_RPC_URLS: endpoint 1 must be a URL of http or https"],
    ["https://one.example/secretkey,https://one.example/secretkey", "CHAIN_1_RPC_URLS: endpoint 2 is there twice"],
    ["http://one.example/secretkey", "CHAIN_1_RPC_URLS: endpoint 1 must be https unless it is on this machine"],
  ])("refuse %s, and do not show it", (urls, problem) => {
    expect(problems({ ...SERVE, CHAIN_1_RPC_URLS: urls })).toEqual([problem]);
    expect(problem).not.toContain("secretkey");
  });

  it("refuse a tip above the price of gas", () => {
    expect(problems({ CHAIN_1_TIP_MAX_GWEI: "300" })).toEqual([
      "CHAIN_1_TIP_MAX_GWEI (300) must not be above CHAIN_1_GAS_PRICE_MAX_GWEI (200)",
    ]);
  });
});

describe("deposits", () => {
  it("refuse a pair that cannot be read, and a minimum below which the bridge keeps the money", () => {
    expect(
      problems({
        VENUETWO_DEPOSIT_PAIRS: "[{}]",
        VENUEONE_DEPOSIT_PAIRS: "{",
        VENUEONE_MINIMUM_DEPOSIT_AMOUNT: "4.999999",
      }),
    ).toEqual([
      "VENUEONE_DEPOSIT_PAIRS must be a JSON list",
      "VENUEONE_MINIMUM_DEPOSIT_AMOUNT must be 5 at least: less would be lost",
      "VENUETWO_DEPOSIT_PAIRS pair 1: chainId must be a whole number from 1",
    ]);
    expect(problems({ VENUEONE_MINIMUM_DEPOSIT_AMOUNT: "5.5", VENUETWO_MINIMUM_DEPOSIT_AMOUNT: "0" })).toEqual([
      "VENUETWO_MINIMUM_DEPOSIT_AMOUNT must be an amount above 0 with at most six decimals, or empty",
    ]);
  });
});
