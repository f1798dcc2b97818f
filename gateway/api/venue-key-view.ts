/** A venue key as callers see it, in the form that interface spec 4.2 gives its venue. */
import type { Static } from "@sinclair/typebox";
import type { KeyView } from "../../engine/custody/registration/key-views.js";
import type { Revoked } from "../../engine/custody/registration/registrations.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { addressText } from "../../engine/custody/provider/wallet-names.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { venueKeyReplySchema, venueKeyRevokeReplySchema } from "../../schemas/venue-keys.js";
import { WALLET_VENUE } from "../../schemas/venues.js";
import type { WalletRow } from "../../schemas/wallets.js";

type KeyReply = Omit<Static<typeof venueKeyReplySchema>, "timestamp">;
type RevokeReply = Omit<Static<typeof venueKeyRevokeReplySchema>, "timestamp">;

interface ShownKey {
  readonly key: KeyView;
  /** Null in every reply but the first. */
  readonly secretHex: string | null;
}

/** The interface shows the secret of this venue's keys. */
export function showsSecret(venue: RoutableVenue): boolean {
  return venue === WALLET_VENUE;
}

export function keyReply(venue: RoutableVenue, wallet: Wallet, { key, secretHex }: ShownKey): KeyReply {
  const address = shownAddress(key.signer);
  const expiry = key.expiresAtMs === null ? {} : { expiryTimestamp: key.expiresAtMs };
  if (!showsSecret(venue)) {
    const createdAt = new Date(key.createdAtMs).toISOString();
    return {
      success: true,
      message: "API key registered",
      data: { signerAddress: address, createdAt, ...expiry },
    };
  }
  const secret = secretHex === null ? {} : { apiPrivateKey: secretHex };
  return {
    success: true,
    data: { apiWalletAddress: address, ...secret, mainWalletAddress: wallet.address, ...expiry },
  };
}

/** EIP-55. */
function shownAddress(address: string): string {
  return addressText(Buffer.from(address.slice(2), "hex"));
}

export function revokeReply(exchange: RoutableVenue, { count, pending, undroppable }: Revoked): RevokeReply {
  const status = pending > 0 ? "REVOKING" : undroppable > 0 ? "FORGOTTEN" : "REVOKED";
  return { success: true, data: { exchange, status, count } };
}

/** `exchanges` of a wallet's row. */
export function exchangeRow({
  venue,
  status,
  signer,
  createdAtMs,
  expiresAtMs,
}: KeyView): WalletRow["exchanges"][number] {
  const address = shownAddress(signer);
  return {
    ...{ exchange: venue, status, registeredAt: createdAtMs },
    ...(showsSecret(venue) ? { apiWalletAddress: address } : { signerAddress: address }),
    ...(expiresAtMs === null ? {} : { expiryTimestamp: expiresAtMs }),
  };
}
