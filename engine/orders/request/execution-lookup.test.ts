/** Asking for a close with credentials: who may resolve it, how, and what never changes. */
import { describe, expect, it } from "vitest";
import type { PlaceOutcome } from "../../domain/order.js";
import type { VenueRoom } from "../../ports.js";
import { ASK_TIMEOUT_MS } from "./execution-lookup.js";
import type { TradeService } from "./service.js";
import type { TradeData, TradeRequest } from "../types.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { ASKER, closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";

const CREDENTIALS = closeRequest().credentials;
const STRANGER = { venueone: { account: "acct-other", secret: "other-secret-0123456789" } };
const KEY = { idempotencyKey: "key-1" };

/** An order of unknown outcome that the resolver has given up. */
async function givenUp(harness: Harness, fate: PlaceFate, context = {}): Promise<string> {
  harness.one.fate = () => fate;
  harness.one.orderReadFailure = () => "VENUE_ERROR";
  const data = await harness.closeData({ deadlineMs: 500 }, context);
  expect(data.execution.state).toBe("UNKNOWN");
  await harness.clock.advanceAsync(62_000);
  expect(harness.service.status().resolver.active).toBe(0);
  harness.one.orderReadFailure = () => null;
  return data.routing.routeId;
}

async function ask(
  harness: Harness,
  routeId: string,
  credentials: TradeRequest["credentials"] = CREDENTIALS,
  service: TradeService = harness.service,
): Promise<TradeData> {
  const answer = await harness.run(service.askExecution(routeId, credentials, ASKER));
  if (!answer.ok || answer.data === null) throw new Error(`no data: ${JSON.stringify(answer)}`);
  return answer.data;
}

const orders = (harness: Harness): number => harness.one.log.length + harness.two.log.length;
const allSessionsClosed = (harness: Harness): boolean =>
  [...harness.one.sessions, ...harness.two.sessions].every((session) => session.closed);

