/** Money of server wallets in the words of the page, and what its forms send. */
import { describe, expect, it } from "vitest";
import type { FundRoute } from "../../schemas/page-facts.js";
import type { TransferView } from "../../schemas/transfers.js";
import { amountProblem, checkLines, choicesOf, fundRow, heldRows, orderOf, rawAmount } from "./funds.js";

const USDT: FundRoute = {
  ...{ exchange: "venuetwo", asset: "USDT", chainId: 56, network: "network_56", decimals: 18 },
  ...{ paysOut: true, hasAccounts: true },
};
const USDC: FundRoute = {
  ...{ exchange: "venueone", asset: "USDC", chainId: 42161, network: "network_42161", decimals: 6 },
  ...{ paysOut: true, hasAccounts: false },
};
const WALLET = { walletId: "w1", address: "0xAb" };

const TRANSFER: TransferView = {
  ...{ transferId: "t1", kind: "deposit", exchange: "venuetwo", walletId: "w1", address: "0xab", state: "broadcast" },
  ...{ reason: null, reasonText: "", createdAt: 0, updatedAt: 0, asset: "USDT", amount: "1250.5", venueId: null },
  ...{ chainId: 56, network: "network_56", txHash: `0x${"ab".repeat(32)}`, txUrl: "", steps: [], receiver: null },
  ...{ isCreditAwaited: false, accountType: null, fee: null, payout: null, paid: null, kindType: null },
  clientTranId: null,
};
const STEP: TransferView["steps"][number] = {
  ...{ name: "deposit", txHash: null, txUrl: "", nonce: 0, versions: 1, blockNumber: 7, confirmations: 2 },
  ...{ isFinal: false, succeeded: true, gasCost: "0.1" },
};

describe("the ways of an act", () => {
  it("are one for each token and chain, for each account that pays, and for both directions between accounts", () => {
    const texts = (act: Parameters<typeof choicesOf>[0]) => choicesOf(act, [USDC, USDT]).map(({ text }) => text);
    expect(texts("deposit")).toEqual(["USDC on network_42161 to venueone", "USDT on network_56 to venuetwo"]);
    expect(texts("withdraw")).toEqual([
      "USDC from venueone to network_42161",
      "USDT from venuetwo spot to network_56",
      "USDT from venuetwo perp to network_56",
    ]);
    expect(texts("transfer")).toEqual(["venuetwo USDT from spot to perp", "venuetwo USDT from perp to spot"]);
    expect(choicesOf("withdraw", [{ ...USDT, paysOut: false }])).toEqual([]);
  });

  it("are sent with the amount as it was typed, to the wallet itself; of venuetwo's withdrawal in the smallest unit", () => {
    const [toOne, toTwo] = choicesOf("deposit", [USDC, USDT]) as [never, never];
    expect(orderOf("deposit", WALLET, toOne, "0.10")).toEqual({
      ...{ act: "deposit", exchange: "venueone" },
      body: { walletIdOrAddress: "w1", tokenSymbol: "USDC", amount: "0.10", network: "network_42161" },
    });
    expect(orderOf("deposit", WALLET, toTwo, "5")).toMatchObject({
      exchange: "venuetwo",
      body: { network: "network_56" },
    });
    const [fromOne, , fromPerp] = choicesOf("withdraw", [USDC, USDT]) as [never, never, never];
    expect(orderOf("withdraw", WALLET, fromPerp, "123456789.000000000000000001")).toEqual({
      ...{ act: "withdraw", isNative: true },
      body: {
        ...{ walletAddress: "0xAb", receiver: "0xAb", chainId: 56, asset: "USDT", accountType: "perp" },
        amount: "123456789000000000000000001",
      },
    });
    expect(orderOf("withdraw", WALLET, fromOne, "20.25")).toEqual({
      ...{ act: "withdraw", isNative: false, walletId: "w1" },
      body: { walletIdOrAddress: "w1", destination: "0xAb", amount: "20.25", chainId: 42161 },
    });
    const [, back] = choicesOf("transfer", [USDT]) as [never, never];
    expect(orderOf("transfer", WALLET, back, "3")).toEqual({
      ...{ act: "transfer", body: { walletId: "w1", amount: "3", asset: "USDT", kindType: "FUTURE_SPOT" } },
    });
  });
});

describe("an amount", () => {
  it.each([
    ["", "Enter an amount."],
    ["1e3", "An amount is a number such as 25.5."],
    ["0x10", "An amount is a number such as 25.5."],
    ["1,5", "An amount is a number such as 25.5."],
    ["-1", "The amount must be above 0."],
    ["0.000", "The amount must be above 0."],
    ["0.0000001", "USDC has at most 6 decimal places."],
    ["0.000001", ""],
    ["9007199254740993.000001", ""],
  ])("%j: %j", (text, problem) => {
    expect(amountProblem(text, USDC)).toBe(problem);
  });

  it("keeps every digit in the smallest unit", () => {
    expect(rawAmount("9007199254740993.000001", 6)).toBe("9007199254740993000001");
    expect(rawAmount("1", 18)).toBe("1000000000000000000");
    expect(rawAmount("0.10", 6)).toBe("100000");
  });
});

