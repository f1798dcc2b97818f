import { describe, expect, it } from "vitest";
import { NO_LIMITS, type GuardPolicy } from "../../guards/guard-book.js";
import { CloseRows } from "../../recorder/close-rows.js";
import type { Restored } from "../../storage/instance/instance-mark.js";
import type { StateWrite } from "../../storage/state-store.js";
import { recordingLogger } from "../test/harness.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";
import type { RecordSink } from "../conclude/record-sink.js";
import {
  closeRequest,
  createDesk,
  orderContext,
  orderName,
  placeRequest,
  type DeskHarness,
} from "./test/desk-harness.js";

/** 0.25 at a worst price of 101000. */
/** As the co-signer says of a store between two of its own words. */
const BACKUP: Restored = { reason: "COSIGNER_AHEAD", sinceMs: 8, storeAtMs: 1 };
const NOTIONAL = 25_250;

function dayOf(orders: number): GuardPolicy {
  const each = { ...NO_LIMITS, maxDailyNotional: String(orders * NOTIONAL) };
  return { global: NO_LIMITS, byOwner: new Map(), each };
}

function placeMany(harness: DeskHarness, count: number, keyed: boolean): Promise<string[]> {
  const answers = Array.from({ length: count }, async (_, index) => {
    const context = orderContext(harness.clock, { idempotencyKey: keyed ? `key-${index}` : null });
    const answer = await harness.desk.place(placeRequest(), context);
    return answer.ok ? answer.order.outcome : answer.code;
  });
  return Promise.all(answers);
}

