/** Keys of server wallets at venues (interface spec 4.2): what a caller asks for and is told. */
import { Type } from "@sinclair/typebox";
import { reply, timeMs, words } from "./common.js";
import { NATIVE_VENUE, WALLET_VENUE } from "./venues.js";
import { walletNameText } from "./wallets.js";

const HEX_ADDRESS = "^0x[0-9a-fA-F]{40}$";

export const venueKeyRequestSchema = Type.Object({ walletIdOrAddress: walletNameText }, { $id: "VenueKeyRequest" });

/** The two forms of interface spec 4.2 in one: each venue fills its own fields. */
export const venueKeyReplySchema = reply(
  {
    success: Type.Literal(true),
    message: Type.Optional(Type.String({ description: `${NATIVE_VENUE}.` })),
    data: reply({
      apiWalletAddress: Type.Optional(
        Type.String({ pattern: HEX_ADDRESS, description: `${WALLET_VENUE}: address of the key, in EIP-55 form.` }),
      ),
      apiPrivateKey: Type.Optional(
        Type.String({
          pattern: "^0x[0-9a-f]{64}$",
          description: `${WALLET_VENUE}: the key itself, in the first reply alone. Whoever has it trades for the wallet and shares its nonces with this service.`,
        }),
      ),
      mainWalletAddress: Type.Optional(
        Type.String({ pattern: HEX_ADDRESS, description: `${WALLET_VENUE}: the server wallet.` }),
      ),
      expiryTimestamp: Type.Optional(timeMs),
      signerAddress: Type.Optional(
        Type.String({ pattern: HEX_ADDRESS, description: `${NATIVE_VENUE}: address of the key, in EIP-55 form.` }),
      ),
      createdAt: Type.Optional(
        Type.String({ description: `${NATIVE_VENUE}: ISO 8601.`, examples: ["2026-11-27T10:00:00.000Z"] }),
      ),
    }),
    timestamp: timeMs,
  },
  { $id: "VenueKeyReply" },
);

export const venueKeyRevokeReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      exchange: Type.String(),
      status: words(["REVOKED", "REVOKING", "FORGOTTEN"], {
        description:
          "No request uses the keys any more. REVOKED: the venue has dropped them. REVOKING: it is asked until it has. FORGOTTEN: it has no call that drops keys of this kind; their secrets are gone here.",
      }),
      count: Type.Integer({ minimum: 1, description: "Keys that it was about." }),
    }),
    timestamp: timeMs,
  },
  { $id: "VenueKeyRevokeReply" },
);
