/** Idempotency of whole closes: replays, conflicts, and what a crash leaves. */
import { describe, expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import { RETENTION_MS } from "./idempotency.js";
import { ASKER, closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";
import type { TradeService } from "../request/service.js";
import type { TradeContext, TradeRequest, TradeResult } from "../types.js";

const KEY = { idempotencyKey: "key-1" };
const sent = (harness: Harness): number => harness.one.log.length + harness.two.log.length;

/** Starts a close that nobody waits for: its process will die. */
function abandonedClose(harness: Harness, request: Partial<TradeRequest> = {}): void {
  void harness.service.trade(closeRequest(request), closeContext(harness.clock, KEY));
}

function closeOn(
  harness: Harness,
  service: TradeService,
  request: Partial<TradeRequest> = {},
  context: Partial<TradeContext> = KEY,
): Promise<TradeResult> {
  return harness.run(service.trade(closeRequest(request), closeContext(harness.clock, context)));
}

describe("the same key", () => {
  it("with the same body replays the stored reply and sends nothing", async () => {
    const harness = createHarness();
    const first = await harness.close({}, KEY);
    const second = await harness.close({}, KEY);
    expect(second).toEqual({ ...first, replayed: true });
    expect(sent(harness)).toBe(1);
    expect(harness.events.map((event) => event.kind)).toEqual(["replied", "replayed"]);
    expect([...harness.one.sessions, ...harness.two.sessions].every((session) => session.closed)).toBe(true);
  });

  it("with another body is a mismatch, also after a restart", async () => {
    const harness = createHarness();
    await harness.close({}, KEY);
    const other = { ...KEY, rawBody: Buffer.from("{ }") };
    expect(await harness.close({}, other)).toMatchObject({ ok: false, code: "IDEMPOTENCY_MISMATCH" });
    expect(await closeOn(harness, await harness.restart(), {}, other)).toMatchObject({
      ok: false,
      code: "IDEMPOTENCY_MISMATCH",
    });
    expect(sent(harness)).toBe(1);
  });

  it("of a request still running is a conflict, and a mismatch with another body", async () => {
    const harness = createHarness();
    const running = harness.service.trade(closeRequest(), closeContext(harness.clock, KEY));
    expect(await harness.service.trade(closeRequest(), closeContext(harness.clock, KEY))).toMatchObject({
      ok: false,
      code: "IDEMPOTENCY_IN_PROGRESS",
    });
    expect(
      await harness.service.trade(closeRequest(), closeContext(harness.clock, { ...KEY, rawBody: Buffer.from("x") })),
    ).toMatchObject({ ok: false, code: "IDEMPOTENCY_MISMATCH" });
    expect(await harness.run(running)).toMatchObject({ ok: true, success: true });
    expect(sent(harness)).toBe(1);
  });

  it("sends once among many at the same moment", async () => {
    const harness = createHarness();
    const results = await harness.run(
      Promise.all(
        Array.from({ length: 50 }, () => harness.service.trade(closeRequest(), closeContext(harness.clock, KEY))),
      ),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(sent(harness)).toBe(1);
  });

  it("is another key under another API key, and in public mode for another account", async () => {
    const harness = createHarness();
    harness.one.setPosition("acct-other", "LONG", 400);
    await harness.close({ size: "0.1" }, KEY);
    await harness.close({ size: "0.1" }, { ...KEY, ownerId: "pk_other" });
    await harness.close({ size: "0.1" }, { ...KEY, ownerId: null });
    expect(await harness.close({ size: "0.1" }, { ...KEY, ownerId: null })).toMatchObject({ replayed: true });
    await harness.close(
      { size: "0.1", credentials: { venueone: { account: "acct-other", secret: "s" } } },
      { ...KEY, ownerId: null },
    );
    expect(sent(harness)).toBe(4);
  });

  it("replays a refusal of the venue too", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "reject", reason: "VENUE_STATE" });
    const request = { preferredExchange: "venueone" } as const;
    const first = await harness.close(request, KEY);
    expect(first).toMatchObject({ ok: true, success: false, data: { execution: { state: "REJECTED" } } });
    expect(await harness.close(request, KEY)).toEqual({ ...first, replayed: true });
    expect(sent(harness)).toBe(1);
  });

  it("is free again after 24 hours, and its old record does not take the new one along", async () => {
    const harness = createHarness();
    await harness.service.start();
    await harness.close({ size: "0.1" }, KEY);
    harness.clock.advance(RETENTION_MS - 1_000);
    expect(await harness.close({ size: "0.1" }, KEY)).toMatchObject({ replayed: true });
    harness.clock.advance(1_000);
    expect(await harness.close({ size: "0.1" }, KEY)).toMatchObject({ replayed: false });
    await harness.clock.advanceAsync(120_000);
    expect(await harness.close({ size: "0.1" }, KEY)).toMatchObject({ replayed: true });
    expect(sent(harness)).toBe(2);
  });

  it.each([
    [
      "whose first order was stopped on this machine",
      (harness: Harness) => {
        harness.one.fate = () => ({ kind: "notSent" });
        harness.two.fate = () => ({ kind: "notSent" });
      },
    ],
    [
      "whose first order could not be written down",
      (harness: Harness) => {
        harness.store.gate = () => delay(harness.clock, 3_000);
      },
    ],
  ])("lives 24 hours from the request that sent, also one %s", async (_, stop) => {
    const harness = createHarness();
    await harness.service.start();
    stop(harness);
    expect(await harness.close({ size: "0.1" }, KEY)).toMatchObject({ ok: false });
    await harness.clock.advanceAsync(3_600_000);
    harness.one.fate = () => ({ kind: "fill" });
    harness.two.fate = () => ({ kind: "fill" });
    harness.store.gate = async () => {};
    expect(await harness.close({ size: "0.1" }, KEY)).toMatchObject({ success: true, replayed: false });
    await harness.clock.advanceAsync(RETENTION_MS - 60_000);
    expect(await harness.close({ size: "0.1" }, KEY)).toMatchObject({ success: true, replayed: true });
    expect(sent(harness)).toBe(1);
    await harness.clock.advanceAsync(300_000);
    expect(harness.store.rowCount()).toBe(0);
  });

  it("leaves no row behind a day later", async () => {
    const harness = createHarness();
    await harness.service.start();
    for (let index = 0; index < 30; index++) await harness.close({ size: "0.01" }, { idempotencyKey: `k${index}` });
    expect(harness.store.rowCount()).toBeGreaterThan(100);
    await harness.clock.advanceAsync(RETENTION_MS + 300_000);
    expect(harness.store.rowCount()).toBe(0);
  });
});

