/** Which waiters get the end of an order. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import { OwnOrders } from "./own-orders.js";
import { orderOf } from "./sent-orders.js";
import { CLOSE_LONG } from "../test/trading-harness.js";

function ended(id: number, filledLots: number, status: VenueOrder["status"] = "FILLED"): VenueOrder {
  return { ...orderOf(CLOSE_LONG, id, 0), status, filledLots };
}

describe("those who wait for an order's end", () => {
  it("are called once, for their order alone, and not after they stopped", () => {
    const orders = new OwnOrders();
    const ends: string[] = [];
    const follow = (id: string) => orders.follow(id, (order) => ends.push(`${id} ${order.status}`));
    follow("1");
    const stop = follow("2");
    expect(follow("2")).toBeNull();
    stop?.();
    stop?.();
    for (const id of [1, 1, 2, 3]) orders.noteEnd(ended(id, 10));
    expect(ends).toEqual(["1 FILLED"]);
    // Freed for whoever comes next, and an old stop does not end the wait of another.
    expect(follow("2")).not.toBeNull();
    stop?.();
    orders.noteEnd(ended(2, 0, "CANCELED"));
    expect(ends).toEqual(["1 FILLED", "2 CANCELED"]);
  });

  it("are a bounded number", () => {
    const orders = new OwnOrders();
    for (let id = 0; id < 1_024; id++) expect(orders.follow(String(id), () => {})).not.toBeNull();
    expect(orders.follow("x", () => {})).toBeNull();
  });
});
