/** venuetwo's trading half against its local venue, on one virtual clock: every kind of order, change, read and fault. */
import { afterEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession } from "../../../engine/ports.js";
import { MarketRest } from "../../../feeds/venuetwo/market/rest.js";
import { createVenuetwoTrading, type VenuetwoTrading } from "../../../feeds/venuetwo/trading.js";
import type { VenuetwoSim } from "../../sim/venuetwo/sim.js";
import {
  ACCOUNT,
  AGENT_KEY,
  agentWallet,
  API_KEY,
  API_SECRET,
  mainWallet,
  startTestVenue,
} from "../../sim/venuetwo/test/support.js";
import {
  allRows,
  commandOf,
  halfDeps,
  nextClientId,
  open,
  OPTIONS,
  untilHolds,
  unwrapRead,
} from "../support/trading-half.js";

const HOUR_MS = 3_600_000;
const V1 = { apiKey: API_KEY, apiSecret: API_SECRET, walletAddress: mainWallet.address };
const V3 = { apiKey: agentWallet.address, apiSecret: AGENT_KEY, walletAddress: mainWallet.address };

interface Bench {
  readonly sim: VenuetwoSim;
  readonly clock: VirtualClock;
  readonly half: VenuetwoTrading;
  readonly btc: Instrument;
  readonly eth: Instrument;
  readonly v1: AccountSession;
  readonly v3: AccountSession;
  readonly ticks: (factor: number, symbol?: string) => number;
  readonly stop: () => Promise<void>;
}

let bench: Bench | null = null;

