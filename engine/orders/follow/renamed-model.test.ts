/**
 * Amends of one order at a venue that gives it a new id each time, with fills before, between and after, streamed or not:
 * what is recorded is what all its ids filled, in one row of more versions, it ends when the last of them does, and each new
 * price asks for what is left. Looks may have no answer for several amends, and the venue's index of client ids may lag
 * behind the last one. `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../domain/random.js";
import { CREDENTIALS } from "../single/test/desk-harness.js";
import { renamingDesk, type RenamingDesk } from "../single/test/renaming-desk.js";
import { INDEXING_LAG_MS } from "../send/absence-proof.js";
import { recordedRows } from "../test/row-sink.js";

const FAULTS = [
  "an id's cancel is the end",
  "earlier ids are forgotten",
  "a replaced id is not read",
  "an id between two looks is not read",
  "a young cancel is the end",
  "figures of a new id are late ones",
  "the newest id names what filled",
] as const;
type Fault = (typeof FAULTS)[number];

const planted = vi.hoisted((): { fault: Fault | null } => ({ fault: null }));
vi.mock(import("../order-parts.js"), async (original) => {
  const parts = await original();
  return {
    ...parts,
    isOneIdAlone: (...of) => planted.fault !== "an id's cancel is the end" && parts.isOneIdAlone(...of),
    wholeOrder: (known, seen) =>
      planted.fault === "earlier ids are forgotten" ? { order: seen } : parts.wholeOrder(known, seen),
    unreadIds: (attempt, seen) => {
      const { otherIds, ...known } = attempt;
      if (planted.fault === "an id between two looks is not read") return parts.unreadIds(known, seen);
      const replaced = parts.replacedId(attempt, seen);
      const ids = parts.unreadIds(attempt, seen);
      return planted.fault === "a replaced id is not read" ? ids.filter((id) => id !== replaced) : ids;
    },
  };
});
vi.mock(import("../send/absence-proof.js"), async (original) => {
  const proof = await original();
  return {
    ...proof,
    isYoungCancel: (...of) => planted.fault !== "a young cancel is the end" && proof.isYoungCancel(...of),
  };
});
vi.mock(import("../single/recent-orders.js"), async (original) => {
  const recent = await original();
  class Recent extends recent.RecentOrders {
    override change(
      ...[account, order, change, renamed]: Parameters<InstanceType<typeof recent.RecentOrders>["change"]>
    ) {
      const isForgotten = planted.fault === "figures of a new id are late ones";
      super.change(account, order, change, ...(isForgotten || renamed === undefined ? [] : [renamed]));
    }
  }
  return { ...recent, RecentOrders: Recent };
});
vi.mock(import("../run-writes.js"), async (original) => {
  const writes = await original();
  return {
    ...writes,
    markRecorded: (attempt, { fillId, ...recorded }) => {
      const isNewest = planted.fault === "the newest id names what filled" && fillId !== undefined;
      const named = fillId === undefined ? {} : { fillId: isNewest ? (attempt.order?.venueOrderId ?? "") : fillId };
      writes.markRecorded(attempt, { ...recorded, ...named });
    },
  };
});

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 62_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 12);
const STEPS = 6;
const LIMIT = { type: "LIMIT", price: "95000", quantity: "0.25", timeInForce: "GTC" } as const;
const MINUTE_MS = 60_000;

interface Played {
  readonly recordedLots: number;
  readonly filledLots: number;
  readonly state: string | undefined;
  readonly end: string;
  readonly usedToday: number;
  readonly fillIds: number;
  /** New prices that asked for more or less than was left. */
  readonly wrongSizes: number;
}

