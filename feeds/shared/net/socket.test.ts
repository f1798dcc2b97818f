import { describe, expect, it } from "vitest";
import type { Logger, LogFields } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import { PersistentSocket } from "./socket.js";
import type { SocketHandlers, SocketOptions } from "./socket-options.js";
import type { ProbeResult, Subscription } from "./subscriptions.js";
import { FakeNetwork } from "../test/fake-connector.js";

interface Setup extends Partial<SocketOptions> {
  readonly messagesPerSecond?: number;
  readonly connectsPerMinute?: number;
  readonly maxConnections?: number;
  readonly seed?: number;
}

function setup(overrides: Setup = {}) {
  const clock = new VirtualClock();
  const network = new FakeNetwork();
  const budget = new ConnectionBudget(clock, {
    maxConnections: overrides.maxConnections ?? 10,
    connectsPerMinute: overrides.connectsPerMinute ?? 30,
  });
  const frames: { readonly text: string; readonly linkId: number }[] = [];
  const logged: { readonly event: string; readonly fields: LogFields | undefined }[] = [];
  const log = (event: string, fields?: LogFields): void => void logged.push({ event, fields });
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const events: string[] = [];
  const handlers: SocketHandlers = {
    onFrame: (data, _tsRecvNs, linkId) => frames.push({ text: data.toString(), linkId }),
    onOpen: (linkId) => events.push(`open ${linkId}`),
    onDown: (code) => events.push(`down ${code}`),
    onSilent: (name) => events.push(`silent ${name}`),
    onQuarantined: (name) => events.push(`quarantined ${name}`),
  };
  const socket = new PersistentSocket({
    name: "test",
    url: "ws://venue",
    clock,
    random: createSeededRandom(overrides.seed ?? 1),
    logger,
    connector: network.connector,
    handlers,
    heartbeat: { pingText: "ping", everyMs: 30_000, idleMs: 60_000 },
    protocol: {
      subscribe: (names) => `sub ${names.join(",")}`,
      unsubscribe: (names) => `unsub ${names.join(",")}`,
      maxNamesPerFrame: 2,
    },
    budget,
    pacers: () => [new MessagePacer(clock, overrides.messagesPerSecond ?? 100, 1_000)],
    maxSubscriptions: 20,
    ...overrides,
  });
  const add = (name: string, livenessMs = 0, probe: (() => Promise<ProbeResult>) | null = null): Subscription => {
    const subscription = socket.subscribe({ name, livenessMs, probe });
    if (subscription === null) throw new Error("no room");
    return subscription;
  };
  return { clock, network, budget, socket, frames, logged, events, add };
}

describe("the debug line of a reconnect", () => {
  const reconnects = (logged: ReturnType<typeof setup>["logged"]) =>
    logged.filter(({ event }) => event === "socket.reconnect").map(({ fields }) => fields);

  it("has the socket, what ended the connection, how often it was tried and how long it waits", () => {
    const { socket, network, clock, logged } = setup({ backoff: { baseMs: 500, capMs: 500 } });
    socket.start();
    network.last.open();
    network.last.end(1013, "try again later");
    clock.advance(40_000);
    network.last.end(1006);
    const delayMs = expect.any(Number) as number;
    expect(reconnects(logged)).toEqual([
      { socket: "test", code: 1013, reason: "try again later", attempt: 1, delayMs },
      { socket: "test", code: 1006, reason: "", attempt: 2, delayMs },
    ]);
    expect(Number(reconnects(logged)[0]?.delayMs)).toBeGreaterThanOrEqual(5_000);
  });

  it("is written too where the budget of connects is what it waits for", () => {
    const { socket, network, clock, logged } = setup({ connectsPerMinute: 1 });
    socket.start();
    network.last.open();
    network.last.end(1006);
    clock.advance(5_000);
    expect(reconnects(logged).at(-1)).toMatchObject({ code: 0, reason: "connect budget", attempt: 1 });
    expect(Number(reconnects(logged).at(-1)?.delayMs)).toBeGreaterThan(50_000);
  });
});

