/** Deposits that the venue has credited, and balances of both accounts. */
import { describe, expect, it } from "vitest";
import { ACCOUNT, moneyScene, ONE } from "../test/money-scene.js";
import { OPTIONS, V1 } from "../test/trading-harness.js";

const HASH = `0x${"ab".repeat(32)}`;
const ok = (body: unknown) => ({ status: 200, body });
const ROW = {
  ...{ id: "5", type: "DEPOSIT", asset: "USDT", amount: "12", state: "SUCCESS", txHash: HASH.toUpperCase() },
  ...{ time: 1, chainId: 56, accountType: "spot" },
};

async function look(rows: unknown) {
  const { money, session } = moneyScene({ "/fapi/v3/aster/deposit-withdraw-history": ok(rows) });
  const deposit = { account: ACCOUNT, hash: HASH, chainId: 56, amount: 12n * ONE, sentAtMs: 0 };
  return money.deposits.look(deposit, session, OPTIONS);
}

describe("a deposit in the venue's list", () => {
  it.each<[what: string, changes: object, value: readonly string[]]>([
    ["credited", {}, ["5"]],
    ["credited, in the other word for it", { state: "COMPLETED" }, ["5"]],
    ["of another amount: the transaction decides", { amount: "11.9" }, ["5"]],
    ["under way", { state: "PROCESSING" }, []],
    ["failed", { state: "FAILED" }, []],
    ["of another transaction", { txHash: `0x${"cd".repeat(32)}` }, []],
    ["of another chain", { chainId: 1 }, []],
    ["a withdrawal", { type: "WITHDRAW" }, []],
  ])("is %s", async (_, changes, value) => {
    expect(await look([{ ...ROW, ...changes }])).toMatchObject({ ok: true, value });
  });

  it("is not known without a key, nor from a page", async () => {
    const { money } = moneyScene();
    const deposit = { account: ACCOUNT, hash: HASH, chainId: 56, amount: 1n, sentAtMs: 0 };
    expect(await money.deposits.look(deposit, null, OPTIONS)).toMatchObject({ ok: false, code: "NEEDS_CREDENTIALS" });
    expect(await look("<html>")).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });
});

const SPOT = { balances: [{ asset: "USDT", free: "1.5", locked: "2" }] };
const PERP = [
  { asset: "USDT", balance: "10", availableBalance: "9", maxWithdrawAmount: "8" },
  { asset: "USDF", balance: "4", availableBalance: "3" },
];

describe("balances", () => {
  it("are what may leave each account", async () => {
    const { money, session } = moneyScene({ "/api/v3/account": ok(SPOT), "/fapi/v3/balance": ok(PERP) });
    expect(await money.balances(ACCOUNT, session, OPTIONS)).toMatchObject({
      ok: true,
      value: [
        { accountType: "spot", asset: "USDT", free: "1.5" },
        { accountType: "perp", asset: "USDT", free: "8" },
        { accountType: "perp", asset: "USDF", free: "3" },
      ],
    });
  });

  it("are whole or not known: the spot host fails with a page at times", async () => {
    const answers = { "/api/v1/account": { status: 500, body: "<html>" }, "/fapi/v2/balance": ok(PERP) };
    const { money, session } = moneyScene(answers, V1);
    expect(await money.balances(ACCOUNT, session, OPTIONS)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    const perp = moneyScene({ "/api/v3/account": ok(SPOT), "/fapi/v3/balance": ok([{ asset: "USDT" }]) });
    expect(await perp.money.balances(ACCOUNT, perp.session, OPTIONS)).toMatchObject({ ok: false });
    expect(await perp.money.balances(ACCOUNT, null, OPTIONS)).toMatchObject({ ok: false, code: "NEEDS_CREDENTIALS" });
  });
});

describe("routes", () => {
  it("are found by chain and token, of deposits and of withdrawals alike", () => {
    const { money } = moneyScene();
    expect(money.deposits.route(56, "USDT")?.token).toEqual(money.withdrawals.token(56, "USDT"));
    for (const [chainId, symbol] of [
      [1, "USDT"],
      [56, "USDC"],
    ] as const) {
      expect(money.deposits.route(chainId, symbol)).toBeNull();
      expect(money.withdrawals.token(chainId, symbol)).toBeNull();
    }
  });
});
