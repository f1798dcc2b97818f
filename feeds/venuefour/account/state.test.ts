import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { uncountedPosition } from "../../shared/account/uncounted.js";
import { normalizeFill, normalizeOrder, normalizePosition } from "./normalize.js";
import { AccountState, type StreamedFill } from "./state.js";
import { decodeAccountFrame } from "./frames.js";
import { BTC, frameTexts } from "../test/trading-harness.js";

function order(changes: Partial<VenueOrder> = {}): VenueOrder {
  return {
    venue: "venuefour",
    nativeSymbol: "BTC",
    venueOrderId: "7",
    venueClientOrderId: null,
    side: "BUY",
    type: "LIMIT",
    status: "OPEN",
    venueStatus: "open",
    priceTicks: 60_000,
    qtyLots: 20,
    filledLots: 0,
    averagePrice: null,
    reduceOnly: false,
    triggerPrice: null,
    tsVenueMs: 1,
    fee: null,
    ...changes,
  };
}

const FILL: StreamedFill = {
  tradeId: "1",
  venueOrderId: "7",
  nativeSymbol: "BTC",
  qtyLots: 10,
  price: "60000",
  fee: null,
};
const PART = order({ status: "PARTIALLY_FILLED", venueStatus: "partially_filled", filledLots: 10 });
const DONE = order({ status: "FILLED", venueStatus: "filled", filledLots: 20 });

function long(qtyLots: number): VenuePosition {
  const wire = {
    symbol: "BTC",
    side: "bid",
    amount: String(qtyLots / 100_000),
    entryPrice: "60000",
    margin: "0",
    isIsolated: false,
    liquidationPrice: null,
    updatedMs: 1,
  } as const;
  const position = normalizePosition(wire, BTC, null);
  if (position === null) throw new Error("flat");
  return position;
}

describe("an order with a status that is not known", () => {
  it("counts as open, and ends with the first word that is known", () => {
    const state = new AccountState();
    state.applyOrder(order({ status: "UNKNOWN", venueStatus: "sleeping", filledLots: 5 }), 1);
    expect(state.openOrders().map(({ venueOrderId }) => venueOrderId)).toEqual(["7"]);
    state.applyOrder(DONE, 2);
    expect(state.openOrders()).toEqual([]);
  });
});

describe("positions", () => {
  it("are the whole set of the newest frame: what is not listed is flat", () => {
    const state = new AccountState();
    expect(state.applyPositions([long(20)], 5)).toBe(true);
    expect(state.applyPositions([long(20)], 5)).toBe(false);
    expect(state.applyPositions([], 6)).toBe(true);
    expect(state.applyPositions([long(20)], 5)).toBe(false);
    expect(state.positions()).toEqual([]);
    expect(state.lateCount).toBe(1);
    expect(state.applyPositions([long(9)], null)).toBe(true);
  });

  it("of a contract that is not listed change by the venue's own figure: there is no lot to count them in", () => {
    const state = new AccountState();
    const held = (size: string): VenuePosition => {
      const row = { venue: "venuefour", nativeSymbol: "NEW", size, direction: "LONG", entryPrice: "5" } as const;
      const position = uncountedPosition({ ...row, tsVenueMs: 1 });
      if (position === null) throw new Error("flat");
      return position;
    };
    expect(state.applyPositions([held("2")], 1)).toBe(true);
    expect(state.applyPositions([held("1")], 2)).toBe(true);
    expect(state.applyPositions([held("1")], 3)).toBe(false);
  });

  it("of REST count unless a frame is newer, by number or by arrival", () => {
    const state = new AccountState();
    state.applyPositions([long(20)], 10);
    expect(state.adoptPositions([], 9, false)).toBe(false);
    expect(state.adoptPositions([], null, true)).toBe(false);
    expect(state.positions()).toHaveLength(1);
    expect(state.adoptPositions([], 10, true)).toBe(true);
    expect(state.applyPositions([long(20)], 9)).toBe(false);
    state.forgetSequence();
    expect(state.applyPositions([long(20)], 1)).toBe(true);
    expect(state.adoptPositions([], null, false)).toBe(true);
  });
});