describe("a reply of unknown outcome", () => {
  const unknown = { preferredExchange: "venueone", deadlineMs: 400 } as const;

  it("replays in its current state: still unknown, then resolved", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    const readableAtMs = harness.clock.wallMs() + 8_000;
    harness.one.orderReadFailure = () => (harness.clock.wallMs() < readableAtMs ? "TIMEOUT" : null);
    expect(await harness.close(unknown, KEY)).toMatchObject({ data: { execution: { state: "UNKNOWN" } } });
    expect(await harness.close(unknown, KEY)).toMatchObject({
      success: true,
      replayed: true,
      data: { execution: { state: "UNKNOWN" } },
    });
    await harness.clock.advanceAsync(20_000);
    const resolved = { success: true, replayed: true, data: { execution: { state: "COMPLETED", filledSize: "0.25" } } };
    expect(await harness.close(unknown, KEY)).toMatchObject(resolved);
    expect(await closeOn(harness, await harness.restart(), unknown)).toMatchObject(resolved);
    expect(sent(harness)).toBe(1);
  });

  it("that the resolver gave up is resolved when the caller asks again, also after a restart", async () => {
    for (const restarted of [false, true]) {
      const harness = createHarness();
      harness.one.fate = () => ({ kind: "loseReply" });
      harness.one.orderReadFailure = () => "VENUE_ERROR";
      await harness.close(unknown, KEY);
      await harness.clock.advanceAsync(70_000);
      harness.one.orderReadFailure = () => null;
      const service = restarted ? await harness.restart() : harness.service;
      expect(service.status().unknownCount).toBe(1);
      expect(await closeOn(harness, service, unknown)).toMatchObject({
        replayed: true,
        data: { execution: { state: "COMPLETED" } },
      });
      expect(service.status().unknownCount).toBe(0);
      expect(sent(harness)).toBe(1);
    }
  });

  it("that was proven never placed replays as nothing executed, and never sends again", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseRequest" });
    await harness.close(unknown, KEY);
    await harness.clock.advanceAsync(30_000);
    expect(await harness.close(unknown, KEY)).toMatchObject({
      ok: true,
      success: false,
      replayed: true,
      data: { execution: { state: "REJECTED", final: true } },
    });
    expect(sent(harness)).toBe(1);
  });
});

