/** The read path: shapes against recorded replies, HTTP behaviour, and figures that must agree with one another. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AGENT, ALICE, type Bench, BOB, btc, KEYS, orderAction, startBench, statuses } from "./kit.js";

const RECORDED = JSON.parse(readFileSync(new URL("../fixtures/recorded.json", import.meta.url), "utf8")) as Record<
  string,
  unknown
>;
const CAROL = `0x${"c".repeat(40)}`;
const STRANGER = `0x${"9".repeat(40)}`;

let bench: Bench;
beforeAll(async () => {
  // Coarse market steps: these tests skip hours.
  bench = await startBench({ flow: { stepMs: 1_000 } });
  bench.sim.addAccount({
    address: CAROL,
    deposit: "2000",
    positions: [{ coin: "BTC", size: "0.1", entryPx: "92000" }],
  });
  const { ask, bid } = btc(bench);
  await bench.act(KEYS.alice, orderAction([{ p: String(Math.ceil(ask * 1.02)), s: "0.05", tif: "Ioc" }]));
  await bench.act(KEYS.alice, orderAction([{ p: String(Math.ceil(ask * 1.2)), s: "0.01", b: false, r: true }]));
  await bench.act(
    KEYS.bob,
    orderAction([{ p: String(Math.floor(bid * 0.9)), s: "0.01", c: "0x0123456789abcdef0123456789abcdef" }]),
  );
  // Over the full hour: one funding settlement.
  bench.clock.advance(3_700_000);
});
afterAll(() => bench.stop());

/** Keys and kinds of a value, without its figures; of a list, its first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field)]));
}

async function info(body: unknown): Promise<unknown> {
  return bench.info(body);
}

describe("the recorded shape of a reply is that of", () => {
  const cases: readonly [string, () => Promise<unknown>][] = [
    ["l2Book", () => info({ type: "l2Book", coin: "BTC" })],
    ["assetCtx", async () => ((await info({ type: "metaAndAssetCtxs" })) as [unknown, unknown[]])[1][0]],
    ["clearinghouseState", () => info({ type: "clearinghouseState", user: CAROL })],
    ["clearinghouseStateEmpty", () => info({ type: "clearinghouseState", user: STRANGER })],
    ["userFill", async () => ((await info({ type: "userFills", user: ALICE })) as unknown[])[0]],
    ["openOrder", async () => ((await info({ type: "openOrders", user: ALICE })) as unknown[])[0]],
    [
      "fundingHistory",
      async () => ((await info({ type: "fundingHistory", coin: "BTC", startTime: 0 })) as unknown[])[0],
    ],
    [
      "candle",
      async () =>
        ((await info({ type: "candleSnapshot", req: { coin: "BTC", interval: "1h", startTime: 0 } })) as unknown[])[0],
    ],
    ["activeAssetData", () => info({ type: "activeAssetData", user: ALICE, coin: "BTC" })],
    ["recentTrade", async () => ((await info({ type: "recentTrades", coin: "BTC" })) as unknown[])[0]],
    ["spotClearinghouseState", () => info({ type: "spotClearinghouseState", user: ALICE })],
    ["spotMetaUniverse", async () => ((await info({ type: "spotMeta" })) as { universe: unknown[] }).universe[0]],
    ["spotMetaToken", async () => ((await info({ type: "spotMeta" })) as { tokens: unknown[] }).tokens[0]],
    ["spotCtx", async () => ((await info({ type: "spotMetaAndAssetCtxs" })) as [unknown, unknown[]])[1][0]],
  ];

  it.each(cases)("%s", async (name, ask) => {
    expect(shapeOf(await ask())).toEqual(shapeOf(RECORDED[name]));
  });

  it("meta, with optional flags only where they are true", async () => {
    const meta = (await info({ type: "meta" })) as {
      universe: { name: string }[];
      marginTables: unknown[];
      collateralToken: number;
    };
    const recorded = RECORDED.meta as { universe: { name: string }[]; marginTables: unknown[] };
    const named = (list: { name: string }[], name: string) => shapeOf(list.find((perp) => perp.name === name));
    expect(named(meta.universe, "BTC")).toEqual(named(recorded.universe, "BTC"));
    expect(named(meta.universe, "MATIC")).toEqual(named(recorded.universe, "MATIC"));
    expect(shapeOf(meta.marginTables)).toEqual(shapeOf(recorded.marginTables));
    expect(meta.collateralToken).toBe(0);
  });

  it("funding payments, up to the sample count that the venue no longer gives", async () => {
    const [row] = (await info({ type: "userFunding", user: ALICE, startTime: 0 })) as {
      delta: Record<string, unknown>;
    }[];
    const recorded = RECORDED.userFunding as { delta: Record<string, unknown> };
    expect(Object.keys(row ?? {}).sort()).toEqual(Object.keys(recorded).sort());
    expect(Object.keys(row?.delta ?? {}).sort()).toEqual(Object.keys(recorded.delta).sort());
    const { szi, fundingRate, usdc } = row?.delta ?? {};
    // A long pays when the rate is positive.
    expect(szi).toBe("0.05");
    expect(Math.sign(Number(usdc))).toBe(-Math.sign(Number(fundingRate)));
    expect(Math.abs(Number(usdc))).toBeCloseTo(
      0.05 * Number(fundingRate) * (bench.sim.exchange.market.mark("BTC").indexE8 / 1e8),
      2,
    );
  });
});

describe("figures agree", () => {
  it("account value is raw USD plus the positions at mark, to the last digit", async () => {
    const state = (await info({ type: "clearinghouseState", user: ALICE })) as {
      marginSummary: Record<"accountValue" | "totalRawUsd" | "totalNtlPos" | "totalMarginUsed", string>;
      crossMaintenanceMarginUsed: string;
      withdrawable: string;
      assetPositions: { position: Record<string, string> & { leverage: { value: number }; maxLeverage: number } }[];
    };
    const e6 = (text: string): number => Math.round(Number(text) * 1e6);
    const { marginSummary } = state;
    const position = state.assetPositions[0]?.position;
    expect(e6(marginSummary.accountValue)).toBeCloseTo(
      e6(marginSummary.totalRawUsd) + e6(position?.positionValue ?? "0"),
      -1,
    );
    expect(e6(position?.marginUsed ?? "")).toBeCloseTo(
      e6(position?.positionValue ?? "") / (position?.leverage.value ?? 1),
      -1,
    );
    expect(e6(state.crossMaintenanceMarginUsed)).toBeCloseTo(
      e6(position?.positionValue ?? "") / (2 * (position?.maxLeverage ?? 1)),
      -1,
    );
    expect(e6(state.withdrawable)).toBeCloseTo(e6(marginSummary.accountValue) - e6(marginSummary.totalMarginUsed), -1);
  });

  it("aggregated books round bids down and asks up, and hold the same size", async () => {
    const full = bench.sim.exchange.market.book("BTC");
    for (const [nSigFigs, mantissa, step] of [
      [5, null, 1],
      [5, 2, 2],
      [5, 5, 5],
      [4, null, 10],
      [3, null, 100],
      [2, null, 1000],
    ] as const) {
      const book = (await info({ type: "l2Book", coin: "BTC", nSigFigs, mantissa })) as {
        levels: { px: string; sz: string; n: number }[][];
        spread: string;
      };
      const [bids = [], asks = []] = book.levels;
      expect(bids.every((level) => Number(level.px) % step === 0)).toBe(true);
      const lowest = Number(bids.at(-1)?.px);
      const expected = full.bids
        .filter((level) => level.priceTicks / 10 >= lowest)
        .reduce((sum, level) => sum + level.qtyLots, 0);
      expect(Math.round(bids.reduce((sum, level) => sum + Number(level.sz), 0) * 1e5)).toBe(expected);
      expect(Number(asks[0]?.px)).toBeGreaterThanOrEqual((full.asks[0]?.priceTicks ?? 0) / 10);
      expect(Number(book.spread)).toBeCloseTo(Number(asks[0]?.px) - Number(bids[0]?.px), 6);
    }
    expect(await info({ type: "l2Book", coin: "BTC" })).not.toHaveProperty("spread");
  });

  it("one time always shows one book, and later changes get a later time", async () => {
    type Book = { time: number; levels: unknown };
    const first = (await info({ type: "l2Book", coin: "BTC" })) as Book;
    expect(await info({ type: "l2Book", coin: "BTC" })).toEqual(first);
    await bench.act(KEYS.bob, orderAction([{ p: String(Math.ceil(btc(bench).ask * 1.02)), s: "1", tif: "Ioc" }]));
    const second = (await info({ type: "l2Book", coin: "BTC" })) as Book;
    expect(second.levels).not.toEqual(first.levels);
    expect(second.time).toBeGreaterThan(first.time);
    const truth = bench.sim.exchange.market.trueBookAtTime("BTC", first.time, 20);
    expect(truth?.bids.map((level) => level.priceTicks / 10)).toEqual(
      (first.levels as { px: string }[][])[0]?.map((level) => Number(level.px)),
    );
  });

  it("fills are newest first, and by time oldest first with inclusive bounds", async () => {
    const fills = (await info({ type: "userFills", user: BOB })) as { time: number; tid: number }[];
    expect(fills.map((fill) => fill.time)).toEqual(
      [...fills.map((fill) => fill.time)].sort((left, right) => right - left),
    );
    const time = fills[0]?.time ?? 0;
    const byTime = (await info({ type: "userFillsByTime", user: BOB, startTime: time, endTime: time })) as {
      tid: number;
    }[];
    expect(new Set(byTime.map((fill) => fill.tid))).toEqual(
      new Set(fills.filter((fill) => fill.time === time).map((fill) => fill.tid)),
    );
    expect(await info({ type: "userFillsByTime", user: BOB, startTime: time + 1 })).toEqual([]);
    const joined = (await info({ type: "userFills", user: BOB, aggregateByTime: true })) as { sz: string }[];
    expect(joined.length).toBeLessThanOrEqual(fills.length);
    expect(joined.reduce((sum, fill) => sum + Number(fill.sz), 0)).toBeCloseTo(1, 8);
  });
});

describe("a query of a starting client", () => {
  it("returns fees with the name that the trial's escrow has today", async () => {
    const fees = (await info({ type: "userFees", user: ALICE })) as Record<string, unknown>;
    expect(fees).toMatchObject({ feeTrialEscrow: "0.0", trial: null, userCrossRate: "0.00045" });
    expect(fees).not.toHaveProperty("feeTrialReward");
  });

  it("returns what the first dex holds", async () => {
    const replies = await Promise.all([info({ type: "perpDexStatus", dex: "" }), info({ type: "perpDexStatus" })]);
    const held = bench.sim.exchange.accounts.all().reduce((sum, { walletE12 }) => sum + Number(walletE12), 0) / 1e12;
    for (const status of replies) {
      expect(status).toEqual({ totalNetDeposit: expect.stringMatching(/^\d+\.\d+$/) });
      expect(Number((status as { totalNetDeposit: string }).totalNetDeposit)).toBeCloseTo(held, 3);
    }
  });

  it.each([
    ["a user that is none", '{"type":"userFillsByTime","user":"0x12","startTime":0}'],
    ["no start", `{"type":"userFillsByTime","user":"${ALICE}"}`],
    ["a dex that is no text", '{"type":"perpDexStatus","dex":5}'],
  ])("is refused for %s", async (_name, body) => {
    expect((await bench.post("/info", body)).status).toBe(422);
  });
});

describe("a query to the local venueone", () => {
  it.each<[string, unknown, unknown]>([
    ["a positional array", ["userRole", ALICE], { role: "user" }],
    ["an address without 0x", { type: "userRole", user: ALICE.slice(2) }, { role: "user" }],
    ["upper-case digits", { type: "userRole", user: `0x${ALICE.slice(2).toUpperCase()}` }, { role: "user" }],
    ["unknown keys", { type: "userRole", user: ALICE, colour: "red" }, { role: "user" }],
    ["an agent", { type: "userRole", user: AGENT }, { role: "agent", data: { user: ALICE } }],
    ["a stranger", { type: "userRole", user: STRANGER }, { role: "missing" }],
    ["an unknown coin's book", { type: "l2Book", coin: "NOPE" }, null],
    ["an agent's orders", { type: "openOrders", user: AGENT }, []],
    ["a stranger's fills", { type: "userFills", user: STRANGER }, []],
    ["dexes", { type: "perpDexs" }, [null]],
    ["an explicit null", { type: "perpsAtOpenInterestCap", dex: null }, []],
    [
      "largest market orders, by a coin's highest leverage",
      { type: "maxMarketOrderNtls" },
      [
        [25, "30000000.0"],
        [20, "5000000.0"],
        [10, "2000000.0"],
        [1, "500000.0"],
      ],
    ],
  ])("%s", async (_name, body, expected) => {
    expect(await info(body)).toEqual(expected);
  });

  it("answers a delisted coin with an empty book", async () => {
    expect(await info({ type: "l2Book", coin: "MATIC" })).toMatchObject({ coin: "MATIC", levels: [[], []] });
  });

  it.each<[string, string]>([
    ["an unknown type", '{"type":"nope"}'],
    ["a missing field", '{"type":"l2Book"}'],
    ["a known key twice", `{"type":"userRole","user":"${ALICE}","user":"${ALICE}"}`],
    ["the type twice", '{"type":"meta","type":"meta"}'],
    ["an upper-case 0X", `{"type":"userRole","user":"0X${"a".repeat(40)}"}`],
    ["a short address", '{"type":"userRole","user":"0x12"}'],
    ["a float where an integer belongs", '{"type":"l2Book","coin":"BTC","nSigFigs":5.0}'],
    ["an order id with a fraction", `{"type":"orderStatus","user":"${ALICE}","oid":1.5}`],
    ["a root that is no query", "12"],
    ["an empty array", "[]"],
  ])("answers 422 for %s", async (_name, body) => {
    expect(await bench.post("/info", body)).toMatchObject({
      status: 422,
      text: "Failed to deserialize the JSON body into the target type",
    });
  });

  it.each<[string, unknown]>([
    ["mantissa 1", { type: "l2Book", coin: "BTC", nSigFigs: 5, mantissa: 1 }],
    ["mantissa without 5 figures", { type: "l2Book", coin: "BTC", nSigFigs: 4, mantissa: 2 }],
    ["too many figures", { type: "l2Book", coin: "BTC", nSigFigs: 6 }],
    ["another dex", { type: "meta", dex: "xyz" }],
    ["another dex's deposits", { type: "perpDexStatus", dex: "xyz" }],
  ])("answers 500 null for %s", async (_name, body) => {
    expect(await bench.post("/info", JSON.stringify(body))).toMatchObject({ status: 500, text: "null" });
  });

  it("refuses bytes that are no UTF-8 like bad JSON, and names the real problem only by status", async () => {
    const response = await fetch(`${bench.sim.restUrl}/info`, {
      method: "POST",
      body: Buffer.from([0x22, 0xff, 0x22]),
      headers: { "content-type": "application/json" },
    });
    expect(response.status).toBe(400);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });
});

describe("liquidation", () => {
  it("sells an account below maintenance, with the fill, the ledger row and nothing left", async () => {
    const victim = `0x${"7".repeat(40)}`;
    const mark = Math.round(bench.sim.exchange.market.mark("BTC").markE8 / 1e8);
    bench.sim.addAccount({
      address: victim,
      deposit: "2000",
      positions: [{ coin: "BTC", size: "0.5", entryPx: String(mark) }],
    });
    bench.sim.exchange.controls.setPriceSkew(-500, 0);
    bench.clock.advance(120_000);
    expect(await info({ type: "clearinghouseState", user: victim })).toMatchObject({ assetPositions: [] });
    const fills = (await info({ type: "userFills", user: victim })) as Record<string, unknown>[];
    expect(fills[0]).toMatchObject({ dir: "Close Long", liquidation: { liquidatedUser: victim, method: "market" } });
    expect(fills[0]).not.toHaveProperty("cloid");
    const rows = (await info({ type: "userNonFundingLedgerUpdates", user: victim })) as { delta: { type: string } }[];
    expect(rows.map((row) => row.delta.type)).toContain("liquidation");
    bench.sim.exchange.controls.setPriceSkew(0, 0);
  });
});

describe("the other network", () => {
  it("numbers the same coins otherwise, and hashes its own name", async () => {
    const testnet = await startBench({ isMainnet: false });
    try {
      const { universe } = (await testnet.info({ type: "meta" })) as { universe: { name: string }[] };
      expect(universe.findIndex((perp) => perp.name === "BTC")).toBe(3);
      expect(await testnet.act(KEYS.alice, { type: "noop" })).toMatchObject({ status: "err" });
      const placed = await testnet.act(KEYS.alice, orderAction([{ a: 3, p: "80000", s: "0.01" }]), {
        isMainnet: false,
      });
      expect(statuses(placed)).toEqual([{ resting: { oid: expect.any(Number) } }]);
    } finally {
      await testnet.stop();
    }
  });

  it("keeps the index of every coin when only some trade", async () => {
    const narrow = await startBench({ symbols: ["SOL"] });
    try {
      const { universe } = (await narrow.info({ type: "meta" })) as {
        universe: { name: string; isDelisted?: boolean }[];
      };
      expect(universe[3]).toMatchObject({ name: "SOL" });
      expect(universe.filter((perp) => perp.isDelisted !== true).map((perp) => perp.name)).toEqual(["SOL"]);
    } finally {
      await narrow.stop();
    }
  });
});
