/** Examples of the OpenAPI document. A test validates each against its schema. Keys are operation ids. */
import { ACCOUNT_REPLY_EXAMPLES } from "./account-examples.js";
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { EXAMPLE_CREDENTIALS, EXAMPLE_TIMESTAMP, exampleReply } from "./example-parts.js";
import { ORDER_REPLY_EXAMPLES, ORDER_REQUEST_EXAMPLES } from "./order-examples.js";
import { CONTRACTS, named, perVenue } from "./venues.js";
import { TRANSFER_REPLY_EXAMPLES, TRANSFER_REQUEST_EXAMPLES } from "./transfer-examples.js";
import { VENUEFIVE_REPLY_EXAMPLES } from "./venuefive-examples.js";
import { WALLET_REPLY_EXAMPLES, WALLET_REQUEST_EXAMPLES } from "./wallet-examples.js";

const [FIRST, SECOND, THIRD, FOURTH] = ROUTABLE_VENUE_WORDS;

const ORDER = {
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
  exchange: FIRST,
  clientOrderId: "close-7f3a",
  venueClientOrderId: "0x8c1f0a52d9e34b7790aa41c2d5e6f701",
  reduceOnly: true,
  triggerPrice: null,
};

const QUOTE = {
  quoteId: "qt_01JD3W0",
  expiresAt: 1_790_000_002_391,
  side: "SELL",
  size: "0.25",
  expectedPrice: "97403.1",
  worstPrice: "96448",
  expectedCostBps: "6.6",
  binding: "WORST_PRICE",
};

/** Worked example of the routing design, section 3. */
const ROUTING = {
  routeId: "rt_01JD3W0M8Q",
  mode: "BEST_EXIT",
  decidedAt: 1_790_000_000_391,
  forced: false,
  split: false,
  recommended: FIRST,
  reason: "BEST_ALL_IN_PRICE",
  price: "97403.1",
  savings: "4.48",
  savingsPercent: "0.0184",
  reference: { mid: "97421.5", exchange: FIRST, quoteAsset: "USD" },
  limits: { maxSlippageBps: 100, maxQuoteAgeMs: 2000, worstPrice: "96448" },
  candidates: [
    {
      exchange: FIRST,
      eligible: true,
      selected: true,
      rank: 1,
      positionSize: "0.4",
      routedSize: "0.25",
      topOfBook: "97417",
      vwap: "97403.1",
      worstLevel: "97388",
      levelsUsed: 5,
      depthWithinCap: "18.42",
      feeBps: "4.5",
      feeSource: "venueDefault",
      latencyMsP90: 240,
      latencyPenaltyBps: "0.2",
      allInPrice: "97357.32",
      slippageBps: "1.9",
      costBps: "6.6",
      quoteAsset: "USDC",
      quoteRate: "1",
      quoteRateSource: "assumed",
      book: { state: "LIVE", ageMs: 118, venueSeq: null, source: "ws" },
    },
    {
      exchange: SECOND,
      eligible: true,
      selected: false,
      rank: 2,
      positionSize: "0.3",
      routedSize: "0",
      vwap: "97391",
      feeBps: "5",
      feeSource: "config",
      latencyMsP90: 310,
      latencyPenaltyBps: "0.3",
      allInPrice: "97339.38",
      slippageBps: "3.1",
      costBps: "8.4",
      book: { state: "LIVE", ageMs: 74, venueSeq: "990817263", source: "ws" },
    },
    { exchange: THIRD, eligible: false, reasonCode: "NO_POSITION", positionSize: "0" },
    { exchange: FOURTH, eligible: false, reasonCode: "NO_CREDENTIALS", positionSize: null },
  ],
  alternatives: {
    [SECOND]: { price: "97391", available: true },
    [THIRD]: { price: "97398.2", available: false },
    [FOURTH]: { price: null, available: false },
  },
};

const CLOSE_DATA = {
  executedOn: FIRST,
  order: ORDER,
  routing: ROUTING,
  execution: {
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
        exchange: FIRST,
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
    timingMs: { total: 41, positions: 9, routing: 1, sign: 2, venue: 13, other: 16 },
    statusPath: `/api/trading/${FIRST}/orders/20987654321/status?symbol=BTC`,
  },
  position: {
    exchange: FIRST,
    symbol: "BTC",
    direction: "LONG",
    size: "0.15",
    entryPrice: "95110.2",
    asOf: 1_790_000_000_415,
    source: "venue",
  },
};