describe("connecting and subscribing", () => {
  it("subscribes what was asked before and after opening, in batches of the protocol's size", () => {
    const { socket, network, clock, add } = setup();
    add("a");
    add("b");
    add("c");
    socket.start();
    network.last.open();
    add("d");
    clock.advance(10);
    expect(network.last.sent).toEqual(["sub a,b", "sub c", "sub d"]);
    expect(socket.state).toBe("open");
  });

  it("refuses one subscription more than it carries and gives the known one for a known name", () => {
    const { socket, add } = setup({ maxSubscriptions: 2 });
    const first = add("a");
    add("b");
    expect(socket.subscribe({ name: "c", livenessMs: 0, probe: null })).toBeNull();
    expect(add("a")).toBe(first);
  });

  it("keeps the pace of messages over any second", () => {
    const { socket, network, clock, add } = setup({ messagesPerSecond: 3, maxSubscriptions: 100 });
    for (let index = 0; index < 40; index++) add(`s${index}`);
    socket.start();
    network.last.open();
    const sentAt: number[] = [];
    for (let ms = 0; ms < 10_000; ms += 10) {
      const before = network.last.sent.length;
      clock.advance(10);
      for (let count = before; count < network.last.sent.length; count++) sentAt.push(ms);
    }
    expect(network.last.sent).toHaveLength(20);
    for (const atMs of sentAt)
      expect(sentAt.filter((other) => other >= atMs && other < atMs + 1_000).length).toBeLessThanOrEqual(3);
  });

  it("resubscribes everything after a lost connection, and nothing that was unsubscribed", () => {
    const { socket, network, clock, events, add } = setup();
    add("a");
    add("b");
    add("c");
    socket.start();
    network.last.open();
    socket.unsubscribe("b");
    clock.advance(0);
    expect(network.last.sent).toEqual(["sub a,b", "sub c", "unsub b"]);
    clock.advance(15_000);
    network.last.end(1006);
    expect(socket.state).toBe("waiting");
    clock.advance(500);
    expect(network.connections).toHaveLength(2);
    network.last.open();
    expect(network.last.sent).toEqual(["sub a,c"]);
    expect(events).toEqual(["open 1", "down 1006", "open 2"]);
  });

  it.each(["onDown", "onSilent"] as const)("stopped by %s it stays stopped, and no timer of it is left", (name) => {
    const stopping: { socket?: PersistentSocket } = {};
    const onFrame = (): void => {};
    const { socket, network, clock, add } = setup({ handlers: { onFrame, [name]: () => stopping.socket?.stop() } });
    stopping.socket = socket;
    add("a", 1_000);
    socket.start();
    network.last.open();
    clock.advance(10);
    if (name === "onDown") network.last.end(1006);
    else clock.advance(2_000);
    expect(socket.state).toBe("stopped");
    clock.advance(60_000);
    expect([socket.state, network.connections.length, clock.pendingTimerCount]).toEqual(["stopped", 1, 0]);
  });

  it("takes a fresh url for each connect and backs off when there is none", async () => {
    let calls = 0;
    const { socket, network, clock } = setup({
      url: () => {
        calls++;
        return calls === 1 ? Promise.reject(new Error("no listen key")) : Promise.resolve(`ws://venue/${calls}`);
      },
    });
    socket.start();
    await clock.advanceAsync(1_000);
    expect(network.last.url).toBe("ws://venue/2");
    socket.stop();
  });
});

