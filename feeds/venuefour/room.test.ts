/** The whole room over a real HTTP server on loopback, scripted sockets and a virtual clock. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import { isTradingRoom } from "../../engine/ports.js";
import { FakeNetwork } from "../shared/test/fake-connector.js";
import { untilHolds, untilSettled } from "../shared/test/http-time.js";
import { createVenuefourRoom, type VenuefourRoomOptions } from "./room.js";
import { CREDENTIALS } from "./test/trading-harness.js";
import { bookText, echoAll, marketRow, priceRow, subscriptionsOf } from "./test/market-harness.js";

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startVenue(clock: VirtualClock) {
  const venue = {
    rows: [
      marketRow("BTC"),
      marketRow("ETH"),
      marketRow("kPEPE"),
      { ...marketRow("WIF/USDC"), instrument_type: "spot" },
    ] as object[],
    volumes: { BTC: "10", ETH: "2000", kPEPE: "900" } as Record<string, string>,
    headers: { ratelimit: '"credits";r=970;t=23' } as Record<string, string>,
    answer: null as { status: number; body: string } | null,
    calls: [] as string[],
  };
  const dataOf = (path: string): unknown => {
    if (path === "/api/v1/info") return venue.rows;
    if (path === "/api/v1/info/prices")
      return Object.entries(venue.volumes).map(([symbol, volume_24h]) => ({
        ...priceRow(symbol, clock.wallMs()),
        volume_24h,
      }));
    if (path.startsWith("/api/v1/trades"))
      return [
        { price: "7", created_at: clock.wallMs() - 20 },
        { price: "8", created_at: clock.wallMs() - 10 },
      ];
    return null;
  };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    venue.calls.push(`${request.method} ${path}`);
    response.setHeader("date", new Date(clock.wallMs()).toUTCString());
    for (const [name, value] of Object.entries(venue.headers)) response.setHeader(name, value);
    if (venue.answer !== null) {
      response.writeHead(venue.answer.status);
      response.end(venue.answer.body);
      return;
    }
    response.end(JSON.stringify({ success: true, data: dataOf(path), error: null, code: null }));
  });
  // A connection that the pool keeps is never closed under it.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { venue, restUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function setup(overrides: Partial<VenuefourRoomOptions> = {}) {
  const clock = new VirtualClock();
  const { venue, restUrl } = await startVenue(clock);
  const network = new FakeNetwork();
  const room = createVenuefourRoom({
    restUrl: `${restUrl}/api/v1`,
    wsUrl: "ws://venue/ws",
    symbols: "all",
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    connector: network.connector,
    ...overrides,
  });
  closers.push(() => room.stop());
  const open = (): void => {
    for (const connection of network.connections) if (!connection.isEnded) connection.open();
    clock.advance(200);
    for (const connection of network.connections) echoAll(connection);
  };
  return { venue, restUrl, clock, network, room, open };
}

describe("start", () => {
  it("knows the perpetuals when it resolves, streams them by volume, and is LIVE with the first books", async () => {
    const { room, network, clock, open } = await setup();
    await room.start();
    expect([...room.markets.keys()]).toEqual(["BTC", "ETH", "PEPE"]);
    expect(room.markets.get("PEPE")?.instrument).toMatchObject({ nativeSymbol: "kPEPE", multiplierExp10: 3 });
    expect(room.markets.get("BTC")?.ticker).toMatchObject({
      markPrice: "100",
      indexPrice: "99",
      fundingIntervalHours: 1,
    });
    expect(room.status()).toMatchObject({ venue: "venuefour", state: "DOWN", breaker: "closed", gapCount: 0 });
    expect(isTradingRoom(room)).toBe(true);
    open();
    const [first] = network.connections;
    if (first === undefined) throw new Error("no connection");
    expect(subscriptionsOf(first)[0]).toEqual({ source: "book", symbol: "ETH", agg_level: 1 });
    expect(room.status().state).toBe("SYNCING");
    for (const symbol of ["BTC", "ETH"]) first.receive(bookText(symbol, clock.wallMs()));
    expect(room.markets.get("ETH")?.book.state).toBe(BOOK_LIVE);
    expect(room.status()).toMatchObject({ state: "LIVE", socketCount: 2, decodeErrorCount: 0, protocolDriftCount: 0 });
    clock.advance(1_600);
    expect(room.status().state).toBe("STALE");
  });

  it("reads last prices of the most traded markets, as trades are not replayed", async () => {
    const { room, clock, venue } = await setup();
    await room.start();
    await untilHolds(clock, () => room.markets.get("BTC")?.ticker.lastPrice === "8");
    expect(venue.calls.slice(2)).toEqual(
      ["ETH", "kPEPE", "BTC"].map((symbol) => `GET /api/v1/trades?symbol=${symbol}`),
    );
  });

  it("takes a bare host as the venue's own root", async () => {
    const first = await setup();
    const room = createVenuefourRoom({
      restUrl: first.restUrl,
      wsUrl: "ws://venue/ws",
      symbols: [],
      clock: first.clock,
      random: createSeededRandom(1),
      logger: silentLogger,
      connector: first.network.connector,
    });
    closers.push(() => room.stop());
    await room.start();
    expect(room.takerDelayMs).toBe(200);
    expect(first.venue.calls).toContain("GET /api/v1/info");
  });

  it("estimates the venue's clock, and takes the credits left from the venue's own count", async () => {
    const { room, venue } = await setup();
    venue.headers = { ratelimit: '"credits";r=300;t=23' };
    await room.start();
    expect(Math.abs(room.status().clockOffsetMs)).toBeLessThanOrEqual(500);
    expect(room.routingHealth?.exitTokens).toBeLessThanOrEqual(30);
    expect(room.status().laneTokens.background).toBe(0);
  });

  it("keeps a quarter of a config key's credits for exits, however much its reads spend", async () => {
    const { room } = await setup();
    await room.start();
    if (!isTradingRoom(room)) throw new Error("does not trade");
    const opened = room.openSession({ ...CREDENTIALS, apiKey: "AbCdEfGh_config" }, null);
    if (!opened.ok) throw new Error(opened.problem);
    // A stranger would wait for its part of the lane.
    const instrument = room.markets.get("BTC")?.instrument;
    if (instrument === undefined) throw new Error("not listed");
    const options = { timeoutMs: 4_000, lane: "exit" } as const;
    expect(await room.orders.cancel(opened.session, instrument, { venueOrderId: "1" }, options)).toMatchObject({
      outcome: "accepted",
    });
    const read = (lane: "read" | "exit") =>
      room.reader.readOpenOrders(opened.session, null, { timeoutMs: 4_000, lane });
    const isLimited = async (lane: "read" | "exit"): Promise<boolean> => {
      const answer = await read(lane);
      return !answer.ok && answer.code === "RATE_LIMITED";
    };
    let readCount = 0;
    while (!(await isLimited("read"))) readCount++;
    expect(readCount).toBe(180);
    expect(room.orderWaitMs?.(opened.session, "trade")).toBeGreaterThan(0);
    expect(room.orderWaitMs?.(opened.session, "exit")).toBe(0);
    expect(await isLimited("exit")).toBe(false);
  });

  it("streams only the symbols asked for, by our name or the venue's in any case", async () => {
    const { room, network, clock, open } = await setup({ symbols: ["PEPE", "btc", "kpepe", "NOSUCH"] });
    await room.start();
    open();
    clock.advance(1_000);
    const [first] = network.connections;
    if (first === undefined) throw new Error("no connection");
    expect([...new Set(subscriptionsOf(first).map(({ symbol }) => symbol))]).toEqual(["kPEPE", "BTC"]);
    expect(room.markets.size).toBe(3);
  });

  it("stays within the connections allowed", async () => {
    const { room, network } = await setup({ limits: { maxConnections: 3 } });
    await room.start();
    expect(network.connections).toHaveLength(2);
  });

  it("tries again while the venue fails, and rejects only after its time", async () => {
    const first = await setup();
    first.venue.answer = { status: 502, body: "bad gateway" };
    const starting = first.room.start();
    await untilHolds(first.clock, () => first.venue.calls.length >= 4);
    first.venue.answer = null;
    await untilSettled(first.clock, starting);

    const second = await setup({ startTimeoutMs: 2_000 });
    second.venue.answer = { status: 403, body: "Restricted region" };
    await expect(untilSettled(second.clock, second.room.start())).rejects.toMatchObject({
      code: "VENUE_UNAVAILABLE",
    });
  });

  it("waits as long as the venue says when the credits are spent", async () => {
    const { room, clock, venue } = await setup();
    venue.headers = { ratelimit: '"credits";r=0;t=5' };
    venue.answer = { status: 429, body: "" };
    const starting = room.start();
    await untilHolds(clock, () => room.status().breaker === "open");
    const calls = venue.calls.length;
    const openedMs = clock.wallMs();
    venue.answer = null;
    venue.headers = {};
    await untilHolds(clock, () => clock.wallMs() >= openedMs + 4_000);
    expect(venue.calls).toHaveLength(calls);
    await untilSettled(clock, starting);
    expect(room.markets.size).toBe(3);
  });
});

describe("instrument refresh", () => {
  it("adds new listings, halts delisted ones and drops their books, and replaces re-scaled ones", async () => {
    const { room, network, clock, venue, open } = await setup();
    await room.start();
    const before = room.markets;
    open();
    const [first] = network.connections;
    for (const symbol of ["BTC", "ETH", "kPEPE"]) first?.receive(bookText(symbol, clock.wallMs()));
    const oldPepe = room.markets.get("PEPE");
    venue.rows = [marketRow("BTC"), { ...marketRow("kPEPE"), tick_size: "0.001" }, marketRow("NEW")];
    clock.advance(60_000);
    await untilHolds(clock, () => room.markets.has("NEW"));
    expect(room.markets).toBe(before);
    expect(room.markets.get("ETH")?.instrument.status).toBe("HALTED");
    expect(room.markets.get("ETH")?.book.state).not.toBe(BOOK_LIVE);
    expect(room.markets.get("PEPE")?.instrument.priceDecimals).toBe(3);
    expect(oldPepe?.book.state).not.toBe(BOOK_LIVE);
    expect(room.status().protocolDriftCount).toBe(1);
  });

  it("takes nothing for delisted while a row of the list can not be read, and brings a returned market back", async () => {
    const { room, clock, venue } = await setup();
    await room.start();
    venue.rows = [marketRow("BTC"), { symbol: "ETH" }, marketRow("NEW")];
    clock.advance(60_000);
    await untilHolds(clock, () => room.markets.has("NEW"));
    expect(room.markets.get("PEPE")?.instrument.status).toBe("TRADING");
    expect(room.status().decodeErrorCount).toBe(1);
    venue.rows = [marketRow("BTC"), marketRow("ETH")];
    clock.advance(60_000);
    await untilHolds(clock, () => room.markets.get("PEPE")?.instrument.status === "HALTED");
    venue.rows = [marketRow("BTC"), marketRow("ETH"), marketRow("kPEPE")];
    clock.advance(60_000);
    await untilHolds(clock, () => room.markets.get("PEPE")?.instrument.status === "TRADING");
    expect(room.status().protocolDriftCount).toBe(0);
  });
});

describe("a listing that changes", () => {
  it("is known within a minute, and another minimum does not change the books", async () => {
    const { room, network, clock, venue, open } = await setup();
    await room.start();
    open();
    network.connections[0]?.receive(bookText("BTC", clock.wallMs()));
    const btc = room.markets.get("BTC");
    expect(btc?.book.state).toBe(BOOK_LIVE);
    venue.rows = [{ ...marketRow("BTC"), min_order_size: "25", max_leverage: 3 }, marketRow("kPEPE")];
    const changedMs = clock.wallMs();
    await untilHolds(clock, () => room.markets.get("ETH")?.instrument.status === "HALTED");
    expect(clock.wallMs() - changedMs).toBeLessThanOrEqual(61_000);
    expect(btc?.instrument).toMatchObject({ minNotional: "25", maxLeverage: 3 });
    expect(room.markets.get("BTC")).toBe(btc);
    // Its streams were not given back: the next frame finds the same book.
    network.connections.find(({ isEnded }) => !isEnded)?.receive(bookText("BTC", clock.wallMs()));
    expect(btc?.book.state).toBe(BOOK_LIVE);
  });

  it("keeps a symbol with its contract while that is listed, wherever another of its name is", async () => {
    const { room, clock, venue } = await setup();
    await room.start();
    expect(room.markets.get("PEPE")?.instrument.nativeSymbol).toBe("kPEPE");
    venue.rows = [marketRow("PEPE"), marketRow("BTC"), marketRow("ETH"), marketRow("kPEPE"), marketRow("NEW")];
    await untilHolds(clock, () => room.markets.has("NEW"));
    expect(room.markets.get("PEPE")?.instrument.nativeSymbol).toBe("kPEPE");
  });

  it("keeps a symbol with its contract where a row that could not be read may be that one", async () => {
    const { room, clock, venue } = await setup();
    await room.start();
    venue.rows = [marketRow("PEPE"), marketRow("BTC"), { ...marketRow("kPEPE"), tick_size: {} }, marketRow("NEW")];
    await untilHolds(clock, () => room.markets.has("NEW"));
    // Nothing is taken for delisted, so positions in it must still be readable.
    expect(room.markets.get("ETH")?.instrument.status).toBe("TRADING");
    expect(room.markets.get("PEPE")?.instrument.nativeSymbol).toBe("kPEPE");
  });
});

describe("stop", () => {
  it("ends sockets and timers, and takes every book out of LIVE", async () => {
    const { room, network, clock, open } = await setup();
    await room.start();
    open();
    network.connections[0]?.receive(bookText("BTC", clock.wallMs()));
    await room.stop();
    await clock.advanceAsync(10_000);
    expect(room.markets.get("BTC")?.book.state).not.toBe(BOOK_LIVE);
    expect(network.connections.every(({ isEnded }) => isEnded)).toBe(true);
    expect(clock.pendingTimerCount).toBe(0);
    expect(room.status().state).toBe("DOWN");
  });
});