describe("orders and fills", () => {
  it("report a fill with its order, whichever comes first, and once", () => {
    const state = new AccountState();
    expect(state.applyFill(FILL)).toEqual([]);
    expect(state.awaitedOrderIds()).toMatchObject([{ venueOrderId: "7" }]);
    expect(state.applyOrder(PART, 3).map((event) => event.kind)).toEqual(["order", "fill"]);
    expect(state.awaitedOrderIds()).toEqual([]);
    expect(state.applyFill(FILL)).toEqual([]);
    expect(state.applyFill({ ...FILL, tradeId: "2" })).toMatchObject([{ kind: "fill", order: PART, qtyLots: 10 }]);
  });

  it("never move an order backwards: not by an older number, nor by fewer fills, nor open again", () => {
    const state = new AccountState();
    state.applyOrder(DONE, 9);
    expect(state.applyOrder(order(), 8)).toEqual([]);
    expect(state.applyOrder(PART, 9)).toEqual([]);
    expect(state.applyOrder(order({ filledLots: 20 }), 10)).toEqual([]);
    expect(state.adoptOrder(PART)).toEqual([]);
    expect(state.openOrders()).toEqual([]);
    expect(state.applyOrder(DONE, 9)).toEqual([]);
  });

  it("hold what is open and forget the ended ones first, within bounds", () => {
    const state = new AccountState();
    state.applyOrder(order({ venueOrderId: "open" }), 1);
    for (let index = 0; index < 5_000; index++) state.applyOrder({ ...DONE, venueOrderId: `done${index}` }, index);
    expect(state.openOrders().map((open) => open.venueOrderId)).toEqual(["open"]);
    for (let index = 0; index < 2_000; index++)
      state.applyFill({ ...FILL, tradeId: `t${index}`, venueOrderId: `x${index}` });
    expect(state.awaitedOrderIds()).toHaveLength(1_024);
  });

  it("end the same in whatever order the frames of one life come, each fill reported exactly once", () => {
    const steps = [
      (state: AccountState) => state.applyOrder(order(), 1),
      (state: AccountState) => state.applyOrder(PART, 2),
      (state: AccountState) => state.applyOrder(DONE, 3),
      (state: AccountState) => state.applyFill(FILL),
      (state: AccountState) => state.applyFill({ ...FILL, tradeId: "2" }),
      (state: AccountState) => state.applyFill(FILL),
      (state: AccountState) => state.adoptOrder(PART),
    ];
    const runs = fc.shuffledSubarray([...steps.keys()], { minLength: steps.length, maxLength: steps.length });
    fc.assert(
      fc.property(runs, (indexes) => {
        const state = new AccountState();
        const events = indexes.flatMap((index) => [...(steps[index]?.(state) ?? [])]);
        const filled = events.flatMap((event) => (event.kind === "fill" ? [event.tradeId] : []));
        expect(filled.sort()).toEqual(["1", "2"]);
        const sizes = events.flatMap((event) => (event.kind === "order" ? [event.order.filledLots] : []));
        expect(sizes).toEqual([...sizes].sort((left, right) => left - right));
        expect(sizes.at(-1)).toBe(20);
        expect(state.openOrders()).toEqual([]);
      }),
    );
  });
});

describe("recorded frames", () => {
  it("of an order that was made and canceled give its two states", () => {
    const state = new AccountState();
    const statuses: string[] = [];
    for (const text of frameTexts("limit-")) {
      const frame = decodeAccountFrame(text);
      expect(frame.kind).not.toBe("malformed");
      if (frame.kind !== "orders") continue;
      for (const { order: wire, li } of frame.rows)
        for (const event of state.applyOrder(normalizeOrder(wire, BTC), li))
          if (event.kind === "order") statuses.push(event.order.status);
    }
    expect(statuses).toEqual(["OPEN", "CANCELED"]);
  });

  it("of the documentation are all read", () => {
    const kinds = ["positions-doc", "positions-two-doc", "trades-doc", "settings-doc", "orders-doc"].flatMap((prefix) =>
      frameTexts(prefix).map((text) => decodeAccountFrame(text).kind),
    );
    expect(new Set(kinds)).toEqual(new Set(["echo", "positions", "fills", "settings", "ignored"]));
    const [close] = frameTexts("trades-doc").map(decodeAccountFrame);
    if (close?.kind !== "fills") throw new Error("no fills");
    const wire = close.rows[0];
    if (wire === undefined) throw new Error("no fill");
    expect(normalizeFill(wire, BTC)).toMatchObject({ side: "SELL", qtyLots: 36, realizedPnl: "-0.01008" });
  });

  it("that are cut or hold another kind of value are malformed, never half applied", () => {
    for (const text of [...frameTexts("limit-5"), ...frameTexts("positions-doc-1"), ...frameTexts("trades-doc")]) {
      expect(decodeAccountFrame(text.slice(0, -9)).kind).toBe("malformed");
      expect(decodeAccountFrame(text.replace(/"a":"[^"]*"/, '"a":5')).kind).toBe("malformed");
    }
  });
});
