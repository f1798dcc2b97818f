/** The whole room over a real HTTP server on loopback, scripted sockets and a virtual clock. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import type { OrderCommand } from "../../engine/domain/order.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import type { CallOptions } from "../../engine/ports.js";
import { FakeNetwork } from "../shared/test/fake-connector.js";
import { untilHolds, untilSettled } from "../shared/test/http-time.js";
import { createMemoryReservations } from "../shared/test/memory-reservations.js";
import { createVenueoneRoom, type VenueoneRoomOptions } from "./room.js";
import { KEY, SIGNER } from "./test/trading-harness.js";

const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Asset {
  readonly name: string;
  readonly szDecimals: number;
  readonly volume: string;
  readonly isDelisted?: boolean;
  readonly maxLeverage?: number;
}

const BTC: Asset = { name: "BTC", szDecimals: 5, volume: "900.0" };
const MATIC: Asset = { name: "MATIC", szDecimals: 1, volume: "0.0", isDelisted: true };
const ETH: Asset = { name: "ETH", szDecimals: 4, volume: "2000.0" };
const PEPE: Asset = { name: "kPEPE", szDecimals: 0, volume: "10.0" };

const ZEROS = { accountValue: "0.0", totalNtlPos: "0.0", totalRawUsd: "0.0", totalMarginUsed: "0.0" };

async function startVenue(clock: VirtualClock) {
  const venue = { assets: [BTC, MATIC, ETH, PEPE] as readonly Asset[], szi: "0.5", failures: 0, calls: [] as string[] };
  const answer = (query: { type?: string; action?: unknown }): unknown => {
    if (query.action !== undefined)
      return {
        status: "ok",
        response: { type: "order", data: { statuses: [{ filled: { totalSz: "0.1", avgPx: "50000.0", oid: 9 } }] } },
      };
    switch (query.type) {
      case "metaAndAssetCtxs": {
        const universe = venue.assets.map(({ name, szDecimals, isDelisted, maxLeverage = 40 }) => ({
          name,
          szDecimals,
          maxLeverage,
          ...(isDelisted === true ? { isDelisted } : {}),
        }));
        const contexts = venue.assets.map(({ volume }) => ({
          funding: "0.0000125",
          openInterest: "1.0",
          prevDayPx: "49000.0",
          dayNtlVlm: volume,
          premium: null,
          oraclePx: "50000.0",
          markPx: "50001.0",
          midPx: "50002.0",
          impactPxs: null,
          dayBaseVlm: "1.0",
        }));
        return [{ universe, marginTables: [], collateralToken: 0 }, contexts];
      }
      case "userRole":
        return { role: "user" };
      case "clearinghouseState": {
        const position = {
          coin: "BTC",
          szi: venue.szi,
          entryPx: "48000.0",
          positionValue: "25000.0",
          unrealizedPnl: "1.0",
          returnOnEquity: "0.0",
          liquidationPx: null,
          marginUsed: "1.0",
          maxLeverage: 40,
          leverage: { type: "cross", value: 20 },
        };
        return {
          marginSummary: ZEROS,
          crossMarginSummary: ZEROS,
          withdrawable: "0.0",
          time: clock.wallMs(),
          assetPositions: [{ type: "oneWay", position }],
        };
      }
      default:
        return [];
    }
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const query = JSON.parse(body) as { type?: string; action?: unknown };
      venue.calls.push(query.type ?? "exchange");
      response.setHeader("date", new Date(clock.wallMs()).toUTCString());
      if (venue.failures > 0) {
        venue.failures--;
        response.writeHead(502);
        response.end("bad gateway");
        return;
      }
      response.end(JSON.stringify(answer(query)));
    });
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

async function setup(overrides: Partial<VenueoneRoomOptions> = {}) {
  const clock = new VirtualClock();
  const { venue, restUrl } = await startVenue(clock);
  const network = new FakeNetwork();
  const room = createVenueoneRoom({
    restUrl,
    wsUrl: "ws://venue",
    isMainnet: true,
    symbols: "all",
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    connector: network.connector,
    ...overrides,
  });
  closers.push(() => room.stop());
  return { venue, clock, network, room };
}

function book(coin: string, time: number, bid = "50000.0", ask = "50001.0"): string {
  const level = (px: string) => [{ px, sz: "1.0", n: 1 }];
  return JSON.stringify({ channel: "l2Book", data: { coin, time, levels: [level(bid), level(ask)] } });
}

describe("start", () => {
  it("knows the instruments when it resolves, streams them by volume, and is LIVE with the first books", async () => {
    const { room, network, clock } = await setup();
    await room.start();
    expect([...room.markets.keys()]).toEqual(["BTC", "ETH", "PEPE"]);
    expect(room.markets.get("ETH")?.instrument).toMatchObject({ nativeId: 2, minNotional: "10" });
    expect(room.markets.get("BTC")?.ticker).toMatchObject({
      markPrice: "50001.0",
      lastPrice: "50002.0",
      fundingIntervalHours: 1,
    });
    expect(room.status()).toMatchObject({ venue: "venueone", state: "DOWN", breaker: "closed" });
    for (const connection of network.connections) connection.open();
    clock.advance(1_000);
    const [fast] = network.connections;
    expect(fast?.sent[0]).toContain('"coin":"ETH"');
    expect(room.status().state).toBe("SYNCING");
    for (const coin of ["BTC", "ETH"]) fast?.receive(book(coin, clock.wallMs()));
    expect(room.markets.get("BTC")?.book.state).toBe(BOOK_LIVE);
    expect(room.status()).toMatchObject({ state: "LIVE", socketCount: 2, decodeErrorCount: 0 });
    clock.advance(2_500);
    expect(room.status().state).toBe("STALE");
  });

  it("estimates the venue's clock from the answers' dates", async () => {
    const { room } = await setup();
    await room.start();
    expect(Math.abs(room.status().clockOffsetMs)).toBeLessThanOrEqual(500);
  });

  it("streams only the symbols asked for, by canonical name", async () => {
    const { room, network, clock } = await setup({ symbols: ["PEPE", "NOSUCH"] });
    await room.start();
    network.connections[0]?.open();
    clock.advance(1_000);
    expect(network.connections[0]?.sent).toHaveLength(4);
    expect(network.connections[0]?.sent.every((text) => text.includes('"kPEPE"'))).toBe(true);
    expect(room.markets.size).toBe(3);
  });

  it("stays within the subscription limit, most traded first, and leaves room for account streams", async () => {
    const { room, network, clock } = await setup({ limits: { maxSubscriptions: 40, maxStreamedUsers: 10 } });
    await room.start();
    for (const connection of network.connections) connection.open();
    clock.advance(1_000);
    const coins = new Set(
      network.connections.flatMap((connection) => connection.sent).map((text) => /"coin":"(\w+)"/.exec(text)?.[1]),
    );
    expect([...coins]).toEqual(["ETH", "BTC"]);
  });

  it("tries again while the venue fails, and rejects only after its time", async () => {
    const first = await setup();
    first.venue.failures = 2;
    await untilSettled(first.clock, first.room.start());
    expect(first.venue.calls).toHaveLength(3);

    const second = await setup({ startTimeoutMs: 2_000 });
    second.venue.failures = 1_000;
    await expect(untilSettled(second.clock, second.room.start())).rejects.toMatchObject({ name: "ServiceError" });
  });
});

describe("instrument refresh", () => {
  it("adds new listings, halts delisted ones and drops their books, and replaces re-scaled ones", async () => {
    const { room, network, clock, venue } = await setup();
    await room.start();
    const before = room.markets;
    const [fast] = network.connections;
    fast?.open();
    clock.advance(1_000);
    for (const coin of ["BTC", "ETH", "kPEPE"]) fast?.receive(book(coin, clock.wallMs(), "5.0", "6.0"));
    const oldPepe = room.markets.get("PEPE");
    venue.assets = [
      BTC,
      MATIC,
      { ...ETH, isDelisted: true },
      { ...PEPE, szDecimals: 1 },
      { name: "NEW", szDecimals: 2, volume: "5.0" },
    ];
    clock.advance(60_000);
    await untilHolds(clock, () => room.markets.has("NEW"));
    expect(room.markets).toBe(before);
    expect(room.markets.get("ETH")?.instrument.status).toBe("HALTED");
    expect(room.markets.get("ETH")?.book.state).not.toBe(BOOK_LIVE);
    expect(room.markets.get("PEPE")?.instrument.qtyDecimals).toBe(1);
    expect(oldPepe?.book.state).not.toBe(BOOK_LIVE);
    expect(room.status().protocolDriftCount).toBe(1);
  });
});

describe("a listing that changes", () => {
  it.each([
    ["is empty", () => []],
    ["is cut short", () => [BTC, MATIC]],
    ["holds nothing that we can speak", () => [BTC, MATIC, ETH, PEPE].map((row) => ({ ...row, szDecimals: 9 }))],
  ])("takes nothing for delisted by a list that %s", async (_name, assets) => {
    const { room, clock, venue } = await setup();
    await room.start();
    const eth = room.markets.get("ETH");
    const callCount = (): number => venue.calls.filter((type) => type === "metaAndAssetCtxs").length;
    const before = callCount();
    venue.assets = assets();
    await untilHolds(clock, () => callCount() > before + 1);
    expect(room.markets.get("ETH")?.instrument.status).toBe("TRADING");
    expect(room.markets.get("ETH")).toBe(eth);
  });

  it("leaves a symbol with its contract while that is listed", async () => {
    const { room, clock, venue } = await setup();
    const single = { ...PEPE, name: "PEPE" };
    venue.assets = [{ ...single, isDelisted: true }, BTC, PEPE];
    await room.start();
    expect(room.markets.get("PEPE")?.instrument.nativeSymbol).toBe("kPEPE");
    venue.assets = [single, { ...BTC, maxLeverage: 7 }, PEPE];
    await untilHolds(clock, () => room.markets.get("BTC")?.instrument.maxLeverage === 7);
    expect(room.markets.get("PEPE")?.instrument.nativeSymbol).toBe("kPEPE");
  });

  it("leaves a symbol with its contract by a list that does not name that one", async () => {
    const { room, clock, venue } = await setup();
    const single = { ...PEPE, name: "PEPE" };
    venue.assets = [{ ...single, isDelisted: true }, BTC, PEPE];
    await room.start();
    expect(room.markets.get("PEPE")?.instrument.nativeSymbol).toBe("kPEPE");
    venue.assets = [single, { ...BTC, maxLeverage: 7 }];
    await untilHolds(clock, () => room.markets.get("BTC")?.instrument.maxLeverage === 7);
    expect(room.markets.get("PEPE")?.instrument).toMatchObject({ nativeSymbol: "kPEPE", status: "TRADING" });
  });

  it("is known within half a minute, and another maximum leverage leaves the books alone", async () => {
    const { room, network, clock, venue } = await setup();
    await room.start();
    network.connections[0]?.open();
    clock.advance(1_000);
    network.connections[0]?.receive(book("BTC", clock.wallMs(), "5.0", "6.0"));
    const btc = room.markets.get("BTC");
    expect(btc?.book.state).toBe(BOOK_LIVE);
    venue.assets = [{ ...BTC, maxLeverage: 7 }, MATIC, { ...ETH, isDelisted: true }, PEPE];
    const changedMs = clock.wallMs();
    await untilHolds(clock, () => room.markets.get("ETH")?.instrument.status === "HALTED");
    expect(clock.wallMs() - changedMs).toBeLessThanOrEqual(31_000);
    expect([btc?.instrument.maxLeverage, room.markets.get("BTC")]).toEqual([7, btc]);
  });
});

describe("positions", () => {
  const openSession = (room: Awaited<ReturnType<typeof setup>>["room"]) => {
    const opened = room.openSession({ privateKey: KEY }, null);
    if (!opened.ok) throw new Error(opened.problem);
    return opened.session;
  };

  it("come from the venue, then from the account's stream once LIVE, and from the venue again after an order", async () => {
    const { room, network, clock, venue } = await setup();
    await room.start();
    const session = openSession(room);
    const btc = room.markets.get("BTC")?.instrument ?? null;
    const read = () => room.reader.readPositions(session, btc, OPTIONS);
    expect(await read()).toMatchObject({ ok: true, source: "venue", value: [{ symbol: "BTC", qtyLots: 50_000 }] });
    // The second use makes the account hot; its socket is the newest.
    await read();
    const accounts = network.last;
    accounts.open();
    await untilHolds(clock, () => accounts.sent.length === 3);
    for (const type of ["clearinghouseState", "openOrders", "userFills"]) {
      accounts.receive(
        JSON.stringify({
          channel: "subscriptionResponse",
          data: { method: "subscribe", subscription: { type, user: SIGNER } },
        }),
      );
    }
    await untilHolds(clock, () => venue.calls.includes("frontendOpenOrders"));
    let source = "";
    for (let turn = 0; turn < 500 && source !== "stream"; turn++) {
      await clock.advanceAsync(1);
      const positions = await read();
      source = positions.ok ? positions.source : positions.code;
    }
    expect(source).toBe("stream");
    const calls = venue.calls.length;
    expect(await read()).toMatchObject({ ok: true, source: "stream", value: [{ qtyLots: 50_000 }] });
    expect(
      await room.reader.readPositions(session, room.markets.get("ETH")?.instrument ?? null, OPTIONS),
    ).toMatchObject({ ok: true, value: [] });
    expect(venue.calls).toHaveLength(calls);
    if (btc === null) throw new Error("BTC is missing");
    const command: OrderCommand = {
      instrument: btc,
      side: "SELL",
      type: "MARKET",
      timeInForce: "IOC",
      priceTicks: 490_000,
      qtyLots: 10_000,
      reduceOnly: true,
      positionSide: "BOTH",
      clientIdHex: "00".repeat(16),
    };
    expect(await room.orders.place(session, command, OPTIONS)).toMatchObject({ outcome: "accepted" });
    venue.szi = "0.4";
    expect(await read()).toMatchObject({ ok: true, source: "venue", value: [{ qtyLots: 40_000 }] });
  });

  it("of nobody are an AUTH failure, not a flat account", async () => {
    const { room } = await setup();
    await room.start();
    const foreign = { venue: "venuetwo", accountId: "x", payer: null, close: () => {} } as const;
    expect(await room.reader.readPositions(foreign, null, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
  });
});

describe("stop", () => {
  it("ends sockets and timers, and takes every book out of LIVE", async () => {
    const { room, network, clock } = await setup();
    await room.start();
    const [fast] = network.connections;
    fast?.open();
    clock.advance(1_000);
    fast?.receive(book("BTC", clock.wallMs()));
    await room.stop();
    clock.advance(10_000);
    expect(room.markets.get("BTC")?.book.state).not.toBe(BOOK_LIVE);
    expect(network.connections.every((connection) => connection.isEnded)).toBe(true);
    expect(clock.pendingTimerCount).toBe(0);
  });
});
