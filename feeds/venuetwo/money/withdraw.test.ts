/** Withdrawals at venuetwo: what is asked before, what each answer means, and which row of the venue's list is ours. */
import { describe, expect, it } from "vitest";
import type { WithdrawalRail } from "../../../engine/venue-money.js";
import type { HttpResult } from "../../shared/net/http.js";
import { ACCOUNT, type Answer, type MoneyScene, moneyScene, ONE, SIGNATURE } from "../test/money-scene.js";
import { AGENT, OPTIONS, paramsOf, V1 } from "../test/trading-harness.js";

const HOUR_MS = 3_600_000;
const ok = (body: unknown) => ({ status: 200, body });
const agents = (canWithdraw: unknown) => ok([{ agentAddress: AGENT, agentName: "unwind-1", canWithdraw }]);
/** As the venue's page prints it, with a number that needs an exponent. */
const ESTIMATE = ok(
  '{"code":"000000","message":null,"data":{"gasPrice":null,"gasLimit":200000,"tokenPrice":1.0,"gasCost":1.7E-4,"gasUsdValue":0.1},"success":true}',
);
const INFO = ok({
  userDailyLimit: "10000",
  balances: {
    USDT: {
      currency: "USDT",
      chainBalances: {
        "56": { chainId: 56, spotMaxWithdrawAmount: "500", perpMaxWithdrawAmount: "300.5", chainLimit: "400" },
      },
    },
  },
});
const TERMS = { "/fapi/v3/agent": agents(true), "estimate-withdraw-fee": ESTIMATE, "user-withdraw-info": INFO };

const railOf = (scene: MoneyScene): WithdrawalRail => scene.money.withdrawals;
const terms = (scene: MoneyScene, ask = scene.ask) => railOf(scene).terms(ask, scene.session, OPTIONS);

async function made(scene: MoneyScene, ask = scene.ask, fee = ONE / 100n) {
  const act = await railOf(scene).make(ask, fee);
  if (!act.ok) throw new Error(act.problem);
  return act.act;
}

const send = async (scene: MoneyScene, ask = scene.ask) =>
  railOf(scene).send(await made(scene, ask), SIGNATURE, scene.session, OPTIONS);

describe("the terms of a withdrawal", () => {
  it("are one and a half times the estimate, on top, and what account and chain can pay", async () => {
    const scene = moneyScene(TERMS);
    expect(await terms(scene)).toMatchObject({
      ok: true,
      value: {
        fee: 255_000_000_000_000n,
        minimum: 255_000_000_000_001n,
        available: (601n * ONE) / 2n,
        feeIsInside: false,
      },
    });
    expect(scene.requestOf("estimate-withdraw-fee").path.split("?")[1]).toBe(
      "chainId=56&network=EVM&currency=USDT&accountType=perp",
    );
    const spot = await terms(scene, { ...scene.ask, accountType: "spot" });
    expect(spot).toMatchObject({ ok: true, value: { available: 400n * ONE } });
  });

  it("are nothing where the venue grants nothing of the token on the chain", async () => {
    const scene = moneyScene({ ...TERMS, "user-withdraw-info": ok({ balances: {} }) });
    expect(await terms(scene)).toMatchObject({ ok: true, value: { available: 0n } });
  });

  it("are refused for an agent without the right before anything is signed, and so is what was signed", async () => {
    const scene = moneyScene({ ...TERMS, "/fapi/v3/agent": agents(false) });
    expect(await terms(scene)).toMatchObject({
      ok: false,
      code: "AUTH",
      message: "the agent has no right to withdraw",
    });
    expect(scene.paths()).toEqual(["/fapi/v3/agent"]);
    expect(await send(scene)).toMatchObject({ kind: "refused", reason: "RIGHT" });
    expect(scene.paths()).toEqual(["/fapi/v3/agent"]);
  });

  it("are asked again of a right after a minute", async () => {
    const scene = moneyScene({ ...TERMS, "/fapi/v3/agent": agents(false), "user-withdraw": ok({ withdrawId: "1" }) });
    await terms(scene);
    scene.clock.advance(60_000);
    expect(await send(scene)).toEqual({ kind: "done", venueId: "1" });
  });

  it("need a key, and of a key with a secret no right is known", async () => {
    const none = moneyScene(TERMS);
    expect(await railOf(none).terms(none.ask, null, OPTIONS)).toMatchObject({ ok: false, code: "NEEDS_CREDENTIALS" });
    const scene = moneyScene(TERMS, V1);
    expect(await terms(scene)).toMatchObject({ ok: true });
    expect(scene.paths()).toContain("/fapi/aster/user-withdraw-info");
    expect(scene.paths()).not.toContain("/fapi/v3/agent");
  });

  it.each<[what: string, answers: Record<string, { status: number; body: unknown }>, code: string]>([
    [
      "an estimate that refuses",
      { "estimate-withdraw-fee": ok({ code: "000002", data: null, success: false }) },
      "BAD_RESPONSE",
    ],
    [
      "an estimate below nothing",
      { "estimate-withdraw-fee": ok({ code: "000000", data: { gasCost: "-1" } }) },
      "BAD_RESPONSE",
    ],
    ["a page for an estimate", { "estimate-withdraw-fee": ok("<html>") }, "BAD_RESPONSE"],
    ["an estimate past a limit", { "estimate-withdraw-fee": { status: 429, body: "" } }, "RATE_LIMITED"],
    ["no limits", { "user-withdraw-info": { status: 500, body: "<html>" } }, "VENUE_ERROR"],
    [
      "an amount that is none",
      { "user-withdraw-info": ok({ balances: { USDT: { chainBalances: { 56: {} } } } }) },
      "BAD_RESPONSE",
    ],
  ])("are not known with %s", async (_, answers, code) => {
    expect(await terms(moneyScene({ ...TERMS, ...answers }))).toMatchObject({ ok: false, code });
  });
});

