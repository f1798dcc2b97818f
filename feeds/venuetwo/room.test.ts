/** The whole room over a real HTTP server on loopback, scripted sockets and a virtual clock. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import type { VenueRoom } from "../../engine/ports.js";
import { FakeNetwork } from "../shared/test/fake-connector.js";
import { untilHolds, untilSettled } from "../shared/test/http-time.js";
import { createMemoryReservations } from "../shared/test/memory-reservations.js";
import { createVenuetwoRoom, type VenuetwoRoomOptions } from "./room.js";

const EXCHANGE_INFO = readFileSync(new URL("./fixtures/exchange-info.json", import.meta.url), "utf8");

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let clock: VirtualClock;
let server: Server | null = null;
let room: VenueRoom | null = null;

beforeEach(() => {
  clock = new VirtualClock();
});
afterEach(async () => {
  await room?.stop();
  server?.closeAllConnections();
  server?.close();
  server = null;
  room = null;
});

async function serve(handler: Handler): Promise<string> {
  server = createServer(handler);
  // A connection that the pool keeps is never closed under it.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function create(restUrl: string, network: FakeNetwork, change: Partial<VenuetwoRoomOptions> = {}): VenueRoom {
  room = createVenuetwoRoom({
    restUrl,
    wsUrl: "ws://venue",
    isMainnet: true,
    symbols: "all",
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    connector: network.connector,
    ...change,
  });
  return room;
}

/** Public answers of a small venue; counts what was asked. */
function publicVenue(paths: string[]): Handler {
  return (request, response) => {
    const path = request.url ?? "";
    paths.push(path);
    const answers: Record<string, string> = {
      "/fapi/v1/exchangeInfo": EXCHANGE_INFO,
      "/fapi/v1/fundingInfo": JSON.stringify([{ symbol: "BTCUSDT", fundingIntervalHours: 8 }]),
      "/fapi/v1/time": JSON.stringify({ serverTime: clock.wallMs() + 5_000 }),
      "/fapi/v1/premiumIndex": JSON.stringify([
        {
          symbol: "BTCUSDT",
          markPrice: "100.1",
          indexPrice: "100.2",
          lastFundingRate: "0.0001",
          nextFundingTime: 9,
          time: 7,
        },
      ]),
      "/fapi/v1/ticker/24hr": JSON.stringify([
        {
          symbol: "BTCUSDT",
          priceChange: "1",
          priceChangePercent: "1.0",
          lastPrice: "100",
          openPrice: "99",
          highPrice: "101",
          lowPrice: "98",
          volume: "5",
          quoteVolume: "500",
          closeTime: 6,
        },
      ]),
    };
    const body = answers[path];
    response.writeHead(body === undefined ? 404 : 200, {
      "content-type": "application/json",
      "x-mbx-used-weight-1m": "60",
    });
    response.end(body ?? "{}");
  };
}

