import { describe, expect, it } from "vitest";
import type { Restored } from "../../storage/instance/instance-mark.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { createDesk, CREDENTIALS, orderContext, orderName, SECRET, type DeskHarness } from "./test/desk-harness.js";
import type {
  AmendAnswer,
  AmendRequest,
  CancelAllAnswer,
  CancelAnswer,
  OrderName,
  SettingAnswer,
} from "./order-desk.js";

/** As the co-signer says of a store between two of its own words. */
const BACKUP: Restored = { reason: "COSIGNER_AHEAD", sinceMs: 8, storeAtMs: 1 };
const LIMIT = { type: "LIMIT", price: "95000", timeInForce: "GTC" } as const;

function cancel(harness: DeskHarness, orderId: string, overrides: Partial<OrderName> = {}): Promise<CancelAnswer> {
  return harness.run(harness.desk.cancel(orderName(orderId, overrides), orderContext(harness.clock)));
}

function amend(harness: DeskHarness, orderId: string, change: Partial<AmendRequest>): Promise<AmendAnswer> {
  const request = { ...orderName(orderId), price: null, quantity: null, ...change };
  return harness.run(harness.desk.amend(request, orderContext(harness.clock)));
}

describe("a cancel", () => {
  it.each(["venue id", "caller's id", "venue's form of ours"])(
    "takes the %s, with and without a symbol",
    async (by) => {
      for (const symbol of [null, "BTC"]) {
        const harness = await createDesk();
        const order = await harness.order({ ...LIMIT, clientOrderId: "mine" });
        const name = by === "venue id" ? order.orderId : by === "caller's id" ? "mine" : order.venueClientOrderId;
        expect(await cancel(harness, name ?? "", { symbol })).toMatchObject({
          ok: true,
          outcome: "ACCEPTED",
          symbol: "BTC",
        });
        expect(harness.venue.log[0]?.order?.status).toBe("CANCELED");
        expect(harness.venue.lanes.at(-1)).toBe("exit");
      }
    },
  );

  it("of an order that is nowhere, or not open any more, says which", async () => {
    const harness = await createDesk();
    expect(await cancel(harness, "77", { symbol: "BTC" })).toMatchObject({ code: "ORDER_NOT_FOUND" });
    expect(await cancel(harness, "")).toMatchObject({ code: "ORDER_NOT_FOUND" });
    const order = await harness.order();
    expect(await cancel(harness, order.orderId ?? "")).toMatchObject({
      code: "ORDER_NOT_OPEN",
      details: { status: "FILLED" },
    });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    expect(await cancel(harness, "77")).toMatchObject({ code: "FAILED_TO_FETCH_ORDER_STATUS" });
  });

  it("of an order that may be on its way still is not known to have worked", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "late", executeAfterMs: 1_400 });
    harness.venue.indexLagMs = () => 1_000;
    await harness.place({ ...LIMIT, clientOrderId: "late", deadlineMs: 350 });
    expect(await cancel(harness, "late")).toMatchObject({ ok: true, outcome: "UNKNOWN" });
  });

  it("of an order that the venue has just taken and does not list yet is not reported as absent", async () => {
    const harness = await createDesk();
    harness.venue.indexLagMs = () => 1_500;
    const { orderId } = await harness.order(LIMIT);
    expect(await cancel(harness, orderId ?? "")).toMatchObject({ ok: true, outcome: "UNKNOWN", symbol: "BTC" });
    await harness.clock.advanceAsync(2_100);
    expect(await cancel(harness, orderId ?? "")).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    expect(await cancel(harness, "987654321")).toMatchObject({ code: "ORDER_NOT_FOUND" });
  });

  it("of everything counts what it cancelled, by the venue's call or one by one", async () => {
    for (const cancelAll of [true, false]) {
      const harness = await createDesk({ knobs: { cancelAll } });
      for (let count = 0; count < 3; count++) await harness.order(LIMIT);
      const request = { venue: "venueone", credentials: CREDENTIALS, symbol: null, deadlineMs: 5_000 } as const;
      const answer: CancelAllAnswer = await harness.run(harness.desk.cancelAll(request, orderContext(harness.clock)));
      expect(answer).toEqual({ ok: true, outcome: "ACCEPTED", canceledCount: 3, failed: [] });
      expect(harness.venue.log.every(({ order }) => order?.status === "CANCELED")).toBe(true);
      const unlisted = harness.desk.cancelAll({ ...request, symbol: "DOGE" }, orderContext(harness.clock));
      expect(await harness.run(unlisted)).toMatchObject({ code: "UNKNOWN_SYMBOL" });
    }
  });
});

