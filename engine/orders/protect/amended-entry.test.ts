/** An entry that is amended at a venue of new ids, and whose index of client ids has the canceled one for long. */
import { expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { VenueRoom } from "../../ports.js";
import { createHarness, type Harness } from "../test/harness.js";
import { FakeStreams } from "../test/fake-streams.js";

const ACCOUNT = "acct-venueone";
const RESTS = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const STOP = { stopLoss: "95000" };
const NEW_ID = "id-after-the-amend";
const UNREAD_MS = 33_000;

interface Amended extends Harness {
  readonly streams: FakeStreams;
  /** Reads of the new id are refused until then. */
  readonly limit: { untilMs: number };
  /** The venue has the order under another id from here on, which looks by client id do not find. */
  amend(state: Partial<VenueOrder>): VenueOrder;
}

function amendedEntry(): Amended {
  const streams = new FakeStreams();
  const byId = new Map<string, VenueOrder>();
  const limit = { untilMs: 0 };
  const renaming = (room: VenueRoom): VenueRoom => ({
    ...room,
    newIdPerChange: true,
    reader: {
      ...room.reader,
      readOrder: async (session, instrument, ref, options) => {
        const order = "venueOrderId" in ref ? byId.get(ref.venueOrderId) : undefined;
        if (order !== undefined && harness.clock.wallMs() < limit.untilMs)
          return { ok: false, code: "RATE_LIMITED", message: "no token", retryAfterMs: null };
        if (order !== undefined) return { ok: true, value: order, asOfMs: 0, source: "venue" };
        return room.reader.readOrder(session, instrument, ref, options);
      },
    },
  });
  const harness = createHarness({
    prepareVenue: (venue) => {
      if (venue.venue !== "venueone") return;
      venue.streams = streams;
      const plain = venue.room.bind(venue);
      venue.room = (gate) => renaming(plain(gate));
    },
  });
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  return Object.assign(harness, {
    streams,
    limit,
    amend(state: Partial<VenueOrder>): VenueOrder {
      const [entry] = harness.one.log;
      if (entry?.order == null) throw new Error("no entry is there");
      const order = { ...entry.order, ...state, venueOrderId: NEW_ID };
      byId.set(NEW_ID, order);
      entry.order = { ...entry.order, status: "CANCELED", tsVenueMs: harness.clock.wallMs() };
      return order;
    },
  });
}

it("has what filled under its new id protected", async () => {
  const entry = amendedEntry();
  const { routing } = await entry.openData(STOP, RESTS);
  await entry.clock.advanceAsync(60_000);
  const order = entry.amend({ status: "FILLED", filledLots: 250, averagePrice: "99000" });
  entry.streams.tell(ACCOUNT, { kind: "order", order });
  await entry.clock.advanceAsync(60_000);
  expect(entry.one.log.slice(1).map(({ command }) => [command.reduceOnly, command.qtyLots])).toEqual([[true, 250]]);
  const data = await entry.service.execution(routing.routeId, { ownerId: "pk_test", payer: null, seesAll: false });
  expect(data?.execution).toMatchObject({ filledSize: "0.25", protection: "PLACED" });
});

it("is watched on while it rests under its new id", async () => {
  const entry = amendedEntry();
  await entry.openData(STOP, RESTS);
  await entry.clock.advanceAsync(60_000);
  const order = entry.amend({});
  entry.streams.tell(ACCOUNT, { kind: "order", order });
  await entry.clock.advanceAsync(60_000);
  expect(entry.service.status()).toMatchObject({ watchedCount: 1, followedCount: 1 });
});

it("has its stop soon after its new id can be read, also where each look by its client id was answered", async () => {
  const entry = amendedEntry();
  await entry.openData(STOP, RESTS);
  await entry.clock.advanceAsync(60_000);
  const order = entry.amend({});
  entry.limit.untilMs = entry.clock.wallMs() + UNREAD_MS;
  entry.streams.tell(ACCOUNT, { kind: "order", order });
  await entry.clock.advanceAsync(10_000);
  // No frame tells of it.
  entry.amend({ status: "FILLED", filledLots: 250, averagePrice: "99000" });
  await entry.clock.advanceAsync(UNREAD_MS - 10_000 + UNREAD_MS / 10 + 500);
  expect(entry.one.log.slice(1).map(({ command }) => [command.reduceOnly, command.qtyLots])).toEqual([[true, 250]]);
});
