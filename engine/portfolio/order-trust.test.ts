/** When a list of open orders is reported LIVE, and what is reported when it is not. On virtual time. */
import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { type AccountHandle, Portfolio } from "./portfolio.js";
import { type FakeAccount, AccountVenue } from "./test/fake-accounts.js";

const INTERVAL_MS = 15_000;
/** The first list that is sure to include everything before the stream was LIVE is requested 1.5 s after that. */
const LIVE_AFTER_MS = 2_000;
const PACES = {
  venuetwo: {
    positions: { looksPerMinute: 60, intervalMsMin: 5_000 },
    orders: { looksPerMinute: 4, intervalMsMin: INTERVAL_MS },
  },
};

let clock: VirtualClock;
let two: AccountVenue;
let portfolio: Portfolio;
let alice: FakeAccount;

function setUp(streamPlaces: number | null): void {
  clock = new VirtualClock();
  two = new AccountVenue("venuetwo", clock, { streamPlaces });
  alice = two.addAccount("alice");
  portfolio = new Portfolio({
    rooms: new Map([[two.venue, two.room]]),
    clock,
    logger: silentLogger,
    hash: { hmacHex: (purpose, parts) => JSON.stringify([purpose, ...parts.map(String)]) },
    paces: PACES,
  });
}

function open(wantsOrders = true): AccountHandle {
  const access = { kind: "credentials", block: two.credentials(alice) } as const;
  const opened = portfolio.open("venuetwo", access, wantsOrders, () => {}, null, null);
  if (!opened.ok) throw new Error(opened.code);
  return opened.handle;
}

const shownIds = ({ watch }: AccountHandle): readonly string[] | null =>
  watch.openOrders?.map(({ venueOrderId }) => venueOrderId) ?? null;
const lists = () => two.reads.filter(({ what }) => what === "orders");
const monoMs = (): number => clock.monoNs() / 1e6;

/** Only reads of lists fail. */
function failLists(): void {
  two.admit = async (_, weight) => weight !== 20;
}

describe("a polled list of open orders", () => {
  beforeEach(() => setUp(null));

  it("whose read fails is shown with its own error and the time at which it was last right", async () => {
    alice.rest("BTC", 10);
    const handle = open();
    await clock.advanceAsync(1_000);
    const coverage = handle.watch.ordersCoverage();
    expect(coverage).toMatchObject({ state: "SNAPSHOT", mode: "poll", source: "venue", intervalMs: INTERVAL_MS });
    const { asOf } = coverage;
    failLists();
    alice.cancel("alice-1");
    await clock.advanceAsync(600_000);
    expect(shownIds(handle)).toEqual(["alice-1"]);
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "ERROR", asOf, error: { code: "RATE_LIMITED" } });
    // The positions of the same account are still read.
    expect(handle.watch.coverage()).toMatchObject({ state: "SNAPSHOT", error: null, intervalMs: 5_000 });
    two.admit = async () => true;
    await clock.advanceAsync(30_000);
    expect(shownIds(handle)).toEqual([]);
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "SNAPSHOT", error: null });
    expect(clock.wallMs() - (handle.watch.ordersCoverage().asOf ?? 0)).toBeLessThanOrEqual(INTERVAL_MS);
  });

  it("is right, and reported so, when reads of the positions fail", async () => {
    alice.rest("BTC", 10);
    const handle = open();
    await clock.advanceAsync(1_000);
    two.admit = async (_, weight) => weight === 20;
    await clock.advanceAsync(30_000);
    expect(handle.watch.coverage()).toMatchObject({ state: "ERROR" });
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "SNAPSHOT", error: null });
  });

  it("is dropped with its last watcher: a later one sees the orders of then", async () => {
    alice.rest("BTC", 10);
    // Keeps the account open, without its orders.
    open(false);
    const first = open();
    await clock.advanceAsync(1_000);
    expect(shownIds(first)).toEqual(["alice-1"]);
    first.close();
    alice.cancel("alice-1");
    await clock.advanceAsync(60_000);
    failLists();
    const again = open();
    await clock.advanceAsync(1_000);
    expect(shownIds(again)).toBeNull();
    expect(again.watch.ordersCoverage()).toMatchObject({ state: "ERROR", asOf: null });
    two.admit = async () => true;
    await clock.advanceAsync(40_000);
    expect(shownIds(again)).toEqual([]);
  });
});

