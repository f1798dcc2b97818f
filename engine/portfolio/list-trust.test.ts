import { beforeEach, describe, expect, it } from "vitest";
import type { VenueOrder } from "../domain/order.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { ListTrust } from "./list-trust.js";
import { LIST_LAG_MS, OpenOrders } from "./open-orders.js";

const INTERVAL_MS = 15_000;

function order(venueOrderId: string): VenueOrder {
  return {
    venue: "venuetwo",
    nativeSymbol: "BTCUSDT",
    venueOrderId,
    venueClientOrderId: null,
    side: "BUY",
    type: "LIMIT",
    status: "OPEN",
    venueStatus: "OPEN",
    priceTicks: 10,
    qtyLots: 10,
    filledLots: 0,
    averagePrice: null,
    reduceOnly: false,
    triggerPrice: null,
    tsVenueMs: 1,
    fee: null,
  };
}

let clock: VirtualClock;
let run: number | null;
let doubtMs: number | null;
let trust: ListTrust;
let orders: OpenOrders;

const nowMs = (): number => clock.monoNs() / 1e6;

/** Reads a list after this time, in which events had reported everything but `rows`. */
function readList(afterMs: number, rows: readonly VenueOrder[] = orders.list()): void {
  clock.advance(afterMs);
  const request = trust.request();
  orders.beginList();
  const { news, gone } = orders.adopt(rows);
  trust.judge(request, news, gone);
}

beforeEach(() => {
  clock = new VirtualClock();
  run = 1;
  doubtMs = null;
  trust = new ListTrust({ clock, liveRun: () => run, doubtMs: () => doubtMs, intervalMs: () => INTERVAL_MS });
  orders = new OpenOrders(nowMs);
  trust.follow();
});

describe("trust in a list of open orders", () => {
  it("begins with a list that was requested late enough to be complete", () => {
    readList(0);
    expect([trust.isComplete, trust.completeInMs, trust.covers(orders)]).toEqual([false, LIST_LAG_MS, false]);
    readList(LIST_LAG_MS);
    expect([trust.isComplete, trust.completeInMs, trust.covers(orders)]).toEqual([true, 0, true]);
  });

  it("ends with the run of the stream, and needs a list of the next one", () => {
    readList(LIST_LAG_MS);
    run = null;
    expect(trust.covers(orders)).toBe(false);
    run = 2;
    expect(trust.covers(orders)).toBe(false);
    readList(LIST_LAG_MS);
    expect(trust.covers(orders)).toBe(true);
  });

  it("ends when the list is three intervals old", () => {
    readList(LIST_LAG_MS);
    clock.advance(3 * INTERVAL_MS);
    expect(trust.covers(orders)).toBe(true);
    clock.advance(1);
    expect(trust.covers(orders)).toBe(false);
  });

  it("needs a list that is surely newer than the doubt of the room", () => {
    readList(LIST_LAG_MS);
    doubtMs = nowMs();
    expect(trust.covers(orders)).toBe(false);
    readList(LIST_LAG_MS);
    expect(trust.covers(orders)).toBe(true);
  });

  it("is lost by an order that no event reported, and restored by two clean lists", () => {
    readList(LIST_LAG_MS);
    readList(INTERVAL_MS, [order("1")]);
    expect(trust.covers(orders)).toBe(false);
    readList(INTERVAL_MS);
    expect(trust.covers(orders)).toBe(false);
    readList(INTERVAL_MS);
    expect(trust.covers(orders)).toBe(true);
  });

  it("is restored at once by the event of that order, when it was late and not lost", () => {
    readList(LIST_LAG_MS);
    readList(INTERVAL_MS, [order("1")]);
    clock.advance(LIST_LAG_MS);
    trust.explain(order("1"));
    expect(trust.covers(orders)).toBe(true);
  });

  it("waits until the end of an order that the list left out is known", () => {
    orders.apply(order("1"));
    readList(2 * LIST_LAG_MS, []);
    expect([trust.isComplete, trust.covers(orders)]).toEqual([true, false]);
    orders.apply({ ...order("1"), status: "CANCELED" });
    expect(trust.covers(orders)).toBe(true);
  });
});
