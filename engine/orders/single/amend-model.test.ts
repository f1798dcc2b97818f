/**
 * Amends of one order, one after another, while reads of the venue lag behind what it took: every field ends as it was
 * wished last, and a field that an amend did not name is never taken back. `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../domain/random.js";
import type { VenueOrder } from "../../domain/order.js";
import type { AccountSession, CallOptions, OrderRef, Read, VenueRoom } from "../../ports.js";
import type { AmendRequest } from "./order-desk.js";
import { RecentOrders } from "./recent-orders.js";
import { createDesk, orderContext, orderName } from "./test/desk-harness.js";

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 61_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 20);
const AMENDS = 12;
/** Of bursts: more amends within the lag of a read than were remembered once. */
const BURSTS = [61_026, 61_269, 61_461];
/** Shorter than the time for which our own record of an order speaks. */
const MAX_LAG_MS = 1_900;
const LIMIT = { type: "LIMIT", price: "95000", quantity: "0.25", timeInForce: "GTC" } as const;

type Figures = Pick<VenueOrder, "priceTicks" | "qtyLots">;

/** The room as a venue shows it whose reads are up to MAX_LAG_MS behind its own book. */
function lagging(room: VenueRoom, nowMs: () => number, random: Random): VenueRoom {
  const changes: { readonly atMs: number; readonly before: Figures }[] = [];
  const late = (order: VenueOrder): VenueOrder => {
    const shownMs = nowMs() - random.next() * MAX_LAG_MS;
    const after = changes.find(({ atMs }) => atMs > shownMs);
    return after === undefined ? order : { ...order, ...after.before };
  };
  const lateRead = async (read: Promise<Read<VenueOrder | null>>): Promise<Read<VenueOrder | null>> => {
    const found = await read;
    return found.ok && found.value !== null ? { ...found, value: late(found.value) } : found;
  };
  const { orders, reader } = room;
  const findOrder = reader.findOrder?.bind(reader);
  return {
    ...room,
    reader: {
      ...reader,
      readOrder: (...args) => lateRead(reader.readOrder(...args)),
      ...(findOrder === undefined
        ? {}
        : {
            findOrder: (session: AccountSession, ref: OrderRef, call: CallOptions) =>
              lateRead(findOrder(session, ref, call)),
          }),
    },
    orders: {
      ...orders,
      async amend(session, instrument, current, change, options) {
        const truth = await reader.readOrder(session, instrument, { venueOrderId: current.venueOrderId }, options);
        const before = truth.ok && truth.value !== null ? truth.value : current;
        changes.push({ atMs: nowMs(), before: { priceTicks: before.priceTicks, qtyLots: before.qtyLots } });
        return (
          (await orders.amend?.(session, instrument, current, change, options)) ?? {
            outcome: "unknown",
            cause: "TIMEOUT",
          }
        );
      },
    },
  };
}

/** What the venue has in the end, and what was wished last of each field. */
async function play(seed: number): Promise<{ readonly found: Figures; readonly wished: Figures }> {
  const random = createSeededRandom(seed);
  let nowMs = (): number => 0;
  const harness = await createDesk({
    mutateRoom: (room) => (room.venue === "venueone" ? lagging(room, () => nowMs(), random) : room),
  });
  nowMs = () => harness.clock.monoNs() / 1e6;
  const { orderId } = await harness.order(LIMIT);
  const wished = { priceTicks: 950_000, qtyLots: 250 };
  for (let step = 0; step < AMENDS; step++) {
    const change: Partial<AmendRequest> = {};
    const which = random.next();
    if (which < 0.7) {
      wished.priceTicks = 940_000 + Math.floor(random.next() * 100) * 10;
      Object.assign(change, { price: String(wished.priceTicks / 10) });
    }
    if (which > 0.4) {
      wished.qtyLots = 250 + Math.floor(random.next() * 200);
      Object.assign(change, { quantity: (wished.qtyLots / 1_000).toFixed(3) });
    }
    const request = { ...orderName(orderId ?? ""), price: null, quantity: null, ...change };
    const answer = await harness.run(harness.desk.amend(request, orderContext(harness.clock)));
    expect(answer, JSON.stringify(change)).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    harness.clock.advance(random.next() < 0.5 ? 10 : random.next() * 3_000);
  }
  const { priceTicks, qtyLots } = harness.venue.log[0]?.order ?? { priceTicks: 0, qtyLots: 0 };
  return { found: { priceTicks, qtyLots }, wished };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("amends of one order while reads lag", () => {
  it.each([...BURSTS, ...Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run)])(
    "leave what was wished last, seed %i",
    async (seed) => {
      const { found, wished } = await play(seed);
      expect(found).toEqual(wished);
    },
  );

  it("take fields back where the order is taken as a read shows it: the judge sees that", async () => {
    vi.spyOn(RecentOrders.prototype, "asChanged").mockImplementation((_account, order) => order);
    let takenBack = 0;
    for (let run = 0; run < RUNS; run++) {
      const { found, wished } = await play(FIRST_SEED + run);
      if (found.priceTicks !== wished.priceTicks || found.qtyLots !== wished.qtyLots) takenBack++;
    }
    expect(takenBack).toBeGreaterThan(RUNS / 4);
  });
});
