/** The bounds of single orders as they were stated: the venue's band around its mark, a stop's own limit, one bound for all attempts. */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import type { OrderCommand } from "../../domain/order.js";
import type { FakeVenue } from "../test/fake-venue.js";
import {
  closeRequest,
  createDesk,
  CREDENTIALS,
  orderContext,
  placeRequest,
  type DeskHarness,
} from "./test/desk-harness.js";

const BANDED = { instrument: { bandUpPpm: 1_020_000, bandDownPpm: 980_000 } };
const KEYED = { idempotencyKey: "key-1" };

/** Held 0.3 long; the mark is 100000. */
async function banded(askedMark?: () => string | null): Promise<DeskHarness> {
  const harness = await createDesk({ venue: { ...BANDED, ...(askedMark === undefined ? {} : { askedMark }) } });
  harness.venue.setMark("100000");
  harness.venue.setPosition("acct", "LONG", 300);
  return harness;
}

const sent = (venue: FakeVenue): number[] => venue.log.map(({ command }) => command.priceTicks);
const close = (harness: DeskHarness, request: Parameters<typeof closeRequest>[0] = {}, context = {}) =>
  harness.run(harness.desk.closePosition(closeRequest(request), orderContext(harness.clock, context)));

describe("a single order's bound beside the venue's band", () => {
  it("is kept inside by a margin, on both sides", async () => {
    const harness = await banded();
    const sell = await harness.order({ side: "SELL", reduceOnly: true, maxSlippageBps: 300 });
    expect(sell).toMatchObject({ price: "98250", adjustments: [{ from: "97000", to: "98250", rule: "PRICE_BAND" }] });
    expect((await harness.order({ side: "BUY", maxSlippageBps: 300 })).price).toBe("101750");
  });

  it("is priced once more by a fresh mark after a refusal for the band, under the same name", async () => {
    const harness = await banded(() => "101500");
    harness.venue.fate = (command: OrderCommand) =>
      command.priceTicks < 994_700 ? { kind: "reject", reason: "PRICE_BAND" } : { kind: "fill" };
    const request = { side: "SELL", reduceOnly: true, maxSlippageBps: 300, clientOrderId: "mine" } as const;
    const order = await harness.order(request, KEYED);
    expect(sent(harness.venue)).toEqual([982_500, 997_238]);
    expect(order).toMatchObject({ status: "FILLED", price: "99723.8", clientOrderId: "mine" });
    expect(order.adjustments.at(-1)).toEqual({ field: "price", from: "98250", to: "99723.8", rule: "PRICE_BAND" });
    expect(await harness.place(request, KEYED)).toMatchObject({
      ok: true,
      replayed: true,
      order: { price: "99723.8" },
    });
    expect(harness.venue.log).toHaveLength(2);
    await harness.run(harness.desk.drain(1_000));
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 10 })).toHaveLength(0);
  });

  it("closes a position that way too", async () => {
    const harness = await banded(() => "101500");
    harness.venue.fate = (command: OrderCommand) =>
      command.priceTicks < 994_700 ? { kind: "reject", reason: "PRICE_BAND" } : { kind: "fill" };
    expect(await close(harness, { maxSlippageBps: 300 })).toMatchObject({
      legs: [{ status: "CLOSED", filledSize: "0.3", order: { price: "99723.8" } }],
    });
  });

  it("is refused in the venue's words the second time, and the first where no fresh mark is to be had", async () => {
    for (const [askedMark, times] of [
      [() => "100000", 2],
      [() => null, 1],
      [undefined, 1],
    ] as const) {
      const harness = await banded(askedMark);
      harness.venue.fate = () => ({ kind: "reject", reason: "PRICE_BAND", venueText: "beyond the floor" });
      expect(await harness.place({ side: "SELL", reduceOnly: true, maxSlippageBps: 300 })).toMatchObject({
        ok: false,
        code: "VENUE_REJECTED",
        details: { reason: "PRICE_BAND", venueText: "beyond the floor" },
      });
      expect(harness.venue.log).toHaveLength(times);
    }
  });

  it("keeps the venue's refusal where the second order cannot be written down", async () => {
    const harness = await banded(() => "101500");
    harness.venue.fate = () => {
      harness.store.gate = () => Promise.reject(storeUnavailable("COMMIT_FAILED"));
      return { kind: "reject", reason: "PRICE_BAND" };
    };
    const request = { side: "SELL", reduceOnly: true, maxSlippageBps: 300 } as const;
    expect(await harness.place(request, KEYED)).toMatchObject({
      code: "VENUE_REJECTED",
      details: { reason: "PRICE_BAND" },
    });
    harness.store.gate = async () => {};
    await harness.clock.advanceAsync(20_000);
    expect(harness.venue.log).toHaveLength(1);
    expect(harness.desk.status().unknownCount).toBe(0);
  });

  it("never moves a price that its caller wrote", async () => {
    const harness = await banded(() => "100000");
    harness.venue.fate = () => ({ kind: "reject", reason: "PRICE_BAND" });
    await harness.place({ side: "SELL", type: "LIMIT", price: "97000", reduceOnly: true });
    expect(sent(harness.venue)).toEqual([970_000]);
  });
});

