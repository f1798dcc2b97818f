import { describe, expect, it } from "vitest";
import { VENUEFIVE_PAIRS } from "../../schemas/venuefive/contracts.js";
import { readVenuefive, VENUEFIVE_OPTIONS, type VenuefiveConfig, type VenuefiveValues } from "./descriptor.js";

const KEY = "secret-key-in-a-path";
const DEFAULTS = Object.fromEntries(
  Object.entries(VENUEFIVE_OPTIONS).map(([name, { default: value }]) => [name, value]),
) as unknown as VenuefiveValues;

function read(values: Partial<VenuefiveValues>): { config: VenuefiveConfig | null; problems: readonly string[] } {
  const problems: string[] = [];
  const config = readVenuefive({ ...DEFAULTS, RPC_URLS: [`https://node.example/${KEY}`], ...values }, problems);
  return { config, problems };
}

describe("the options of venuefive", () => {
  it("run no room without an endpoint, nor where it is switched off", () => {
    expect(read({ RPC_URLS: [] })).toEqual({ config: null, problems: [] });
    expect(read({ ENABLED: false })).toEqual({ config: null, problems: [] });
  });

  it("take chain, addresses and pairs of the interface spec where nothing else is set", () => {
    const { config, problems } = read({});
    expect(problems).toEqual([]);
    expect(config).toMatchObject({ chainId: 8453, fromBlock: null, historyUrl: null, pollMs: 1_000 });
    expect(config?.addresses.Trading).toBe("0x44914408af82bc9983bbb330e3578e1105e11d4e");
    expect([...(config?.map.symbols ?? [])]).toEqual(VENUEFIVE_PAIRS.map((symbol, index) => [index, symbol]));
  });

  it("take a map of pairs and addresses of their own", () => {
    const { config, problems } = read({
      PAIRS: ["eth=0", " BTC=1", "XAU=21"],
      MULTICALL_ADDRESS: `0x${"AB".repeat(20)}`,
    });
    expect(problems).toEqual([]);
    expect([...(config?.map.symbols ?? [])]).toEqual([
      [0, "ETH"],
      [1, "BTC"],
      [21, "XAU"],
    ]);
    expect(config?.addresses.Multicall).toBe(`0x${"ab".repeat(20)}`);
  });

  it.each<[Partial<VenuefiveValues>, string]>([
    [{ PAIRS: ["ETH"] }, 'VENUEFIVE_PAIRS: "ETH" is not like ETH=0'],
    [{ PAIRS: ["ETH=01"] }, 'VENUEFIVE_PAIRS: "ETH=01" is not like ETH=0'],
    [{ PAIRS: ["ETH=0", "eth=1"] }, "VENUEFIVE_PAIRS: eth is there twice"],
    [{ PAIRS: ["ETH=0", "BTC=0"] }, "VENUEFIVE_PAIRS: index 0 is there twice"],
    [{ USDC_ADDRESS: "0x12" }, "VENUEFIVE_USDC_ADDRESS must be 0x and 40 hex digits"],
    [{ MULTICALL_ADDRESS: "" }, "VENUEFIVE_MULTICALL_ADDRESS must be 0x and 40 hex digits"],
    [{ RPC_URLS: [`wss://node.example/${KEY}`] }, "VENUEFIVE_RPC_URLS: endpoint 1 must be a URL of http or https"],
    [{ RPC_URLS: [KEY] }, "VENUEFIVE_RPC_URLS: endpoint 1 must be a URL of http or https"],
    [
      { RPC_URLS: [`https://node.example/${KEY}`, `https://node.example/${KEY}`] },
      "VENUEFIVE_RPC_URLS: endpoint 2 is there twice",
    ],
  ])("refuse %j with one sentence, without a key", (values, problem) => {
    expect(read(values).problems).toEqual([problem]);
    expect(problem).not.toContain(KEY);
  });
});