describe("the daily limit over the desk", () => {
  it("lets exactly as many of 200 orders at once through as it holds", async () => {
    const harness = await createDesk({ policy: dayOf(120) });
    const answers = await harness.run(placeMany(harness, 200, false));
    expect(answers.filter((answer) => answer === "CONFIRMED")).toHaveLength(120);
    expect(answers.filter((answer) => answer === "DAILY_LIMIT")).toHaveLength(80);
    expect(harness.venue.log).toHaveLength(120);
    expect(harness.guards.usedBy("pk_test", "")).toBe(String(120 * NOTIONAL));
  });

  it("counts after a crash in the middle of 200 exactly what may have been sent", async () => {
    for (const afterMs of [0, 1, 3, 8, 12, 30]) {
      const harness = await createDesk({ policy: dayOf(120) });
      let committed = 0;
      harness.store.gate = async () => {
        committed += 1;
        await new Promise<void>((resolve) => harness.clock.setTimer(resolve, committed % 7));
      };
      harness.venue.fate = () => ({ kind: "fill", latencyMs: 20 });
      void placeMany(harness, 200, true);
      await harness.clock.advanceAsync(afterMs);
      harness.kill();
      await harness.clock.advanceAsync(200);
      await harness.restart();
      const open = await harness.store.scan("order-intent-open", { prefix: "", limit: 1_000 });
      const rows = await harness.store.scan("guard-usage", { prefix: "", limit: 1_000 });
      const settled = await harness.store.scan("order-intent-settled", { prefix: "", limit: 1_000 });
      expect(harness.guards.usedBy("pk_test", "")).toBe(String(rows.length * NOTIONAL));
      expect(rows).toHaveLength(open.length + settled.length);
      expect(harness.venue.log.length).toBeLessThanOrEqual(rows.length);
      // The same requests again: whatever was sent counts once, and the limit holds over both lives.
      await harness.run(placeMany(harness, 200, true));
      await harness.clock.advanceAsync(70_000);
      expect(harness.venue.log.length).toBeLessThanOrEqual(120);
      const ids = new Set(harness.venue.log.map(({ command }) => command.clientIdHex));
      expect(ids.size).toBe(harness.venue.log.length);
      expect(Number(harness.guards.usedBy("pk_test", ""))).toBeLessThanOrEqual(120 * NOTIONAL);
    }
  });

  it("is given back by what took nothing, and kept by what is not known", async () => {
    const harness = await createDesk({ policy: dayOf(2) });
    const used = async (): Promise<string> => {
      await harness.clock.advanceAsync(50);
      return harness.guards.usedBy("pk_test", "");
    };
    harness.venue.fate = () => ({ kind: "reject", reason: "PRICE" });
    await harness.place();
    expect(await used()).toBe("0");
    harness.venue.fate = () => ({ kind: "notSent", reason: "RATE_LIMITED" });
    await harness.place();
    expect(await used()).toBe("0");
    harness.venue.fate = () => ({ kind: "fill", liquidity: 0 });
    await harness.place();
    expect(await used()).toBe("0");
    harness.venue.fate = () => ({ kind: "loseRequest" });
    expect(await harness.place({ deadlineMs: 400 })).toMatchObject({ order: { outcome: "UNKNOWN" } });
    expect(await used()).toBe(String(NOTIONAL));
    await harness.clock.advanceAsync(30_000);
    expect(await used()).toBe("0");
  });

  /** An order that rests and grew from 0.25 to 0.45 by two amends, priced at the middle of the book. */
  async function grownOrder(): Promise<{ readonly harness: DeskHarness; readonly orderId: string }> {
    const harness = await createDesk({ policy: dayOf(10) });
    const rests = { type: "LIMIT", price: "95000", quantity: "0.25", timeInForce: "GTC" } as const;
    const { orderId } = await harness.order(rests);
    for (const quantity of ["0.3", "0.45"]) {
      const request = { ...orderName(orderId ?? ""), price: null, quantity };
      const answer = await harness.run(harness.desk.amend(request, orderContext(harness.clock)));
      expect(answer).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    }
    expect(harness.guards.usedBy("pk_test", "")).toBe("45000");
    return { harness, orderId: orderId ?? "" };
  }

  async function cancelled(harness: DeskHarness, orderId: string): Promise<string> {
    const answer = await harness.run(harness.desk.cancel(orderName(orderId), orderContext(harness.clock)));
    expect(answer).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    // It is followed to its end.
    await harness.clock.advanceAsync(200_000);
    return harness.guards.usedBy("pk_test", "");
  }

  it("is given back with what an order grew by, where the order ends and filled nothing", async () => {
    const { harness, orderId } = await grownOrder();
    expect(await cancelled(harness, orderId)).toBe("0");
    await harness.restart();
    expect(harness.guards.usedBy("pk_test", "")).toBe("0");
  });

  it("is given back with what an order grew by in an earlier start", async () => {
    const { harness, orderId } = await grownOrder();
    await harness.restart();
    expect(harness.guards.usedBy("pk_test", "")).toBe("45000");
    expect(await cancelled(harness, orderId)).toBe("0");
    await harness.restart();
    expect(harness.guards.usedBy("pk_test", "")).toBe("0");
  });

  it("keeps what an order grew by where any of it filled", async () => {
    const { harness, orderId } = await grownOrder();
    const [entry] = harness.venue.log;
    if (entry?.order == null) throw new Error("no order");
    entry.order = { ...entry.order, status: "PARTIALLY_FILLED", filledLots: 10, averagePrice: "95000" };
    entry.filledLots = 10;
    expect(await cancelled(harness, orderId)).toBe("45000");
  });

  it("releases what an order of an earlier start took, once that proves never to have been placed", async () => {
    const harness = await createDesk({ policy: dayOf(1) });
    harness.venue.fate = () => ({ kind: "loseRequest" });
    void harness.desk.place(
      placeRequest({ clientOrderId: "mine" }),
      orderContext(harness.clock, { idempotencyKey: "k" }),
    );
    await harness.clock.advanceAsync(50);
    await harness.restart();
    expect(harness.guards.usedBy("pk_test", "")).toBe(String(NOTIONAL));
    expect(await harness.place()).toMatchObject({ code: "DAILY_LIMIT" });
    harness.venue.fate = () => ({ kind: "fill" });
    const retried = await harness.place({ clientOrderId: "mine", deadlineMs: 30_000 }, { idempotencyKey: "k" });
    await harness.clock.advanceAsync(50);
    expect(retried).toMatchObject({ ok: true, order: { status: "FILLED", clientOrderId: "mine" } });
    expect(harness.guards.usedBy("pk_test", "")).toBe(String(NOTIONAL));
  });
});

