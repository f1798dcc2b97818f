/** venuethree's trading half against its local venue, on one virtual clock: every kind of order, change, read and fault. */
import { afterEach, describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../../engine/domain/order.js";
import type { Read } from "../../../engine/ports.js";
import { createVenuethreeTrading } from "../../../feeds/venuethree/trading.js";
import {
  allRows,
  commandOf,
  halfDeps,
  nextClientId,
  open,
  opened,
  OPTIONS,
  wholeTicks,
} from "../support/trading-half.js";
import {
  ALICE,
  BOB,
  KEYS,
  L1_ALICE,
  L1_BOB,
  startVenuethreeBench,
  type VenuethreeBench,
} from "../support/venuethree-half.js";

const HOUR_MS = 3_600_000;
/** Longer than the venue's deliberate delays. */
const SETTLE_MS = 1_000;
let bench: VenuethreeBench | null = null;

function got<T>(read: Read<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

async function start(): Promise<VenuethreeBench> {
  bench = await startVenuethreeBench();
  return bench;
}

afterEach(async () => {
  await bench?.stop();
  bench = null;
});

async function send(command: OrderCommand, session = bench?.alice): Promise<PlaceOutcome> {
  if (bench === null || session === undefined) throw new Error("not started");
  return bench.half.orders.place(session, command, OPTIONS);
}

/** Placed, and its delay waited for. */
async function place(command: OrderCommand, session = bench?.alice): Promise<VenueOrder> {
  const outcome = await send(command, session);
  if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
  bench?.clock.advance(SETTLE_MS);
  return outcome.order;
}

async function find(command: OrderCommand, session = bench?.alice): Promise<VenueOrder | null> {
  if (bench === null || session === undefined) throw new Error("not started");
  const { clientIdHex, instrument } = command;
  return got(await bench.half.reader.readOrder(session, instrument, { clientIdHex }, OPTIONS));
}

/** A buy that rests 10 % below the mark. */
function resting({ btc, mark }: VenuethreeBench, changes: Partial<OrderCommand> = {}): OrderCommand {
  const priceTicks = wholeTicks(btc, mark() * 0.9);
  return commandOf(btc, { type: "LIMIT", timeInForce: "GTC", priceTicks, qtyLots: 1_000, ...changes });
}

function buy({ btc, mark }: VenuethreeBench, changes: Partial<OrderCommand> = {}): OrderCommand {
  return commandOf(btc, { qtyLots: 1_000, priceTicks: wholeTicks(btc, mark() * 1.03), ...changes });
}

function sell(on: VenuethreeBench, changes: Partial<OrderCommand> = {}): OrderCommand {
  return commandOf(on.btc, {
    side: "SELL",
    qtyLots: 1_000,
    priceTicks: wholeTicks(on.btc, on.mark() * 0.97),
    reduceOnly: true,
    ...changes,
  });
}

describe("placing", () => {
  it("is submitted first, and then filled, with fills, fees and a position that agree", async () => {
    const on = await start();
    const { alice, btc, half } = on;
    const command = buy(on);
    expect(await place(command)).toMatchObject({
      status: "OPEN",
      venueStatus: "submitted",
      venueOrderId: "",
      filledLots: 0,
      venueClientOrderId: half.orders.venueClientOrderId(command.clientIdHex),
    });
    const order = await find(command);
    expect(order).toMatchObject({ status: "FILLED", side: "BUY", type: "MARKET", filledLots: 1_000, qtyLots: 1_000 });
    expect(BigInt(order?.venueOrderId ?? 0) >= 1n << 48n).toBe(true);
    const [position] = got(await half.reader.readPositions(alice, btc, OPTIONS));
    expect(position).toMatchObject({ symbol: "BTC", direction: "LONG", qtyLots: 1_000, marginMode: "cross" });
    const fills = await allRows((query) => half.history.readFills(alice, query, OPTIONS), {});
    expect(fills.reduce((sum, fill) => sum + fill.qtyLots, 0)).toBe(1_000);
    for (const fill of fills)
      expect(fill).toMatchObject({ side: "BUY", isMaker: false, venueOrderId: order?.venueOrderId });
    await place(sell(on));
    expect(got(await half.reader.readPositions(alice, null, OPTIONS))).toEqual([]);
  });

  it("rests, fills in part and shows both", async () => {
    const on = await start();
    const bob = open(on.half, { apiKeyPrivateKey: KEYS.bob, accountIndex: BOB });
    const inside = wholeTicks(on.btc, (on.sim.exchange.bestBid("BTC")?.priceTicks ?? 0) / 10) + 1;
    // Too large for the venue's own traders to fill it meanwhile.
    const command = resting(on, { priceTicks: inside, qtyLots: 500_000, timeInForce: "POST_ONLY" });
    await place(command);
    const before = await find(command);
    expect(before).toMatchObject({ timeInForce: "POST_ONLY", qtyLots: 500_000 });
    await place(sell(on, { qtyLots: 400, reduceOnly: false, priceTicks: inside }), bob);
    const after = await find(command);
    expect(after?.status).toBe("PARTIALLY_FILLED");
    expect(after?.filledLots).toBeGreaterThanOrEqual((before?.filledLots ?? 0) + 400);
    expect((await find(command))?.averagePrice).not.toBeNull();
  });

  it("post-only that would cross, reduce-only without a position: accepted, then ended without a fill", async () => {
    const on = await start();
    const crossing = buy(on, { type: "LIMIT", timeInForce: "POST_ONLY" });
    await place(crossing);
    expect(await find(crossing)).toMatchObject({
      status: "CANCELED",
      venueStatus: "canceled-post-only",
      filledLots: 0,
    });
    const reducing = sell(on);
    await place(reducing);
    expect(["CANCELED", "REJECTED"]).toContain((await find(reducing))?.status);
  });

  it("the minimum of the listing binds what rests; what takes goes down to one lot, and dust closes", async () => {
    const on = await start();
    const minimum = on.btc.restingMinimum;
    if (minimum === undefined) throw new Error("none listed");
    expect(await send(resting(on, { qtyLots: minimum.qtyLots - 1 }))).toMatchObject({
      outcome: "rejected",
      reason: "SIZE",
      venueCode: "21706",
    });
    await place(resting(on, { qtyLots: minimum.qtyLots, priceTicks: wholeTicks(on.btc, on.mark() * 0.99) }));
    const dust = buy(on, { clientIdHex: nextClientId(), qtyLots: 1 });
    await place(dust);
    expect(await find(dust)).toMatchObject({ status: "FILLED", filledLots: 1 });
    await place(sell(on, { clientIdHex: nextClientId(), qtyLots: 1 }));
    expect(got(await on.half.reader.readPositions(on.alice, on.btc, OPTIONS))).toEqual([]);
  });

  it("a client id used again is accepted by the API and refused by the sequencer: one order", async () => {
    const on = await start();
    const command = resting(on);
    await place(command);
    await place({ ...command, qtyLots: 500 });
    expect(await find(command)).toMatchObject({ status: "OPEN", qtyLots: 1_000 });
    expect(got(await on.half.reader.readOpenOrders(on.alice, null, OPTIONS))).toHaveLength(1);
  });

  it("an order that the sequencer refuses is found rejected by its transaction", async () => {
    const on = await start();
    const command = buy(on, { qtyLots: 100_000_000_000, priceTicks: wholeTicks(on.btc, on.mark() * 1.2) });
    expect(await send(command)).toMatchObject({ outcome: "accepted" });
    on.clock.advance(SETTLE_MS);
    const order = await find(command);
    expect(["REJECTED", "CANCELED"]).toContain(order?.status);
    expect(order?.filledLots).toBe(0);
  });

  it("a resting order without margin is refused by the API, and its nonce goes to the next", async () => {
    const on = await start();
    expect(await send(resting(on, { qtyLots: 100_000_000_000 }))).toMatchObject({
      outcome: "rejected",
      reason: "INSUFFICIENT_MARGIN",
      venueCode: "21739",
      sent: true,
    });
    await place(resting(on));
    expect(got(await on.half.reader.readOpenOrders(on.alice, null, OPTIONS))).toHaveLength(1);
  });
});

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
    const command = sell(on, {
      type,
      timeInForce: type === "LIMIT" ? "GTC" : "IOC",
      trigger: { kind, priceTicks: wholeTicks(btc, level), source: "MARK" },
      priceTicks: wholeTicks(btc, level * 0.95),
    });
    const expected = { type: type === "LIMIT" ? "STOP_LIMIT" : "STOP_MARKET", triggerKind: kind, reduceOnly: true };
    expect(await place(command)).toMatchObject({ status: "OPEN", ...expected });
    const [row] = got(await half.reader.readOpenOrders(alice, btc, OPTIONS));
    expect(row).toMatchObject({ status: "OPEN", side: "SELL", ...expected });
    expect(Number(row?.triggerPrice)).toBe(Math.round(level));
    sim.exchange.setPriceSkew(skewBps, 0);
    clock.advance(5_000);
    expect(got(await half.reader.readPositions(alice, btc, OPTIONS))).toEqual([]);
    expect(await find(command)).toMatchObject({ status: "FILLED", filledLots: 1_000, ...expected });
  });
});

