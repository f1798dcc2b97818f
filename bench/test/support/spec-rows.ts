/**
 * The rows of interface spec 4.6 to 4.9 and 4.11 with the texts of section 7: a table, no logic; spec-order-rows.ts has
 * the rows that place orders. The walker fills in `{alice}` and `{key}`.
 */
import type { RequestOptions } from "../../../gateway/test/client.js";
import { BARE_ADDRESS, BARE_WALLET_ID, HEDGE_WALLET_ID, WALLET_ID } from "./spec-system.js";

export type Json = Readonly<Record<string, unknown>>;

/** One row: the request, and what the spec says of the answer. */
export interface SpecRow {
  readonly row: string;
  readonly method?: RequestOptions["method"];
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly status: number;
  /** Exact text of section 7. */
  readonly error?: string;
  readonly code?: string;
  /** Fields of the reply. */
  readonly reply?: Json;
}

export const NO_WALLET = "11111111-1111-4111-8111-111111111111";
export const WALLET = { "x-wallet-id": WALLET_ID };
export const PERP = `/api/venuetwo/perp/${WALLET_ID}`;
export const HEDGE_PERP = `/api/venuetwo/perp/${HEDGE_WALLET_ID}`;
export const ONE = `/api/venueone/${WALLET_ID}`;
export const ORDERS_ONE = "/api/trading/venueone/orders";
export const ORDERS_TWO = "/api/trading/venuetwo/orders";
export const ORDERS_THREE = "/api/trading/venuethree/orders";

export const LIMIT_TWO = { symbol: "BTCUSDT", side: "BUY", type: "LIMIT", quantity: "0.01", price: "50000" };
export const LIMIT_ONE = { userId: "alice", ...LIMIT_TWO, symbol: "BTC" };
export const LIMIT_THREE = { ...LIMIT_ONE, userId: "{alice}" };
const LEVERAGE_PATH = `${PERP}/leverage`;
const CLOSE_PATH = `${ONE}/positions/close/BTC`;
const CLOSE = {
  userId: "alice",
  symbol: "BTC-PERP",
  side: "SELL",
  type: "MARKET",
  quantity: "0.1",
  price: "1000",
  reduceOnly: true,
};

export const LEVERAGE_ROWS: readonly SpecRow[] = [
  {
    row: "set",
    method: "POST",
    path: LEVERAGE_PATH,
    body: { symbol: "BTCUSDT", leverage: 7 },
    status: 200,
    reply: { data: { symbol: "BTCUSDT", leverage: 7 } },
  },
  {
    row: "0",
    method: "POST",
    path: LEVERAGE_PATH,
    body: { symbol: "BTCUSDT", leverage: 0 },
    status: 400,
    error: "Leverage must be between 1 and 125",
  },
  {
    row: "126",
    method: "POST",
    path: LEVERAGE_PATH,
    body: { symbol: "BTCUSDT", leverage: 126 },
    status: 400,
    error: "Leverage must be between 1 and 125",
  },
  {
    row: "fraction",
    method: "POST",
    path: LEVERAGE_PATH,
    body: { symbol: "BTCUSDT", leverage: 2.5 },
    status: 400,
    error: "Leverage must be between 1 and 125",
  },
  {
    row: "missing",
    method: "POST",
    path: LEVERAGE_PATH,
    body: { symbol: "BTCUSDT" },
    status: 400,
    error: "Missing required parameters",
  },
  {
    row: "bad symbol",
    method: "POST",
    path: LEVERAGE_PATH,
    body: { symbol: "NOPEUSDT", leverage: 5 },
    status: 400,
    error: "Invalid trading symbol",
  },
  {
    row: "unknown wallet",
    method: "POST",
    path: `/api/venuetwo/perp/${NO_WALLET}/leverage`,
    body: { symbol: "BTCUSDT", leverage: 5 },
    status: 401,
    error: "Invalid wallet ID",
  },
  {
    row: "malformed wallet",
    method: "POST",
    path: "/api/venuetwo/perp/alice/leverage",
    body: { symbol: "BTCUSDT", leverage: 5 },
    status: 401,
    error: "Invalid wallet ID",
  },
];

