/** The whole room over a real HTTP server on loopback, scripted sockets and a virtual clock. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { isTradingRoom, type MarketRoom } from "../../engine/ports.js";
import { FakeNetwork } from "../shared/test/fake-connector.js";
import { untilSettled } from "../shared/test/http-time.js";
import { createVenuethreeRoom, type VenuethreeRoomOptions } from "./room.js";

const DETAILS = readFileSync(new URL("./fixtures/order-book-details.json", import.meta.url), "utf8");
const TAPE = readFileSync(new URL("./fixtures/tape.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n");

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let clock: VirtualClock;
let server: Server | null = null;
let room: MarketRoom | null = null;

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
  server = createServer((request, response) => {
    // The venue's clock is ours.
    response.setHeader("date", new Date(clock.wallMs()).toUTCString());
    handler(request, response);
  });
  // A connection that the pool keeps is never closed under it.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function answer(body: string, paths: string[] = []): Handler {
  return (request, response) => {
    paths.push(request.url ?? "");
    response.writeHead(200, { "content-type": "application/json" });
    response.end(body);
  };
}

function create(restUrl: string, network: FakeNetwork, change: Partial<VenuethreeRoomOptions> = {}): MarketRoom {
  room = createVenuethreeRoom({
    restUrl,
    wsUrl: "ws://venue/stream",
    symbols: "all",
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    connector: network.connector,
    ...change,
  });
  return room;
}

function withRows(change: (rows: Record<string, unknown>[]) => void): string {
  const body = JSON.parse(DETAILS) as { order_book_details: Record<string, unknown>[] };
  change(body.order_book_details);
  return JSON.stringify(body);
}

describe("createVenuethreeRoom", () => {
  it("holds back what takes for as long as its tier says", () => {
    const network = new FakeNetwork();
    expect(create("http://venue", network).takerDelayMs).toBe(300);
    expect(create("http://venue", network, { tier: "premium100k" }).takerDelayMs).toBe(160);
  });

  it("loads the perpetuals, fills tickers from the list, connects, and takes books", async () => {
    const paths: string[] = [];
    const network = new FakeNetwork();
    const body = withRows((rows) => {
      const crv = { ...rows[1], symbol: "CRV", market_id: 36, price_decimals: 5, size_decimals: 1 };
      rows.push({ ...crv, supported_price_decimals: 5, supported_size_decimals: 1 });
    });
    const started = create(await serve(answer(body, paths)), network);
    await started.start();
    expect(paths).toEqual(["/api/v1/orderBookDetails?filter=perp"]);
    expect([...started.markets.keys()].sort()).toEqual(["BTC", "CRV", "ETH"]);
    expect(started.markets.get("ETH")?.ticker).toMatchObject({
      markPrice: "2723.27",
      indexPrice: "2723.91",
      lastPrice: "2728.9",
      prevDayPrice: "2632.55",
      high24h: "2800.5",
      low24h: "2700.1",
      change24h: "3.66",
      volume24h: "93566.25",
      fundingIntervalHours: 1,
      openInterest: "",
    });
    expect(started.status()).toMatchObject({ venue: "venuethree", state: "DOWN", breaker: "closed", gapCount: 0 });
    network.last.open();
    expect(started.status().state).toBe("SYNCING");
    // As if sent now: frames of long ago prove nothing of the present.
    for (const line of TAPE) network.last.receive(line.replace(/"timestamp":\d{13}/, `"timestamp":${clock.wallMs()}`));
    expect(started.markets.get("CRV")?.book.bidCount).toBeGreaterThan(30);
    expect(started.markets.get("BTC")?.touch.bidTicks).toBe(637_772);
    expect(started.status()).toMatchObject({
      state: "LIVE",
      socketCount: 1,
      decodeErrorCount: 0,
      protocolDriftCount: 0,
    });
    expect(started.routingHealth?.breaker).toBe("closed");
    // Standard: 60 requests a minute, of which 80 % are used, and one is spent.
    expect(started.status().laneTokens.exit).toBe(47);
    expect(isTradingRoom(started)).toBe(true);
  });

  it("opens the connection for transactions with the first session of a key, once, and closes it at the end", async () => {
    const network = new FakeNetwork();
    const started = create(await serve(answer(DETAILS)), network, { symbols: [] });
    await started.start();
    if (!isTradingRoom(started)) throw new Error("does not trade");
    expect(network.connections).toHaveLength(0);
    expect(started.openSession({ apiKeyPrivateKey: "no key", accountIndex: 5 }, null).ok).toBe(false);
    expect(network.connections).toHaveLength(0);
    const before = started.status().socketCount;
    for (let count = 0; count < 2; count++)
      expect(started.openSession({ apiKeyPrivateKey: "1f".repeat(40), accountIndex: 5 }, null).ok).toBe(true);
    expect(network.connections).toHaveLength(1);
    network.last.open();
    expect(started.status().socketCount).toBe(before + 1);
    await started.stop();
    expect(network.last.isEnded).toBe(true);
  });

  it("takes fees and the count of reads from the tier", async () => {
    const started = create(await serve(answer(DETAILS)), new FakeNetwork(), { tier: "premium" });
    await started.start();
    expect(started.markets.get("BTC")?.instrument).toMatchObject({ takerFeeMilliBps: 2_800, makerFeeMilliBps: 400 });
    expect(started.status().laneTokens.exit).toBe(24_000 * 0.8 - 300);
  });

  it("takes only the symbols asked for, and subscribes to no halted market", async () => {
    const network = new FakeNetwork();
    const body = withRows((rows) => {
      for (const row of rows) if (row["symbol"] === "ETH") row["status"] = "inactive";
    });
    const started = create(await serve(answer(body)), network, { symbols: ["ETH", "NOPE"] });
    await started.start();
    expect([...started.markets.keys()]).toEqual(["ETH"]);
    expect(started.markets.get("ETH")?.instrument.status).toBe("HALTED");
    expect(network.connections).toHaveLength(0);
  });

  it("keeps trying to load the list, and fails after the time for it", async () => {
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
    let failures = 2;
    const healthy = answer(DETAILS);
    const url = await serve((request, response) => {
      if (failures-- > 0) response.writeHead(503).end();
      else healthy(request, response);
    });
    const started = create(url, new FakeNetwork());
    await untilSettled(clock, started.start());
    expect(started.markets.size).toBe(2);
  });

  it("asks nothing more while the venue says that there were too many requests, in a body of code 23000", async () => {
    let count = 0;
    const url = await serve((_request, response) => {
      count++;
      response.writeHead(400);
      response.end('{"code":23000,"message":"Too Many Requests!"}');
    });
    const limited = create(url, new FakeNetwork(), { startTimeoutMs: 900 });
    await expect(untilSettled(clock, limited.start())).rejects.toMatchObject({ code: "VENUE_UNAVAILABLE" });
    expect(limited.status().breaker).toBe("open");
    expect(count).toBe(1);
  });

  it("stops: no connection, no book", async () => {
    const network = new FakeNetwork();
    const started = create(await serve(answer(DETAILS)), network);
    await started.start();
    network.last.open();
    await started.stop();
    expect([network.last.isEnded, started.status().state]).toEqual([true, "DOWN"]);
  });
});
