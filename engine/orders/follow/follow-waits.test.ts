/** More runs with orders that rest than are followed at once: each waits for its turn, none is lost. */
import { describe, expect, it } from "vitest";
import type { TradeService } from "../request/service.js";
import { closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";
import type { TradeRequest } from "../types.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";

const RESTING_CLOSE = {
  orderType: "LIMIT",
  limitPrice: "101000",
  preferredExchange: "venueone",
  size: "0.01",
} as const;
const MINUTE_MS = 60_000;
/** Followed at once. */
const MOST = 2;

function narrow(): Harness {
  return createHarness({ service: { records: createRowSink(), maxFollowed: MOST } });
}

async function restAll(harness: Harness, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await harness.closeData(RESTING_CLOSE);
  await harness.clock.advanceAsync(1_000);
}

/** Credentials of an account of its own. */
function credentialsOf(account: string): TradeRequest["credentials"] {
  return { venueone: { account, secret: `secret-${account}` } };
}

/** One order that rests, each of an account of its own. */
async function restEach(harness: Harness, accounts: readonly string[]): Promise<void> {
  for (const account of accounts) {
    harness.one.setPosition(account, "LONG", 100);
    await harness.closeData({ ...RESTING_CLOSE, credentials: credentialsOf(account) });
  }
  await harness.clock.advanceAsync(1_000);
}

/** These orders fill at their venue. */
function fill({ one }: Harness, ...indexes: readonly number[]): void {
  for (const index of indexes) {
    const logged = one.log[index];
    if (logged?.order == null) throw new Error("no such order");
    logged.order = { ...logged.order, status: "FILLED", filledLots: 10, averagePrice: "101000" };
    logged.filledLots = 10;
  }
}

/** Places, in the venue's log, of the orders whose end is recorded, and how often it is. */
async function endsIn({ one, store }: Harness): Promise<readonly number[]> {
  const rows = await recordedRows(store);
  return one.log.map(
    ({ command }) =>
      rows.filter((row) => row.table === "event" && row.order === command.clientIdHex && row.status === "FILLED")
        .length,
  );
}

async function bringCredentials({ clock, run }: Harness, service: TradeService, account?: string): Promise<void> {
  const own = account === undefined ? {} : { credentials: credentialsOf(account) };
  const request = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true, ...own });
  await run(service.trade(request, closeContext(clock)));
}

