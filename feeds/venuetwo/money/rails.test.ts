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

describe("the history of an account's money at venuetwo", () => {
  const INCOME = { symbol: "", incomeType: "TRANSFER", asset: "USDT", info: "TRANSFER" };
  const income = (row: object) => ({ ...INCOME, ...row });
  const scene = (moves: unknown, rows: unknown) =>
    moneyScene({ "/fapi/v3/aster/deposit-withdraw-history": ok(moves), "/fapi/v3/income": ok(rows) });

  it("has what came, went and moved between the accounts since, failures with their word", async () => {
    const out = { ...ROW, id: "6", type: "WITHDRAW", amount: "3.5", txHash: null };
    const moves = [ROW, { ...ROW, time: 0 }, out, { ...out, id: "7", state: "FAILED" }];
    const rows = [
      income({ income: "5.00000000", time: 2, tranId: 91 }),
      income({ income: "-1.5", time: 3, tranId: 92 }),
      income({ income: "9", time: 0, tranId: 93 }),
    ];
    const { money, session } = scene(moves, rows);
    const read = await money.history(ACCOUNT, 1, session, OPTIONS);
    const value = read.ok ? read.value : [];
    expect(value.map(({ kind, venueId, amounts, kindType }) => [kind, venueId, ...amounts, kindType])).toEqual([
      ["deposit", "5", "12", null],
      ["withdrawal", "6", "3.5", null],
      ["withdrawal", "7", "3.5", null],
      ["internal", "91", "5.00000000", "SPOT_FUTURE"],
      ["internal", "92", "1.5", "FUTURE_SPOT"],
    ]);
    expect(value.map(({ hasFailed }) => hasFailed)).toEqual([false, false, true, false, false]);
    expect(value[0]).toMatchObject({ chainId: 56, asset: "USDT", hash: HASH, atMs: 1 });
    // Whether the list's amounts of withdrawals have the fee in them is not stated.
    expect(value.map(({ isFeeOpen }) => isFeeOpen ?? false)).toEqual([false, true, true, false, false]);
  });

  it("is whole or not known: without a key, from a page, and where one answer has as many as fit", async () => {
    const { money, session } = scene([], "<html>");
    expect(await money.history(ACCOUNT, 1, null, OPTIONS)).toMatchObject({ ok: false, code: "NEEDS_CREDENTIALS" });
    expect(await money.history(ACCOUNT, 1, session, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    const full = scene(
      [],
      Array.from({ length: 1_000 }, (_, index) => income({ income: "1", time: 2, tranId: index })),
    );
    expect(await full.money.history(ACCOUNT, 1, full.session, OPTIONS)).toMatchObject({ ok: false });
  });
});
