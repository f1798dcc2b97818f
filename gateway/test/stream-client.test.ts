/**
 * The stream client against the real server over real sockets: cut and restored again and again while markets move, it
 * ends where REST is, and every view that called itself current was legal by its sequence.
 */
import { WebSocket } from "ws";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type SocketEvents, StreamClient, type SubscriptionView, TICK_MS } from "../../client/stream/stream-client.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import type { Market } from "../../engine/market/market.js";
import { type Harness, startHarness } from "./harness.js";

const ROUNDS = 12;
const CHANGES_PER_ROUND = 25;
const WAIT = { timeout: 60_000, interval: 20 };

let harness: Harness;
let client: StreamClient;
let sockets: WebSocket[];

beforeEach(async () => {
  harness = await startHarness();
  sockets = [];
  client = new StreamClient({
    url: `${harness.server.url.replace("http", "ws")}/ws`,
    // Reconnects at the floor of the jitter: the wait itself is proven in virtual time.
    random: () => 0,
    clock: {
      nowMs: runningTime(),
      every(intervalMs, callback) {
        const timer = setInterval(callback, intervalMs);
        return () => clearInterval(timer);
      },
    },
    openSocket,
  });
});
afterEach(async () => {
  client.stop();
  await harness.stop();
});

/** Time in which this process could run: while it is stopped nothing can answer, and no silence is the server's. */
function runningTime(): () => number {
  let lookedMs = performance.now();
  let countedMs = 0;
  return () => {
    const nowMs = performance.now();
    countedMs += Math.min(nowMs - lookedMs, 2 * TICK_MS);
    lookedMs = nowMs;
    return countedMs;
  };
}

function openSocket(url: string, events: SocketEvents) {
  const socket = new WebSocket(url);
  sockets.push(socket);
  socket.on("open", () => events.opened());
  socket.on("message", (data) => events.said(String(data)));
  socket.on("close", (code) => events.closed(code));
  // A close follows.
  socket.on("error", () => {});
  return {
    send: (text: string) => socket.send(text),
    close: (code: number, reason: string) => socket.close(code, reason),
  };
}

describe("cut and resumed at random", () => {
  it("ends with the books and tickers of REST, nothing malformed on the way", async () => {
    const random = createSeededRandom(20_261_121);
    const views = new Map<string, SubscriptionView>();
    const illegal: string[] = [];
    const listener = {
      changed(view: SubscriptionView) {
        const before = views.get(view.key);
        if (view.current && before?.epoch === view.epoch && view.seq < before.seq)
          illegal.push(`${view.key} went back`);
        views.set(view.key, view);
      },
    };
    client.subscribe({ topic: "book", symbols: ["BTC"], depth: 20, intervalMs: 0 }, listener);
    client.subscribe({ topic: "ticker", symbols: ["BTC", "ETH"], intervalMs: 0 }, listener);
    client.subscribe({ topic: "status" }, listener);
    client.start();
    const allCurrent = () => [...views.values()].filter((view) => view.current).length;
    await expect.poll(allCurrent, WAIT).toBe(4);

    const { btcOne, btcTwo } = harness.markets;
    for (let round = 0; round < ROUNDS; round++) {
      for (let change = 0; change < CHANGES_PER_ROUND; change++) {
        move(random.next() < 0.5 ? btcOne : btcTwo, random.next);
        await new Promise(setImmediate);
      }
      if (random.next() < 0.5) {
        await cut(sockets.at(-1) as WebSocket);
        expect(client.status.phase).toBe("waiting");
        expect(allCurrent()).toBe(0);
        move(btcOne, random.next);
        await expect.poll(allCurrent, WAIT).toBe(4);
      }
    }
    expect(sockets.length).toBeGreaterThan(3);
    await expect.poll(async () => differences(views), WAIT).toEqual([]);
    expect(illegal).toEqual([]);
    expect(client.counts).toMatchObject({ undecodable: 0, checksumMismatches: 0, gaps: 0, stalls: 0 });
  });

  /** Resolves when the client has noticed: it reconnects soon, and a poll could miss that it was away. */
  function cut(socket: WebSocket): Promise<void> {
    return new Promise((resolve) => {
      socket.once("close", () => resolve());
      socket.terminate();
    });
  }

  function move(market: Market, next: () => number): void {
    const { book, ticker } = market;
    const isBid = next() < 0.5;
    const ticks = isBid ? 974_100 - Math.floor(next() * 60) : 974_200 + Math.floor(next() * 60);
    const lots = next() < 0.3 ? 0 : 1 + Math.floor(next() * 5_000);
    if (isBid) book.applyBid(ticks, lots);
    else book.applyAsk(ticks, lots);
    const nowNs = harness.clock.monoNs();
    book.commit(book.seq + 1, harness.clock.wallMs(), nowNs);
    ticker.lastPrice = String(97_000 + Math.floor(next() * 1_000));
    ticker.stamp(harness.clock.wallMs(), nowNs);
  }

  /** Where the client is not where REST is; books are proven again first, for a state that depends on their age. */
  async function differences(views: ReadonlyMap<string, SubscriptionView>): Promise<string[]> {
    for (const { book } of Object.values(harness.markets)) book.prove(harness.clock.monoNs());
    const found: string[] = [];
    for (const { data } of views.values()) {
      if (data === null || !("venues" in data)) continue;
      for (const [venue, held] of data.venues) {
        const path =
          "bids" in held
            ? `/api/trading/${venue}/book/${data.symbol}?depth=20`
            : `/api/trading/${venue}/ticker/${data.symbol}`;
        const reply = (await harness.client.get(path)).body as { data?: Record<string, unknown> } | null;
        const rest = reply?.data ?? {};
        const names = "bids" in held ? ["bids", "asks"] : ["lastPrice", "markPrice", "fundingRate"];
        const values: Readonly<Record<string, unknown>> = "bids" in held ? { ...held } : held.fields;
        for (const name of names)
          if (JSON.stringify(values[name]) !== JSON.stringify(rest[name])) found.push(`${path} ${name}`);
      }
    }
    return found;
  }
});
