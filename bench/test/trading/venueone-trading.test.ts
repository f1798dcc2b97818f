/** venueone's trading half against its local venue, on one virtual clock: every kind of order, change, read and fault. */
import { afterEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { decodeUniverse } from "../../../feeds/venueone/market/decode.js";
import { buildInstruments, DEFAULT_FEES } from "../../../feeds/venueone/market/symbols.js";
import { createVenueoneTrading, type VenueoneTrading } from "../../../feeds/venueone/trading.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import { addressOf, AGENT, ALICE, BOB, KEYS } from "../../sim/venueone/test/kit.js";
import {
  allRows,
  commandOf,
  halfDeps,
  nextClientId,
  open,
  opened,
  OPTIONS,
  untilHolds,
  unwrapRead,
  wholeTicks,
} from "../support/trading-half.js";

const HOUR_MS = 3_600_000;

interface Bench {
  readonly sim: VenueoneSim;
  readonly clock: VirtualClock;
  readonly half: VenueoneTrading;
  readonly btc: Instrument;
  readonly eth: Instrument;
  readonly alice: ReturnType<typeof open>;
  readonly mark: () => number;
  readonly stop: () => Promise<void>;
}

let bench: Bench | null = null;

/** `stepMs`: pace of the local market; slow where hours pass. */
async function start(stepMs = 50): Promise<Bench> {
  const clock = new VirtualClock();
  const sim = await startVenueoneSim({
    seed: 7,
    clock,
    symbols: ["BTC", "ETH"],
    flow: { stepMs },
    accounts: [
      { address: ALICE, deposit: "1000000", volume: "2000000", agents: [{ address: AGENT, name: "bot" }] },
      { address: BOB, deposit: "100000" },
    ],
    limits: { ipWeightPerMinute: 10_000_000, openOrders: 10_000 },
  });
  const answer = await fetch(`${sim.restUrl}/info`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"type":"metaAndAssetCtxs"}',
  });
  const { bySymbol } = buildInstruments(decodeUniverse(await answer.json()).meta, DEFAULT_FEES);
  const deps = halfDeps(sim.restUrl, clock, () => bySymbol);
  const half = createVenueoneTrading(deps);
  const btc = bySymbol.get("BTC");
  const eth = bySymbol.get("ETH");
  if (btc === undefined || eth === undefined) throw new Error("the coins are not listed");
  bench = {
    sim,
    clock,
    half,
    btc,
    eth,
    alice: open(half, { privateKey: KEYS.alice }),
    mark: () => sim.exchange.mark("BTC").markE8 / 1e8,
    async stop() {
      await deps.http.close(0);
      await sim.stop();
    },
  };
  return bench;
}

afterEach(async () => {
  await bench?.stop();
  bench = null;
});

async function place(command: OrderCommand, session = bench?.alice): Promise<VenueOrder> {
  if (bench === null || session === undefined) throw new Error("not started");
  const outcome = await bench.half.orders.place(session, command, OPTIONS);
  if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
  return outcome.order;
}

/** A buy that rests 10 % below the mark. */
function resting({ btc, mark }: Bench, changes: Partial<OrderCommand> = {}): OrderCommand {
  const priceTicks = wholeTicks(btc, mark() * 0.9);
  return commandOf(btc, { type: "LIMIT", timeInForce: "GTC", priceTicks, qtyLots: 1_000, ...changes });
}

function buy({ btc, mark }: Bench, qtyLots = 1_000): OrderCommand {
  return commandOf(btc, { qtyLots, priceTicks: wholeTicks(btc, mark() * 1.03) });
}