describe("the kill switch over the desk", () => {
  it("stops openings, also one that is being written down, and lets exits go on", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    let release = (): void => {};
    harness.store.gate = (batch) =>
      batch.writes.some(({ namespace }) => namespace === "order-intent-open")
        ? new Promise((resolve) => {
            release = resolve;
          })
        : Promise.resolve();
    const placing = harness.desk.place(placeRequest(), orderContext(harness.clock));
    await harness.clock.advanceAsync(5);
    await harness.guards.halt(null, "drill");
    harness.store.gate = async () => {};
    release();
    expect(await harness.run(placing)).toMatchObject({ ok: false, code: "TRADING_HALTED" });
    expect(await harness.place()).toMatchObject({ code: "TRADING_HALTED", details: { reason: "drill" } });
    expect(harness.venue.calls.place).toBe(0);
    expect(await harness.place({ side: "SELL", reduceOnly: true, quantity: "0.1" })).toMatchObject({ ok: true });
    const closed = harness.desk.closePosition(closeRequest(), orderContext(harness.clock));
    expect(await harness.run(closed)).toMatchObject({ ok: true, legs: [{ status: "CLOSED" }] });
  });

  it("keep an order back under its own name where the store shows as a restored backup meanwhile", async () => {
    let restored: Restored | null = null;
    const harness = await createDesk({ restored: () => restored });
    harness.store.gate = async () => {
      restored = BACKUP;
    };
    const refused = { ok: false, code: "RESTORED_STORE", details: { reason: "RESTORED_STORE" } };
    expect(await harness.run(harness.desk.place(placeRequest(), orderContext(harness.clock)))).toMatchObject(refused);
    expect(harness.venue.calls.place).toBe(0);
  });
});

describe("the record of single orders", () => {
  it("receives every state and fill once, also through an unknown outcome", async () => {
    const records = createRowSink();
    const harness = await createDesk({ desk: { records } });
    await harness.order();
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    await harness.place({ deadlineMs: 400 });
    harness.venue.orderReadFailure = () => null;
    await harness.clock.advanceAsync(30_000);
    const rows = await recordedRows(harness.store);
    const recorded = rows.map((row) =>
      row.table === "event" ? `${row.ver} ${row.status}` : row.table === "fill" ? `fill ${row.lots}` : "decision",
    );
    expect(recorded).toEqual([
      "1 INTENT",
      "2 SENT",
      "3 FILLED",
      "fill 250",
      "1 INTENT",
      "2 SENT",
      "3 UNKNOWN",
      "4 FILLED",
      "fill 250",
    ]);
  });

  it("receives nothing again from an order without a key that is found after a crash", async () => {
    const harness = await createDesk({ desk: { records: createRowSink() } });
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    await harness.place({ deadlineMs: 400, clientOrderId: "lost" });
    await harness.clock.advanceAsync(100);
    harness.kill();
    await harness.clock.advanceAsync(100);
    await harness.restart();
    harness.venue.orderReadFailure = () => null;
    await harness.run(harness.desk.orderStatus(orderName("lost"), orderContext(harness.clock)));
    await harness.clock.advanceAsync(1_000);
    const recorded = (await recordedRows(harness.store)).map((row) =>
      row.table === "event" ? `${row.ver} ${row.status}` : row.table,
    );
    expect(recorded).toEqual(["1 INTENT", "2 SENT", "3 UNKNOWN", "4 FILLED", "fill"]);
  });

  it("fits the columns of the real one", async () => {
    const logLines: string[] = [];
    const rows = new CloseRows(recordingLogger(logLines));
    const written: StateWrite[] = [];
    const records: RecordSink = {
      decisionWrites: () => [],
      eventWrites(run, events) {
        const writes = rows.events(run, events);
        written.push(...writes);
        return writes;
      },
      committed() {},
      note() {},
    };
    const harness = await createDesk({ desk: { records } });
    await harness.order({ clientOrderId: "mine" });
    harness.venue.fate = () => ({ kind: "reject", reason: "PRICE", venueText: "no" });
    await harness.place({ type: "STOP_LIMIT", price: "95000", stopPrice: "96000" });
    await harness.clock.advanceAsync(100);
    expect(written.map(({ key }) => key.split("|")[0])).toEqual([
      ...["order_events", "order_events", "order_events", "fills"],
      ...["order_events", "order_events", "order_events"],
    ]);
    expect(logLines).toEqual([]);
  });
});
