/** A concluded close, complete enough for every column of its rows. */
import type { OrderAttempt, TradeRun } from "../../orders/run.js";
import { buildTradeData } from "../../orders/conclude/reply.js";
import { takeOrderEvents } from "../../orders/conclude/order-events.js";
import type { ConcludedTrade } from "../../orders/conclude/record-sink.js";
import type { RoutingReport } from "../../routing/report.js";

export interface MadeUpClose {
  /** Makes every id of it unique. */
  readonly number: number;
  readonly atMs: number;
  readonly overrides?: Partial<OrderAttempt>;
}

export function madeUpRun({ number, atMs, overrides }: MadeUpClose): TradeRun {
  const attempt: OrderAttempt = {
    leg: 1,
    attempt: 1,
    venue: "venueone",
    nativeSymbol: "BTC",
    clientIdHex: number.toString(16).padStart(32, "0"),
    intentAtMs: atMs - 20,
    venueClientOrderId: `0x${number.toString(16)}`,
    side: "SELL",
    positionSide: "BOTH",
    timeInForce: "IOC",
    qtyLots: 250,
    priceTicks: 990_000,
    priceDecimals: 1,
    qtyDecimals: 3,
    multiplierExp10: 0,
    quoteAsset: "USDC",
    takerFeeMilliBps: 4_500,
    makerFeeMilliBps: 1_500,
    notPlacedAfterMs: atMs + 5_000,
    outcome: "CONFIRMED",
    reason: null,
    venueText: null,
    order: {
      venue: "venueone",
      nativeSymbol: "BTC",
      venueOrderId: `9007199254740993${number}`,
      venueClientOrderId: null,
      side: "SELL",
      type: "MARKET",
      status: "FILLED",
      venueStatus: "filled",
      priceTicks: 990_000,
      qtyLots: 250,
      filledLots: 250,
      averagePrice: "99900.123456789",
      reduceOnly: true,
      triggerPrice: null,
      tsVenueMs: atMs - 5,
      fee: { amount: "11.2387", asset: "USDC" },
    },
    sentAtMs: atMs - 15,
    ackAtMs: atMs - 3,
    ...overrides,
  };
  return {
    routeId: `rt_${String(number).padStart(10, "0")}`,
    requestId: `req-${number}`,
    symbol: "BTC",
    direction: "LONG",
    side: "SELL",
    orderType: "MARKET",
    waitFor: "FILL",
    clientOrderId: null,
    requestedSize: "0.25",
    routing: madeUpRouting(number, atMs),
    adjustments: [],
    startedAtMs: atMs - 30,
    positionsBefore: [{ venue: "venueone", qtyLots: 400, qtyDecimals: 3, entryPrice: "90000" }],
    attempts: [attempt],
    note: null,
    positionAfter: null,
    timingMs: { total: 30.2, positions: 1.5, routing: 0.3, sign: 0.1, venue: 12.4 },
  };
}

/** In the form that `finish` of a close passes on: marks its events as recorded. */
export function madeUpConclusion(close: MadeUpClose, run = madeUpRun(close)): ConcludedTrade {
  const { events } = takeOrderEvents(run, close.atMs);
  const { requestId, symbol, direction, routing } = run;
  return {
    ...{
      kind: "replied",
      tsMs: close.atMs,
      ownerId: run.ownerId ?? null,
      requestId,
      symbol,
      direction,
      code: null,
      routing,
      run,
      events,
    },
    data: buildTradeData(run, close.atMs),
    elapsedMs: 30.2,
  };
}

function madeUpRouting(number: number, atMs: number): RoutingReport {
  return {
    routeId: `rt_${String(number).padStart(10, "0")}`,
    mode: "BEST_EXIT",
    decidedAt: atMs - 25,
    forced: false,
    split: false,
    recommended: "venueone",
    reason: "BEST_ALL_IN_PRICE",
    price: "99900.5",
    savings: "1.25",
    savingsPercent: "0.01",
    reference: { mid: "99950.25", exchange: "venueone", quoteAsset: "USDC" },
    limits: { maxSlippageBps: 100, maxQuoteAgeMs: 5000, worstPrice: "99000" },
    candidates: [
      {
        ...{ exchange: "venueone", eligible: true, positionSize: "0.4", selected: true, rank: 1, routedSize: "0.25" },
        ...{ vwap: "99900.5", feeBps: "4.5", allInPrice: "99855.54", slippageBps: "4.98", costBps: "9.48" },
        ...{
          depthWithinCap: "12.5",
          book: { state: "LIVE", ageMs: 3, venueSeq: "18446744073709551615", source: "ws" },
        },
      },
      { exchange: "venuetwo", eligible: false, reasonCode: "NO_POSITION", positionSize: "0" },
    ],
    alternatives: {},
  };
}
