/**
 * Every route of the service in one table: the router mounts it, the OpenAPI document prints it and the
 * test client judges replies by it. A route or a status code that is not here does not exist.
 */
import { type TSchema, Type } from "@sinclair/typebox";
import { ACCOUNT_OPERATIONS } from "./account-operations.js";
import { bookQuerySchema, consolidatedBookReplySchema, venueBookReplySchema } from "./book.js";
import { closeReplySchema, closeRequestSchema, tradeRefusedReplySchema } from "./close.js";
import { openReplySchema, openRequestSchema } from "./open.js";
import { ROUTABLE_VENUE_WORDS, type RoutableVenueWord, words } from "./common.js";
import { errorReplySchema } from "./errors.js";
import { executionQuerySchema, executionReplySchema, venueCredentialsText } from "./executions.js";
import {
  candlesQuerySchema,
  candlesReplySchema,
  executionQualityQuerySchema,
  executionQualityReplySchema,
  fillsQuerySchema,
  fillsReplySchema,
  routingHistoryQuerySchema,
  routingHistoryReplySchema,
  ticksQuerySchema,
  ticksReplySchema,
  tradesQuerySchema,
  tradesReplySchema,
} from "./history.js";
import { instrumentsQuerySchema, instrumentsReplySchema } from "./instruments.js";
import { idempotencyKeySchema, OPEN, type Operation, symbolParameter, UNKNOWN_SYMBOL_ERROR } from "./operation.js";
import { BODY_ERRORS, KEY_ERRORS } from "./operation-errors.js";
import { ORDER_OPERATIONS } from "./order-operations.js";
import { routingQuerySchema, routingReplySchema } from "./routing.js";
import {
  healthReplySchema,
  limitsReplySchema,
  readyReplySchema,
  statusReplySchema,
  timeReplySchema,
} from "./service.js";
import { streamTicketReplySchema } from "./stream.js";
import { aggregatedTickerReplySchema, venueTickerReply } from "./ticker.js";
import { CONTRACTS, named } from "./venues.js";
import { TRANSFER_OPERATIONS } from "./transfer-operations.js";
import { VENUE_KEY_OPERATIONS } from "./venue-key-operations.js";
import { VENUEFIVE_OPERATIONS } from "./venuefive-operations.js";
import { WALLET_OPERATIONS } from "./wallet-operations.js";

const symbol = symbolParameter;
const UNKNOWN_SYMBOL = UNKNOWN_SYMBOL_ERROR;

const KEYLESS_TICKER = {
  401: "The service is configured to require keys for this ticker and has none (MISSING_CREDENTIALS).",
} as const;

function venueTicker(exchange: RoutableVenueWord) {
  return {
    id: `${exchange}Ticker`,
    method: "GET",
    path: `/api/trading/${exchange}/ticker/{symbol}`,
    summary: `Ticker of ${exchange}`,
    tag: "market data",
    access: OPEN,
    buckets: ["read"],
    weight: 1,
    pathParameters: { symbol },
    query: null,
    headers: [],
    body: null,
    reply: venueTickerReply(exchange),
    errors: CONTRACTS[exchange].ticker.mayNeedKeys === true ? { ...KEYLESS_TICKER, ...UNKNOWN_SYMBOL } : UNKNOWN_SYMBOL,
  } as const satisfies Operation;
}

/** Generic in what a caller's types come from (client/api); they follow from the arguments alone. */
function serviceRead<const P extends string, const R extends Operation["reply"]>(
  id: string,
  path: P,
  summary: string,
  reply: R,
) {
  return {
    id,
    method: "GET",
    path,
    summary,
    tag: "service",
    access: OPEN,
    buckets: ["anon"],
    weight: 1,
    pathParameters: {},
    query: null,
    headers: [],
    body: null,
    reply: reply as NoInfer<R>,
    errors: {},
  } as const satisfies Operation;
}

/** A read of the record costs many times what a read of memory does. */
const HISTORY_WEIGHT = 10;

function historyRead<const N extends string, Q extends TSchema, R extends TSchema>(
  id: string,
  name: N,
  summary: string,
  query: Q,
  reply: R,
) {
  return {
    id,
    method: "GET",
    path: `/api/history/${name}`,
    summary,
    tag: "history",
    access: OPEN,
    buckets: ["read"],
    weight: HISTORY_WEIGHT,
    pathParameters: {},
    query: query as NoInfer<Q>,
    headers: [],
    body: null,
    reply: reply as NoInfer<R>,
    exports: ["text/csv", "application/x-ndjson"],
    errors: { ...UNKNOWN_SYMBOL, 406: "No accepted media type is available (NOT_ACCEPTABLE); `available` lists them." },
  } as const satisfies Operation;
}