describe("an amend", () => {
  it("sends both in full, what is not changed as it is", async () => {
    const harness = await createDesk();
    const { orderId } = await harness.order(LIMIT);
    expect(await amend(harness, orderId ?? "", { price: "94000" })).toMatchObject({
      ok: true,
      outcome: "ACCEPTED",
      order: { price: "94000", quantity: "0.25" },
    });
    await amend(harness, orderId ?? "", { quantity: "0.5" });
    expect(harness.calls.amended).toEqual([
      { priceTicks: 940_000, qtyLots: 250 },
      { priceTicks: 940_000, qtyLots: 500 },
    ]);
  });

  it.each<[string, Partial<AmendRequest>]>([
    ["MISSING_PARAMETERS", {}],
    ["OFF_GRID", { price: "94000.05" }],
    ["OFF_GRID", { quantity: "0.0001" }],
    ["INVALID_PARAMETERS", { quantity: "0" }],
    ["INVALID_PARAMETERS", { price: "NaN" }],
  ])("with bad figures is %s, and sends nothing", async (code, change) => {
    const harness = await createDesk();
    const { orderId } = await harness.order(LIMIT);
    expect(await amend(harness, orderId ?? "", change)).toMatchObject({ ok: false, code });
    expect(harness.calls.amended).toEqual([]);
  });

  it("to a price that no move of the mark brings inside the venue's band is refused unsent; a new size is not", async () => {
    const harness = await createDesk({ venue: { instrument: { bandUpPpm: 1_020_000, bandDownPpm: 980_000 } } });
    const { orderId } = await harness.order(LIMIT);
    harness.venue.setMark("80000");
    // 80000 × 1.02, and a per cent of 80000 for the mark; the order itself is far above that.
    expect(await amend(harness, orderId ?? "", { price: "82400.1" })).toMatchObject({
      code: "INVALID_PARAMETERS",
      details: {
        fields: [{ path: "price", problem: "must not be above 81600, the edge of the venue's band around its mark" }],
      },
    });
    expect(harness.calls.amended).toEqual([]);
    expect(await amend(harness, orderId ?? "", { quantity: "0.3" })).toMatchObject({ ok: true });
    expect(await amend(harness, orderId ?? "", { price: "82400" })).toMatchObject({ ok: true });
    expect(harness.calls.amended).toEqual([
      { priceTicks: 950_000, qtyLots: 300 },
      { priceTicks: 824_000, qtyLots: 300 },
    ]);
  });

  it("of an order that is not listed yet keeps what an amend before it changed, answered or not", async () => {
    for (const knob of ["accept", "lose"] as const) {
      const harness = await createDesk({ knobs: { amend: knob } });
      harness.venue.indexLagMs = () => 1_500;
      const { orderId } = await harness.order(LIMIT);
      expect(await amend(harness, orderId ?? "", { price: "94000" })).toMatchObject({ ok: true });
      expect(await amend(harness, orderId ?? "", { quantity: "0.5" })).toMatchObject({ ok: true });
      expect(harness.calls.amended).toEqual([
        { priceTicks: 940_000, qtyLots: 250 },
        { priceTicks: 940_000, qtyLots: 500 },
      ]);
    }
  });

  it("tells a refusal, an unknown outcome and a venue that cannot apart", async () => {
    for (const [amendKnob, expected] of [
      ["reject", { ok: false, code: "AMEND_REJECTED", details: { venueText: "no change today" } }],
      ["lose", { ok: true, outcome: "UNKNOWN" }],
      ["absent", { ok: false, code: "NOT_SUPPORTED" }],
    ] as const) {
      const harness = await createDesk({ knobs: { amend: amendKnob } });
      const { orderId } = await harness.order(LIMIT);
      expect(await amend(harness, orderId ?? "", { price: "94000" })).toMatchObject(expected);
    }
  });

  it("is held to the limits, and what it grows by counts for the day", async () => {
    const harness = await createDesk({ limits: { maxOrderNotional: "60000", maxDailyNotional: "80000" } });
    const { orderId } = await harness.order(LIMIT);
    expect(harness.guards.status().usedToday).toBe("25000");
    expect(await amend(harness, orderId ?? "", { quantity: "0.7" })).toMatchObject({ code: "ORDER_LIMIT" });
    expect(await amend(harness, orderId ?? "", { quantity: "0.5" })).toMatchObject({ ok: true });
    expect(harness.guards.status().usedToday).toBe("50000");
    await harness.restart();
    expect(harness.guards.status().usedToday).toBe("50000");
  });

  it("is kept back when openings are switched off while it is being written down", async () => {
    const harness = await createDesk({ limits: { maxDailyNotional: "80000" } });
    const { orderId } = await harness.order(LIMIT);
    harness.store.gate = async () => {
      harness.store.gate = async () => {};
      void harness.guards.halt(null, "drill");
    };
    expect(await amend(harness, orderId ?? "", { quantity: "0.5" })).toMatchObject({ code: "TRADING_HALTED" });
    expect(harness.calls.amended).toEqual([]);
    expect(harness.guards.status().usedToday).toBe("25000");
  });

  it("is kept back under its own name where the store shows as a restored backup meanwhile", async () => {
    let restored: Restored | null = null;
    const harness = await createDesk({ limits: { maxDailyNotional: "80000" }, restored: () => restored });
    const { orderId } = await harness.order(LIMIT);
    harness.store.gate = async () => {
      restored = BACKUP;
    };
    expect(await amend(harness, orderId ?? "", { quantity: "0.5" })).toMatchObject({ code: "RESTORED_STORE" });
    expect(harness.calls.amended).toEqual([]);
  });

  it("is counted for the day only when nothing but its send is left to do", async () => {
    const harness = await createDesk({ limits: { maxDailyNotional: "80000" } });
    const { orderId } = await harness.order(LIMIT);
    const { get } = harness.store;
    harness.store.gate = async () => {
      harness.store.gate = async () => {};
      // What it grows by is being written: the store's reads of names fail from here on.
      harness.store.get = async (namespace, key) => {
        if (namespace === "order-venue-name") throw storeUnavailable("READ_FAILED");
        return get(namespace, key);
      };
    };
    await amend(harness, orderId ?? "", { quantity: "0.5" });
    expect([harness.calls.amended.length, harness.guards.status().usedToday]).toEqual([1, "50000"]);
  });
});

