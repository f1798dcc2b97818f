/** Examples of the OpenAPI document for orders of one venue and what changes or guards them. Keys are operation ids. */
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { EXAMPLE_ADDRESS, EXAMPLE_CREDENTIALS, EXAMPLE_TIMESTAMP, exampleReply } from "./example-parts.js";
import { CALLER_VENUES, KEY_VENUE, named, NATIVE_VENUE, WALLET_VENUE } from "./venues.js";

const [FIRST] = ROUTABLE_VENUE_WORDS;

const WALLET_ORDER_REPLY = {
  orderId: "20987654321",
  symbol: "BTC",
  side: "BUY",
  type: "MARKET",
  status: "FILLED",
  price: "98390",
  quantity: "0.01",
  filledQuantity: "0.01",
  averagePrice: "97418",
  timestamp: 1_790_000_000_412,
  exchange: FIRST,
  clientOrderId: null,
  venueClientOrderId: "0x8c1f0a52d9e34b7790aa41c2d5e6f701",
  reduceOnly: false,
  triggerPrice: null,
};

const NATIVE_ORDER_REPLY = {
  orderId: 8_389_765_519_012,
  orderIdStr: "8389765519012",
  symbol: "BTCUSDT",
  status: "NEW",
  clientOrderId: "open-91c2",
  venueClientOrderId: "8c1f0a52d9e34b7790aa41c2d5e6f701",
  price: "96000",
  avgPrice: "0",
  origQty: "0.01",
  executedQty: "0",
  cumQty: "0",
  cumQuote: "0",
  timeInForce: "GTC",
  type: "LIMIT",
  reduceOnly: false,
  closePosition: false,
  side: "BUY",
  positionSide: "BOTH",
  stopPrice: "0",
  workingType: "CONTRACT_PRICE",
  priceProtect: false,
  origType: "LIMIT",
  updateTime: 1_790_000_000_412,
};

export const ORDER_RECORD = {
  ...WALLET_ORDER_REPLY,
  nativeSymbol: "BTC",
  venueStatus: "filled",
  venueTimestamp: 1_790_000_000_412,
  remainingQuantity: "0",
  timeInForce: "IOC",
};

const WALLET_ORDER = { symbol: "BTC", side: "BUY", type: "LIMIT", quantity: "0.01", price: "96000" };
const USER = { userId: "alice" };
const KEY = { credentials: EXAMPLE_CREDENTIALS };

export const ORDER_REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  [`${NATIVE_VENUE}PerpOrder`]: { ...WALLET_ORDER, timeInForce: "GTC", clientOrderId: "open-91c2" },
  [`${NATIVE_VENUE}Order`]: {
    ...USER,
    symbol: "BTCUSDT",
    side: "SELL",
    type: "MARKET",
    quantity: "0.01",
    reduceOnly: true,
  },
  [`${WALLET_VENUE}Order`]: { ...USER, symbol: "BTC", side: "BUY", type: "MARKET", quantity: "0.01", price: "98500" },
  [`${KEY_VENUE}Order`]: { userId: EXAMPLE_ADDRESS, ...WALLET_ORDER },
  ...named(CALLER_VENUES, "Order", () => WALLET_ORDER),
  [`${WALLET_VENUE}Close`]: {
    ...USER,
    symbol: "BTC-PERP",
    side: "SELL",
    type: "MARKET",
    quantity: "0.01",
    price: "96500",
    reduceOnly: true,
  },
  [`${WALLET_VENUE}CloseAll`]: { ...USER, reduceOnly: true },
  [`${NATIVE_VENUE}Close`]: { symbol: "BTCUSDT" },
  [`${NATIVE_VENUE}Leverage`]: { symbol: "BTCUSDT", leverage: 10 },
  amendOrder: { symbol: "BTC", price: "95900", quantity: "0.02", ...KEY },
  setLeverage: { symbol: "BTC", leverage: 10, ...KEY },
  setMarginMode: { symbol: "BTC", marginMode: "isolated", ...KEY },
  closeEverything: { ...KEY, cancelOrders: true, maxSlippageBps: 100 },
  deadMan: { timeoutMs: 60_000, ...KEY },
  killSwitch: { active: true, reason: "exchange maintenance" },
};

