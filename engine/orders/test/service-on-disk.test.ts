/** The close service on the real store: how many durable waits a close costs, and what the next start finds. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { openLmdbStore } from "../../storage/lmdb-store.js";
import type { StateStore } from "../../storage/state-store.js";
import type { TradeService } from "../request/service.js";
import { FakeVenue } from "./fake-venue.js";
import { closeContext, closeRequest, createService, seededIds } from "./harness.js";

let directory: string;
let store: StateStore;
const clock = new VirtualClock();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-close-"));
  store = openStore();
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

const openStore = (): StateStore => openLmdbStore({ directory, clock });

function serviceOn(venue: FakeVenue, seed: number): TradeService {
  return createService({
    clock,
    store,
    rooms: [venue.room()],
    events: [],
    logLines: [],
    ids: seededIds(seed),
    overrides: {},
  });
}

const request = (account: string) =>
  closeRequest({ size: "0.1", credentials: { venueone: { account, secret: "canary-secret" } } });

/** Real commits end on real time: virtual time moves only while none is under way, all due timers in one turn. */
async function finish<T>(promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = promise.finally(() => {
    settled = true;
  });
  while (!settled) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (!settled && store.status().pendingBatchCount === 0) clock.advance(1);
  }
  return done;
}

it("the service closes 200 positions at once with a handful of commits before the sends, and replays them all after a restart", async () => {
  const venue = new FakeVenue({ venue: "venueone", clock, levelLots: 1_000_000 });
  const accounts = Array.from({ length: 200 }, (_, index) => `a${index}`);
  for (const account of accounts) venue.setPosition(account, "LONG", 400);
  let commitsAtLastSend = 0;
  venue.fate = () => {
    commitsAtLastSend = store.status().commitCount;
    return { kind: "fill", latencyMs: 50 };
  };
  const closeAll = (service: TradeService) =>
    finish(
      Promise.all(
        accounts.map((account) =>
          service.trade(
            request(account),
            closeContext(clock, { idempotencyKey: account, rawBody: Buffer.from(account) }),
          ),
        ),
      ),
    );

  const service = serviceOn(venue, 1);
  const first = await closeAll(service);
  expect(first.every((result) => result.ok && result.data.execution.state === "COMPLETED")).toBe(true);
  // Group commit: the intents and records of all of them share a few fsyncs.
  expect(commitsAtLastSend).toBeLessThanOrEqual(10);
  expect(commitsAtLastSend).toBeGreaterThanOrEqual(1);
  await finish(service.drain(10_000));
  await store.close();

  store = openStore();
  const again = await closeAll(serviceOn(venue, 2));
  expect(again).toEqual(first.map((result) => ({ ...result, replayed: true })));
  expect(venue.log).toHaveLength(200);
});
