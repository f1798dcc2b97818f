/** What a deposit at venuetwo calls, and what the vault's events say that it took. */
import { describe, expect, it } from "vitest";
import type { ChainLog } from "../../../engine/chain.js";
import { fromHex, toHex } from "../../shared/sign/eip712.js";
import { DEFAULT_ROUTES, depositRoute } from "./routes.js";

const ACCOUNT = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER = `0x${"9".repeat(40)}`;
const TOPIC = "0x18081cde2fa64894914e1080b98cca17bb6d1acf633e57f6e26ebdb945ad830b";
const USDC = {
  chainId: 42161,
  symbol: "USDC",
  address: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
  decimals: 6,
  resetsAllowance: false,
  vault: "0x9E36CB86a159d479cEd94Fa05036f235Ac40E1d5",
  minimum: 1_000_000n,
};
const route = depositRoute(USDC);

const word = (value: string | bigint): string =>
  (typeof value === "bigint" ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, "0");

function deposit({
  vault = USDC.vault as string,
  account = ACCOUNT,
  token = USDC.address as string,
  isNative = 0n,
  amount = 25_000_000n,
} = {}): ChainLog {
  return {
    address: vault,
    topics: [TOPIC, `0x${word(account)}`, `0x${word(token)}`],
    data: fromHex(word(isNative) + word(amount) + word(1000n)),
  };
}

describe("a route of deposits", () => {
  it("is by default the pair of the interface spec, and its spender the vault", () => {
    expect(DEFAULT_ROUTES.map(depositRoute)).toMatchObject([
      {
        token: { chainId: 56, symbol: "USDT", decimals: 18, resetsAllowance: false },
        spender: "0x128463a60784c4d3f46c23af3f65ed859ba87974",
        minimum: 10n ** 18n,
      },
    ]);
  });

  /** Derived from the contract's ABI by other libraries (sheet section 9.4): 25 USDC on chain 42161, broker 1000. */
  it("calls the vault with token, amount and broker, which is 1000 unless another is named", () => {
    const data =
      "0x0efe6a8b000000000000000000000000af88d065e77c8cc2239327c5edb3a432268e583100000000000000000000000000000000000000000000000000000000017d784000000000000000000000000000000000000000000000000000000000000003e8";
    const { to, data: called } = route.call(25_000_000n, null);
    expect([to, toHex(called)]).toEqual([USDC.vault.toLowerCase(), data]);
    expect(toHex(route.call(25_000_000n, 1000).data)).toBe(data);
    expect(toHex(route.call(25_000_000n, 1).data).slice(-64)).toBe(word(1n));
  });

  it("took what the vault's events say, and nothing without one", () => {
    expect(route.taken([deposit({ amount: 24_999_999n })], ACCOUNT)).toBe(24_999_999n);
    expect(route.taken([deposit(), deposit({ amount: 1n })], ACCOUNT.toUpperCase().replace("0X", "0x"))).toBe(
      25_000_001n,
    );
    expect(route.taken([], ACCOUNT)).toBeNull();
  });

  it.each([
    ["another contract's", { vault: OTHER }],
    ["another account's", { account: OTHER }],
    ["another token's", { token: OTHER }],
    ["the native coin's", { isNative: 1n }],
  ])("took nothing by an event that is %s", (_, changes) => {
    expect(route.taken([deposit(changes)], ACCOUNT)).toBeNull();
  });

  it("took nothing by an event of another kind", () => {
    const { topics, ...log } = deposit();
    expect(route.taken([{ ...log, topics: [`0x${"1".repeat(64)}`, ...topics.slice(1)] }], ACCOUNT)).toBeNull();
    expect(route.taken([{ ...log, topics: topics.slice(0, 2) }], ACCOUNT)).toBeNull();
    expect(route.taken([{ ...log, topics: [...topics, TOPIC] }], ACCOUNT)).toBeNull();
    expect(route.taken([{ ...log, topics, data: log.data.subarray(0, 31) }], ACCOUNT)).toBeNull();
  });
});
