/** Routes of the money of server wallets (interface spec 4.3 to 4.5). They exist where wallets do. */
import { idempotencyHeader, requiredWalletHeader, walletHeader } from "./account-common.js";
import { words } from "./common.js";
import type { Operation } from "./operation.js";
import { BODY_ERRORS, KEY_ERRORS } from "./operation-errors.js";
import {
  depositReplySchema,
  depositRequestSchema,
  internalTransferReplySchema,
  internalTransferRequestSchema,
  nativeWithdrawRequestSchema,
  transferIdText,
  transferReplySchema,
  transfersQuerySchema,
  transfersReplySchema,
  walletBalancesReplySchema,
  walletWithdrawRequestSchema,
  withdrawReplySchema,
} from "./transfers.js";
import { MONEY_VENUES, NATIVE_VENUE, WALLET_VENUE } from "./venues.js";
import { PENDING } from "./wallet-operations.js";
import { walletNameText } from "./wallets.js";

/** Checked by the route, which answers `Unsupported exchange`. */
const exchange = words(MONEY_VENUES, { description: "Neutral venue name; another one is a 400." });

/** Nothing of the transfer can move money where one of these is answered, but for what says so itself. */
const MONEY_ERRORS = {
  ...BODY_ERRORS,
  ...KEY_ERRORS,
  ...PENDING,
  403: "The policy of the co-signer, or of an outside signer, refuses this (POLICY_REFUSED), or does not allow this destination (DESTINATION_NOT_ALLOWED).",
  404: "The owner has no such wallet (WALLET_NOT_FOUND), or this service has no wallets (NOT_FOUND).",
  409: "Another transfer must end first (TRANSFER_IN_PROGRESS; `details.transferId`), the name is of another transfer (TRANSFER_NAME_USED), something like it left before the store was restored (TRANSFER_FOUND; `details.until`), or a request with this Idempotency-Key is still running (IDEMPOTENCY_IN_PROGRESS).",
  401: "x-wallet-id names another wallet than the body (INVALID_WALLET_ID).",
  423: "A cryptographic check failed once, and an operator must act (WALLET_FROZEN).",
} as const;

const AWAY =
  "Nothing was sent: the chain (CHAIN_UNAVAILABLE; `details.reason` says where it has no endpoints here), the venue (VENUE_UNAVAILABLE, VENUE_RATE_LIMITED), the signer (SIGNER_UNAVAILABLE, RESTORED_STORE) or the store (STORE_UNAVAILABLE) is unavailable, or too many requests wait (OVERLOADED). STORE_UNAVAILABLE with a `transferId`: it may go on after a restart.";

const NO_KEY = " No key of the wallet is registered at the venue (API_KEY_NOT_FOUND).";

const MOVES = {
  tag: "wallets",
  method: "POST",
  access: { scope: "transfer", owner: "named" },
  buckets: ["transfer"],
  weight: 1,
  pathParameters: {},
  query: null,
  headers: [{ ...walletHeader, description: "Optional; must name the wallet of the body." }, idempotencyHeader],
} as const;

const READ = {
  tag: "wallets",
  method: "GET",
  access: { scope: "read", owner: "named" },
  buckets: ["read"],
  headers: [],
  body: null,
} as const;
/** Each chain and each venue is asked. */
const BALANCES_WEIGHT = 10;

const BROKEN = {
  500: "A row of the ledger cannot be read (LEDGER_BROKEN), or another fault of ours (INTERNAL).",
} as const;
const UNKNOWN_WALLET = { 404: MONEY_ERRORS[404] } as const;

const WITHDRAW_ERRORS = {
  ...MONEY_ERRORS,
  404: `${MONEY_ERRORS[404]}${NO_KEY}`,
  500: "The venue refused, or a fault of ours before anything was sent (FAILED_TO_WITHDRAW). The money is where it was.",
  503: AWAY,
} as const;

