import { describe, expect, it } from "vitest";
import { takeOrderEvents } from "../orders/conclude/order-events.js";
import { recordTable } from "../storage/records/schema.js";
import type { StateWrite } from "../storage/state-store.js";
import { CloseRows } from "./close-rows.js";
import { monthOf } from "./durable-rows.js";
import { MAX_ROW_BYTES } from "./outbox.js";
import { RowWriter } from "./row-binary.js";
import { createRowCodec } from "./row-codec.js";
import { readRows } from "./test/read-row.js";
import { madeUpConclusion, madeUpRun } from "./test/made-up-close.js";
import { createWorld, imbalances, listLogger, tableStatus } from "./test/world.js";

const AT_MS = Date.UTC(2026, 10, 30, 23, 59, 59, 990);

describe("the rows of closes", () => {
  it("of the same conclusion have the same keys, each in the month of its own time", () => {
    const rows = new CloseRows(listLogger([]));
    const keysOf = (): string[] => rows.decision(madeUpConclusion({ number: 1, atMs: AT_MS })).map(({ key }) => key);
    expect(keysOf()).toEqual(keysOf());
    expect(new Set(keysOf()).size).toBe(5);
    expect(keysOf().every((key) => key.includes("|202611|"))).toBe(true);
    const late = rows.decision(madeUpConclusion({ number: 1, atMs: AT_MS + 20 })).map(({ key }) => key);
    // The close began in November and ended in December.
    expect(late.filter((key) => key.includes("|202612|")).length).toBeGreaterThan(0);
    expect(late.filter((key) => key.startsWith("fills|") && key.includes("|202611|"))).toHaveLength(1);
  });

  it("of an order that was recorded before contain only what is new", () => {
    const rows = new CloseRows(listLogger([]));
    const run = madeUpRun({ number: 1, atMs: AT_MS });
    expect(rows.decision(madeUpConclusion({ number: 1, atMs: AT_MS }, run))).toHaveLength(5);
    expect(rows.decision(madeUpConclusion({ number: 1, atMs: AT_MS }, run))).toHaveLength(1);
  });

  it("of a fill recorded by an earlier start, and found again from its intent, replace that fill", () => {
    const rows = new CloseRows(listLogger([]));
    const fillOf = (atMs: number): StateWrite | undefined => {
      // As the intent stored it: nothing in it is marked as recorded. The venue's trade ids are not used.
      const run = madeUpRun({ number: 7, atMs: AT_MS, overrides: { ackAtMs: atMs } });
      const { events } = takeOrderEvents(JSON.parse(JSON.stringify(run)) as typeof run, atMs);
      return rows.events(run, events).find(({ key }) => key.startsWith("fills|"));
    };
    const [before, after] = [fillOf(AT_MS), fillOf(AT_MS + 40 * 86_400_000)];
    expect(before?.value).toBeDefined();
    // While it waits it is the same row of the outbox; once stored, it has the same partition and the same sorting key.
    expect(after?.key).toBe(before?.key);
    const { orderBy, partitionBy } = recordTable("fills");
    expect([orderBy, partitionBy]).toEqual([["venue", "symbol", "fill_id"], "toYYYYMM(at)"]);
  });

  it("of an order that got new ids keep the name of the first that filled, and have the price that it has", () => {
    const rows = new CloseRows(listLogger([]));
    const run = madeUpRun({ number: 7, atMs: AT_MS });
    const [attempt] = run.attempts;
    if (attempt?.order == null) throw new Error("no order");
    const part = { ...attempt.order, filledLots: 1 };
    const changed = {
      ...attempt,
      changedTicks: attempt.priceTicks + 1,
      order: { ...attempt.order, venueOrderId: "newest" },
      parts: [{ ...part, venueOrderId: "unfilled", filledLots: 0 }, { ...part, venueOrderId: "first" }, part],
    };
    const fillOf = (recorded: object): StateWrite | undefined => {
      const again = { ...run, attempts: [{ ...changed, ...recorded }] };
      return rows.events(again, takeOrderEvents(again, AT_MS).events).find(({ key }) => key.startsWith("fills|"));
    };
    const texts = [fillOf({}), fillOf({ recorded: { ver: 3, state: "OPEN 0", filled: false, fillId: "told" } })].map(
      (write) => Buffer.from(write?.value ?? []).toString("latin1"),
    );
    expect(texts.map((text) => [text.includes("first"), text.includes("told"), text.includes("newest")])).toEqual([
      [true, false, false],
      [false, true, false],
    ]);
  });

  it("are also made where a figure fits no column: it is left out, kept in the detail, and logged", () => {
    const lines: string[] = [];
    const rows = new CloseRows(listLogger(lines));
    const concluded = madeUpConclusion({ number: 1, atMs: AT_MS });
    const odd = { ...concluded.routing, savings: "9".repeat(40), price: "1e5" };
    const writes = rows.decision({ ...concluded, routing: odd });
    expect(writes).toHaveLength(5);
    expect(lines.join()).toContain("expected_px,savings");
    expect(Buffer.from(writes[4]?.value as Uint8Array).includes('"leftOut":{"expected_px":"1e5"')).toBe(true);
  });

  it("are within their maximum size whatever a venue sends", () => {
    const rows = new CloseRows(listLogger([]));
    const concluded = madeUpConclusion({ number: 1, atMs: AT_MS });
    const adjustments = Array.from(
      { length: 20_000 },
      () => ({ field: "price", from: "1", to: "2", rule: "TICK_SIZE" }) as const,
    );
    const data =
      concluded.data === null ? null : { ...concluded.data, execution: { ...concluded.data.execution, adjustments } };
    for (const { value } of rows.decision({ ...concluded, data }))
      expect(value?.length ?? 0).toBeLessThanOrEqual(MAX_ROW_BYTES);
  });

  it("of a stop that followed an entry are measured against its trigger", () => {
    const rows = new CloseRows(listLogger([]));
    const run = madeUpRun({
      number: 9,
      atMs: AT_MS,
      overrides: { role: "STOP_LOSS", triggerTicks: 991_234, rests: true },
    });
    const { events } = takeOrderEvents(run, AT_MS);
    const fill = rows.events(run, events).find(({ key }) => key.startsWith("fills|"));
    expect(readRows("fills", fill?.value ?? new Uint8Array())).toMatchObject([{ ref_mid: "99123.4", intent: "CLOSE" }]);
  });

  it("have months in UTC", () => {
    expect([Date.UTC(2026, 11, 31, 23, 59), Date.UTC(2027, 0, 1)].map(monthOf)).toEqual([202612, 202701]);
  });
});