describe("stop and take-profit orders", () => {
  it.each([
    ["STOP", "MARKET", -300],
    ["STOP", "LIMIT", -300],
    ["TAKE_PROFIT", "MARKET", 300],
    ["TAKE_PROFIT", "LIMIT", 300],
  ] as const)("%s %s waits, fires on the mark and closes the position", async (kind, type, skewBps) => {
    const on = await start();
    const { alice, btc, clock, half, mark, sim } = on;
    await place(buy(on));
    const level = mark() * (kind === "STOP" ? 0.99 : 1.01);
    const trigger = { kind, priceTicks: wholeTicks(btc, level), source: "MARK" } as const;
    const command = commandOf(btc, {
      side: "SELL",
      type,
      timeInForce: type === "LIMIT" ? "GTC" : "IOC",
      trigger,
      priceTicks: wholeTicks(btc, level * 0.95),
      qtyLots: 1_000,
      reduceOnly: true,
    });
    const order = await place(command);
    const isStopLimit = type === "LIMIT" ? "STOP_LIMIT" : "STOP_MARKET";
    expect(order).toMatchObject({ status: "OPEN", type: isStopLimit, triggerKind: kind, filledLots: 0 });
    const [row] = unwrapRead(await half.reader.readOpenOrders(alice, btc, OPTIONS));
    expect(row).toMatchObject({
      venueOrderId: order.venueOrderId,
      type: isStopLimit,
      triggerKind: kind,
      reduceOnly: true,
      side: "SELL",
    });
    expect(Number(row?.triggerPrice)).toBe(Math.round(level));
    sim.exchange.setPriceSkew(skewBps, 0);
    clock.advance(5_000);
    expect(await half.reader.readPositions(alice, btc, OPTIONS)).toMatchObject({ ok: true, value: [] });
    const ended = unwrapRead(await half.reader.findOrder(alice, { venueOrderId: order.venueOrderId }, OPTIONS));
    expect(ended).toMatchObject({ status: "FILLED", filledLots: 1_000, reduceOnly: true, triggerKind: kind });
    expect(sim.log.records({ action: "place" }).at(-1)).toMatchObject({ reduceOnly: true, side: "SELL" });
  });

  it("is refused by the venue where it would fire at once, and unsent where it could never fill", async () => {
    const on = await start();
    const { alice, btc, half, mark, sim } = on;
    await place(buy(on));
    const stop = (trigger: number, worst: number): OrderCommand =>
      commandOf(btc, {
        side: "SELL",
        trigger: { kind: "STOP", priceTicks: wholeTicks(btc, trigger), source: "MARK" },
        priceTicks: wholeTicks(btc, worst),
        qtyLots: 1_000,
        reduceOnly: true,
      });
    expect(await half.orders.place(alice, stop(mark() * 1.05, mark() * 0.95), OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      venueCode: "badTriggerPxRejected",
      sent: true,
    });
    const logged = sim.log.records({}).length;
    expect(await half.orders.place(alice, stop(mark() * 0.9, mark() * 0.95), OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "TRIGGER_WORST_PRICE",
      sent: false,
    });
    expect(sim.log.records({})).toHaveLength(logged);
  });
});

