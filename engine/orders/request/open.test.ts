/** Entries against fake venues on a virtual clock: one behaviour per test. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { GuardBook, NO_LIMITS } from "../../guards/guard-book.js";
import { type GuardedOrder, type Guards, NO_GUARDS, NOTHING_RESERVED } from "../../guards/guards.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { ASKER, closeContext, createHarness, openRequest, SECRET_ONE, type Harness } from "../test/harness.js";

/** Both venues flat, so that nothing of an entry depends on what was there. */
function flat(options: Parameters<typeof createHarness>[0] = {}): Harness {
  const harness = createHarness(options);
  for (const venue of [harness.one, harness.two]) venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
  return harness;
}

function setFree(harness: Harness, free: string): void {
  for (const venue of [harness.one, harness.two]) venue.free = free;
}

const orders = (harness: Harness) => [...harness.one.log, ...harness.two.log];
const allSessionsClosed = (harness: Harness): boolean =>
  [...harness.one.sessions, ...harness.two.sessions].every((session) => session.closed);
const onPosition =
  (fate: PlaceFate) =>
  (command: { readonly reduceOnly: boolean }): PlaceFate =>
    command.reduceOnly ? { kind: "fill" } : fate;

describe("an entry at market", () => {
  it("buys a long whole on one venue, without the reduce-only flag, and reports fill and position", async () => {
    const harness = flat();
    const data = await harness.openData({}, { clientOrderId: "open-1" });
    expect(orders(harness)).toHaveLength(1);
    const [sent] = orders(harness);
    expect(sent?.command).toMatchObject({
      side: "BUY",
      reduceOnly: false,
      positionSide: "BOTH",
      type: "MARKET",
      timeInForce: "IOC",
      qtyLots: 250,
    });
    expect(data.routing).toMatchObject({ mode: "BEST_ENTRY", split: false });
    expect(data.order).toMatchObject({ side: "BUY", reduceOnly: false, status: "FILLED", clientOrderId: "open-1" });
    expect(data.execution).toMatchObject({
      state: "COMPLETED",
      final: true,
      filledSize: "0.25",
      protection: null,
      protectionReason: null,
      protectionOrders: [],
    });
    expect(data.position).toMatchObject({ direction: "LONG", size: "0.25", entryPrice: data.order?.averagePrice });
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("sells a short, and adds to one that is there by size", async () => {
    const harness = flat();
    harness.one.setPosition("acct-venueone", "SHORT", 250);
    const data = await harness.openData({}, { direction: "SHORT", preferredExchange: "venueone" });
    expect(orders(harness)[0]?.command).toMatchObject({ side: "SELL", reduceOnly: false });
    // (95000 × 0.25 + 99990 × 0.25) / 0.5
    expect(data.position).toMatchObject({ direction: "SHORT", size: "0.5", entryPrice: "97495" });
  });

  it("names the opened side on a hedge-mode account, flat or not", async () => {
    for (const lots of [0, 100]) {
      const harness = flat({ two: { hedgeMode: true } });
      harness.two.setPosition("acct-venuetwo", "SHORT", lots);
      await harness.openData({}, { preferredExchange: "venuetwo" });
      expect(harness.two.log[0]?.command).toMatchObject({ side: "BUY", positionSide: "LONG", reduceOnly: false });
    }
  });

  it("chooses by the entry and the exit together: a wide book loses, whatever its better side", async () => {
    // venuetwo asks a little less, but bids far less.
    const harness = flat({ two: { askTicks: 1_000_050, bidTicks: 990_000 } });
    const data = await harness.openData();
    expect(data.executedOn).toBe("venueone");
    const [one, two] = data.routing.candidates;
    expect([one?.exchange, one?.rank, two?.rank]).toEqual(["venueone", 1, 2]);
    // 100010 against the mid 100000: 1 bps in, 1 bps out, twice the fee of 4.5 bps.
    expect(one).toMatchObject({ slippageBps: "1", costBps: "11", exitPrice: "99990", topOfBook: "100010" });
    expect(Number(two?.costBps)).toBeGreaterThan(100);
  });

  it("counts funding only where a hold is expected: a long pays it", async () => {
    const harness = flat({ two: { bidTicks: 999_900 } });
    for (const [venue, rate] of [
      [harness.one, "0.0008"],
      [harness.two, "-0.0008"],
    ] as const) {
      Object.assign(venue.market.ticker, { fundingRate: rate, fundingIntervalHours: 8 });
      venue.market.ticker.stamp(1, 1);
    }
    const dry = await harness.openData({ expectedHoldHours: 24 }, { dryRun: true });
    expect(dry.routing.recommended).toBe("venuetwo");
    // 8 bps each 8 hours, for 24 hours.
    expect(dry.routing.candidates.map(({ fundingBps }) => fundingBps).slice(0, 2)).toEqual(["24", "-24"]);
    expect(dry.routing.candidates[0]).toMatchObject({ fundingRateHourly: "0.0001", costBps: "35" });
    const short = await harness.openData({ expectedHoldHours: 24 }, { dryRun: true, direction: "SHORT" });
    expect(short.routing.recommended).toBe("venueone");
    const without = await harness.openData({}, { dryRun: true });
    expect(without.routing.candidates[0]?.costBps).toBe(without.routing.candidates[1]?.costBps);
  });

  it("turns a notional into a size worth at most that, at the highest mid of those who may take it", async () => {
    const harness = flat();
    const data = await harness.openData({ notionalUsd: "25000" }, { size: null, preferredExchange: "venueone" });
    expect(data.execution.requestedSize).toBe("0.25");
    expect((await harness.openData({ notionalUsd: "25099" }, { size: null })).execution.requestedSize).toBe("0.25");
    expect(await harness.open({ notionalUsd: "50" }, { size: null })).toMatchObject({ code: "SIZE_BELOW_LOT" });
  });

  it("sends its venue calls on the trade lane, and asks that lane for room", async () => {
    const harness = flat();
    await harness.openData();
    expect(new Set([...harness.one.lanes, ...harness.two.lanes])).toEqual(new Set(["trade"]));
    for (const venue of [harness.one, harness.two]) venue.tradeTokens = 0;
    expect(await harness.open()).toMatchObject({ code: "VENUE_RATE_LIMITED" });
    // Ways out stay open.
    harness.one.setPosition("acct-venueone", "LONG", 400);
    expect((await harness.closeData()).execution.state).toBe("COMPLETED");
  });

  it("goes where the account's own budget has room beside what is kept for its exits", async () => {
    const harness = flat();
    harness.one.orderWaitMs = (lane) => (lane === "exit" ? 0 : 4_000);
    const data = await harness.openData();
    expect(data.executedOn).toBe("venuetwo");
    expect(data.routing.candidates[0]).toMatchObject({ eligible: false, reasonCode: "RATE_BUDGET" });
    harness.two.orderWaitMs = harness.one.orderWaitMs;
    expect(await harness.open()).toMatchObject({ code: "VENUE_RATE_LIMITED" });
    harness.one.setPosition("acct-venueone", "LONG", 400);
    expect((await harness.closeData({ preferredExchange: "venueone" })).execution.state).toBe("COMPLETED");
  });

  it("goes on to the next venue after a definitive refusal, with what remains after a partial fill", async () => {
    const harness = flat();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4 });
    harness.two.fate = () => ({ kind: "fill", liquidity: 0.4 });
    const data = await harness.openData();
    expect(data.execution.legs.map(({ size }) => size)).toEqual(["0.25", "0.15"]);
    expect(data.execution).toMatchObject({ state: "PARTIAL", filledSize: "0.16", remainingSize: "0.09" });
  });

  it("never sends a second order while the outcome of the first is unknown", async () => {
    const harness = flat();
    for (const venue of [harness.one, harness.two]) {
      venue.fate = () => ({ kind: "loseReply" });
      venue.orderReadFailure = () => "TIMEOUT";
    }
    const data = await harness.openData({ stopLoss: "90000" }, { deadlineMs: 600 });
    expect(orders(harness)).toHaveLength(1);
    expect(data.execution).toMatchObject({
      state: "UNKNOWN",
      final: false,
      protection: "NOT_PLACED",
      protectionReason: "OUTCOME_UNKNOWN",
    });
    expect(data.order?.status).toBe("UNKNOWN");
  });

  it("tells the end of an unknown entry by account, without a credential", async () => {
    const harness = flat();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const resolved: unknown[] = [];
    harness.service.onResolved((one) => resolved.push(one));
    const data = await harness.openData({}, { deadlineMs: 600, preferredExchange: "venueone" });
    harness.one.orderReadFailure = () => null;
    await harness.clock.advanceAsync(10_000);
    expect(resolved).toMatchObject([
      {
        routeId: data.routing.routeId,
        data: { execution: { state: "COMPLETED", filledSize: "0.25" } },
        accounts: [{ venue: "venueone", accountHash: expect.stringMatching(/^[0-9a-f]+$/) }],
      },
    ]);
    expect(JSON.stringify(resolved)).not.toContain(SECRET_ONE);
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.routing.mode).toBe("BEST_ENTRY");
  });
});

