/** Transfers between the accounts of venuetwo: what is sent, what each answer means, and which row of income is one. */
import { describe, expect, it } from "vitest";
import type { InternalTransferAsk } from "../../../engine/venue-money.js";
import type { HttpResult } from "../../shared/net/http.js";
import { ACCOUNT, type Answer, moneyScene } from "../test/money-scene.js";
import { OPTIONS, paramsOf } from "../test/trading-harness.js";

const ASK: InternalTransferAsk = {
  account: ACCOUNT,
  asset: "USDT",
  amount: "12.5",
  kindType: "SPOT_FUTURE",
  clientTranId: "tr-0001",
};
const ok = (body: unknown) => ({ status: 200, body });
const error = (code: number, msg: string) => ({ status: 400, body: { code, msg } });
const refused = (reason: string) => ({ kind: "refused", reason, isSpent: false });
const LOST: HttpResult = { kind: "noResponse", reason: "TIMEOUT" };

function scene(answer?: Answer, of = "/asset/wallet/transfer") {
  const on = moneyScene(answer === undefined ? {} : { [of]: answer });
  const { internal } = on.money;
  if (internal === null) throw new Error("no transfers");
  return { ...on, internal };
}

async function send(answer?: Answer, ask = ASK) {
  const on = scene(answer);
  return { outcome: await on.internal.send(ask, on.session, OPTIONS), on };
}

describe("a transfer", () => {
  it("is sent once, under its name, and has an id of all its digits", async () => {
    const { outcome, on } = await send(ok('{"tranId":1234567890123456789,"status":"SUCCESS"}'));
    expect(outcome).toEqual({ kind: "done", venueId: "1234567890123456789" });
    expect(on.paths()).toEqual(["/fapi/v3/asset/wallet/transfer"]);
    expect(paramsOf(on.http.last)).toMatchObject({
      ...{ amount: "12.5", asset: "USDT", clientTranId: "tr-0001", kindType: "SPOT_FUTURE" },
    });
  });

  it.each<[what: string, answer: Answer, outcome: object]>([
    ["another status than success", ok({ tranId: 1, status: "PENDING" }), { kind: "unknown" }],
    ["no id", ok({ status: "SUCCESS" }), { kind: "unknown" }],
    ["no answer", LOST, { kind: "unknown" }],
    ["a name in use", error(-4115, "clientTranId is duplicated."), { kind: "repeated" }],
    ["the other code of names", error(-4114, "clientTranId is not valid."), { kind: "repeated" }],
    [
      "too small a balance, by each code that it may have",
      error(-2018, "Balance is insufficient."),
      refused("BALANCE"),
    ],
    ["the same of a cross account", error(-4050, "Cross balance insufficient."), refused("BALANCE")],
    ["the same as an amount", error(-4055, "Amount must be positive."), refused("BALANCE")],
    ["too many places", error(-1111, "Precision is over the maximum."), refused("OTHER")],
    ["no right", error(-1002, "You are not authorized."), refused("RIGHT")],
  ])("is understood from %s", async (_, answer, outcome) => {
    expect((await send(answer)).outcome).toMatchObject(outcome);
  });

  it.each<[what: string, changes: Partial<InternalTransferAsk>, problem: string]>([
    ["an amount that is no plain decimal", { amount: "1e3" }, "AMOUNT"],
    ["nothing", { amount: "0.00" }, "AMOUNT"],
    ["less than nothing", { amount: "-1" }, "AMOUNT"],
    ["a name that is too long", { clientTranId: "t".repeat(65) }, "CLIENT_TRAN_ID"],
    ["no name", { clientTranId: "" }, "CLIENT_TRAN_ID"],
  ])("is not sent with %s", async (_, changes, problem) => {
    const { outcome, on } = await send(undefined, { ...ASK, ...changes });
    expect(outcome).toEqual({ kind: "notSent", problem, retryAfterMs: null });
    expect(on.paths()).toEqual([]);
  });

  it("takes a name of the longest length", async () => {
    const ask = { ...ASK, clientTranId: "t".repeat(64) };
    expect((await send(ok({ tranId: 1, status: "SUCCESS" }), ask)).outcome).toMatchObject({ kind: "done" });
  });
});

const NOW_MS = moneyScene().clock.wallMs();
const ROW = { symbol: "", incomeType: "TRANSFER", income: "12.50000000", asset: "USDT", info: "TRANSFER", tradeId: "" };
const row = (changes: object = {}) => ({ ...ROW, time: NOW_MS, tranId: 7, ...changes });

async function look(rows: unknown, ask = ASK) {
  const on = scene(ok(rows), "/income");
  return { found: await on.internal.look(ask, NOW_MS, on.session, OPTIONS), on };
}

describe("a transfer in the list of income", () => {
  it("is found by asset, amount, direction and time, among transfers since it was sent", async () => {
    const { found, on } = await look([row({ incomeType: "COMMISSION", tranId: 1 }), row({ income: "12.4" }), row()]);
    expect(found).toMatchObject({ ok: true, value: ["7"] });
    expect(paramsOf(on.http.last)).toMatchObject({ incomeType: "TRANSFER", startTime: String(NOW_MS - 60_000) });
    const out = await look([row({ tranId: 6 }), row({ income: "-12.5" })], { ...ASK, kindType: "FUTURE_SPOT" });
    expect(out.found).toMatchObject({ ok: true, value: ["7"] });
  });

  it("is each of several that fit, the oldest first and each once", async () => {
    const rows = [row({ tranId: 9, time: NOW_MS + 1 }), row({ tranId: 8 }), row({ tranId: 8 })];
    expect((await look(rows)).found).toMatchObject({ ok: true, value: ["8", "9"] });
  });

  it("keeps all digits of its id", async () => {
    const text = `[{"incomeType":"TRANSFER","income":12.5,"asset":"USDT","time":${NOW_MS},"tranId":1234567890123456789}]`;
    expect((await look(text)).found).toMatchObject({ ok: true, value: ["1234567890123456789"] });
  });

  it.each([
    ["the other way", { income: "-12.5" }],
    ["of another asset", { asset: "USDF" }],
    ["older", { time: NOW_MS - 60_001 }],
  ])("is not one %s", async (_, changes) => {
    expect((await look([row(changes)])).found).toMatchObject({ ok: true, value: [] });
  });
});