describe("changing orders", () => {
  it("amends price and size in one step: a new id, the same client id, nothing left behind", async () => {
    const on = await start();
    const { alice, btc, half, mark } = on;
    const command = resting(on);
    const before = await place(command);
    const [current] = unwrapRead(await half.reader.readOpenOrders(alice, btc, OPTIONS));
    if (current === undefined) throw new Error("the order is not listed");
    const change = { priceTicks: wholeTicks(btc, mark() * 0.85), qtyLots: 2_500 };
    const outcome = await half.orders.amend(alice, btc, current, change, OPTIONS);
    expect(outcome).toMatchObject({ outcome: "accepted", order: { ...change, status: "OPEN", side: "BUY" } });
    const [after, ...others] = unwrapRead(await half.reader.readOpenOrders(alice, btc, OPTIONS));
    expect(others).toEqual([]);
    expect(after).toMatchObject({ ...change, timeInForce: "POST_ONLY" });
    expect(after?.venueOrderId).not.toBe(before.venueOrderId);
    expect(after?.venueClientOrderId).toBe(`0x${command.clientIdHex}`);
    // The id of before is of an order that is gone, and so cannot be amended again.
    expect(await half.orders.amend(alice, btc, current, change, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "NOT_FOUND",
      sent: true,
    });
    expect(unwrapRead(await half.reader.readOpenOrders(alice, btc, OPTIONS))).toHaveLength(1);
  });

  it("leaves the order where it is when the change would take, and refuses unsent what cannot be amended", async () => {
    const on = await start();
    const { alice, btc, half, mark, sim } = on;
    const order = await place(resting(on));
    const crossing = { priceTicks: wholeTicks(btc, mark() * 1.02), qtyLots: 1_000 };
    expect(await half.orders.amend(alice, btc, order, crossing, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      venueCode: "badAloPxRejected",
    });
    expect(unwrapRead(await half.reader.readOpenOrders(alice, btc, OPTIONS))).toMatchObject([
      { venueOrderId: order.venueOrderId },
    ]);
    const logged = sim.log.records({}).length;
    const stop: VenueOrder = { ...order, type: "STOP_MARKET", triggerPrice: "1" };
    expect(await half.orders.amend(alice, btc, stop, crossing, OPTIONS)).toMatchObject({
      venueCode: "NOT_SUPPORTED",
      sent: false,
    });
    const filled: VenueOrder = { ...order, filledLots: 1_000 };
    expect(await half.orders.amend(alice, btc, filled, crossing, OPTIONS)).toMatchObject({
      reason: "SIZE",
      sent: false,
    });
    expect(sim.log.records({})).toHaveLength(logged);
  });

  it("cancels all of one symbol, and all, in batches, with the count", async () => {
    const on = await start();
    const { alice, btc, eth, half, sim } = on;
    for (let index = 0; index < 205; index++) await place(resting(on));
    const ethTicks = wholeTicks(eth, (sim.exchange.mark("ETH").markE8 / 1e8) * 0.9);
    await place(commandOf(eth, { type: "LIMIT", timeInForce: "GTC", priceTicks: ethTicks, qtyLots: 1_000 }));
    expect(await half.orders.cancelAll(alice, btc, OPTIONS)).toEqual({
      outcome: "accepted",
      canceledCount: 205,
      failed: [],
    });
    expect(unwrapRead(await half.reader.readOpenOrders(alice, null, OPTIONS))).toMatchObject([{ nativeSymbol: "ETH" }]);
    expect(await half.orders.cancelAll(alice, null, OPTIONS)).toMatchObject({ outcome: "accepted", canceledCount: 1 });
    expect(await half.orders.cancelAll(alice, null, OPTIONS)).toMatchObject({ outcome: "accepted", canceledCount: 0 });
  });

  it("reports a cancel of all whose reply was lost as unknown, though it was done", async () => {
    const on = await start();
    const { alice, half, sim } = on;
    await place(resting(on));
    // The first request reads, the second cancels.
    await half.reader.readOpenOrders(alice, null, OPTIONS);
    const open = unwrapRead(await half.reader.readOpenOrders(alice, null, OPTIONS));
    expect(open).toHaveLength(1);
    sim.faults.add({ kind: "errorAfter", match: "/exchange" });
    expect(await half.orders.cancelAll(alice, null, OPTIONS)).toMatchObject({ outcome: "unknown" });
    sim.faults.clear();
    expect(unwrapRead(await half.reader.readOpenOrders(alice, null, OPTIONS))).toEqual([]);
  });

  it("sets and clears the dead man's switch, which fires by itself, and passes on its conditions", async () => {
    const on = await start();
    const { alice, clock, half } = on;
    await place(resting(on));
    expect(await half.orders.scheduleCancel(alice, clock.wallMs() + 4_000, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "SCHEDULE_TOO_SOON",
      sent: false,
    });
    expect(await half.orders.scheduleCancel(alice, clock.wallMs() + 10_000, OPTIONS)).toEqual({ outcome: "accepted" });
    expect(await half.orders.scheduleCancel(alice, null, OPTIONS)).toEqual({ outcome: "accepted" });
    clock.advance(15_000);
    expect(unwrapRead(await half.reader.readOpenOrders(alice, null, OPTIONS))).toHaveLength(1);
    expect(await half.orders.scheduleCancel(alice, clock.wallMs() + 10_000, OPTIONS)).toEqual({ outcome: "accepted" });
    clock.advance(11_000);
    expect(unwrapRead(await half.reader.readOpenOrders(alice, null, OPTIONS))).toEqual([]);
    const bob = open(half, { privateKey: KEYS.bob });
    expect(await half.orders.scheduleCancel(bob, clock.wallMs() + 10_000, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "scheduleCancelVolume",
      sent: true,
    });
  });
});

