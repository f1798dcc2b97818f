/** The venuefour room against its local venue over real sockets: every kind of order, change, read, fault and stream. */
import { afterEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type {
  AccountEvent,
  AccountHistory,
  AccountSession,
  AccountSettings,
  VenueRoom,
} from "../../../engine/ports.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { keyPairOf } from "../../sim/venuefour/records/keys.js";
import type { VenuefourSimOptions } from "../../sim/venuefour/wire/options.js";
import { startVenuefourSim, type VenuefourSim } from "../../sim/venuefour/sim.js";
import { allRows, commandOf, open, opened, PATIENT, unwrapRead, watch } from "../support/trading-half.js";

const WALLET = keyPairOf(Buffer.alloc(32, 1));
const AGENT = keyPairOf(Buffer.alloc(32, 2));
const STRANGER = keyPairOf(Buffer.alloc(32, 3));
const CREDENTIALS = { apiKey: AGENT.publicKey, apiSecret: AGENT.secret, walletAddress: WALLET.publicKey };
const LOT = 100_000;
/** Of a call that is to run out of time, and is not to before its order has left on a slow machine. */
const SHORT_MS = 2_500;

interface Bench {
  readonly sim: VenuefourSim;
  readonly room: VenueRoom & { readonly history: AccountHistory; readonly settings: AccountSettings };
  readonly orders: Required<Pick<VenueRoom["orders"], "place" | "cancel" | "amend" | "cancelAll">>;
  readonly session: AccountSession;
  readonly btc: Instrument;
  readonly logs: string[];
  /** Times the mark. */
  ticks(factor: number): number;
  place(changes: Partial<OrderCommand>, session?: AccountSession): Promise<PlaceOutcome>;
  positionLots(): number;
}

let running: { stop(): Promise<void> } | null = null;

afterEach(async () => {
  await running?.stop();
  running = null;
});

async function start(options: Partial<VenuefourSimOptions> = {}, clock = createSystemClock()): Promise<Bench> {
  const sim = await startVenuefourSim({
    seed: 9,
    symbols: ["BTC", "ETH"],
    flow: { levelCount: 60, tradesPerSecond: 5 },
    limits: { creditsPerMinute: 1_000_000 },
    cadences: { speedBumpMs: 5 },
    accounts: [{ walletAddress: WALLET.publicKey, agents: [AGENT.publicKey], deposit: "1000000" }],
    ...options,
  });
  const logs: string[] = [];
  const log = (event: string, fields?: LogFields): void => {
    logs.push(`${event} ${JSON.stringify(fields ?? {})}`);
  };
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const room = createVenuefourRoom({
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
    symbols: ["BTC", "ETH"],
    clock,
    random: createSeededRandom(5),
    logger,
    limits: { creditsPerMinute: 1_000_000 },
  });
  await room.start();
  running = {
    async stop() {
      await room.stop();
      await sim.stop();
    },
  };
  const btc = room.markets.get("BTC")?.instrument;
  if (btc === undefined) throw new Error("BTC is not listed");
  const session = open(room, CREDENTIALS);
  return {
    sim,
    room: room as Bench["room"],
    orders: room.orders as Bench["orders"],
    session,
    btc,
    logs,
    ticks: (factor) => Math.round((sim.exchange.mark("BTC").markE8 / 1e8) * factor),
    place: (changes, by = session) =>
      room.orders.place(by, commandOf(btc, { qtyLots: LOT / 100, ...changes }), PATIENT),
    positionLots: () => sim.exchange.position(WALLET.publicKey, "BTC", "BOTH")?.qtyLots ?? 0,
  };
}

function orderOf(outcome: PlaceOutcome): VenueOrder {
  if (outcome.outcome !== "accepted") throw new Error(`${outcome.outcome} ${JSON.stringify(outcome)}`);
  return outcome.order;
}

async function cut(sim: VenuefourSim): Promise<void> {
  await fetch(`${sim.restUrl}/_sim/disconnect`, { method: "POST", body: "{}" });
}

describe("orders of venuefour against the local venue", () => {
  it("fills a market order as an IOC limit, says what it filled, and the venue's log agrees", async () => {
    const { sim, room, session, btc, ticks, place, positionLots } = await start();
    const order = orderOf(await place({ priceTicks: ticks(1.02) }));
    expect(order).toMatchObject({ status: "FILLED", type: "MARKET", filledLots: LOT / 100, side: "BUY" });
    expect(Number(order.averagePrice)).toBeGreaterThan(0);
    expect(positionLots()).toBe(LOT / 100);
    const [record] = sim.log.records({ action: "place" });
    expect(record).toMatchObject({
      clientId: order.venueClientOrderId,
      timeInForce: "IOC",
      orderId: Number(order.venueOrderId),
    });
    const [position] = unwrapRead(await room.reader.readPositions(session, btc, PATIENT));
    expect(position).toMatchObject({ direction: "LONG", qtyLots: LOT / 100, marginMode: "cross" });
    const average = sim.exchange.order(Number(order.venueOrderId));
    expect(Number(order.averagePrice)).toBeCloseTo(Number(average?.filledNotionalE12) / 1e12 / 0.01, 4);
  });

  it("reports a partial fill as canceled with what it filled", async () => {
    const { sim, place, positionLots } = await start({ flow: null });
    sim.exchange.setHouseLevel("BTC", "SELL", 90_000, LOT / 200);
    sim.exchange.setHouseLevel("BTC", "BUY", 80_000, LOT);
    expect(orderOf(await place({ priceTicks: 90_000 }))).toMatchObject({
      status: "CANCELED",
      filledLots: LOT / 200,
      averagePrice: "90000",
    });
    expect(positionLots()).toBe(LOT / 200);
    expect(orderOf(await place({ priceTicks: 81_000 }))).toMatchObject({
      status: "CANCELED",
      filledLots: 0,
      averagePrice: null,
    });
  });

  it("rests, is read by both ids, changed into another, and canceled", async () => {
    const { room, orders, session, btc, ticks, place } = await start();
    const command = commandOf(btc, { type: "LIMIT", timeInForce: "GTC", priceTicks: ticks(0.8), qtyLots: LOT / 100 });
    const order = orderOf(await room.orders.place(session, command, PATIENT));
    expect(order.status).toBe("OPEN");
    for (const ref of [{ clientIdHex: command.clientIdHex }, { venueOrderId: order.venueOrderId }])
      expect(unwrapRead(await room.reader.readOrder(session, btc, ref, PATIENT))).toMatchObject({
        venueOrderId: order.venueOrderId,
        status: "OPEN",
      });
    const change = { priceTicks: ticks(0.79), qtyLots: LOT / 50 };
    const amended = await orders.amend(session, btc, order, change, PATIENT);
    if (amended.outcome !== "accepted" || amended.order === null) throw new Error(JSON.stringify(amended));
    expect(amended.order).toMatchObject({ status: "OPEN", ...change, venueClientOrderId: order.venueClientOrderId });
    expect(amended.order.venueOrderId).not.toBe(order.venueOrderId);
    expect(
      unwrapRead(await room.reader.readOrder(session, btc, { venueOrderId: order.venueOrderId }, PATIENT)),
    ).toMatchObject({ status: "CANCELED" });
    const byClient = { clientIdHex: command.clientIdHex };
    expect(await orders.cancel(session, btc, byClient, PATIENT)).toEqual({ outcome: "accepted" });
    expect(await orders.cancel(session, btc, byClient, PATIENT)).toMatchObject({
      outcome: "rejected",
      reason: "NOT_FOUND",
      sent: true,
    });
    expect(orderOf(await place({ type: "LIMIT", timeInForce: "GTC", priceTicks: ticks(0.7) })).status).toBe("OPEN");
  });

  it("says at once that a post-only order would have taken", async () => {
    const { ticks, place } = await start();
    const taking = { type: "LIMIT", timeInForce: "POST_ONLY", priceTicks: ticks(1.1) } as const;
    expect(await place(taking)).toMatchObject({ outcome: "rejected", reason: "PRICE", sent: true });
    expect(orderOf(await place({ ...taking, priceTicks: ticks(0.9) })).status).toBe("OPEN");
  });

  it("places stops and take-profits, which fire, and cancels the ones that wait", async () => {
    const { sim, room, orders, session, btc, ticks, place, positionLots } = await start();
    orderOf(await place({ priceTicks: ticks(1.02) }));
    const closing = { side: "SELL", reduceOnly: true, priceTicks: ticks(0.9) } as const;
    const stop = orderOf(
      await place({ ...closing, trigger: { kind: "STOP", priceTicks: ticks(0.99), source: "MARK" } }),
    );
    expect(stop).toMatchObject({ type: "STOP_MARKET", status: "OPEN", triggerKind: "STOP" });
    const profit = orderOf(
      await place({ ...closing, trigger: { kind: "TAKE_PROFIT", priceTicks: ticks(1.5), source: "MARK" } }),
    );
    expect(profit).toMatchObject({ venueOrderId: "", triggerKind: "TAKE_PROFIT" });
    const waiting = unwrapRead(await room.reader.readOpenOrders(session, btc, PATIENT));
    expect(waiting.map((order) => order.triggerKind).sort()).toEqual(["STOP", "TAKE_PROFIT"]);
    const found = waiting.find((order) => order.triggerKind === "TAKE_PROFIT");
    expect(found?.venueClientOrderId).toBe(profit.venueClientOrderId);
    const ref = { venueOrderId: found?.venueOrderId ?? "" };
    expect(await orders.cancel(session, btc, ref, PATIENT)).toEqual({ outcome: "accepted" });
    await fetch(`${sim.restUrl}/_sim/skew`, { method: "POST", body: '{"bps":-300}' });
    await expect.poll(positionLots).toBe(0);
    const fired = unwrapRead(await room.reader.readOrder(session, btc, { venueOrderId: stop.venueOrderId }, PATIENT));
    expect(fired).toMatchObject({ status: "FILLED", filledLots: LOT / 100 });
  });

  it("cancels all, waiting stops too, of one symbol or of every one", async () => {
    const { room, orders, session, btc, ticks, place } = await start();
    const eth = room.markets.get("ETH")?.instrument;
    if (eth === undefined) throw new Error("ETH is not listed");
    const resting = { type: "LIMIT", timeInForce: "GTC" } as const;
    for (const factor of [0.8, 0.81, 0.82]) await place({ ...resting, priceTicks: ticks(factor) });
    await place({ side: "SELL", reduceOnly: true, trigger: { kind: "STOP", priceTicks: ticks(0.5), source: "LAST" } });
    const other = commandOf(eth, { ...resting, priceTicks: 10_000, qtyLots: 1_000 });
    orderOf(await room.orders.place(session, other, PATIENT));
    expect(await orders.cancelAll(session, btc, PATIENT)).toEqual({
      outcome: "accepted",
      canceledCount: 4,
      failed: [],
    });
    expect(await orders.cancelAll(session, null, PATIENT)).toMatchObject({ canceledCount: 1 });
    expect(unwrapRead(await room.reader.readOpenOrders(session, null, PATIENT))).toEqual([]);
  });

  it.each([
    ["with nothing to reduce", { side: "SELL", reduceOnly: true }, "REDUCE_ONLY", true],
    ["below the minimum", { qtyLots: 1 }, "SIZE", true],
    ["beyond the margin", { qtyLots: LOT * 800, type: "LIMIT", timeInForce: "GTC" }, null, true],
    ["of no lots", { qtyLots: 0 }, "SIZE", false],
    ["of half a lot", { qtyLots: 0.5 }, "SIZE", false],
    ["at no price", { priceTicks: 0 }, "PRICE", false],
    ["or nothing", { type: "LIMIT", timeInForce: "FOK" }, "VENUE_STATE", false],
    ["of a hedge side", { positionSide: "LONG" }, "VENUE_STATE", false],
    ["with a client id that is none", { clientIdHex: "x" }, "VENUE_STATE", false],
    [
      "that takes profit of nothing",
      { trigger: { kind: "TAKE_PROFIT", priceTicks: 1, source: "MARK" } },
      "VENUE_STATE",
      false,
    ],
  ] as const)("refuses an order %s", async (_what, changes, reason, isSent) => {
    const { sim, ticks, place } = await start();
    const outcome = await place({ priceTicks: ticks(1.02), ...changes } as Partial<OrderCommand>);
    expect(outcome).toMatchObject({ outcome: "rejected", sent: isSent, ...(reason === null ? {} : { reason }) });
    expect(sim.log.records()).toHaveLength(isSent ? 1 : 0);
  });

  it("refuses reduce-only orders that add or exceed, in the venue's words", async () => {
    const { ticks, place, positionLots } = await start();
    orderOf(await place({ priceTicks: ticks(1.02) }));
    expect(await place({ priceTicks: ticks(1.02), reduceOnly: true })).toMatchObject({
      reason: "REDUCE_ONLY",
      venueCode: "INVALID_REDUCE_ONLY_ORDER_SIDE",
    });
    const tooMuch = { side: "SELL", priceTicks: ticks(0.98), reduceOnly: true, qtyLots: LOT / 50 } as const;
    expect(await place(tooMuch)).toMatchObject({
      reason: "REDUCE_ONLY",
      venueCode: "INVALID_REDUCE_ONLY_ORDER_AMOUNT",
    });
    expect(orderOf(await place({ ...tooMuch, qtyLots: LOT / 100 })).status).toBe("FILLED");
    expect(positionLots()).toBe(0);
  });

  it("takes a client id once: a second send is a duplicate, whatever became of the first", async () => {
    const { sim, ticks, place } = await start();
    const clientIdHex = "0123456789abcdef0123456789abcdef";
    orderOf(await place({ clientIdHex, priceTicks: ticks(1.02) }));
    expect(await place({ clientIdHex, priceTicks: ticks(1.02) })).toMatchObject({
      outcome: "rejected",
      reason: "DUPLICATE_CLIENT_ID",
    });
    expect(sim.exchange.allOrders(WALLET.publicKey)).toHaveLength(1);
  });

  it("tells keys apart: the wallet's own, another's, one revoked, none at all", async () => {
    const { sim, room, btc, ticks, place } = await start();
    const own = open(room, { apiKey: WALLET.publicKey, apiSecret: WALLET.secret, walletAddress: WALLET.publicKey });
    expect(orderOf(await place({ priceTicks: ticks(1.02) }, own)).status).toBe("FILLED");
    const foreign = { apiKey: STRANGER.publicKey, apiSecret: STRANGER.secret, walletAddress: WALLET.publicKey };
    const stranger = open(room, foreign);
    const refused = { outcome: "rejected", reason: "AUTH", sent: true, venueCode: "AGENT_NOT_AUTHORIZED" };
    expect(await place({ priceTicks: ticks(1.02) }, stranger)).toMatchObject(refused);
    sim.room.keys.revoke(WALLET.publicKey, AGENT.publicKey);
    expect(await place({ priceTicks: ticks(1.02) })).toMatchObject(refused);
    const address = opened(room.openAddress?.(WALLET.publicKey) ?? { ok: false, problem: "no address" });
    expect(await place({ priceTicks: ticks(1.02) }, address)).toMatchObject({
      reason: "AUTH",
      sent: false,
      venueCode: "NEEDS_CREDENTIALS",
    });
    expect(unwrapRead(await room.reader.readPositions(address, btc, PATIENT))).toHaveLength(1);
    expect(room.openAddress?.("0xabc")).toMatchObject({ ok: false });
    own.close();
    expect(await place({ priceTicks: ticks(1.02) }, own)).toMatchObject({ reason: "AUTH", sent: false });
  });

  it("measures its clock again when the venue calls a request expired, and sends once more", async () => {
    const { sim, room, place, ticks, positionLots } = await start();
    sim.faults.add({ kind: "clockSkew", delayMs: 60_000 });
    const order = orderOf(await place({ priceTicks: ticks(1.02) }));
    expect(order.status).toBe("FILLED");
    expect(room.status().clockOffsetMs).toBeGreaterThan(55_000);
    sim.faults.clear();
    sim.faults.add({ kind: "clockSkew", delayMs: -60_000 });
    expect(orderOf(await place({ priceTicks: ticks(1.02) })).status).toBe("FILLED");
    expect(positionLots()).toBe(LOT / 50);
  });

  it.each([
    ["an answer that never comes", { kind: "replyLost" }, true],
    ["an error after execution", { kind: "errorAfter", status: 503 }, true],
    ["an error before execution", { kind: "errorBefore", status: 500 }, false],
    ["a lost request", { kind: "loss" }, false],
    ["an answer later than the caller waits", { kind: "fixedDelay", delayMs: 2 * SHORT_MS }, true],
  ] as const)("calls %s unknown, and reading the venue tells the truth", async (_what, fault, isExecuted) => {
    const { sim, room, session, btc, ticks, positionLots } = await start();
    sim.faults.add({ ...fault, match: "POST /api/v1/orders/create", count: 1 });
    const command = commandOf(btc, { priceTicks: ticks(1.02), qtyLots: LOT / 100 });
    const beforeMs = Date.now();
    const outcome = await room.orders.place(session, command, { timeoutMs: SHORT_MS, lane: "exit" });
    if (outcome.outcome !== "unknown") throw new Error(JSON.stringify(outcome));
    // Signed at some moment between the two.
    const afterMs = Date.now();
    expect(outcome.notPlacedAfterMs).toBeGreaterThan(beforeMs + 5_000);
    expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(afterMs + room.orders.placeBoundMs(session, SHORT_MS));
    await expect.poll(positionLots).toBe(isExecuted ? LOT / 100 : 0);
    const read = unwrapRead(await room.reader.readOrder(session, btc, { clientIdHex: command.clientIdHex }, PATIENT));
    if (isExecuted) expect(read).toMatchObject({ status: "FILLED", filledLots: LOT / 100 });
    else expect(read).toBeNull();
    // Sending it again is safe, because the venue takes a client id once.
    const again = await room.orders.place(session, command, PATIENT);
    expect(again).toMatchObject(
      isExecuted ? { outcome: "rejected", reason: "DUPLICATE_CLIENT_ID" } : { outcome: "accepted" },
    );
    expect(sim.exchange.allOrders(WALLET.publicKey)).toHaveLength(1);
  });

  it("reads a refusal for too many requests as one, with the time to wait", async () => {
    const { sim, place, ticks } = await start();
    sim.faults.add({ kind: "rate429", match: "orders/create", retryAfterS: 7, count: 1 });
    expect(await place({ priceTicks: ticks(1.02) })).toMatchObject({
      outcome: "rejected",
      reason: "RATE_LIMITED",
      retryAfterMs: 7_000,
      sent: true,
    });
  });

  it("keeps 200 orders at once apart: every one once, none lost", async () => {
    const { sim, room, session, btc, ticks } = await start();
    const options = { timeoutMs: 60_000, lane: "trade" } as const;
    const commands = Array.from({ length: 200 }, (_, index) =>
      commandOf(btc, { type: "LIMIT", timeInForce: "GTC", priceTicks: ticks(0.5) + index, qtyLots: LOT / 100 }),
    );
    const outcomes = await Promise.all(commands.map((command) => room.orders.place(session, command, options)));
    expect(outcomes.map((outcome) => outcome.outcome)).toEqual(commands.map(() => "accepted"));
    const ids = sim.exchange.openOrders(WALLET.publicKey).map((order) => order.clientId);
    expect(new Set(ids)).toEqual(
      new Set(commands.map(({ clientIdHex }) => room.orders.venueClientOrderId(clientIdHex))),
    );
    expect(ids).toHaveLength(200);
  });

  it("puts neither keys nor signatures into logs, inspection or JSON", async () => {
    const { sim, session, logs, ticks, place } = await start();
    sim.faults.add({ kind: "errorAfter", count: 1 });
    await place({ priceTicks: ticks(1.02) });
    const { inspect } = await import("node:util");
    for (const text of [inspect(session, { depth: 9 }), JSON.stringify(session), logs.join("\n")]) {
      expect(text).not.toContain(AGENT.secret);
      expect(text).not.toContain(AGENT.secret.slice(0, 20));
    }
  });
});

describe("reads of venuefour against the local venue", () => {
  it("balances, account, fees, settings; leverage stands with positions once it was asked for", async () => {
    const { room, session, btc, ticks, place } = await start();
    expect(unwrapRead(await room.reader.readBalances(session, PATIENT))).toEqual([
      { asset: "USDC", total: "1000000", available: "1000000" },
    ]);
    expect(unwrapRead(await room.reader.readFeeRates(session, btc, PATIENT))).toEqual({
      takerFeeMilliBps: 4_000,
      makerFeeMilliBps: 1_500,
    });
    expect(unwrapRead(await room.settings.read(session, btc, PATIENT))).toEqual({
      leverage: 50,
      marginMode: "cross",
      maxNotionalValue: null,
    });
    expect(await room.settings.setLeverage(session, btc, 12, PATIENT)).toMatchObject({
      outcome: "accepted",
      settings: { leverage: 12 },
    });
    expect(await room.settings.setLeverage(session, btc, 51, PATIENT)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
    expect(await room.settings.setMarginMode(session, btc, "isolated", PATIENT)).toMatchObject({ outcome: "accepted" });
    orderOf(await place({ priceTicks: ticks(1.02) }));
    const [position] = unwrapRead(await room.reader.readPositions(session, btc, { ...PATIENT, lane: "read" }));
    expect(position).toMatchObject({ leverage: 12, marginMode: "isolated" });
    expect(Number(position?.collateral)).toBeGreaterThan(0);
    expect(await room.settings.setLeverage(session, btc, 5, PATIENT)).toMatchObject({
      outcome: "rejected",
      sent: true,
    });
    expect(await room.settings.setMarginMode(session, btc, "cross", PATIENT)).toMatchObject({
      outcome: "rejected",
      sent: true,
    });
    const account = unwrapRead(
      await (room.reader.readAccount?.(session, PATIENT) ?? Promise.reject(new Error("no account"))),
    );
    expect(Number(account.equity)).toBeGreaterThan(999_000);
    expect(Number(account.marginUsed)).toBeGreaterThan(0);
  });

  it("histories page by page: orders, fills, funding; no row twice, none left out", async () => {
    const { sim, room, session, btc, ticks, place } = await start();
    for (let round = 0; round < 3; round++) {
      orderOf(await place({ priceTicks: ticks(1.02) }));
      orderOf(await place({ side: "SELL", priceTicks: ticks(0.98), reduceOnly: true }));
    }
    const { history } = room;
    const orders = await allRows((query) => history.readOrders(session, query, PATIENT), { limit: 2 });
    expect(orders.map((order) => order.status)).toEqual(Array(6).fill("FILLED"));
    expect(new Set(orders.map((order) => order.venueOrderId)).size).toBe(6);
    const fills = await allRows((query) => history.readFills(session, query, PATIENT), { limit: 2, instrument: btc });
    expect(fills.map((fill) => fill.tradeId)).toEqual([...new Set(fills.map((fill) => fill.tradeId))]);
    expect(fills.reduce((sum, fill) => sum + fill.qtyLots, 0)).toBe((6 * LOT) / 100);
    expect(fills).toHaveLength(sim.exchange.fills(WALLET.publicKey).length);
    const none = { instrument: btc, sinceMs: Date.now() + 60_000, untilMs: null, limit: 10, cursor: null };
    expect(unwrapRead(await history.readFills(session, none, PATIENT)).rows).toEqual([]);
    expect(unwrapRead(await history.readFunding(session, { ...none, sinceMs: null }, PATIENT))).toEqual({
      rows: [],
      nextCursor: null,
    });
    for (const cursor of ["", "fills~1111zz", "orders~"])
      expect(await history.readOrders(session, { ...none, cursor }, PATIENT)).toMatchObject({
        ok: false,
        code: "BAD_CURSOR",
      });
    expect(await history.readOrders(session, { ...none, cursor: "orders~nonsense" }, PATIENT)).toMatchObject({
      ok: false,
      code: "BAD_CURSOR",
    });
  });

  it("shows no order of another account, though the venue would", async () => {
    const { sim, room, session, btc, ticks } = await start();
    const keys = sim.addAccount({ accountId: "other", deposit: "100000" });
    const other = open(room, { apiKey: keys.apiKey, apiSecret: keys.apiSecret, walletAddress: keys.walletAddress });
    const order = orderOf(
      await room.orders.place(other, commandOf(btc, { priceTicks: ticks(1.02), qtyLots: LOT / 100 }), PATIENT),
    );
    const ref = { venueOrderId: order.venueOrderId };
    expect(unwrapRead(await room.reader.readOrder(session, btc, ref, PATIENT))).toBeNull();
    expect(unwrapRead(await room.reader.readOrder(other, btc, ref, PATIENT))).toMatchObject({ status: "FILLED" });
    const find = room.reader.findOrder?.bind(room.reader);
    expect(unwrapRead(await (find?.(other, ref, PATIENT) ?? Promise.reject(new Error("no search"))))).toMatchObject(
      ref,
    );
  });

  it("finds an order in the lists that the history by id does not know yet", async () => {
    const { sim, room, session, btc, ticks } = await start();
    sim.room.setQuirks({ historyLagMs: 60_000 });
    const command = commandOf(btc, { priceTicks: ticks(1.02), qtyLots: LOT / 100 });
    const order = orderOf(await room.orders.place(session, command, { timeoutMs: SHORT_MS, lane: "exit" }));
    // Accepted is all that is known of it; a search would cost a tenth of the minute's credits.
    expect(order).toMatchObject({ status: "OPEN", filledLots: 0 });
    for (const ref of [{ venueOrderId: order.venueOrderId }, { clientIdHex: command.clientIdHex }])
      expect(unwrapRead(await room.reader.readOrder(session, btc, ref, PATIENT))).toMatchObject({ status: "FILLED" });
  });
});

describe("account streams of venuefour against the local venue", () => {
  const isFill = (event: AccountEvent): boolean => event.kind === "fill";

  it("tell order, fill and position, serve held positions, and share nothing with other credentials", async () => {
    const { room, session, btc, ticks, place, sim } = await start();
    const watching = await watch(room, session);
    const stranger = open(room, {
      apiKey: WALLET.publicKey,
      apiSecret: WALLET.secret,
      walletAddress: WALLET.publicKey,
    });
    const order = orderOf(await place({ priceTicks: ticks(1.02) }));
    const fill = await watching.until("fill", isFill);
    expect(fill).toMatchObject({ kind: "fill", order: { venueOrderId: order.venueOrderId }, fee: { asset: "USDC" } });
    await watching.until("filled", (event) => event.kind === "order" && event.order.status === "FILLED");
    await expect.poll(() => watching.stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: LOT / 100 }] });
    // Its end, its fills and the position were streamed.
    await expect.poll(() => room.reader.heldPositions?.(session, btc) ?? null).toMatchObject({ source: "stream" });
    expect(room.reader.heldPositions?.(stranger, btc) ?? null).toBeNull();
    const filled = sim.exchange.fills(WALLET.publicKey).length;
    expect(watching.events.filter(isFill)).toHaveLength(filled);
    watching.stream.close();
    expect(watching.stream.state).toBe("DOWN");
  });

  it("tell after a loss what happened meanwhile: orders, fills once, positions", async () => {
    const { sim, room, session, ticks, place, positionLots } = await start();
    const watching = await watch(room, session);
    orderOf(await place({ priceTicks: ticks(1.02) }));
    await watching.until("first fill", isFill);
    const down = watching.until("loss", (event) => event.kind === "state" && event.state === "SYNCING");
    sim.faults.add({ kind: "refuseHandshake", count: 2 });
    await cut(sim);
    await down;
    expect(watching.stream.positions()).toMatchObject({ ok: false });
    const missed = orderOf(await place({ side: "SELL", priceTicks: ticks(0.98), reduceOnly: true }));
    await watching.until(
      "missed fill",
      (event) => event.kind === "fill" && event.order.venueOrderId === missed.venueOrderId,
    );
    await expect.poll(() => watching.stream.state).toBe("LIVE");
    expect(positionLots()).toBe(0);
    // Fills and positions come in frames of their own.
    await expect.poll(() => watching.stream.positions()).toMatchObject({ ok: true, value: [] });
    const ids = () => watching.events.flatMap((event) => (event.kind === "fill" ? [event.tradeId] : []));
    await expect.poll(ids).toHaveLength(sim.exchange.fills(WALLET.publicKey).length);
    expect(new Set(ids()).size).toBe(ids().length);
  });

  it("come to LIVE although the venue ignores a subscription first, and under duplicated and reordered frames", async () => {
    const { sim, room, session, ticks, place } = await start();
    sim.faults.add({ kind: "ignoreSubscribe", match: "account_trades", count: 1 });
    sim.faults.add({ kind: "duplicate", scope: ["user"], probability: 0.5 });
    sim.faults.add({ kind: "reorder", scope: ["user"], probability: 0.3 });
    const watching = await watch(room, session);
    for (let round = 0; round < 6; round++) {
      orderOf(await place({ priceTicks: ticks(1.02) }));
      orderOf(await place({ side: "SELL", priceTicks: ticks(0.98), reduceOnly: true }));
    }
    sim.faults.clear();
    orderOf(await place({ priceTicks: ticks(1.02) }));
    const count = (): number => watching.events.filter(isFill).length;
    await expect.poll(count).toBe(sim.exchange.fills(WALLET.publicKey).length);
    await expect.poll(() => watching.stream.positions()).toMatchObject({ value: [{ qtyLots: LOT / 100 }] });
  });

  it("are bounded in number", async () => {
    const { sim, room } = await start();
    const results: boolean[] = [];
    for (let index = 0; index < 33; index++) {
      const keys = sim.addAccount({ accountId: `account${index}`, deposit: "1" });
      const { apiKey, apiSecret, walletAddress } = keys;
      results.push(
        room.streams?.openAccountStream(open(room, { apiKey, apiSecret, walletAddress }), () => undefined).ok === true,
      );
    }
    expect(results.filter((isOpen) => !isOpen)).toHaveLength(1);
    expect(results.at(-1)).toBe(false);
  });
});
