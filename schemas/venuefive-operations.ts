/**
 * Routes of venuefive (interface spec 4.9, 4.10): reads of an address, for which nobody needs credentials. Where the spec
 * has one path for every venue, the literal path here is that path with this venue in it: its records are its own.
 */
import type { TObject, TSchema } from "@sinclair/typebox";
import { orderIdText, walletAddressText } from "./account-common.js";
import type { Operation } from "./operation.js";
import {
  addressQuerySchema,
  chainHistoryQuerySchema,
  chainOrderQuerySchema,
  openOrdersQuerySchema,
  venuefiveBalancesReplySchema,
  venuefiveOrderHistoryReplySchema,
  venuefiveOrdersReplySchema,
  venuefiveOrderStatusReplySchema,
  venuefivePositionsReplySchema,
  venuefiveTradesReplySchema,
} from "./venuefive-records.js";

/** As of the other venues: a read costs the budget of its endpoint. */
const READ_WEIGHT = 2;
const HISTORY_WEIGHT = 5;

const ACCOUNT_ERROR = { 500: "The chain could not be read (FAILED_TO_FETCH_ACCOUNT), or a fault of ours." } as const;

function read<
  const P extends string,
  A extends Readonly<Record<string, TSchema>>,
  Q extends TObject | null,
  R extends TSchema,
  const E extends Operation["errors"],
>(
  id: string,
  path: P,
  summary: string,
  pathParameters: A,
  query: Q,
  reply: R,
  errors: E,
  weight: number = READ_WEIGHT,
) {
  return {
    id,
    method: "GET",
    path,
    summary,
    tag: "account",
    access: { scope: "read", owner: "nothing" },
    buckets: ["read"],
    weight,
    pathParameters,
    query,
    headers: [],
    body: null,
    reply,
    errors,
  } as const satisfies Operation;
}

const SYMBOL_ERROR = { 404: "The pair map does not have the symbol (UNKNOWN_SYMBOL)." } as const;

export const VENUEFIVE_OPERATIONS = {
  venuefivePositions: read(
    "venuefivePositions",
    "/api/trading/venuefive/positions/{walletAddress}",
    "Positions on venuefive",
    { walletAddress: walletAddressText },
    null,
    venuefivePositionsReplySchema,
    { 500: "The chain could not be read (FAILED_TO_FETCH_POSITIONS), or a fault of ours." },
  ),
  venuefiveOrders: read(
    "venuefiveOrders",
    "/api/trading/venuefive/orders",
    "Open limit orders of an address on venuefive",
    {},
    openOrdersQuerySchema,
    venuefiveOrdersReplySchema,
    { ...SYMBOL_ERROR, 500: "The chain could not be read (FAILED_TO_FETCH_ORDERS), or a fault of ours." },
  ),
  venuefiveTrades: read(
    "venuefiveTrades",
    "/api/trading/venuefive/history/trades",
    "Closed trades of an address on venuefive, newest first",
    {},
    chainHistoryQuerySchema,
    venuefiveTradesReplySchema,
    { ...SYMBOL_ERROR, ...ACCOUNT_ERROR },
    HISTORY_WEIGHT,
  ),
  venuefiveOrderHistory: read(
    "venuefiveOrderHistory",
    "/api/trading/venuefive/history/orders",
    "Limit orders of an address on venuefive, of every status, newest first",
    {},
    chainHistoryQuerySchema,
    venuefiveOrderHistoryReplySchema,
    { ...SYMBOL_ERROR, ...ACCOUNT_ERROR },
    HISTORY_WEIGHT,
  ),
  venuefiveOrderStatus: read(
    "venuefiveOrderStatus",
    "/api/trading/venuefive/orders/{orderId}/status",
    "One order on venuefive, by its id or its transaction",
    { orderId: orderIdText },
    chainOrderQuerySchema,
    venuefiveOrderStatusReplySchema,
    {
      404: "Order not found in any market (ORDER_NOT_FOUND).",
      500: "The chain could not be read (FAILED_TO_FETCH_ORDER_STATUS), or a fault of ours.",
    },
  ),
  venuefiveBalances: read(
    "venuefiveBalances",
    "/api/trading/venuefive/balances",
    "Collateral, allowance and coins of an address on venuefive's chain",
    {},
    addressQuerySchema,
    venuefiveBalancesReplySchema,
    ACCOUNT_ERROR,
  ),
} as const;
