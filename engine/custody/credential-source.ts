/**
 * Where the credentials of server wallets come from. A wallet is named by its user id, its wallet id (UUID) or its
 * address (interface spec 2.1). The implementation may change; routes and services know this port alone.
 *
 * Invariants: what `find` returns is for the present request only. Nobody keeps, logs or echoes it. Another owner's wallet
 * is found no more than one that does not exist, and no faster. A user id is unique for its owner alone.
 */
import type { RoutableVenue } from "../domain/venue.js";

export interface WalletCredentials {
  /** Whose wallet it is; null: made without a key. */
  readonly ownerId: string | null;
  /** UUID. */
  readonly walletId: string;
  readonly userId: string;
  /** `0x` and 40 hex digits, lower case. */
  readonly address: string;
  /** Raw blocks of interface spec 2.3, as `VenueRoom.openSession` takes them; only venues that are registered. */
  readonly credentials: Readonly<Partial<Record<RoutableVenue, unknown>>>;
}

export interface CredentialSource {
  /** Returns null when the owner has no such wallet. Rejects only when the wallets cannot be read at all. */
  find(walletIdOrAddress: string, ownerId: string | null): Promise<WalletCredentials | null>;
}
