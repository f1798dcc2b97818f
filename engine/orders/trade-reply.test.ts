import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../domain/order.js";
import type { RoutingReport } from "../routing/report.js";
import { buildTradeData, remainingSize } from "./trade-reply.js";
import { decodeRun, encodeRun, type OrderAttempt, type TradeRun } from "./trade-run.js";

const NOW_MS = 1_790_000_000_422;

const routing: RoutingReport = {
  routeId: "rt_01JD3W0M8Q",
  mode: "BEST_EXIT",
  decidedAt: 1_790_000_000_391,
  forced: false,
  split: false,
  recommended: "venueone",
  reason: "BEST_ALL_IN_PRICE",
  price: "97403.1",
  savings: "4.48",
  savingsPercent: "0.0184",
  reference: { mid: "97421.5", exchange: "venueone", quoteAsset: "USD" },
  limits: { maxSlippageBps: 100, maxQuoteAgeMs: 2000, worstPrice: "96448" },
  candidates: [],
  alternatives: {},
};

function order(overrides: Partial<VenueOrder> = {}): VenueOrder {
  return {
    venue: "venueone",
    nativeSymbol: "BTC",
    venueOrderId: "20987654321",
    venueClientOrderId: null,
    side: "SELL",
    type: "MARKET",
    status: "FILLED",
    venueStatus: "filled",
    priceTicks: 964_480,
    qtyLots: 25_000,
    filledLots: 25_000,
    averagePrice: "97402.6",
    reduceOnly: true,
    triggerPrice: null,
    tsVenueMs: 1_790_000_000_412,
    fee: null,
    ...overrides,
  };
}

function attempt(overrides: Partial<OrderAttempt> = {}): OrderAttempt {
  return {
    leg: 0,
    attempt: 1,
    venue: "venueone",
    nativeSymbol: "BTC",
    clientIdHex: "8c1f0a52d9e34b7790aa41c2d5e6f701",
    intentAtMs: 1_790_000_000_395,
    venueClientOrderId: "0x8c1f0a52d9e34b7790aa41c2d5e6f701",
    side: "SELL",
    positionSide: "BOTH",
    timeInForce: "IOC",
    qtyLots: 25_000,
    priceTicks: 964_480,
    priceDecimals: 1,
    qtyDecimals: 5,
    multiplierExp10: 0,
    quoteAsset: "USDC",
    takerFeeMilliBps: 4_500,
    makerFeeMilliBps: 1_500,
    notPlacedAfterMs: 0,
    outcome: "CONFIRMED",
    reason: null,
    venueText: null,
    order: order(),
    sentAtMs: 1_790_000_000_396,
    ackAtMs: 1_790_000_000_409,
    ...overrides,
  };
}

function closeRun(attempts: OrderAttempt[], overrides: Partial<TradeRun> = {}): TradeRun {
  return {
    routeId: routing.routeId,
    requestId: "req",
    symbol: "BTC",
    direction: "LONG",
    side: "SELL",
    orderType: "MARKET",
    waitFor: "FILL",
    clientOrderId: "close-7f3a",
    requestedSize: "0.25",
    routing,
    adjustments: [{ field: "price", from: "96447.285", to: "96448", rule: "TICK_SIZE" }],
    startedAtMs: 1_790_000_000_381,
    positionsBefore: [{ venue: "venueone", qtyLots: 40_000, qtyDecimals: 5, entryPrice: "95110.2" }],
    attempts,
    note: null,
    positionAfter: null,
    timingMs: { total: 41, positions: 9, routing: 1, sign: 2, venue: 13 },
    ...overrides,
  };
}

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
    // A venue whose quote is worth 0.99 of the common one; the mid is told in the common one, the expected price is not.
    run.routing = {
      ...run.routing,
      reference: reference === null ? null : { ...reference, mid: "96447.285" },
      candidates: [{ exchange: "venueone", eligible: true, positionSize: null, quoteRate: "0.99" }],
    };
    expect(reference?.mid).toBe("97421.5");
    const { realizedSlippageBps, vsQuoteBps } = plain;
    expect(buildTradeData(run, NOW_MS).execution).toMatchObject({ realizedSlippageBps, vsQuoteBps });
  });

  it("counts the cost of a buy the other way round", () => {
    const run = closeRun([attempt({ side: "BUY", order: order({ side: "BUY", averagePrice: "97431.2" }) })], {
      side: "BUY",
      direction: "SHORT",
    });
    expect(buildTradeData(run, NOW_MS).execution).toMatchObject({ realizedSlippageBps: "1", vsQuoteBps: "2.88" });
  });
});
