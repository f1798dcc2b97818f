/** A name that is taken for a killer of connections may be innocent: it is asked for again, alone, with growing spacing. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionBudget, MessagePacer } from "./connection-budget.js";
import { PersistentSocket } from "./socket.js";
import type { FakeConnection } from "../test/fake-connector.js";
import { FakeNetwork } from "../test/fake-connector.js";

const STEP_MS = 50;

function setup(names: readonly string[], seed = 1) {
  const clock = new VirtualClock();
  const network = new FakeNetwork();
  const opened = new Set<FakeConnection>();
  const givenUpAtMs: number[] = [];
  const givenUp: string[] = [];
  const startedMs = clock.wallMs();
  const socket = new PersistentSocket({
    name: "test",
    url: "ws://venue",
    clock,
    random: createSeededRandom(seed),
    logger: silentLogger,
    connector: network.connector,
    handlers: {
      onFrame: (data, tsRecvNs, linkId) => socket.subscription(data.toString())?.alive(tsRecvNs, linkId),
      onQuarantined: (name) => {
        givenUp.push(name);
        givenUpAtMs.push(clock.wallMs() - startedMs);
      },
    },
    heartbeat: { pingText: null, everyMs: 0, idleMs: 1e9 },
    protocol: {
      subscribe: (asked) => `sub ${asked.join(",")}`,
      unsubscribe: (asked) => `unsub ${asked.join(",")}`,
      maxNamesPerFrame: 10,
    },
    budget: new ConnectionBudget(clock, { maxConnections: 4, connectsPerMinute: 60 }),
    pacers: () => [new MessagePacer(clock, 100, 1_000)],
    maxSubscriptions: 20,
  });
  for (const name of names) socket.subscribe({ name, livenessMs: 0, probe: null });
  socket.start();
  const isAsked = (connection: FakeConnection, name: string): boolean =>
    connection.sent.some((text) => text.startsWith("sub ") && text.slice(4).split(",").includes(name));
  /** Time passes: connections open at once, `kills` says when the venue ends one. */
  const pass = (ms: number, kills: (connection: FakeConnection, elapsedMs: number) => boolean): void => {
    for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += STEP_MS) {
      const { last } = network;
      if (!last.isEnded && !opened.has(last)) {
        opened.add(last);
        last.open();
      }
      if (!last.isEnded && kills(last, elapsedMs)) last.end(1006);
      else if (!last.isEnded) for (const name of names) if (isAsked(last, name)) last.receive(name);
      clock.advance(STEP_MS);
    }
  };
  return { clock, network, socket, givenUp, givenUpAtMs, pass, isAsked };
}

describe("a name in quarantine", () => {
  it("is asked for again after a storm that had nothing to do with it, and speaks", () => {
    const { network, socket, givenUp, pass, isAsked } = setup(["innocent"]);
    // Every connection ends soon after it was opened, whatever is asked for on it.
    pass(60_000, () => true);
    expect(givenUp).toContain("innocent");
    pass(120_000, () => false);
    expect(isAsked(network.last, "innocent")).toBe(true);
    expect(socket.subscription("innocent")).toMatchObject({ isQuarantined: false, suspicion: 0 });
    expect(socket.stats().quarantinedCount).toBe(0);
  });

  it.each(Array.from({ length: 10 }, (_, index) => index + 1))(
    "is back after a storm of losses by chance, seed %i",
    (seed) => {
      const names = ["a", "b", "c", "d", "e", "f"];
      const { network, pass, isAsked } = setup(names, seed);
      const random = createSeededRandom(seed);
      pass(300_000, () => random.next() < 0.2);
      pass(900_000, () => false);
      expect(names.filter((name) => !isAsked(network.last, name))).toEqual([]);
    },
  );

  it.each(Array.from({ length: 40 }, (_, index) => index + 1))(
    "is back within a quarter of a minute after eighteen seconds of losses by chance, seed %i",
    (seed) => {
      const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
      const { network, pass, isAsked } = setup(names, seed);
      const random = createSeededRandom(seed);
      pass(18_000, () => random.next() < 0.4);
      pass(15_000, () => false);
      expect(names.filter((name) => !isAsked(network.last, name))).toEqual([]);
    },
  );

  it("costs the others a connection ever more rarely when it does kill each one", () => {
    const { network, givenUp, givenUpAtMs, pass, isAsked } = setup(["good", "bad"]);
    pass(7_200_000, (connection) => isAsked(connection, "bad"));
    expect(new Set(givenUp)).toEqual(new Set(["bad"]));
    const gaps = givenUpAtMs.slice(1).map((atMs, index) => atMs - (givenUpAtMs[index] ?? 0));
    expect(gaps.length).toBeGreaterThanOrEqual(8);
    expect(gaps.length).toBeLessThanOrEqual(20);
    expect(gaps[0]).toBeLessThan(60_000);
    for (const [index, gap] of gaps.entries())
      expect(gap).toBeGreaterThan(Math.min(600_000, 1.5 * (gaps[index - 1] ?? 0)) - 1_000);
    expect(isAsked(network.last, "good")).toBe(true);
  });

  it.each([0, 3, 4, 11])("is cornered wherever it is among the others, here at %i", (at) => {
    const names = Array.from({ length: 12 }, (_, index) => (index === at ? "bad" : `good${index}`));
    const { network, givenUp, pass, isAsked } = setup(names);
    pass(60_000, (connection) => isAsked(connection, "bad"));
    expect([...new Set(givenUp)]).toEqual(["bad"]);
    for (const name of names) expect([name, isAsked(network.last, name)]).toEqual([name, name !== "bad"]);
  });
});