describe("asking with the account's credentials", () => {
  it("finds the order, on the exit lane, and tells everybody who remembers the close", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseReply" }, KEY);
    const resolved: TradeData[] = [];
    harness.service.onResolved(({ data }) => resolved.push(data));
    const reads = harness.one.calls.orders;
    harness.one.lanes.length = 0;
    const data = await ask(harness, routeId);
    expect(data.execution).toMatchObject({ state: "COMPLETED", final: true, filledSize: "0.25" });
    expect(harness.one.calls.orders - reads).toBe(1);
    expect(harness.one.lanes).toEqual(["exit"]);
    expect(resolved).toEqual([data]);
    expect(harness.events.at(-1)).toMatchObject({ kind: "resolved", requestId: "req-1", symbol: "BTC", data });
    expect(harness.service.status().unknownCount).toBe(0);
    expect(await harness.close({ deadlineMs: 500 }, KEY)).toMatchObject({ ok: true, replayed: true, data });
    await harness.run(harness.service.drain(1_000));
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 10 })).toEqual([]);
    expect(orders(harness)).toBe(1);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("lowers nothing that filled: a read that shows less lags behind", async () => {
    const harness = createHarness();
    const { clock, one } = harness;
    one.fate = () => ({ kind: "loseReply" });
    const odd = { status: "UNKNOWN", venueStatus: "odd", filledLots: 100, averagePrice: "101000" } as const;
    one.shownOrder = (order) => ({ ...order, ...odd });
    const request = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
    const { routing } = await harness.closeData({ ...request, deadlineMs: 500 });
    await clock.advanceAsync(10 * 60_000);
    expect(harness.service.status().resolver.active).toBe(0);
    one.shownOrder = (order) => ({ ...order, status: "OPEN", filledLots: 0, averagePrice: null });
    const data = await ask(harness, routing.routeId);
    expect(data.execution).toMatchObject({ state: "UNKNOWN", filledSize: "0.1" });
  });

  it("proves by time that an order was never placed", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseRequest" });
    const data = await ask(harness, routeId);
    expect(data.execution).toMatchObject({ state: "REJECTED", final: true, filledSize: "0" });
    expect(data.execution.legs).toMatchObject([{ outcome: "REJECTED", reason: "NOT_PLACED" }]);
    expect(harness.service.status().unknownCount).toBe(0);
  });

  it("leaves it unknown while absence proves nothing, and while the venue does not answer", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseRequest" });
    const { routing } = await harness.closeData({ deadlineMs: 300 });
    expect((await ask(harness, routing.routeId)).execution).toMatchObject({ state: "UNKNOWN", final: false });
    harness.one.orderReadFailure = () => "TIMEOUT";
    expect((await ask(harness, routing.routeId)).execution.state).toBe("UNKNOWN");
    expect(harness.service.status()).toMatchObject({ unknownCount: 1, resolver: { active: 1 } });
  });

  it("ends the resolver's own search, and its session, with what it found", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const { routing } = await harness.closeData({ deadlineMs: 300 }, KEY);
    await harness.clock.advanceAsync(10_000);
    harness.one.orderReadFailure = () => null;
    const data = await ask(harness, routing.routeId);
    expect(data.execution.state).toBe("COMPLETED");
    expect(harness.service.status()).toMatchObject({ unknownCount: 0, resolver: { active: 0, found: 1 } });
    expect(harness.events.filter((event) => event.kind === "resolved")).toHaveLength(1);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it.each([
    ["with a key", KEY],
    ["without a key", {}],
  ])("works after a crash in the send, %s", async (_, context) => {
    const harness = createHarness();
    harness.one.fate = () => {
      harness.kill();
      return { kind: "fill" };
    };
    void harness.service.trade(closeRequest(), closeContext(harness.clock, context));
    await harness.clock.advanceAsync(100);
    expect(orders(harness)).toBe(1);
    const service = await harness.restart();
    const [unknown] = service.status().unknown;
    const routeId = unknown?.routeId ?? "";
    expect((await service.execution(routeId, ASKER))?.execution.state).toBe("UNKNOWN");
    expect((await ask(harness, routeId, CREDENTIALS, service)).execution).toMatchObject({
      state: "COMPLETED",
      filledSize: "0.25",
    });
    expect(service.status().unknownCount).toBe(0);
    const after = await harness.restart();
    expect(after.status().unknownCount).toBe(0);
    expect((await after.execution(routeId, ASKER))?.execution.state).toBe("COMPLETED");
  });

  it("after a crash in a second order asks for that one too", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "reject", reason: "VENUE_STATE" });
    harness.two.fate = () => {
      harness.kill();
      return { kind: "fill" };
    };
    void harness.service.trade(closeRequest(), closeContext(harness.clock));
    await harness.clock.advanceAsync(100);
    expect(orders(harness)).toBe(2);
    const service = await harness.restart();
    const [unknown, ...others] = service.status().unknown;
    expect([unknown?.venue, others]).toEqual(["venuetwo", []]);
    const routeId = unknown?.routeId ?? "";
    expect((await service.execution(routeId, ASKER))?.execution.legs).toHaveLength(2);
    await harness.clock.advanceAsync(10_000);
    expect((await ask(harness, routeId, CREDENTIALS, service)).execution).toMatchObject({
      state: "COMPLETED",
      filledSize: "0.25",
    });
  });

  it("proves absence after a crash once the intent's own bound and the venue's index lag have passed, not before", async () => {
    const harness = createHarness();
    harness.one.fate = () => {
      harness.kill();
      return { kind: "loseRequest" };
    };
    void harness.service.trade(closeRequest(), closeContext(harness.clock));
    await harness.clock.advanceAsync(100);
    const service = await harness.restart();
    const routeId = service.status().unknown[0]?.routeId ?? "";
    const stateNow = async (): Promise<string> => (await ask(harness, routeId, CREDENTIALS, service)).execution.state;
    expect(await stateNow()).toBe("UNKNOWN");
    // 2 s for the durable write, 1.5 s validity at this venue, 2 s of its index.
    await harness.clock.advanceAsync(5_300);
    expect(await stateNow()).toBe("UNKNOWN");
    await harness.clock.advanceAsync(300);
    expect(await stateNow()).toBe("REJECTED");
  });

  it("keeps a retry with the key out while it looks, so nothing is sent beside it", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseRequest" }, KEY);
    harness.one.readLatencyMs = () => 500;
    const asking = harness.service.askExecution(routeId, CREDENTIALS, ASKER);
    await harness.clock.advanceAsync(100);
    expect(await harness.service.trade(closeRequest(), closeContext(harness.clock, KEY))).toMatchObject({
      ok: false,
      code: "IDEMPOTENCY_IN_PROGRESS",
    });
    await harness.run(asking);
    expect(await harness.close({}, KEY)).toMatchObject({ ok: true, success: false, replayed: true });
    expect(orders(harness)).toBe(1);
  });

  it("asks the venue once for two who ask at once", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseReply" });
    const reads = harness.one.calls.orders;
    const [first, second] = await harness.run(
      Promise.all([
        harness.service.askExecution(routeId, CREDENTIALS, ASKER),
        harness.service.askExecution(routeId, CREDENTIALS, ASKER),
      ]),
    );
    expect(harness.one.calls.orders - reads).toBe(1);
    expect(first).toMatchObject({ ok: true, data: { execution: { state: "COMPLETED" } } });
    expect(second).toMatchObject({ ok: true, data: { execution: { state: "UNKNOWN" } } });
  });

  it("ends within its bound when the venue hangs, and closes the session", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseReply" });
    harness.one.readLatencyMs = () => 600_000;
    const began = harness.clock.wallMs();
    expect((await ask(harness, routeId)).execution.state).toBe("UNKNOWN");
    expect(harness.clock.wallMs() - began).toBeLessThanOrEqual(ASK_TIMEOUT_MS + 10);
    expect(allSessionsClosed(harness)).toBe(true);
  });
});

