/** Routes of server wallets (interface spec 4.1). They exist where the service has a wallet provider. */
import { idempotencyHeader } from "./account-common.js";
import type { Operation } from "./operation.js";
import { BODY_ERRORS, KEY_ERRORS } from "./operation-errors.js";
import {
  walletCreateRequestSchema,
  walletListQuerySchema,
  walletListReplySchema,
  walletNameText,
  walletReplySchema,
  walletSignReplySchema,
  walletSignRequestSchema,
} from "./wallets.js";

/** Where keys are not needed only the demo has a provider. */
const NO_PROVIDER = { 404: "This service has no wallet provider (NOT_FOUND)." } as const;
const UNKNOWN_WALLET = { 404: `The owner has no such wallet (WALLET_NOT_FOUND). ${NO_PROVIDER[404]}` } as const;

/** In the envelope of an error, since there is no result: a client that reads `success` needs to know no more. */
export const PENDING = {
  202: "An outside signer has the request, and has not decided: it waits for its people, or is still at work (APPROVAL_PENDING). The same request, sent again, continues it: with its Idempotency-Key, or with the same content. `details.signerRequestId` names it at the signer.",
} as const;

/** A key generation costs each party more than a second of arithmetic, a signature some hundredths. */
const CREATE_WEIGHT = 5;
const SIGN_WEIGHT = 1;

const READ = { tag: "wallets", method: "GET", buckets: ["read"], weight: 1, headers: [], body: null } as const;
/** The bucket of what can move money: it is small, as the rows of the audit log are kept. */
const SIGN = {
  tag: "wallets",
  method: "POST",
  buckets: ["transfer"],
  query: null,
  headers: [idempotencyHeader],
} as const;
const BY_NAME = { walletIdOrAddress: walletNameText };

export const WALLET_OPERATIONS = {
  walletCreate: {
    ...SIGN,
    id: "walletCreate",
    path: "/api/wallets",
    summary: "Create a server wallet",
    access: { scope: "sign", owner: "rows" },
    weight: CREATE_WEIGHT,
    pathParameters: {},
    body: walletCreateRequestSchema,
    reply: walletReplySchema,
    errors: {
      ...BODY_ERRORS,
      ...KEY_ERRORS,
      ...NO_PROVIDER,
      ...PENDING,
      409: "The owner has a wallet of this user id (WALLET_EXISTS; its `walletId` is in the details), or a request with this Idempotency-Key is still running (IDEMPOTENCY_IN_PROGRESS).",
      500: "A fault of ours, or of the co-signer, and no wallet was made (FAILED_TO_CREATE_WALLET), or one outside of the signers (INTERNAL).",
    },
  },
  walletList: {
    ...READ,
    id: "walletList",
    path: "/api/wallets",
    summary: "Server wallets of the caller",
    access: { scope: "read", owner: "rows" },
    pathParameters: {},
    query: walletListQuerySchema,
    reply: walletListReplySchema,
    errors: NO_PROVIDER,
  },
  wallet: {
    ...READ,
    id: "wallet",
    path: "/api/wallets/{walletIdOrAddress}",
    summary: "One server wallet",
    access: { scope: "read", owner: "named" },
    pathParameters: BY_NAME,
    query: null,
    reply: walletReplySchema,
    errors: UNKNOWN_WALLET,
  },
  walletSign: {
    ...SIGN,
    id: "walletSign",
    path: "/api/wallets/{walletIdOrAddress}/sign",
    summary: "Sign a message or typed data with a server wallet",
    access: { scope: "sign", owner: "named" },
    weight: SIGN_WEIGHT,
    pathParameters: BY_NAME,
    body: walletSignRequestSchema,
    reply: walletSignReplySchema,
    errors: {
      ...BODY_ERRORS,
      ...KEY_ERRORS,
      ...UNKNOWN_WALLET,
      ...PENDING,
      403: "The policy of the co-signer, or of an outside signer, refuses this (POLICY_REFUSED), or does not allow this destination (DESTINATION_NOT_ALLOWED).",
      409: "A request with this Idempotency-Key is still running (IDEMPOTENCY_IN_PROGRESS).",
      423: "A cryptographic check failed once, and an operator must act (WALLET_FROZEN).",
      500: "No signature was made: a fault of ours, or of the co-signer (FAILED_TO_SIGN).",
    },
  },
} as const satisfies Record<string, Operation>;