describe("a transfer as a row", () => {
  it("has its state, its confirmations, and is open until nothing can change any more", () => {
    const row = fundRow({ ...TRANSFER, steps: [{ ...STEP, name: "approve", isFinal: true }, STEP] });
    expect(row).toMatchObject({
      ...{ title: "Deposit to venuetwo", amount: "1,250.5 USDT", network: "network_56", stateText: "BROADCAST" },
      ...{ note: "", confirmations: "2", hashUrl: "", isOpen: true },
    });
    const final: TransferView = { ...TRANSFER, state: "confirmed", steps: [{ ...STEP, isFinal: true }] };
    expect(fundRow(final)).toMatchObject({ confirmations: "final", isOpen: false });
    expect(fundRow({ ...final, isCreditAwaited: true })).toMatchObject({
      ...{ isOpen: true, note: "final on chain, not shown by the venue yet" },
    });
    for (const state of ["created", "signed", "unknown"] as const)
      expect(fundRow({ ...TRANSFER, state }).isOpen).toBe(true);
  });

  it("says why it failed, and what the venue keeps and pays", () => {
    const failed = { ...TRANSFER, state: "failed", reason: "WOULD_REVERT", reasonText: "paused" } as const;
    expect(fundRow(failed)).toMatchObject({ note: "would revert · paused", isOpen: false });
    const withdrawn = { ...TRANSFER, kind: "withdrawal", accountType: "perp", fee: "1", payout: "pending" } as const;
    expect(fundRow(withdrawn)).toMatchObject({
      ...{ title: "Withdrawal from venuetwo, perp", note: "payout pending · fee 1 USDT", confirmations: "–" },
    });
    const moved = { ...TRANSFER, kind: "internal", kindType: "SPOT_FUTURE", network: null, txHash: null } as const;
    expect(fundRow(moved)).toMatchObject({ title: "Transfer at venuetwo, spot to perp", network: "–", hash: "" });
  });

  it("links to an explorer by http alone", () => {
    const url = (txUrl: string) => fundRow({ ...TRANSFER, txUrl }).hashUrl;
    expect(url("https://explorer.example/tx/0x1")).toBe("https://explorer.example/tx/0x1");
    expect(url("javascript:alert(1)")).toBe("");
  });
});

describe("what a wallet has", () => {
  it("is shown part by part: one that fails says so and hides none of the others", () => {
    const rows = heldRows({
      ...{ walletId: "w1", address: "0xab" },
      chains: [
        {
          chainId: 56,
          network: "network_56",
          native: "1",
          tokens: [{ symbol: "USDT", address: "0x1", amount: "1000" }],
        },
        {
          ...{ chainId: 42161, network: "network_42161", native: null, tokens: [] },
          error: { code: "CHAIN_UNAVAILABLE", message: "Chain 42161 does not answer" },
        },
      ],
      venues: [
        { exchange: "venueone", balances: [] },
        { exchange: "venuetwo", balances: [], error: { code: "API_KEY_NOT_FOUND", message: "API key not found" } },
        { exchange: "venuefour", balances: [{ accountType: "perp", asset: "USDC", free: "0.00" }] },
      ],
    });
    expect(rows.map(({ place, asset, amount, problem }) => [place, asset, amount, problem])).toEqual([
      ["network_56", "gas", "1", ""],
      ["network_56", "USDT", "1,000", ""],
      ["network_42161", "", "–", "Chain 42161 does not answer."],
      ["venueone", "", "–", "Nothing there."],
      ["venuetwo", "", "–", "Not known without a key of the wallet there."],
      ["venuefour perp", "USDC", "0", ""],
    ]);
  });
});

describe("a dry run", () => {
  it("shows fee, gas, minimum and what is there", () => {
    const common = {
      withdrawalId: "",
      network: "",
      timestamp: 0,
      transferId: null,
      chainId: 56,
      receiver: "0x",
    } as const;
    expect(
      checkLines(
        {
          ...{ ...common, status: "DRY_RUN", amount: "5", asset: "USDT", fee: "0.3", feeIsInside: false },
          check: { minimum: "1", available: "9" },
        },
        "USDT",
      ),
    ).toEqual([
      { name: "Venue's fee", text: "0.3 USDT, on top" },
      { name: "Minimum", text: "1 USDT" },
      { name: "Available", text: "9 USDT" },
    ]);
    expect(
      checkLines(
        {
          ...{ txHash: null, txUrl: "", amount: "5", token: "USDT", network: "bsc", decimals: 18, blockNumber: null },
          ...{ transferId: null, status: "DRY_RUN" },
          check: {
            minimum: "1",
            available: "9",
            gas: { needed: "0.01", available: "1" },
            steps: ["approve", "deposit"],
          },
        },
        "USDT",
      ).map(({ name, text }) => `${name}: ${text}`),
    ).toEqual([
      "Gas, at most: 0.01 coins of 1",
      "Transactions: approve, deposit",
      "Minimum: 1 USDT",
      "Available: 9 USDT",
    ]);
  });
});
