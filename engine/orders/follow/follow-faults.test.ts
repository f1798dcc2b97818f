/** Orders that rest, followed while a stream, the store, the wall clock or one of several orders goes wrong. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { AccountEvent, AccountStreams } from "../../ports.js";
import { AFTER_SCENES } from "../test/after-reply-scenes.js";
import { createHarness, type Harness } from "../test/harness.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { FakeStreams } from "../test/fake-streams.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";

const RESTING_CLOSE = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function recorded(streams: AccountStreams | null = null): Harness {
  return createHarness({
    service: { records: createRowSink() },
    prepareVenue: (venue) => {
      venue.streams = streams;
    },
  });
}

/** Something happens to the n-th order at its venue. */
function change(harness: Harness, index: number, change: Partial<VenueOrder>): void {
  const entry = harness.one.log[index];
  if (entry?.order == null) throw new Error("no such order");
  entry.order = { ...entry.order, averagePrice: "101000", ...change };
  entry.filledLots = entry.order.filledLots;
}

async function statesIn(harness: Harness): Promise<string[]> {
  return (await recordedRows(harness.store)).flatMap((row) => (row.table === "event" ? [row.status] : []));
}

/** Says that it is down before its opening has returned, so often. */
class DownStreams extends FakeStreams {
  downs = 1;
  opened = 0;

  override openAccountStream(
    session: Parameters<AccountStreams["openAccountStream"]>[0],
    onEvent: (event: AccountEvent) => void,
  ): ReturnType<AccountStreams["openAccountStream"]> {
    this.opened++;
    const opened = super.openAccountStream(session, onEvent);
    if (this.downs-- > 0) onEvent({ kind: "state", state: "DOWN" });
    return opened;
  }
}

describe("a stream that goes down while it is being opened", () => {
  it("is closed, and another one is opened in its place", async () => {
    const streams = new DownStreams();
    const harness = recorded(streams);
    await harness.closeData(RESTING_CLOSE);
    expect(streams.listenerCount).toBe(0);
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(streams).toMatchObject({ opened: 2, listenerCount: 1 });
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(streams.listenerCount).toBe(0);
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
  });
});

describe("an end that the store refuses", () => {
  it.each([
    ["of all that rested", { status: "FILLED", filledLots: 250 }],
    ["of a part of it", { status: "PARTIALLY_FILLED", filledLots: 100 }],
  ] as const)("longer than a commit is tried, %s, is stored when the store is back", async (_, seen) => {
    const harness = recorded();
    await harness.closeData(RESTING_CLOSE, { idempotencyKey: "k" });
    await harness.clock.advanceAsync(1_000);
    harness.store.gate = () => Promise.reject(storeRefusal());
    change(harness, 0, seen);
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    harness.store.gate = async () => {};
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(await statesIn(harness)).toEqual(["INTENT", "SENT", "OPEN", seen.status]);
  });

  it("is lost with the process", async () => {
    const harness = recorded();
    await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(1_000);
    harness.store.gate = () => Promise.reject(storeRefusal());
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    await harness.run(harness.service.drain(5_000));
    expect(harness.service.status().inFlight).toBe(0);
  });
});

function storeRefusal(): Error {
  return storeUnavailable("DISK_FULL");
}

describe("two orders of one trade that rest", () => {
  const entry = { stopLoss: "95000", takeProfit: "105000" };

  it("are dropped one by one: what was dropped is not read any more", async () => {
    const harness = recorded();
    harness.one.setPosition("acct-venueone", "LONG", 0);
    await harness.openData(entry, { preferredExchange: "venueone" });
    expect(harness.one.log).toHaveLength(3);
    const [, lost] = harness.one.log;
    if (lost === undefined) throw new Error("no take-profit");
    // Its venue has forgotten the one; the other is open.
    lost.visibleAtMs = Number.POSITIVE_INFINITY;
    await harness.clock.advanceAsync(60 * MINUTE_MS);
    expect(harness.logLines.filter((line) => line.includes("order_follow_ended"))).toHaveLength(1);
    change(harness, 2, { status: "FILLED", filledLots: 250, averagePrice: "94900" });
    await harness.clock.advanceAsync(60 * MINUTE_MS);
    expect(harness.logLines.filter((line) => line.includes("order_follow_ended"))).toHaveLength(1);
    expect(harness.service.status().followedCount).toBe(0);
    // Nothing of it is left for the next start.
    expect((await harness.restart()).status().followedCount).toBe(0);
  });
});

describe("the longest time that an order is followed", () => {
  it("does not end early where the wall clock is set forward", async () => {
    const harness = recorded();
    await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(1_000);
    harness.clock.stepWall(31 * DAY_MS);
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(harness.service.status().followedCount).toBe(1);
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect((await statesIn(harness)).at(-1)).toBe("FILLED");
  });

  it("does not end late where it is set back", async () => {
    const harness = recorded();
    await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(1_000);
    harness.clock.stepWall(-31 * DAY_MS);
    for (let day = 0; day < 31; day++) {
      harness.clock.advance(DAY_MS);
      // Somebody of the account comes by, so that there are credentials to look with.
      await harness.close({ size: "0.01", preferredExchange: "venueone", dryRun: true });
      await harness.clock.advanceAsync(MINUTE_MS);
    }
    expect(harness.service.status().followedCount).toBe(0);
  });
});

describe("an order whose account is streamed", () => {
  it("and that filled before the stream was open is read within a minute of the venue's answering again", async () => {
    const { harness } = await AFTER_SCENES.filledUnstreamed();
    expect(await statesIn(harness)).toEqual(["INTENT", "SENT", "OPEN", "FILLED"]);
  });
});