describe("backoff", () => {
  it("waits a full-jitter time within a doubling, capped span", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { socket, network, clock } = setup({
        seed,
        backoff: { baseMs: 500, capMs: 4_000 },
        connectsPerMinute: 1_000,
      });
      socket.start();
      for (let attempt = 0; attempt < 8; attempt++) {
        const before = network.connections.length;
        network.last.end(1006);
        const ceilingMs = Math.min(4_000, 500 * 2 ** attempt);
        clock.advance(ceilingMs);
        expect(network.connections.length).toBe(before + 1);
      }
    }
  });

  it("spreads different clients over the span", () => {
    const delays = new Set<number>();
    for (let seed = 1; seed <= 30; seed++) {
      const { socket, network, clock } = setup({ seed });
      socket.start();
      network.last.end(1006);
      let delayMs = 0;
      while (network.connections.length === 1) {
        clock.advance(10);
        delayMs += 10;
      }
      delays.add(Math.floor(delayMs / 100));
    }
    expect(delays.size).toBeGreaterThanOrEqual(4);
  });

  it("starts again after a connection that was healthy, and not after one that died young", () => {
    const { socket, network, clock } = setup({ backoff: { baseMs: 1_000, capMs: 60_000 } });
    socket.start();
    for (let attempt = 0; attempt < 5; attempt++) {
      network.last.open();
      network.last.end(1006);
      clock.advance(1_000 * 2 ** attempt);
    }
    expect(network.connections).toHaveLength(6);
    network.last.open();
    network.last.receive("x");
    clock.advance(20_000);
    network.last.end(1006);
    clock.advance(1_000);
    expect(network.connections).toHaveLength(7);
  });

  it("gives a venue that asks to try again later at least five seconds", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { socket, network, clock } = setup({ seed });
      socket.start();
      network.last.open();
      network.last.end(1013);
      clock.advance(4_999);
      expect(network.connections).toHaveLength(1);
      clock.advance(5_001);
      expect(network.connections).toHaveLength(2);
    }
  });

  it("does not spend the minute's connects at once: ten seconds after a long outage began there are some left", () => {
    const { socket, network, clock } = setup({ connectsPerMinute: 30, backoff: { baseMs: 1, capMs: 2 } });
    socket.start();
    let longestWaitMs = 0;
    let waitMs = 0;
    for (let ms = 0; ms < 120_000; ms += 50) {
      if (!network.last.isEnded) network.last.end(1006);
      const before = network.connections.length;
      clock.advance(50);
      waitMs = network.connections.length > before ? 0 : waitMs + 50;
      longestWaitMs = Math.max(longestWaitMs, waitMs);
    }
    expect(network.connections.length).toBeGreaterThan(45);
    expect(longestWaitMs).toBeLessThanOrEqual(12_000);
  });

  it("never opens more connections in a minute than the budget, and never more at once", () => {
    const { socket, network, clock, budget } = setup({ connectsPerMinute: 5, backoff: { baseMs: 1, capMs: 2 } });
    socket.start();
    const openedAt: number[] = [];
    for (let ms = 0; ms < 200_000; ms += 50) {
      if (!network.last.isEnded) network.last.end(1006);
      const before = network.connections.length;
      clock.advance(50);
      for (let count = before; count < network.connections.length; count++) openedAt.push(ms);
      expect(budget.openCount).toBeLessThanOrEqual(1);
    }
    expect(openedAt.length).toBeGreaterThanOrEqual(10);
    for (const atMs of openedAt)
      expect(openedAt.filter((other) => other >= atMs && other < atMs + 60_000).length).toBeLessThanOrEqual(5);
  });
});

describe("keep-alive", () => {
  it("pings by text at its interval and survives on the answers", () => {
    const { socket, network, clock } = setup();
    socket.start();
    network.last.open();
    for (let minute = 0; minute < 10; minute++) {
      clock.advance(30_000);
      expect(network.last.sent.at(-1)).toBe("ping");
      network.last.receive("pong");
    }
    expect(network.connections).toHaveLength(1);
    expect(network.last.sent).toHaveLength(10);
  });

  it("counts the venue's own pings as life and sends none where the venue pings", () => {
    const { socket, network, clock } = setup({ heartbeat: { pingText: null, everyMs: 0, idleMs: 60_000 } });
    socket.start();
    network.last.open();
    for (let count = 0; count < 5; count++) {
      clock.advance(50_000);
      network.last.handlers.onControl();
    }
    expect(network.connections).toHaveLength(1);
    expect(network.last.sent).toEqual([]);
    clock.advance(60_000);
    expect(network.last.isTerminated || network.connections.length > 1).toBe(true);
  });

  it("drops a connection on which nothing arrives, and one that never opens", () => {
    const { socket, network, clock, events } = setup({ connectTimeoutMs: 5_000 });
    socket.start();
    network.last.open();
    clock.advance(60_000);
    expect(network.connections[0]?.isTerminated).toBe(true);
    expect(events).toContain("down 1006");
    clock.advance(500);
    expect(network.connections).toHaveLength(2);
    clock.advance(65_000);
    expect(network.connections[1]?.isTerminated).toBe(true);
  });
});

