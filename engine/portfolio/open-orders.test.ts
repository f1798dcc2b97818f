import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../domain/order.js";
import { isOpen, LIST_LAG_MS, OPEN_ORDERS_MAX, OpenOrders } from "./open-orders.js";

function order(
  id: string,
  filledLots = 0,
  status: VenueOrder["status"] = filledLots > 0 ? "PARTIALLY_FILLED" : "OPEN",
): VenueOrder {
  return {
    venue: "venuetwo",
    nativeSymbol: "BTCUSDT",
    venueOrderId: id,
    venueClientOrderId: null,
    side: "BUY",
    type: "LIMIT",
    status,
    venueStatus: status,
    priceTicks: 10,
    qtyLots: 10,
    filledLots,
    averagePrice: null,
    reduceOnly: false,
    triggerPrice: null,
    tsVenueMs: 1,
    fee: null,
  };
}

type Move =
  | { readonly kind: "open"; readonly id: string }
  | { readonly kind: "fill"; readonly id: string; readonly lots: number }
  | { readonly kind: "cancel"; readonly id: string }
  | { readonly kind: "ask" }
  | { readonly kind: "answer" };

const id = fc.constantFrom("a", "b", "c", "d");
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant("open" as const), id }),
  fc.record({ kind: fc.constant("fill" as const), id, lots: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ kind: fc.constant("cancel" as const), id }),
  fc.constant({ kind: "ask" as const }),
  fc.constant({ kind: "answer" as const }),
);

describe("open orders", () => {
  it("reported by events and by lists that arrive late are what the venue has", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const venue = new Map<string, VenueOrder>();
        const used = new Set<string>();
        const orders = new OpenOrders(() => 0);
        // The list as it was when it was asked for; it arrives later.
        let asked: readonly VenueOrder[] | null = null;
        const tell = (now: VenueOrder, isFill: boolean) => {
          if (isOpen(now)) venue.set(now.venueOrderId, now);
          else venue.delete(now.venueOrderId);
          if (isFill) orders.applyFill(now);
          else orders.apply(now);
        };
        for (const one of moves) {
          const known = "id" in one ? venue.get(one.id) : undefined;
          // An id is used once: a venue does not bring an order back.
          if (one.kind === "open" && !used.has(one.id)) {
            used.add(one.id);
            tell(order(one.id), false);
          } else if (one.kind === "fill" && known !== undefined) {
            const filledLots = Math.min(10, known.filledLots + one.lots);
            tell(order(one.id, filledLots, filledLots === 10 ? "FILLED" : "PARTIALLY_FILLED"), true);
          } else if (one.kind === "cancel" && known !== undefined)
            tell(order(one.id, known.filledLots, "CANCELED"), false);
          else if (one.kind === "ask" && asked === null) {
            orders.beginList();
            asked = [...venue.values()];
          } else if (one.kind === "answer" && asked !== null) {
            const { gone } = orders.adopt(asked);
            expect(gone).toEqual([]);
            asked = null;
          }
        }
        const byId = (rows: Iterable<VenueOrder>) =>
          [...rows].map((row) => `${row.venueOrderId} ${row.filledLots} ${row.status}`).sort();
        expect(byId(orders.list())).toEqual(byId(venue.values()));
      }),
    );
  });

  it("follow a list in what is gone without an event, and in what is new", () => {
    const orders = new OpenOrders(() => 0);
    orders.beginList();
    expect(orders.adopt([order("a"), order("b")]).news).toHaveLength(2);
    orders.beginList();
    const { news, gone } = orders.adopt([order("b", 3), order("c")]);
    expect([news.map((row) => row.venueOrderId), gone.map((row) => row.venueOrderId)]).toEqual([["b", "c"], ["a"]]);
  });

  it("are not changed by an event that is older than what is known; UNKNOWN ends one, but not by a fill", () => {
    const orders = new OpenOrders(() => 0);
    orders.apply(order("a", 5));
    expect(orders.apply(order("a", 3))).toBe(false);
    expect(orders.applyFill(order("a", 7, "UNKNOWN"))).toMatchObject({ status: "UNKNOWN" });
    expect(orders.list()).toMatchObject([{ filledLots: 5 }]);
    orders.apply(order("a", 5, "UNKNOWN"));
    expect(orders.list()).toEqual([]);
  });

  it("are neither restored nor removed by a list asked for soon after an event; one asked for later does both", () => {
    let nowMs = 0;
    const orders = new OpenOrders(() => nowMs);
    orders.apply(order("new"));
    orders.apply(order("ended", 0, "CANCELED"));
    nowMs = LIST_LAG_MS;
    orders.beginList();
    expect(orders.adopt([order("ended")])).toEqual({ news: [], gone: [] });
    expect(orders.list()).toMatchObject([{ venueOrderId: "new" }]);
    nowMs++;
    orders.beginList();
    expect(orders.adopt([order("ended")]).gone).toMatchObject([{ venueOrderId: "new" }]);
  });

  it("are bounded: the oldest is forgotten, and counted", () => {
    const orders = new OpenOrders(() => 0);
    for (let count = 0; count < OPEN_ORDERS_MAX + 3; count++) orders.apply(order(String(count)));
    expect([orders.list().length, orders.forgottenCount, orders.list()[0]?.venueOrderId]).toEqual([
      OPEN_ORDERS_MAX,
      3,
      "3",
    ]);
  });
});
