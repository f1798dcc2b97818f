/**
 * Whole rooms against their local venues over real sockets: what an account stream tells of stops, amendments,
 * liquidations and what happened while nobody listened, and the limits of such streams.
 */
import { afterEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, VenueRoom } from "../../../engine/ports.js";
import { failedRead } from "../../../feeds/shared/net/call-results.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import type { SimOrderRequest } from "../../sim/core/model/types.js";
import { startVenueoneSim } from "../../sim/venueone/sim.js";
import { ALICE, KEYS } from "../../sim/venueone/test/kit.js";
import { ACCOUNT, AGENT_KEY, agentWallet, mainWallet, startTestVenue } from "../../sim/venuetwo/test/support.js";
import { commandOf, open, opened, PATIENT, unwrapRead, watch, type Watching } from "../support/trading-half.js";

const MISSING = failedRead("VENUE_ERROR", "the room does not offer it");

interface Side {
  readonly room: VenueRoom;
  readonly exchange: SimExchange;
  /** Native name of BTC. */
  readonly coin: string;
  readonly accountId: string;
  readonly credentials: unknown;
  /** Cuts every connection. */
  cut(): Promise<void>;
  stop(): Promise<void>;
}

const common = () => ({
  clock: createSystemClock(),
  random: createSeededRandom(5),
  logger: silentLogger,
  nonces: createMemoryReservations(),
  isMainnet: true,
  symbols: ["BTC"],
});

