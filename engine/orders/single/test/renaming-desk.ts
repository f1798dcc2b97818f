/** A desk whose venue puts another order, of a new id and what is left, in the place of one that is amended. */
import type { VenueOrder } from "../../../domain/order.js";
import type { VenueRoom } from "../../../ports.js";
import type { AmendRequest } from "../order-desk.js";
import { FakeStreams } from "../../test/fake-streams.js";
import { createRowSink } from "../../test/row-sink.js";
import { createDesk, CREDENTIALS, orderContext, orderName, type DeskHarness } from "./desk-harness.js";

export interface RenamingDesk extends DeskHarness {
  readonly streams: FakeStreams;
  /** What filled of the order under its first id when the venue takes the next amend. */
  filledMeanwhile: number;
  /** Looks in the background have no answer. */
  isHidden: boolean;
  /** Its amends bring no new id and no event. */
  isSilent: boolean;
  /** Its amends bring the cancel of the old id, and no new one. */
  isUnnamed: boolean;
  /** The orders that others are in the place of, oldest first. */
  replaced(): readonly VenueOrder[];
  /** For so long from an amend on its index of client ids has the order before that. */
  lagMs: number;
  /** Of all ids, whatever has an end. */
  filledLots(): number;
  /** Something happens to the order that the venue has now. */
  change(changes: Partial<VenueOrder>): VenueOrder;
  amend(quantity: string): Promise<unknown>;
  /** Of its price alone. */
  reprice(price: string): Promise<unknown>;
}

export async function renamingDesk(): Promise<RenamingDesk> {
  const streams = new FakeStreams();
  const ended = new Map<string, VenueOrder>();
  let desk: RenamingDesk;
  let laggedUntilMs = 0;
  const renaming = (room: VenueRoom): VenueRoom => ({
    ...room,
    newIdPerChange: true,
    reader: {
      ...room.reader,
      readOrder: async (session, instrument, ref, options) => {
        if (desk.isHidden && options.lane === "background")
          return { ok: false, code: "TIMEOUT", message: "", retryAfterMs: null };
        const isLate = options.lane === "background" && desk.clock.wallMs() < laggedUntilMs;
        const last = [...ended.values()].at(-1);
        const value = "venueOrderId" in ref ? ended.get(ref.venueOrderId) : isLate ? last : undefined;
        if (value === undefined) return room.reader.readOrder(session, instrument, ref, options);
        return { ok: true, value, asOfMs: 0, source: "venue" };
      },
    },
    orders: {
      ...room.orders,
      async amend(_session, _instrument, current, change) {
        const before = desk.change({});
        const filledLots = Math.max(before.filledLots, desk.filledMeanwhile);
        const averagePrice = filledLots > 0 ? "95000" : null;
        const tsVenueMs = desk.clock.wallMs();
        laggedUntilMs = tsVenueMs + desk.lagMs;
        ended.set(before.venueOrderId, { ...before, status: "CANCELED", filledLots, averagePrice, tsVenueMs });
        const next = { qtyLots: change.qtyLots - current.filledLots, filledLots: 0, averagePrice: null };
        const venueOrderId = String(Number(before.venueOrderId) + 1_000_000);
        const order = desk.change({ ...next, venueOrderId, priceTicks: change.priceTicks, status: "OPEN" });
        const [canceled] = [...ended.values()].slice(-1);
        if (desk.isSilent) return { outcome: "accepted", order: null };
        if (canceled !== undefined) streams.tell(CREDENTIALS.account, { kind: "order", order: canceled });
        return { outcome: "accepted", order: desk.isUnnamed ? null : order };
      },
    },
  });
  const harness = await createDesk({
    desk: { records: createRowSink() },
    limits: { maxDailyNotional: "100000000" },
    mutateRoom: (room) => (room.venue === "venueone" ? renaming(room) : room),
    prepareVenue: (venue) => {
      if (venue.venue === "venueone") venue.streams = streams;
    },
  });
  const amend = (change: Pick<AmendRequest, "price" | "quantity">): Promise<unknown> => {
    const name = harness.venue.log[0]?.order?.venueOrderId ?? "";
    const request = { ...orderName(name, { symbol: "BTC" }), ...change };
    return harness.run(harness.desk.amend(request, orderContext(harness.clock)));
  };
  desk = Object.assign(harness, {
    streams,
    filledMeanwhile: 0,
    isHidden: false,
    isSilent: false,
    isUnnamed: false,
    replaced: () => [...ended.values()],
    lagMs: 0,
    filledLots: () => [...ended.values(), desk.change({})].reduce((sum, order) => sum + order.filledLots, 0),
    change: (changes: Partial<VenueOrder>): VenueOrder => {
      const [entry] = harness.venue.log;
      if (entry?.order == null) throw new Error("no order");
      entry.order = { ...entry.order, ...changes };
      return entry.order;
    },
    amend: (quantity: string) => amend({ price: null, quantity }),
    reprice: (price: string) => amend({ price, quantity: null }),
  });
  return desk;
}