describe("an act of withdrawal", () => {
  it("has a nonce of the wallet's sequence, and may be taken for the venue's hour and the window of a request", async () => {
    const scene = moneyScene();
    scene.harness.offsetMs = -1_500;
    const [first, second] = [await made(scene), await made(scene)];
    const nonces = [first, second].map(({ request }) => Number((JSON.parse(request) as { nonce: string }).nonce));
    expect(nonces[1]).toBeGreaterThan(nonces[0] ?? 0);
    expect(scene.reservations.calls).toContain(`venuetwo:${ACCOUNT}`);
    expect(first.validUntilMs).toBe((nonces[0] ?? 0) / 1_000 + HOUR_MS + 60_000 + 1_500);
  });

  it("is not made of a token that is not the room's, nor without a durable nonce", async () => {
    const scene = moneyScene();
    const other = { ...scene.ask, token: { ...scene.ask.token, decimals: 6 } };
    expect(await railOf(scene).make(other, 0n)).toEqual({ ok: false, problem: "TOKEN", retryAfterMs: null });
    scene.reservations.reserve = () => Promise.reject(new Error("disk"));
    expect(await railOf(scene).make(scene.ask, 0n)).toMatchObject({ ok: false, problem: "NONCE_STORE" });
  });

  it.each([
    ["perp", "/fapi/v3/aster/user-withdraw"],
    ["spot", "/api/v3/aster/user-withdraw"],
  ] as const)("from the %s account goes out once, signed by both, to %s", async (accountType, path) => {
    const scene = moneyScene({ [path]: ok('{"withdrawId":1234567890123456789,"hash":"0x9a"}') });
    expect(await send(scene, { ...scene.ask, accountType })).toEqual({ kind: "done", venueId: "1234567890123456789" });
    expect(scene.paths()).toEqual([path]);
    expect(paramsOf(scene.http.last)).toMatchObject({
      ...{ chainId: "56", asset: "USDT", amount: "30", fee: "0.01", receiver: ACCOUNT, userSignature: SIGNATURE },
      ...{
        user: expect.stringMatching(/^0x/),
        signer: AGENT,
        nonce: expect.any(String),
        userNonce: expect.any(String),
      },
    });
  });

  it("goes with a key that has a secret by the older path, with the wallet's nonce as the nonce", async () => {
    const scene = moneyScene({ "/fapi/aster/user-withdraw": ok({ withdrawId: "7" }) }, V1);
    expect(await send(scene)).toEqual({ kind: "done", venueId: "7" });
    const params = paramsOf(scene.http.last);
    expect(params).toMatchObject({ nonce: expect.stringMatching(/^\d{16}$/), timestamp: expect.any(String) });
    expect(params["userNonce"]).toBeUndefined();
  });

  it("is not sent where another program stored it, without a session, with another wallet's agent, nor with half a signature", async () => {
    const scene = moneyScene();
    const act = await made(scene);
    expect(await railOf(scene).send(act, SIGNATURE, null, OPTIONS)).toMatchObject({ problem: "NEEDS_CREDENTIALS" });
    const foreign = { request: act.request.replaceAll(ACCOUNT, `0x${"9".repeat(40)}`) };
    expect(await railOf(scene).send(foreign, SIGNATURE, scene.session, OPTIONS)).toMatchObject({
      problem: "FOREIGN_KEY",
    });
    expect(await railOf(scene).send({ request: "{}" }, SIGNATURE, scene.session, OPTIONS)).toMatchObject({
      problem: "ACT_UNREADABLE",
    });
    expect(await railOf(scene).send(act, SIGNATURE.slice(0, -2), scene.session, OPTIONS)).toMatchObject({
      kind: "notSent",
    });
    expect(scene.paths()).toEqual([]);
  });
});

