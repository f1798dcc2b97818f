/** Routes of the keys of server wallets at venues (interface spec 4.2). They exist where wallets do. */
import { idempotencyHeader } from "./account-common.js";
import { words } from "./common.js";
import type { Operation } from "./operation.js";
import { BODY_ERRORS, KEY_ERRORS } from "./operation-errors.js";
import { venueKeyReplySchema, venueKeyRequestSchema, venueKeyRevokeReplySchema } from "./venue-keys.js";
import { NATIVE_VENUE, WALLET_VENUE } from "./venues.js";
import { PENDING } from "./wallet-operations.js";

const PATH = "/api/trading/{exchange}/apikey";
/** Checked by the route, which answers `Unsupported exchange`. */
const exchange = words([WALLET_VENUE, NATIVE_VENUE], { description: "Neutral venue name; another one is a 400." });

const COMMON = {
  tag: "wallets",
  access: { scope: "sign", owner: "named" },
  buckets: ["transfer"],
  weight: 1,
  pathParameters: { exchange },
} as const;

const ERRORS = {
  403: "The policy of the co-signer, or of an outside signer, refuses the approval (POLICY_REFUSED).",
  423: "A cryptographic check failed once, and an operator must act (WALLET_FROZEN).",
} as const;
const UNSETTLED =
  "Nothing was approved: the signer, the store or the venue is unavailable (SIGNER_UNAVAILABLE, STORE_UNAVAILABLE, VENUE_UNAVAILABLE, VENUE_RATE_LIMITED), or too many requests wait for the same keys (OVERLOADED); or the venue has not said yet whether the key is approved (REGISTRATION_UNSETTLED): asked for again it is the same key.";
const MAKES = {
  ...COMMON,
  method: "POST",
  query: null,
  headers: [idempotencyHeader],
  body: venueKeyRequestSchema,
  reply: venueKeyReplySchema,
} as const;

export const VENUE_KEY_OPERATIONS = {
  venueKeyRegister: {
    ...MAKES,
    id: "venueKeyRegister",
    path: PATH,
    summary: "Register an API key of a server wallet at a venue",
    errors: {
      ...BODY_ERRORS,
      ...KEY_ERRORS,
      ...ERRORS,
      ...PENDING,
      400: "Another exchange (UNSUPPORTED_EXCHANGE), or the wallet has no deposit there yet (ACCOUNT_NOT_FUNDED); or parameters are missing or wrong.",
      404: "The owner has no such wallet (WALLET_NOT_FOUND), or this service has no wallets (NOT_FOUND).",
      409: "The wallet has a key there (API_KEY_EXISTS), all keys that it may have wait for their end (API_KEY_LIMIT), or a request with this Idempotency-Key is still running (IDEMPOTENCY_IN_PROGRESS).",
      500: "The venue refused (REGISTRATION_REJECTED; its text is in the details), or a fault of a signing party (FAILED_TO_REGISTER_KEY). There is no key.",
      503: UNSETTLED,
    },
  },
  venueKeyRotate: {
    ...MAKES,
    id: "venueKeyRotate",
    path: `${PATH}/rotate`,
    summary: "Give a server wallet a new API key; the present one lives to its end",
    errors: {
      ...BODY_ERRORS,
      ...KEY_ERRORS,
      ...ERRORS,
      ...PENDING,
      400: "Another exchange (UNSUPPORTED_EXCHANGE), or the wallet has no deposit there (ACCOUNT_NOT_FUNDED); or parameters are missing or wrong.",
      404: "The owner has no such wallet (WALLET_NOT_FOUND), it has no key there (API_KEY_NOT_FOUND), or this service has no wallets (NOT_FOUND).",
      409: "All keys that a wallet may have there are in use (API_KEY_LIMIT), or a request with this Idempotency-Key is still running (IDEMPOTENCY_IN_PROGRESS).",
      500: "The venue refused (REGISTRATION_REJECTED; its text is in the details), or a fault of a signing party (FAILED_TO_REGISTER_KEY). The present key goes on.",
      503: UNSETTLED,
    },
  },
  venueKeyRevoke: {
    ...COMMON,
    id: "venueKeyRevoke",
    method: "DELETE",
    path: PATH,
    summary: "Revoke the API keys of a server wallet at a venue",
    query: null,
    headers: [],
    body: venueKeyRequestSchema,
    reply: venueKeyRevokeReplySchema,
    errors: {
      ...BODY_ERRORS,
      400: "Another exchange (UNSUPPORTED_EXCHANGE); or parameters are missing or wrong.",
      404: "The owner has no such wallet (WALLET_NOT_FOUND), it has no key there (API_KEY_NOT_FOUND), or this service has no wallets (NOT_FOUND).",
      503: "The store is unavailable (STORE_UNAVAILABLE); or a key may yet arrive at the venue (REGISTRATION_UNSETTLED): the others are out of use, and the request must be sent again.",
    },
  },
} as const satisfies Record<string, Operation>;