/** Fills, decisions and what follows from them: rows of the key's owner, all of them with `admin`. */
function operatorRead<const N extends string, Q extends TSchema, R extends TSchema>(
  ...parameters: [id: string, name: N, summary: string, query: Q, reply: R]
) {
  const operation = historyRead(...parameters);
  const refusal =
    "Served to the operator only (OPERATOR_DATA): on a loopback address, or where configuration opens it.";
  return {
    ...operation,
    access: { scope: "read", owner: "rows" },
    errors: { ...operation.errors, 403: refusal },
  } as const satisfies Operation;
}

const IDEMPOTENCY_HEADER = {
  name: "Idempotency-Key",
  description:
    "Same key and same body: the stored reply with Idempotent-Replayed: true, kept 24 h; after a crash of this service that of the request it cut short, carried on. Same key, other body: 422.",
  schema: idempotencyKeySchema,
} as const;

/** What may become of a close or an open. */
const TRADE_ERRORS = {
  ...BODY_ERRORS,
  ...KEY_ERRORS,
  ...UNKNOWN_SYMBOL,
  401: "Missing or invalid credentials for the preferred venue (MISSING_CREDENTIALS).",
  409: "A request with this Idempotency-Key is still running (IDEMPOTENCY_IN_PROGRESS), the quote is over, used or left behind by the market (QUOTE_EXPIRED), or was never given (QUOTE_UNKNOWN).",
} as const;