describe("asking with anything else", () => {
  it.each([{ kind: "loseReply" }, { kind: "loseRequest" }] as const)(
    "of another account changes nothing and asks no venue ($kind)",
    async (fate) => {
      const harness = createHarness();
      const routeId = await givenUp(harness, fate, KEY);
      const reads = harness.one.calls.orders;
      const before = await harness.service.execution(routeId, ASKER);
      expect(await ask(harness, routeId, STRANGER)).toEqual(before);
      expect(harness.one.calls.orders).toBe(reads);
      expect(harness.service.status().unknownCount).toBe(1);
      expect(allSessionsClosed(harness)).toBe(true);
      // And its owner still can.
      expect((await ask(harness, routeId)).execution.final).toBe(true);
    },
  );

  it("of the same key acting for another account changes nothing", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseRequest" });
    const vault = { venueone: { account: "acct-venueone", secret: "s", scope: "vault-1" } };
    expect((await ask(harness, routeId, vault)).execution.state).toBe("UNKNOWN");
  });

  it("of another venue only reads", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseReply" });
    const { venuetwo } = CREDENTIALS;
    expect((await ask(harness, routeId, { venuetwo })).execution.state).toBe("UNKNOWN");
  });

  it("malformed for the order's venue is a problem, elsewhere and later none", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseReply" });
    const bad = { venueone: { account: 1 } };
    expect(await harness.run(harness.service.askExecution(routeId, bad, ASKER))).toEqual({
      ok: false,
      venue: "venueone",
      problem: "account is missing",
    });
    await ask(harness, routeId);
    expect((await ask(harness, routeId, bad)).execution.state).toBe("COMPLETED");
    expect(await harness.run(harness.service.askExecution("rt_none", CREDENTIALS, ASKER))).toEqual({
      ok: true,
      data: null,
    });
  });

  it("while the service drains only reads", async () => {
    const harness = createHarness();
    const routeId = await givenUp(harness, { kind: "loseReply" });
    await harness.run(harness.service.drain(1_000));
    expect((await ask(harness, routeId)).execution.state).toBe("UNKNOWN");
    expect(allSessionsClosed(harness)).toBe(true);
  });
});