describe("what refuses an entry before it is sent", () => {
  it.each<[string, Parameters<Harness["open"]>, (harness: Harness) => void, object]>([
    [
      "a position in the other direction",
      [{}, { preferredExchange: "venueone" }],
      (h) => h.one.setPosition("acct-venueone", "SHORT", 5),
      { code: "OPPOSITE_POSITION" },
    ],
    ["too little free margin", [], (h) => setFree(h, "2000"), { code: "INSUFFICIENT_MARGIN" }],
    ["a leverage above the contract's", [{ leverage: 51 }], () => {}, { code: "LEVERAGE_NOT_SUPPORTED" }],
    ["no credentials", [{}, { credentials: {} }], () => {}, { code: "NO_ELIGIBLE_VENUE", details: { trade: "open" } }],
    ["less than a lot", [{}, { size: "0.0004" }], () => {}, { code: "SIZE_BELOW_LOT" }],
    ["more than the venue's largest order", [{}, { size: "1001" }], () => {}, { code: "NO_ELIGIBLE_VENUE" }],
    ["a stop that would fire at once", [{ stopLoss: "100001" }], () => {}, { code: "INVALID_PARAMETERS" }],
    ["a take-profit that would fire at once", [{ takeProfit: "99999" }], () => {}, { code: "INVALID_PARAMETERS" }],
  ])("%s", async (_, args, change, answer) => {
    const harness = flat();
    change(harness);
    expect(await harness.open(...args)).toMatchObject({ ok: false, ...answer });
    expect(orders(harness)).toEqual([]);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("nets a position in the other direction where the caller allows it", async () => {
    const harness = flat();
    harness.one.setPosition("acct-venueone", "SHORT", 100);
    const data = await harness.openData({ allowNetting: true, stopLoss: "90000" }, { preferredExchange: "venueone" });
    expect(data.position).toMatchObject({ direction: "LONG", size: "0.15" });
    // Only what was opened is protected.
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 150 });
  });

  it("leaves the margin to the venue where it is not known, and counts the leverage where it is", async () => {
    const harness = flat();
    harness.one.free = "2600";
    expect((await harness.openData({}, { preferredExchange: "venueone" })).executedOn).toBe("venueone");
    harness.two.free = null;
    expect((await harness.openData({}, { preferredExchange: "venuetwo" })).executedOn).toBe("venuetwo");
  });
});