describe("changing and cancelling", () => {
  it("amends price and size, keeps a trigger, and refuses unsent what cannot be", async () => {
    const on = await start();
    const { alice, btc, clock, half } = on;
    const command = resting(on);
    await place(command);
    const current = await find(command);
    if (current === null) throw new Error("not found");
    const change = { priceTicks: command.priceTicks - 100 * 10 ** btc.priceDecimals, qtyLots: 1_500 };
    expect(await half.orders.amend(alice, btc, current, change, OPTIONS)).toEqual({
      outcome: "accepted",
      order: null,
    });
    clock.advance(SETTLE_MS);
    expect(await find(command)).toMatchObject({ status: "OPEN", ...change });
    const sent = on.sim.log.records({}).length;
    for (const wrong of [
      { ...change, qtyLots: 0 },
      { ...change, priceTicks: 2 ** 32 },
    ])
      expect(await half.orders.amend(alice, btc, current, wrong, OPTIONS)).toMatchObject({ sent: false });
    expect(on.sim.log.records({})).toHaveLength(sent);
  });

  it("cancels by either id, of one market, of all, and by schedule", async () => {
    const on = await start();
    const { alice, btc, clock, eth, half, sim } = on;
    const ethPrice = wholeTicks(eth, (sim.exchange.mark("ETH").markE8 / 1e8) * 0.9);
    const inEth = (): OrderCommand =>
      resting(on, { instrument: eth, priceTicks: ethPrice, clientIdHex: nextClientId() });
    const openCount = async (): Promise<number> => got(await half.reader.readOpenOrders(alice, null, OPTIONS)).length;
    const [first, second] = [resting(on), resting(on, { clientIdHex: nextClientId() })];
    await place(first);
    await place(second);
    // The API's word alone; the room asks on (cancel-confirmation.ts).
    const taken = { outcome: "accepted", isPending: true };
    expect(await half.orders.cancel(alice, btc, { clientIdHex: first.clientIdHex }, OPTIONS)).toEqual(taken);
    const venueOrderId = (await find(second))?.venueOrderId ?? "";
    expect(await half.orders.cancel(alice, btc, { venueOrderId }, OPTIONS)).toEqual(taken);
    clock.advance(SETTLE_MS);
    expect(await openCount()).toBe(0);
    expect(await find(first)).toMatchObject({ status: "CANCELED" });

    await place(resting(on, { clientIdHex: nextClientId() }));
    await place(inEth());
    expect(await half.orders.cancelAll(alice, btc, OPTIONS)).toMatchObject({ outcome: "accepted" });
    clock.advance(SETTLE_MS);
    expect(got(await half.reader.readOpenOrders(alice, null, OPTIONS)).map(({ nativeSymbol }) => nativeSymbol)).toEqual(
      ["ETH"],
    );
    await place(resting(on, { clientIdHex: nextClientId() }));
    expect(await half.orders.cancelAll(alice, null, OPTIONS)).toMatchObject({ outcome: "accepted" });
    clock.advance(SETTLE_MS);
    expect(await openCount()).toBe(0);

    await place(inEth());
    const atMs = clock.wallMs() + 10 * 60_000;
    expect(await half.orders.scheduleCancel(alice, atMs, OPTIONS)).toEqual({ outcome: "accepted" });
    expect(await half.orders.scheduleCancel(alice, null, OPTIONS)).toEqual({ outcome: "accepted" });
    clock.advance(11 * 60_000);
    expect(await openCount()).toBe(1);
    const laterMs = clock.wallMs() + 10 * 60_000;
    expect(await half.orders.scheduleCancel(alice, laterMs, OPTIONS)).toEqual({ outcome: "accepted" });
    clock.advance(11 * 60_000);
    expect(await openCount()).toBe(0);
    expect(await half.orders.scheduleCancel(alice, clock.wallMs() + 1_000, OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
  });
});

describe("credentials", () => {
  it.each([
    ["a key of nobody", { apiKeyPrivateKey: KEYS.stranger, accountIndex: ALICE }],
    ["a key of another account", { apiKeyPrivateKey: KEYS.alice, accountIndex: BOB }],
    ["an account that is not there", { apiKeyPrivateKey: KEYS.alice, accountIndex: 999_999 }],
    ["another key's index", { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE, apiKeyIndex: 4 }],
    ["another wallet", { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE, walletAddress: L1_BOB }],
  ])("%s: AUTH for every call, and nothing is signed", async (_what, credentials) => {
    const on = await start();
    const { btc, half } = on;
    const session = open(half, credentials);
    expect(await send(resting(on), session)).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: false });
    for (const read of [
      await half.reader.readPositions(session, null, OPTIONS),
      await half.reader.readOpenOrders(session, null, OPTIONS),
      await half.reader.readBalances(session, OPTIONS),
      await half.settings.read(session, btc, OPTIONS),
    ])
      expect(read).toMatchObject({ ok: false, code: "AUTH" });
    expect(on.sim.log.records({})).toHaveLength(0);
  });

  it("takes the right index and wallet, and one key in two accounts", async () => {
    const on = await start();
    const named = open(on.half, {
      apiKeyPrivateKey: KEYS.alice,
      accountIndex: String(ALICE),
      apiKeyIndex: 5,
      walletAddress: L1_ALICE,
    });
    await place(resting(on), named);
    const both = open(on.half, { apiKeyPrivateKey: KEYS.bob, accountIndex: ALICE });
    expect(got(await on.half.reader.readOpenOrders(both, null, OPTIONS))).toHaveLength(1);
    const bob = open(on.half, { apiKeyPrivateKey: KEYS.bob, accountIndex: BOB });
    expect(got(await on.half.reader.readOpenOrders(bob, null, OPTIONS))).toHaveLength(0);
  });

  it("an address reads positions and balances of its accounts, and nothing private", async () => {
    const on = await start();
    await place(buy(on));
    const session = opened(on.half.openAddress(L1_ALICE.toUpperCase().replace("0X", "0x")));
    expect(got(await on.half.reader.readPositions(session, null, OPTIONS))).toMatchObject([
      { symbol: "BTC", qtyLots: 1_000 },
    ]);
    expect(got(await on.half.reader.readBalances(session, OPTIONS))).toMatchObject([{ asset: "USDC" }]);
    expect(await on.half.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "NEEDS_CREDENTIALS",
    });
    expect(await send(resting(on), session)).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: false });
    const nobody = opened(on.half.openAddress(`0x${"00".repeat(20)}`));
    expect(got(await on.half.reader.readPositions(nobody, null, OPTIONS))).toEqual([]);
  });
});

