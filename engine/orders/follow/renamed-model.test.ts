/**
 * Amends of one order at a venue that gives it a new id each time, with fills before, between and after, streamed or not:
 * what is recorded is what all its ids filled, and it ends when the last of them does. `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../domain/random.js";
import { CREDENTIALS } from "../single/test/desk-harness.js";
import { renamingDesk, type RenamingDesk } from "../single/test/renaming-desk.js";
import { recordedRows } from "../test/row-sink.js";

type Fault = "an id's cancel is the end" | "earlier ids are forgotten" | "a replaced id is not read";

const planted = vi.hoisted((): { fault: Fault | null } => ({ fault: null }));
vi.mock(import("../order-parts.js"), async (original) => {
  const parts = await original();
  return {
    ...parts,
    isOneIdAlone: (...of) => planted.fault !== "an id's cancel is the end" && parts.isOneIdAlone(...of),
    wholeOrder: (known, seen) =>
      planted.fault === "earlier ids are forgotten" ? { order: seen } : parts.wholeOrder(known, seen),
    replacedId: (...of) => (planted.fault === "a replaced id is not read" ? null : parts.replacedId(...of)),
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
}

async function play(seed: number): Promise<Played> {
  const random = createSeededRandom(seed);
  const desk = await renamingDesk();
  await desk.order(LIMIT);
  for (let step = 0; step < STEPS; step++) {
    if (random.next() < 0.5) fill(desk, random);
    if (random.next() < 0.6) await desk.clock.advanceAsync(random.next() * 3 * MINUTE_MS);
    if (random.next() < 0.6) await amend(desk, random);
  }
  const { qtyLots } = desk.change({});
  const isFilled = random.next() < 0.5;
  const end = isFilled
    ? ({ status: "FILLED", filledLots: qtyLots, averagePrice: "95000" } as const)
    : ({ status: "CANCELED" } as const);
  const order = desk.change(end);
  if (random.next() < 0.5) desk.streams.tell(CREDENTIALS.account, { kind: "order", order });
  await desk.clock.advanceAsync(20 * MINUTE_MS);
  const rows = await recordedRows(desk.store);
  return {
    recordedLots: rows.findLast((row) => row.table === "fill")?.lots ?? 0,
    filledLots: desk.filledLots(),
    state: rows.findLast((row) => row.table === "event")?.status,
    end: end.status,
    usedToday: Number(desk.guards.status().usedToday),
  };
}

function fill(desk: RenamingDesk, random: Random): void {
  const { filledLots, qtyLots } = desk.change({});
  const lots = Math.min(qtyLots - 1, filledLots + 1 + Math.floor(random.next() * 60));
  const order = desk.change({ status: "PARTIALLY_FILLED", filledLots: lots, averagePrice: "95000" });
  if (random.next() < 0.5) desk.streams.tellFill(CREDENTIALS.account, order, lots - filledLots, `t${random.next()}`);
}

async function amend(desk: RenamingDesk, random: Random): Promise<void> {
  const { filledLots, qtyLots } = desk.change({});
  desk.filledMeanwhile = random.next() < 0.3 ? Math.min(qtyLots - 1, filledLots + 10) : 0;
  const lots = filledLots + 100 + Math.floor(random.next() * 300);
  expect(await desk.amend((lots / 1_000).toFixed(3))).toMatchObject({ ok: true, outcome: "ACCEPTED" });
}

/** Runs of which something is recorded otherwise than it was. */
async function wrongCount(): Promise<number> {
  let count = 0;
  for (let run = 0; run < RUNS; run++) {
    const { end, filledLots, recordedLots, state } = await play(FIRST_SEED + run);
    if (recordedLots !== filledLots || state !== end) count++;
  }
  return count;
}

afterEach(() => {
  planted.fault = null;
});

describe("amends of an order that gets a new id each time", () => {
  it.each(Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run))("lose no fill, seed %i", async (seed) => {
    const { end, filledLots, recordedLots, state, usedToday } = await play(seed);
    expect({ recordedLots, state }).toEqual({ recordedLots: filledLots, state: end });
    expect(usedToday > 0).toBe(filledLots > 0);
  });

  it.each<Fault>(["an id's cancel is the end", "earlier ids are forgotten", "a replaced id is not read"])(
    "are recorded wrong where %s: the judge sees that",
    async (fault) => {
      planted.fault = fault;
      expect(await wrongCount()).toBeGreaterThan(0);
    },
  );
});