export const POSITION_ROWS: readonly SpecRow[] = [
  {
    row: "all venues, stored credentials",
    path: "/api/trading/positions/all/{alice}",
    status: 200,
    reply: {
      walletAddress: "{alice}",
      coverage: {
        venuefive: { state: "ERROR", error: { code: "NOT_CONFIGURED" } },
      },
      data: { positions: { venuefive: { positions: [], count: 0 } } },
    },
  },
  {
    row: "all venues, bad address",
    path: "/api/trading/positions/all/0x12",
    status: 400,
    error: "Invalid wallet address format",
  },
  {
    row: "venueone is public by address",
    path: "/api/trading/venueone/positions/{alice}",
    status: 200,
    reply: { exchange: "venueone" },
  },
  {
    row: "venuetwo with the wallet",
    path: "/api/trading/venuetwo/positions/{alice}",
    headers: WALLET,
    status: 200,
    reply: { exchange: "venuetwo" },
  },
  {
    row: "venuetwo without credentials",
    path: `/api/trading/venuetwo/positions/${BARE_ADDRESS}`,
    status: 401,
    error: "Missing or invalid credentials for venuetwo",
  },
  {
    row: "venuethree is public by address",
    path: "/api/trading/venuethree/positions/{alice}",
    status: 200,
    reply: { exchange: "venuethree" },
  },
  {
    row: "venuefive does not run yet",
    path: "/api/trading/venuefive/positions/{alice}",
    status: 503,
    code: "VENUE_UNAVAILABLE",
  },
  { row: "no such venue", path: "/api/trading/venuesix/positions/{alice}", status: 400 },
  {
    row: "one venue, bad address",
    path: "/api/trading/venuetwo/positions/alice",
    status: 400,
    error: "Invalid wallet address format",
  },
  { row: "native", path: `${PERP}/positions`, status: 200, reply: { data: { total: 2 } } },
  {
    row: "native, one symbol",
    path: `${PERP}/positions?symbol=ETHUSDT`,
    status: 200,
    reply: {
      data: {
        total: 1,
        positions: [
          {
            symbol: "ETHUSDT",
            positionAmt: "-5",
            positionSide: "BOTH",
            marginType: "cross",
            isAutoAddMargin: "false",
          },
        ],
      },
    },
  },
  { row: "native, unknown symbol", path: `${PERP}/positions?symbol=NOPE`, status: 404 },
  {
    row: "native, unknown wallet",
    path: `/api/venuetwo/perp/${NO_WALLET}/positions`,
    status: 404,
    error: "Wallet not found",
  },
];

export const TICKER_ROWS: readonly SpecRow[] = [
  { row: "aggregated", path: "/api/trading/ticker/BTC", status: 200 },
  ...["venueone", "venuetwo", "venuethree"].map((venue) => ({
    row: venue,
    path: `/api/trading/${venue}/ticker/BTC`,
    status: 200,
    reply: { data: { symbol: "BTC" } },
  })),
  { row: "unknown symbol", path: "/api/trading/ticker/NOPE", status: 404, code: "UNKNOWN_SYMBOL" },
  ...["venueone", "venuetwo", "venuethree"].map((venue) => ({
    row: `${venue}, unknown symbol`,
    path: `/api/trading/${venue}/ticker/NOPE`,
    status: 404,
    code: "UNKNOWN_SYMBOL",
  })),
];