const error = (code: number, msg: string) => ({ status: 400, body: { code, msg } });
const refused = (reason: string) => ({ kind: "refused", reason, isSpent: false });
const TIMED_OUT: HttpResult = { kind: "noResponse", reason: "TIMEOUT" };
const UNSENT: HttpResult = { kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 5 };

describe("an answer to a withdrawal", () => {
  it.each<[what: string, answer: Answer, outcome: object]>([
    ["success without an id", ok({ hash: "0x1" }), { kind: "unknown" }],
    ["a page for an answer", ok("<html>"), { kind: "unknown" }],
    ["sent on, without an answer in time", { status: 503, body: { code: -1007, msg: "Timeout" } }, { kind: "unknown" }],
    ["a server's fault", { status: 502, body: "<html>" }, { kind: "unknown" }],
    ["an unknown fault", error(-1000, "An unknown error occurred"), { kind: "unknown" }],
    ["a timeout at the back", error(-1007, "Timeout"), { kind: "unknown" }],
    ["no answer", TIMED_OUT, { kind: "unknown" }],
    ["nothing sent", UNSENT, { kind: "notSent", problem: "BREAKER_OPEN", retryAfterMs: 5 }],
    ["a nonce used before", error(-4225, "Nonce Duplicated"), { kind: "repeated" }],
    ["a nonce out of its window", error(-4225, "Nonce Expired"), { kind: "repeated" }],
    ["too small a balance", error(-2018, "Balance is insufficient."), refused("BALANCE")],
    ["too small a balance, in other words", error(-9999, "Insufficient funds"), refused("BALANCE")],
    ["no right", error(-2015, "Invalid API-key, IP, or permissions for action."), refused("RIGHT")],
    ["no agent", error(-1000, "No agent found"), refused("RIGHT")],
    ["a wrong signature", error(-1022, "Signature for this request is not valid."), refused("OTHER")],
    ["a wrong parameter", error(-1130, "Invalid data sent for a parameter."), refused("OTHER")],
    ["a limit", { status: 429, body: { code: -1003, msg: "Too many requests" } }, refused("RATE_LIMITED")],
    ["a firewall", { status: 403, body: "<html>" }, refused("OTHER")],
  ])("of %s", async (_, answer, outcome) => {
    const scene = moneyScene({ "user-withdraw": answer });
    expect(await send(scene)).toMatchObject(outcome);
    expect(scene.paths()).toHaveLength(1);
  });

  it("that blames the clock has it measured, and sends nothing again", async () => {
    const scene = moneyScene({ "user-withdraw": error(-4225, "Nonce Expired") });
    await send(scene);
    expect(scene.harness.clockErrorCount).toBe(1);
    expect(scene.paths()).toHaveLength(1);
  });
});

const ROW = {
  ...{ id: "1000000000000000007", type: "WITHDRAW", asset: "USDT", amount: "30", state: "PROCESSING" },
  ...{ txHash: "", chainId: 56, accountType: "perp" },
};

async function lookAmong(
  rows: readonly object[] | string,
  venueId: string | null = null,
  alter: object = {},
  others: readonly string[] = [],
) {
  const scene = moneyScene({ "deposit-withdraw-history": ok(rows) });
  const { request } = await made(scene);
  const sentAtMs = scene.clock.wallMs();
  const past = { ask: { ...scene.ask, ...alter }, fee: ONE / 100n, request, sentAtMs, venueId };
  const isOthers = async (id: string) => others.includes(id);
  return railOf(scene).look({ ...past, isOthers }, scene.session, OPTIONS);
}

const NOW_MS = moneyScene().clock.wallMs();
const row = (changes: object = {}) => ({ ...ROW, time: NOW_MS, ...changes });
const standing = (value: object) => ({ ok: true, value });
const HASH = `0x${"AB".repeat(32)}`;