describe("settings", () => {
  it("sets leverage up to the coin's maximum and the margin mode while flat", async () => {
    const on = await start();
    const { alice, btc, half, sim } = on;
    expect(await half.settings.setLeverage(alice, btc, 7, OPTIONS)).toEqual({
      outcome: "accepted",
      settings: { leverage: 7, marginMode: "cross", maxNotionalValue: null },
    });
    expect(await half.settings.setMarginMode(alice, btc, "isolated", OPTIONS)).toMatchObject({
      settings: { leverage: 7, marginMode: "isolated" },
    });
    expect(unwrapRead(await half.settings.read(alice, btc, OPTIONS))).toEqual({
      leverage: 7,
      marginMode: "isolated",
      maxNotionalValue: null,
    });
    const logged = sim.log.records({}).length;
    for (const leverage of [0, -1, 1.5, btc.maxLeverage + 1, Number.NaN]) {
      expect(await half.settings.setLeverage(alice, btc, leverage, OPTIONS)).toMatchObject({
        outcome: "rejected",
        venueCode: "LEVERAGE",
        sent: false,
      });
    }
    // As it is already: nothing to send.
    expect(await half.settings.setLeverage(alice, btc, 7, OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(sim.log.records({})).toHaveLength(logged);
    await place(buy(on));
    expect(await half.settings.setMarginMode(alice, btc, "cross", OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "leverageType",
      sent: true,
    });
  });
});

describe("whose account", () => {
  it("reads an address without a key, maps an agent's to its account, and signs nothing", async () => {
    const on = await start();
    const { btc, half, sim } = on;
    await place(buy(on));
    for (const address of [ALICE, AGENT]) {
      const session = opened(half.openAddress(address));
      expect(await half.reader.readPositions(session, btc, OPTIONS)).toMatchObject({
        ok: true,
        value: [{ direction: "LONG", qtyLots: 1_000 }],
      });
      const logged = sim.log.records({}).length;
      for (const refused of [
        await half.orders.place(session, buy(on), OPTIONS),
        await half.orders.cancelAll(session, null, OPTIONS),
        await half.settings.setLeverage(session, btc, 3, OPTIONS),
      ]) {
        expect(refused).toMatchObject({ outcome: "rejected", reason: "AUTH", venueCode: "NO_KEY", sent: false });
      }
      expect(sim.log.records({})).toHaveLength(logged);
    }
    expect(half.openAddress("0x12")).toMatchObject({ ok: false });
  });

  it("refuses a revoked and an expired agent as AUTH, for orders and for reads", async () => {
    const on = await start(20_000);
    const { btc, clock, half, sim } = on;
    const agent = open(half, { privateKey: KEYS.agent });
    const expiring = open(half, { privateKey: KEYS.stranger });
    sim.room.venue.agents.approve({
      accountId: ALICE,
      agentAddress: addressOf(KEYS.stranger),
      agentName: `short valid_until ${clock.wallMs() + 1_000}`,
      subAccountCount: 0,
      nowMs: sim.exchange.nowMs(),
    });
    await place(buy(on), expiring);
    // The venue lets an expired agent act for a quarter of an hour.
    clock.advance(HOUR_MS);
    expect(await half.orders.place(expiring, buy(on), OPTIONS)).toMatchObject({ reason: "AUTH", sent: true });
    expect(await half.reader.readPositions(expiring, btc, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    await half.orders.place(
      open(half, { privateKey: KEYS.alice }),
      commandOf(btc, {
        side: "SELL",
        qtyLots: 1_000,
        priceTicks: wholeTicks(btc, on.mark() * 0.97),
        reduceOnly: true,
      }),
      OPTIONS,
    );
    expect(unwrapRead(await half.reader.readPositions(agent, btc, OPTIONS))).toEqual([]);
    sim.room.venue.agents.approve({
      accountId: ALICE,
      agentAddress: `0x${"0".repeat(40)}`,
      agentName: "bot",
      subAccountCount: 0,
      nowMs: sim.exchange.nowMs(),
    });
    expect(await half.orders.place(agent, buy(on), OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: true,
    });
    clock.advance(5_000);
    expect(await half.reader.readPositions(agent, btc, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    expect(await half.orders.cancelAll(agent, btc, OPTIONS)).toMatchObject({ outcome: "rejected", reason: "AUTH" });
  });

  it("sums the account: equity, margin, what is free, and where it would be liquidated", async () => {
    const on = await start();
    const { alice, half, sim } = on;
    await place(buy(on, 100_000));
    const summary = unwrapRead(await half.reader.readAccount(alice, OPTIONS));
    const margin = sim.exchange.margin(ALICE);
    expect(Number(summary.equity)).toBeCloseTo(Number(margin.equityE12) / 1e12, 4);
    expect(Number(summary.marginUsed)).toBeGreaterThan(0);
    expect(Number(summary.free)).toBeLessThan(Number(summary.equity));
    expect(Number(summary.maintenanceMargin)).toBeGreaterThan(0);
    expect(Number(summary.maintenanceMargin)).toBeLessThan(Number(summary.marginUsed));
  });
});

describe("outcomes under faults", () => {
  it("a client id in use is a duplicate, whose order is found", async () => {
    const on = await start();
    const { alice, btc, clock, half } = on;
    const command = resting(on);
    const order = await place(command);
    expect(await half.orders.place(alice, command, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "DUPLICATE_CLIENT_ID",
    });
    clock.advance(2_000);
    const ref = { clientIdHex: command.clientIdHex };
    expect(unwrapRead(await half.reader.findOrder(alice, ref, OPTIONS))?.venueOrderId).toBe(order.venueOrderId);
    expect(unwrapRead(await half.reader.readOrder(alice, btc, ref, OPTIONS))?.venueOrderId).toBe(order.venueOrderId);
  });

  it.each([["errorAfter"], ["replyLost"]] as const)("%s: unknown, and found executed", async (kind) => {
    const on = await start();
    const { alice, clock, half, sim } = on;
    sim.faults.add({ kind, match: "/exchange" });
    const command = buy(on);
    const outcome = await half.orders.place(alice, command, OPTIONS);
    expect(outcome).toMatchObject({ outcome: "unknown" });
    if (outcome.outcome !== "unknown") return;
    expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(clock.wallMs() + half.orders.placeBoundMs(alice, 4_000));
    sim.faults.clear();
    clock.advance(2_000);
    expect(unwrapRead(await half.reader.findOrder(alice, { clientIdHex: command.clientIdHex }, OPTIONS))).toMatchObject(
      {
        status: "FILLED",
        filledLots: 1_000,
      },
    );
    expect(sim.log.records({ action: "place" })).toHaveLength(1);
  });

  it("a reply that comes too late: unknown until the moment it names, and found executed", async () => {
    const on = await start();
    const { alice, clock, half, sim } = on;
    sim.faults.add({ kind: "fixedDelay", delayMs: 30_000, match: "/exchange" });
    const command = buy(on);
    const sent = half.orders.place(alice, command, OPTIONS);
    await untilHolds("the order reaches the venue", () => sim.log.records({ action: "place" }).length === 1);
    await clock.advanceAsync(4_000);
    const outcome = await sent;
    expect(outcome).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
    if (outcome.outcome !== "unknown") return;
    sim.faults.clear();
    await clock.advanceAsync(outcome.notPlacedAfterMs - clock.wallMs());
    const ref = { clientIdHex: command.clientIdHex };
    expect(unwrapRead(await half.reader.findOrder(alice, ref, OPTIONS))).toMatchObject({ status: "FILLED" });
    expect(sim.log.records({ action: "place" })).toHaveLength(1);
  });

  it("200 concurrent orders of one signer: each placed once, no nonce twice", async () => {
    const on = await start();
    const { alice, btc, half, sim } = on;
    const commands = Array.from({ length: 200 }, () => resting(on));
    const outcomes = await Promise.all(commands.map((command) => half.orders.place(alice, command, OPTIONS)));
    expect(outcomes.filter(({ outcome }) => outcome === "accepted")).toHaveLength(200);
    const records = sim.log.records({ action: "place" });
    expect(records).toHaveLength(200);
    expect(new Set(records.map(({ nonce }) => nonce)).size).toBe(200);
    expect(new Set(records.map(({ clientId }) => clientId)).size).toBe(200);
    expect(unwrapRead(await half.reader.readOpenOrders(alice, btc, OPTIONS))).toHaveLength(200);
  });
});

describe("history", () => {
  it("pages fills without repeating or skipping one, also where many share an instant", async () => {
    const on = await start(20_000);
    const { alice, btc, clock, half, mark, sim } = on;
    for (let round = 0; round < 12; round++) {
      await place(buy(on, 200_000));
      const sellTicks = wholeTicks(btc, mark() * 0.97);
      await place(commandOf(btc, { side: "SELL", qtyLots: 200_000, priceTicks: sellTicks, reduceOnly: true }));
      if (round % 3 === 2) clock.advance(4 * 60_000);
    }
    const truth = sim.exchange.fills(ALICE);
    const times = new Map<number, number>();
    for (const fill of truth) times.set(fill.tsMs, (times.get(fill.tsMs) ?? 0) + 1);
    expect(Math.max(...times.values())).toBeGreaterThan(3);
    for (const limit of [1, 3, 1_000]) {
      const rows = await allRows((query) => half.history.readFills(alice, query, OPTIONS), { limit, instrument: btc });
      expect(rows).toHaveLength(truth.length);
      expect(new Set(rows.map((row) => row.tradeId)).size).toBe(truth.length);
      expect(rows.map((row) => row.tsVenueMs)).toEqual(rows.map((row) => row.tsVenueMs).toSorted((a, b) => b - a));
      expect(rows.reduce((sum, row) => sum + row.qtyLots, 0)).toBe(truth.reduce((sum, fill) => sum + fill.qtyLots, 0));
    }
    const middleMs = truth[Math.floor(truth.length / 2)]?.tsMs ?? 0;
    const bounded = await allRows((query) => half.history.readFills(alice, query, OPTIONS), {
      limit: 2,
      sinceMs: middleMs,
      untilMs: middleMs,
    });
    expect(bounded).toHaveLength(truth.filter((fill) => fill.tsMs === middleMs).length);
  });

  it("lists orders of any state with what they filled, newest first", async () => {
    const on = await start();
    const { alice, btc, clock, half, mark, sim } = on;
    await place(buy(on, 1_000));
    clock.advance(1_000);
    const canceled = resting(on);
    await place(canceled);
    await half.orders.cancel(alice, btc, { clientIdHex: canceled.clientIdHex }, OPTIONS);
    clock.advance(1_000);
    // Clamped to the position without a word: only the fills tell.
    const ticks = wholeTicks(btc, mark() * 0.97);
    await place(commandOf(btc, { side: "SELL", qtyLots: 5_000, priceTicks: ticks, reduceOnly: true }));
    clock.advance(1_000);
    await place(resting(on));
    const rows = await allRows((query) => half.history.readOrders(alice, query, OPTIONS), { limit: 2 });
    expect(rows.map(({ status, filledLots, side }) => [side, status, filledLots])).toEqual([
      ["BUY", "OPEN", 0],
      ["SELL", "CANCELED", 1_000],
      ["BUY", "CANCELED", 0],
      ["BUY", "FILLED", 1_000],
    ]);
    expect(rows[3]?.averagePrice).not.toBeNull();
    expect(rows[3]?.fee?.asset).toBe("USDC");
    expect(rows).toHaveLength(sim.exchange.allOrders(ALICE).length);
    expect(
      await half.history.readOrders(
        alice,
        { instrument: null, sinceMs: null, untilMs: null, limit: 5, cursor: "fills~1~1" },
        OPTIONS,
      ),
    ).toMatchObject({ ok: false, code: "BAD_CURSOR" });
  });

  it("lists funding payments with rate and sign", async () => {
    const on = await start(20_000);
    const { alice, clock, half, sim } = on;
    await place(buy(on, 100_000));
    clock.advance(5 * HOUR_MS);
    const rows = await allRows((query) => half.history.readFunding(alice, query, OPTIONS), { limit: 2 });
    const truth = sim.exchange.income(ALICE).filter(({ type }) => type === "FUNDING_FEE");
    expect(rows).toHaveLength(truth.length);
    expect(rows.length).toBeGreaterThanOrEqual(4);
    for (const row of rows) {
      expect(row).toMatchObject({ symbol: "BTC", asset: "USDC" });
      // A long pays a positive rate.
      expect(Math.sign(Number(row.amount))).toBe(-Math.sign(Number(row.rate)));
    }
  });

  it("finds an order by either id, and nothing for what never was", async () => {
    const on = await start();
    const { alice, clock, half } = on;
    const command = resting(on);
    const order = await place(command);
    clock.advance(2_000);
    for (const ref of [{ clientIdHex: command.clientIdHex }, { venueOrderId: order.venueOrderId }]) {
      expect(unwrapRead(await half.reader.findOrder(alice, ref, OPTIONS))).toMatchObject({
        venueOrderId: order.venueOrderId,
        nativeSymbol: "BTC",
        timeInForce: "GTC",
      });
    }
    expect(unwrapRead(await half.reader.findOrder(alice, { clientIdHex: nextClientId() }, OPTIONS))).toBeNull();
    expect(half.orders.parseClientOrderId(order.venueClientOrderId ?? "")).toBe(command.clientIdHex);
    expect(half.orders.parseClientOrderId(command.clientIdHex)).toBeNull();
  });
});