describe("the general encoder", () => {
  it("writes no part of a row with a missing or unfit value", () => {
    const codec = createRowCodec(recordTable("latency_samples"));
    const row = { at: 1, stage: "s", venue: "", n: 1, p50_us: 1, p90_us: 1, p99_us: 1, p999_us: 1, max_us: 1, hdr: "" };
    const writer = new RowWriter(Buffer.alloc(8));
    expect(codec.write(writer, row)).toBe(true);
    const { at } = writer;
    for (const wrong of [{ n: -1 }, { n: "x" }, { at: 1.5 }, { stage: 1 }, { p50_us: null }]) {
      expect(codec.write(writer, { ...row, ...wrong })).toBe(false);
      expect(writer.at).toBe(at);
    }
    const { hdr: _, ...incomplete } = row;
    expect(codec.write(writer, incomplete)).toBe(false);
    expect(codec.write(writer, row)).toBe(true);
    expect(writer.at).toBe(2 * at);
  });
});

describe("the recorder's rows of decisions", () => {
  it("take the durable lane with a close, and the lossy one where nothing waits for them", async () => {
    const world = await createWorld();
    const { recorder, stateStore, store } = world;
    try {
      const writes = recorder.closes.decisionWrites(madeUpConclusion({ number: 1, atMs: world.clock.wallMs() }));
      await stateStore.commit({ writes });
      recorder.closes.committed(writes);
      const request = {
        requestId: "r",
        symbol: "BTC",
        direction: "LONG",
        routing: null,
        data: null,
        elapsedMs: 1,
      } as const;
      for (let count = 0; count < 3; count++) {
        recorder.closes.note({
          ...request,
          kind: "refused",
          ownerId: null,
          tsMs: world.clock.wallMs(),
          dryRun: false,
          code: "UNKNOWN_SYMBOL",
        });
      }
      await world.until(() => store.rowCount("routing_decisions") === 4);
      expect(store.rowCount("fills")).toBe(1);
      expect(store.rowCount("order_events")).toBe(3);
      expect(tableStatus(recorder, "routing_decisions")).toMatchObject({ accepted: 4, stored: 4, pending: 0 });
      expect(imbalances(recorder)).toEqual([]);
      expect(recorder.status().outbox).toEqual({ rows: 0, bytes: 0, backlogged: false });
    } finally {
      world.remove();
    }
  });

  it("are not written to the state store while recording is off", async () => {
    const world = await createWorld();
    try {
      world.store.status = { state: "off", reason: "by choice", version: null };
      const conclusion = madeUpConclusion({ number: 1, atMs: world.clock.wallMs() });
      expect(world.recorder.closes.decisionWrites(conclusion)).toEqual([]);
      expect(tableStatus(world.recorder, "order_events")).toMatchObject({ accepted: 3, dropped: { off: 3 } });
      expect(imbalances(world.recorder)).toEqual([]);
    } finally {
      world.remove();
    }
  });
});