describe("liveness per subscription", () => {
  it("finds the one dead stream on a socket that is otherwise busy, and asks for it again", () => {
    const { socket, network, clock, events, add } = setup();
    const busy = add("busy", 2_000);
    add("dead", 2_000);
    socket.start();
    network.last.open();
    for (let count = 0; count < 5; count++) {
      clock.advance(500);
      busy.alive(clock.monoNs(), 1);
      network.last.receive("busy");
    }
    expect(events).toEqual(["open 1", "silent dead"]);
    expect(network.last.sent.slice(-2)).toEqual(["unsub dead", "sub dead"]);
    expect(network.connections).toHaveLength(1);
  });

  it("replaces the connection at once when most streams fall silent together", () => {
    const { socket, network, clock, events, add } = setup();
    for (const name of ["a", "b", "c", "d"]) add(name, 2_000);
    const alive = add("e", 2_000);
    socket.start();
    network.last.open();
    for (let count = 0; count < 5; count++) {
      clock.advance(500);
      alive.alive(clock.monoNs(), 1);
    }
    expect(network.connections[0]?.isTerminated).toBe(true);
    expect(events.filter((event) => event.startsWith("silent"))).toHaveLength(4);
  });

  it("replaces the connection when a stream stays dead after having been asked for again", () => {
    const { socket, network, clock, add } = setup();
    add("dead", 2_000);
    socket.start();
    network.last.open();
    clock.advance(6_000);
    expect(network.connections[0]?.isTerminated).toBe(true);
  });

  it("takes a quiet market for quiet: a probe that finds nothing new keeps the stream", async () => {
    let probes = 0;
    const { socket, network, clock, events, add } = setup();
    add("quiet", 2_000, () => {
      probes++;
      return Promise.resolve("quiet");
    });
    socket.start();
    network.last.open();
    await clock.advanceAsync(20_000);
    expect(probes).toBeGreaterThan(5);
    expect(events).toEqual(["open 1"]);
    expect(network.connections).toHaveLength(1);
  });

  it("kills on a probe that finds what was never received, at once", async () => {
    const { socket, network, clock, events, add } = setup();
    add("mute", 2_000, () => Promise.resolve("dead"));
    socket.start();
    network.last.open();
    await clock.advanceAsync(3_000);
    expect(events).toEqual(["open 1", "silent mute"]);
  });

  it("does not kill because the probe itself fails, but not forever", async () => {
    let probes = 0;
    const { socket, network, clock, events, add } = setup();
    add("mute", 2_000, () => {
      probes++;
      return Promise.reject(new Error("REST is down too"));
    });
    socket.start();
    network.last.open();
    await clock.advanceAsync(6_000);
    expect(events).toEqual(["open 1"]);
    await clock.advanceAsync(6_000);
    expect(probes).toBe(3);
    expect(events).toContain("silent mute");
  });

  it("has at most one probe of a stream in flight", () => {
    let probes = 0;
    const { socket, network, clock, add } = setup();
    add("mute", 2_000, () => {
      probes++;
      return new Promise(() => {});
    });
    socket.start();
    network.last.open();
    clock.advance(60_000 - 1);
    expect(probes).toBe(1);
  });

  it("never judges streams whose silence proves nothing", () => {
    const { socket, network, clock, events, add } = setup({
      heartbeat: { pingText: "ping", everyMs: 1_000, idleMs: 5_000 },
    });
    add("trades", 0);
    socket.start();
    network.last.open();
    for (let count = 0; count < 100; count++) {
      clock.advance(1_000);
      network.last.receive("pong");
    }
    expect(events).toEqual(["open 1"]);
  });
});

