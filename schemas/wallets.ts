/** Server wallets: what a caller asks for and is told. How a wallet signs is not part of the contract. */
import { type Static, Type } from "@sinclair/typebox";
import { nullable, optionalField, reply, timeMs, words } from "./common.js";

/** Of a user id, in characters. */
export const USER_ID_CHARS_MAX = 128;
/** Of a message and of typed data, in bytes. */
export const SIGNED_BYTES_MAX = 65_536;

const HEX_ADDRESS = "^0x[0-9a-fA-F]{40}$";
const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

/** Checked further by the route: printable, NFC, no UUID and no address. */
export const userIdText = Type.String({
  minLength: 1,
  maxLength: USER_ID_CHARS_MAX,
  description:
    "The caller's own name of its user: 1 to 128 printable characters in Unicode form NFC, not of the form of a UUID or an address, and not `.` or `..`. Unique for the owner of the API key.",
  examples: ["user-42"],
});

export const walletNameText = Type.String({
  minLength: 1,
  maxLength: USER_ID_CHARS_MAX,
  description: "User id, wallet id or address. A `/` in a user id is written %2F; an address may be in any case.",
  examples: ["user-42"],
});

const exchangeOfWallet = reply({
  exchange: Type.String(),
  status: Type.String(),
  signerAddress: Type.Optional(Type.String({ pattern: HEX_ADDRESS })),
  apiWalletAddress: Type.Optional(Type.String({ pattern: HEX_ADDRESS })),
  registeredAt: timeMs,
  expiryTimestamp: Type.Optional(timeMs),
});

const walletFields = {
  userId: Type.String(),
  address: Type.String({ pattern: HEX_ADDRESS, description: "In EIP-55 form." }),
  walletId: Type.String({ pattern: UUID }),
  publicKey: Type.String({ pattern: "^0x0[23][0-9a-f]{64}$", description: "Compressed point of secp256k1." }),
  createdAt: timeMs,
  state: words(["ACTIVE", "FROZEN", "REFRESH_DUE", "RESTORED"], {
    description:
      "ACTIVE signs. FROZEN: a cryptographic check failed, and an operator must act. REFRESH_DUE and RESTORED sign again by themselves, or once the operator refreshed the shares.",
  }),
  epoch: Type.Integer({ minimum: 1, description: "Version of the key shares; a refresh adds one. The address stays." }),
  exchanges: Type.Array(exchangeOfWallet, { description: "API keys that are registered for the wallet." }),
};

export const walletReplySchema = reply(
  { success: Type.Literal(true), ...walletFields, timestamp: timeMs },
  { $id: "WalletReply" },
);

export const walletCreateRequestSchema = Type.Object({ userId: userIdText }, { $id: "WalletCreateRequest" });

export const WALLETS_LIMIT = { min: 1, max: 1000, default: 100 } as const;

export const walletListQuerySchema = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: WALLETS_LIMIT.min, maximum: WALLETS_LIMIT.max, default: WALLETS_LIMIT.default }),
  ),
  cursor: Type.Optional(
    Type.String({ pattern: UUID, "x-kind": "cursor", description: "`nextCursor` of the page before." }),
  ),
});

export const walletListReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      wallets: Type.Array(reply(walletFields), { description: "In the order of their wallet ids." }),
      nextCursor: nullable(Type.String(), { description: "Null: this is the last page." }),
    }),
    timestamp: timeMs,
  },
  { $id: "WalletListReply" },
);
export type WalletRow = Static<typeof walletListReplySchema>["data"]["wallets"][number];

/** Exactly one field; the route checks that, and the sizes in bytes. */
export const walletSignRequestSchema = Type.Object(
  {
    message: optionalField(
      Type.String({
        maxLength: SIGNED_BYTES_MAX,
        description: "Text, signed as UTF-8 by EIP-191; at most 65,536 bytes.",
      }),
    ),
    messageHex: optionalField(
      Type.String({
        pattern: "^0x([0-9a-fA-F]{2})*$",
        maxLength: 2 + 2 * SIGNED_BYTES_MAX,
        "x-kind": "hexBytes",
        description: "Bytes, signed by EIP-191; 0x and an even number of hex digits.",
      }),
    ),
    typedData: optionalField(
      Type.Unsafe<Readonly<Record<string, unknown>>>({ type: "object", additionalProperties: true }),
      {
        description:
          "EIP-712: `types`, `primaryType`, `domain`, `message`. Signed as it is written: a number beyond 2^53 keeps all of its digits.",
      },
    ),
    digest: optionalField(
      Type.String({
        pattern: "^0x[0-9a-fA-F]{64}$",
        maxLength: 66,
        "x-kind": "hexDigest",
        description: "32 bytes that the caller hashed itself. Refused unless the co-signer is configured to take them.",
      }),
    ),
  },
  { $id: "WalletSignRequest", description: "Exactly one of the fields." },
);

export const walletSignReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      signature: Type.String({ pattern: "^0x[0-9a-f]{130}$", description: "r, s and v; v is 27 or 28, s is low." }),
      address: Type.String({ pattern: HEX_ADDRESS, description: "Who signed, in EIP-55 form." }),
      digest: Type.String({ pattern: "^0x[0-9a-f]{64}$", description: "What was signed." }),
      kind: words(["message", "typedData", "digest"]),
    }),
    timestamp: timeMs,
  },
  { $id: "WalletSignReply" },
);
