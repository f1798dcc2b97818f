/** The persistent socket over real `ws` connections on loopback: framing, closing and rotation as they really happen. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import { connectWs } from "./connector.js";
import { PersistentSocket } from "./socket.js";
import type { SocketHandlers, SocketOptions } from "./socket-options.js";

const closers: (() => void)[] = [];
const SHORT_MS = 1_000;
const PATIENCE_MS = 60_000;
/** Real time; but a deadline of seconds, which guards against a dead peer, does not take a machine that stood still for one. */
const systemClock = createSystemClock();
const clock: Clock = {
  ...systemClock,
  setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs < SHORT_MS ? delayMs : delayMs + PATIENCE_MS),
};

afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

async function startServer(onConnection: (peer: WebSocket, index: number) => void) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  let count = 0;
  server.on("connection", (peer) => {
    peer.on("error", () => {});
    onConnection(peer, ++count);
  });
  await once(server, "listening");
  closers.push(() => {
    for (const peer of server.clients) peer.terminate();
    server.close();
  });
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function open(url: string, handlers: SocketHandlers, overrides: Partial<SocketOptions> = {}): PersistentSocket {
  const socket = new PersistentSocket({
    name: "loopback",
    url,
    clock,
    random: createSeededRandom(5),
    logger: silentLogger,
    connector: connectWs,
    handlers,
    heartbeat: { pingText: '{"method":"ping"}', everyMs: 30_000, idleMs: 60_000 },
    protocol: {
      subscribe: (names) => `sub ${names.join(",")}`,
      unsubscribe: (names) => `unsub ${names.join(",")}`,
      maxNamesPerFrame: 10,
    },
    budget: new ConnectionBudget(clock, { maxConnections: 4, connectsPerMinute: 100 }),
    pacers: () => [new MessagePacer(clock, 100, 1_000)],
    maxSubscriptions: 10,
    backoff: { baseMs: 10, capMs: 20 },
    connectTimeoutMs: PATIENCE_MS,
    ...overrides,
  });
  closers.push(() => socket.stop());
  return socket;
}

/** Resolves when `count` items have been collected. */
function collector<T>(count: number): { push(item: T): void; readonly all: Promise<T[]> } {
  const items: T[] = [];
  let done: (items: T[]) => void = () => {};
  const all = new Promise<T[]>((resolve) => (done = resolve));
  return {
    push(item) {
      items.push(item);
      if (items.length === count) done(items);
    },
    all,
  };
}

describe("persistent socket on loopback", () => {
  it("delivers text, binary and fragmented messages whole, as bytes", async () => {
    const { url } = await startServer((peer) => {
      peer.send("text ü");
      peer.send(Buffer.from([1, 2, 3]));
      peer.send("first half, ", { fin: false });
      peer.send("second half", { fin: true });
    });
    const frames = collector<Buffer>(3);
    open(url, { onFrame: (data) => frames.push(data) }).start();
    const [text, binary, fragmented] = await frames.all;
    expect(text?.toString()).toBe("text ü");
    expect([...(binary ?? [])]).toEqual([1, 2, 3]);
    expect(fragmented?.toString()).toBe("first half, second half");
  });

  it("comes back after a clean close and after a torn connection, and subscribes again each time", async () => {
    const subscriptions = collector<string>(3);
    const { url } = await startServer((peer, index) => {
      peer.on("message", (data: Buffer) => {
        subscriptions.push(`${index} ${data.toString()}`);
        if (index === 1) peer.close(1000, "Expired");
        if (index === 2) peer.terminate();
      });
    });
    const socket = open(url, { onFrame: () => {} });
    socket.subscribe({ name: "book", livenessMs: 0, probe: null });
    socket.start();
    expect(await subscriptions.all).toEqual(["1 sub book", "2 sub book", "3 sub book"]);
    expect(socket.stats().reconnectCount).toBe(2);
  });

  it("ends a connection that sends a message beyond the bound, and connects again", async () => {
    const connections = collector<number>(2);
    const { url } = await startServer((peer, index) => {
      connections.push(index);
      if (index === 1) peer.send(Buffer.alloc(100_000));
    });
    const downs: number[] = [];
    const socket = open(url, { onFrame: () => {}, onDown: (code) => downs.push(code) }, { maxFrameBytes: 50_000 });
    socket.start();
    await connections.all;
    expect(downs).toEqual([1006]);
    expect(socket.stats().frameCount).toBe(0);
  });

  it("rotates without a lost number: each one is delivered by the old or the new connection", async () => {
    const server = await startServer((peer) => {
      peer.on("message", () => peers.add(peer));
      peer.on("close", () => peers.delete(peer));
    });
    const peers = new Set<WebSocket>();
    const seen = new Set<number>();
    let highest = 0;
    let rotated: () => void = () => {};
    const done = new Promise<void>((resolve) => (rotated = resolve));
    const socket: PersistentSocket = open(server.url, {
      onFrame: (data, tsRecvNs, linkId) => {
        const number = Number(data.toString());
        seen.add(number);
        highest = Math.max(highest, number);
        socket.subscription("numbers")?.alive(tsRecvNs, linkId);
        if (number === 50) socket.rotate();
        if (socket.primaryLinkId === 2 && number > 200) rotated();
      },
    });
    socket.subscribe({ name: "numbers", livenessMs: PATIENCE_MS, probe: null });
    socket.start();
    let next = 0;
    const pump = setInterval(() => {
      if (peers.size === 0) return;
      next++;
      for (const peer of peers) peer.send(String(next));
    }, 1);
    closers.push(() => clearInterval(pump));
    await done;
    for (let number = 1; number <= highest; number++) expect(seen.has(number)).toBe(true);
    expect(socket.stats()).toMatchObject({ rotationCount: 1, reconnectCount: 0 });
  });

  it("keeps trying while no server listens, and connects once one does", async () => {
    // A port that nobody is given by chance.
    let url = "ws://127.0.0.1:1";
    const opened = collector<number>(1);
    const handlers: SocketHandlers = { onFrame: () => {}, onOpen: (linkId) => opened.push(linkId) };
    const socket = open(url, handlers, { url: () => Promise.resolve(url) });
    socket.start();
    while (socket.stats().reconnectCount < 3) await new Promise((resolve) => setImmediate(resolve));
    ({ url } = await startServer(() => {}));
    expect((await opened.all)[0]).toBeGreaterThan(3);
  });
});