describe("createVenuetwoRoom", () => {
  it("knows every contract, and makes markets of the wanted ones alone", async () => {
    const network = new FakeNetwork();
    const started = create(await serve(publicVenue([])), network, { symbols: ["BTC"] });
    await started.start();
    expect([...started.markets.keys()]).toEqual(["BTC"]);
    expect([...(started.instruments?.keys() ?? [])].sort()).toEqual([
      "1INCH",
      "ASTER",
      "BTC",
      "ETH",
      "PEPE",
      "SAND",
      "SOL",
    ]);
    expect(started.instruments?.get("BTC")).toBe(started.markets.get("BTC")?.instrument);
  });

  it("loads instruments, connects for the trading ones, and fills tickers before any stream speaks", async () => {
    const paths: string[] = [];
    const network = new FakeNetwork();
    const started = create(await serve(publicVenue(paths)), network);
    await started.start();
    expect([...started.markets.keys()].sort()).toEqual(["1INCH", "ASTER", "BTC", "ETH", "PEPE", "SAND", "SOL"]);
    expect(started.markets.get("SAND")?.instrument.status).toBe("HALTED");
    network.last.open();
    expect(network.connections.length).toBe(1);
    await untilHolds(
      clock,
      () => started.markets.get("BTC")?.ticker.known === true && started.status().clockOffsetMs > 0,
    );
    expect(started.markets.get("BTC")?.ticker).toMatchObject({
      markPrice: "100.1",
      lastPrice: "100",
      prevDayPrice: "99",
      fundingIntervalHours: 8,
      nextFundingTime: 9,
      openInterest: "",
    });
    expect(Math.abs(started.status().clockOffsetMs - 5_000)).toBeLessThanOrEqual(1);
    expect(started.status()).toMatchObject({
      venue: "venuetwo",
      state: "SYNCING",
      breaker: "closed",
      socketCount: 1,
      gapCount: 0,
    });
    // The venue's own count of weight is taken over.
    expect(started.status().laneTokens.exit).toBeLessThanOrEqual(1_920 - 60);
  });

  it("takes only the symbols asked for", async () => {
    const started = create(await serve(publicVenue([])), new FakeNetwork(), { symbols: ["PEPE", "NOPE"] });
    await started.start();
    expect([...started.markets.keys()]).toEqual(["PEPE"]);
  });

  it("keeps trying to load the instruments, and fails after the time for it", async () => {
    let count = 0;
    const url = await serve((_request, response) => {
      count++;
      response.writeHead(500);
      response.end("<html>");
    });
    const failing = create(url, new FakeNetwork(), { startTimeoutMs: 3_000 });
    await expect(untilSettled(clock, failing.start())).rejects.toMatchObject({ code: "VENUE_UNAVAILABLE" });
    expect(count).toBeGreaterThan(1);
    expect(failing.status().state).toBe("DOWN");
  });

  it("comes up when the venue answers at a later try", async () => {
    const paths: string[] = [];
    const healthy = publicVenue(paths);
    let failures = 2;
    const url = await serve((request, response) => {
      if (failures-- > 0) {
        response.writeHead(503);
        response.end();
        return;
      }
      healthy(request, response);
    });
    const started = create(url, new FakeNetwork());
    await untilSettled(clock, started.start());
    expect(started.markets.size).toBe(7);
  });

  it("stops: no connection, no book, nothing more is asked", async () => {
    const paths: string[] = [];
    const network = new FakeNetwork();
    const started = create(await serve(publicVenue(paths)), network);
    await started.start();
    network.last.open();
    await started.stop();
    expect([network.last.isEnded, started.status().state]).toEqual([true, "DOWN"]);
    const before = paths.length;
    const stoppedMs = clock.wallMs();
    await untilHolds(clock, () => clock.wallMs() >= stoppedMs + 10_000);
    expect(paths.length).toBe(before);
  });

  it("adds nothing that was being read when it was stopped", async () => {
    const healthy = publicVenue([]);
    const stops: Promise<void>[] = [];
    const url = await serve((request, response) => {
      stops.push(started.stop());
      healthy(request, response);
    });
    const started = create(url, new FakeNetwork());
    await untilSettled(clock, started.start());
    await untilSettled(clock, Promise.all(stops));
    expect([started.markets.size, started.status()]).toMatchObject([0, { state: "DOWN", socketCount: 0 }]);
  });

  it("asks for the mark of one contract when that is wanted, in the lane it is wanted for", async () => {
    const paths: string[] = [];
    const shared = publicVenue(paths);
    let mark = "100.4";
    const url = await serve((request, response) => {
      if (request.url !== "/fapi/v1/premiumIndex?symbol=BTCUSDT") return shared(request, response);
      paths.push(request.url);
      response.writeHead(mark === "" ? 500 : 200, { "content-type": "application/json" });
      const row = { symbol: "BTCUSDT", markPrice: mark, indexPrice: "100.2", lastFundingRate: "0", nextFundingTime: 9 };
      response.end(JSON.stringify({ ...row, time: clock.wallMs() }));
    });
    const started = create(url, new FakeNetwork());
    await untilSettled(clock, started.start());
    const btc = started.markets.get("BTC");
    if (btc === undefined) throw new Error("BTC is not listed");
    const options = { timeoutMs: 500, lane: "exit" } as const;
    const ask = () => untilSettled(clock, started.refreshMark?.(btc.instrument, options) ?? Promise.resolve(null));
    expect(await ask()).toBe(true);
    expect(btc.ticker.markPrice).toBe("100.4");
    const before = started.status().laneTokens.exit;
    mark = "100.6";
    expect(await ask()).toBe(true);
    expect(btc.ticker.markPrice).toBe("100.6");
    expect(started.status().laneTokens.exit).toBeLessThan(before);
    mark = "";
    expect(await ask()).toBe(false);
    expect(btc.ticker.markPrice).toBe("100.6");
  });

  it("reads a ban's end from the text, and refuses calls until then", async () => {
    const untilMs = clock.wallMs() + 600_000;
    const url = await serve((_request, response) => {
      response.writeHead(418);
      response.end(
        JSON.stringify({ code: -1003, msg: `Way too much request weight used; IP banned until ${untilMs}.` }),
      );
    });
    const banned = create(url, new FakeNetwork(), { startTimeoutMs: 2_000 });
    await expect(untilSettled(clock, banned.start())).rejects.toMatchObject({ code: "VENUE_UNAVAILABLE" });
    expect(banned.status().breaker).toBe("open");
    expect(banned.status().breakerOpenUntilMs).toBeGreaterThanOrEqual(untilMs);
  });
});