/** The same venues, the other way round: what was paid, what the way out would cost, and what protects it. */
const OPEN_DATA = {
  ...CLOSE_DATA,
  order: {
    ...CLOSE_DATA.order,
    side: "BUY",
    price: "98396",
    averagePrice: "97437.4",
    clientOrderId: "open-91c2",
    reduceOnly: false,
  },
  routing: {
    ...ROUTING,
    mode: "BEST_ENTRY",
    price: "97437.1",
    limits: { ...ROUTING.limits, worstPrice: "98396" },
    candidates: [
      {
        ...ROUTING.candidates[0],
        topOfBook: "97426",
        vwap: "97437.1",
        worstLevel: "97452",
        allInPrice: "97482.89",
        slippageBps: "1.6",
        costBps: "12.7",
        exitPrice: "97403.1",
        fundingRateHourly: "0.0000125",
        nextFundingTime: null,
      },
      ...ROUTING.candidates.slice(2).map(({ exchange }) => ({
        exchange,
        eligible: false,
        reasonCode: "NO_CREDENTIALS",
        positionSize: null,
      })),
    ],
  },
  execution: {
    ...CLOSE_DATA.execution,
    averagePrice: "97437.4",
    notional: "24359.35",
    adjustments: [{ field: "leverage", from: "10", to: "5", rule: "REQUESTED" }],
    protection: "PLACED",
    protectionReason: null,
    protectionOrders: [
      {
        kind: "STOP_LOSS",
        exchange: FIRST,
        venueClientOrderId: "0x51f0c2d9e34b7790aa41c2d5e6f7018c",
        orderId: "20987654322",
        triggerPrice: "94000",
        price: "84600",
        size: "0.25",
        filledSize: "0",
        status: "OPEN",
        outcome: "CONFIRMED",
        reason: null,
        venueText: null,
      },
    ],
  },
  position: { ...CLOSE_DATA.position, size: "0.65", entryPrice: "96004.97" },
};

export const REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...ORDER_REQUEST_EXAMPLES,
  ...WALLET_REQUEST_EXAMPLES,
  ...TRANSFER_REQUEST_EXAMPLES,
  positionClose: {
    symbol: "BTC",
    direction: "LONG",
    size: "0.25",
    orderType: "MARKET",
    credentials: EXAMPLE_CREDENTIALS,
    clientOrderId: "close-7f3a",
    routingOptions: { maxSlippageBps: 100, maxQuoteAgeMs: 2000, deadlineMs: 5000, waitFor: "FILL" },
  },
  positionOpen: {
    symbol: "BTC",
    direction: "LONG",
    size: "0.25",
    orderType: "MARKET",
    leverage: 5,
    marginMode: "cross",
    credentials: EXAMPLE_CREDENTIALS,
    takeProfit: "105000",
    stopLoss: "94000",
    clientOrderId: "open-91c2",
    routingOptions: { maxSlippageBps: 100, maxQuoteAgeMs: 2000, allowSplit: false },
  },
};

/** The last of them. */
const NOT_CONFIGURED = ROUTABLE_VENUE_WORDS.at(-1);
const FAILURE = { error: `${NOT_CONFIGURED} is not configured`, code: "NOT_CONFIGURED", availableSymbols: [] };

export const REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...ORDER_REPLY_EXAMPLES,
  ...ACCOUNT_REPLY_EXAMPLES,
  ...VENUEFIVE_REPLY_EXAMPLES,
  ...WALLET_REPLY_EXAMPLES,
  ...TRANSFER_REPLY_EXAMPLES,
  positionClose: exampleReply(CLOSE_DATA),
  positionOpen: exampleReply(OPEN_DATA),
  execution: exampleReply(CLOSE_DATA),
  routingDryRun: exampleReply({
    routing: {
      ...ROUTING,
      candidates: ROUTING.candidates.map((candidate) => ({ ...candidate, positionSize: null })),
    },
    quote: QUOTE,
  }),
  aggregatedTicker: exampleReply({
    ...perVenue(({ ticker }, venue) => (venue === NOT_CONFIGURED ? FAILURE : ticker.example)),
    best: { bid: "97421", ask: "97421.8", venueBid: FIRST, venueAsk: SECOND },
  }),
  ...named(ROUTABLE_VENUE_WORDS, "Ticker", (venue) => exampleReply(CONTRACTS[venue].ticker.example)),
  venueBook: exampleReply({
    exchange: SECOND,
    symbol: "BTC",
    nativeSymbol: "BTCUSDT",
    state: "LIVE",
    bids: [["97421.5", "0.82"]],
    asks: [["97421.8", "1.4"]],
    bidLevels: 1000,
    askLevels: 1000,
    tier: "main",
    venueSeq: "990817263",
    venueTimestamp: 1_790_000_000_350,
    ageMs: 74,
    quoteAsset: "USDT",
  }),
  time: exampleReply({ serverTime: EXAMPLE_TIMESTAMP, iso: "2026-09-21T14:13:20.422Z" }),
};

export const ERROR_EXAMPLE = {
  success: false,
  error: "Invalid request parameters",
  code: "INVALID_PARAMETERS",
  details: { fields: [{ path: "size", problem: 'must be plain decimal text without an exponent, or "ALL"' }] },
  requestId: "k3v9x1-2f",
  timestamp: EXAMPLE_TIMESTAMP,
};
