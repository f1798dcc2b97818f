/** Rows of the interface spec whose exact text depends on the wrong field: a table, no logic. */
import { LIMIT_THREE, ONE, ORDERS_THREE, PERP, WALLET, type Json, type SpecRow } from "./spec-rows.js";

const CLOSE_ONE = `${ONE}/positions/close/BTC`;
const CLOSE_ALL_ONE = `${ONE}/positions/close-all`;
const CLOSE = {
  userId: "alice",
  symbol: "BTC-PERP",
  side: "SELL",
  type: "MARKET",
  quantity: "0.1",
  price: "1000",
  reduceOnly: true,
};
const ROUTER_CLOSE = "/api/trade/position/close";
const ROUTER_OPEN = "/api/trade/position/open";
const LEVERAGE_PATHS = [`${PERP}/leverage`, "/api/trading/venueone/leverage", "/api/trading/venuetwo/leverage"];

const required = (...paths: string[]) => paths.map((path) => ({ path, problem: "is required" }));
const fields = (...rows: { path: string; problem: string }[]): Json => ({ details: { fields: rows } });

export const TEXT_ROWS: readonly SpecRow[] = [
  ...["STOP_MARKET", "market", 7].map((type) => ({
    row: `venueone close of type ${type}`,
    method: "POST" as const,
    path: CLOSE_ONE,
    body: { ...CLOSE, type },
    headers: WALLET,
    status: 400,
    error: "Invalid order type. Must be MARKET or LIMIT",
    code: "INVALID_ORDER_TYPE",
  })),
  {
    row: "venueone close of a wrong type with a field missing",
    method: "POST",
    path: CLOSE_ONE,
    body: { ...CLOSE, type: "STOP_MARKET", price: undefined },
    headers: WALLET,
    status: 400,
    error: "Missing required parameters",
  },
  ...LEVERAGE_PATHS.flatMap((path) => [
    ...["", 7, true, "NOPE", "x".repeat(65)].map((symbol) => ({
      row: `${path} with the symbol ${JSON.stringify(symbol).slice(0, 9)}`,
      method: "POST" as const,
      path,
      body: { symbol, leverage: 5 },
      headers: WALLET,
      status: 400,
      error: "Invalid trading symbol",
      code: "INVALID_TRADING_SYMBOL",
    })),
    {
      row: `${path} without a symbol`,
      method: "POST" as const,
      path,
      body: { leverage: 5 },
      headers: WALLET,
      status: 400,
      error: "Missing required parameters",
      reply: fields(...required("symbol")),
    },
  ]),
  {
    row: "margin mode with an empty symbol",
    method: "POST",
    path: "/api/trading/venueone/margin-mode",
    body: { symbol: "", marginMode: "cross" },
    headers: WALLET,
    status: 400,
    error: "Invalid trading symbol",
  },
  {
    row: "router close of nothing: size is listed with the rest",
    method: "POST",
    path: ROUTER_CLOSE,
    body: {},
    status: 400,
    error: "Missing required parameters",
    reply: fields(
      { path: "size", problem: "size or sizePercent is required" },
      ...required("symbol", "direction", "credentials"),
    ),
  },
  {
    row: "router close without size, direction wrong",
    method: "POST",
    path: ROUTER_CLOSE,
    body: { symbol: "BTC", direction: "UP", credentials: {} },
    status: 400,
    error: "Missing required parameters",
    reply: fields(
      { path: "size", problem: "size or sizePercent is required" },
      { path: "direction", problem: "must be one of LONG, SHORT" },
    ),
  },
  {
    row: "router close with a field that is none: size is listed with it",
    method: "POST",
    path: ROUTER_CLOSE,
    body: { symbol: "BTC", dryrun: true },
    status: 400,
    error: "Missing required parameters",
    reply: fields(
      { path: "size", problem: "size or sizePercent is required" },
      ...required("direction", "credentials"),
      { path: "dryrun", problem: "is not a field of this request" },
    ),
  },
  {
    row: "router open of nothing: size is listed with the rest",
    method: "POST",
    path: ROUTER_OPEN,
    body: {},
    status: 400,
    error: "Missing required parameters",
    reply: fields(
      { path: "size", problem: "size or notionalUsd is required" },
      ...required("symbol", "direction", "credentials"),
    ),
  },
  {
    row: "venueone close-all without reduceOnly",
    method: "POST",
    path: CLOSE_ALL_ONE,
    body: { userId: "alice" },
    headers: WALLET,
    status: 400,
    error: "Missing required parameters",
    reply: fields(...required("reduceOnly")),
  },
  {
    row: "venueone close-all, reduceOnly null",
    method: "POST",
    path: CLOSE_ALL_ONE,
    body: { userId: "alice", reduceOnly: null },
    headers: WALLET,
    status: 400,
    error: "Missing required parameters",
  },
  {
    row: "venueone close-all, reduceOnly false",
    method: "POST",
    path: CLOSE_ALL_ONE,
    body: { userId: "alice", reduceOnly: false },
    headers: WALLET,
    status: 400,
    error: "Invalid request parameters",
  },
  {
    row: "venueone close-all without userId",
    method: "POST",
    path: CLOSE_ALL_ONE,
    body: { reduceOnly: true },
    headers: WALLET,
    status: 400,
    error: "Missing required parameters",
    reply: fields(...required("userId")),
  },
  {
    row: "venuethree, userId of another account index",
    method: "POST",
    path: `${ORDERS_THREE}?{key}`,
    body: { ...LIMIT_THREE, userId: "7" },
    status: 400,
    error: "Invalid request parameters",
    reply: fields({ path: "userId", problem: "is not the account of accountIndex" }),
  },
];

/** Leverages above the market's maximum, and the warning of one above 50. */
const TOO_MUCH = [
  { path: "/api/trading/venueone/leverage", symbol: "ETH", max: 25 },
  { path: "/api/trading/venueone/leverage", symbol: "BTC", max: 40 },
];
export const MAXIMUM_ROWS: readonly SpecRow[] = [
  ...TOO_MUCH.map(({ path, symbol, max }) => ({
    row: `${path}: ${max + 1} on ${symbol}`,
    method: "POST" as const,
    path,
    body: { symbol, leverage: max + 1 },
    headers: WALLET,
    status: 400,
    error: `Leverage must be between 1 and ${max}`,
    code: "LEVERAGE_OUT_OF_RANGE",
    reply: { details: { max } },
  })),
  {
    row: "51 and more is warned of",
    method: "POST",
    path: `${PERP}/leverage`,
    body: { symbol: "BTCUSDT", leverage: 100 },
    status: 200,
    reply: {
      data: {
        leverage: 100,
        warning: "At 100x a position can be liquidated by an adverse movement of less than 1 percent",
      },
    },
  },
  {
    row: "the same by the route of all venues",
    method: "POST",
    path: "/api/trading/venuetwo/leverage",
    body: { symbol: "BTCUSDT", leverage: 51 },
    headers: WALLET,
    status: 200,
    reply: {
      data: {
        leverage: 51,
        warning: "At 51x a position can be liquidated by an adverse movement of less than 1.97 percent",
      },
    },
  },
];

/** The last row of the walk: the account is flat after it. */
export const CLOSE_ALL_ROW: SpecRow = {
  row: "venueone close-all with what it demands and nothing else",
  method: "POST",
  path: CLOSE_ALL_ONE,
  body: { userId: "alice", reduceOnly: true },
  headers: WALLET,
  status: 200,
  reply: { data: { success: true } },
};