describe("a withdrawal in the venue's list", () => {
  it.each<[what: string, rows: readonly object[], value: object]>([
    ["none", [], { kind: "absent" }],
    ["one under way", [row()], { kind: "pending", venueId: ROW.id, hash: null, paid: null }],
    [
      "one on chain",
      [row({ txHash: HASH })],
      { kind: "pending", venueId: ROW.id, hash: HASH.toLowerCase(), paid: null },
    ],
    ["one of a state that nobody knows", [row({ state: "REVIEW" })], { kind: "pending" }],
    [
      "a success",
      [row({ state: "SUCCESS", txHash: HASH })],
      { kind: "completed", hash: HASH.toLowerCase(), paid: 30n * ONE },
    ],
    ["one completed", [row({ state: "COMPLETED" })], { kind: "completed", hash: null }],
    ["a failure", [row({ state: "FAILED" })], { kind: "failed", venueId: ROW.id }],
    ["one that prints zeros", [row({ amount: "30.00000000" })], { kind: "pending" }],
    ["one dated before it was sent, within the window", [row({ time: NOW_MS - 60_000 })], { kind: "pending" }],
    ["another's failure beside ours", [row({ state: "FAILED", id: "1" }), row()], { kind: "pending", venueId: ROW.id }],
    ["one without an account", [row({ accountType: undefined })], { kind: "pending" }],
  ])("is found by what it is: %s", async (_, rows, value) => {
    expect(await lookAmong(rows)).toMatchObject(standing(value));
  });

  it("is none that is known to be another one, however alike", async () => {
    const rows = [row({ state: "SUCCESS", id: "1" }), row({ id: "2" })];
    expect(await lookAmong(rows, null, {}, ["1"])).toMatchObject(standing({ kind: "pending", venueId: "2" }));
    expect(await lookAmong(rows, null, {}, ["1", "2"])).toMatchObject(standing({ kind: "absent" }));
  });

  it.each<[what: string, changes: object]>([
    ["a deposit", { type: "DEPOSIT" }],
    ["another amount, by more than the fee that is signed", { amount: "30.01000001" }],
    ["another amount, by less of it", { amount: "29.98999999" }],
    ["another chain", { chainId: 1 }],
    ["another asset", { asset: "USDC" }],
    ["another account", { accountType: "spot" }],
    ["older than any clock is wrong", { time: NOW_MS - 60_001 }],
    ["younger than the signature lives", { time: NOW_MS + HOUR_MS + 120_001 }],
  ])("is not %s", async (_, changes) => {
    expect(await lookAmong([row(changes)])).toMatchObject(standing({ kind: "absent" }));
  });

  it("is no row that is another withdrawal's, whatever became of that one", async () => {
    for (const state of ["PROCESSING", "SUCCESS", "FAILED"])
      expect(await lookAmong([row({ state })], null, {}, [ROW.id])).toMatchObject(standing({ kind: "absent" }));
    const rows = [row({ state: "SUCCESS" }), row({ state: "FAILED", id: "8" })];
    expect(await lookAmong(rows, null, {}, [ROW.id])).toMatchObject(standing({ kind: "failed", venueId: "8" }));
  });

  it.each<[what: string, amount: string, paid: bigint]>([
    ["less the fee", "29.99", 2_999n * (ONE / 100n)],
    ["less a part of it, where the chain cost less than was offered", "29.995", 29_995n * (ONE / 1_000n)],
    ["with the fee", "30.01", 30n * ONE],
  ])("is found where the list has amounts %s", async (_, amount, paid) => {
    expect(await lookAmong([row({ amount })])).toMatchObject(standing({ kind: "pending", venueId: ROW.id }));
    const done = row({ amount, state: "SUCCESS" });
    expect(await lookAmong([done])).toMatchObject(standing({ kind: "completed", venueId: ROW.id, paid }));
    expect(await lookAmong([done], ROW.id)).toMatchObject(standing({ kind: "completed", paid }));
  });

  it("is the one of just its amount where another one is like it but for a fee, unless that one alone was paid", async () => {
    const near = row({ amount: "29.99", id: "1", state: "SUCCESS" });
    expect(await lookAmong([near, row()])).toMatchObject(standing({ kind: "pending", venueId: ROW.id }));
    expect(await lookAmong([near, row({ state: "FAILED" })])).toMatchObject(
      standing({ kind: "completed", venueId: "1" }),
    );
  });

  it("is found by its id alone where the id is known", async () => {
    expect(await lookAmong([row({ state: "FAILED" })], "8")).toMatchObject(standing({ kind: "absent" }));
    const rows = [row({ state: "FAILED" }), row({ id: "8", time: 1 })];
    expect(await lookAmong(rows, "8")).toMatchObject(standing({ kind: "pending", venueId: "8" }));
  });

  it("is found by the digits that were printed, also as a number, and with an id of 19 digits", async () => {
    const text = `[{"id":1000000000000000007,"type":"WITHDRAW","asset":"USDT","amount":0.123456789012345678,"state":"SUCCESS","txHash":null,"time":${NOW_MS},"chainId":56}]`;
    expect(await lookAmong(text, null, { amount: 123_456_789_012_345_678n })).toMatchObject(
      standing({ kind: "completed", venueId: ROW.id, paid: 123_456_789_012_345_678n }),
    );
  });

  it.each<[what: string, rows: readonly object[] | string]>([
    ["a row without a state", [row({ state: undefined })]],
    ["an amount that is none", [row({ amount: "much" })]],
    ["no list", "{}"],
    ["a page", "<html>"],
  ])("is not known to be absent with %s", async (_, rows) => {
    expect(await lookAmong(rows)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });
});
