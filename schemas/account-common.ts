/** What the routes about accounts and orders share: whose account, with which credentials, and what a read was worth. */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { decimal, nullable, reply, ROUTABLE_VENUE_WORDS, timeMs, VENUE_WORDS, words } from "./common.js";
import { MAX_VENUE_CREDENTIALS_CHARS, venueCredentialsText } from "./executions.js";
import { type HeaderParameter, idempotencyKeySchema } from "./operation.js";
import { CONTRACTS, perVenue } from "./venues.js";

const MAX_WALLET_ID_CHARS = 64;

export const walletIdText = Type.String({
  minLength: 1,
  maxLength: MAX_WALLET_ID_CHARS,
  description: "UUID of a server wallet.",
  examples: ["0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10"],
});

const BASE58_VENUES = ROUTABLE_VENUE_WORDS.filter((venue) => CONTRACTS[venue].credentials.accountForm === "base58");

/** Checked by the route, which answers `Invalid wallet address format`. */
export const walletAddressText = Type.String({
  minLength: 1,
  maxLength: 128,
  description: `0x and 40 hex digits; on ${BASE58_VENUES.join(" and ")} also a base58 public key.`,
  examples: ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"],
});

export const orderIdText = Type.String({
  minLength: 1,
  maxLength: 80,
  pattern: "^[A-Za-z0-9_.:-]+$",
  "x-kind": "orderId",
  description: "The venue's order id, its exact digits, or a client order id.",
  examples: ["20987654321"],
});

export const exchangeParameter = words(ROUTABLE_VENUE_WORDS, { description: "Neutral venue name." });
/** Of paths where venuefive has its own operations, or a refusal that names them. */
export const anyExchangeParameter = words(VENUE_WORDS, { description: "Neutral venue name." });

export const requiredWalletHeader = {
  name: "x-wallet-id",
  description: "UUID of the server wallet that acts. Missing: 401.",
  schema: walletIdText,
  required: true,
} as const satisfies HeaderParameter;

export const walletHeader = {
  ...requiredWalletHeader,
  description: "UUID of a server wallet, whose stored venue credentials are then used.",
  required: false,
} as const satisfies HeaderParameter;

export const credentialsHeader = {
  name: "X-Venue-Credentials",
  description: "base64url of the JSON credentials object. Used for this request only, never stored.",
  schema: venueCredentialsText,
} as const satisfies HeaderParameter;

export const idempotencyHeader = {
  name: "Idempotency-Key",
  description:
    "Same key and same body: the stored reply with Idempotent-Replayed: true, kept 24 h; after a crash of this service that of the request it cut short, carried on.",
  schema: idempotencyKeySchema,
} as const satisfies HeaderParameter;

export const credentialsQueryField = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: MAX_VENUE_CREDENTIALS_CHARS,
    description: "As the header X-Venue-Credentials, which is to be preferred; plain JSON is taken here as well.",
  }),
);

/** Body text of a GET or DELETE that names its account in a body. */
export function credentialsBody(credentials: TSchema, $id: string) {
  return Type.Object({ credentials: Type.Optional(credentials) }, { $id });
}

export const COVERAGE_STATES = ["LIVE", "SNAPSHOT", "AUTH_REQUIRED", "ERROR"] as const;
export const COVERAGE_MODES = ["push", "poll", "request"] as const;

/** What is known of one venue's part of a reply (also on the stream). */
export const coverageSchema = reply({
  state: words(COVERAGE_STATES, {
    description:
      "LIVE: streamed and reconciled, or read with each block of a chain; SNAPSHOT: read for this request; AUTH_REQUIRED: nothing of this account is public there and no credentials were given; ERROR: not known now, which is not the same as nothing.",
  }),
  mode: words(COVERAGE_MODES),
  asOf: nullable(timeMs),
  source: nullable(words(["stream", "venue"])),
  intervalMs: Type.Optional(Type.Integer({ minimum: 0, description: "Of the poller." })),
  error: Type.Optional(
    reply({
      code: Type.String({
        pattern: "^[A-Z][A-Z0-9_]+$",
        description:
          "NOT_CONFIGURED: not run here; NOT_APPLICABLE: not asked for this, and missing in nothing. POSITION_UNLISTED appears with LIVE and SNAPSHOT too: the message names contracts that are held and not listed; everything else is complete.",
      }),
      message: Type.String(),
      retryAfterMs: Type.Optional(Type.Integer({ minimum: 0 })),
    }),
  ),
});
export type Coverage = Static<typeof coverageSchema>;

/** One entry per venue of the interface. */
export const coverageByVenueSchema = reply({
  ...perVenue(() => coverageSchema),
  venuefive: coverageSchema,
});
export type CoverageByVenue = Static<typeof coverageByVenueSchema>;

/** When and where from the figures of one row are. */
export const provenance = {
  asOf: Type.Integer({ minimum: 0, description: "When this was true, Unix ms." }),
  source: words(["stream", "venue"]),
  ageMs: Type.Integer({ minimum: 0, description: "Between asOf and this reply." }),
};

export const optionalDecimal = Type.Optional(decimal());