describe("a streamed list of open orders", () => {
  beforeEach(() => setUp(100));

  it("is LIVE, and is read in its interval and in the lane of background reads, whatever happens", async () => {
    const handle = open();
    await clock.advanceAsync(LIVE_AFTER_MS);
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "LIVE", mode: "push", source: "stream", error: null });
    const before = lists().length;
    for (let minute = 0; minute < 5; minute++) {
      const { venueOrderId } = alice.rest("BTC", 10);
      await clock.advanceAsync(30_000);
      alice.cancel(venueOrderId);
      await clock.advanceAsync(30_000);
      expect(handle.watch.ordersCoverage().state).toBe("LIVE");
    }
    const read = lists().slice(before);
    expect(read.length).toBeGreaterThan(15);
    expect(read.length).toBeLessThanOrEqual(21);
    expect(new Set(read.map(({ lane }) => lane))).toEqual(new Set(["background"]));
  });

  it("is not LIVE from when the room doubts its order events until a list that is surely newer", async () => {
    const handle = open();
    await clock.advanceAsync(20_000);
    alice.isLossy = true;
    const stop = alice.rest("BTC", 10);
    alice.ordersDoubtMs = monoMs();
    const before = lists().length;
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "SNAPSHOT", mode: "push", intervalMs: INTERVAL_MS });
    const { asOf } = handle.watch.ordersCoverage();
    expect(asOf).toBeLessThanOrEqual(clock.wallMs());
    await clock.advanceAsync(1_000);
    // The doubt causes no extra read: at most the one that was due.
    expect(lists().length).toBeLessThanOrEqual(before + 1);
    alice.isLossy = false;
    await clock.advanceAsync(3 * INTERVAL_MS);
    expect(shownIds(handle)).toEqual([stop.venueOrderId]);
    expect(handle.watch.ordersCoverage().state).toBe("LIVE");
  });

  it("that contradicts the events is LIVE again only after two lists in a row without news", async () => {
    const first = alice.rest("BTC", 10);
    const handle = open();
    await clock.advanceAsync(LIVE_AFTER_MS);
    alice.isLossy = true;
    alice.cancel(first.venueOrderId);
    alice.rest("ETH", 5);
    let wasWithheld = false;
    for (let second = 0; second < 2 * INTERVAL_MS; second += 1_000) {
      await clock.advanceAsync(1_000);
      wasWithheld ||= handle.watch.ordersCoverage().state === "SNAPSHOT";
    }
    expect(wasWithheld).toBe(true);
    // The state from the list is shown, for both orders.
    expect(shownIds(handle)).toEqual(["alice-2"]);
    // Events are lost again and again: it is never LIVE meanwhile.
    for (let round = 0; round < 6; round++) {
      const { venueOrderId } = alice.rest("BTC", 3);
      await clock.advanceAsync(INTERVAL_MS);
      alice.cancel(venueOrderId);
      expect(handle.watch.ordersCoverage().state).toBe("SNAPSHOT");
    }
    alice.isLossy = false;
    await clock.advanceAsync(5 * INTERVAL_MS);
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "LIVE", error: null });
  });

  it("is not contradicted by an event that arrives a moment after the list", async () => {
    const handle = open();
    await clock.advanceAsync(1_000);
    let held: (() => void) | null = null;
    two.admit = async (_, weight) => {
      if (weight === 20 && held === null) {
        alice.isLossy = true;
        const order = alice.rest("BTC", 10);
        alice.isLossy = false;
        held = () => alice.tell({ kind: "order", order });
        clock.setTimer(() => held?.(), 200);
      }
      return true;
    };
    await clock.advanceAsync(INTERVAL_MS + 1_000);
    expect(held).not.toBeNull();
    expect(handle.watch.ordersCoverage().state).toBe("LIVE");
  });

  it("is not changed by a list that is older than the events before it", async () => {
    const first = alice.rest("BTC", 10);
    const handle = open();
    await clock.advanceAsync(1_000);
    // The venue's lists lag by a second: what happened within it is not in them.
    const lagMs = 1_000;
    const readLists = two.openOrdersOf;
    const past: { readonly atMs: number; readonly rows: ReturnType<typeof readLists> }[] = [];
    two.openOrdersOf = (account) => {
      const untilMs = monoMs() - lagMs;
      return past.filter(({ atMs }) => atMs <= untilMs).at(-1)?.rows ?? readLists(account);
    };
    let last = first;
    for (let tick = 0; tick < 160; tick++) {
      past.push({ atMs: monoMs(), rows: readLists(alice) });
      if (tick % 3 === 1) {
        alice.cancel(last.venueOrderId);
        last = alice.rest("BTC", 10);
      }
      await clock.advanceAsync(300);
      expect(shownIds(handle)).toEqual([last.venueOrderId]);
    }
  });

  it("is not LIVE after a long time without a list", async () => {
    const handle = open();
    await clock.advanceAsync(1_000);
    two.admit = (_, weight) => (weight === 20 ? new Promise(() => {}) : Promise.resolve(true));
    await clock.advanceAsync(10 * INTERVAL_MS);
    expect(handle.watch.coverage().state).toBe("LIVE");
    expect(handle.watch.ordersCoverage().state).toBe("SNAPSHOT");
  });

  it("is not LIVE while the end of an order that left the list is not known", async () => {
    const gone = alice.rest("BTC", 10);
    const handle = open();
    await clock.advanceAsync(1_000);
    alice.drop();
    alice.cancel(gone.venueOrderId);
    // Single orders are looked up slowly.
    two.admit = (_, weight) =>
      weight === 2 ? new Promise((resolve) => clock.setTimer(() => resolve(true), 4_000)) : Promise.resolve(true);
    await clock.advanceAsync(500);
    alice.restore();
    for (let tick = 0; tick < 300; tick++) {
      await clock.advanceAsync(100);
      if (handle.watch.ordersCoverage().state === "LIVE") expect(shownIds(handle)).toEqual([]);
    }
    expect(handle.watch.ordersCoverage().state).toBe("LIVE");
    expect(shownIds(handle)).toEqual([]);
  });

  it("is not LIVE while the look-up of an order that left the list still shows it open, since the venue's index lags", async () => {
    const gone = alice.rest("BTC", 10);
    const handle = open();
    await clock.advanceAsync(1_000);
    alice.drop();
    alice.cancel(gone.venueOrderId);
    await clock.advanceAsync(500);
    // The end shows in the list already, but not in look-ups of single orders.
    two.openOrdersOf = () => [];
    alice.open.set(gone.venueOrderId, gone);
    const told = alice.open;
    clock.setTimer(() => told.delete(gone.venueOrderId), 1_000);
    for (const stream of alice.streams) {
      stream.state = "LIVE";
      stream.onEvent({ kind: "state", state: "LIVE" });
    }
    for (let tick = 0; tick < 5 * INTERVAL_MS; tick += 100) {
      await clock.advanceAsync(100);
      if (handle.watch.ordersCoverage().state === "LIVE") expect(shownIds(handle)).toEqual([]);
    }
    expect(handle.watch.ordersCoverage().state).toBe("LIVE");
    expect(shownIds(handle)).toEqual([]);
  });
});
