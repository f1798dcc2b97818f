/** Splits, quotes that bind and stops of the trade path, against fake venues on a virtual clock. */
import { describe, expect, it } from "vitest";
import { ASKER, closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";

const SPLIT = { allowSplit: true, size: "0.6" } as const;
const orders = (harness: Harness) => [...harness.one.log, ...harness.two.log];
const allSessionsClosed = (harness: Harness): boolean =>
  [...harness.one.sessions, ...harness.two.sessions].every((session) => session.closed);

describe("a split close", () => {
  it("goes to several venues at once where none holds the size, and replies with the aggregate", async () => {
    const harness = createHarness();
    const data = await harness.closeData({ ...SPLIT, clientOrderId: "c" });
    expect(harness.one.log.map(({ command }) => command.qtyLots)).toEqual([400]);
    expect(harness.two.log.map(({ command }) => command.qtyLots)).toEqual([200]);
    expect(harness.one.log[0]?.sentAtMs).toBe(harness.two.log[0]?.sentAtMs);
    expect(data).toMatchObject({
      executedOn: "venueone",
      order: {
        orderId: data.routing.routeId,
        status: "FILLED",
        quantity: "0.6",
        filledQuantity: "0.6",
        // (99990 × 0.4 + 99950 × 0.2) / 0.6
        averagePrice: "99976.66667",
      },
      routing: { split: true, reason: "BEST_SPLIT", recommended: "venueone", price: "99976.667" },
      execution: { state: "COMPLETED", submittedSize: "0.6", filledSize: "0.6", remainingSize: "0" },
    });
    expect(data.execution.legs).toMatchObject([
      { leg: 0, attempt: 1, exchange: "venueone", size: "0.4" },
      { leg: 1, attempt: 1, exchange: "venuetwo", size: "0.2" },
    ]);
    expect(data.routing.candidates.slice(0, 2)).toMatchObject([
      { selected: true, rank: 1, routedSize: "0.4" },
      { selected: true, rank: 2, routedSize: "0.2" },
    ]);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it.each([
    [{ size: "ALL" }, [400, 400]],
    [{ size: null, sizePercent: "75" }, [400, 200]],
  ])("takes %j over all holders", async (size, lots) => {
    const harness = createHarness();
    await harness.closeData({ ...SPLIT, ...size });
    expect(orders(harness).map(({ command }) => command.qtyLots)).toEqual(lots);
  });

  it("is left alone where one venue is as good, and done where it saves", async () => {
    const harness = createHarness({ one: { levelLots: 1_000 } });
    expect((await harness.closeData({ ...SPLIT, size: "0.3" })).routing.split).toBe(false);
    // Thin levels, far apart: two books fetch more than one.
    const thin = createHarness({
      one: { levelLots: 60, instrument: { priceStepTicks: 100 } },
      two: { levelLots: 60, bidTicks: 999_900, instrument: { priceStepTicks: 100 } },
    });
    const data = await thin.closeData({ ...SPLIT, size: "0.3" });
    expect(data.routing.split).toBe(true);
    expect(orders(thin).reduce((sum, { command }) => sum + command.qtyLots, 0)).toBe(300);
    expect(
      Math.abs((thin.one.log[0]?.command.qtyLots ?? 0) - (thin.two.log[0]?.command.qtyLots ?? 0)),
    ).toBeLessThanOrEqual(60);
  });

  it("is refused without allowSplit, with both maxima", async () => {
    expect(await createHarness().close({ size: "0.6" })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxSingleVenueSize: "0.4", maxTotalSize: "0.8" },
    });
    expect(await createHarness().close({ ...SPLIT, size: "0.801" })).toMatchObject({ code: "SIZE_EXCEEDS_POSITION" });
    expect(await createHarness().close({ ...SPLIT, maxLegs: 1 })).toMatchObject({ code: "NO_ELIGIBLE_VENUE" });
  });

  it("gives no leg less than a tenth of the size or the venue's minimum", async () => {
    const harness = createHarness({ two: { instrument: { minQtyLots: 150 } } });
    harness.one.setPosition("acct-venueone", "LONG", 590);
    await harness.closeData(SPLIT);
    expect(orders(harness).map(({ command }) => command.qtyLots)).toEqual([450, 150]);
  });

  it("reports what no lot takes", async () => {
    const harness = createHarness({
      two: { instrument: { qtyStepLots: 50 } },
      one: { instrument: { qtyStepLots: 50 } },
    });
    const data = await harness.closeData({ ...SPLIT, size: "0.62" });
    expect(data.execution).toMatchObject({ filledSize: "0.6", remainingSize: "0.02", requestedSize: "0.62" });
    expect(data.execution.adjustments).toContainEqual({ field: "size", from: "0.62", to: "0.6", rule: "LOT_SIZE" });
  });

  it("with one leg of unknown outcome keeps the others and sends nothing more", async () => {
    const harness = createHarness();
    harness.two.fate = () => ({ kind: "loseReply" });
    harness.two.orderReadFailure = () => "TIMEOUT";
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.5 });
    const data = await harness.closeData({ ...SPLIT, deadlineMs: 600 });
    expect(orders(harness)).toHaveLength(2);
    expect(data).toMatchObject({
      executedOn: "venueone",
      order: { status: "UNKNOWN", filledQuantity: "0.2" },
      execution: { state: "UNKNOWN", final: false, filledSize: "0.2" },
    });
    expect(data.execution.legs.map(({ outcome }) => outcome)).toEqual(["CONFIRMED", "UNKNOWN"]);
    harness.two.orderReadFailure = () => null;
    await harness.clock.advanceAsync(10_000);
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      state: "PARTIAL",
      final: true,
      filledSize: "0.4",
    });
  });

  it("sends what a refused leg left to a venue that was not tried, never above what remains", async () => {
    const harness = createHarness();
    harness.two.fate = () => ({ kind: "reject", reason: "VENUE_STATE" });
    const data = await harness.closeData(SPLIT);
    expect(data.execution).toMatchObject({ state: "PARTIAL", filledSize: "0.4", remainingSize: "0.2" });
    expect(orders(harness)).toHaveLength(2);
  });

  it("opens on several venues likewise, each leg with its own stop", async () => {
    const harness = createHarness({ two: { bidTicks: 999_900 } });
    for (const venue of [harness.one, harness.two]) {
      venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
      venue.setBook(999_900, 1_000_100, 30);
    }
    const data = await harness.openData({ stopLoss: "90000" }, { allowSplit: true, size: "0.4" });
    const entries = orders(harness).filter(({ command }) => !command.reduceOnly);
    expect(entries.map(({ command }) => command.qtyLots).reduce((sum, lots) => sum + lots, 0)).toBe(400);
    expect(entries).toHaveLength(2);
    expect(data.execution.protectionOrders?.map(({ exchange, size }) => [exchange, size])).toEqual([
      ["venueone", data.execution.legs.find(({ exchange }) => exchange === "venueone")?.filledSize],
      ["venuetwo", data.execution.legs.find(({ exchange }) => exchange === "venuetwo")?.filledSize],
    ]);
    expect(new Set(orders(harness).map(({ command }) => command.clientIdHex)).size).toBe(4);
  });

  it.each([
    ["loseReply", 1],
    ["loseRequest", 0],
  ] as const)(
    "opened with a leg of unknown outcome (%s) is not reported as protected whole until it is",
    async (kind, stopCount) => {
      const harness = createHarness({ two: { bidTicks: 999_900 } });
      for (const venue of [harness.one, harness.two]) {
        venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
        venue.setBook(999_900, 1_000_100, 30);
      }
      harness.two.fate = () => ({ kind });
      harness.two.orderReadFailure = () => "TIMEOUT";
      const request = { allowSplit: true, size: "0.4", deadlineMs: 1_000 };
      const { execution, routing } = await harness.openData({ stopLoss: "90000" }, request);
      expect(execution).toMatchObject({
        state: "UNKNOWN",
        protection: "PARTIAL",
        protectionReason: "OUTCOME_UNKNOWN",
        protectionOrders: [{ exchange: "venueone", outcome: "CONFIRMED" }],
      });
      harness.two.orderReadFailure = () => null;
      await harness.clock.advanceAsync(30_000);
      expect((await harness.service.execution(routing.routeId, ASKER))?.execution).toMatchObject({
        final: true,
        protection: "PLACED",
        protectionReason: null,
      });
      expect(harness.two.log.filter(({ command }) => command.trigger !== undefined)).toHaveLength(stopCount);
    },
  );

  it("after a crash at any step is sent once, whatever leg was known", async () => {
    const key = { idempotencyKey: "split" };
    for (let step = 1; step < 60; step++) {
      const harness = createHarness();
      let ended = false;
      void harness.service.trade(closeRequest(SPLIT), closeContext(harness.clock, key)).then(() => {
        ended = true;
      });
      await harness.clock.advanceAsync(step);
      harness.kill();
      const next = await harness.restart();
      const result = await harness.run(next.trade(closeRequest(SPLIT), closeContext(harness.clock, key)), 120_000);
      expect([step, result.ok && result.data.execution.filledSize]).toEqual([step, "0.6"]);
      expect([step, orders(harness).reduce((sum, { filledLots }) => sum + filledLots, 0)]).toEqual([step, 600]);
      if (ended) return;
    }
    throw new Error("the split takes more steps than expected");
  });
});

