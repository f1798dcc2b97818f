/** Examples of the AsyncAPI document by message name. A test validates each against its schema. */
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { EXAMPLE_TRANSFER } from "./transfer-examples.js";

const [FIRST, SECOND] = ROUTABLE_VENUE_WORDS;
const TICKER_SUB = `ticker:BTC:${FIRST},${SECOND}:100`;
const BOOK_SUB = `book:BTC:${SECOND}:20:0`;
const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const POSITIONS_SUB = `positions:${WALLET}#9f2c4e1ab0d37758c6e2f1a09b8d4c33`;
const ORDERS_SUB = `orders:${WALLET}#51d0c7a2e94b8f06a3c15e7d2b60f984`;
const TRANSFERS_SUB = `transfers:${WALLET}#0c77f1f0ad5b4a3fb2f6d1a9e8730c5d`;
const EPOCH = "k3v9a1";

const POSITION = {
  symbol: "BTC",
  exchange: FIRST,
  direction: "LONG",
  size: "0.4",
  entryPrice: "95110.2",
  markPrice: "97420.45",
  liquidationPrice: "78120.1",
  unrealizedPnl: "924.1",
  unrealizedPnlPercent: "12.1455",
  leverage: 5,
  collateral: "7608.816",
  margin: "7793.636",
  timestamp: 1_790_000_000_490,
  walletAddress: WALLET,
  nativeSymbol: "BTC",
  positionSide: "BOTH",
  marginMode: "cross",
  notional: "38968.18",
  quoteAsset: "USDC",
  markSource: "live",
  asOf: 1_790_000_000_490,
  source: "stream",
  ageMs: 12,
};
const COVERAGE = {
  [FIRST]: { state: "LIVE", mode: "push", asOf: 1_790_000_000_490, source: "stream" },
  [SECOND]: {
    state: "AUTH_REQUIRED",
    mode: "request",
    asOf: null,
    source: null,
    error: { code: "MISSING_CREDENTIALS", message: `Missing or invalid credentials for ${SECOND}` },
  },
};
const ORDER = {
  orderId: "20987654321",
  symbol: "BTC",
  side: "SELL",
  type: "LIMIT",
  status: "PARTIALLY_FILLED",
  price: "97500",
  quantity: "0.4",
  filledQuantity: "0.1",
  averagePrice: null,
  timestamp: 1_790_000_000_480,
  exchange: FIRST,
  clientOrderId: null,
  venueClientOrderId: null,
  reduceOnly: true,
  triggerPrice: null,
};
const RECORD = {
  ...ORDER,
  nativeSymbol: "BTC",
  venueStatus: "open",
  venueTimestamp: 1_790_000_000_480,
  remainingQuantity: "0.3",
};