const CLOSED = {
  symbol: "BTC",
  status: "CLOSED",
  orderId: "20987654322",
  exchange: FIRST,
  direction: "LONG",
  size: "0.4",
  filledSize: "0.4",
  averagePrice: "97402.6",
};
const SWITCH = {
  switchId: "dm_01JD3W0M8Q",
  exchange: FIRST,
  state: "ARMED",
  timeoutMs: 60_000,
  expiresAt: 1_790_000_060_422,
  venueArmed: true,
  venueSymbols: null,
};
const KILL = {
  active: true,
  halts: [{ exchange: null, reason: "exchange maintenance", since: EXAMPLE_TIMESTAMP }],
  usedToday: "125000",
};
const SETTINGS = {
  exchange: FIRST,
  symbol: "BTC",
  leverage: 10,
  marginMode: "cross",
  maxNotionalValue: null,
  outcome: "ACCEPTED",
};

export const ORDER_REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  [`${NATIVE_VENUE}PerpOrder`]: exampleReply(NATIVE_ORDER_REPLY),
  [`${NATIVE_VENUE}Order`]: exampleReply(NATIVE_ORDER_REPLY),
  [`${WALLET_VENUE}Order`]: exampleReply(WALLET_ORDER_REPLY),
  [`${KEY_VENUE}Order`]: {
    success: true,
    orderId: "562949953421312",
    status: "submitted",
    adapter: KEY_VENUE,
    timestamp: EXAMPLE_TIMESTAMP,
    order: { ...WALLET_ORDER_REPLY, exchange: KEY_VENUE, orderId: "562949953421312" },
  },
  ...named(CALLER_VENUES, "Order", (venue) => exampleReply({ ...WALLET_ORDER_REPLY, exchange: venue })),
  [`${WALLET_VENUE}Close`]: exampleReply({
    closeId: "20987654322",
    status: "submitted",
    timestamp: EXAMPLE_TIMESTAMP,
    order: { ...WALLET_ORDER_REPLY, orderId: "20987654322", side: "SELL", reduceOnly: true },
  }),
  [`${WALLET_VENUE}CloseAll`]: exampleReply({
    success: true,
    closedCount: 1,
    totalPositions: 1,
    results: [CLOSED],
    message: "Closed 1 of 1 positions",
  }),
  [`${NATIVE_VENUE}Close`]: exampleReply({
    ...NATIVE_ORDER_REPLY,
    side: "SELL",
    type: "MARKET",
    origType: "MARKET",
    reduceOnly: true,
  }),
  [`${NATIVE_VENUE}Leverage`]: exampleReply({ symbol: "BTCUSDT", leverage: 10, maxNotionalValue: "40000000" }),
  cancelOrder: exampleReply({
    exchange: FIRST,
    orderId: "20987654321",
    symbol: "BTC",
    status: "CANCELED",
    outcome: "ACCEPTED",
  }),
  amendOrder: exampleReply({ outcome: "ACCEPTED", previousOrderId: "20987654321", order: ORDER_RECORD }),
  cancelAllOrders: exampleReply({
    exchange: FIRST,
    symbol: null,
    outcome: "ACCEPTED",
    canceledCount: 3,
    failedCount: 0,
  }),
  setLeverage: exampleReply(SETTINGS),
  setMarginMode: exampleReply({ ...SETTINGS, marginMode: "isolated" }),
  closeEverything: exampleReply({
    success: true,
    dryRun: false,
    closedCount: 1,
    totalPositions: 1,
    venues: [
      {
        exchange: FIRST,
        state: "CLOSED",
        canceledOrders: 3,
        cancel: { outcome: "ACCEPTED", error: null },
        closedCount: 1,
        totalPositions: 1,
        results: [CLOSED],
        error: null,
      },
    ],
    message: "Closed 1 of 1 positions",
  }),
  deadMan: exampleReply(SWITCH),
  deadManHeartbeat: exampleReply(SWITCH),
  deadManEnd: exampleReply(SWITCH),
  killSwitch: exampleReply(KILL),
  killSwitchStatus: exampleReply(KILL),
};
