/** close-all on the real desk: a dry run leaves no trace, and only the symbols named are touched. */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../domain/instrument.js";
import type { VenuePosition } from "../../domain/position.js";
import type { VenueRoom } from "../../ports.js";
import { closeAllRequest, createDesk, orderContext, type DeskHarness } from "./test/desk-harness.js";
import type { CloseAllAnswer, CloseAllRequest, OrderRequestContext } from "./order-desk.js";

function closeAll(
  harness: DeskHarness,
  request: Partial<CloseAllRequest> = {},
  context: Partial<OrderRequestContext> = {},
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

  it("reports which positions could not be closed now", async () => {
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

  it("says which positions are beyond the bound of one call, as the close would", async () => {
    const mutateRoom = (room: VenueRoom): VenueRoom => ({
      ...room,
      reader: {
        ...room.reader,
        readPositions: async (session, instrument, options) => {
          const read = await room.reader.readPositions(session, instrument, options);
          return read.ok ? { ...read, value: read.value.flatMap((row) => Array<VenuePosition>(201).fill(row)) } : read;
        },
      },
    });
    const harness = await createDesk({ mutateRoom });
    harness.venue.setPosition("acct", "LONG", 300);
    const accounts = closeAllRequest().accounts.slice(0, 1);
    const answer = await closeAll(harness, { accounts, dryRun: true });
    const legs = answer.ok ? (answer.venues[0]?.legs ?? []) : [];
    expect(legs).toHaveLength(201);
    expect(legs.slice(0, 200).every(({ status }) => status === "SIMULATED")).toBe(true);
    expect(legs[200]).toMatchObject({
      status: "FAILED",
      error: { code: "OVERLOADED", details: { reason: "LEGS", maximum: 200 } },
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

  it("closes one that the venue lists beside one that it does not", async () => {
    const { harness, cancelled } = await recorded();
    harness.venue.setPosition("acct", "LONG", 300);
    const accounts = closeAllRequest().accounts.slice(0, 1);
    expect(await closeAll(harness, { accounts, symbols: ["ETH", "BTC"] })).toMatchObject({
      venues: [{ error: null, legs: [{ symbol: "BTC", status: "CLOSED" }] }],
    });
    expect(cancelled).toEqual(["BTC"]);
  });
});

describe("close-all over holdings that it cannot close", () => {
  const ACCOUNTS = closeAllRequest().accounts.slice(0, 1);

  /** The first venue's reads hold these too. */
  function holding(extra: readonly Partial<VenuePosition>[], change: Partial<VenueRoom> = {}) {
    return createDesk({
      mutateRoom(room) {
        if (room.venue !== "venueone") return room;
        const reader: VenueRoom["reader"] = {
          ...room.reader,
          async readPositions(session, instrument, options) {
            const read = await room.reader.readPositions(session, instrument, options);
            if (!read.ok || instrument !== null) return read;
            const [sample] = read.value;
            return {
              ...read,
              value: [...read.value, ...extra.map((one) => ({ ...(sample as VenuePosition), ...one }))],
            };
          },
        };
        return { ...room, ...change, reader };
      },
    });
  }

  const GONE: Partial<VenuePosition> = {
    symbol: "GONE",
    nativeSymbol: "GONE",
    direction: "SHORT",
    qtyLots: 0,
    uncounted: "12.5",
  };

  it.each([false, true])(
    "reports one in a contract that is not listed as a FAILED leg with its size (dry run: %s)",
    async (dryRun) => {
      const harness = await holding([GONE]);
      harness.venue.setPosition("acct", "LONG", 300);
      expect(await closeAll(harness, { accounts: ACCOUNTS, dryRun })).toMatchObject({
        venues: [
          {
            legs: [
              { symbol: "BTC", status: dryRun ? "SIMULATED" : "CLOSED" },
              {
                symbol: "GONE",
                direction: "SHORT",
                positionSize: "12.5",
                requestedSize: "12.5",
                filledSize: "0",
                status: "FAILED",
                order: null,
                error: { code: "POSITION_UNLISTED", details: { symbol: "GONE", reason: "NOT_LISTED" } },
              },
            ],
          },
        ],
      });
    },
  );

  it("reports one that is named and not followed as a FAILED leg beside one that is followed", async () => {
    const other = { symbol: "ASTER", nativeSymbol: "ASTERUSDT", qtyLots: 5 };
    const instruments = new Map<string, Instrument>();
    const harness = await holding([other], { instruments });
    instruments.set("ASTER", { ...harness.venue.instrument, ...other, qtyDecimals: 1 });
    harness.venue.setPosition("acct", "LONG", 300);
    expect(await closeAll(harness, { accounts: ACCOUNTS, symbols: ["BTC", "ASTER"] })).toMatchObject({
      venues: [
        {
          legs: [
            { symbol: "BTC", status: "CLOSED" },
            { symbol: "ASTER", status: "FAILED", error: { code: "POSITION_UNLISTED", details: { symbol: "ASTER" } } },
          ],
        },
      ],
    });
  });

  it("reports one that is named and not listed any more as a FAILED leg beside one that is listed", async () => {
    const harness = await holding([GONE, { ...GONE, symbol: "REST", nativeSymbol: "REST" }]);
    harness.venue.setPosition("acct", "LONG", 300);
    expect(await closeAll(harness, { accounts: ACCOUNTS, symbols: ["BTC", "GONE"] })).toMatchObject({
      venues: [
        {
          legs: [
            { symbol: "BTC", status: "CLOSED" },
            { symbol: "GONE", status: "FAILED", error: { code: "POSITION_UNLISTED", details: { symbol: "GONE" } } },
          ],
        },
      ],
    });
  });

  it("reports one in a contract that is not followed as a FAILED leg with its size: no book bounds its price", async () => {
    const other = { symbol: "ASTER", nativeSymbol: "ASTERUSDT", qtyLots: 5 };
    const instruments = new Map<string, Instrument>();
    const harness = await holding([other], { instruments });
    instruments.set("ASTER", { ...harness.venue.instrument, ...other, qtyDecimals: 1 });
    harness.venue.setPosition("acct", "LONG", 300);
    expect(await closeAll(harness, { accounts: ACCOUNTS })).toMatchObject({
      venues: [
        {
          legs: [
            { symbol: "BTC", status: "CLOSED" },
            {
              symbol: "ASTER",
              positionSize: "0.5",
              status: "FAILED",
              error: { code: "POSITION_UNLISTED", details: { symbol: "ASTER", reason: "NOT_FOLLOWED" } },
            },
          ],
        },
      ],
    });
    expect(harness.venue.log.map(({ command }) => command.instrument.symbol)).toEqual(["BTC"]);
  });

  it("keeps them in the reply that a retry with the same key gets", async () => {
    const harness = await holding([GONE]);
    harness.venue.setPosition("acct", "LONG", 300);
    const keyed = { idempotencyKey: "key-1" };
    const first = await closeAll(harness, { accounts: ACCOUNTS }, keyed);
    const again = await closeAll(harness, { accounts: ACCOUNTS }, keyed);
    expect([first, again]).toMatchObject([{ replayed: false }, { replayed: true }]);
    for (const answer of [first, again])
      expect(answer).toMatchObject({
        venues: [{ legs: [{ status: "CLOSED" }, { symbol: "GONE", status: "FAILED" }] }],
      });
  });

  it("does not report holdings in symbols that were not asked for", async () => {
    const harness = await holding([GONE]);
    harness.venue.setPosition("acct", "LONG", 300);
    const answer = await closeAll(harness, { accounts: ACCOUNTS, symbols: ["BTC"] });
    expect(answer.ok && answer.venues[0]?.legs).toMatchObject([{ symbol: "BTC" }]);
  });
});