/** `stepMs`: pace of the local market; slow where hours or weeks pass. */
async function start(stepMs = 50): Promise<Bench> {
  const clock = new VirtualClock();
  const sim = await startTestVenue({
    clock,
    flow: { levelCount: 60, stepMs },
    limits: { weightPerMinute: 10_000_000, ordersPerMinute: 100_000, ordersPer10s: 100_000 },
  });
  const instruments = new Map<string, Instrument>();
  const deps = halfDeps(sim.restUrl, clock, () => instruments);
  const load = await new MarketRest(deps.http).loadInstruments({}, "read");
  if (load === null || load === "same") throw new Error("no list");
  for (const instrument of load.instruments.values()) instruments.set(instrument.symbol, instrument);
  const btc = instruments.get("BTC");
  const eth = instruments.get("ETH");
  if (btc === undefined || eth === undefined) throw new Error("the contracts are not listed");
  const half = createVenuetwoTrading(deps);
  bench = {
    sim,
    clock,
    half,
    btc,
    eth,
    v1: open(half, V1),
    v3: open(half, V3),
    ticks: (factor, symbol = "BTCUSDT") => {
      const instrument = symbol === "BTCUSDT" ? btc : eth;
      const price = (sim.exchange.mark(symbol).markE8 / 1e8) * factor;
      return (
        Math.round((price * 10 ** instrument.priceDecimals) / instrument.priceStepTicks) * instrument.priceStepTicks
      );
    },
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

async function place(command: OrderCommand, session = bench?.v1): Promise<VenueOrder> {
  if (bench === null || session === undefined) throw new Error("not started");
  const outcome = await bench.half.orders.place(session, command, OPTIONS);
  if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
  return outcome.order;
}

/** A buy that rests below the mark. */
function resting({ btc, ticks }: Bench, changes: Partial<OrderCommand> = {}): OrderCommand {
  return commandOf(btc, { type: "LIMIT", timeInForce: "GTC", priceTicks: ticks(0.95), qtyLots: 10, ...changes });
}

function buy({ btc, ticks }: Bench, qtyLots = 10): OrderCommand {
  return commandOf(btc, { qtyLots, priceTicks: ticks(1.015) });
}

function sell({ btc, ticks }: Bench, qtyLots = 10): OrderCommand {
  return commandOf(btc, { side: "SELL", qtyLots, priceTicks: ticks(0.985), reduceOnly: true });
}

describe("stop and take-profit orders", () => {
  it.each([
    ["STOP", "MARKET", "MARK", -150],
    ["STOP", "LIMIT", "LAST", -150],
    ["TAKE_PROFIT", "MARKET", "LAST", 150],
    ["TAKE_PROFIT", "LIMIT", "MARK", 150],
  ] as const)("%s %s by %s waits, fires and closes the position", async (kind, type, source, skewBps) => {
    const on = await start();
    const { btc, clock, half, sim, ticks, v1 } = on;
    await place(buy(on));
    const factor = kind === "STOP" ? 0.995 : 1.005;
    const command = commandOf(btc, {
      side: "SELL",
      type,
      timeInForce: type === "LIMIT" ? "GTC" : "IOC",
      trigger: { kind, priceTicks: ticks(factor), source },
      priceTicks: ticks(factor * 0.99),
      qtyLots: 10,
      reduceOnly: true,
    });
    const order = await place(command);
    const isStopLimit = type === "LIMIT" ? "STOP_LIMIT" : "STOP_MARKET";
    expect(order).toMatchObject({ status: "OPEN", type: isStopLimit, triggerKind: kind, filledLots: 0 });
    expect(unwrapRead(await half.reader.readOpenOrders(v1, btc, OPTIONS))).toMatchObject([
      { venueOrderId: order.venueOrderId, type: isStopLimit, triggerKind: kind, reduceOnly: true, side: "SELL" },
    ]);
    sim.exchange.setPriceSkew(skewBps, 0);
    clock.advance(5_000);
    expect(await half.reader.readPositions(v1, btc, OPTIONS)).toMatchObject({ ok: true, value: [] });
    expect(unwrapRead(await half.reader.findOrder(v1, { venueOrderId: order.venueOrderId }, OPTIONS))).toMatchObject({
      status: "FILLED",
      filledLots: 10,
      triggerKind: kind,
      type: isStopLimit,
    });
  });

  it("is refused by the venue where it would fire at once", async () => {
    const on = await start();
    const { btc, half, ticks, v1 } = on;
    await place(buy(on));
    const command = commandOf(btc, {
      side: "SELL",
      trigger: { kind: "STOP", priceTicks: ticks(1.01), source: "MARK" },
      priceTicks: ticks(0.99),
      qtyLots: 10,
      reduceOnly: true,
    });
    expect(await half.orders.place(v1, command, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      venueCode: "-2021",
      sent: true,
    });
  });

  it("takes a stop's limit far from the mark, and judges it around its trigger", async () => {
    const on = await start();
    const { btc, half, ticks, v1 } = on;
    await place(buy(on));
    const stop = (factor: number): OrderCommand =>
      commandOf(btc, {
        side: "SELL",
        type: "LIMIT",
        timeInForce: "GTC",
        trigger: { kind: "STOP", priceTicks: ticks(0.9), source: "MARK" },
        priceTicks: ticks(0.9 * factor),
        qtyLots: 10,
        reduceOnly: true,
      });
    expect(await place(stop(0.985))).toMatchObject({ status: "OPEN", type: "STOP_LIMIT" });
    expect(await half.orders.place(v1, stop(0.975), OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      venueCode: "-4184",
    });
  });

  it("refuses a price beyond the band around the mark as one, by a word of its own", async () => {
    const on = await start();
    const { half, ticks, v1 } = on;
    await place(buy(on));
    const beyond = { ...sell(on), priceTicks: ticks(0.975) };
    expect(await half.orders.place(v1, beyond, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE_BAND",
      venueCode: "-4024",
    });
  });

  it("places fill-or-kill and post-only as the venue has them", async () => {
    const on = await start();
    const { ticks } = on;
    expect(await place(resting(on, { timeInForce: "POST_ONLY" }))).toMatchObject({
      status: "OPEN",
      timeInForce: "POST_ONLY",
    });
    const unfillable = resting(on, { timeInForce: "FOK", priceTicks: ticks(0.99) });
    expect(await place(unfillable)).toMatchObject({ status: "CANCELED", venueStatus: "EXPIRED", filledLots: 0 });
  });
});

describe("changing orders", () => {
  it("amends for an agent key and keeps the id; refuses unsent for an HMAC key", async () => {
    const on = await start();
    const { btc, half, sim, ticks, v1, v3 } = on;
    const command = resting(on);
    const order = await place(command, v3);
    const change = { priceTicks: ticks(0.94), qtyLots: 25 };
    expect(await half.orders.amend(v3, btc, order, change, OPTIONS)).toMatchObject({
      outcome: "accepted",
      order: { ...change, venueOrderId: order.venueOrderId, venueClientOrderId: command.clientIdHex, status: "OPEN" },
    });
    expect(unwrapRead(await half.reader.readOpenOrders(v3, btc, OPTIONS))).toMatchObject([change]);
    // Outside the price band: refused, and the order stays as it was.
    expect(await half.orders.amend(v3, btc, order, { ...change, priceTicks: ticks(1.2) }, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE_BAND",
      sent: true,
    });
    expect(unwrapRead(await half.reader.readOpenOrders(v3, btc, OPTIONS))).toMatchObject([change]);
    const logged = sim.log.records({}).length;
    expect(await half.orders.amend(v1, btc, order, change, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "NOT_SUPPORTED",
      sent: false,
    });
    const shrunk = { ...change, qtyLots: 5 };
    expect(await half.orders.amend(v3, btc, { ...order, filledLots: 5 }, shrunk, OPTIONS)).toMatchObject({
      reason: "SIZE",
      sent: false,
    });
    expect(sim.log.records({})).toHaveLength(logged);
  });

  it("cancels all of one symbol, and of every symbol with an order", async () => {
    const on = await start();
    const { btc, eth, half, ticks, v1 } = on;
    const inEth = (): OrderCommand =>
      commandOf(eth, { type: "LIMIT", timeInForce: "GTC", priceTicks: ticks(0.95, "ETHUSDT"), qtyLots: 100 });
    for (const command of [resting(on), resting(on), inEth()]) await place(command);
    expect(await half.orders.cancelAll(v1, btc, OPTIONS)).toEqual({
      outcome: "accepted",
      canceledCount: null,
      failed: [],
    });
    expect(unwrapRead(await half.reader.readOpenOrders(v1, null, OPTIONS))).toMatchObject([
      { nativeSymbol: "ETHUSDT" },
    ]);
    await place(resting(on));
    expect(await half.orders.cancelAll(v1, null, OPTIONS)).toMatchObject({ outcome: "accepted", failed: [] });
    expect(unwrapRead(await half.reader.readOpenOrders(v1, null, OPTIONS))).toEqual([]);
    expect(await half.orders.cancelAll(v1, null, OPTIONS)).toMatchObject({ outcome: "accepted", canceledCount: 0 });
  });

  it("counts down to a cancel of everything, anew at each call, and stops", async () => {
    const on = await start();
    const { clock, half, v1 } = on;
    await place(resting(on));
    expect(await half.orders.scheduleCancel(v1, clock.wallMs() - 1, OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
    expect(await half.orders.scheduleCancel(v1, clock.wallMs() + 5_000, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    clock.advance(4_000);
    expect(await half.orders.scheduleCancel(v1, clock.wallMs() + 5_000, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    clock.advance(4_000);
    expect(await half.orders.scheduleCancel(v1, null, OPTIONS)).toMatchObject({ outcome: "accepted" });
    clock.advance(60_000);
    expect(unwrapRead(await half.reader.readOpenOrders(v1, null, OPTIONS))).toHaveLength(1);
    await half.orders.cancelAll(v1, null, OPTIONS);
    // The symbol is remembered: an order of the future is covered.
    expect(await half.orders.scheduleCancel(v1, clock.wallMs() + 5_000, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    await place(resting(on));
    clock.advance(6_000);
    expect(unwrapRead(await half.reader.readOpenOrders(v1, null, OPTIONS))).toEqual([]);
  });
});

describe("settings", () => {
  it("sets leverage and margin mode; a mode that is so already is accepted, one above the maximum unsent", async () => {
    const on = await start();
    const { btc, half, sim, v1 } = on;
    expect(await half.settings.setLeverage(v1, btc, 12, OPTIONS)).toMatchObject({
      outcome: "accepted",
      settings: { leverage: 12 },
    });
    for (let round = 0; round < 2; round++) {
      expect(await half.settings.setMarginMode(v1, btc, "isolated", OPTIONS)).toMatchObject({
        outcome: "accepted",
        settings: { marginMode: "isolated" },
      });
    }
    const settings = unwrapRead(await half.settings.read(v1, btc, OPTIONS));
    expect(settings).toMatchObject({ leverage: 12, marginMode: "isolated" });
    expect(Number(settings.maxNotionalValue)).toBeGreaterThan(0);
    const logged = sim.log.records({}).length;
    for (const leverage of [0, 2.5, btc.maxLeverage + 1])
      expect(await half.settings.setLeverage(v1, btc, leverage, OPTIONS)).toMatchObject({
        outcome: "rejected",
        venueCode: "LEVERAGE",
        sent: false,
      });
    expect(sim.log.records({})).toHaveLength(logged);
    await place(resting(on));
    expect(await half.settings.setMarginMode(v1, btc, "cross", OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "-4047",
      sent: true,
    });
  });
});

describe("reads of the account", () => {
  it("sums it, and finds orders without their symbol: remembered, open, or where the account dealt lately", async () => {
    const on = await start();
    const { half, sim, v1 } = on;
    await place(buy(on));
    const filled = sell(on);
    const closed = await place(filled);
    const rest = await place(resting(on));
    const summary = unwrapRead(await half.reader.readAccount(v1, OPTIONS));
    expect(Number(summary.equity)).toBeCloseTo(Number(sim.exchange.margin(ACCOUNT).equityE12) / 1e12, 4);
    expect(Number(summary.marginUsed)).toBeGreaterThan(0);
    // A process that knows nothing yet.
    const deps = halfDeps(sim.restUrl, on.clock, () => new Map([["BTC", on.btc]]));
    const fresh = createVenuetwoTrading(deps);
    const session = open(fresh, V3);
    const find = async (ref: { venueOrderId: string } | { clientIdHex: string }): Promise<VenueOrder | null> =>
      unwrapRead(await fresh.reader.findOrder(session, ref, OPTIONS));
    expect(await find({ venueOrderId: rest.venueOrderId })).toMatchObject({ status: "OPEN" });
    expect(await find({ venueOrderId: closed.venueOrderId })).toMatchObject({ status: "FILLED" });
    expect(await find({ clientIdHex: filled.clientIdHex })).toMatchObject({ venueOrderId: closed.venueOrderId });
    expect(await find({ clientIdHex: nextClientId() })).toBeNull();
    await deps.http.close(0);
  });
});

describe("outcomes under faults", () => {
  it("a client id in use is a duplicate, whose order is found", async () => {
    const on = await start();
    const { half, v1 } = on;
    const command = resting(on);
    const order = await place(command);
    expect(await half.orders.place(v1, command, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "DUPLICATE_CLIENT_ID",
    });
    const found = unwrapRead(await half.reader.findOrder(v1, { clientIdHex: command.clientIdHex }, OPTIONS));
    expect(found?.venueOrderId).toBe(order.venueOrderId);
    expect(half.orders.parseClientOrderId(order.venueClientOrderId ?? "")).toBe(command.clientIdHex);
    expect(half.orders.parseClientOrderId("web_123")).toBeNull();
  });

  it.each([
    ["errorAfter", V1],
    ["errorAfter", V3],
    ["replyLost", V1],
    ["replyLost", V3],
  ] as const)("%s: unknown, and found executed", async (kind, credentials) => {
    const on = await start();
    const { clock, half, sim } = on;
    const session = open(half, credentials);
    sim.faults.add({ kind, match: "POST /fapi" });
    const command = buy(on);
    const outcome = await half.orders.place(session, command, OPTIONS);
    expect(outcome).toMatchObject({ outcome: "unknown" });
    if (outcome.outcome !== "unknown") return;
    expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(clock.wallMs() + half.orders.placeBoundMs(session, 4_000));
    sim.faults.clear();
    expect(
      unwrapRead(await half.reader.findOrder(session, { clientIdHex: command.clientIdHex }, OPTIONS)),
    ).toMatchObject({
      status: "FILLED",
      filledLots: 10,
    });
    expect(sim.log.records({ action: "place" })).toHaveLength(1);
  });

  it("a reply that comes too late: unknown until the moment it names, and found executed", async () => {
    const on = await start();
    const { v1, clock, half, sim } = on;
    sim.faults.add({ kind: "fixedDelay", delayMs: 30_000, match: "POST /fapi" });
    const command = buy(on);
    const sent = half.orders.place(v1, command, OPTIONS);
    await untilHolds("the order reaches the venue", () => sim.log.records({ action: "place" }).length === 1);
    await clock.advanceAsync(4_000);
    const outcome = await sent;
    expect(outcome).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
    if (outcome.outcome !== "unknown") return;
    sim.faults.clear();
    await clock.advanceAsync(outcome.notPlacedAfterMs - clock.wallMs());
    const ref = { clientIdHex: command.clientIdHex };
    expect(unwrapRead(await half.reader.findOrder(v1, ref, OPTIONS))).toMatchObject({ status: "FILLED" });
    expect(sim.log.records({ action: "place" })).toHaveLength(1);
  });

  it("200 concurrent orders of one agent: each placed once, no nonce twice", async () => {
    const on = await start();
    const { half, sim, v3 } = on;
    const commands = Array.from({ length: 200 }, () => resting(on));
    const outcomes = await Promise.all(commands.map((command) => half.orders.place(v3, command, OPTIONS)));
    expect(outcomes.filter(({ outcome }) => outcome === "accepted")).toHaveLength(200);
    const records = sim.log.records({ action: "place" });
    expect(records).toHaveLength(200);
    expect(new Set(records.map(({ nonce }) => nonce)).size).toBe(200);
    expect(new Set(records.map(({ clientId }) => clientId)).size).toBe(200);
    expect(sim.exchange.openOrders(ACCOUNT)).toHaveLength(200);
  });

  it("refuses an agent without rights and a wrong secret as AUTH, for orders, changes and history", async () => {
    const on = await start();
    const { btc, half } = on;
    const wrong = open(half, { ...V1, apiSecret: "wrong" });
    expect(await half.orders.place(wrong, buy(on), OPTIONS)).toMatchObject({ outcome: "rejected", reason: "AUTH" });
    expect(await half.orders.cancelAll(wrong, btc, OPTIONS)).toMatchObject({ outcome: "rejected", reason: "AUTH" });
    expect(await half.orders.cancelAll(wrong, null, OPTIONS)).toMatchObject({ reason: "AUTH", sent: false });
    expect(await half.settings.setLeverage(wrong, btc, 3, OPTIONS)).toMatchObject({ reason: "AUTH" });
    const query = { instrument: btc, sinceMs: null, untilMs: null, limit: 5, cursor: null };
    expect(await half.history.readFills(wrong, query, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    expect(await half.reader.findOrder(wrong, { venueOrderId: "1" }, OPTIONS)).toMatchObject({ code: "AUTH" });
  });
});

describe("history", () => {
  it("pages fills without repeating or skipping one, of one symbol and of all", async () => {
    const on = await start(5_000);
    const { btc, clock, eth, half, sim, ticks, v1 } = on;
    for (let round = 0; round < 8; round++) {
      await place(buy(on, 3_000));
      await place(sell(on, 3_000));
      if (round % 2 === 0) await place(commandOf(eth, { qtyLots: 100, priceTicks: ticks(1.015, "ETHUSDT") }));
      clock.advance(2 * 60_000);
    }
    const truth = sim.exchange.fills(ACCOUNT);
    const inBtc = truth.filter(({ symbol }) => symbol === "BTCUSDT");
    const times = new Map<number, number>();
    for (const fill of inBtc) times.set(fill.tsMs, (times.get(fill.tsMs) ?? 0) + 1);
    expect(Math.max(...times.values())).toBeGreaterThan(3);
    for (const limit of [1, 4, 1_000]) {
      const rows = await allRows((query) => half.history.readFills(v1, query, OPTIONS), { limit, instrument: btc });
      expect(rows).toHaveLength(inBtc.length);
      expect(new Set(rows.map((row) => row.tradeId)).size).toBe(inBtc.length);
      expect(rows.map((row) => row.tsVenueMs)).toEqual(rows.map((row) => row.tsVenueMs).toSorted((a, b) => b - a));
    }
    const all = await allRows((query) => half.history.readFills(v1, query, OPTIONS), { limit: 7 });
    expect(all).toHaveLength(truth.length);
    expect(new Set(all.map(({ symbol }) => symbol))).toEqual(new Set(["BTC", "ETH"]));
    expect(all.every(({ fee }) => fee !== null && Number(fee.amount) > 0 && fee.asset === "USDT")).toBe(true);
  });

  it("lists orders of any state, newest first", async () => {
    const on = await start();
    const { btc, clock, half, v1 } = on;
    await place(buy(on));
    clock.advance(1_000);
    const canceled = resting(on);
    await place(canceled);
    await half.orders.cancel(v1, btc, { clientIdHex: canceled.clientIdHex }, OPTIONS);
    clock.advance(1_000);
    await place(sell(on));
    clock.advance(1_000);
    await place(resting(on));
    for (const instrument of [btc, null]) {
      const rows = await allRows((query) => half.history.readOrders(v1, query, OPTIONS), { limit: 3, instrument });
      expect(rows.map(({ status, filledLots, side }) => [side, status, filledLots])).toEqual([
        ["BUY", "OPEN", 0],
        ["SELL", "FILLED", 10],
        ["BUY", "CANCELED", 0],
        ["BUY", "FILLED", 10],
      ]);
    }
  });

  it("lists funding payments of one symbol and of all, with 19-digit ids kept apart", async () => {
    const on = await start(60_000);
    const { btc, clock, eth, half, sim, v1 } = on;
    await place(buy(on, 1_000));
    clock.advance(17 * HOUR_MS);
    const truth = sim.exchange.income(ACCOUNT).filter(({ type }) => type === "FUNDING_FEE");
    expect(truth.length).toBeGreaterThan(1);
    for (const instrument of [btc, null]) {
      const rows = await allRows((query) => half.history.readFunding(v1, query, OPTIONS), { limit: 1, instrument });
      expect(rows).toHaveLength(truth.length);
      expect(rows[0]).toMatchObject({ symbol: "BTC", asset: "USDT", rate: null });
    }
    expect(await allRows((query) => half.history.readFunding(v1, query, OPTIONS), { instrument: eth })).toEqual([]);
  });
});
