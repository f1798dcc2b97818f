/** The whole service put together and taken apart, with fake rooms and a real store. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server as NetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { type Config, readConfig } from "../app/config.js";
import { StartError } from "../children/start-error.js";
import { StreamClient } from "../stream/test/stream-client.js";
import { createService, type Service, type ServiceOverrides } from "../app/wiring.js";
import { TestClient } from "./client.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { PROVEN_AHEAD_NS } from "./harness.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import {
  aChainPosition,
  FakeClientSignedRoom,
  PAIR_SYMBOLS,
} from "../../engine/portfolio/test/fake-client-signed-room.js";

const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const CLOSE = { symbol: "BTC", direction: "LONG", size: "0.25", credentials: CREDENTIALS };

let directory: string;
const services: Service[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-wiring-"));
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

function config(overrides: Readonly<Record<string, string>> = {}): Config {
  const result = readConfig(
    { PORT: "0", DATA_DIR: join(directory, "data"), LOG_LEVEL: "silent", CLOSE_DEADLINE_MS: "30000", ...overrides },
    () => null,
  );
  if (!result.ok) throw new Error(result.problems.join("; "));
  return result.config;
}

function rooms(): { readonly all: FakeRoom[]; readonly one: FakeRoom; readonly two: FakeRoom } {
  const clock = createSystemClock();
  const [one, two] = (["venueone", "venuetwo"] as const).map((venue) => {
    const market = fakeMarket(anInstrument({ venue }));
    loadBook(market.book, [[974_100, 5000]], [[974_200, 5000]], clock.monoNs());
    const room = createFakeRoom(venue, [market], () => clock.wallMs());
    room.held.set("BTC", 1000);
    return room;
  }) as [FakeRoom, FakeRoom];
  return { all: [one, two], one, two };
}

async function start(
  all: readonly FakeRoom[],
  overrides: Readonly<Record<string, string>> = {},
  others: Pick<ServiceOverrides, "clientSigned"> = {},
): Promise<Service> {
  const service = await createService(config(overrides), { rooms: all, ...others });
  services.push(service);
  // The start, or any pause, may take longer than a book stays fresh.
  const provenNs = createSystemClock().monoNs() + PROVEN_AHEAD_NS;
  for (const room of all) for (const market of room.markets.values()) market.book.prove(provenNs);
  return service;
}

/** In steps of the event loop: whatever it waits for comes without its doing. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe("createService", () => {
  it("listens, closes a position, stops, and knows the close after a restart", async () => {
    const { all, one } = rooms();
    const first = await start(all);
    const client = new TestClient(first.url);
    const closed = await client.close(CLOSE, { "idempotency-key": "over-restart" });
    expect(closed.status, closed.text).toBe(200);
    const routeId = (closed.body as { data: { routing: { routeId: string } } }).data.routing.routeId;
    await client.stop();
    await first.stop();

    const again = rooms();
    const second = await start(again.all);
    const client2 = new TestClient(second.url);
    const replay = await client2.close(CLOSE, { "idempotency-key": "over-restart" });
    expect([replay.status, replay.headers["idempotent-replayed"]]).toEqual([200, "true"]);
    expect((await client2.get(`/api/trade/executions/${routeId}`)).status).toBe(200);
    expect([one.placed.length, again.one.placed.length + again.two.placed.length]).toEqual([1, 0]);
    await client2.stop();
  });

  it("says where a fee is from: the configuration where it names one", async () => {
    const { all, one } = rooms();
    const fees = { VENUEONE_TAKER_FEE_BPS: "4.5", VENUEONE_MAKER_FEE_BPS: "1.5" };
    const service = await start(all, fees);
    const client = new TestClient(service.url);
    const sources = async (): Promise<unknown[]> => {
      const { body } = await client.get("/api/trade/routing/BTC?side=SELL&size=0.25");
      const { candidates } = (body as { data: { routing: { candidates: { feeSource: string }[] } } }).data.routing;
      return candidates.slice(0, 2).map(({ feeSource }) => feeSource);
    };
    expect(await sources()).toEqual(["config", "venueDefault"]);
    expect(one.placed).toEqual([]);
    await client.stop();
  });

  it("goes on without a venue that does not start, and says so at /ready and in the ticker", async () => {
    const { all, two } = rooms();
    const broken: FakeRoom = {
      ...two,
      start: () => Promise.reject(new ServiceError("VENUE_UNAVAILABLE", { exchange: "venuetwo" })),
      markets: new Map(),
      status: () => ({ ...two.status(), state: "DOWN" }),
    };
    const service = await start([all[0] as FakeRoom, broken]);
    const client = new TestClient(service.url);
    expect((await client.get("/ready")).body).toMatchObject({ error: "Not ready: venuetwo" });
    expect((await client.get("/api/trading/venueone/book/BTC")).status).toBe(200);
    expect((await client.close({ ...CLOSE, dryRun: true })).status).toBe(200);
    await client.stop();
  });

  it("holds the stream to its configured limits", async () => {
    const service = await start(rooms().all, { STREAM_CONNECTIONS_MAX: "1", STREAM_SUBSCRIPTIONS_MAX: "1" });
    const first = await StreamClient.open(service.port);
    expect((await first.subscribe({ topic: "ticker", symbols: ["BTC"] })).type).toBe("subscribed");
    expect(await first.subscribe({ topic: "status" })).toMatchObject({
      type: "error",
      code: "SUBSCRIPTION_LIMIT",
      details: { limit: 1 },
    });
    const second = await StreamClient.open(service.port);
    expect(await second.closed).toEqual({ code: 1013, reason: "TOO_MANY_CONNECTIONS" });
    await first.stop();
  });

  it("refuses to start without any venue, and leaves the store free", async () => {
    const { all } = rooms();
    const broken = all.map((room) => ({ ...room, start: () => Promise.reject(new Error("down")) }));
    await expect(createService(config(), { rooms: broken })).rejects.toThrow(StartError);
    await start(all);
  });

  it("refuses a taken port, and leaves the store free", async () => {
    const { all } = rooms();
    const blocker: NetServer = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
    const address = blocker.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await expect(createService(config({ PORT: String(port) }), { rooms: all })).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1/,
    );
    await new Promise((resolve) => blocker.close(resolve));
    await start(all);
  });

  it("refuses a data folder that another service owns", async () => {
    await start(rooms().all);
    await expect(createService(config(), { rooms: rooms().all })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("fires a dead-man's switch at the stop behind what is still sent", async () => {
    const { one, two } = rooms();
    const reached: string[] = [];
    let goOn = (): void => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isReading = false;
    const slow: FakeRoom = {
      ...one,
      reader: {
        ...one.reader,
        async readPositions(...asked) {
          isReading = true;
          await held;
          return one.reader.readPositions(...asked);
        },
      },
      orders: {
        ...one.orders,
        place(...sent) {
          reached.push("order");
          return one.orders.place(...sent);
        },
        async cancelAll() {
          reached.push("cancel of all");
          return { outcome: "accepted", canceledCount: 0, failed: [] };
        },
      },
    };
    const service = await start([slow, two], { SHUTDOWN_GRACE_MS: "0" });
    const client = new TestClient(service.url);
    const armed = await client.send("/api/trading/venueone/dead-man", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ timeoutMs: 60_000, credentials: CREDENTIALS }),
    });
    expect(armed.status, armed.text).toBe(200);
    const closing = client.close({ ...CLOSE, preferredExchange: "venueone" }).catch(() => null);
    await until(() => isReading);
    const stopping = service.stop();
    await until(() => service.closeService.status().draining || reached.length > 0);
    goOn();
    await Promise.all([stopping, closing, client.stop()]);
    expect(reached).toEqual(["order", "cancel of all"]);
  });

  it("stops once, whoever asks, and stops every room", async () => {
    const { all } = rooms();
    let stopCount = 0;
    const counted = all.map((room) => ({
      ...room,
      stop: async () => {
        stopCount++;
      },
    }));
    const service = await start(counted);
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
    expect(stopCount).toBe(2);
  });
});

describe("a service with a client-signed venue", () => {
  const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

  it("shows its positions over HTTP and on the stream, and stops it at the end", async () => {
    const room = new FakeClientSignedRoom();
    room.positions.set(ADDRESS, [aChainPosition()]);
    const service = await start(rooms().all, {}, { clientSigned: { room, symbols: PAIR_SYMBOLS } });
    const client = new TestClient(service.url);
    const reply = await client.get(`/api/trading/positions/all/${ADDRESS}`);
    expect(reply.body).toMatchObject({ data: { positions: { venuefive: { count: 1 } } } });
    await client.stop();
    const watcher = await StreamClient.open(service.port);
    await watcher.subscribe({ topic: "positions", walletAddress: ADDRESS, exchanges: ["venuefive"] });
    expect([...watcher.folds.values()].map(({ rows }) => rows.size)).toEqual([1]);
    await watcher.stop();
    await service.stop();
    expect([room.startCount, room.stopCount, room.listenerCount]).toEqual([1, 1, 0]);
  });

  it("that fails at its start listens all the same", async () => {
    const room = new FakeClientSignedRoom();
    room.start = () => Promise.reject(new Error("no chain"));
    const service = await start(rooms().all, {}, { clientSigned: { room, symbols: PAIR_SYMBOLS } });
    const client = new TestClient(service.url);
    expect((await client.get("/ready")).status).toBe(200);
    await client.stop();
  });
});