describe("planned rotation", () => {
  it("opens the replacement first and loses no frame: the old one ends only when the new one delivers every stream", () => {
    const { socket, network, clock, events, frames, add } = setup();
    const a = add("a", 5_000);
    const b = add("b", 5_000);
    socket.start();
    network.last.open();
    const [old] = network.connections;
    expect(socket.rotate()).toBe(true);
    expect(network.connections).toHaveLength(2);
    const fresh = network.last;
    old?.receive("old 1");
    fresh.open();
    expect(fresh.sent).toEqual(["sub a,b"]);
    a.alive(clock.monoNs(), 2);
    fresh.receive("new a");
    expect(old?.isEnded).toBe(false);
    old?.receive("old 2");
    b.alive(clock.monoNs(), 2);
    fresh.receive("new b");
    expect(old?.closedWith).toBe(1000);
    expect(frames.map((frame) => frame.text)).toEqual(["old 1", "new a", "old 2", "new b"]);
    expect(socket.primaryLinkId).toBe(2);
    expect(events).toEqual(["open 1", "open 2"]);
    expect(socket.stats()).toMatchObject({ rotationCount: 1, reconnectCount: 0, state: "open" });
  });

  it("waits for the room's own condition too", () => {
    let ready = false;
    const frames: string[] = [];
    const { socket, network, clock, add } = setup({
      handlers: { onFrame: (data) => frames.push(data.toString()), isStandbyReady: () => ready },
    });
    const a = add("a", 5_000);
    socket.start();
    network.last.open();
    socket.rotate();
    network.last.open();
    a.alive(clock.monoNs(), 2);
    network.last.receive("one");
    expect(socket.primaryLinkId).toBe(1);
    ready = true;
    network.last.receive("two");
    expect(socket.primaryLinkId).toBe(2);
  });

  it("happens by itself before the venue's limit, at a time spread at random", () => {
    const ages = new Set<number>();
    for (let seed = 1; seed <= 10; seed++) {
      const { socket, network, clock } = setup({
        seed,
        rotateAfterMs: 100_000,
        heartbeat: { pingText: "ping", everyMs: 1_000, idleMs: 1e9 },
      });
      socket.start();
      network.last.open();
      let ageMs = 0;
      while (network.connections.length === 1 && ageMs <= 100_000) {
        clock.advance(500);
        ageMs += 500;
      }
      expect(ageMs).toBeGreaterThanOrEqual(90_000);
      expect(ageMs).toBeLessThanOrEqual(100_500);
      ages.add(ageMs);
    }
    expect(ages.size).toBeGreaterThan(3);
  });

  it("keeps the old connection when the replacement fails, and tries later", () => {
    const { socket, network, clock, events } = setup();
    socket.start();
    network.last.open();
    socket.rotate();
    network.last.end(1006);
    expect(socket.state).toBe("open");
    expect(events).toEqual(["open 1"]);
    const [old] = network.connections;
    for (let count = 0; count < 4; count++) {
      clock.advance(10_000);
      old?.receive("still here");
    }
    expect(network.connections.length).toBeGreaterThanOrEqual(3);
  });

  it("lets an open replacement take over when the old connection dies in the overlap, without going down", () => {
    const { socket, network, events, add } = setup();
    add("a", 5_000);
    socket.start();
    network.last.open();
    socket.rotate();
    network.last.open();
    network.connections[0]?.end(1000, "Expired");
    expect(events).toEqual(["open 1", "open 2"]);
    expect(socket.primaryLinkId).toBe(2);
    expect(network.connections).toHaveLength(2);
  });

  it("does not exceed the venue's connections: no replacement while none is free", () => {
    const { socket, network } = setup({ maxConnections: 1 });
    socket.start();
    network.last.open();
    expect(socket.rotate()).toBe(false);
    expect(network.connections).toHaveLength(1);
  });
});

