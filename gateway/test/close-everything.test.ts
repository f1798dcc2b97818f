/** POST /api/trade/close-all over a scripted desk: what it asks for, and that its reply claims no more than happened. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Reply } from "./client.js";
import { closeLeg, createFakeDesk, FRESH_SCRIPT } from "./fake-desk.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";

const CREDENTIALS = {
  venueone: { privateKey: "0xkey-of-one" },
  venuetwo: { apiKey: "key", apiSecret: "secret", walletAddress: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266" },
};

const desk = createFakeDesk();
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({
    trading: tradingWith(desk),
  });
});
afterAll(async () => {
  await harness.stop();
});
beforeEach(() => {
  desk.calls.length = 0;
  Object.assign(desk.script, FRESH_SCRIPT);
});

function closeAll(fields: object = {}): Promise<Reply> {
  return harness.client.send("/api/trade/close-all", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ credentials: CREDENTIALS, ...fields }),
  });
}

function dataOf(reply: Reply): unknown {
  return (reply.body as { readonly data?: unknown }).data;
}

describe("a request for close-all", () => {
  it("hands on dryRun, symbols and exchanges; symbol and symbols are one list", async () => {
    await closeAll({ dryRun: true, symbols: ["BTCUSDT", "eth", "btc"], exchanges: ["venueone"] });
    await closeAll({ symbol: "BTC-PERP" });
    await closeAll({ dryRun: null, symbols: null });
    expect(desk.calls.map(({ request }) => request)).toMatchObject([
      { dryRun: true, symbols: ["BTC", "ETH"], accounts: [{ venue: "venueone" }] },
      { dryRun: false, symbols: ["BTC"] },
      { dryRun: false, symbols: null, accounts: [{ venue: "venueone" }, { venue: "venuetwo" }] },
    ]);
  });

  it.each([
    [{ symbols: ["BTC"], symbol: "ETH" }, "symbols"],
    [{ symbols: [] }, "symbols"],
    [{ exchanges: [] }, "exchanges"],
    [{ exchange: "venueone" }, "exchange"],
    [{ sizePercent: "50" }, "sizePercent"],
    [{ dryrun: true }, "dryrun"],
  ])("refuses %j by name", async (fields, path) => {
    const reply = await closeAll(fields);
    expect([reply.status, reply.body]).toMatchObject([400, { details: { fields: [{ path }] } }]);
    expect(desk.calls).toEqual([]);
  });

  it("is refused for a symbol that no venue lists, whatever else it names", async () => {
    const reply = await closeAll({ symbols: ["BTC", "NOPE"] });
    expect([reply.status, reply.body]).toMatchObject([404, { code: "UNKNOWN_SYMBOL" }]);
    expect(desk.calls).toEqual([]);
  });
});

describe("in replies of close-all,", () => {
  it("a dry run says what would be closed, at which worst price, and closes nothing", async () => {
    const leg = { status: "SIMULATED", filledSize: "0", order: null, worstPrice: "96447" } as const;
    desk.script.legs = [closeLeg("venueone", leg)];
    expect(dataOf(await closeAll({ dryRun: true, exchanges: ["venueone"] }))).toMatchObject({
      success: false,
      dryRun: true,
      closedCount: 0,
      totalPositions: 1,
      venues: [
        {
          state: "SIMULATED",
          canceledOrders: null,
          cancel: null,
          results: [{ status: "SIMULATED", orderId: "", size: "0.4", filledSize: "0", worstPrice: "96447" }],
        },
      ],
      message: "Would close 1 of 1 positions",
    });
  });

  it("a dry run over nothing is flat", async () => {
    desk.script.legs = [];
    expect(dataOf(await closeAll({ dryRun: true }))).toMatchObject({
      success: true,
      venues: [{ state: "FLAT" }, { state: "FLAT" }],
    });
  });

  it.each([
    ["FAILED", "closed", "PARTIAL"],
    ["FAILED", "flat", "FAILED"],
    ["UNKNOWN", "closed", "UNKNOWN"],
    ["UNKNOWN", "flat", "UNKNOWN"],
  ] as const)("a cancel that is %s while positions are %s is no success: %s", async (outcome, positions, state) => {
    const error = outcome === "FAILED" ? { code: "CANCEL_REJECTED" as const, details: { exchange: "venueone" } } : null;
    desk.script.cancel = { outcome, canceledCount: null, error };
    desk.script.legs = positions === "flat" ? [] : null;
    expect(dataOf(await closeAll({ exchanges: ["venueone"] }))).toMatchObject({
      success: false,
      venues: [
        {
          state,
          canceledOrders: null,
          cancel: { outcome, error: error === null ? null : { code: "CANCEL_REJECTED", message: expect.any(String) } },
        },
      ],
      message: expect.stringContaining(`venueone: ${state} (open orders: ${outcome})`),
    });
  });

  it("positions that failed outrank a cancel that failed, and what is unknown outranks both", async () => {
    desk.script.cancel = { outcome: "FAILED", canceledCount: 1, error: { code: "CANCEL_REJECTED", details: {} } };
    desk.script.legs = [closeLeg("venueone", { status: "FAILED" })];
    expect(dataOf(await closeAll({ exchanges: ["venueone"] }))).toMatchObject({ venues: [{ state: "FAILED" }] });
    desk.script.legs = [closeLeg("venueone", { status: "UNKNOWN" })];
    expect(dataOf(await closeAll({ exchanges: ["venueone"] }))).toMatchObject({ venues: [{ state: "UNKNOWN" }] });
  });

  it("a cancel that was not asked for is no part of it", async () => {
    desk.script.cancel = { outcome: "FAILED", canceledCount: null, error: { code: "CANCEL_REJECTED", details: {} } };
    expect(dataOf(await closeAll({ cancelOrders: false }))).toMatchObject({
      success: true,
      venues: [{ cancel: null }, {}],
    });
  });
});
