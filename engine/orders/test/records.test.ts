/** What the record gets of closes: each order and decision once, with the conclusion, whatever crashes. `FUZZ_RUNS=100` is a long run. */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { closeContext, closeRequest, createHarness, type Harness, type HarnessOptions } from "./harness.js";
import { createRowSink, rowFaults, recordedRows, type RowSink, type RecordedRow } from "./row-sink.js";
import { runSimulation } from "./simulation.js";

const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const RUNS = Number(process.env.FUZZ_RUNS ?? 10);

interface Recorded extends Harness {
  readonly sink: RowSink;
  rows(): Promise<RecordedRow[]>;
  faults(): Promise<string[]>;
}

function recorded(options: HarnessOptions = {}): Recorded {
  const sink = createRowSink();
  const harness = createHarness({ ...options, service: { ...options.service, records: sink } });
  return {
    ...harness,
    sink,
    rows: () => recordedRows(harness.store),
    faults: () => rowFaults(harness.store, [harness.one, harness.two]),
  };
}

function texts(rows: readonly RecordedRow[]): string[] {
  return rows.map((row) =>
    row.table === "decision"
      ? `${row.kind} ${row.state}`
      : row.table === "fill"
        ? `fill ${row.lots}`
        : `${row.ver} ${row.status}`,
  );
}

describe("rows of a close", () => {
  it("tell the decision, each state of the order and the fill, with or without a key", async () => {
    for (const idempotencyKey of [null, "k"]) {
      const harness = recorded();
      await harness.closeData({}, { idempotencyKey });
      await harness.clock.advanceAsync(100);
      expect(texts(await harness.rows()).sort()).toEqual([
        "1 INTENT",
        "2 SENT",
        "3 FILLED",
        "fill 250",
        "replied COMPLETED",
      ]);
      expect(await harness.faults()).toEqual([]);
      expect(harness.sink.committedCount).toBe(5);
    }
  });

  it("are one commit with everything else that remembers it", async () => {
    const store = createMemoryStore();
    const namespaces: string[][] = [];
    const harness = recorded({ store });
    store.gate = async ({ writes }) =>
      void namespaces.push([...new Set(writes.map(({ namespace }) => namespace))].sort());
    await harness.closeData({}, { idempotencyKey: "k" });
    await harness.clock.advanceAsync(100);
    expect(namespaces).toEqual([
      ["idempotency", "idempotency-expiry", "intent-open"],
      [
        "execution",
        "execution-expiry",
        "idempotency",
        "intent-open",
        "intent-settled",
        "intent-settled-expiry",
        "test-rows",
      ],
    ]);
  });

  it("are not recorded again by a replay", async () => {
    const harness = recorded();
    await harness.closeData({}, { idempotencyKey: "k" });
    await harness.clock.advanceAsync(100);
    const before = await harness.rows();
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({ replayed: true });
    await harness.clock.advanceAsync(100);
    expect(await harness.rows()).toEqual(before);
  });

  it("of two orders tell both, the refused one with its end", async () => {
    const harness = recorded();
    harness.one.fate = () => ({ kind: "reject", reason: "INSUFFICIENT_MARGIN" });
    await harness.closeData();
    await harness.clock.advanceAsync(100);
    expect(texts(await harness.rows()).sort()).toEqual([
      ...["1 INTENT", "1 INTENT", "2 SENT", "2 SENT", "3 FILLED", "3 REJECTED"],
      ...["fill 250", "replied COMPLETED"],
    ]);
  });

  it("of an unknown outcome follow when it is resolved, after the reply", async () => {
    const harness = recorded();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    const data = await harness.closeData({ preferredExchange: "venueone", deadlineMs: 300 });
    expect(data.execution.state).toBe("UNKNOWN");
    await harness.clock.advanceAsync(100);
    expect(texts(await harness.rows()).sort()).toEqual(["1 INTENT", "2 SENT", "3 UNKNOWN", "replied UNKNOWN"]);
    harness.one.orderReadFailure = () => null;
    await harness.clock.advanceAsync(30_000);
    expect(
      texts(await harness.rows())
        .slice(4)
        .sort(),
    ).toEqual(["4 FILLED", "fill 250", "resolved COMPLETED"]);
    expect(await harness.faults()).toEqual([]);
  });

  it("of a close that no order left for say so", async () => {
    const harness = recorded();
    for (const venue of [harness.one, harness.two]) venue.fate = () => ({ kind: "notSent", reason: "RATE_LIMITED" });
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({ ok: false, code: "VENUE_RATE_LIMITED" });
    await harness.clock.advanceAsync(100);
    const reported = texts(await harness.rows());
    expect(reported.filter((text) => text.endsWith("NOT_SENT")).length).toBeGreaterThan(0);
    expect(reported.filter((text) => text.startsWith("refused"))).toHaveLength(1);
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 10 })).toEqual([]);
  });

  it("of a refusal after a decision are durable; a dry run and an early refusal are noted only", async () => {
    const harness = recorded();
    await harness.close({ size: "99" });
    await harness.close({ dryRun: true });
    await harness.close({ symbol: "NOPE" });
    await harness.clock.advanceAsync(100);
    expect(texts(await harness.rows())).toEqual(["refused null"]);
    expect(harness.sink.notes.map(({ kind, dryRun, code }) => [kind, dryRun, code])).toEqual([
      ["replied", true, null],
      ["refused", false, "UNKNOWN_SYMBOL"],
    ]);
  });

  it("wait for a store that refuses for a moment, with the reply given at once", async () => {
    const store = createMemoryStore();
    const harness = recorded({ store });
    let refusals = 2;
    store.gate = async ({ writes }) => {
      const concludes = writes.some(({ namespace }) => namespace === "test-rows");
      if (concludes && refusals-- > 0) throw storeUnavailable("DISK_FULL");
    };
    for (const idempotencyKey of [null, "k"]) {
      refusals = 2;
      expect((await harness.closeData({ size: "0.1" }, { idempotencyKey })).execution.state).toBe("COMPLETED");
      await harness.clock.advanceAsync(10_000);
    }
    expect(texts(await harness.rows()).filter((text) => text.startsWith("fill"))).toEqual(["fill 100", "fill 100"]);
    expect(await harness.faults()).toEqual([]);
  });

  it("keep no close from its conclusion when their sink throws", async () => {
    const sink = createRowSink();
    const harness = createHarness({
      service: {
        records: {
          ...sink,
          decisionWrites: () => {
            throw new TypeError("sink");
          },
        },
      },
    });
    await harness.closeData({}, { idempotencyKey: "k" });
    await harness.clock.advanceAsync(100);
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 10 })).toEqual([]);
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({ replayed: true });
    expect(harness.logLines.some((line) => line.includes("record_rows_failed"))).toBe(true);
  });
});

