/** Examples of the OpenAPI document for what is read of an account. Keys are operation ids. */
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { EXAMPLE_ADDRESS, EXAMPLE_TIMESTAMP, exampleReply } from "./example-parts.js";
import { ORDER_RECORD } from "./order-examples.js";
import { VENUEFIVE_COVERAGE_EXAMPLE, VENUEFIVE_POSITIONS_EXAMPLE } from "./venuefive-examples.js";
import { NATIVE_VENUE, perVenue } from "./venues.js";

const [FIRST, SECOND] = ROUTABLE_VENUE_WORDS;

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
  walletAddress: EXAMPLE_ADDRESS,
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
  walletAddress: EXAMPLE_ADDRESS,
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

export const ACCOUNT_REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  allPositions: {
    success: true,
    walletAddress: EXAMPLE_ADDRESS,
    positions: [POSITION],
    totalPositions: 1,
    data: { positions: { venuefive: VENUEFIVE_POSITIONS_EXAMPLE } },
    coverage: { ...COVERAGE, venuefive: VENUEFIVE_COVERAGE_EXAMPLE },
    timestamp: EXAMPLE_TIMESTAMP,
  },
  venuePositions: {
    success: true,
    exchange: FIRST,
    walletAddress: EXAMPLE_ADDRESS,
    positions: [POSITION],
    totalPositions: 1,
    coverage: READ_NOW,
    timestamp: EXAMPLE_TIMESTAMP,
  },
  [`${NATIVE_VENUE}NativePositions`]: exampleReply({
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
    walletAddress: EXAMPLE_ADDRESS,
    data: {
      accounts: [BALANCE],
      totals: { equity: "100924.52", marginUsed: "7793.72", free: "93130.8", complete: false },
    },
    coverage: COVERAGE,
    timestamp: EXAMPLE_TIMESTAMP,
  },
  venueBalances: {
    success: true,
    exchange: FIRST,
    walletAddress: EXAMPLE_ADDRESS,
    data: BALANCE,
    coverage: READ_NOW,
    timestamp: EXAMPLE_TIMESTAMP,
  },
  accountFills: {
    success: true,
    exchange: FIRST,
    walletAddress: EXAMPLE_ADDRESS,
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
    timestamp: EXAMPLE_TIMESTAMP,
  },
  accountFunding: {
    success: true,
    exchange: FIRST,
    walletAddress: EXAMPLE_ADDRESS,
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
    timestamp: EXAMPLE_TIMESTAMP,
  },
  historicalOrders: exampleReply({ orders: [ORDER_RECORD], total: 1, nextCursor: null }),
  orderStatus: exampleReply(ORDER_RECORD),
  openOrders: {
    success: true,
    exchange: FIRST,
    data: {
      orders: [
        {
          ...ORDER_RECORD,
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
    timestamp: EXAMPLE_TIMESTAMP,
  },
};
