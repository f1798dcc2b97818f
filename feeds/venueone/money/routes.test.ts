/** What a deposit at venueone calls, and what the token's events say that reached the bridge. */
import { describe, expect, it } from "vitest";
import type { ChainLog } from "../../../engine/chain.js";
import { fromHex, toHex } from "../../shared/sign/eip712.js";
import { bridgeRoute, DEFAULT_ROUTES } from "./routes.js";

const ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER = `0x${"9".repeat(40)}`;
const USDC = "0xaf88d065e77c8cc2239327c5edb3a432268e5831";
const BRIDGE = "0x2df1c51e09aecf9cacb7bc98cb1742757f163df7";
const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const route = bridgeRoute(DEFAULT_ROUTES.main);
const word = (value: string | bigint): string =>
  (typeof value === "bigint" ? value.toString(16) : value.slice(2)).padStart(64, "0");

function transfer({ token = USDC, from = ACCOUNT, to = BRIDGE, amount = 12_500_000n } = {}): ChainLog {
  return {
    address: token,
    topics: [TRANSFER_TOPIC, `0x${word(from)}`, `0x${word(to)}`],
    data: fromHex(word(amount)),
  };
}

describe("the bridge's route", () => {
  it("sends native USDC of chain 42161 to it, five at least, with nothing approved", () => {
    expect(route).toMatchObject({
      token: { chainId: 42161, symbol: "USDC", address: USDC, decimals: 6 },
      spender: null,
      minimum: 5_000_000n,
    });
    const { to, data } = route.call(12_500_000n, null);
    expect([to, toHex(data)]).toEqual([USDC, `0xa9059cbb${word(BRIDGE)}${word(12_500_000n)}`]);
    expect(bridgeRoute(DEFAULT_ROUTES.test).token).toMatchObject({ chainId: 421614, symbol: "USDC" });
  });

  it("took what the token's events say, and nothing without one of this wallet to this bridge", () => {
    expect(route.taken([transfer(), transfer({ amount: 1n })], ACCOUNT)).toBe(12_500_001n);
    expect(route.taken([], ACCOUNT)).toBeNull();
    for (const changes of [{ token: OTHER }, { from: OTHER }, { to: OTHER }])
      expect(route.taken([transfer(changes)], ACCOUNT)).toBeNull();
  });
});