describe("orders beyond those that are followed at once", () => {
  it("are followed as soon as earlier ones end", async () => {
    const harness = narrow();
    const { clock, logLines, service } = harness;
    await restAll(harness, MOST + 2);
    expect(service.status()).toMatchObject({ followedCount: MOST + 2, unattendedCount: 2 });
    expect(logLines.filter((line) => line.includes("order_follow_waits"))).toHaveLength(2);
    fill(harness, 2, 3);
    await clock.advanceAsync(5 * MINUTE_MS);
    expect(await endsIn(harness)).toEqual([0, 0, 0, 0]);
    fill(harness, 0, 1);
    await clock.advanceAsync(5 * MINUTE_MS);
    await bringCredentials(harness, service);
    await clock.advanceAsync(5 * MINUTE_MS);
    expect(await endsIn(harness)).toEqual([1, 1, 1, 1]);
    expect(service.status()).toMatchObject({ followedCount: 0, unattendedCount: 0 });
    // Nothing of them is left for the next start.
    expect((await harness.restart()).status()).toMatchObject({ followedCount: 0, unattendedCount: 0 });
  });

  it("wait over a restart, and count as those that nobody reads", async () => {
    const harness = narrow();
    await restAll(harness, MOST + 3);
    const next = await harness.restart();
    expect(next.status()).toMatchObject({ followedCount: MOST + 3, unattendedCount: MOST + 3 });
    expect(harness.logLines.filter((line) => line.includes("order_follows_wait"))).toHaveLength(1);
    fill(harness, 0, 1, 2, 3, 4);
    for (let round = 0; round < 3; round++) {
      await bringCredentials(harness, next);
      await harness.clock.advanceAsync(5 * MINUTE_MS);
    }
    expect(await endsIn(harness)).toEqual([1, 1, 1, 1, 1]);
    expect(next.status()).toMatchObject({ followedCount: 0, unattendedCount: 0 });
    expect((await harness.restart()).status()).toMatchObject({ followedCount: 0 });
  });

  it("have their turn though their first row becomes durable while it is looked for", async () => {
    const harness = narrow();
    const { clock, store } = harness;
    await restAll(harness, MOST);
    let land = (): void => {};
    const isLanded = new Promise<void>((resolve) => (land = resolve));
    store.gate = ({ writes }) =>
      writes.some(({ namespace, value }) => namespace === "followed-trade" && value !== null)
        ? isLanded
        : Promise.resolve();
    await harness.closeData(RESTING_CLOSE);
    const { get } = store;
    let isLookedFor = false;
    store.get = async (namespace, key) => {
      const row = await get.call(store, namespace, key);
      if (namespace !== "followed-trade" || isLookedFor) return row;
      isLookedFor = true;
      land();
      // Told once what is done with the commit is done.
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      return row;
    };
    fill(harness, 0);
    await clock.advanceAsync(5 * MINUTE_MS);
    expect(isLookedFor).toBe(true);
    // The credentials of its account are there: another of its orders is followed.
    fill(harness, 2);
    await clock.advanceAsync(5 * MINUTE_MS);
    expect(await endsIn(harness)).toEqual([1, 0, 1]);
  });

  it("have their turn when the store is back that refused it", async () => {
    const harness = narrow();
    const { clock, service, store } = harness;
    await restAll(harness, MOST + 1);
    const next = await harness.restart();
    const { get } = store;
    let refusals = 0;
    store.get = async (namespace, key) => {
      if (namespace === "followed-trade" && refusals++ < 1) throw new Error("refused");
      return get.call(store, namespace, key);
    };
    fill(harness, 0, 1, 2);
    for (let round = 0; round < 3; round++) {
      await bringCredentials(harness, next);
      await clock.advanceAsync(5 * MINUTE_MS);
    }
    expect(refusals).toBeGreaterThan(1);
    expect(await endsIn(harness)).toEqual([1, 1, 1]);
    expect(service.status().draining).toBe(false);
  });
});

describe("places of orders that nobody looks at, for want of credentials, after a restart", () => {
  it("go to an order whose credentials come by, though it waits behind them", async () => {
    const harness = narrow();
    await restEach(harness, ["a", "b", "c"]);
    const next = await harness.restart();
    fill(harness, 2);
    await bringCredentials(harness, next, "c");
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(await endsIn(harness)).toEqual([0, 0, 1]);
    expect(next.status()).toMatchObject({ followedCount: 2, unattendedCount: 2 });
    fill(harness, 0, 1);
    for (const account of ["a", "b"]) await bringCredentials(harness, next, account);
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(await endsIn(harness)).toEqual([1, 1, 1]);
    expect(next.status()).toMatchObject({ followedCount: 0, unattendedCount: 0 });
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("go to a new order, and those that were in them are followed when their credentials come by", async () => {
    const harness = narrow();
    await restEach(harness, ["a", "b"]);
    const next = await harness.restart();
    harness.one.setPosition("c", "LONG", 100);
    const request = closeRequest({ ...RESTING_CLOSE, credentials: credentialsOf("c") });
    await harness.run(next.trade(request, closeContext(harness.clock)));
    expect(next.status()).toMatchObject({ followedCount: 3, unattendedCount: 2 });
    fill(harness, 0, 1, 2);
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(await endsIn(harness)).toEqual([0, 0, 1]);
    for (const account of ["a", "b"]) await bringCredentials(harness, next, account);
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(await endsIn(harness)).toEqual([1, 1, 1]);
    expect((await harness.restart()).status()).toMatchObject({ followedCount: 0 });
  });

  it("stay theirs where each of them is looked at: what waits keeps no credentials", async () => {
    const harness = narrow();
    await restEach(harness, ["a", "b", "c"]);
    const { service } = harness;
    fill(harness, 2);
    await bringCredentials(harness, service, "c");
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(await endsIn(harness)).toEqual([0, 0, 0]);
    expect(service.status()).toMatchObject({ followedCount: 3, unattendedCount: 1 });
    fill(harness, 0);
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    await bringCredentials(harness, service, "c");
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(await endsIn(harness)).toEqual([1, 0, 1]);
  });
});