describe("nonces", () => {
  it("another program that used the key: read anew, and the order goes out", async () => {
    const on = await start();
    await place(resting(on));
    // A second half is that program: it knows nothing of the first one's count.
    const deps = halfDeps(on.sim.restUrl, on.clock, () => new Map([["BTC", on.btc]]));
    const other = createVenuethreeTrading({ ...deps, chainId: 304, tier: "standard" });
    const session = open(other, { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE });
    expect(await other.orders.place(session, resting(on, { clientIdHex: nextClientId() }), OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    await place(resting(on, { clientIdHex: nextClientId() }));
    expect(got(await on.half.reader.readOpenOrders(on.alice, null, OPTIONS))).toHaveLength(3);
    other.stop();
    await deps.http.close(0);
  });

  it("200 concurrent orders on one key: no nonce twice, none lost", async () => {
    const on = await start();
    const commands = Array.from({ length: 200 }, () => resting(on, { clientIdHex: nextClientId(), qtyLots: 100 }));
    const outcomes = await Promise.all(commands.map((command) => send(command)));
    on.clock.advance(SETTLE_MS);
    expect(outcomes.filter(({ outcome }) => outcome === "accepted")).toHaveLength(200);
    const taken = on.sim.log.records({ action: "place" }).map(({ nonce }) => nonce);
    expect(new Set(taken).size).toBe(200);
    expect(got(await on.half.reader.readOpenOrders(on.alice, null, OPTIONS))).toHaveLength(200);
  });

  it("200 concurrent orders while every tenth answer is lost: each one at the venue once or not at all", async () => {
    const on = await start();
    on.sim.faults.add({ kind: "replyLost", match: "sendTx", probability: 0.1 });
    on.sim.faults.add({ kind: "errorBefore", match: "sendTx", probability: 0.1, status: 502 });
    const commands = Array.from({ length: 200 }, () => resting(on, { clientIdHex: nextClientId(), qtyLots: 100 }));
    const outcomes = await Promise.all(commands.map((command) => send(command)));
    on.sim.faults.clear();
    on.clock.advance(SETTLE_MS);
    const atVenue = new Set(
      got(await on.half.reader.readOpenOrders(on.alice, null, OPTIONS)).map((order) => order.venueClientOrderId),
    );
    let unknownCount = 0;
    for (const [index, outcome] of outcomes.entries()) {
      const id = on.half.orders.venueClientOrderId(commands[index]?.clientIdHex ?? "");
      if (outcome.outcome === "accepted") expect(atVenue.has(id)).toBe(true);
      if (outcome.outcome === "rejected") expect(atVenue.has(id)).toBe(false);
      if (outcome.outcome === "unknown") unknownCount++;
    }
    expect(unknownCount).toBeGreaterThan(10);
    const placed = on.sim.log.records({ action: "place" }).map(({ clientId }) => clientId);
    expect(new Set(placed).size).toBe(placed.length);
  });
});

describe("outcomes that are not known", () => {
  it.each([
    ["5xx after execution", { kind: "errorAfter", status: 500 }, true],
    ["the answer lost", { kind: "replyLost" }, true],
    ["5xx before execution", { kind: "errorBefore", status: 503 }, false],
  ] as const)("%s: unknown, with a moment by which it is placed or never", async (_what, fault, isPlaced) => {
    const on = await start();
    on.sim.faults.add({ ...fault, match: "sendTx", count: 1 });
    const command = resting(on);
    const outcome = await send(command);
    expect(outcome).toMatchObject({ outcome: "unknown" });
    if (outcome.outcome !== "unknown") return;
    expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(
      on.clock.wallMs() + on.half.orders.placeBoundMs(on.alice, OPTIONS.timeoutMs),
    );
    on.clock.advance(SETTLE_MS);
    const found = await find(command);
    if (isPlaced) expect(found).toMatchObject({ status: "OPEN" });
    else expect(found).toBeNull();
    // The key goes on, whatever became of the nonce.
    await place(resting(on, { clientIdHex: nextClientId() }));
    expect(got(await on.half.reader.readOpenOrders(on.alice, null, OPTIONS))).toHaveLength(isPlaced ? 2 : 1);
  });

  it("no answer in time: unknown; the venue executes it once", async () => {
    const on = await start();
    await place(resting(on));
    on.sim.faults.add({ kind: "fixedDelay", match: "sendTx", delayMs: 10_000, count: 1 });
    const command = resting(on, { clientIdHex: nextClientId() });
    const pending = send(command);
    // Real time for the request to arrive; the clock decides the timeout.
    while (on.sim.log.records({ action: "place" }).length < 2) await new Promise((done) => setImmediate(done));
    on.clock.advance(4_001);
    expect(await pending).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
    on.clock.advance(10_000);
    expect(await find(command)).toMatchObject({ status: "OPEN" });
    expect(on.sim.log.records({ action: "place" })).toHaveLength(2);
  });
});

describe("settings, fees, balances", () => {
  it("sets leverage and margin mode, and reads them back", async () => {
    const on = await start();
    const { alice, btc, clock, half } = on;
    expect(await half.settings.setLeverage(alice, btc, 3, OPTIONS)).toMatchObject({
      outcome: "accepted",
      settings: { leverage: 3 },
    });
    clock.advance(SETTLE_MS);
    expect(got(await half.settings.read(alice, btc, OPTIONS))).toMatchObject({ leverage: 3, marginMode: "cross" });
    expect(await half.settings.setMarginMode(alice, btc, "isolated", OPTIONS)).toMatchObject({ outcome: "accepted" });
    clock.advance(SETTLE_MS);
    expect(got(await half.settings.read(alice, btc, OPTIONS))).toMatchObject({
      leverage: 3,
      marginMode: "isolated",
    });
    const sent = on.sim.log.records({}).length;
    for (const wrong of [0, 1.5, -1, btc.maxLeverage + 1, Number.NaN])
      expect(await half.settings.setLeverage(alice, btc, wrong, OPTIONS)).toMatchObject({
        outcome: "rejected",
        sent: false,
      });
    expect(on.sim.log.records({})).toHaveLength(sent);
  });

  it("reads fee rates, balances and the account as a whole", async () => {
    const on = await start();
    const { alice, btc, half } = on;
    expect(got(await half.reader.readFeeRates(alice, btc, OPTIONS))).toEqual({
      makerFeeMilliBps: 0,
      takerFeeMilliBps: 0,
    });
    expect(got(await half.reader.readBalances(alice, OPTIONS))).toEqual([
      { asset: "USDC", total: "1000000", available: "1000000" },
    ]);
    await place(buy(on));
    const summary = got(await half.reader.readAccount(alice, OPTIONS));
    expect(Number(summary.marginUsed)).toBeGreaterThan(0);
    expect(Math.abs(Number(summary.equity) - Number(summary.marginUsed) - Number(summary.free))).toBeLessThan(1_000);
    expect(Number(summary.maintenanceMargin)).toBeLessThan(Number(summary.marginUsed));
  });
});

describe("history", () => {
  it("pages of any size hold every order once, also when orders end between two pages", async () => {
    const on = await start();
    const { alice, clock, half } = on;
    const commands = Array.from({ length: 12 }, () => resting(on, { clientIdHex: nextClientId(), qtyLots: 100 }));
    for (const command of commands) await place(command);
    for (const command of commands.slice(0, 5)) {
      await half.orders.cancel(alice, on.btc, { clientIdHex: command.clientIdHex }, OPTIONS);
      clock.advance(SETTLE_MS);
    }
    const whole = await allRows((query) => half.history.readOrders(alice, query, OPTIONS), {});
    expect(whole).toHaveLength(12);
    for (const limit of [1, 2, 3, 5, 7, 12, 13]) {
      const rows = await allRows((query) => half.history.readOrders(alice, query, OPTIONS), { limit });
      expect(rows.map(({ venueOrderId }) => venueOrderId)).toEqual(whole.map(({ venueOrderId }) => venueOrderId));
    }
    // One more ends after the first page, and one more is placed: the walk still holds each of the twelve once.
    const first = got(
      await half.history.readOrders(
        alice,
        { instrument: null, sinceMs: null, untilMs: null, limit: 2, cursor: null },
        OPTIONS,
      ),
    );
    await half.orders.cancel(alice, on.btc, { clientIdHex: commands[6]?.clientIdHex ?? "" }, OPTIONS);
    await half.orders.cancel(alice, on.btc, { clientIdHex: commands[11]?.clientIdHex ?? "" }, OPTIONS);
    await place(resting(on, { clientIdHex: nextClientId() }));
    const rest = await allRows(
      (query) => half.history.readOrders(alice, { ...query, cursor: query.cursor ?? first.nextCursor }, OPTIONS),
      { limit: 2 },
    );
    const ids = [...first.rows, ...rest].map(({ venueClientOrderId }) => venueClientOrderId);
    expect(ids).toHaveLength(12);
    expect(new Set(ids)).toEqual(
      new Set(commands.map(({ clientIdHex }) => half.orders.venueClientOrderId(clientIdHex))),
    );
  });

  it("fills and funding page through, keep to their bounds, and refuse a foreign cursor", async () => {
    const on = await start();
    const { alice, btc, clock, eth, half } = on;
    for (let count = 0; count < 4; count++) await place(buy(on, { clientIdHex: nextClientId() }));
    clock.advance(3 * HOUR_MS);
    const fills = await allRows((query) => half.history.readFills(alice, query, OPTIONS), {});
    expect(new Set(fills.map(({ tradeId }) => tradeId)).size).toBe(fills.length);
    const paged = await allRows((query) => half.history.readFills(alice, query, OPTIONS), { limit: 1 });
    expect(paged).toEqual(fills);
    const untilMs = fills[1]?.tsVenueMs ?? 0;
    const older = await allRows((query) => half.history.readFills(alice, query, OPTIONS), { untilMs });
    expect(older).toEqual(fills.filter(({ tsVenueMs }) => tsVenueMs <= untilMs));
    expect(await allRows((query) => half.history.readFills(alice, query, OPTIONS), { instrument: eth })).toEqual([]);
    const payments = await allRows((query) => half.history.readFunding(alice, query, OPTIONS), { limit: 2 });
    expect(payments.length).toBeGreaterThanOrEqual(2);
    for (const payment of payments) expect(payment).toMatchObject({ symbol: "BTC", asset: "USDC" });
    const page = got(
      await half.history.readFills(
        alice,
        { instrument: btc, sinceMs: null, untilMs: null, limit: 1, cursor: null },
        OPTIONS,
      ),
    );
    for (const cursor of ["x", "!", page.nextCursor?.slice(2) ?? "", page.nextCursor ?? ""])
      expect(
        await half.history.readFunding(
          alice,
          { instrument: btc, sinceMs: null, untilMs: null, limit: 1, cursor },
          OPTIONS,
        ),
      ).toMatchObject({ ok: false, code: "BAD_CURSOR" });
  });
});
