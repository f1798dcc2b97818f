/** Examples of the OpenAPI document for venuefive. Keys are operation ids. */
import { EXAMPLE_ADDRESS, EXAMPLE_TIMESTAMP, exampleReply } from "./example-parts.js";

const POSITION = {
  symbol: "BTC",
  exchange: "venuefive",
  direction: "LONG",
  size: "0.0154",
  entryPrice: "65000",
  markPrice: "65000",
  liquidationPrice: "59475",
  unrealizedPnl: "-0.25",
  unrealizedPnlPercent: "-0.25",
  leverage: 10,
  collateral: "100",
  margin: "100",
  timestamp: 1_789_990_000_000,
  isZfp: false,
  walletAddress: EXAMPLE_ADDRESS,
};
export const VENUEFIVE_POSITIONS_EXAMPLE = { positions: [POSITION], count: 1 };
const BLOCK = 36_104_211;
export const VENUEFIVE_COVERAGE_EXAMPLE = {
  state: "SNAPSHOT",
  mode: "request",
  asOf: 1_790_000_000_100,
  source: "venue",
};

const TX = "0x6f1c2f1d7f5f0e0b8b1a3c9c6f9c0f8f2b7d5a1e4c3b2a190807060504030201";
const ORDER = {
  orderId: "0:0:36104100",
  symbol: "ETH",
  exchange: "venuefive",
  direction: "SHORT",
  orderType: "LIMIT",
  price: "3500",
  size: "0.1428571428",
  collateral: "50",
  leverage: 10,
  tp: "3100",
  sl: null,
  slippagePercent: "0.3",
  liquidationPrice: "3797.5",
  status: "OPEN",
  timestamp: 1_789_999_778_000,
  walletAddress: EXAMPLE_ADDRESS,
  txHash: TX,
};

const PAGE = {
  nextCursor: null,
  since: { block: 34_000_000, time: 1_785_791_578_000 },
  older: null,
  toBlock: BLOCK - 3,
};
const head = { success: true, exchange: "venuefive", walletAddress: EXAMPLE_ADDRESS };

export const VENUEFIVE_REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  venuefivePositions: {
    ...head,
    positions: [POSITION],
    totalPositions: 1,
    coverage: VENUEFIVE_COVERAGE_EXAMPLE,
    block: BLOCK,
    timestamp: EXAMPLE_TIMESTAMP,
  },
  venuefiveOrders: {
    ...head,
    data: { orders: [ORDER], total: 1, asOf: 1_790_000_000_100, block: BLOCK },
    timestamp: EXAMPLE_TIMESTAMP,
  },
  venuefiveTrades: {
    ...head,
    data: {
      trades: [
        {
          symbol: "BTC",
          exchange: "venuefive",
          direction: "LONG",
          entryPrice: "64000",
          exitPrice: "65000",
          collateral: "100",
          size: "0.015625",
          leverage: 10,
          realizedPnl: "15.16796",
          fees: "0.45704",
          usdcReceived: "115.16796",
          isZfp: false,
          isLiquidation: false,
          openedAt: 1_789_900_000_000,
          closedAt: 1_789_950_000_000,
          txHash: TX,
          walletAddress: EXAMPLE_ADDRESS,
        },
      ],
      ...PAGE,
    },
    timestamp: EXAMPLE_TIMESTAMP,
  },
  venuefiveOrderHistory: {
    ...head,
    data: { orders: [ORDER, { ...ORDER, orderId: "0:0:36100000", status: "CANCELED" }], ...PAGE },
    timestamp: EXAMPLE_TIMESTAMP,
  },
  venuefiveOrderStatus: exampleReply({
    orderId: ORDER.orderId,
    symbol: "ETH",
    side: "SELL",
    type: "LIMIT",
    status: "OPEN",
    price: "3500",
    quantity: ORDER.size,
    filledQuantity: "0",
    averagePrice: null,
    timestamp: ORDER.timestamp,
    exchange: "venuefive",
    clientOrderId: null,
    reduceOnly: false,
    triggerPrice: null,
    venueStatus: "OPEN",
    venueTimestamp: ORDER.timestamp,
    venueOrderId: null,
    direction: "SHORT",
    collateral: "50",
    leverage: 10,
    isZfp: null,
    txHash: TX,
    walletAddress: EXAMPLE_ADDRESS,
  }),
  venuefiveBalances: {
    ...head,
    data: {
      collateral: { token: "USDC", amount: "1250.5", allowance: "100" },
      native: { symbol: "ETH", amount: "0.0421" },
      asOf: 1_790_000_000_100,
      block: BLOCK,
    },
    timestamp: EXAMPLE_TIMESTAMP,
  },
};
