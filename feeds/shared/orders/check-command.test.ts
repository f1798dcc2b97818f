import { describe, expect, it } from "vitest";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { commandProblem, type CommandRules, limitChangeProblem, POSITIVE } from "./check-command.js";

const RULES: CommandRules = { ...POSITIVE, isOurs: ({ venue }) => venue === "venueone", isOneWay: true };

const COMMAND: OrderCommand = {
  instrument: LISTED_BTC.venueone,
  side: "BUY",
  type: "LIMIT",
  timeInForce: "GTC",
  priceTicks: 500_000,
  qtyLots: 10,
  reduceOnly: false,
  positionSide: "BOTH",
  clientIdHex: "0f".repeat(16),
};
const TRIGGER = { kind: "STOP", source: "MARK", priceTicks: 1 } as const;
const NO_COUNTS = [0, -1, 1.5, Number.NaN, 2 ** 53];

function codeOf(change: Partial<OrderCommand>, rules: Partial<CommandRules> = {}): string | null {
  return commandProblem({ ...COMMAND, ...change }, { ...RULES, ...rules })?.venueCode ?? null;
}

describe("a command", () => {
  it("that is right may be signed", () => {
    expect([codeOf({}), codeOf({ trigger: TRIGGER })]).toEqual([null, null]);
  });

  it("is refused unsent for a number that is none", () => {
    for (const count of NO_COUNTS) {
      expect(codeOf({ priceTicks: count })).toBe("PRICE");
      expect(codeOf({ qtyLots: count })).toBe("SIZE");
      expect(codeOf({ trigger: { ...TRIGGER, priceTicks: count } })).toBe("TRIGGER_PRICE");
    }
    expect(commandProblem({ ...COMMAND, qtyLots: 0 }, RULES)).toMatchObject({
      reason: "SIZE",
      venueText: "size is not a positive number of lots",
      sent: false,
    });
  });

  it("is refused for another venue's contract, a client id of another form, and a side of a hedge where there is none", () => {
    expect(codeOf({ instrument: LISTED_BTC.venuetwo })).toBe("INSTRUMENT");
    for (const clientIdHex of ["", "0F".repeat(16), "0f".repeat(15), `${"0f".repeat(16)}\n`])
      expect(codeOf({ clientIdHex })).toBe("CLIENT_ID");
    expect([codeOf({ positionSide: "LONG" }), codeOf({ positionSide: "LONG" }, { isOneWay: false })]).toEqual([
      "POSITION_SIDE",
      null,
    ]);
  });

  it("is held to the venue's own grid where the room has one, and by no price where the order has none", () => {
    const isEven = (ticks: number): boolean => ticks % 2 === 0;
    expect(codeOf({ priceTicks: 3 }, { isPrice: isEven })).toBe("PRICE");
    expect(codeOf({ priceTicks: 3 }, { isPrice: isEven, hasPrice: () => false })).toBeNull();
    expect(codeOf({ trigger: { ...TRIGGER, priceTicks: 3 } }, { isPrice: isEven })).toBe("TRIGGER_PRICE");
  });
});

describe("a change of an order", () => {
  const ORDER: VenueOrder = {
    venue: "venueone",
    nativeSymbol: "BTC",
    venueOrderId: "1",
    venueClientOrderId: null,
    side: "BUY",
    type: "LIMIT",
    status: "PARTIALLY_FILLED",
    venueStatus: "open",
    priceTicks: 500_000,
    qtyLots: 10,
    filledLots: 4,
    averagePrice: null,
    reduceOnly: false,
    triggerPrice: null,
    timeInForce: "GTC",
    tsVenueMs: 1,
    fee: null,
  };
  const codeOfChange = (order: Partial<VenueOrder>, priceTicks = 1, qtyLots = 5): string | null =>
    limitChangeProblem({ ...ORDER, ...order }, { priceTicks, qtyLots })?.venueCode ?? null;

  it("is of an open limit order, to a price and to more than has filled", () => {
    expect([codeOfChange({}), codeOfChange({ status: "OPEN", filledLots: 0 }, 1, 1)]).toEqual([null, null]);
    expect(["FILLED", "CANCELED", "UNKNOWN"].map((status) => codeOfChange({ status } as Partial<VenueOrder>))).toEqual([
      "NOT_OPEN",
      "NOT_OPEN",
      "NOT_OPEN",
    ]);
    expect([codeOfChange({ triggerPrice: "1" }), codeOfChange({ type: "STOP_LIMIT" })]).toEqual([
      "NOT_SUPPORTED",
      "NOT_SUPPORTED",
    ]);
    for (const count of NO_COUNTS)
      expect([codeOfChange({}, count), codeOfChange({}, 1, count)]).toEqual(["PRICE", "SIZE"]);
    expect(codeOfChange({}, 1, 4)).toBe("SIZE_FILLED");
  });
});