export const CLOSE_ROWS: readonly SpecRow[] = [
  {
    row: "venueone without header",
    method: "POST",
    path: CLOSE_PATH,
    body: CLOSE,
    status: 401,
    error: "Missing x-wallet-id header",
  },
  {
    row: "venueone other wallet",
    method: "POST",
    path: CLOSE_PATH,
    body: CLOSE,
    headers: { "x-wallet-id": BARE_WALLET_ID },
    status: 401,
    error: "Invalid wallet ID",
  },
  {
    row: "venueone unknown wallet",
    method: "POST",
    path: `/api/venueone/${NO_WALLET}/positions/close/BTC`,
    body: CLOSE,
    headers: { "x-wallet-id": NO_WALLET },
    status: 404,
    error: "Wallet not found",
  },
  {
    row: "venueone without parameters",
    method: "POST",
    path: CLOSE_PATH,
    body: { userId: "alice" },
    headers: WALLET,
    status: 400,
    error: "Missing required parameters",
  },
  {
    row: "venueone reduceOnly false",
    method: "POST",
    path: CLOSE_PATH,
    body: { ...CLOSE, reduceOnly: false },
    headers: WALLET,
    status: 400,
  },
  {
    row: "venueone more than the position",
    method: "POST",
    path: CLOSE_PATH,
    body: { ...CLOSE, quantity: "50" },
    headers: WALLET,
    status: 400,
    error: "Size exceeds the open position",
    code: "SIZE_EXCEEDS_POSITION",
  },
  {
    row: "venueone the wrong way",
    method: "POST",
    path: CLOSE_PATH,
    body: { ...CLOSE, side: "BUY", price: "200000" },
    headers: WALLET,
    status: 400,
  },
  {
    row: "venueone unknown symbol",
    method: "POST",
    path: `${ONE}/positions/close/NOPE`,
    body: { ...CLOSE, symbol: "NOPE" },
    headers: WALLET,
    status: 404,
  },
  {
    row: "venueone",
    method: "POST",
    path: CLOSE_PATH,
    body: CLOSE,
    headers: WALLET,
    status: 200,
    reply: { data: { status: "submitted", order: { side: "SELL", reduceOnly: true, filledQuantity: "0.1" } } },
  },
  {
    row: "venuetwo without symbol",
    method: "POST",
    path: `${PERP}/close-position`,
    body: {},
    status: 400,
    error: "Missing required parameters",
  },
  {
    row: "venuetwo unknown wallet",
    method: "POST",
    path: `/api/venuetwo/perp/${NO_WALLET}/close-position`,
    body: { symbol: "BTC" },
    status: 404,
    error: "Wallet not found",
  },
  {
    row: "venuetwo hedge side that is not held",
    method: "POST",
    path: `${HEDGE_PERP}/close-position`,
    body: { symbol: "BTC", positionSide: "SHORT" },
    status: 400,
  },
  {
    row: "venuetwo hedge side",
    method: "POST",
    path: `${HEDGE_PERP}/close-position`,
    body: { symbol: "ETHUSDT", positionSide: "SHORT" },
    status: 200,
    reply: { data: { side: "BUY", positionSide: "SHORT", reduceOnly: true } },
  },
  {
    row: "venuetwo",
    method: "POST",
    path: `${PERP}/close-position`,
    body: { symbol: "ETHUSDT" },
    status: 200,
    reply: { data: { side: "BUY", reduceOnly: true, executedQty: "5", status: "FILLED" } },
  },
  {
    row: "venuetwo once more: nothing left",
    method: "POST",
    path: `${PERP}/close-position`,
    body: { symbol: "ETHUSDT" },
    status: 400,
    code: "SIZE_EXCEEDS_POSITION",
  },
  {
    row: "venueone all, reduceOnly false",
    method: "POST",
    path: `${ONE}/positions/close-all`,
    body: { userId: "alice", reduceOnly: false },
    headers: WALLET,
    status: 400,
  },
  {
    row: "venueone all, without header",
    method: "POST",
    path: `${ONE}/positions/close-all`,
    body: { userId: "alice" },
    status: 401,
    error: "Missing x-wallet-id header",
  },
  {
    row: "venueone all",
    method: "POST",
    path: `${ONE}/positions/close-all`,
    body: CLOSE,
    headers: WALLET,
    status: 200,
    reply: { data: { success: true, closedCount: 2, totalPositions: 2 } },
  },
  {
    row: "venueone all once more: nothing left",
    method: "POST",
    path: `${ONE}/positions/close-all`,
    body: CLOSE,
    headers: WALLET,
    status: 200,
    reply: { data: { success: true, closedCount: 0, totalPositions: 0, results: [] } },
  },
];