describe("account settings", () => {
  it.each([
    [0, 125],
    [126, 125],
    [2.5, 125],
    [51, 50],
  ])("refuse a leverage of %s", async (leverage, max) => {
    const harness = await createDesk();
    const request = {
      venue: "venueone",
      credentials: CREDENTIALS,
      symbol: "BTC",
      deadlineMs: 1_000,
      leverage,
    } as const;
    const answer: SettingAnswer = await harness.run(harness.desk.setLeverage(request, orderContext(harness.clock)));
    expect(answer).toMatchObject({ ok: false, code: "LEVERAGE_OUT_OF_RANGE", details: { max } });
    expect(harness.venue.calls.settings).toBe(0);
  });

  it("are set, refused and unknown as the venue has it", async () => {
    const harness = await createDesk();
    const request = {
      venue: "venueone",
      credentials: CREDENTIALS,
      symbol: "BTC",
      deadlineMs: 1_000,
      leverage: 7,
    } as const;
    const set = () => harness.run(harness.desk.setLeverage(request, orderContext(harness.clock)));
    expect(await set()).toMatchObject({ ok: true, outcome: "ACCEPTED", settings: { leverage: 7 } });
    harness.venue.settingFate = () => "reject";
    expect(await set()).toMatchObject({ code: "SETTING_REJECTED", details: { venueText: "not now" } });
    harness.venue.settingFate = () => "lose";
    expect(await set()).toMatchObject({ ok: true, outcome: "UNKNOWN" });
    const mode = { ...request, mode: "isolated" } as const;
    harness.venue.settingFate = () => "accept";
    expect(await harness.run(harness.desk.setMarginMode(mode, orderContext(harness.clock)))).toMatchObject({
      settings: { marginMode: "isolated" },
    });
    const unlisted = harness.desk.setLeverage({ ...request, symbol: "DOGE" }, orderContext(harness.clock));
    expect(await harness.run(unlisted)).toMatchObject({ code: "INVALID_TRADING_SYMBOL" });
  });
});

describe("open orders", () => {
  it("carry their callers' names, and are the account's own", async () => {
    const harness = await createDesk();
    await harness.order({ ...LIMIT, clientOrderId: "mine" });
    await harness.order({ ...LIMIT, credentials: { account: "other", secret: SECRET } });
    const request = { venue: "venueone", credentials: CREDENTIALS, symbol: null, deadlineMs: 1_000 } as const;
    const answer = await harness.run(harness.desk.openOrders(request, orderContext(harness.clock)));
    expect(answer).toMatchObject({ ok: true, orders: [{ clientOrderId: "mine", status: "OPEN", type: "LIMIT" }] });
  });
});