async function cut(restUrl: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${restUrl}/_sim/disconnect`, { method: "POST", headers, body: "{}" });
  expect(answer.status).toBe(200);
}

async function venueone(limits: Readonly<Record<string, number>> = {}): Promise<Side> {
  const sim = await startVenueoneSim({
    seed: 7,
    symbols: ["BTC"],
    cadenceScale: 0.05,
    accounts: [{ address: ALICE, deposit: "20000" }],
    limits: { ipWeightPerMinute: 1_000_000 },
  });
  const room = createVenueoneRoom({
    ...common(),
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
    limits: { restWeightPerMinute: 1_000_000, ...limits },
  });
  await room.start();
  return {
    room,
    exchange: sim.exchange,
    coin: "BTC",
    accountId: ALICE,
    credentials: { privateKey: KEYS.alice },
    cut: () => cut(sim.restUrl),
    stop: async () => {
      await room.stop();
      await sim.stop();
    },
  };
}

async function venuetwo(): Promise<Side> {
  const sim = await startTestVenue({ symbols: ["BTCUSDT"], limits: { weightPerMinute: 1_000_000 } });
  const limits = { weightPerMinute: 1_000_000 };
  const room = createVenuetwoRoom({ ...common(), restUrl: sim.restUrl, wsUrl: sim.wsUrl, limits });
  await room.start();
  return {
    room,
    exchange: sim.exchange,
    coin: "BTCUSDT",
    accountId: ACCOUNT,
    credentials: { apiKey: agentWallet.address, apiSecret: AGENT_KEY, walletAddress: mainWallet.address },
    cut: () => cut(sim.restUrl),
    stop: async () => {
      await room.stop();
      await sim.stop();
    },
  };
}

const running: Side[] = [];

afterEach(async () => {
  for (const side of running.splice(0)) await side.stop();
});

async function on(
  start: () => Promise<Side>,
): Promise<Side & { readonly watching: Watching; readonly tick: (factor: number) => number }> {
  const side = await start();
  running.push(side);
  const watching = await watch(side.room, open(side.room, side.credentials));
  const instrument = side.room.markets.get("BTC")?.instrument;
  if (instrument === undefined) throw new Error("BTC is not listed");
  const tick = (factor: number): number =>
    Math.round((side.exchange.mark(side.coin).markE8 / 1e8) * factor) * 10 ** instrument.priceDecimals;
  return { ...side, watching, tick };
}

const isFill =
  (qtySign: "BUY" | "SELL") =>
  (event: AccountEvent): boolean =>
    event.kind === "fill" && event.order.side === qtySign;

describe.each([
  ["venueone", venueone],
  ["venuetwo", venuetwo],
] as const)("%s account stream", (name, start) => {
  it("tells of a stop that fires: its fill, its end, the flat position", async () => {
    const { credentials, exchange, room, tick, watching } = await on(start);
    const session = open(room, credentials);
    const instrument = room.markets.get("BTC")?.instrument;
    if (instrument === undefined) throw new Error("BTC is not listed");
    const qtyLots = name === "venueone" ? 1_000 : 10;
    const bought = await room.orders.place(
      session,
      commandOf(instrument, { qtyLots, priceTicks: tick(1.015) }),
      PATIENT,
    );
    expect(bought.outcome).toBe("accepted");
    await watching.until("fill of the buy", isFill("BUY"));
    const trigger = { kind: "STOP", priceTicks: tick(0.995), source: "MARK" } as const;
    const stop = await room.orders.place(
      session,
      commandOf(instrument, { side: "SELL", trigger, priceTicks: tick(0.98), qtyLots, reduceOnly: true }),
      PATIENT,
    );
    if (stop.outcome !== "accepted") throw new Error(JSON.stringify(stop));
    const id = stop.order.venueOrderId;
    const waiting = await watching.until(
      "order that waits",
      (event) => event.kind === "order" && event.order.venueOrderId === id,
    );
    expect(waiting).toMatchObject({ order: { type: "STOP_MARKET", triggerKind: "STOP", reduceOnly: true } });
    exchange.setPriceSkew(-150, 0);
    const fill = await watching.until("fill of the stop", isFill("SELL"));
    expect(fill).toMatchObject({ kind: "fill", qtyLots, order: { venueOrderId: id, side: "SELL" } });
    expect(fill.kind === "fill" && Number(fill.fee?.amount)).toBeGreaterThan(0);
    await watching.until(
      "end of the stop",
      (event) => event.kind === "order" && event.order.venueOrderId === id && event.order.status === "FILLED",
    );
    await untilPositions(watching, "flat position", (held) => held.length === 0);
  });

  it("tells how an order ended that filled at once and never rested", async () => {
    const { credentials, room, tick, watching } = await on(start);
    const instrument = room.markets.get("BTC")?.instrument;
    if (instrument === undefined) throw new Error("BTC is not listed");
    const qtyLots = name === "venueone" ? 1_000 : 10;
    const placed = await room.orders.place(
      open(room, credentials),
      commandOf(instrument, { qtyLots, priceTicks: tick(1.015) }),
      PATIENT,
    );
    if (placed.outcome !== "accepted") throw new Error(JSON.stringify(placed));
    const id = placed.order.venueOrderId;
    await watching.until(
      "its end",
      (event) =>
        event.kind === "order" &&
        event.order.venueOrderId === id &&
        event.order.status === "FILLED" &&
        event.order.filledLots === qtyLots,
    );
  });

  it("after a lost connection: reconciled over REST before it is LIVE, with what happened meanwhile", async () => {
    const { accountId, coin, credentials, cut: cutAll, exchange, room, tick, watching } = await on(start);
    const instrument = room.markets.get("BTC")?.instrument;
    if (instrument === undefined) throw new Error("BTC is not listed");
    const qtyLots = name === "venueone" ? 1_000 : 10;
    const resting = commandOf(instrument, { type: "LIMIT", timeInForce: "GTC", priceTicks: tick(0.985), qtyLots });
    const placed = await room.orders.place(open(room, credentials), resting, PATIENT);
    if (placed.outcome !== "accepted") throw new Error(JSON.stringify(placed));
    const id = placed.order.venueOrderId;
    await watching.until("order", (event) => event.kind === "order" && event.order.venueOrderId === id);
    await cutAll();
    // While nobody listens: the order is cancelled, and a position appears.
    exchange.cancel(accountId, Number(id), "USER");
    const request: SimOrderRequest = {
      symbol: coin,
      side: "BUY",
      type: "LIMIT",
      timeInForce: "IOC",
      priceTicks: (exchange.bestAsk(coin)?.priceTicks ?? 0) * 2,
      qtyLots,
      reduceOnly: false,
      positionSide: "BOTH",
      clientId: null,
      trigger: null,
      closePosition: false,
    };
    expect(exchange.place(accountId, request).ok).toBe(true);
    await watching.until(
      "the cancel that was missed",
      (event) => event.kind === "order" && event.order.venueOrderId === id && event.order.status === "CANCELED",
    );
    const lost = watching.events.findIndex((event) => event.kind === "state" && event.state !== "LIVE");
    expect(lost).toBeGreaterThanOrEqual(0);
    await waitForLive(watching);
    await untilPositions(watching, "the position that was missed", (held) => held.length > 0);
    expect(unwrapRead(watching.stream.positions())).toMatchObject([{ direction: "LONG", qtyLots }]);
  });

  it("offers reads, history, settings and changes through the room, and tells of a change of all", async () => {
    const { credentials, room, tick, watching } = await on(start);
    const instrument = room.markets.get("BTC")?.instrument;
    const { history, orders, reader, settings } = room;
    if (instrument === undefined || history === undefined || settings === undefined)
      throw new Error("a port is missing");
    const session = open(room, credentials);
    const qtyLots = name === "venueone" ? 1_000 : 10;
    expect(await settings.setLeverage(session, instrument, 9, PATIENT)).toMatchObject({ outcome: "accepted" });
    expect(unwrapRead(await settings.read(session, instrument, PATIENT)).leverage).toBe(9);
    const resting = commandOf(instrument, { type: "LIMIT", timeInForce: "GTC", priceTicks: tick(0.985), qtyLots });
    const placed = await orders.place(session, resting, PATIENT);
    if (placed.outcome !== "accepted") throw new Error(JSON.stringify(placed));
    const id = placed.order.venueOrderId;
    expect(unwrapRead((await reader.findOrder?.(session, { venueOrderId: id }, PATIENT)) ?? MISSING)).toMatchObject({
      status: "OPEN",
    });
    expect(Number(unwrapRead((await reader.readAccount?.(session, PATIENT)) ?? MISSING).equity)).toBeGreaterThan(0);
    const query = { instrument, sinceMs: null, untilMs: null, limit: 10, cursor: null };
    expect(unwrapRead(await history.readOrders(session, query, PATIENT)).rows).toMatchObject([{ venueOrderId: id }]);
    expect(unwrapRead(await history.readFills(session, query, PATIENT)).rows).toEqual([]);
    expect(unwrapRead(await history.readFunding(session, query, PATIENT)).rows).toEqual([]);
    const current = placed.order;
    const change = { priceTicks: tick(0.984), qtyLots: qtyLots * 2 };
    const amended = await orders.amend?.(session, instrument, current, change, PATIENT);
    if (amended?.outcome !== "accepted" || amended.order === null) throw new Error(JSON.stringify(amended));
    const amendedId = amended.order.venueOrderId;
    await watching.until(
      "the order as amended",
      (event) =>
        event.kind === "order" &&
        event.order.venueOrderId === amendedId &&
        event.order.qtyLots === change.qtyLots &&
        event.order.priceTicks === change.priceTicks,
    );
    expect(await orders.cancelAll?.(session, instrument, PATIENT)).toMatchObject({ outcome: "accepted", failed: [] });
    await watching.until(
      "its cancel",
      (event) => event.kind === "order" && event.order.venueOrderId === amendedId && event.order.status === "CANCELED",
    );
  });

  it("tells of a liquidation: its fills, and the position gone", async () => {
    const { accountId, coin, exchange, watching } = await on(start);
    const { qtyDecimals, priceDecimals } = exchange.instruments.get(coin) ?? { qtyDecimals: 0, priceDecimals: 0 };
    const markTicks = Math.round((exchange.mark(coin).markE8 / 1e8) * 10 ** priceDecimals);
    const equity = Number(exchange.margin(accountId).equityE12) / 1e12;
    const coins = (equity * 30) / (exchange.mark(coin).markE8 / 1e8);
    expect(exchange.setLeverage(accountId, coin, 40).ok).toBe(true);
    exchange.setPosition(accountId, coin, "BOTH", Math.floor(coins * 10 ** qtyDecimals), markTicks);
    exchange.setPriceSkew(-450, 0);
    const fill = await watching.until("fill of the liquidation", isFill("SELL"));
    expect(fill).toMatchObject({ kind: "fill", order: { side: "SELL" } });
    await untilPositions(watching, "flat position", (held) => held.length === 0);
  });
});

/** Orders and positions come in frames of their own, in either order. */
async function untilPositions(
  watching: Watching,
  what: string,
  holds: (held: readonly VenuePosition[]) => boolean,
): Promise<void> {
  await watching.until(what, () => {
    const read = watching.stream.positions();
    return read.ok && holds(read.value);
  });
}

async function waitForLive(watching: Watching): Promise<void> {
  if (watching.stream.state === "LIVE") return;
  await watching.until("LIVE again", () => watching.stream.state === "LIVE");
}

describe("venueone user slots", () => {
  it("refuses the eleventh user of an egress IP by name, and takes it when one is given back", async () => {
    const side = await venueone();
    running.push(side);
    const { room } = side;
    const address = (index: number): string => `0x${index.toString(16).padStart(40, "0")}`;
    const sessionOf = (index: number) => opened(room.openAddress?.(address(index)) ?? { ok: false, problem: "none" });
    const streams: Watching[] = [];
    for (let index = 1; index <= 10; index++) streams.push(await watch(room, sessionOf(index)));
    expect(room.streams?.openAccountStream(sessionOf(11), () => undefined)).toEqual({
      ok: false,
      problem: "STREAM_LIMIT: all 10 account streams of this venue are in use",
    });
    // The same account again needs no slot.
    await watch(room, sessionOf(10));
    streams[0]?.stream.close();
    await watch(room, sessionOf(11));
  });
});
