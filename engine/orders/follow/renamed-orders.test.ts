/** Orders at a venue that puts another, of a new id and what is left, in the place of one that is amended. */
import { describe, expect, it } from "vitest";
import { CREDENTIALS, orderContext, orderName } from "../single/test/desk-harness.js";
import { renamingDesk } from "../single/test/renaming-desk.js";
import { recordedRows, type RecordedRow } from "../test/row-sink.js";

const LIMIT = { type: "LIMIT", price: "95000", quantity: "0.25", timeInForce: "GTC" } as const;
const KEY = { idempotencyKey: "k" };
const MINUTE_MS = 60_000;

const fillsOf = (rows: readonly RecordedRow[]): number[] =>
  rows.flatMap((row) => (row.table === "fill" ? [row.lots] : []));
const statesOf = (rows: readonly RecordedRow[]): string[] =>
  rows.flatMap((row) => (row.table === "event" ? [row.status] : []));

describe("an order that has a new id since it was amended", () => {
  it("is not over with the cancel of its old id", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    await desk.amend("0.45");
    await desk.clock.advanceAsync(5 * MINUTE_MS);
    expect(statesOf(await recordedRows(desk.store))).toEqual(["INTENT", "SENT", "OPEN"]);
    expect(desk.desk.status()).toMatchObject({ followedCount: 1 });
    expect(desk.guards.status().usedToday).toBe("45000");
  });

  it.each([true, false])("is seen to end in its new size, streamed: %s", async (isStreamed) => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    await desk.amend("0.45");
    if (!isStreamed) desk.streams.isFull = true;
    const order = desk.change({ status: "FILLED", filledLots: 450, averagePrice: "95000" });
    if (isStreamed) desk.streams.tell(CREDENTIALS.account, { kind: "order", order });
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(desk.store);
    expect([statesOf(rows).at(-1), fillsOf(rows)]).toEqual(["FILLED", [450]]);
    expect(await desk.place(LIMIT, KEY)).toMatchObject({ order: { quantity: "0.45", filledQuantity: "0.45" } });
  });

  it("has filled what all its ids filled, also between the read and the amend", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    desk.change({ status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "95000" });
    await desk.clock.advanceAsync(2 * MINUTE_MS);
    desk.filledMeanwhile = 120;
    await desk.amend("0.45");
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    expect(await desk.place(LIMIT, KEY)).toMatchObject({
      order: { status: "PARTIALLY_FILLED", quantity: "0.47", filledQuantity: "0.12" },
    });
    desk.change({ status: "FILLED", filledLots: 350, averagePrice: "94000" });
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    expect(fillsOf(await recordedRows(desk.store))).toEqual([100, 120, 470]);
    const answer = await desk.place(LIMIT, KEY);
    expect(answer).toMatchObject({ order: { status: "FILLED", filledQuantity: "0.47", averagePrice: "94255.31915" } });
  });

  it("keeps what it filled where the new one is canceled, and its share of the daily limits", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    desk.change({ status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "95000" });
    await desk.clock.advanceAsync(2 * MINUTE_MS);
    await desk.amend("0.3");
    desk.change({ status: "CANCELED" });
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(desk.store);
    expect([statesOf(rows).at(-1), fillsOf(rows)]).toEqual(["CANCELED", [100]]);
    expect(desk.desk.status()).toMatchObject({ followedCount: 0 });
    expect(Number(desk.guards.status().usedToday)).toBeGreaterThanOrEqual(30_000);
  });

  it("that is canceled with nothing filled ends so", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    await desk.amend("0.45");
    await desk.clock.advanceAsync(2 * MINUTE_MS);
    const order = desk.change({ status: "CANCELED" });
    desk.streams.tell(CREDENTIALS.account, { kind: "order", order });
    await desk.clock.advanceAsync(2 * MINUTE_MS);
    expect(statesOf(await recordedRows(desk.store))).toEqual(["INTENT", "SENT", "OPEN", "CANCELED"]);
    expect(desk.guards.status().usedToday).toBe("0");
  });

  it("is asked for what is left of it by each new price, in a burst of them too", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    for (let step = 0; step < 12; step++) {
      desk.change({ status: "PARTIALLY_FILLED", filledLots: 10, averagePrice: "95000" });
      expect(await desk.reprice(String(95_000 - step))).toMatchObject({ ok: true, outcome: "ACCEPTED" });
      expect(desk.filledLots() + desk.change({}).qtyLots).toBe(250);
      await desk.clock.advanceAsync(500);
    }
  });

  it("is asked for what is left of it where that is as much as it had once", async () => {
    const desk = await renamingDesk();
    await desk.order({ ...LIMIT, quantity: "0.09" }, KEY);
    await desk.amend("0.12");
    desk.change({ status: "PARTIALLY_FILLED", filledLots: 30, averagePrice: "95000" });
    await desk.amend("0.12");
    await desk.reprice("94000");
    expect(desk.filledLots() + desk.change({}).qtyLots).toBe(120);
  });

  it.each([true, false])(
    "has filled what an id did that was changed again before it was looked at, streamed: %s",
    async (isStreamed) => {
      const desk = await renamingDesk();
      if (!isStreamed) desk.streams.isFull = true;
      await desk.order(LIMIT, KEY);
      await desk.clock.advanceAsync(5 * MINUTE_MS);
      desk.isHidden = true;
      await desk.amend("0.45");
      desk.change({ status: "PARTIALLY_FILLED", filledLots: 40, averagePrice: "95000" });
      await desk.amend("0.3");
      desk.isHidden = false;
      desk.change({ status: "FILLED", filledLots: 260, averagePrice: "95000" });
      await desk.clock.advanceAsync(10 * MINUTE_MS);
      const rows = await recordedRows(desk.store);
      expect([statesOf(rows).at(-1), fillsOf(rows).at(-1)]).toEqual(["FILLED", 300]);
    },
  );

  it("has filled what an id did of which nothing was heard before another was in its place", async () => {
    const desk = await renamingDesk();
    desk.isSilent = true;
    await desk.order(LIMIT, KEY);
    await desk.clock.advanceAsync(5 * MINUTE_MS);
    await desk.amend("0.45");
    desk.change({ status: "PARTIALLY_FILLED", filledLots: 40, averagePrice: "95000" });
    await desk.amend("0.3");
    await desk.clock.advanceAsync(5 * MINUTE_MS);
    const between = desk.replaced().at(-1);
    if (between === undefined) throw new Error("nothing was replaced");
    const order = desk.change({ status: "FILLED", filledLots: 260, averagePrice: "95000" });
    desk.streams.tell(CREDENTIALS.account, { kind: "order", order: between });
    desk.streams.tell(CREDENTIALS.account, { kind: "order", order });
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(desk.store);
    expect([statesOf(rows).at(-1), fillsOf(rows).at(-1)]).toEqual(["FILLED", 300]);
  });

  it("is not over with a cancel that is as young as the venue's index of client ids", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    await desk.clock.advanceAsync(5 * MINUTE_MS);
    const first = desk.change({});
    const filled = await desk
      .amend("0.45")
      .then(() => desk.change({ status: "FILLED", filledLots: 450, averagePrice: "95000" }));
    // What the index of client ids shows yet.
    const lagged = { ...first, status: "CANCELED", tsVenueMs: desk.clock.wallMs() } as const;
    desk.change(lagged);
    desk.streams.tell(CREDENTIALS.account, { kind: "order", order: filled });
    await desk.clock.advanceAsync(1_000);
    desk.change(filled);
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(desk.store);
    expect([statesOf(rows).at(-1), fillsOf(rows).at(-1)]).toEqual(["FILLED", 450]);
  });

  it.each([
    ["filled", { status: "FILLED", filledLots: 450, averagePrice: "95000" }],
    ["is open", { status: "OPEN" }],
  ] as const)(
    "is not over with the cancel of an id, where it %s under one that the index of client ids lacks for long",
    async (_what, state) => {
      const desk = await renamingDesk();
      await desk.order(LIMIT, KEY);
      await desk.clock.advanceAsync(5 * MINUTE_MS);
      desk.lagMs = MINUTE_MS;
      await desk.amend("0.45");
      const order = desk.change(state);
      desk.streams.tell(CREDENTIALS.account, { kind: "order", order });
      await desk.clock.advanceAsync(10 * MINUTE_MS);
      const rows = await recordedRows(desk.store);
      expect([statesOf(rows).at(-1), fillsOf(rows)]).toEqual([state.status, "filledLots" in state ? [450] : []]);
      expect(desk.guards.status().usedToday).not.toBe("0");
      expect(desk.desk.status().followedCount).toBe(state.status === "OPEN" ? 1 : 0);
    },
  );

  it.each([true, false])("is canceled by an id that it had before, looked at since: %s", async (isLookedAt) => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    const { venueOrderId } = desk.change({});
    if (!isLookedAt) desk.isUnnamed = true;
    await desk.amend("0.45");
    await desk.clock.advanceAsync(isLookedAt ? 5 * MINUTE_MS : 3_000);
    const name = orderName(venueOrderId, { symbol: "BTC" });
    const answer = await desk.run(desk.desk.cancel(name, orderContext(desk.clock)));
    expect(answer).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    expect(desk.change({}).status).toBe("CANCELED");
    // Of one that is over nothing is left to be canceled, whatever has its client id.
    await desk.clock.advanceAsync(5 * MINUTE_MS);
    desk.change({ status: "OPEN", venueOrderId: "77" });
    const again = await desk.run(desk.desk.cancel(name, orderContext(desk.clock)));
    expect([again, desk.change({}).status]).toMatchObject([{ ok: false, code: "ORDER_NOT_OPEN" }, "OPEN"]);
  });

  it("has one row for what it filled, of more versions, whatever id it has", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    desk.change({ status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "95000" });
    await desk.clock.advanceAsync(2 * MINUTE_MS);
    await desk.amend("0.3");
    desk.change({ status: "FILLED", filledLots: 200, averagePrice: "95000" });
    await desk.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(desk.store);
    expect(fillsOf(rows)).toEqual([100, 300]);
    expect(new Set(rows.flatMap((row) => (row.table === "fill" ? [row.id] : []))).size).toBe(1);
  });

  it("is recorded and shown at the price that it has", async () => {
    const desk = await renamingDesk();
    await desk.order(LIMIT, KEY);
    await desk.reprice("94000");
    await desk.clock.advanceAsync(5 * MINUTE_MS);
    expect(await desk.place(LIMIT, KEY)).toMatchObject({ order: { status: "OPEN", price: "94000" } });
  });
});
