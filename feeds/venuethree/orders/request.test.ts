import { clientIdHexOf, clientOrderIndexOf } from "../account/client-id.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { TX_CANCEL_ALL, TX_CANCEL_ORDER, TX_CREATE_ORDER, TX_MODIFY_ORDER, TX_UPDATE_LEVERAGE } from "../sign/tx.js";
import {
  cancelAllTx,
  cancelTx,
  createOrderTx,
  leverageTx,
  marginFractionFor,
  modifyTx,
  type Prepared,
  scheduleCancelTx,
} from "./request.js";
import { orderOf } from "../account/sent-orders.js";
import { BTC, CLIENT_ID, CLIENT_INDEX, CLOSE_LONG, PEPE } from "../test/trading-harness.js";

const NOW_MS = 1_790_000_000_000;
const DAY_MS = 86_400_000;

function fieldsOf(prepared: Prepared) {
  if (!prepared.ok) throw new Error(prepared.why.venueCode);
  return prepared.tx.fields;
}

function create(changes: Partial<OrderCommand>): Prepared {
  return createOrderTx({ ...CLOSE_LONG, ...changes }, NOW_MS);
}

const trigger = { kind: "STOP", priceTicks: 830_000, source: "MARK" } as const;

describe("orders as transactions", () => {
  it("writes a market close: the worst price, no expiry, reduce-only", () => {
    expect(create({})).toEqual({
      ok: true,
      tx: {
        type: TX_CREATE_ORDER,
        attributes: null,
        fields: {
          MarketIndex: 1,
          ClientOrderIndex: CLIENT_INDEX,
          BaseAmount: 25_000,
          Price: 831_600,
          IsAsk: 1,
          Type: 1,
          TimeInForce: 0,
          ReduceOnly: 1,
          TriggerPrice: 0,
          OrderExpiry: 0,
        },
      },
    });
  });

  it.each<[string, Partial<OrderCommand>, Record<string, number>]>([
    ["limit IOC", { type: "LIMIT", timeInForce: "IOC" }, { Type: 0, TimeInForce: 0, OrderExpiry: 0 }],
    [
      "limit GTC",
      { type: "LIMIT", timeInForce: "GTC" },
      { Type: 0, TimeInForce: 1, OrderExpiry: NOW_MS + 28 * DAY_MS },
    ],
    ["post-only", { type: "LIMIT", timeInForce: "POST_ONLY" }, { Type: 0, TimeInForce: 2 }],
    ["market named GTC", { timeInForce: "GTC" }, { Type: 1, TimeInForce: 0, OrderExpiry: 0 }],
    ["stop", { trigger }, { Type: 2, TimeInForce: 0, TriggerPrice: 830_000, OrderExpiry: NOW_MS + 28 * DAY_MS }],
    ["stop-limit", { type: "LIMIT", timeInForce: "GTC", trigger }, { Type: 3, TimeInForce: 1 }],
    ["take-profit", { trigger: { ...trigger, kind: "TAKE_PROFIT" } }, { Type: 4, TimeInForce: 0 }],
    [
      "take-profit-limit",
      { type: "LIMIT", timeInForce: "POST_ONLY", trigger: { ...trigger, kind: "TAKE_PROFIT" } },
      { Type: 5, TimeInForce: 2 },
    ],
    ["a buy", { side: "BUY", reduceOnly: false }, { IsAsk: 0, ReduceOnly: 0 }],
  ])("%s", (_what, changes, expected) => {
    expect(fieldsOf(create(changes))).toMatchObject(expected);
  });

  it("keeps the venue's rules of type, time in force, expiry and trigger for every command it takes", () => {
    const command = fc.record({
      side: fc.constantFrom("BUY", "SELL"),
      type: fc.constantFrom("LIMIT", "MARKET"),
      timeInForce: fc.constantFrom("IOC", "GTC", "POST_ONLY", "FOK"),
      priceTicks: fc.oneof(
        fc.integer({ min: -2, max: 3 }),
        fc.integer({ min: 1, max: 2 ** 32 - 1 }),
        fc.constantFrom(2 ** 32 - 1, 2 ** 32, 1.5, Number.NaN),
      ),
      qtyLots: fc.oneof(fc.integer({ min: -2, max: 3 }), fc.maxSafeNat(), fc.constantFrom(2 ** 48 - 1, 2 ** 48, 0.5)),
      reduceOnly: fc.boolean(),
      trigger: fc.option(
        fc.record({
          kind: fc.constantFrom("STOP", "TAKE_PROFIT"),
          priceTicks: fc.integer({ min: -1, max: 2 ** 32 }),
          source: fc.constant("MARK"),
        }),
        { nil: undefined },
      ),
    });
    fc.assert(
      fc.property(command, ({ trigger: stop, ...changes }) => {
        const made = create({ ...changes, ...(stop === undefined ? {} : { trigger: stop }) } as Partial<OrderCommand>);
        const isInRange =
          Number.isSafeInteger(changes.priceTicks) &&
          changes.priceTicks >= 1 &&
          changes.priceTicks < 2 ** 32 &&
          Number.isSafeInteger(changes.qtyLots) &&
          changes.qtyLots >= 1 &&
          changes.qtyLots < 2 ** 48 &&
          (stop === undefined || (stop.priceTicks >= 1 && stop.priceTicks < 2 ** 32));
        expect(made.ok).toBe(isInRange && changes.timeInForce !== "FOK");
        if (!made.ok) {
          expect(made.why.sent).toBe(false);
          return;
        }
        const { Type, TimeInForce, OrderExpiry, TriggerPrice, Price, BaseAmount } = made.tx.fields as Record<
          string,
          number
        >;
        // Fact sheet 6.2, its table.
        const isConditional = stop !== undefined;
        expect(TriggerPrice === 0).toBe(!isConditional);
        expect(OrderExpiry === 0).toBe(!isConditional && TimeInForce === 0);
        if (changes.type === "MARKET") expect(TimeInForce).toBe(0);
        expect([Price, BaseAmount]).toEqual([changes.priceTicks, changes.qtyLots]);
        expect(Type).toBe(
          (isConditional ? (stop.kind === "STOP" ? 2 : 4) : 0) +
            (changes.type === "LIMIT" ? (isConditional ? 1 : 0) : isConditional ? 0 : 1),
        );
      }),
    );
  });

  it.each<[string, Partial<OrderCommand>, string]>([
    ["another venue's instrument", { instrument: { ...BTC, venue: "venueone" } }, "INSTRUMENT"],
    ["a spot market", { instrument: { ...BTC, nativeId: 2048 } }, "INSTRUMENT"],
    ["no market", { instrument: { ...BTC, nativeId: -1 } }, "INSTRUMENT"],
    ["size 0, which would be the whole position", { qtyLots: 0 }, "SIZE"],
    ["a negative size", { qtyLots: -1 }, "SIZE"],
    ["a price past 32 bits", { priceTicks: 2 ** 32 }, "PRICE"],
    ["a trigger of 0", { trigger: { ...trigger, priceTicks: 0 } }, "TRIGGER_PRICE"],
    ["fill-or-kill", { timeInForce: "FOK" }, "NO_FOK"],
    ["a hedge side", { positionSide: "LONG" }, "POSITION_SIDE"],
    ["a short client id", { clientIdHex: "ab" }, "CLIENT_ID"],
    ["an upper-case client id", { clientIdHex: CLIENT_ID.toUpperCase() }, "CLIENT_ID"],
  ])("refuses %s, unsent", (_what, changes, venueCode) => {
    expect(create(changes)).toMatchObject({ ok: false, why: { outcome: "rejected", sent: false, venueCode } });
  });
});