describe("after a crash,", () => {
  /** Closes until the venue has the order, then kills the process. */
  async function crashAfterSend(harness: Harness, request: Partial<TradeRequest> = {}): Promise<TradeService> {
    abandonedClose(harness, request);
    while (sent(harness) === 0) await harness.clock.advanceAsync(1);
    return harness.restart();
  }

  it("a retry finds the order at the venue and finishes its reply, exactly once", async () => {
    const harness = createHarness();
    const service = await crashAfterSend(harness);
    expect(service.status()).toMatchObject({
      unknownCount: 1,
      unknown: [{ venue: "venueone", fromEarlierStart: true }],
    });
    const { routeId } = service.status().unknown[0] ?? { routeId: "" };
    expect((await service.execution(routeId, ASKER))?.execution.state).toBe("UNKNOWN");
    const result = await closeOn(harness, service);
    expect(result).toMatchObject({
      ok: true,
      success: true,
      replayed: true,
      data: { executedOn: "venueone", routing: { routeId }, execution: { state: "COMPLETED", filledSize: "0.25" } },
    });
    expect(await closeOn(harness, service)).toEqual(result);
    expect(service.status().unknownCount).toBe(0);
    expect(sent(harness)).toBe(1);
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 5 })).toHaveLength(0);
  });

  it("an order that never arrived is proven so, and only then sent again under another client id", async () => {
    const harness = createHarness();
    harness.one.fate = () => (harness.one.log.length === 0 ? { kind: "loseRequest" } : { kind: "fill" });
    const service = await crashAfterSend(harness);
    // Before the proof: UNKNOWN, nothing sent, and the key stays recoverable.
    expect(await closeOn(harness, service, { deadlineMs: 500 })).toMatchObject({
      ok: true,
      success: true,
      data: { execution: { state: "UNKNOWN", final: false } },
    });
    expect(sent(harness)).toBe(1);
    const bigDeadline = { deadlineMs: 30_000 };
    const result = await closeOn(harness, service, bigDeadline);
    expect(result).toMatchObject({
      ok: true,
      success: true,
      data: {
        execution: {
          state: "COMPLETED",
          filledSize: "0.25",
          legs: [
            { attempt: 1, outcome: "REJECTED", reason: "NOT_PLACED" },
            { attempt: 2, outcome: "CONFIRMED" },
          ],
        },
      },
    });
    const [first, second] = harness.one.log;
    expect(harness.one.log).toHaveLength(2);
    expect(first?.command.clientIdHex).not.toBe(second?.command.clientIdHex);
    expect(second?.sentAtMs).toBeGreaterThan((first?.expiresAtMs ?? 0) + 2_000);
    expect(await closeOn(harness, service, bigDeadline)).toEqual({ ...result, replayed: true });
  });

  it("a position that is gone by then is ALREADY_FLAT, not an error", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseRequest" });
    const service = await crashAfterSend(harness, { preferredExchange: "venueone" });
    harness.one.setPosition("acct-venueone", "LONG", 0);
    expect(await closeOn(harness, service, { preferredExchange: "venueone", deadlineMs: 30_000 })).toMatchObject({
      ok: true,
      success: true,
      data: { order: null, execution: { state: "NOOP", note: "ALREADY_FLAT" } },
    });
    expect(sent(harness)).toBe(1);
  });

  it("a retry is executed afresh where nothing was durable", async () => {
    const harness = createHarness();
    harness.store.gate = () => new Promise(() => {});
    abandonedClose(harness);
    await harness.clock.advanceAsync(500);
    harness.kill();
    harness.store.gate = async () => {};
    expect(await closeOn(harness, await harness.restart())).toMatchObject({
      ok: true,
      replayed: false,
      data: { execution: { state: "COMPLETED" } },
    });
    expect(sent(harness)).toBe(1);
  });

  it("a retry with another body is still a mismatch, and two retries at once recover once", async () => {
    const harness = createHarness();
    const service = await crashAfterSend(harness);
    expect(await closeOn(harness, service, {}, { ...KEY, rawBody: Buffer.from("other") })).toMatchObject({
      ok: false,
      code: "IDEMPOTENCY_MISMATCH",
    });
    const both = await harness.run(
      Promise.all([1, 2].map(() => service.trade(closeRequest(), closeContext(harness.clock, KEY)))),
    );
    expect(both).toMatchObject([{ ok: true }, { ok: false, code: "IDEMPOTENCY_IN_PROGRESS" }]);
    expect(sent(harness)).toBe(1);
  });

  it("a key of a process that is known to live is in progress, not recovered", async () => {
    const harness = createHarness({ service: { isBootAlive: () => true } });
    const service = await crashAfterSend(harness);
    expect(await closeOn(harness, service)).toMatchObject({ ok: false, code: "IDEMPOTENCY_IN_PROGRESS" });
  });

  it("the open intent of a close without a key is listed until it is dropped after a week", async () => {
    const harness = createHarness();
    void harness.service.trade(closeRequest(), closeContext(harness.clock));
    while (sent(harness) === 0) await harness.clock.advanceAsync(1);
    const service = await harness.restart();
    expect(service.status().unknown).toMatchObject([{ fromEarlierStart: true, venue: "venueone" }]);
    harness.clock.advance(8 * 24 * 3_600_000);
    await harness.clock.advanceAsync(120_000);
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 5 })).toHaveLength(0);
    expect(harness.logLines.some((line) => line.includes("intents_given_up"))).toBe(true);
  });
});
