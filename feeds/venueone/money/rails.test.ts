/** Money at venueone against scripted answers: terms, outcomes of withdrawals, what its ledger shows, balances. */
import { describe, expect, it } from "vitest";
import type { WithdrawalAsk } from "../../../engine/venue-money.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { createHarness, OPTIONS, SIGNER } from "../test/trading-harness.js";

const ACCOUNT = SIGNER;
const DESTINATION = "0x5e9ee1089755c3435139848e47e6635505d5a13a";
const SIGNATURE = `0x${"01".repeat(32)}${"02".repeat(32)}1b`;
const DAY_MS = 86_400_000;
const DONE = { status: "ok", response: { type: "default" } };
const err = (response: string) => ({ status: "err", response });

type Answer = HttpResult | { readonly status: number; readonly body: unknown } | readonly unknown[] | object | string;

/** `answers`: by the type of an info request, `exchange` for actions; a list of pages is answered one by one. */
function scene(answers: Readonly<Record<string, (request: HttpRequest) => Answer>> = {}) {
  const harness = createHarness();
  const { money } = harness.trading;
  const token = money.withdrawals.token(42161, "USDC");
  if (token === null) throw new Error("no token");
  const respond = (request: HttpRequest): HttpResult => {
    const { type = "exchange" } = JSON.parse(request.body ?? "{}") as { type?: string };
    const answer = answers[type]?.(request);
    if (answer === undefined) throw new Error(`nothing is said of ${type}`);
    if (typeof answer === "object" && "kind" in answer) return answer as HttpResult;
    return harness.http.response(200, answer);
  };
  for (let count = 0; count < 24; count++) harness.http.step(respond);
  const ask: WithdrawalAsk = {
    ...{ account: ACCOUNT, receiver: DESTINATION, token, amount: 25_500_000n, accountType: null },
  };
  return { ...harness, harness, money, rail: money.withdrawals, ask };
}

async function made(on: ReturnType<typeof scene>, ask = on.ask) {
  const act = await on.rail.make(ask, 1_000_000n);
  if (!act.ok) throw new Error(act.problem);
  return act.act;
}

const timeOf = (request: string): number => (JSON.parse(request) as { action: { time: number } }).action.time;

async function send(answer: Answer) {
  const on = scene({ exchange: () => answer });
  const act = await made(on);
  return { on, act, outcome: await on.rail.send(act, SIGNATURE, null, OPTIONS) };
}

