/** The routing design's worked example, as the plain record of a run: one reduce-only SELL on venueone, filled. */
import type { VenueOrder } from "../../domain/order.js";
import type { RoutingReport } from "../../routing/report.js";
import type { OrderAttempt, TradeRun } from "../run.js";

export const NOW_MS = 1_790_000_000_422;

export const fakeRouting: RoutingReport = {
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

/** A SELL of 0.25 that filled whole. */
export function fakeVenueOrder(overrides: Partial<VenueOrder> = {}): VenueOrder {
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

/** The order above, sent and confirmed. */
export function fakeAttempt(overrides: Partial<OrderAttempt> = {}): OrderAttempt {
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
    order: fakeVenueOrder(),
    sentAtMs: 1_790_000_000_396,
    ackAtMs: 1_790_000_000_409,
    ...overrides,
  };
}

/** The close of 0.25 of a long of 0.4. */
export function fakeRun(attempts: OrderAttempt[], overrides: Partial<TradeRun> = {}): TradeRun {
  return {
    routeId: fakeRouting.routeId,
    requestId: "req",
    symbol: "BTC",
    direction: "LONG",
    side: "SELL",
    orderType: "MARKET",
    waitFor: "FILL",
    clientOrderId: "close-7f3a",
    requestedSize: "0.25",
    routing: fakeRouting,
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