export const TRANSFER_OPERATIONS = {
  deposit: {
    ...MOVES,
    id: "deposit",
    path: "/api/trading/{exchange}/deposit",
    summary: "Deposit from a server wallet to a venue, over its chain",
    pathParameters: { exchange },
    body: depositRequestSchema,
    reply: depositReplySchema,
    errors: {
      ...MONEY_ERRORS,
      400: "Another exchange (UNSUPPORTED_EXCHANGE), an amount below the minimum (DEPOSIT_BELOW_MINIMUM; `details.minimum`), too little of the token (INSUFFICIENT_BALANCE) or for gas (INSUFFICIENT_GAS); or parameters are missing or wrong.",
      500: "The chain refused it or undid it, or a fault of ours before anything was sent (FAILED_TO_DEPOSIT; `details.reason`). What was spent before, such as gas, stays spent.",
      503: AWAY,
    },
  },
  [`${NATIVE_VENUE}Transfer` as const]: {
    ...MOVES,
    id: `${NATIVE_VENUE}Transfer`,
    path: `/api/${NATIVE_VENUE}/wallet/transfer`,
    summary: `Move money between the spot and the perp account of a server wallet at ${NATIVE_VENUE}`,
    body: internalTransferRequestSchema,
    reply: internalTransferReplySchema,
    errors: {
      ...MONEY_ERRORS,
      400: "The account that pays has too little (INSUFFICIENT_BALANCE); or parameters are missing or wrong.",
      404: `${MONEY_ERRORS[404]}${NO_KEY}`,
      500: "The venue refused, or a fault of ours before anything was sent (FAILED_TO_TRANSFER).",
      503: AWAY,
    },
  },
  [`${NATIVE_VENUE}Withdraw` as const]: {
    ...MOVES,
    id: `${NATIVE_VENUE}Withdraw`,
    path: `/api/trading/${NATIVE_VENUE}/withdraw`,
    summary: `Withdraw from ${NATIVE_VENUE} to the server wallet itself`,
    body: nativeWithdrawRequestSchema,
    reply: withdrawReplySchema,
    errors: {
      ...WITHDRAW_ERRORS,
      400: "The account has too little (INSUFFICIENT_BALANCE), the receiver is not the wallet (RECEIVER_MISMATCH); or parameters are missing or wrong, among them a token that is not paid out on this chain and an amount below the fee.",
    },
  },
  [`${WALLET_VENUE}Withdraw` as const]: {
    ...MOVES,
    id: `${WALLET_VENUE}Withdraw`,
    path: `/api/trading/${WALLET_VENUE}/withdraw`,
    summary: `Withdraw from ${WALLET_VENUE} to an address`,
    headers: [requiredWalletHeader, idempotencyHeader],
    body: walletWithdrawRequestSchema,
    reply: withdrawReplySchema,
    errors: {
      ...WITHDRAW_ERRORS,
      400: "The account has too little (INSUFFICIENT_BALANCE); or parameters are missing or wrong, among them a chain that is not paid out to and an amount below the fee.",
      401: "Missing x-wallet-id header (MISSING_WALLET_HEADER), or it names another wallet (INVALID_WALLET_ID).",
    },
  },
  transfer: {
    ...READ,
    id: "transfer",
    path: "/api/transfers/{transferId}",
    summary: "One deposit, withdrawal or transfer, as far as it has come",
    weight: 1,
    pathParameters: { transferId: transferIdText },
    query: null,
    reply: transferReplySchema,
    errors: {
      ...BROKEN,
      404: "The owner has no such transfer (TRANSFER_NOT_FOUND), or this service has no wallets (NOT_FOUND).",
    },
  },
  walletTransfers: {
    ...READ,
    id: "walletTransfers",
    path: "/api/wallets/{walletIdOrAddress}/transfers",
    summary: "Deposits, withdrawals and transfers of a server wallet",
    weight: 2,
    pathParameters: { walletIdOrAddress: walletNameText },
    query: transfersQuerySchema,
    reply: transfersReplySchema,
    errors: { ...UNKNOWN_WALLET, ...BROKEN },
  },
  walletBalances: {
    ...READ,
    id: "walletBalances",
    path: "/api/wallets/{walletIdOrAddress}/balances",
    summary: "What a server wallet has on its chains and at its venues",
    weight: BALANCES_WEIGHT,
    pathParameters: { walletIdOrAddress: walletNameText },
    query: null,
    reply: walletBalancesReplySchema,
    errors: UNKNOWN_WALLET,
  },
} as const satisfies Record<string, Operation>;