describe("client order indexes", () => {
  it("are the low 48 bits, never 0, and come back as digits that are written the same", () => {
    expect(clientOrderIndexOf(CLIENT_ID)).toBe(CLIENT_INDEX);
    expect(clientOrderIndexOf("f".repeat(20) + "0".repeat(12))).toBe(2 ** 48 - 1);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), (id) => {
        const index = clientOrderIndexOf(id.toString(16).padStart(32, "0"));
        expect(index >= 1 && index <= 2 ** 48 - 1).toBe(true);
        const back = clientIdHexOf(String(index));
        expect(back === null ? null : clientOrderIndexOf(back)).toBe(index);
      }),
    );
  });

  it.each(["0", "", "-1", "01", "1.5", "281474976710656", "9007199254740993", "abc", "1 "])(
    "%j was never written",
    (text) => {
      expect(clientIdHexOf(text)).toBeNull();
    },
  );
});

describe("cancels and changes as transactions", () => {
  it("name an order by either index; one above 2^53 keeps its digits", () => {
    expect(cancelTx(BTC, { clientIdHex: CLIENT_ID })).toMatchObject({
      tx: { type: TX_CANCEL_ORDER, fields: { MarketIndex: 1, Index: CLIENT_INDEX } },
    });
    expect(fieldsOf(cancelTx(BTC, { venueOrderId: "10414574259102759" }))["Index"]).toBe(10_414_574_259_102_759n);
  });

  it.each([
    "",
    "0",
    "12",
    "281474976710655",
    "1152921504606846976",
    "1e15",
    "-844424914280027",
    "99999999999999999999",
  ])("%j is no order of this venue", (venueOrderId) => {
    expect(cancelTx(BTC, { venueOrderId })).toMatchObject({ ok: false, why: { reason: "NOT_FOUND", sent: false } });
  });

  it("change price and size and keep the trigger", () => {
    const current: VenueOrder = {
      ...orderOf({ ...CLOSE_LONG, trigger, type: "LIMIT" }, CLIENT_INDEX, NOW_MS),
      venueOrderId: "844424914280027",
      filledLots: 10,
    };
    const change = { priceTicks: 829_000, qtyLots: 20_000 };
    expect(modifyTx(BTC, current, change)).toMatchObject({
      tx: {
        type: TX_MODIFY_ORDER,
        fields: {
          MarketIndex: 1,
          Index: 844_424_914_280_027n,
          BaseAmount: 20_000,
          Price: 829_000,
          TriggerPrice: 830_000,
        },
      },
    });
    expect(fieldsOf(modifyTx(BTC, { ...current, triggerPrice: null }, change))["TriggerPrice"]).toBe(0);
    for (const [wrong, code] of [
      [{ ...change, qtyLots: 10 }, "SIZE"],
      [{ ...change, qtyLots: 0 }, "SIZE"],
      [{ ...change, priceTicks: 0 }, "PRICE"],
    ] as const)
      expect(modifyTx(BTC, current, wrong)).toMatchObject({ ok: false, why: { venueCode: code, sent: false } });
    expect(modifyTx(PEPE, current, change)).toMatchObject({ ok: false });
    const justSent = { ...current, venueOrderId: "", filledLots: 0 };
    expect(fieldsOf(modifyTx(BTC, justSent, change))["Index"]).toBe(CLIENT_INDEX);
    const nameless = { ...justSent, venueClientOrderId: null };
    expect(modifyTx(BTC, nameless, change)).toMatchObject({ ok: false, why: { venueCode: "BAD_REF" } });
    expect(modifyTx(BTC, { ...current, triggerPrice: "83000.05" }, change)).toMatchObject({ ok: false });
  });

  it("cancel all of one market by attribute, of all without", () => {
    expect(cancelAllTx(null)).toEqual({
      ok: true,
      tx: { type: TX_CANCEL_ALL, fields: { TimeInForce: 0, Time: 0 }, attributes: null },
    });
    const one = cancelAllTx(BTC);
    expect(one.ok && [...(one.tx.attributes ?? [])]).toEqual([[5, 1]]);
  });

  it("schedule a cancel within 5 minutes to 15 days, and take it back", () => {
    const timeAt = (aheadMs: number): Prepared => scheduleCancelTx(NOW_MS + aheadMs, NOW_MS);
    expect(fieldsOf(timeAt(300_000))).toEqual({ TimeInForce: 1, Time: NOW_MS + 300_000 });
    expect(fieldsOf(timeAt(15 * DAY_MS))).toEqual({ TimeInForce: 1, Time: NOW_MS + 15 * DAY_MS });
    expect(fieldsOf(scheduleCancelTx(null, NOW_MS))).toEqual({ TimeInForce: 2, Time: 0 });
    for (const aheadMs of [299_999, 15 * DAY_MS + 1, -1, Number.NaN]) expect(timeAt(aheadMs).ok).toBe(false);
  });

  it("set a margin fraction that never gives more leverage than was asked for", () => {
    expect(leverageTx(BTC, 3_334, "isolated")).toMatchObject({
      tx: { type: TX_UPDATE_LEVERAGE, fields: { MarketIndex: 1, InitialMarginFraction: 3_334, MarginMode: 1 } },
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (leverage) => {
        const fraction = marginFractionFor(leverage);
        expect(10_000 / fraction).toBeLessThanOrEqual(leverage);
        expect(10_000 / (fraction - 1)).toBeGreaterThan(leverage);
      }),
    );
    for (const wrong of [0, 10_001, 1.5]) expect(leverageTx(BTC, wrong, "cross").ok).toBe(false);
  });
});
