/** Routed and single orders of one account share one stream, and the accounts of a venue count together. */
import { describe, expect, it } from "vitest";
import { OrderListeners, MAX_STREAMS } from "./order-listeners.js";
import { createDeskService, orderContext, placeRequest } from "../single/test/desk-harness.js";
import { deskRoom, createDeskCalls, keepBookFresh } from "../single/test/desk-venue.js";
import { FakeStreams } from "../test/fake-streams.js";
import { FakeVenue } from "../test/fake-venue.js";
import { closeContext, closeRequest, createService, recordingLogger, runUntil, seededIds } from "../test/harness.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { NO_LIMITS } from "../../guards/guard-book.js";

async function bothServices() {
  const clock = new VirtualClock();
  const streams = new FakeStreams();
  const venue = new FakeVenue({ venue: "venueone", clock });
  venue.streams = streams;
  keepBookFresh(venue);
  const store = createMemoryStore();
  const logLines: string[] = [];
  const ids = seededIds(1);
  const listeners = new OrderListeners({ clock, logger: recordingLogger(logLines) });
  const rooms = [deskRoom(venue, createDeskCalls())];
  const trades = createService({ clock, store, rooms, events: [], logLines, ids, overrides: { listeners } });
  const policy = { global: NO_LIMITS, byOwner: new Map(), each: NO_LIMITS };
  const { desk, guards } = createDeskService({ clock, store, rooms, logLines, ids, policy, overrides: { listeners } });
  await guards.start();
  await trades.start();
  await desk.start();
  const credentials = (account: string) => ({ account, secret: `secret-of-${account}` });
  return {
    clock,
    streams,
    venue,
    async trade(account: string) {
      venue.setPosition(account, "LONG", 400);
      const rests = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
      const request = closeRequest({ ...rests, credentials: { venueone: credentials(account) } });
      const result = await runUntil(clock, trades.trade(request, closeContext(clock)), 10_000);
      expect(result).toMatchObject({ ok: true, data: { execution: { state: "RESTING" } } });
    },
    async order(account: string) {
      const request = placeRequest({ type: "LIMIT", price: "99000", credentials: credentials(account) });
      const answer = await runUntil(clock, desk.place(request, orderContext(clock)), 10_000);
      expect(answer).toMatchObject({ ok: true, order: { status: "OPEN" } });
    },
    stop: () => runUntil(clock, Promise.all([trades.drain(5_000), desk.drain(5_000)]), 20_000),
  };
}

describe("the streams that orders are followed over", () => {
  it("are one for an account, whichever way its orders came", async () => {
    const both = await bothServices();
    await both.trade("acct");
    await both.order("acct");
    expect(both.streams.listenerCount).toBe(1);
    for (const { order } of both.venue.log) if (order !== null) Object.assign(order, { status: "CANCELED" });
    await both.clock.advanceAsync(600_000);
    expect(both.streams.listenerCount).toBe(0);
    expect(both.venue.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("are no more than their bound for a venue", async () => {
    const both = await bothServices();
    for (let count = 0; count < MAX_STREAMS; count++) {
      await both.trade(`trader-${count}`);
      await both.order(`desk-${count}`);
    }
    expect(both.streams.listenerCount).toBe(MAX_STREAMS);
    await both.stop();
    expect(both.streams.listenerCount).toBe(0);
  });
});