async function play(seed: number): Promise<Played> {
  const random = createSeededRandom(seed);
  const desk = await renamingDesk();
  await desk.order(LIMIT);
  let wrongSizes = 0;
  for (let step = 0; step < STEPS; step++) {
    if (random.next() < 0.5) fill(desk, random);
    if (random.next() < 0.6) await desk.clock.advanceAsync(random.next() * 3 * MINUTE_MS);
    desk.isHidden = random.next() < 0.4;
    if (random.next() < 0.6) await amend(desk, random);
    if (random.next() < 0.2) wrongSizes += await reprice(desk, random);
  }
  desk.isHidden = false;
  if (random.next() < 0.5) {
    // Of one whose new id is known it may lag for longer.
    desk.isUnnamed = random.next() < 0.5;
    desk.lagMs = random.next() * (desk.isUnnamed ? INDEXING_LAG_MS : MINUTE_MS);
    await amend(desk, random);
  }
  const { qtyLots } = desk.change({});
  const isFilled = random.next() < 0.5;
  const end = isFilled
    ? ({ status: "FILLED", filledLots: qtyLots, averagePrice: "95000" } as const)
    : ({ status: "CANCELED" } as const);
  const order = desk.change({ ...end, tsVenueMs: desk.clock.wallMs() });
  if (random.next() < 0.5) desk.streams.tell(CREDENTIALS.account, { kind: "order", order });
  await desk.clock.advanceAsync(20 * MINUTE_MS);
  const rows = await recordedRows(desk.store);
  return {
    recordedLots: rows.findLast((row) => row.table === "fill")?.lots ?? 0,
    filledLots: desk.filledLots(),
    state: rows.findLast((row) => row.table === "event")?.status,
    end: end.status,
    usedToday: Number(desk.guards.status().usedToday),
    fillIds: new Set(rows.flatMap((row) => (row.table === "fill" ? [row.id] : []))).size,
    wrongSizes,
  };
}

function fill(desk: RenamingDesk, random: Random, mostLots = 60): void {
  const { filledLots, qtyLots } = desk.change({});
  const lots = Math.min(qtyLots - 1, filledLots + 1 + Math.floor(random.next() * mostLots));
  const order = desk.change({ status: "PARTIALLY_FILLED", filledLots: lots, averagePrice: "95000" });
  if (random.next() < 0.5) desk.streams.tellFill(CREDENTIALS.account, order, lots - filledLots, `t${random.next()}`);
}

async function amend(desk: RenamingDesk, random: Random): Promise<void> {
  const { filledLots, qtyLots } = desk.change({});
  desk.filledMeanwhile = random.next() < 0.3 ? Math.min(qtyLots - 1, filledLots + 10) : 0;
  const lots = filledLots + 100 + Math.floor(random.next() * 300);
  expect(await desk.amend((lots / 1_000).toFixed(3))).toMatchObject({ ok: true, outcome: "ACCEPTED" });
}

/** As often as makes a burst, with fills between. Returns how often it asked for a wrong size. */
async function reprice(desk: RenamingDesk, random: Random): Promise<number> {
  let wrongCount = 0;
  desk.filledMeanwhile = 0;
  for (let times = random.next() < 0.5 ? 1 : 11; times > 0; times--) {
    fill(desk, random, 4);
    const { filledLots, qtyLots } = desk.change({});
    await desk.reprice(String(94_000 + Math.floor(random.next() * 1_000)));
    if (desk.change({}).qtyLots !== qtyLots - filledLots) wrongCount++;
  }
  return wrongCount;
}

/** Whether in any of the runs something is recorded otherwise than it was. */
async function isSeen(): Promise<boolean> {
  for (let run = 0; run < RUNS; run++) {
    const { end, fillIds, filledLots, recordedLots, state, wrongSizes } = await play(FIRST_SEED + run);
    if (recordedLots !== filledLots || state !== end || fillIds > 1 || wrongSizes > 0) return true;
  }
  return false;
}

afterEach(() => {
  planted.fault = null;
});

describe("amends of an order that gets a new id each time", () => {
  it.each(Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run))("lose no fill, seed %i", async (seed) => {
    const { end, fillIds, filledLots, recordedLots, state, usedToday, wrongSizes } = await play(seed);
    expect({ recordedLots, state, wrongSizes }).toEqual({ recordedLots: filledLots, state: end, wrongSizes: 0 });
    expect(fillIds).toBeLessThan(2);
    expect(usedToday > 0).toBe(filledLots > 0);
  });

  it.each<Fault>(FAULTS)("are recorded wrong where %s: the judge sees that", async (fault) => {
    planted.fault = fault;
    expect(await isSeen()).toBe(true);
  });
});
