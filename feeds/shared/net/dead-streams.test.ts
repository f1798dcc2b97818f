/** One stream that stays dead among many that live: the connection is theirs, and is not spent on it. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import { PersistentSocket } from "./socket.js";
import { FakeNetwork } from "../test/fake-connector.js";

const LIVENESS_MS = 1_000;

function setup(deadNames: readonly string[], count = 40, isProbed = true) {
  const clock = new VirtualClock();
  const network = new FakeNetwork();
  const events: { readonly atMs: number; readonly text: string }[] = [];
  const startedMs = clock.wallMs();
  const note = (text: string): void => void events.push({ atMs: clock.wallMs() - startedMs, text });
  const socket = new PersistentSocket({
    name: "test",
    url: "ws://venue",
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    connector: network.connector,
    handlers: {
      onFrame: (data, tsRecvNs, linkId) => socket.subscription(data.toString())?.alive(tsRecvNs, linkId),
      onSilent: (name) => note(`silent ${name}`),
      onDown: () => note("down"),
    },
    heartbeat: { pingText: "ping", everyMs: 30_000, idleMs: 60_000 },
    protocol: {
      subscribe: (names) => `sub ${names.join(",")}`,
      unsubscribe: (names) => `unsub ${names.join(",")}`,
      maxNamesPerFrame: 50,
    },
    budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 30 }),
    pacers: () => [new MessagePacer(clock, 100, 1_000)],
    maxSubscriptions: 100,
  });
  const names = Array.from({ length: count }, (_, index) => `s${index}`);
  const dead = new Set(deadNames);
  for (const name of names) {
    socket.subscribe({
      name,
      livenessMs: LIVENESS_MS,
      probe: isProbed ? () => Promise.resolve(dead.has(name) ? "dead" : "quiet") : null,
    });
  }
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      await clock.advanceAsync(100);
      const { last } = network;
      if (last.isEnded) continue;
      if (last.sent.length === 0) last.open();
      for (const name of names) if (!dead.has(name)) last.receive(name);
    }
  };
  const askedAgain = (name: string): readonly string[] =>
    network.connections.flatMap(({ sent }) => sent.filter((text) => text === `sub ${name}`));
  socket.start();
  return { clock, network, socket, events, dead, pass, askedAgain };
}

describe("a stream that stays dead", () => {
  it("replaces its connection once, and is then asked for alone with growing spacing", async () => {
    const { pass, network, events, askedAgain } = setup(["s7"]);
    await pass(600_000);
    expect(events.filter(({ text }) => text === "down")).toHaveLength(1);
    expect(network.connections).toHaveLength(2);
    const silentAt = events.filter(({ text }) => text === "silent s7").map(({ atMs }) => atMs);
    // Each is a recovery that its room starts, of 20 of weight on venuetwo.
    expect(silentAt.length).toBeLessThanOrEqual(12);
    expect(askedAgain("s7").length).toBeGreaterThanOrEqual(5);
    const gaps = silentAt.slice(3).map((atMs, index) => atMs - (silentAt[index + 2] ?? 0));
    for (const [index, gap] of gaps.slice(1).entries()) expect(gap).toBeGreaterThan((gaps[index] ?? 0) - 1_000);
    expect(gaps.at(-1)).toBeGreaterThan(60_000);
  });

  it("is alive again at once when it speaks, and the next death starts from the beginning", async () => {
    const { pass, dead, events, network } = setup(["s7"]);
    await pass(120_000);
    dead.clear();
    await pass(60_000);
    const silentBefore = events.filter(({ text }) => text === "silent s7").length;
    await pass(60_000);
    expect(events.filter(({ text }) => text === "silent s7").length).toBe(silentBefore);
    const connectionsBefore = network.connections.length;
    dead.add("s7");
    await pass(20_000);
    // Asked for again, then a fresh connection, as a first death.
    expect(network.connections.length).toBe(connectionsBefore + 1);
  });

  it("does not hide a connection of which most streams died", async () => {
    const { pass, dead, network } = setup(["s7"]);
    await pass(60_000);
    const before = network.connections.length;
    for (let index = 0; index < 30; index++) dead.add(`s${index}`);
    await pass(8_000);
    expect(network.connections.length).toBeGreaterThan(before);
  });

  it("replaces its connection no more often where most streams stay dead together: who lives keeps it", async () => {
    // The streams of one delisted market beside those of another.
    const { pass, events, network, dead } = setup(["s0", "s1", "s2"], 6, false);
    await pass(600_000);
    expect(events.filter(({ text }) => text === "down").length).toBeLessThanOrEqual(2);
    const before = network.connections.length;
    expect(before).toBeLessThanOrEqual(3);
    const asked = network.last.sent.filter((text) => text.startsWith("sub ") && text.includes("s1"));
    expect(asked.length).toBeGreaterThanOrEqual(5);
    expect(asked.length).toBeLessThanOrEqual(15);
    // The connection itself is seen to die all the same.
    for (const name of ["s3", "s4", "s5"]) dead.add(name);
    await pass(8_000);
    expect(network.connections.length).toBeGreaterThan(before);
  });

  it("looks like a connection that carries nothing at all: that one is replaced again and again", async () => {
    const all = ["s0", "s1", "s2", "s3", "s4", "s5"];
    const { pass, network, dead, events } = setup(all, 6, false);
    await pass(60_000);
    const before = network.connections.length;
    await pass(60_000);
    expect(network.connections.length).toBeGreaterThan(before);
    dead.clear();
    await pass(40_000);
    const downBefore = events.filter(({ text }) => text === "down").length;
    await pass(60_000);
    expect(events.filter(({ text }) => text === "down").length).toBe(downBefore);
  });

  it("takes no connection of its own when others died with it, each probed by itself", async () => {
    const names = Array.from({ length: 8 }, (_, index) => `s${5 * index}`);
    const { pass, network, events } = setup(names);
    await pass(600_000);
    expect(events.filter(({ text }) => text === "down")).toHaveLength(1);
    expect(network.connections).toHaveLength(2);
  });
});