export const STREAM_EXAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  // Signed with the secret of the test vectors in docs/api-keys.md.
  Auth: [
    {
      op: "auth",
      id: "1",
      apiKey: "pk_7Qm2c9XbT4sVn1RkE8wYdA",
      timestamp: 1_790_000_000_000,
      signature: "7345a0f9c0e91ce25a0c102ae02057cdf3352f11971d92b60037371dc00d1bd2",
    },
  ],
  AuthByTicket: [{ op: "auth", id: "1", ticket: "st_5hKq0vZr3LwXy8NbJc6TfA" }],
  Authenticated: [{ type: "authenticated", id: "1", scopes: ["read", "trade"] }],
  SubscribeTicker: [
    {
      op: "subscribe",
      id: "2",
      topic: "ticker",
      symbols: ["BTC"],
      exchanges: [FIRST, SECOND],
      intervalMs: 100,
    },
  ],
  SubscribeBook: [
    { op: "subscribe", id: "3", topic: "book", symbols: ["BTC"], exchanges: [SECOND], depth: 20, intervalMs: 0 },
  ],
  SubscribeStatus: [{ op: "subscribe", id: "4", topic: "status" }],
  SubscribePositions: [
    {
      op: "subscribe",
      id: "8",
      topic: "positions",
      walletAddress: WALLET,
      exchanges: [FIRST, SECOND],
      credentials: {},
    },
  ],
  SubscribeOrders: [{ op: "subscribe", id: "9", topic: "orders", walletAddress: WALLET, exchanges: [FIRST] }],
  PositionsSnapshot: [
    {
      type: "snapshot",
      sub: POSITIONS_SUB,
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_502,
      data: { positions: [POSITION], coverage: COVERAGE },
    },
  ],
  PositionsUpdate: [
    {
      type: "update",
      sub: POSITIONS_SUB,
      epoch: EPOCH,
      seq: 2,
      prevSeq: 1,
      ts: 1_790_000_000_900,
      data: { events: ["changed"], positions: [{ ...POSITION, size: "0.15" }] },
    },
  ],
  OrdersSnapshot: [
    {
      type: "snapshot",
      sub: ORDERS_SUB,
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_502,
      data: { orders: [RECORD], coverage: { [FIRST]: COVERAGE[FIRST] } },
    },
  ],
  OrdersUpdate: [
    {
      type: "update",
      sub: ORDERS_SUB,
      epoch: EPOCH,
      seq: 7,
      prevSeq: 6,
      ts: 1_790_000_000_905,
      data: {
        event: "execution.resolved",
        exchange: FIRST,
        routeId: "rt_01JD3W0M8Q",
        state: "COMPLETED",
        order: { ...ORDER, status: "FILLED", filledQuantity: "0.4" },
      },
    },
    {
      type: "update",
      sub: ORDERS_SUB,
      epoch: EPOCH,
      seq: 8,
      prevSeq: 7,
      ts: 1_790_000_061_200,
      data: {
        event: "execution.resolved",
        exchange: FIRST,
        routeId: "or_01JD3W0M8R",
        state: "REJECTED",
        order: null,
        clientOrderId: "my-order-1",
        venueClientOrderId: "0x3f1c0f9b5a7d4e2188c4d1f6e0a9b7c3",
      },
    },
  ],
  SubscribeTransfers: [
    { op: "subscribe", id: "5", topic: "transfers", walletIdOrAddress: WALLET },
    { op: "subscribe", id: "6", topic: "transfers" },
  ],
  TransfersSnapshot: [
    {
      type: "snapshot",
      sub: TRANSFERS_SUB,
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_502,
      data: { transfers: [EXAMPLE_TRANSFER] },
    },
  ],
  TransfersUpdate: [
    {
      type: "update",
      sub: TRANSFERS_SUB,
      epoch: EPOCH,
      seq: 2,
      prevSeq: 1,
      ts: 1_790_000_040_121,
      data: { event: "transfer.ended", transfer: EXAMPLE_TRANSFER },
    },
  ],
  Resync: [{ type: "resync", sub: ORDERS_SUB, epoch: EPOCH, ts: 1_790_000_000_910, reason: "OVERFLOW" }],
  Unsubscribe: [{ op: "unsubscribe", id: "5", subs: [TICKER_SUB] }],
  Resume: [{ op: "resume", id: "6", subs: [{ sub: BOOK_SUB, epoch: EPOCH, seq: 41 }] }],
  CancelOnDisconnect: [
    {
      op: "cancelOnDisconnect",
      id: "8",
      credentials: { [FIRST]: { privateKey: "0x…" } },
      graceMs: 5_000,
      timeoutMs: 30_000,
    },
  ],
  DisconnectSwitches: [
    {
      type: "cancelOnDisconnect",
      id: "8",
      switches: [
        {
          exchange: FIRST,
          switchId: "81f13d9a183152ff32626c6e9ce915ba",
          state: "ARMED",
          graceMs: 5_000,
          timeoutMs: 30_000,
          venueArmed: true,
          venueSymbols: null,
        },
      ],
    },
  ],
  Ping: [{ op: "ping", id: "7" }],
  Subscribed: [{ type: "subscribed", id: "2", subs: [{ sub: TICKER_SUB, epoch: EPOCH, seq: 0 }] }],
  Resumed: [{ type: "resumed", id: "6", subs: [{ sub: BOOK_SUB, epoch: EPOCH, seq: 57, missed: true }] }],
  Unsubscribed: [{ type: "unsubscribed", id: "5", subs: [TICKER_SUB] }],
  TickerUpdate: [
    {
      type: "update",
      sub: TICKER_SUB,
      epoch: EPOCH,
      seq: 2,
      prevSeq: 1,
      ts: 1_790_000_000_600,
      data: { [FIRST]: { markPrice: "97422", timestamp: 1_790_000_000_560, ageMs: 41 } },
    },
  ],
  BookSnapshot: [
    {
      type: "snapshot",
      sub: BOOK_SUB,
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_501,
      data: {
        symbol: "BTC",
        [SECOND]: {
          bids: [["97418", "1.2"]],
          asks: [["97418.1", "0.8"]],
          venueSeq: "990817263",
          state: "LIVE",
          crc: 3_536_425_790,
        },
      },
    },
  ],
  BookUpdate: [
    {
      type: "update",
      sub: BOOK_SUB,
      epoch: EPOCH,
      seq: 2,
      prevSeq: 1,
      ts: 1_790_000_000_551,
      data: { [SECOND]: { bids: [["97418", "0"]], asks: [], venueSeq: "990817270" } },
    },
  ],
  StatusSnapshot: [
    {
      type: "snapshot",
      sub: "status",
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_501,
      data: { service: { state: "LIVE" }, feeds: { [FIRST]: { state: "LIVE", ageMs: 40, breaker: "closed" } } },
    },
  ],
  Heartbeat: [
    {
      type: "heartbeat",
      ts: 1_790_000_005_500,
      n: 12,
      heads: { [TICKER_SUB]: 52 },
      feeds: {
        [FIRST]: { state: "LIVE", ageMs: 40, breaker: "open" },
        [SECOND]: { state: "STALE", ageMs: 6100, breaker: "closed" },
      },
    },
  ],
  Lagging: [{ type: "lagging", ts: 1_790_000_005_500 }],
  Notice: [{ type: "status", ts: 1_790_000_005_500, reason: "RESTART", retryAfterMs: 1000 }],
  StreamError: [
    {
      type: "error",
      id: "2",
      code: "UNKNOWN_SYMBOL",
      error: "Unknown symbol XYZ. Available: BTC, ETH",
      details: { symbol: "XYZ", availableSymbols: ["BTC", "ETH"] },
    },
  ],
  Pong: [{ type: "pong", id: "7", ts: 1_790_000_005_600 }],
};
