import { describe, expect, it } from "vitest";
import { buildTradeData } from "./reply.js";
import { remainingSize } from "../run-totals.js";
import { fakeAttempt as attempt, fakeRun as closeRun, fakeVenueOrder as order, NOW_MS } from "../test/fake-run.js";
import { decodeRun, encodeRun } from "../run.js";

describe("the reply of a close", () => {
  it("has the figures of the design's worked example", () => {
    const data = buildTradeData(closeRun([attempt()]), NOW_MS);
    expect(data.executedOn).toBe("venueone");
    expect(data.order).toEqual({
      orderId: "20987654321",
      symbol: "BTC",
      side: "SELL",
      type: "MARKET",
      status: "FILLED",
      price: "96448",
      quantity: "0.25",
      filledQuantity: "0.25",
      averagePrice: "97402.6",
      timestamp: 1_790_000_000_412,
      exchange: "venueone",
      clientOrderId: "close-7f3a",
      venueClientOrderId: "0x8c1f0a52d9e34b7790aa41c2d5e6f701",
      reduceOnly: true,
      triggerPrice: null,
    });
    expect(data.execution).toEqual({
      state: "COMPLETED",
      final: true,
      mode: "LIVE",
      algo: "IOC",
      note: null,
      requestedSize: "0.25",
      submittedSize: "0.25",
      filledSize: "0.25",
      remainingSize: "0",
      averagePrice: "97402.6",
      notional: "24350.65",
      fees: [{ amount: "10.957793", asset: "USDC", source: "computed" }],
      realizedSlippageBps: "1.94",
      vsQuoteBps: "0.05",
      adjustments: [{ field: "price", from: "96447.285", to: "96448", rule: "TICK_SIZE" }],
      legs: [
        {
          leg: 0,
          attempt: 1,
          exchange: "venueone",
          venueClientOrderId: "0x8c1f0a52d9e34b7790aa41c2d5e6f701",
          orderId: "20987654321",
          size: "0.25",
          worstPrice: "96448",
          filledSize: "0.25",
          averagePrice: "97402.6",
          status: "FILLED",
          outcome: "CONFIRMED",
          reason: null,
          venueText: null,
          sentAt: 1_790_000_000_396,
          ackAt: 1_790_000_000_409,
        },
      ],
      timingMs: { total: 41, positions: 9, routing: 1, sign: 2, venue: 13 },
      statusPath: "/api/trading/venueone/orders/20987654321/status?symbol=BTC",
    });
    expect(data.position).toEqual({
      exchange: "venueone",
      symbol: "BTC",
      direction: "LONG",
      size: "0.15",
      entryPrice: "95110.2",
      asOf: NOW_MS,
      source: "computed",
    });
  });

  it("is the same after a restart", () => {
    const run = closeRun([attempt()]);
    expect(buildTradeData(decodeRun(encodeRun(run)), NOW_MS)).toEqual(buildTradeData(run, NOW_MS));
  });

  it("scales contracts with a multiplier to the base asset", () => {
    // One contract is 1000 units: native price 0.0125 for a thousand, sizes in thousands.
    const scaled = attempt({
      multiplierExp10: 3,
      priceDecimals: 7,
      qtyDecimals: -3,
      qtyLots: 4,
      order: order({ filledLots: 4, qtyLots: 4, averagePrice: "0.0125" }),
    });
    const { execution } = buildTradeData(closeRun([scaled], { requestedSize: "4000" }), NOW_MS);
    expect(execution).toMatchObject({ filledSize: "4000", averagePrice: "0.0000125", notional: "0.05" });
  });

  it.each([
    ["PENDING", "UNKNOWN"],
    ["UNKNOWN", "UNKNOWN"],
  ] as const)(
    "calls an order %s of unknown outcome: not final, not failed, no position guessed",
    (outcome, legOutcome) => {
      const data = buildTradeData(closeRun([attempt({ outcome, order: null, ackAtMs: null })]), NOW_MS);
      expect(data.execution).toMatchObject({
        state: "UNKNOWN",
        final: false,
        filledSize: "0",
        legs: [{ outcome: legOutcome }],
      });
      expect(data.order).toMatchObject({ status: "UNKNOWN", orderId: "0x8c1f0a52d9e34b7790aa41c2d5e6f701" });
      expect(data.position).toBeNull();
    },
  );

  it("stays UNKNOWN as a whole when a later order is unknown, and shows what filled before", () => {
    const run = closeRun([
      attempt({ order: order({ status: "CANCELED", filledLots: 10_000 }) }),
      attempt({ attempt: 2, venue: "venuetwo", qtyLots: 15_000, outcome: "UNKNOWN", order: null }),
    ]);
    const data = buildTradeData(run, NOW_MS);
    expect(data.execution).toMatchObject({
      state: "UNKNOWN",
      filledSize: "0.1",
      submittedSize: "0.25",
      remainingSize: "0.15",
    });
    expect(remainingSize(run)).toBe("0.15");
  });

  it("keeps filled ≤ submitted ≤ requested when the last order was never sent", () => {
    const { execution } = buildTradeData(
      closeRun([
        attempt({ order: order({ status: "CANCELED", filledLots: 10_000 }) }),
        attempt({ attempt: 2, qtyLots: 15_000, outcome: "NOT_SENT", order: null, reason: "RATE_LIMITED" }),
      ]),
      NOW_MS,
    );
    expect(execution).toMatchObject({ state: "PARTIAL", filledSize: "0.1", submittedSize: "0.25" });
  });

  it("measures the cost against the mid in the mid's own quote", () => {
    const run = closeRun([attempt({ order: order({}) })]);
    const { reference } = run.routing;
    const plain = buildTradeData(run, NOW_MS).execution;
    // A venue whose quote is worth 0.99 of the common one; the mid is in the common one, the expected price is not.
    const routing: typeof run.routing = {
      ...run.routing,
      reference: reference === null ? null : { ...reference, mid: "96447.285" },
      candidates: [{ exchange: "venueone", eligible: true, positionSize: null, quoteRate: "0.99" }],
    };
    expect(reference?.mid).toBe("97421.5");
    const { realizedSlippageBps, vsQuoteBps } = plain;
    expect(buildTradeData({ ...run, routing }, NOW_MS).execution).toMatchObject({ realizedSlippageBps, vsQuoteBps });
  });

  it("counts the cost of a buy the other way round", () => {
    const run = closeRun([attempt({ side: "BUY", order: order({ side: "BUY", averagePrice: "97431.2" }) })], {
      side: "BUY",
      direction: "SHORT",
    });
    expect(buildTradeData(run, NOW_MS).execution).toMatchObject({ realizedSlippageBps: "1", vsQuoteBps: "2.88" });
  });
});
