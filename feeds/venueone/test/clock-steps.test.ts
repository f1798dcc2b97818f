/** The room over a real HTTP server, while our wall clock is set forward and back: what it tells the venue to do at a time. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { untilSettled } from "../../shared/test/http-time.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { createVenueoneRoom } from "../room.js";
import { KEY } from "./trading-harness.js";

const OPTIONS: CallOptions = { timeoutMs: 4_000, lane: "exit" };
/** `Date` headers say whole seconds, and both ends of a round trip count. */
const TOLERANCE_MS = 1_100;
const AHEAD_MS = 60_000;

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The venue's clock goes right whatever ours says. `isMute`: public questions are refused. */
async function start() {
  const clock = new VirtualClock();
  const venue = { isMute: false, times: [] as (number | undefined)[] };
  const answerOf = (query: { readonly type?: string; readonly action?: { readonly time?: number } }): unknown => {
    if (query.action !== undefined) {
      venue.times.push(query.action.time);
      return { status: "ok", response: { type: "default" } };
    }
    if (query.type === "userRole") return { role: "user" };
    return query.type === "metaAndAssetCtxs" ? [{ universe: [], marginTables: [], collateralToken: 0 }, []] : {};
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const query = JSON.parse(body) as Parameters<typeof answerOf>[0];
      // A step that nobody has measured is in no header either.
      if (venue.isMute) response.sendDate = false;
      else response.setHeader("date", new Date(clock.trueMs()).toUTCString());
      response.end(JSON.stringify(answerOf(query)));
    });
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const room = createVenueoneRoom({
    restUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    wsUrl: "ws://venue",
    isMainnet: true,
    symbols: "all",
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    connector: new FakeNetwork().connector,
  });
  closers.push(() => room.stop());
  await untilSettled(clock, room.start());
  const opened = room.openSession({ privateKey: KEY }, null);
  if (!opened.ok || room.orders.scheduleCancel === undefined) throw new Error("no session");
  const { session } = opened;
  const schedule = (atMs: number | null) =>
    untilSettled(clock, room.orders.scheduleCancel?.(session, atMs, OPTIONS) ?? Promise.reject(new Error("none")));
  return { clock, venue, room, schedule };
}

describe("a switch that is armed after our wall clock was set", () => {
  for (const stepMs of [90_000, -90_000, 3_600_000]) {
    it(`by ${stepMs / 1_000} s fires at its time by the venue's clock`, async () => {
      const { clock, venue, schedule } = await start();
      expect(await schedule(clock.wallMs() + AHEAD_MS)).toMatchObject({ outcome: "accepted" });
      clock.stepWall(stepMs);
      const wantedMs = clock.trueMs() + AHEAD_MS;
      expect(await schedule(clock.wallMs() + AHEAD_MS)).toMatchObject({ outcome: "accepted" });
      expect(Math.abs((venue.times.at(-1) ?? 0) - wantedMs)).toBeLessThan(TOLERANCE_MS);
    });
  }

  it("is refused, not armed at a guess, while no answer tells the venue's time; its end is sent all the same", async () => {
    const { clock, venue, schedule } = await start();
    expect(await schedule(clock.wallMs() + AHEAD_MS)).toMatchObject({ outcome: "accepted" });
    venue.isMute = true;
    clock.stepWall(90_000);
    expect(await schedule(clock.wallMs() + AHEAD_MS)).toMatchObject({ outcome: "rejected", sent: false });
    expect(venue.times).toHaveLength(1);
    expect(await schedule(null)).toMatchObject({ outcome: "accepted" });
    expect(venue.times).toEqual([expect.any(Number), undefined]);
  });
});
