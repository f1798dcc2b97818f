/**
 * Where the credentials of server wallets come from. A wallet is named by its user id, its wallet id (UUID) or its
 * address (interface spec 2.1). What stands behind this port may change; routes and services know the port alone.
 *
 * Invariant: what `find` returns is for the request in hand. Nobody keeps, logs or echoes it.
 */
import type { RoutableVenue } from "../domain/venue.js";

export interface WalletCredentials {
  /** UUID. */
  readonly walletId: string;
  readonly userId: string;
  /** `0x` and 40 hex digits, lower case. */
  readonly address: string;
  /** Raw blocks of interface spec 2.3, as `VenueRoom.openSession` takes them; only venues that are registered. */
  readonly credentials: Readonly<Partial<Record<RoutableVenue, unknown>>>;
}

export interface CredentialSource {
  /** Null means no such wallet. Rejects only when the wallets cannot be read at all. */
  find(walletIdOrAddress: string): Promise<WalletCredentials | null>;
}
