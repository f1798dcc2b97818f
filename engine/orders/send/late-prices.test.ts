/** Fills that are seen without their price by whoever looks at an order: read again, as those of the resolver are. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { ASKER, createHarness, type Harness } from "../test/harness.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";

const ACCOUNT = "acct-venueone";
const RESTS = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const MARKETABLE = { ...RESTS, limitPrice: "100100" } as const;

function flat(entry: PlaceFate, guard: PlaceFate = { kind: "fill" }): Harness {
  const harness = createHarness({ service: { records: createRowSink() } });
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  harness.one.fate = ({ trigger, reduceOnly }) =>
    trigger !== undefined ? guard : reduceOnly ? { kind: "fill" } : entry;
  return harness;
}

function changeEntry(harness: Harness, change: Partial<VenueOrder>): void {
  const [entry] = harness.one.log;
  if (entry?.order == null) throw new Error("no entry is there");
  entry.order = { ...entry.order, ...change };
  entry.filledLots = entry.order.filledLots;
}

/** Of the entry: the prices in which its fill was recorded. */
async function pricesIn(harness: Harness): Promise<unknown[]> {
  const rows = await recordedRows(harness.store);
  const clientId = harness.one.log[0]?.command.clientIdHex;
  return rows.flatMap((row) => (row.table === "fill" && row.order === clientId ? [row.price] : []));
}

const isAllClosed = (harness: Harness): boolean => harness.one.sessions.every(({ closed }) => closed);

describe("the fill of an entry whose price its venue does not give at first", () => {
  it("is read again where the watch of its protection saw it", async () => {
    const harness = flat({ kind: "fill" });
    const data = await harness.openData({ stopLoss: "95000" }, RESTS);
    harness.one.setPosition(ACCOUNT, "LONG", 250);
    changeEntry(harness, { status: "FILLED", filledLots: 250, averagePrice: null });
    await harness.clock.advanceAsync(20_000);
    expect(harness.one.log).toHaveLength(2);
    changeEntry(harness, { averagePrice: "98999" });
    await harness.clock.advanceAsync(60_000);
    expect((await pricesIn(harness)).at(-1)).toBe("98999");
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution.averagePrice).toBe("98999");
  });

  it("is read again where the rest was taken back", async () => {
    const harness = flat({ kind: "fill" }, { kind: "reject", reason: "PRICE" });
    await harness.openData({ stopLoss: "95000", closeOnProtectionFailure: true }, RESTS);
    harness.one.setPosition(ACCOUNT, "LONG", 100);
    changeEntry(harness, { status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: null });
    await harness.clock.advanceAsync(20_000);
    expect(harness.one.log[0]?.order?.status).toBe("CANCELED");
    changeEntry(harness, { averagePrice: "98999" });
    await harness.clock.advanceAsync(60_000);
    expect((await pricesIn(harness)).at(-1)).toBe("98999");
    expect(isAllClosed(harness)).toBe(true);
  });

  it("is read again where the look before the reply saw it", async () => {
    const harness = flat({ kind: "fill", liquidity: 1, ackOnlyMs: 80, shows: { averagePrice: null } });
    const data = await harness.openData({}, MARKETABLE);
    expect(data.execution).toMatchObject({ state: "COMPLETED", averagePrice: null });
    changeEntry(harness, { averagePrice: "98999" });
    await harness.clock.advanceAsync(60_000);
    expect((await pricesIn(harness)).at(-1)).toBe("98999");
    expect(isAllClosed(harness)).toBe(true);
  });
});

describe("the fill of one leg of a split whose price comes later", () => {
  /** The price of the first leg comes after a second, the end of the other one `endMs` after the order. */
  function split(endMs: number): Harness {
    const harness = createHarness({ service: { records: createRowSink() } });
    const { clock, one, two } = harness;
    for (const venue of [one, two]) venue.fate = () => ({ kind: "loseReply" });
    const startNs = clock.monoNs();
    const isPast = (ms: number): boolean => (clock.monoNs() - startNs) / 1e6 >= ms;
    one.shownOrder = (order) => (isPast(1_000) ? order : { ...order, averagePrice: null });
    two.orderReadFailure = () => (isPast(endMs) ? null : "TIMEOUT");
    return harness;
  }

  it.each([
    ["before the reply", 3_000],
    ["after it", 30_000],
    ["long after it", 50_000],
  ])("is in the record and the execution where the other leg ends %s", async (_, endMs) => {
    const harness = split(endMs);
    const data = await harness.closeData({ allowSplit: true, size: "0.6" });
    await harness.clock.advanceAsync(120_000);
    expect((await pricesIn(harness)).at(-1)).toBe("99990");
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution.legs.map(({ averagePrice }) => averagePrice)).toEqual(["99990", "99950"]);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("is in the execution before the other leg has ended", async () => {
    const harness = split(50_000);
    const data = await harness.closeData({ allowSplit: true, size: "0.6" });
    await harness.clock.advanceAsync(5_000);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution.legs[0]).toMatchObject({ averagePrice: "99990" });
  });
});
