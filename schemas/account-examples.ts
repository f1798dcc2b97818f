/** Examples of the OpenAPI document for accounts and single-venue orders. Tests validate each against its schema. */
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { CALLER_VENUES, KEY_VENUE, named, NATIVE_VENUE, perVenue, WALLET_VENUE } from "./venues.js";

const [FIRST, SECOND] = ROUTABLE_VENUE_WORDS;
export const EXAMPLE_CREDENTIALS = { [FIRST]: { privateKey: `<${FIRST}_private_key>` } };

const TIMESTAMP = 1_790_000_000_422;
const WALLET_ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

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

const RECORD = {
  ...WALLET_ORDER_REPLY,
  nativeSymbol: "BTC",
  venueStatus: "filled",
  venueTimestamp: 1_790_000_000_412,
  remainingQuantity: "0",
  timeInForce: "IOC",
};

const WALLET = {
  userId: "user-42",
  address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  publicKey: "0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75",
  createdAt: 1_790_000_000_412,
  state: "ACTIVE",
  epoch: 1,
  exchanges: [],
};
const WALLET_REPLY = { success: true, ...WALLET, timestamp: TIMESTAMP };

const POSITION = {
  symbol: "BTC",
  exchange: FIRST,
  direction: "LONG",
  size: "0.4",
  entryPrice: "95110.2",
  markPrice: "97421.5",
  liquidationPrice: "78210",
  unrealizedPnl: "924.52",
  unrealizedPnlPercent: "12.1507",
  leverage: 5,
  collateral: "7608.816",
  margin: "7793.72",
  timestamp: 1_790_000_000_390,
  walletAddress: WALLET_ADDRESS,
  nativeSymbol: "BTC",
  positionSide: "BOTH",
  marginMode: "cross",
  notional: "38968.6",
  quoteAsset: "USDC",
  markSource: "venue",
  asOf: 1_790_000_000_390,
  source: "venue",
  ageMs: 32,
};

const READ_NOW = { state: "SNAPSHOT", mode: "request", asOf: 1_790_000_000_390, source: "venue" };
const NO_CREDENTIALS = {
  state: "AUTH_REQUIRED",
  mode: "request",
  asOf: null,
  source: null,
  error: { code: "MISSING_CREDENTIALS", message: `Missing or invalid credentials for ${SECOND}` },
};
const notConfigured = (venue: string) => ({
  state: "ERROR",
  mode: "request",
  asOf: null,
  source: null,
  error: { code: "NOT_CONFIGURED", message: `${venue} is not configured` },
});
const COVERAGE = {
  ...perVenue((_, venue) => notConfigured(venue)),
  [FIRST]: READ_NOW,
  [SECOND]: NO_CREDENTIALS,
  venuefive: notConfigured("venuefive"),
};

const BALANCE = {
  exchange: FIRST,
  walletAddress: WALLET_ADDRESS,
  quoteAsset: "USDC",
  equity: "100924.52",
  marginUsed: "7793.72",
  free: "93130.8",
  maintenanceMargin: "389.68",
  distanceToLiquidation: "100534.84",
  distanceToLiquidationPercent: "99.6138",
  balances: [{ asset: "USDC", total: "100000", available: "93130.8" }],
  asOf: 1_790_000_000_390,
  source: "venue",
  ageMs: 32,
};

const WALLET_ORDER = { symbol: "BTC", side: "BUY", type: "LIMIT", quantity: "0.01", price: "96000" };
const USER = { userId: "alice" };
const KEY = { credentials: EXAMPLE_CREDENTIALS };

export const ACCOUNT_REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  walletCreate: { userId: "user-42" },
  walletSign: { message: "hello world" },
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
  [`${KEY_VENUE}Order`]: { userId: WALLET_ADDRESS, ...WALLET_ORDER },
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

const order = (data: unknown) => ({ success: true, data, timestamp: TIMESTAMP });
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
  halts: [{ exchange: null, reason: "exchange maintenance", since: TIMESTAMP }],
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

