/** close-all on the real desk: a dry run leaves no trace, and only the symbols named are touched. */
import { describe, expect, it } from "vitest";
import type { VenueRoom } from "../../ports.js";
import { closeAllRequest, createDesk, orderContext, type DeskHarness } from "./test/desk-harness.js";
import type { CloseAllAnswer, CloseAllRequest, OrderContext } from "./order-desk.js";

function closeAll(
  harness: DeskHarness,
  request: Partial<CloseAllRequest> = {},
  context: Partial<OrderContext> = {},
): Promise<CloseAllAnswer> {
  return harness.run(harness.desk.closeAll(closeAllRequest(request), orderContext(harness.clock, context)));
}

function sentBy({ venue, two, calls }: DeskHarness): unknown {
  return { orders: venue.log.length + two.log.length, cancels: calls.cancelAll };
}

describe("a dry run of close-all", () => {
  it("says what would be closed at which worst price, sends nothing and cancels nothing", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.two.setPosition("acct", "SHORT", 200);
    expect(await closeAll(harness, { dryRun: true })).toMatchObject({
      ok: true,
      venues: [
        {
          cancel: null,
          legs: [{ status: "SIMULATED", requestedSize: "0.3", filledSize: "0", worstPrice: "99000", order: null }],
        },
        {
          cancel: null,
          legs: [{ status: "SIMULATED", requestedSize: "0.2", filledSize: "0", worstPrice: "101000", order: null }],
        },
      ],
    });
    expect(sentBy(harness)).toEqual({ orders: 0, cancels: 0 });
    expect([harness.venue.heldLots("acct", "LONG"), harness.two.heldLots("acct", "SHORT")]).toEqual([300, 200]);
  });

  it("says which positions could not be closed, as things are", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.venue.market.book.invalidate("disconnected");
    expect(await closeAll(harness, { dryRun: true })).toMatchObject({
      venues: [
        { legs: [{ status: "FAILED", error: { code: "VENUE_UNAVAILABLE", details: { reason: "BOOK_INVALID" } } }] },
        {},
      ],
    });
  });

  it("uses up no Idempotency-Key: the close that follows with it is no replay", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    const keyed = { idempotencyKey: "key-1" };
    await closeAll(harness, { dryRun: true }, { ...keyed, rawBody: Buffer.from("dry") });
    expect(await closeAll(harness, {}, { ...keyed, rawBody: Buffer.from("live") })).toMatchObject({
      replayed: false,
      venues: [{ legs: [{ status: "CLOSED" }] }, {}],
    });
    expect(harness.venue.log).toHaveLength(1);
  });
});

describe("close-all of some symbols", () => {
  /** Every room says which symbols its cancels and position reads were for; null: all. */
  async function recorded(): Promise<{ harness: DeskHarness; cancelled: (string | null)[] }> {
    const cancelled: (string | null)[] = [];
    const mutateRoom = (room: VenueRoom): VenueRoom => {
      const cancelAll = room.orders.cancelAll;
      if (cancelAll === undefined) return room;
      return {
        ...room,
        orders: {
          ...room.orders,
          cancelAll(session, instrument, options) {
            cancelled.push(instrument?.symbol ?? null);
            return cancelAll(session, instrument, options);
          },
        },
      };
    };
    return { harness: await createDesk({ mutateRoom }), cancelled };
  }

  it("cancels and closes only these", async () => {
    const { harness, cancelled } = await recorded();
    harness.venue.setPosition("acct", "LONG", 300);
    const accounts = closeAllRequest().accounts.slice(0, 1);
    expect(await closeAll(harness, { accounts, symbols: ["BTC"] })).toMatchObject({
      venues: [{ cancel: { outcome: "ACCEPTED" }, legs: [{ symbol: "BTC", status: "CLOSED" }] }],
    });
    expect(cancelled).toEqual(["BTC"]);
  });

  it("leaves positions of other symbols alone", async () => {
    const { harness } = await recorded();
    harness.venue.setPosition("acct", "LONG", 300);
    const accounts = closeAllRequest().accounts.slice(0, 1);
    expect(await closeAll(harness, { accounts, symbols: ["ETH"] })).toMatchObject({
      venues: [{ error: { code: "UNKNOWN_SYMBOL" }, legs: [] }],
    });
    expect(harness.venue.log).toHaveLength(0);
  });

  it("one that a venue does not list beside one that it does takes nothing away", async () => {
    const { harness, cancelled } = await recorded();
    harness.venue.setPosition("acct", "LONG", 300);
    const accounts = closeAllRequest().accounts.slice(0, 1);
    expect(await closeAll(harness, { accounts, symbols: ["ETH", "BTC"] })).toMatchObject({
      venues: [{ error: null, legs: [{ symbol: "BTC", status: "CLOSED" }] }],
    });
    expect(cancelled).toEqual(["BTC"]);
  });
});