describe("an act of withdrawal at venueone", () => {
  it("has a nonce of the wallet's sequence, by which the venue knows it, and is taken for two days", async () => {
    const on = scene();
    on.harness.offsetMs = -1_500;
    const [first, second] = [await made(on), await made(on)];
    expect(timeOf(second.request)).toBeGreaterThan(timeOf(first.request));
    expect(first.validUntilMs).toBe(timeOf(first.request) + 2 * DAY_MS + 1_500);
    expect(on.reservations.calls).toContain(`venueone:${ACCOUNT}`);
    expect(on.rail).toMatchObject({ needsKey: false, takesReceiver: true, isMatchedById: true });
  });

  it("is not made of another token, nor without a durable nonce", async () => {
    const on = scene();
    const other = { ...on.ask, token: { ...on.ask.token, symbol: "USDT" } };
    expect(await on.rail.make(other, 0n)).toEqual({ ok: false, problem: "TOKEN", retryAfterMs: null });
    on.reservations.reserve = () => Promise.reject(new Error("disk"));
    expect(await on.rail.make(on.ask, 0n)).toMatchObject({ ok: false, problem: "NONCE_STORE" });
  });

  it("goes out once, without any key, and its number is the venue's", async () => {
    const { act, on, outcome } = await send(DONE);
    expect(outcome).toEqual({ kind: "done", venueId: String(timeOf(act.request)) });
    expect(on.http.requests).toHaveLength(1);
    expect(on.standing.isProven(ACCOUNT)).toBe(true);
    expect(JSON.parse(on.http.last.body ?? "")).toMatchObject({
      nonce: timeOf(act.request),
      action: { type: "withdraw3", destination: DESTINATION, amount: "25.5", time: timeOf(act.request) },
    });
  });

  it("of another program, or with half a signature, is not sent", async () => {
    const on = scene();
    const act = await made(on);
    for (const [request, signature] of [
      ["{}", SIGNATURE],
      [act.request, "0x12"],
    ] as const)
      expect(await on.rail.send({ request }, signature, null, OPTIONS)).toMatchObject({ kind: "notSent" });
    expect(on.http.requests).toHaveLength(0);
  });

  it.each<[what: string, answer: Answer, outcome: object]>([
    ["success of another kind", { status: "ok", response: { type: "order" } }, { kind: "unknown" }],
    ["a page", "<html>", { kind: "unknown" }],
    ["no answer", { kind: "noResponse", reason: "TIMEOUT" }, { kind: "unknown" }],
    ["nothing sent", { kind: "notSent", reason: "QUEUE_FULL", retryAfterMs: 9 }, { kind: "notSent", retryAfterMs: 9 }],
    ["the same bytes", err("Invalid nonce: duplicate nonce 5"), { kind: "repeated" }],
    ["too much", err("Insufficient balance for withdrawal."), { reason: "BALANCE", isSpent: true }],
    [
      "no deposit yet",
      err(`Must deposit before performing actions. User: ${ACCOUNT}`),
      { reason: "BALANCE", isSpent: false },
    ],
    [
      "a signature that it reads otherwise",
      err(`Must deposit before performing actions. User: ${DESTINATION}`),
      { reason: "OTHER" },
    ],
    ["a unified account", err("Action disabled when unified account is active"), { reason: "OTHER", isSpent: true }],
    [
      "an empty budget",
      err("Too many cumulative requests sent (2 > 1) for cumulative volume traded $0."),
      { reason: "RATE_LIMITED", retryAfterMs: 10_000 },
    ],
  ])("is understood from %s", async (_, answer, outcome) => {
    expect((await send(answer)).outcome).toMatchObject(outcome);
  });

  it("that the venue finds ahead of its clock has the clock measured; one behind raises the next nonce", async () => {
    const { on, outcome } = await send(err("Invalid nonce: nonce too high 9 > 1"));
    expect(outcome).toMatchObject({ kind: "refused", reason: "OTHER", isSpent: false });
    expect(on.harness.clockErrorCount).toBe(1);
    const seen = on.clock.wallMs() + 5_000;
    const low = await send(err(`Invalid nonce: nonce too low 1 < ${seen}`));
    expect(timeOf((await made(low.on)).request)).toBeGreaterThan(seen);
  });
});

const PERP = {
  time: 1,
  withdrawable: "25.5000019",
  marginSummary: { accountValue: "30", totalNtlPos: "0", totalRawUsd: "30", totalMarginUsed: "0" },
  crossMarginSummary: { accountValue: "30", totalNtlPos: "0", totalRawUsd: "30", totalMarginUsed: "0" },
  crossMaintenanceMarginUsed: "0",
  assetPositions: [],
};
const SPOT = {
  balances: [
    { coin: "USDC", token: 0, total: "7.5", hold: "0.5", entryNtl: "0" },
    { coin: "HYPE", token: 150, total: "2", hold: "0", entryNtl: "0" },
  ],
};
const holding = (mode: string, perp: object = PERP) => ({
  userAbstraction: () => mode as unknown as Answer,
  clearinghouseState: () => perp,
  spotClearinghouseState: () => SPOT,
});
const asJson = (mode: string) => JSON.stringify(mode);