describe("a single LIMIT beside the venue's band", () => {
  const limit = (side: "BUY" | "SELL", price: string, reduceOnly = false) =>
    ({ side, type: "LIMIT", price, quantity: "0.1", reduceOnly }) as const;
  const edgeOf = (answer: Awaited<ReturnType<DeskHarness["place"]>>): unknown =>
    answer.ok ? "sent" : [answer.code, answer.details.fields];

  it("is refused unsent where no move of the mark could bring it inside, and is the venue's to judge nearer", async () => {
    const harness = await banded();
    // A band of two per cent, and half of that for the mark.
    for (const request of [limit("SELL", "96999.9", true), limit("SELL", "50000")])
      expect(edgeOf(await harness.place(request))).toEqual([
        "INVALID_PARAMETERS",
        [{ path: "price", problem: "must not be below 98000, the edge of the venue's band around its mark" }],
      ]);
    expect(edgeOf(await harness.place(limit("BUY", "103000.1")))).toEqual([
      "INVALID_PARAMETERS",
      [{ path: "price", problem: "must not be above 102000, the edge of the venue's band around its mark" }],
    ]);
    expect(sent(harness.venue)).toEqual([]);
    expect(await harness.store.scan("order-intent-open", { prefix: "", limit: 10 })).toHaveLength(0);
    const near = [limit("SELL", "97000", true), limit("BUY", "103000"), limit("SELL", "150000"), limit("BUY", "50000")];
    for (const request of near) expect(edgeOf(await harness.place(request))).toBe("sent");
    expect(sent(harness.venue)).toEqual([970_000, 1_030_000, 1_500_000, 500_000]);
  });

  it("is refused unsent at half of a wide band's low edge and at twice its high one, whatever its side", async () => {
    const wideBand = { lowPpm: 200_000, highPpm: 5_000_000 };
    const harness = await createDesk({ venue: { instrument: { wideBand } } });
    expect(edgeOf(await harness.place(limit("BUY", "0.1")))).toBe("sent");
    harness.venue.setMark("100000");
    const low = [{ path: "price", problem: "must be above 20000, the edge of the venue's band around its mark" }];
    const high = [{ path: "price", problem: "must not be above 500000, the edge of the venue's band around its mark" }];
    for (const side of ["BUY", "SELL"] as const) {
      expect(edgeOf(await harness.place(limit(side, "10000")))).toEqual(["INVALID_PARAMETERS", low]);
      expect(edgeOf(await harness.place(limit(side, "1000000.1")))).toEqual(["INVALID_PARAMETERS", high]);
    }
    expect(sent(harness.venue)).toEqual([1]);
    for (const price of ["10000.1", "1000000"]) expect(edgeOf(await harness.place(limit("BUY", price)))).toBe("sent");
    await harness.clock.advanceAsync(15_001);
    expect(edgeOf(await harness.place(limit("BUY", "0.1")))).toBe("sent");
  });

  it("is the venue's to judge where its mark is not known, or old", async () => {
    const unknown = await createDesk({ venue: BANDED });
    expect(edgeOf(await unknown.place(limit("BUY", "150000")))).toBe("sent");
    const old = await banded();
    await old.clock.advanceAsync(15_001);
    expect(edgeOf(await old.place(limit("BUY", "150000")))).toBe("sent");
  });

  it("has the wider a margin the more its market moves, without an end", async () => {
    const harness = await banded();
    const { stats } = harness.venue.market;
    // A per cent a second: six times that, over four seconds.
    for (let second = 0; second < 60; second++)
      stats.update(second % 2 === 0 ? 1_000_000 : 990_000, harness.clock.monoNs() + second * 1e9);
    expect(edgeOf(await harness.place(limit("BUY", "113000")))).toBe("sent");
    expect(edgeOf(await harness.place(limit("BUY", "115000")))).toEqual(["INVALID_PARAMETERS", expect.anything()]);
  });

  it("that was placed is answered again wherever the mark has gone", async () => {
    const harness = await banded();
    const request = limit("BUY", "101000");
    const first = await harness.order(request, KEYED);
    harness.venue.setMark("90000");
    expect(await harness.place(request, KEYED)).toMatchObject({
      ok: true,
      replayed: true,
      order: { orderId: first.orderId },
    });
    expect(edgeOf(await harness.place(request, { idempotencyKey: "key-2" }))).toEqual([
      "INVALID_PARAMETERS",
      expect.anything(),
    ]);
    expect(harness.venue.log).toHaveLength(1);
  });
});