describe("leverage and margin mode", () => {
  it("are set before the order where they differ, and reported", async () => {
    const harness = flat();
    const data = await harness.openData({ leverage: 5, marginMode: "isolated" }, { preferredExchange: "venueone" });
    expect(harness.one.settings).toEqual({ leverage: 5, marginMode: "isolated" });
    expect(data.execution.adjustments.filter(({ rule }) => rule === "REQUESTED")).toEqual([
      { field: "marginMode", from: "cross", to: "isolated", rule: "REQUESTED" },
      { field: "leverage", from: "10", to: "5", rule: "REQUESTED" },
    ]);
    const again = await harness.openData({ leverage: 5, marginMode: "isolated" }, { preferredExchange: "venueone" });
    expect(again.execution.adjustments.filter(({ rule }) => rule === "REQUESTED")).toEqual([]);
    expect(harness.one.calls.settings).toBe(2);
  });

  it.each(["reject", "lose"] as const)(
    "that the venue does not take (%s) stop the entry before it is sent",
    async (fate) => {
      const harness = flat();
      harness.one.settingFate = () => fate;
      expect(await harness.open({ leverage: 3 }, { preferredExchange: "venueone" })).toMatchObject({
        ok: false,
        code: "LEVERAGE_NOT_SET",
        details: {
          exchange: "venueone",
          reasonCode: "LEVERAGE_NOT_SET",
          outcome: fate === "reject" ? "REJECTED" : "UNKNOWN",
        },
      });
      expect(orders(harness)).toEqual([]);
    },
  );

  it("are asked of no venue whose budget of such changes is spent; an entry that changes nothing goes there", async () => {
    const harness = flat();
    harness.one.settingWaitMs = 4_000;
    const data = await harness.openData({ leverage: 5 });
    expect(data.executedOn).toBe("venuetwo");
    expect(data.routing.candidates[0]).toMatchObject({ eligible: false, reasonCode: "RATE_BUDGET" });
    expect((await harness.openData({ leverage: 10, marginMode: "cross" })).executedOn).toBe("venueone");
    expect((await harness.openData()).executedOn).toBe("venueone");
    harness.two.settingWaitMs = 4_000;
    expect(await harness.open({ leverage: 3 })).toMatchObject({
      code: "VENUE_RATE_LIMITED",
      details: { retryAfterMs: 4_000 },
    });
    harness.one.setPosition("acct-venueone", "LONG", 400);
    expect((await harness.closeData({ preferredExchange: "venueone" })).execution.state).toBe("COMPLETED");
  });

  it("on a venue without such settings make it ineligible", async () => {
    const bare = flat();
    bare.one.settings = null;
    const next = await bare.restart();
    const result = await bare.run(next.trade(openRequest({ leverage: 3 }), closeContext(bare.clock)));
    expect(result).toMatchObject({ ok: true, data: { executedOn: "venuetwo" } });
    expect(bare.one.log).toEqual([]);
  });
});