describe("a quote that binds", () => {
  async function quoted(harness: Harness, request: Parameters<Harness["closeData"]>[0] = {}) {
    const { quote } = await harness.closeData({ dryRun: true, ...request });
    if (quote === undefined) throw new Error("a dry run without a quote");
    return quote;
  }

  it("holds the live order to its worst price, not to the slippage asked for", async () => {
    const harness = createHarness();
    const quote = await quoted(harness, { maxSlippageBps: 10 });
    // The mid moves, the bid is still within the bound.
    harness.one.setBook(999_100, 999_300, 1_000);
    harness.two.setBook(998_000, 998_200, 1_000);
    const data = await harness.closeData({ quoteId: quote.quoteId });
    expect(data.routing.limits.worstPrice).toBe(quote.worstPrice);
    expect(harness.one.log[0]?.command.priceTicks).toBe(999_000);
  });

  it("is over when the book has moved past the worst price", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { maxSlippageBps: 10 });
    for (const venue of [harness.one, harness.two]) venue.setBook(998_000, 998_200, 1_000);
    expect(await harness.close({ quoteId })).toMatchObject({
      ok: false,
      code: "QUOTE_EXPIRED",
      details: { reason: "PRICE_MOVED" },
    });
    expect(orders(harness)).toEqual([]);
  });

  it("keeps to the venues that were eligible", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness, { excludeExchanges: ["venueone"] });
    expect((await harness.closeData({ quoteId })).executedOn).toBe("venuetwo");
  });

  it("of other accounts is no quote; a public one is anybody's", async () => {
    const harness = createHarness();
    harness.one.setPosition("someone", "LONG", 400);
    const stranger = { credentials: { venueone: { account: "someone", secret: "s3cret-of-a-stranger" } } };
    const { quoteId } = await quoted(harness);
    expect(await harness.close({ quoteId, ...stranger })).toMatchObject({ code: "QUOTE_UNKNOWN" });
    const answer = harness.service.quote(
      {
        symbol: "BTC",
        side: "SELL",
        size: "0.25",
        maxSlippageBps: 100,
        maxQuoteAgeMs: 1e9,
        preferredExchange: null,
        excludeExchanges: [],
      },
      null,
    );
    if (!answer.ok) throw new Error(answer.code);
    expect((await harness.closeData({ quoteId: answer.quote.quoteId, ...stranger })).execution.state).toBe("COMPLETED");
  });

  it("may be used with some of its accounts, not with others beside them", async () => {
    const harness = createHarness();
    const { quoteId } = await quoted(harness);
    expect((await harness.closeData({ quoteId, preferredExchange: "venuetwo" })).executedOn).toBe("venuetwo");
    const credentials = {
      ...closeRequest().credentials,
      venuetwo: { account: "someone", secret: "s3cret-of-a-stranger" },
    };
    const again = await quoted(harness);
    expect(await harness.close({ quoteId: again.quoteId, credentials })).toMatchObject({ code: "INVALID_PARAMETERS" });
  });

  it.each([
    [{ size: "0.251" }, "size"],
    [{ direction: "SHORT" as const }, "direction"],
    [{ orderType: "LIMIT" as const, limitPrice: "100000" }, "orderType"],
  ])("is not for another trade: %j", async (change, path) => {
    const harness = createHarness();
    for (const venue of [harness.one, harness.two]) venue.setPosition(`acct-${venue.venue}`, "SHORT", 10);
    const { quoteId } = await quoted(harness);
    expect(await harness.close({ quoteId, ...change })).toMatchObject({
      code: "INVALID_PARAMETERS",
      details: { fields: [{ path }] },
    });
    expect(orders(harness)).toEqual([]);
  });
});