describe("a single stop's limit", () => {
  const stop = (price: string, overrides = {}) =>
    ({ side: "SELL", type: "STOP_LIMIT", stopPrice: "90000", price, reduceOnly: true, ...overrides }) as const;

  it("is judged around its trigger: sent as it is, or refused", async () => {
    const harness = await banded();
    expect(await harness.order(stop("89000"))).toMatchObject({ price: "89000", triggerPrice: "90000" });
    const profit = stop("110000", { type: "TAKE_PROFIT_LIMIT", stopPrice: "112000" });
    expect(await harness.order(profit)).toMatchObject({ price: "110000" });
    for (const request of [stop("88199.9"), stop("109000", { type: "TAKE_PROFIT_LIMIT", stopPrice: "112000" })])
      expect(await harness.place(request)).toMatchObject({
        ok: false,
        code: "INVALID_PARAMETERS",
        details: { fields: [{ path: "price", problem: expect.stringContaining("trigger") }] },
      });
    expect(sent(harness.venue)).toEqual([890_000, 1_100_000]);
  });
});

describe("the first bound of a single order", () => {
  /** The market falls by four per cent while the order is out. */
  const fall = (harness: DeskHarness): void => harness.venue.setBook(959_900, 960_100, 1_000);

  it("holds for the order that follows when the position had shrunk", async () => {
    for (const context of [{}, KEYED]) {
      const harness = await createDesk();
      harness.venue.setPosition("acct", "LONG", 300);
      harness.venue.fate = () => {
        harness.venue.fate = () => ({ kind: "fill" });
        harness.venue.setPosition("acct", "LONG", 120);
        fall(harness);
        return { kind: "reject", reason: "REDUCE_ONLY" };
      };
      expect(await close(harness, {}, context)).toMatchObject({
        legs: [
          { status: "FAILED", filledSize: "0", error: { code: "SLIPPAGE_CAP", details: { worstPrice: "99000" } } },
        ],
      });
      expect(sent(harness.venue)).toEqual([990_000]);
      expect(harness.venue.heldLots("acct", "LONG")).toBe(120);
    }
  });

  it("is carried by it where the book still meets it", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.venue.fate = () => {
      harness.venue.fate = () => ({ kind: "fill" });
      harness.venue.setPosition("acct", "LONG", 120);
      harness.venue.setBook(991_000, 991_200, 1_000);
      return { kind: "reject", reason: "REDUCE_ONLY" };
    };
    expect(await close(harness)).toMatchObject({ legs: [{ filledSize: "0.12", order: { price: "99000" } }] });
  });

  it("holds after a crash, for the order that takes the place of one that got lost", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseRequest" });
    const request = placeRequest({ side: "SELL", credentials: CREDENTIALS, deadlineMs: 30_000 });
    void harness.desk.place(request, orderContext(harness.clock, KEYED));
    await harness.clock.advanceAsync(100);
    harness.kill();
    await harness.clock.advanceAsync(100);
    await harness.restart();
    harness.venue.fate = () => ({ kind: "fill" });
    fall(harness);
    const again = () => harness.place({ side: "SELL", deadlineMs: 30_000 }, KEYED);
    expect(await again()).toMatchObject({ ok: false, code: "SLIPPAGE_CAP", details: { worstPrice: "99000" } });
    expect(harness.venue.log).toHaveLength(1);
    harness.venue.setBook(994_900, 995_100, 1_000);
    expect(await again()).toMatchObject({ ok: true, order: { status: "FILLED", price: "99000" } });
    expect(sent(harness.venue)).toEqual([990_000, 990_000]);
  });
});