export const ACCOUNT_REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  [`${NATIVE_VENUE}PerpOrder`]: order(NATIVE_ORDER_REPLY),
  [`${NATIVE_VENUE}Order`]: order(NATIVE_ORDER_REPLY),
  [`${WALLET_VENUE}Order`]: order(WALLET_ORDER_REPLY),
  [`${KEY_VENUE}Order`]: {
    success: true,
    orderId: "562949953421312",
    status: "submitted",
    adapter: KEY_VENUE,
    timestamp: TIMESTAMP,
    order: { ...WALLET_ORDER_REPLY, exchange: KEY_VENUE, orderId: "562949953421312" },
  },
  ...named(CALLER_VENUES, "Order", (venue) => order({ ...WALLET_ORDER_REPLY, exchange: venue })),
  [`${WALLET_VENUE}Close`]: order({
    closeId: "20987654322",
    status: "submitted",
    timestamp: TIMESTAMP,
    order: { ...WALLET_ORDER_REPLY, orderId: "20987654322", side: "SELL", reduceOnly: true },
  }),
  [`${WALLET_VENUE}CloseAll`]: order({
    success: true,
    closedCount: 1,
    totalPositions: 1,
    results: [CLOSED],
    message: "Closed 1 of 1 positions",
  }),
  [`${NATIVE_VENUE}Close`]: order({
    ...NATIVE_ORDER_REPLY,
    side: "SELL",
    type: "MARKET",
    origType: "MARKET",
    reduceOnly: true,
  }),
  [`${NATIVE_VENUE}Leverage`]: order({ symbol: "BTCUSDT", leverage: 10, maxNotionalValue: "40000000" }),
  cancelOrder: order({
    exchange: FIRST,
    orderId: "20987654321",
    symbol: "BTC",
    status: "CANCELED",
    outcome: "ACCEPTED",
  }),
  amendOrder: order({ outcome: "ACCEPTED", previousOrderId: "20987654321", order: RECORD }),
  cancelAllOrders: order({
    exchange: FIRST,
    symbol: null,
    outcome: "ACCEPTED",
    canceledCount: 3,
    failedCount: 0,
  }),
  setLeverage: order(SETTINGS),
  setMarginMode: order({ ...SETTINGS, marginMode: "isolated" }),
  closeEverything: order({
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
  deadMan: order(SWITCH),
  deadManHeartbeat: order(SWITCH),
  deadManEnd: order(SWITCH),
  killSwitch: order(KILL),
  killSwitchStatus: order(KILL),
  allPositions: {
    success: true,
    walletAddress: WALLET_ADDRESS,
    positions: [POSITION],
    totalPositions: 1,
    data: { positions: { venuefive: { positions: [], count: 0 } } },
    coverage: COVERAGE,
    timestamp: TIMESTAMP,
  },
  venuePositions: {
    success: true,
    exchange: FIRST,
    walletAddress: WALLET_ADDRESS,
    positions: [POSITION],
    totalPositions: 1,
    coverage: READ_NOW,
    timestamp: TIMESTAMP,
  },
  [`${NATIVE_VENUE}NativePositions`]: order({
    positions: [
      {
        symbol: "BTCUSDT",
        positionAmt: "-0.3",
        entryPrice: "97500",
        markPrice: "97422.1",
        unRealizedProfit: "23.37",
        liquidationPrice: "116880.4",
        leverage: "5",
        maxNotionalValue: "40000000",
        marginType: "cross",
        isolatedMargin: "0",
        isAutoAddMargin: "false",
        positionSide: "BOTH",
        notional: "-29226.63",
        isolatedWallet: "0",
        updateTime: 1_790_000_000_380,
      },
    ],
    total: 1,
  }),
  allBalances: {
    success: true,
    walletAddress: WALLET_ADDRESS,
    data: {
      accounts: [BALANCE],
      totals: { equity: "100924.52", marginUsed: "7793.72", free: "93130.8", complete: false },
    },
    coverage: COVERAGE,
    timestamp: TIMESTAMP,
  },
  venueBalances: {
    success: true,
    exchange: FIRST,
    walletAddress: WALLET_ADDRESS,
    data: BALANCE,
    coverage: READ_NOW,
    timestamp: TIMESTAMP,
  },
  accountFills: {
    success: true,
    exchange: FIRST,
    walletAddress: WALLET_ADDRESS,
    data: {
      fills: [
        {
          exchange: FIRST,
          symbol: "BTC",
          nativeSymbol: "BTC",
          tradeId: "118906512037719",
          orderId: "20987654321",
          venueClientOrderId: null,
          side: "BUY",
          quantity: "0.01",
          price: "97418",
          fee: { amount: "0.438381", asset: "USDC" },
          isMaker: false,
          realizedPnl: "0",
          timestamp: 1_790_000_000_412,
        },
      ],
      total: 1,
      nextCursor: null,
    },
    timestamp: TIMESTAMP,
  },
  accountFunding: {
    success: true,
    exchange: FIRST,
    walletAddress: WALLET_ADDRESS,
    data: {
      funding: [
        {
          exchange: FIRST,
          symbol: "BTC",
          nativeSymbol: "BTC",
          amount: "-0.487",
          asset: "USDC",
          rate: "0.0000125",
          timestamp: 1_790_000_000_000,
        },
      ],
      total: 1,
      nextCursor: null,
    },
    timestamp: TIMESTAMP,
  },
  walletCreate: WALLET_REPLY,
  wallet: WALLET_REPLY,
  walletList: { success: true, data: { wallets: [WALLET], nextCursor: null }, timestamp: TIMESTAMP },
  walletSign: {
    success: true,
    data: {
      signature:
        "0xa461f509887bd19e312c0c58467ce8ff8e300d3c1a90b608a760c5b80318eaf15fe57c96f9175d6cd4daad4663763baa7e78836e067d0163e9a2ccf2ff753f5b1b",
      address: WALLET.address,
      digest: "0xd9eba16ed0ecae432b71fe008c98cc872bb4cc214d3220a36f365326cf807d68",
      kind: "message",
    },
    timestamp: TIMESTAMP,
  },
  historicalOrders: order({ orders: [RECORD], total: 1, nextCursor: null }),
  orderStatus: order(RECORD),
  openOrders: {
    success: true,
    exchange: FIRST,
    data: {
      orders: [
        {
          ...RECORD,
          type: "LIMIT",
          status: "OPEN",
          venueStatus: "open",
          filledQuantity: "0",
          averagePrice: null,
          remainingQuantity: "0.01",
          timeInForce: "GTC",
        },
      ],
      total: 1,
    },
    timestamp: TIMESTAMP,
  },
};