describe("killed sockets", () => {
  it("logs what was asked during the last second", () => {
    const { socket, network, clock, logged, add } = setup();
    add("a");
    socket.start();
    network.last.open();
    clock.advance(5_000);
    add("b");
    add("bad");
    clock.advance(100);
    network.last.end(1006);
    const closed = logged.find((entry) => entry.event === "socket.closed");
    expect(closed?.fields?.askedLastSecond).toBe("b bad");
  });

  it("takes one kill for chance, and sends the suspects of two in groups, all back within two seconds", () => {
    const { socket, network, clock, add } = setup({ maxSubscriptions: 100 });
    for (let index = 0; index < 40; index++) add(`s${index}`);
    socket.start();
    for (let kills = 0; kills < 2; kills++) {
      network.last.open();
      expect(network.last.sent).toHaveLength(20);
      clock.advance(50);
      network.last.end(1006);
      while (network.last.isEnded) clock.advance(100);
    }
    add("fresh");
    network.last.open();
    const sizes: number[] = [];
    for (let step = 0; step < 5; step++) {
      sizes.push(network.last.sent.length);
      clock.advance(510);
    }
    expect(sizes).toEqual([6, 11, 16, 21, 21]);
    network.last.end(1006);
    while (network.last.isEnded) clock.advance(100);
    network.last.open();
    expect(network.last.sent).toHaveLength(21);
  });

  it("quarantines the one name that kills every socket it is sent on, and keeps the others", () => {
    const { socket, network, clock, events, add } = setup();
    add("good");
    add("bad");
    socket.start();
    for (let kills = 0; kills < 12 && !events.includes("quarantined bad"); kills++) {
      const link = network.last;
      link.open();
      while (!link.sent.some((text) => text.includes("bad"))) clock.advance(100);
      clock.advance(50);
      link.end(1006);
      while (network.last === link) clock.advance(500);
    }
    expect(events).toContain("quarantined bad");
    expect(events).not.toContain("quarantined good");
    network.last.open();
    clock.advance(5_000);
    expect(network.last.sent.join(" ")).toContain("good");
    expect(network.last.sent.join(" ")).not.toContain("bad");
  });

  it("suspects no name when we ended the connection ourselves", () => {
    const { socket, network, clock, add } = setup();
    const a = add("a");
    socket.start();
    network.last.open();
    socket.reconnect("told to");
    clock.advance(1_000);
    expect(a.suspicion).toBe(0);
    expect(network.connections).toHaveLength(2);
  });
});

describe("bounds and faults", () => {
  it("refuses sends when closed and beyond its queue, and writes queued ones at the pace", () => {
    const { socket, network, clock } = setup({ messagesPerSecond: 1, maxQueuedSends: 3 });
    expect(socket.send("early")).toBe(false);
    socket.start();
    network.last.open();
    expect(["1", "2", "3", "4", "5"].map((text) => socket.send(text))).toEqual([true, true, true, true, false]);
    expect(network.last.sent).toEqual(["1"]);
    clock.advance(3_500);
    expect(network.last.sent).toEqual(["1", "2", "3", "4"]);
  });

  it("cuts a peer that takes no bytes", () => {
    const { socket, network } = setup();
    socket.start();
    network.last.open();
    network.last.bufferedBytes = 64 * 1024 * 1024;
    socket.send("x");
    expect(network.last.isTerminated).toBe(true);
  });

  it("survives a handler that throws, counts it, and goes on", () => {
    let calls = 0;
    const { socket, network } = setup({
      handlers: {
        onFrame: () => {
          calls++;
          throw new Error("bug");
        },
      },
    });
    socket.start();
    network.last.open();
    network.last.receive("1");
    network.last.receive("2");
    expect(calls).toBe(2);
    expect(socket.stats().handlerErrorCount).toBe(2);
    expect(socket.state).toBe("open");
  });

  it("stops for good: no timer, no reconnect, no frame", () => {
    const { socket, network, clock, frames, add } = setup();
    add("a", 1_000);
    socket.start();
    network.last.open();
    socket.rotate();
    network.last.open();
    socket.stop();
    network.connections[0]?.receive("late");
    clock.advance(600_000);
    expect(network.connections).toHaveLength(2);
    expect(frames).toEqual([]);
    expect(clock.pendingTimerCount).toBe(0);
  });
});
