/** An upgrade that the venue refuses with a time to wait: over real `ws` on loopback, the waiting on a virtual clock. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionBudget } from "./connection-budget.js";
import { type Connector, connectWs } from "./connector.js";
import { PersistentSocket } from "./socket.js";

const closers: (() => void)[] = [];
/** Of ws's own real timer: no machine stops for so long. */
const PATIENCE_MS = 60_000;

afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

async function startRefusing(status: number, retryAfter: string | null): Promise<string> {
  const server = createServer();
  server.on("upgrade", (_request, peer) => {
    const header = retryAfter === null ? "" : `Retry-After: ${retryAfter}\r\n`;
    peer.end(`HTTP/1.1 ${status} Refused\r\n${header}Content-Length: 0\r\nConnection: close\r\n\r\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => server.close());
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function setup(url: string, clock = new VirtualClock()) {
  const budget = new ConnectionBudget(clock, { maxConnections: 4, connectsPerMinute: 100 });
  let connectCount = 0;
  const reasons: string[] = [];
  let refused: () => void = () => {};
  const connector: Connector = (target, handlers, options) => {
    connectCount++;
    return connectWs(target, handlers, options);
  };
  const add = (seed: number): PersistentSocket => {
    const socket = new PersistentSocket({
      name: "refused",
      url,
      clock,
      random: createSeededRandom(seed),
      logger: silentLogger,
      connector,
      handlers: {
        onFrame: () => {},
        onDown: (_code, reason) => {
          reasons.push(reason);
          refused();
        },
      },
      heartbeat: { pingText: null, everyMs: 0, idleMs: 1e9 },
      protocol: { subscribe: () => "", unsubscribe: () => "", maxNamesPerFrame: 1 },
      budget,
      pacers: () => [],
      maxSubscriptions: 1,
      connectTimeoutMs: PATIENCE_MS,
    });
    closers.push(() => socket.stop());
    return socket;
  };
  return {
    clock,
    add,
    reasons,
    connects: () => connectCount,
    /** Settles at the next refusal. */
    nextRefusal: () => new Promise<void>((resolve) => (refused = resolve)),
  };
}

/** A socket whose first connect has been refused. */
async function refusedOnce(status: number, retryAfter: string | null, clock = new VirtualClock()) {
  const bench = setup(await startRefusing(status, retryAfter), clock);
  const down = bench.nextRefusal();
  bench.add(1).start();
  await down;
  expect(bench.connects()).toBe(1);
  return bench;
}

describe("an upgrade refused with Retry-After", () => {
  it.each([429, 418, 503])("is tried again after the time that a %i names, and not before", async (status) => {
    const { clock, connects, reasons } = await refusedOnce(status, "40");
    expect(reasons).toEqual([`Unexpected server response: ${status}`]);
    clock.advance(39_999);
    await Promise.resolve();
    expect(connects()).toBe(1);
    clock.advance(4_002);
    await Promise.resolve();
    expect(connects()).toBe(2);
  });

  it("may name a date", async () => {
    const clock = new VirtualClock();
    const { connects } = await refusedOnce(429, new Date(clock.wallMs() + 60_000).toUTCString(), clock);
    // The date has whole seconds.
    clock.advance(58_999);
    expect(connects()).toBe(1);
    clock.advance(7_002);
    expect(connects()).toBe(2);
  });

  it("holds us for minutes at most: a time of a day is not followed", async () => {
    const { clock, connects } = await refusedOnce(429, "86400");
    clock.advance(299_999);
    expect(connects()).toBe(1);
    clock.advance(30_002);
    expect(connects()).toBe(2);
  });

  it.each([
    ["a status that names no limit", 403, "40"],
    ["a limit without a time", 429, null],
    ["a time that can not be read", 429, "soon"],
  ])("waits as after any failed connect for %s", async (_name, status, retryAfter) => {
    const { clock, connects } = await refusedOnce(status, retryAfter);
    clock.advance(500);
    expect(connects()).toBe(2);
  });

  it("holds every socket of the same address, also one that has not been refused itself", async () => {
    const { clock, add, connects } = await refusedOnce(429, "40");
    const other = add(2);
    other.start();
    expect(other.state).toBe("waiting");
    clock.advance(39_999);
    expect(connects()).toBe(1);
    clock.advance(4_002);
    expect(connects()).toBe(3);
  });

  it("waits again when it is refused again", async () => {
    const { clock, connects, nextRefusal } = await refusedOnce(503, "40");
    const down = nextRefusal();
    clock.advance(44_001);
    expect(connects()).toBe(2);
    await down;
    clock.advance(39_999);
    expect(connects()).toBe(2);
    clock.advance(4_002);
    expect(connects()).toBe(3);
  });
});
