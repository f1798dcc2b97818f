/** Chapters of outcomes under faults, of many orders at once, and of two processes with one key. */
import { describe, expect, it } from "vitest";
import { OPTIONS, unwrapRead, untilHolds } from "../trading-half.js";
import { start, type TradingBench, type TradingVenue } from "./bench.js";

const ORDERS = 200;

export function outcomeChapters(venue: TradingVenue): void {
  const { hasNonces, routes } = venue.habits;
  describe(`an outcome on ${venue.name}`, () => {
    it.each([
      ["an error after execution", { kind: "errorAfter", status: 503 }, true],
      ["an answer that never comes", { kind: "replyLost" }, true],
      ["an error before execution", { kind: "errorBefore", status: 503 }, false],
      ["an internal error before execution", { kind: "errorBefore", status: 500 }, false],
      ["a lost request", { kind: "loss" }, false],
    ] as const)("of %s is unknown, and a read of the venue tells it", async (_what, fault, isExecuted) => {
      const on = await start(venue);
      // The first call of a key may include a question for its account.
      await on.place(on.resting());
      on.sim.faults.add({ ...fault, match: routes.place, count: 1 });
      const command = on.buy();
      const beforeMs = on.clock.wallMs();
      const outcome = await on.send(command);
      if (outcome.outcome !== "unknown") throw new Error(JSON.stringify(outcome));
      expect(outcome.notPlacedAfterMs).toBeGreaterThan(beforeMs);
      expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(
        on.clock.wallMs() + on.half.orders.placeBoundMs(on.session, OPTIONS.timeoutMs),
      );
      on.sim.faults.clear();
      await on.clock.advanceAsync(outcome.notPlacedAfterMs - on.clock.wallMs() + 1);
      await isAsExecuted(on, command.clientIdHex, isExecuted);
      expect(on.taken()).toHaveLength(isExecuted ? 2 : 1);
      // The key keeps working.
      await on.place(on.resting());
      expect(await on.openOrders()).toHaveLength(2);
    });

    it("of an answer later than its caller waits is unknown until the moment that it names", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      on.sim.faults.add({ kind: "fixedDelay", delayMs: 30_000, match: routes.place, count: 1 });
      const command = on.buy();
      const sent = on.send(command);
      await untilHolds("the order reaches the venue", () => on.taken().length === 2);
      await on.clock.advanceAsync(OPTIONS.timeoutMs);
      const outcome = await sent;
      expect(outcome).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
      if (outcome.outcome !== "unknown") return;
      on.sim.faults.clear();
      await on.clock.advanceAsync(outcome.notPlacedAfterMs - on.clock.wallMs());
      await isAsExecuted(on, command.clientIdHex, true);
      expect(on.taken()).toHaveLength(2);
    });

    it("of too many requests is a refusal that names the time to wait", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      on.sim.faults.add({ kind: "rate429", match: routes.place, retryAfterS: 7, count: 1 });
      expect(await on.send(on.buy())).toMatchObject({
        outcome: "rejected",
        reason: "RATE_LIMITED",
        retryAfterMs: 7_000,
        sent: true,
      });
      expect(on.positionLots()).toBe(0);
    });

    it(`of ${ORDERS} orders at once is one order each, and no nonce twice`, async () => {
      const on = await start(venue);
      const outcomes = await Promise.all(Array.from({ length: ORDERS }, () => on.send(on.resting())));
      on.settle();
      expect(outcomes.filter(({ outcome }) => outcome === "accepted")).toHaveLength(ORDERS);
      const records = on.taken();
      expect(records).toHaveLength(ORDERS);
      expect(new Set(records.map(({ clientId }) => clientId)).size).toBe(ORDERS);
      if (hasNonces) expect(new Set(records.map(({ nonce }) => nonce)).size).toBe(ORDERS);
      expect(on.sim.exchange.orders.open(on.accountId)).toHaveLength(ORDERS);
      expect(await on.openOrders(on.btc)).toHaveLength(ORDERS);
    });

    it(`of ${ORDERS} orders at once is true of each while every tenth answer is lost`, async () => {
      const on = await start(venue);
      await on.place(on.resting());
      on.sim.faults.add({ kind: "replyLost", match: routes.place, probability: 0.1 });
      on.sim.faults.add({ kind: "errorBefore", match: routes.place, probability: 0.1, status: 502 });
      const commands = Array.from({ length: ORDERS }, () => on.resting());
      const outcomes = await Promise.all(commands.map((command) => on.send(command)));
      on.sim.faults.clear();
      on.settle();
      const atVenue = new Set((await on.openOrders()).map(({ venueClientOrderId }) => venueClientOrderId));
      const count = { accepted: 0, rejected: 0, unknown: 0 };
      for (const [index, { outcome }] of outcomes.entries()) {
        const id = on.half.orders.venueClientOrderId(commands[index]?.clientIdHex ?? "");
        if (outcome === "accepted") expect(atVenue.has(id)).toBe(true);
        if (outcome === "rejected") expect(atVenue.has(id)).toBe(false);
        count[outcome]++;
      }
      expect(count.unknown).toBeGreaterThan(10);
      expect(count.accepted).toBeGreaterThan(10);
      const placed = on.taken().map(({ clientId }) => clientId);
      expect(new Set(placed).size).toBe(placed.length);
    });

    it("is its own where another program uses the key", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      const { half, stop } = on.parts.another();
      const opened = half.openSession(venue.credentials, null);
      if (!opened.ok) throw new Error(opened.problem);
      // Two processes that sign at one moment collide in a nonce.
      on.clock.advance(1);
      expect(await half.orders.place(opened.session, on.resting(), OPTIONS)).toMatchObject({ outcome: "accepted" });
      on.settle();
      on.clock.advance(1);
      await on.place(on.resting());
      expect(await on.openOrders()).toHaveLength(3);
      await stop();
    });
  });
}

async function isAsExecuted(on: TradingBench, clientIdHex: string, isExecuted: boolean): Promise<void> {
  const ref = { clientIdHex };
  const found = unwrapRead(await on.half.reader.findOrder(on.session, ref, OPTIONS));
  for (const order of [found, await on.read(ref)])
    if (isExecuted) expect(order).toMatchObject({ status: "FILLED", filledLots: on.lots });
    else expect(order).toBeNull();
  expect(on.positionLots()).toBe(isExecuted ? on.lots : 0);
}
