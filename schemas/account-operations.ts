/** Routes that read accounts: positions, balances, orders, histories. A GET may carry its credentials in a JSON body. */
import type { TObject, TSchema } from "@sinclair/typebox";
import {
  anyExchangeParameter,
  credentialsHeader,
  credentialsBody,
  orderIdText,
  requiredWalletHeader,
  walletAddressText,
  walletHeader,
  walletIdText,
} from "./account-common.js";
import {
  accountFillsReplySchema,
  accountFundingReplySchema,
  accountHistoryQuerySchema,
  allBalancesReplySchema,
  balancesQuerySchema,
  historicalOrdersReplySchema,
  openOrdersReplySchema,
  orderQuerySchema,
  orderStatusReplySchema,
  venueBalancesReplySchema,
  walletHistoryQuerySchema,
} from "./account-reads.js";
import { credentialsSchema } from "./close.js";
import type { Operation } from "./operation.js";
import { BODY_ERRORS } from "./operation-errors.js";
import {
  allPositionsReplySchema,
  nativePositionsQuerySchema,
  nativePositionsReplySchema,
  positionsQuerySchema,
  venuePositionsReplySchema,
} from "./positions.js";
import { NATIVE_VENUE, WALLET_VENUE } from "./venues.js";

const body = credentialsBody(credentialsSchema, "AccountCredentials");

const READ_ERRORS = {
  ...BODY_ERRORS,
  401: "Missing or invalid credentials for the venue (MISSING_CREDENTIALS), or x-wallet-id names another wallet (INVALID_WALLET_ID).",
  404: "Wallet not found (WALLET_NOT_FOUND), or unknown symbol (UNKNOWN_SYMBOL).",
} as const;

/** A read of a venue costs its budget, a read of all of them four budgets. */
const VENUE_READ_WEIGHT = 2;
const ALL_READ_WEIGHT = 8;
const HISTORY_READ_WEIGHT = 5;

/** Generic in what a caller's types come from (client/api); they follow from the arguments alone. */
function read<
  const P extends string,
  A extends Readonly<Record<string, TSchema>>,
  Q extends TObject,
  R extends TSchema,
>(id: string, path: P, summary: string, pathParameters: A, query: Q, reply: R, weight: number) {
  return {
    id,
    method: "GET",
    path,
    summary,
    tag: "account",
    access: { scope: "read", owner: "credentials" },
    buckets: ["read"],
    weight,
    pathParameters,
    query: query as NoInfer<Q>,
    headers: [credentialsHeader, walletHeader],
    body,
    bodyOptional: true,
    reply: reply as NoInfer<R>,
    errors: READ_ERRORS,
  } as const;
}

const ADDRESS = { walletAddress: walletAddressText };
const VENUE_ADDRESS = { exchange: anyExchangeParameter, walletAddress: walletAddressText };

export const ACCOUNT_OPERATIONS = {
  allPositions: {
    ...read(
      "allPositions",
      "/api/trading/positions/all/{walletAddress}",
      "Positions on all venues, with what is known of each",
      ADDRESS,
      positionsQuerySchema,
      allPositionsReplySchema,
      ALL_READ_WEIGHT,
    ),
    errors: { ...READ_ERRORS, 500: "No venue could be read (FAILED_TO_FETCH_POSITIONS), or a fault of ours." },
  },
  venuePositions: {
    ...read(
      "venuePositions",
      "/api/trading/{exchange}/positions/{walletAddress}",
      "Positions on one venue",
      VENUE_ADDRESS,
      positionsQuerySchema,
      venuePositionsReplySchema,
      VENUE_READ_WEIGHT,
    ),
    errors: { ...READ_ERRORS, 500: "The venue could not be read (FAILED_TO_FETCH_POSITIONS), or a fault of ours." },
  },
  [`${NATIVE_VENUE}NativePositions` as const]: {
    ...read(
      `${NATIVE_VENUE}NativePositions`,
      `/api/${NATIVE_VENUE}/perp/{walletId}/positions`,
      `Positions of a server wallet on ${NATIVE_VENUE}, in the venue's own form`,
      { walletId: walletIdText },
      nativePositionsQuerySchema,
      nativePositionsReplySchema,
      VENUE_READ_WEIGHT,
    ),
    headers: [{ ...walletHeader, description: "Optional; must name the wallet of the path." }],
    body: null,
    bodyOptional: false,
    errors: { ...READ_ERRORS, 500: "The venue could not be read (FAILED_TO_FETCH_POSITIONS), or a fault of ours." },
  },
  allBalances: read(
    "allBalances",
    "/api/trading/balances/all/{walletAddress}",
    "Equity, margin and distance to liquidation on all venues",
    ADDRESS,
    balancesQuerySchema,
    allBalancesReplySchema,
    ALL_READ_WEIGHT,
  ),
  venueBalances: read(
    "venueBalances",
    "/api/trading/{exchange}/balances/{walletAddress}",
    "Equity, margin and balances on one venue",
    VENUE_ADDRESS,
    balancesQuerySchema,
    venueBalancesReplySchema,
    VENUE_READ_WEIGHT,
  ),
  accountFills: read(
    "accountFills",
    "/api/trading/{exchange}/fills/{walletAddress}",
    "Fills of an account, newest first",
    VENUE_ADDRESS,
    accountHistoryQuerySchema,
    accountFillsReplySchema,
    HISTORY_READ_WEIGHT,
  ),
  accountFunding: read(
    "accountFunding",
    "/api/trading/{exchange}/funding/{walletAddress}",
    "Funding payments of an account, newest first",
    VENUE_ADDRESS,
    accountHistoryQuerySchema,
    accountFundingReplySchema,
    HISTORY_READ_WEIGHT,
  ),
  historicalOrders: {
    ...read(
      "historicalOrders",
      `/api/${WALLET_VENUE}/{walletId}/orders/historical`,
      `All orders of a server wallet on ${WALLET_VENUE}, newest first`,
      { walletId: walletIdText },
      walletHistoryQuerySchema,
      historicalOrdersReplySchema,
      HISTORY_READ_WEIGHT,
    ),
    headers: [requiredWalletHeader],
    body: null,
    bodyOptional: false,
  },
  orderStatus: {
    ...read(
      "orderStatus",
      "/api/trading/{exchange}/orders/{orderId}/status",
      "One order, by the venue's id or a client id",
      { exchange: anyExchangeParameter, orderId: orderIdText },
      orderQuerySchema,
      orderStatusReplySchema,
      VENUE_READ_WEIGHT,
    ),
    errors: {
      ...READ_ERRORS,
      404: "Order not found in any market (ORDER_NOT_FOUND), wallet or symbol unknown.",
      500: "The venue could not be asked (FAILED_TO_FETCH_ORDER_STATUS), or a fault of ours.",
    },
  },
  openOrders: {
    ...read(
      "openOrders",
      "/api/trading/{exchange}/orders/open",
      "Open orders of an account",
      { exchange: anyExchangeParameter },
      orderQuerySchema,
      openOrdersReplySchema,
      VENUE_READ_WEIGHT,
    ),
    errors: { ...READ_ERRORS, 500: "The venue could not be asked (FAILED_TO_FETCH_ORDERS), or a fault of ours." },
  },
} as const satisfies Record<string, Operation>;