export const OPERATIONS = {
  positionClose: {
    id: "positionClose",
    method: "POST",
    path: "/api/trade/position/close",
    summary: "Close a position at the best all-in exit",
    tag: "trade",
    access: { scope: "trade", owner: "credentials" },
    buckets: ["exit", "trade"],
    weight: 1,
    pathParameters: {},
    query: null,
    headers: [IDEMPOTENCY_HEADER],
    body: closeRequestSchema,
    reply: closeReplySchema,
    refusedReply: tradeRefusedReplySchema,
    errors: TRADE_ERRORS,
  },
  positionOpen: {
    id: "positionOpen",
    method: "POST",
    path: "/api/trade/position/open",
    summary: "Open a position at the best entry, with take-profit and stop-loss",
    tag: "trade",
    access: { scope: "trade", owner: "credentials" },
    buckets: ["trade"],
    weight: 1,
    pathParameters: {},
    query: null,
    headers: [IDEMPOTENCY_HEADER],
    body: openRequestSchema,
    reply: openReplySchema,
    refusedReply: tradeRefusedReplySchema,
    errors: {
      ...TRADE_ERRORS,
      403: "The symbol or the venue is not allowed (SYMBOL_NOT_ALLOWED, VENUE_NOT_ALLOWED).",
    },
  },
  routingDryRun: {
    id: "routingDryRun",
    method: "GET",
    path: "/api/trade/routing/{symbol}",
    summary: "Dry run over the live books: no credentials, no positions, nothing sent",
    tag: "trade",
    access: OPEN,
    buckets: ["read"],
    weight: 1,
    pathParameters: { symbol },
    query: routingQuerySchema,
    headers: [],
    body: null,
    reply: routingReplySchema,
    refusedReply: errorReplySchema,
    errors: UNKNOWN_SYMBOL,
  },
  execution: {
    id: "execution",
    method: "GET",
    path: "/api/trade/executions/{routeId}",
    summary:
      "What became of one close or open; with its credentials an order of unknown outcome is looked up at the venue",
    tag: "trade",
    access: { scope: "read", owner: "named" },
    buckets: ["read"],
    weight: 1,
    pathParameters: { routeId: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$", "x-kind": "routeId" }) },
    query: executionQuerySchema,
    headers: [
      {
        name: "X-Venue-Credentials",
        description:
          "base64url of the JSON credentials object. An order still unknown is looked up with the block of its venue; nothing of it is stored.",
        schema: venueCredentialsText,
      },
    ],
    body: null,
    reply: executionReplySchema,
    errors: { 404: "No such execution (EXECUTION_NOT_FOUND)." },
  },
  ...ORDER_OPERATIONS,
  ...ACCOUNT_OPERATIONS,
  ...VENUEFIVE_OPERATIONS,
  ...WALLET_OPERATIONS,
  ...VENUE_KEY_OPERATIONS,
  ...TRANSFER_OPERATIONS,
  aggregatedTicker: {
    id: "aggregatedTicker",
    method: "GET",
    path: "/api/trading/ticker/{symbol}",
    summary: "Tickers of all venues and the best touch over live books",
    tag: "market data",
    access: OPEN,
    buckets: ["read"],
    weight: 1,
    pathParameters: { symbol },
    query: null,
    headers: [],
    body: null,
    reply: aggregatedTickerReplySchema,
    errors: UNKNOWN_SYMBOL,
  },
  ...named(ROUTABLE_VENUE_WORDS, "Ticker", venueTicker),
  venueBook: {
    id: "venueBook",
    method: "GET",
    path: "/api/trading/{exchange}/book/{symbol}",
    summary: "Order book of one venue",
    tag: "market data",
    access: OPEN,
    buckets: ["read"],
    weight: 1,
    pathParameters: { exchange: words(ROUTABLE_VENUE_WORDS), symbol },
    query: bookQuerySchema,
    headers: [],
    body: null,
    reply: venueBookReplySchema,
    errors: UNKNOWN_SYMBOL,
  },
  consolidatedBook: {
    id: "consolidatedBook",
    method: "GET",
    path: "/api/book/{symbol}",
    summary: "Consolidated depth over all venues with a live book",
    tag: "market data",
    access: OPEN,
    buckets: ["read"],
    weight: 1,
    pathParameters: { symbol },
    query: bookQuerySchema,
    headers: [],
    body: null,
    reply: consolidatedBookReplySchema,
    errors: UNKNOWN_SYMBOL,
  },
  instruments: {
    id: "instruments",
    method: "GET",
    path: "/api/instruments",
    summary: "Instruments of all venues",
    tag: "market data",
    access: OPEN,
    buckets: ["read"],
    weight: 1,
    pathParameters: {},
    query: instrumentsQuerySchema,
    headers: [],
    body: null,
    reply: instrumentsReplySchema,
    errors: UNKNOWN_SYMBOL,
  },
  historyTicks: historyRead(
    "historyTicks",
    "ticks",
    "Best bid and ask at each change",
    ticksQuerySchema,
    ticksReplySchema,
  ),
  historyTrades: historyRead("historyTrades", "trades", "Public trades", tradesQuerySchema, tradesReplySchema),
  historyCandles: historyRead(
    "historyCandles",
    "candles",
    "Candles of public trades",
    candlesQuerySchema,
    candlesReplySchema,
  ),
  historyRouting: operatorRead(
    "historyRouting",
    "routing",
    "Routing decisions: one row per close decided, refused, replayed or resolved",
    routingHistoryQuerySchema,
    routingHistoryReplySchema,
  ),
  historyFills: operatorRead(
    "historyFills",
    "fills",
    "Orders of this service that filled",
    fillsQuerySchema,
    fillsReplySchema,
  ),
  historyExecutionQuality: operatorRead(
    "historyExecutionQuality",
    "execution-quality",
    "What was filled against what was quoted, in total, per venue and per symbol",
    executionQualityQuerySchema,
    executionQualityReplySchema,
  ),
  streamTicket: {
    id: "streamTicket",
    method: "POST",
    path: "/api/stream/ticket",
    summary: "A ticket that opens the stream for the key",
    tag: "service",
    access: { scope: "read", owner: "rows" },
    buckets: ["read"],
    weight: 1,
    pathParameters: {},
    query: null,
    headers: [],
    body: null,
    reply: streamTicketReplySchema,
    errors: BODY_ERRORS,
  },
  status: {
    ...serviceRead("status", "/api/status", "State of every venue, orders of unknown outcome", statusReplySchema),
    access: { scope: "open", owner: "rows" },
  },
  time: serviceRead("time", "/api/time", "Server time", timeReplySchema),
  limits: {
    ...serviceRead("limits", "/api/limits", "Rate limits and their current use by this caller", limitsReplySchema),
    access: { scope: "read", owner: "rows" },
    headers: [
      {
        name: "X-Venue-Credentials",
        description: "With it the account's own use is shown, else that of the caller's address.",
        schema: venueCredentialsText,
      },
    ],
  },
  health: { ...serviceRead("health", "/health", "Is the process alive", healthReplySchema), anyOrigin: true },
  ready: {
    ...serviceRead("ready", "/ready", "Are feeds live and the store reachable", readyReplySchema),
    anyOrigin: true,
  },
  metrics: {
    ...serviceRead("metrics", "/metrics", "Prometheus metrics", "text/plain"),
    access: { scope: "admin", owner: "service" },
  },
  openapi: serviceRead("openapi", "/openapi.json", "This document", "application/json"),
  asyncapi: serviceRead("asyncapi", "/asyncapi.json", "The stream: AsyncAPI document", "application/json"),
} as const satisfies Record<string, Operation>;
