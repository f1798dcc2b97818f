/** Which streamed positions stand after orders of our own, and who is told of an order's end. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { OwnOrders, SURELY_LATER_MS } from "./own-orders.js";
import { orderOf } from "./sent-orders.js";
import { CLOSE_LONG } from "./test/trading-harness.js";

const HELD = [{ nativeSymbol: "BTC", qtyLots: 100 }] as unknown as readonly VenuePosition[];
const ALL_BUT = (lots: number) => ({ coin: "BTC", lots: 100 - lots });

function ended(id: number, filledLots: number, status: VenueOrder["status"] = "FILLED"): VenueOrder {
  return { ...orderOf(CLOSE_LONG, id, 0), status, filledLots };
}

function setUp() {
  const clock = new VirtualClock(1_000_000);
  return { clock, orders: new OwnOrders(clock) };
}

describe("positions after orders of our own", () => {
  it("stand for what a reducing order leaves, and for all once its end and what it took are told, in any order", () => {
    for (const isEndFirst of [true, false]) {
      const { orders } = setUp();
      orders.noteReduction("1", "BTC", 10);
      expect([orders.leave(HELD, ALL_BUT(10)), orders.leave(HELD, ALL_BUT(9)), orders.leave(HELD, null)]).toEqual([
        true,
        false,
        false,
      ]);
      orders.noteTaken("1", null);
      expect(orders.leave(HELD, ALL_BUT(9))).toBe(false);
      if (isEndFirst) orders.noteEnd(ended(1, 6));
      orders.noteShrunk([{ nativeSymbol: "BTC", byLots: 6 }]);
      if (!isEndFirst) orders.noteEnd(ended(1, 6));
      expect([orders.leave(HELD, null), orders.isPending]).toEqual([true, false]);
    }
  });

  it("stand again at once where it was told of before its answer, or did not leave, or filled nothing", () => {
    const { orders } = setUp();
    orders.noteReduction("1", "BTC", 10);
    orders.noteEnd(ended(1, 10));
    orders.noteShrunk([{ nativeSymbol: "BTC", byLots: 10 }]);
    orders.noteTaken("1", null);
    orders.noteReduction("2", "BTC", 10);
    orders.noteTaken("2", 0);
    orders.noteReduction("3", "BTC", 10);
    orders.noteTaken("3", null);
    orders.noteEnd(ended(3, 0, "CANCELED"));
    expect([orders.leave(HELD, null), orders.isPending]).toEqual([true, false]);
  });

  it("do not stand after a refusal, an unknown outcome or an entry, until a state read surely later", () => {
    const { clock, orders } = setUp();
    orders.noteReduction("1", "BTC", 10);
    orders.noteDoubtful("1");
    expect([orders.leave(HELD, ALL_BUT(50)), orders.isOverdue]).toEqual([false, true]);
    orders.believe(clock.wallMs() + SURELY_LATER_MS - 1);
    expect(orders.leave(HELD, ALL_BUT(50))).toBe(false);
    orders.believe(clock.wallMs() + SURELY_LATER_MS);
    expect([orders.leave(HELD, null), orders.isPending]).toEqual([true, false]);
    orders.note();
    expect(orders.leave(HELD, ALL_BUT(50))).toBe(false);
  });

  it("an order that the streams do not tell of becomes overdue, and one under way does not", () => {
    const { clock, orders } = setUp();
    orders.noteReduction("1", "BTC", 10);
    clock.advance(10_000);
    expect([orders.isPending, orders.isOverdue]).toEqual([true, false]);
    orders.noteTaken("1", null);
    clock.advance(SURELY_LATER_MS - 1);
    expect(orders.isOverdue).toBe(false);
    clock.advance(1);
    expect(orders.isOverdue).toBe(true);
    orders.believe(clock.wallMs());
    expect(orders.isPending).toBe(false);
  });

  it("too many under way: nothing streamed stands until the venue was read", () => {
    const { orders } = setUp();
    for (let id = 0; id < 1_024; id++) orders.noteReduction(String(id), "ETH", 1);
    expect(orders.leave(HELD, ALL_BUT(0))).toBe(true);
    orders.noteReduction("x", "ETH", 1);
    expect(orders.leave(HELD, ALL_BUT(0))).toBe(false);
  });
});

describe("those who wait for an order's end", () => {
  it("are told once, of their order alone, and not after they stopped", () => {
    const { orders } = setUp();
    const told: string[] = [];
    const follow = (id: string) => orders.follow(id, (order) => told.push(`${id} ${order.status}`));
    follow("1");
    const stop = follow("2");
    expect(follow("2")).toBeNull();
    stop?.();
    stop?.();
    for (const id of [1, 1, 2, 3]) orders.noteEnd(ended(id, 10));
    expect(told).toEqual(["1 FILLED"]);
    // Freed for whoever comes next, and an old stop does not end the wait of another.
    expect(follow("2")).not.toBeNull();
    stop?.();
    orders.noteEnd(ended(2, 0, "CANCELED"));
    expect(told).toEqual(["1 FILLED", "2 CANCELED"]);
  });

  it("are a bounded number", () => {
    const { orders } = setUp();
    for (let id = 0; id < 1_024; id++) expect(orders.follow(String(id), () => {})).not.toBeNull();
    expect(orders.follow("x", () => {})).toBeNull();
  });
});