describe("across a crash,", () => {
  it("before the conclusion was durable, the retry tells everything once", async () => {
    const harness = recorded();
    const { clock, service, store } = harness;
    // The process dies with its conclusion unwritten.
    store.gate = async ({ writes }) => {
      if (!writes.some(({ namespace }) => namespace === "test-rows")) return;
      harness.kill();
      throw storeUnavailable("CLOSED");
    };
    void service.trade(closeRequest(), closeContext(clock, { idempotencyKey: "k" }));
    await clock.advanceAsync(1_000);
    store.gate = async () => {};
    const next = await harness.restart();
    expect(await harness.rows()).toEqual([]);
    const result = await harness.run(next.trade(closeRequest(), closeContext(clock, { idempotencyKey: "k" })));
    expect(result).toMatchObject({ ok: true, data: { execution: { state: "COMPLETED" } } });
    await clock.advanceAsync(100);
    expect(texts(await harness.rows()).filter((text) => text.startsWith("fill"))).toEqual(["fill 250"]);
    expect(await harness.faults()).toEqual([]);
  });

  it(`no fill is lost or recorded twice, in ${RUNS} storms with kills at any call`, { timeout: 240_000 }, async () => {
    let crashes = 0;
    let fills = 0;
    for (let run = 0; run < RUNS; run++) {
      const seed = FIRST_SEED + run;
      const report = await runSimulation({ seed, tradeCount: 50, overrides: { records: createRowSink() } });
      expect({ seed, faults: await rowFaults(report.disk, report.venues), violations: report.violations }).toEqual({
        ...{ seed, faults: [], violations: [] },
      });
      crashes += report.crashCount;
      fills += (await recordedRows(report.disk)).filter(({ table }) => table === "fill").length;
    }
    if (RUNS < 10) return;
    expect(crashes).toBeGreaterThan(RUNS);
    expect(fills).toBeGreaterThan(RUNS * 20);
  });

  it("the judge sees rows that a store loses, and rows that are written apart from their close", async () => {
    const faultsWith = async (keep: (count: number) => boolean): Promise<string[]> => {
      let count = 0;
      const report = await runSimulation({
        seed: FIRST_SEED,
        tradeCount: 40,
        overrides: { records: createRowSink() },
        mutateStore: (store) => ({
          ...store,
          commit: async (batch) => {
            const writes = batch.writes.filter(({ namespace }) => namespace !== "test-rows" || keep(count++));
            return writes.length === 0 || store.commit({ ...batch, writes });
          },
        }),
      });
      return rowFaults(report.disk, report.venues);
    };
    expect(await faultsWith(() => true)).toEqual([]);
    expect((await faultsWith((count) => count % 5 > 0)).some((fault) => fault.startsWith("lost"))).toBe(true);
  });
});