describe("what an account may withdraw", () => {
  it.each([
    ["default", 25_500_001n],
    ["disabled", 25_500_001n],
    ["unifiedAccount", 7_000_000n],
    ["portfolioMargin", 7_000_000n],
  ])("is read where it keeps its money: %s", async (mode, available) => {
    const on = scene(holding(asJson(mode)));
    expect(await on.rail.terms(on.ask, null, OPTIONS)).toMatchObject({
      ok: true,
      value: { fee: 1_000_000n, minimum: 1_000_001n, available, feeIsInside: true },
    });
  });

  it("is nothing where it is less than that, and not known where the venue does not say", async () => {
    const short = scene(holding(asJson("default"), { ...PERP, withdrawable: "-1.5" }));
    expect(await short.rail.terms(short.ask, null, OPTIONS)).toMatchObject({ ok: true, value: { available: 0n } });
    const other = scene(holding(asJson("somethingNew")));
    expect(await other.rail.terms(other.ask, null, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });

  it("shows as balances of both accounts, or of the one that there is", async () => {
    const two = scene(holding(asJson("default")));
    expect(await two.money.balances(ACCOUNT, null, OPTIONS)).toMatchObject({
      ok: true,
      value: [
        { accountType: "perp", asset: "USDC", free: "25.5000019" },
        { accountType: "spot", asset: "USDC", free: "7" },
        { accountType: "spot", asset: "HYPE", free: "2" },
      ],
    });
    const one = scene(holding(asJson("unifiedAccount")));
    expect(await one.money.balances(ACCOUNT, null, OPTIONS)).toMatchObject({
      ok: true,
      value: [
        { accountType: "spot", asset: "USDC" },
        { accountType: "spot", asset: "HYPE" },
      ],
    });
  });
});

const HASH = `0x${"ab".repeat(32)}`;
const rowAt = (time: number, delta: object, hash = HASH) => ({ time, hash, delta });

function ledger(rows: (startMs: number) => readonly object[] | string) {
  return scene({
    userNonFundingLedgerUpdates: ({ body }) =>
      rows((JSON.parse(body ?? "") as { startTime: number }).startTime) as Answer,
  });
}

async function lookAt(rows: (time: number, nowMs: number) => readonly object[] | string) {
  const act = await made(scene());
  const on = ledger(() => rows(timeOf(act.request), on.clock.wallMs()));
  return on.rail.look(pastOf(on, act.request), null, OPTIONS);
}

function pastOf({ ask, clock }: ReturnType<typeof ledger>, request: string) {
  return { ask, fee: 1_000_000n, request, sentAtMs: clock.wallMs(), venueId: null, isOthers: async () => false };
}

describe("a withdrawal in the venue's ledger", () => {
  it("is under way once its nonce is there, with what is paid", async () => {
    const found = await lookAt((nonce, nowMs) => [
      rowAt(nowMs, { type: "withdraw", usdc: "24.5", nonce: nonce - 1, fee: "1.0" }),
      rowAt(nowMs, { type: "spotTransfer", token: "HYPE", amount: "1" }),
      rowAt(nowMs, { type: "withdraw", usdc: "24.5", nonce, fee: "1.0" }),
    ]);
    expect(found).toMatchObject({ ok: true, value: { kind: "left", hash: null, paid: 24_500_000n } });
  });

  it("is under way with the fee that the ledger names, where it names one that can be read", async () => {
    const look = (fee: object) =>
      lookAt((nonce, nowMs) => [rowAt(nowMs, { type: "withdraw", usdc: "20.0", nonce, ...fee })]);
    expect(await look({ fee: "5.5" })).toMatchObject({ ok: true, value: { paid: 20_000_000n, fee: 5_500_000n } });
    for (const other of [{}, { fee: null }, { fee: 5.5 }, { fee: "dear" }, { fee: "-1" }])
      expect(await look(other)).toEqual(await look({}));
    expect(await look({})).toMatchObject({ ok: true, value: { paid: 20_000_000n } });
  });

  it("is absent where it is not, and not known where the ledger cannot be read", async () => {
    expect(
      await lookAt((nonce, nowMs) => [rowAt(nowMs, { type: "withdraw", usdc: "1", nonce: nonce + 1, fee: "1" })]),
    ).toMatchObject({
      ok: true,
      value: { kind: "absent" },
    });
    expect(await lookAt(() => "<html>")).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    expect(await lookAt((_, nowMs) => [rowAt(nowMs, { type: "withdraw", usdc: "1" })])).toMatchObject({ ok: false });
    const on = ledger(() => []);
    expect(await on.rail.look(pastOf(on, "{}"), null, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });

  it("is searched page by page, and not absent before the last one", async () => {
    const act = await made(scene());
    const nonce = timeOf(act.request);
    const page = (startMs: number) => Array.from({ length: 500 }, (_, index) => rowAt(startMs + index, { type: "x" }));
    const starts: number[] = [];
    const on = ledger((startMs) => {
      starts.push(startMs);
      if (starts.length < 3) return page(startMs);
      return [rowAt(startMs, { type: "withdraw", usdc: "1", nonce, fee: "1" })];
    });
    const withdrawal = pastOf(on, act.request);
    expect(await on.rail.look(withdrawal, null, OPTIONS)).toMatchObject({ ok: true, value: { kind: "left" } });
    const firstMs = on.clock.wallMs() - 60_000;
    expect(starts).toEqual([firstMs, firstMs + 499, firstMs + 998]);
    const endless = ledger((startMs) => page(startMs));
    expect(await endless.rail.look(withdrawal, null, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    const stuck = ledger((startMs) => Array.from({ length: 500 }, () => rowAt(startMs, { type: "x" })));
    expect(await stuck.rail.look(withdrawal, null, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    expect(stuck.http.requests).toHaveLength(1);
  });
});

describe("a deposit in the venue's ledger", () => {
  const look = (row: (nowMs: number) => object) => {
    const on = ledger((startMs) => [row(on.clock.wallMs())].filter((one) => (one as { time: number }).time >= startMs));
    const sentAtMs = on.clock.wallMs();
    const deposit = { account: ACCOUNT, hash: HASH, chainId: 42161, amount: 12_500_000n, sentAtMs };
    return on.money.deposits.look(deposit, null, OPTIONS);
  };
  const credit = { type: "deposit", usdc: "12.5" };

  it("is credited by a row of its amount since it was sent", async () => {
    expect(await look((nowMs) => rowAt(nowMs + 60_000, credit))).toMatchObject({ ok: true, value: [HASH] });
    const hashless = await look((nowMs) => rowAt(nowMs, credit, `0x${"0".repeat(64)}`));
    expect(hashless).toMatchObject({ ok: true, value: [expect.stringMatching(/^\d{13}$/)] });
  });

  it.each<[what: string, row: (nowMs: number) => object]>([
    ["another amount", (nowMs) => rowAt(nowMs, { ...credit, usdc: "12.499999" })],
    ["an older deposit of the same amount", (nowMs) => rowAt(nowMs - 5_001, credit)],
    ["money of another kind", (nowMs) => rowAt(nowMs, { ...credit, type: "internalTransfer" })],
  ])("is not credited by %s", async (_, row) => {
    expect(await look(row)).toMatchObject({ ok: true, value: [] });
  });
});

describe("credits of one millisecond", () => {
  const ZEROS = `0x${"0".repeat(64)}`;
  const CREDITS: readonly [what: string, usdc: readonly [string, string], hash: string][] = [
    ["of one amount, without hashes", ["12.5", "12.5"], ZEROS],
    ["of two amounts, without hashes", ["12.5", "7"], ZEROS],
    ["of one amount, under one hash", ["12.5", "12.5"], HASH],
  ];

  it.each(CREDITS)("are as many as there are: %s", async (_, amounts, hash) => {
    const on = ledger((startMs) => amounts.map((usdc) => rowAt(startMs + 9, { type: "deposit", usdc }, hash)));
    const read = await on.money.history(ACCOUNT, on.clock.wallMs(), null, OPTIONS);
    const ids = read.ok ? read.value.map(({ venueId }) => venueId) : [];
    expect(new Set(ids).size).toBe(2);
    const looked: string[] = [];
    for (const usdc of new Set(amounts)) {
      const amount = BigInt(Number(usdc) * 1e6);
      const deposit = { account: ACCOUNT, hash: HASH, chainId: 42161, amount, sentAtMs: on.clock.wallMs() };
      const found = await on.money.deposits.look(deposit, null, OPTIONS);
      if (found.ok) looked.push(...found.value);
    }
    expect(new Set(looked).size).toBe(2);
  });

  it("at the end of a page are read once", async () => {
    const starts: number[] = [];
    const on = ledger((startMs) => {
      starts.push(startMs);
      const credit = (time: number) => rowAt(time, { type: "deposit", usdc: "1" }, ZEROS);
      const last = (starts[0] ?? 0) + 1_000;
      if (starts.length > 1) return [credit(last), credit(last), credit(last)];
      return [...Array.from({ length: 498 }, (_, index) => credit(startMs + index)), credit(last), credit(last)];
    });
    const read = await on.money.history(ACCOUNT, on.clock.wallMs(), null, OPTIONS);
    const ids = read.ok ? read.value.map(({ venueId }) => venueId) : [];
    expect([ids.length, new Set(ids).size]).toEqual([501, 501]);
  });
});

describe("the history of an account's money at venueone", () => {
  it("has every deposit and withdrawal since, on our clock, and nothing else", async () => {
    const asked: number[] = [];
    const on = ledger((startMs) => {
      asked.push(startMs);
      return [
        rowAt(startMs + 1, { type: "deposit", usdc: "7.5" }),
        rowAt(startMs + 2, { type: "spotTransfer", token: "HYPE", amount: "1" }),
        rowAt(startMs + 3, { type: "withdraw", usdc: "24.5", nonce: 77, fee: "1.0" }),
      ];
    });
    const sinceMs = on.clock.wallMs() - DAY_MS;
    const read = await on.money.history(ACCOUNT, sinceMs, null, OPTIONS);
    const offsetMs = (asked[0] ?? 0) - sinceMs;
    expect(read).toMatchObject({
      ok: true,
      value: [
        { kind: "deposit", asset: "USDC", amounts: ["7.5"], hash: null, atMs: sinceMs + 1, hasFailed: false },
        // With the fee in it or without, which may have been inside of what was asked for or on top.
        { kind: "withdrawal", venueId: "77", amounts: ["24.5", "25.5", "23.5"], atMs: sinceMs + 3 },
      ],
    });
    expect(Math.abs(offsetMs)).toBeLessThan(DAY_MS);
  });

  it("has what may have been asked for where the fee was raised, as its row names it", async () => {
    const on = ledger((startMs) => [rowAt(startMs + 3, { type: "withdraw", usdc: "20.0", nonce: 77, fee: "5.5" })]);
    const read = await on.money.history(ACCOUNT, on.clock.wallMs() - DAY_MS, null, OPTIONS);
    expect(read).toMatchObject({ ok: true, value: [{ kind: "withdrawal", amounts: ["20", "25.5", "14.5"] }] });
  });

  it("is read to its end, each row once, or not at all", async () => {
    const paged = ledger((startMs) => {
      const firstMs = Math.max(startMs, 1_000);
      const count = firstMs > 1_000 + 499 * 2 ? 3 : 500;
      return Array.from({ length: count }, (_, index) => rowAt(firstMs + index, { type: "deposit", usdc: "1" }));
    });
    const read = await paged.money.history(ACCOUNT, 0, null, OPTIONS);
    const times = read.ok ? read.value.map(({ atMs }) => atMs) : [];
    expect(times).toEqual(Array.from({ length: 1_500 }, (_, index) => (times[0] ?? 0) + index));
    const endless = ledger((startMs) =>
      Array.from({ length: 500 }, (_, index) => rowAt(startMs + index, { type: "deposit", usdc: "1" })),
    );
    expect(await endless.money.history(ACCOUNT, 0, null, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });
});
