/** The local contracts have the real ones' functions, events and structs, with the names of every field. */
import { type AbiEvent, type AbiFunction, type AbiParameter, toEventSelector, toFunctionSelector } from "viem";
import { describe, expect, it } from "vitest";
import { VENUEFIVE_CONTRACTS, type VenuefiveContract } from "../contracts/artifacts.js";
import fixture from "../fixtures/abi.json" with { type: "json" };
import { linesOf } from "./abi-lines.js";

const LOCAL_NAME: Readonly<Record<string, VenuefiveContract>> = { USDC: "Usdc" };
/** Published by the contract's own indexer bindings. */
const SELECTORS: readonly (readonly [name: string, inputCount: number, selector: string])[] = [
  ["openTrade", 3, "0x19cde9a1"],
  ["closeTradeMarket", 3, "0x2c3cbce4"],
  ["cancelOpenLimitOrder", 2, "0xb9b6573a"],
  ["updateOpenLimitOrder", 6, "0xc641558e"],
  ["updateMargin", 6, "0xb9fe2af3"],
  ["updateMargin", 5, "0xcd90b8a4"],
  ["updateTpAndSl", 6, "0x8dffdc3c"],
  ["updateTpAndSl", 5, "0x15b760b1"],
  ["delegatedAction", 2, "0x9a10cc32"],
  ["delegations", 1, "0xbffe3486"],
  ["setDelegate", 1, "0xca5eb5e1"],
  ["removeDelegate", 0, "0x36fb8b15"],
  ["executeMarketOrders", 3, "0xcbabcbc0"],
  ["executeMarketOrders", 4, "0x53e8840c"],
  ["executeLimitOrder", 6, "0x1ba973b0"],
  ["executeLimitOrder", 7, "0xc3bd7f39"],
  ["cancelPendingMarketOrder", 1, "0xc5ed6a08"],
  ["limitOrdersTimelock", 0, "0x0890d22a"],
  ["operator", 0, "0x570ca735"],
];
const TOPICS: Readonly<Record<string, readonly [VenuefiveContract, string]>> = {
  MarketOrderInitiated: ["Trading", "0x9d20fe25d5b18ddf053eb042d606b6f438ec532c9978753d5284b6128063a1bd"],
  OpenLimitPlaced: ["Trading", "0x34a9b59081ec3c1409d89b4ebbc63bb5cc67d740a69910139aef53444a39f729"],
  OpenLimitUpdated: ["Trading", "0x710a8db87f04e82a9de40076812593a965f4aa48693196d2144c07ff9710e890"],
  OpenLimitCanceled: ["Trading", "0x99b2cab0fe1db813d380331f51c117d5622d07c79686cc4ecd043e8d56ace094"],
  LimitOrderInitiated: ["Trading", "0xd0ac65cbccd4e7062356a9be37735153d991bdc4de08f024a8fffc0600f70488"],
  MarginUpdated: ["Trading", "0x48452067591e9581b9c1f3135e16ae22829a7c8afc6b3d6a1afa2cd295cc1133"],
  TpUpdated: ["Trading", "0x01c13b316ce9327f58f220b36e368c197eda79df0102d7f4363f1e7fe29323e8"],
  SlUpdated: ["Trading", "0x6a750d0aaea2df37b3b72b79412df54b9e55109ccfaedf5dcecc2af9993a61de"],
  SlUpdateInitiated: ["Trading", "0xb24bbc82fd04bd3dab7c96c1cabc7a0f7a1a87dfa2b47239926fbde0a0bfa8be"],
  MarketExecuted: ["TradingCallbacks", "0x5c00d8b4c6c92b4922d1bd61ef722ec9a29169acb95d956676b07be6a6643eea"],
  MarketOpenCanceled: ["TradingStorage", "0x4b2ef4d80a0964a9a8f43256d8111558389b384d2029743c1eeb6950b14d9c65"],
};

const namesOf = (parameters: readonly AbiParameter[]): (string | undefined)[] => parameters.map(({ name }) => name);

describe("the contracts of the local venuefive", () => {
  it.each(Object.entries(fixture.contracts))("have all that the real %s has, field for field", (name, lines) => {
    const own = new Set(linesOf(VENUEFIVE_CONTRACTS[LOCAL_NAME[name] ?? (name as VenuefiveContract)].abi));
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => !own.has(line))).toEqual([]);
  });

  it("are called by the published selectors", () => {
    const functions = VENUEFIVE_CONTRACTS.Trading.abi.filter((item): item is AbiFunction => item.type === "function");
    for (const [name, inputCount, selector] of SELECTORS) {
      const own = functions.find((item) => item.name === name && item.inputs.length === inputCount);
      expect([name, inputCount, own && toFunctionSelector(own)]).toEqual([name, inputCount, selector]);
    }
  });

  it("emit the published topics from the contract that the real ones are emitted from", () => {
    for (const [name, [contract, topic]] of Object.entries(TOPICS)) {
      const event = VENUEFIVE_CONTRACTS[contract].abi.find((item) => item.type === "event" && item.name === name);
      expect([name, event && toEventSelector(event as AbiEvent)]).toEqual([name, topic]);
    }
  });

  it("keep the order of a trade's fields, in which the two that swap are neighbours", () => {
    const open = VENUEFIVE_CONTRACTS.Trading.abi.find((item) => item.type === "function" && item.name === "openTrade");
    const [trade] = (open as AbiFunction).inputs as readonly { readonly components: readonly AbiParameter[] }[];
    expect(namesOf(trade?.components ?? [])).toEqual(
      "trader pairIndex index initialPosToken positionSizeUSDC openPrice buy leverage tp sl timestamp".split(" "),
    );
  });
});