describe("a fault of ours after the send", () => {
  /** A venue order that cannot be printed: reading its fee throws. */
  const poisoned: PlaceFate = {
    kind: "fill",
    fee: {
      get amount(): string {
        throw new TypeError("a bug");
      },
      asset: "USDC",
    },
  };

  it.each([
    ["with a key", KEY],
    ["without a key", {}],
  ])("in the making of the reply is answered UNKNOWN, %s, and never retried elsewhere", async (_, context) => {
    const harness = createHarness();
    harness.one.fate = () => poisoned;
    const result = await harness.close({}, context);
    expect(result).toMatchObject({
      ok: true,
      success: true,
      data: {
        executedOn: "venueone",
        order: { status: "UNKNOWN", quantity: "0.25", reduceOnly: true },
        execution: { state: "UNKNOWN", final: false, filledSize: "0", legs: [{ outcome: "UNKNOWN" }] },
        position: null,
      },
    });
    expect(harness.logLines.join("\n")).toContain("reply_not_built");
    expect(harness.service.status().unknownCount).toBe(1);
    expect(orders(harness)).toBe(1);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("is over when the venue is read again and can be printed", async () => {
    const harness = createHarness();
    harness.one.fate = () => poisoned;
    const result = await harness.close({}, KEY);
    const routeId = result.ok ? result.data.routing.routeId : "";
    const [entry] = harness.one.log;
    if (entry?.order === null || entry === undefined) throw new Error("not executed");
    entry.order = { ...entry.order, fee: null };
    expect((await ask(harness, routeId)).execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
    expect(await harness.close({}, KEY)).toMatchObject({ replayed: true, data: { execution: { state: "COMPLETED" } } });
    expect(orders(harness)).toBe(1);
  });

  it("in taking the answer in hands the order to the resolver", async () => {
    const harness = createHarness();
    let faults = 1;
    const inner = harness.one.room();
    const orderThrows = (outcome: Extract<PlaceOutcome, { outcome: "accepted" }>): PlaceOutcome => ({
      ...outcome,
      get order(): never {
        throw new TypeError("a bug");
      },
    });
    const room: VenueRoom = {
      ...inner,
      orders: {
        ...inner.orders,
        async place(session, command, options) {
          const outcome = await inner.orders.place(session, command, options);
          return outcome.outcome === "accepted" && faults-- > 0 ? orderThrows(outcome) : outcome;
        },
      },
    };
    const broken = createHarness({ service: { rooms: new Map([["venueone", room]]), clock: harness.clock } });
    const result = await harness.run(
      broken.service.trade(closeRequest({ preferredExchange: "venueone" }), closeContext(harness.clock)),
    );
    expect(result).toMatchObject({ ok: true, success: true, data: { execution: { state: "COMPLETED" } } });
    expect(broken.logLines.join("\n")).toContain("outcome_not_applied");
    expect(harness.one.log).toHaveLength(1);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("in the look-up of a crashed order leaves it unknown", async () => {
    const harness = createHarness();
    harness.one.fate = () => {
      harness.kill();
      return poisoned;
    };
    void harness.service.trade(closeRequest(), closeContext(harness.clock, KEY));
    await harness.clock.advanceAsync(100);
    const service = await harness.restart();
    const result = await harness.run(
      service.trade(closeRequest({ deadlineMs: 1_000 }), closeContext(harness.clock, KEY)),
    );
    expect(result).toMatchObject({ ok: true, success: true, data: { execution: { state: "UNKNOWN" } } });
    expect(orders(harness)).toBe(1);
  });
});