describe("stop orders", () => {
  const STOP = { orderType: "STOP_MARKET", triggerPrice: "95000.05", preferredExchange: "venueone" } as const;

  it("rest at the venue they are for, reduce-only, with a worst price beyond the trigger", async () => {
    const harness = createHarness();
    const data = await harness.closeData({ ...STOP, maxSlippageBps: 200 });
    expect(harness.one.log[0]?.command).toMatchObject({
      side: "SELL",
      type: "MARKET",
      timeInForce: "IOC",
      reduceOnly: true,
      qtyLots: 250,
      trigger: { kind: "STOP", priceTicks: 950_001 },
      // 95000.05 × 0.98, up to the tick.
      priceTicks: 931_001,
    });
    expect(data).toMatchObject({
      executedOn: "venueone",
      order: { type: "STOP_MARKET", status: "OPEN", triggerPrice: "95000.1", reduceOnly: true },
      execution: { state: "RESTING", final: false, algo: "STOP", filledSize: "0" },
      routing: { forced: true },
    });
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("with a limit carry it, and of a short lie above the market", async () => {
    const harness = createHarness();
    harness.one.setPosition("acct-venueone", "LONG", 0);
    harness.one.setPosition("acct-venueone", "SHORT", 300);
    const short = { ...STOP, direction: "SHORT", orderType: "STOP_LIMIT" } as const;
    await harness.closeData({ ...short, triggerPrice: "105000", limitPrice: "105500" });
    expect(harness.one.log[0]?.command).toMatchObject({
      side: "BUY",
      type: "LIMIT",
      timeInForce: "GTC",
      priceTicks: 1_055_000,
      trigger: { priceTicks: 1_050_000 },
    });
    expect(await harness.close({ ...short, limitPrice: "105500" })).toMatchObject({
      code: "INVALID_PARAMETERS",
      details: { fields: [{ path: "triggerPrice", problem: "would fire at once" }] },
    });
  });

  it("that the venue refuses go nowhere else", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "reject", reason: "PRICE" });
    const data = await harness.closeData(STOP);
    expect(data.execution.state).toBe("REJECTED");
    expect(harness.two.log).toEqual([]);
  });

  it("of unknown outcome are unknown, and known once the venue shows them", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    const data = await harness.closeData(STOP);
    expect(data.execution).toMatchObject({ state: "RESTING", final: false });
    expect(harness.one.log).toHaveLength(1);
  });
});