describe("protection", () => {
  const both = { takeProfit: "105000", stopLoss: "95000" };

  it("is placed reduce-only for what filled, each with an intent and a client id of its own", async () => {
    const harness = flat();
    harness.one.fate = (command) => (command.reduceOnly ? { kind: "fill" } : { kind: "fill", liquidity: 0.4 });
    harness.two.fate = () => ({ kind: "reject", reason: "VENUE_STATE" });
    const data = await harness.openData(both);
    const [entry, ...guards] = harness.one.log.map(({ command }) => command);
    expect(entry).toMatchObject({ reduceOnly: false, qtyLots: 250 });
    expect(guards).toMatchObject([
      { side: "SELL", reduceOnly: true, qtyLots: 100, trigger: { kind: "TAKE_PROFIT", priceTicks: 1_050_000 } },
      { side: "SELL", reduceOnly: true, qtyLots: 100, trigger: { kind: "STOP", priceTicks: 950_000 } },
    ]);
    expect(new Set(harness.one.log.map(({ command }) => command.clientIdHex)).size).toBe(3);
    expect(data.execution).toMatchObject({ protection: "PLACED", protectionReason: null, state: "PARTIAL" });
    expect(data.execution.legs).toHaveLength(2);
    expect(data.execution.protectionOrders).toMatchObject([
      { kind: "TAKE_PROFIT", triggerPrice: "105000", size: "0.1", status: "OPEN", outcome: "CONFIRMED" },
      { kind: "STOP_LOSS", triggerPrice: "95000", size: "0.1", status: "OPEN", outcome: "CONFIRMED" },
    ]);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("of a short is on the other sides, on the grid toward the market", async () => {
    const harness = flat({ one: { instrument: { priceStepTicks: 10 } } });
    await harness.openData(
      { takeProfit: "95000.5", stopLoss: "105000.5" },
      { direction: "SHORT", preferredExchange: "venueone" },
    );
    expect(harness.one.log.slice(1).map(({ command }) => command)).toMatchObject([
      { side: "BUY", trigger: { kind: "TAKE_PROFIT", priceTicks: 950_010 } },
      { side: "BUY", trigger: { kind: "STOP", priceTicks: 1_050_000 } },
    ]);
  });

  it("that is refused leaves the entry as it is and says so", async () => {
    const harness = flat();
    harness.one.fate = (command) =>
      command.reduceOnly ? { kind: "reject", reason: "PRICE", venueText: `no ${SECRET_ONE}` } : { kind: "fill" };
    const data = await harness.openData(both, { preferredExchange: "venueone" });
    expect(data.execution).toMatchObject({ state: "COMPLETED", protection: "FAILED", protectionReason: "PRICE" });
    expect(harness.one.heldLots("acct-venueone", "LONG")).toBe(250);
    expect(JSON.stringify(data)).not.toContain(SECRET_ONE);
  });

  it("that fails in part is PARTIAL; closeOnProtectionFailure closes again and takes the rest back", async () => {
    const harness = flat();
    harness.one.fate = (command) =>
      command.trigger?.kind === "STOP" ? { kind: "reject", reason: "PRICE" } : { kind: "fill" };
    expect((await harness.openData(both, { preferredExchange: "venueone" })).execution.protection).toBe("PARTIAL");
    harness.one.setPosition("acct-venueone", "LONG", 0);
    const data = await harness.openData({ ...both, closeOnProtectionFailure: true }, { preferredExchange: "venueone" });
    expect(harness.one.heldLots("acct-venueone", "LONG")).toBe(0);
    expect(harness.one.log.at(-1)?.command).toMatchObject({ side: "SELL", reduceOnly: true, qtyLots: 250 });
    expect(data.execution.protectionOrders).toMatchObject([
      { kind: "TAKE_PROFIT", status: "CANCELED" },
      { kind: "STOP_LOSS", status: "REJECTED" },
      { kind: "CLOSE", filledSize: "0.25", status: "FILLED" },
    ]);
    expect(data.position).toMatchObject({ size: "0" });
  });

  it("of unknown outcome is unknown, closes nothing, and finds its end later", async () => {
    const harness = flat();
    harness.one.fate = (command) => (command.reduceOnly ? { kind: "loseReply" } : { kind: "fill" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const data = await harness.openData(
      { ...both, closeOnProtectionFailure: true },
      { preferredExchange: "venueone", deadlineMs: 1_000 },
    );
    expect(data.execution).toMatchObject({ state: "COMPLETED", final: false, protection: "UNKNOWN" });
    expect(harness.one.log).toHaveLength(3);
    harness.one.orderReadFailure = () => null;
    await harness.clock.advanceAsync(10_000);
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      protection: "PLACED",
      final: true,
    });
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("follows an entry that was only acknowledged once its fill is known", async () => {
    const harness = flat();
    harness.one.fate = onPosition({ kind: "fill", ackOnlyMs: 400 });
    const data = await harness.openData({ stopLoss: "95000" }, { preferredExchange: "venueone" });
    expect(data.execution).toMatchObject({ state: "COMPLETED", protection: "PLACED" });
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 250 });
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("is not placed for an entry that filled nothing", async () => {
    const harness = flat();
    const data = await harness.openData(both, {
      orderType: "LIMIT",
      limitPrice: "99000",
      preferredExchange: "venueone",
    });
    expect(data.execution).toMatchObject({
      state: "RESTING",
      protection: "NOT_PLACED",
      protectionReason: "WATCHED",
    });
    expect(harness.one.log).toHaveLength(1);
  });
});

describe("an entry with an Idempotency-Key", () => {
  const KEY = { idempotencyKey: "open-key" };

  it("is sent once, protection and all, and replayed", async () => {
    const harness = flat();
    const first = await harness.openData({ stopLoss: "95000" }, {}, KEY);
    await harness.clock.advanceAsync(100);
    expect(await harness.open({ stopLoss: "95000" }, {}, KEY)).toMatchObject({ replayed: true, data: first });
    expect(orders(harness)).toHaveLength(2);
  });

  it("after a crash at any step is one entry with one stop", async () => {
    for (let step = 1; step < 60; step++) {
      const harness = flat();
      const { gate } = await crashAt(harness, step);
      const next = await harness.restart();
      const result = await harness.run(
        next.trade(openRequest({ stopLoss: "95000" }), closeContext(harness.clock, { ...KEY })),
        120_000,
      );
      const entries = orders(harness).filter(({ command }) => !command.reduceOnly);
      const stops = orders(harness).filter(({ command }) => command.reduceOnly);
      expect([step, entries.length, result.ok && result.data.execution.state]).toEqual([step, 1, "COMPLETED"]);
      expect([step, stops.length]).toEqual([step, 1]);
      if (!gate) return;
    }
    throw new Error("the entry takes more steps than expected");
  });

  it("after a crash protects what filled, also where the rest can go nowhere", async () => {
    const harness = flat();
    harness.one.fate = onPosition({ kind: "fill", liquidity: 0.4 });
    harness.two.fate = () => {
      harness.kill();
      return { kind: "loseRequest" };
    };
    const request = { stopLoss: "95000" };
    void harness.service.trade(openRequest(request), closeContext(harness.clock, { ...KEY }));
    await harness.clock.advanceAsync(100);
    expect(orders(harness)).toHaveLength(2);
    const next = await harness.restart();
    await harness.clock.advanceAsync(10_000);
    for (const venue of [harness.one, harness.two]) venue.tradeTokens = 0;
    const result = await harness.run(next.trade(openRequest(request), closeContext(harness.clock, { ...KEY })));
    expect(result).toMatchObject({
      ok: true,
      data: { execution: { state: "PARTIAL", filledSize: "0.1", protection: "PLACED" } },
    });
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 100 });
    expect(orders(harness)).toHaveLength(3);
  });

  /** Runs an entry until its process has passed so many milliseconds, then kills it. False: it had ended before. */
  async function crashAt(harness: Harness, step: number): Promise<{ readonly gate: boolean }> {
    let ended = false;
    void harness.service.trade(openRequest({ stopLoss: "95000" }), closeContext(harness.clock, { ...KEY })).then(() => {
      ended = true;
    });
    await harness.clock.advanceAsync(step);
    harness.kill();
    return { gate: !ended };
  }
});

describe("guards", () => {
  function guarded(guards: Partial<Guards>): Harness {
    return flat({
      service: {
        guards: { ...NO_GUARDS, ...guards },
      },
    });
  }

  it("that refuse an entry leave the venue's leverage as it is", async () => {
    const store = createMemoryStore();
    const policy = { global: NO_LIMITS, byOwner: new Map(), each: NO_LIMITS };
    const restored = () => ({ reason: "FILE_AHEAD", sinceMs: 7, storeAtMs: 1 }) as const;
    const guards = new GuardBook({ store, clock: new VirtualClock(), logger: silentLogger, policy, restored });
    await guards.start();
    const harness = flat({ store, service: { guards } });
    const terms = { leverage: 5, marginMode: "isolated" } as const;
    const result = await harness.open(terms, { preferredExchange: "venueone" });
    expect([result, orders(harness)]).toMatchObject([{ ok: false, code: "RESTORED_STORE" }, []]);
    expect(harness.one.calls.settings).toBe(0);
  });

  it("are asked of every order, and learn which of them open", async () => {
    const asked: GuardedOrder[] = [];
    const harness = guarded({
      check(order) {
        asked.push(order);
        return { ok: true, reservation: NOTHING_RESERVED };
      },
    });
    await harness.openData({ stopLoss: "95000" });
    await harness.closeData({ size: "0.1" });
    expect(asked.map(({ opens, qtyLots }) => [opens, qtyLots])).toEqual([
      [true, 250],
      [false, 250],
      [false, 100],
    ]);
  });

  it("that refuse stop the entry before its intent", async () => {
    const harness = guarded({ check: () => ({ ok: false, code: "ORDER_LIMIT", details: { limit: "1" } }) });
    expect(await harness.open()).toMatchObject({ ok: false, code: "ORDER_LIMIT", details: { limit: "1" } });
    expect(orders(harness)).toEqual([]);
  });

  it.each(["TRADING_HALTED", "RESTORED_STORE"] as const)(
    "that stop between intent and send keep the order back, under the name of what stopped it: %s",
    async (code) => {
      const harness = guarded({
        check: () => ({ ok: true, reservation: { ...NOTHING_RESERVED, stoppedBy: () => code } }),
      });
      expect(await harness.open()).toMatchObject({ ok: false, code, details: { reason: code } });
      expect(orders(harness)).toEqual([]);
    },
  );

  it("count an entry once that goes to the next venue after a refusal", async () => {
    const store = createMemoryStore();
    const policy = { global: { ...NO_LIMITS, maxDailyNotional: "30000" }, byOwner: new Map(), each: NO_LIMITS };
    const guards = new GuardBook({ store, clock: new VirtualClock(), logger: silentLogger, policy });
    await guards.start();
    const harness = flat({ store, service: { guards } });
    harness.one.fate = () => ({ kind: "reject", reason: "VENUE_STATE" });
    const data = await harness.openData();
    expect(data.execution.legs.map(({ outcome }) => outcome)).toEqual(["REJECTED", "CONFIRMED"]);
    expect(data).toMatchObject({ executedOn: "venuetwo", execution: { state: "COMPLETED" } });
    await harness.clock.advanceAsync(500);
    expect(Number(guards.status().usedToday)).toBeGreaterThan(25_000);
    expect(await harness.open()).toMatchObject({ code: "DAILY_LIMIT" });
    const later = new GuardBook({ store, clock: new VirtualClock(), logger: silentLogger, policy });
    await later.start();
    expect(later.status().usedToday).toBe(guards.status().usedToday);
  });

  it("release what an entry that filled nothing had taken, and keep what one that filled took", async () => {
    for (const [fate, released] of [
      [{ kind: "reject", reason: "INSUFFICIENT_MARGIN" }, 1],
      [{ kind: "fill" }, 0],
    ] as const) {
      let releases = 0;
      const release = () => {
        releases += 1;
        return [];
      };
      const harness = guarded({
        check: () => ({ ok: true, reservation: { writes: [], stoppedBy: () => null, release } }),
      });
      harness.one.fate = () => fate;
      await harness.openData({}, { preferredExchange: "venueone" });
      await harness.clock.advanceAsync(500);
      expect(releases > 0).toBe(released > 0);
    }
  });
});
