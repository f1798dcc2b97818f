/** Keys of server wallets at venues, wired: rows and seals, the venues that give keys, and what no request waits for. */
import { KeyBook } from "../../engine/custody/registration/key-book.js";
import { type KeyCounts, KeyKeeper } from "../../engine/custody/registration/key-keeper.js";
import { KeyTurns } from "../../engine/custody/registration/key-turns.js";
import { KeyRegistrations } from "../../engine/custody/registration/registrations.js";
import type { WalletProvider } from "../../engine/custody/provider/wallet-provider.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { isKeyRoom } from "../../engine/key-registrar.js";
import type { MarketRoom } from "../../engine/ports.js";
import type { StateStore } from "../../engine/storage/state-store.js";

export interface VenueKeysParts {
  readonly provider: WalletProvider;
  readonly store: StateStore;
  readonly ring: Keyring;
  readonly rooms: readonly MarketRoom[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface VenueKeys {
  /** For a rotation of the sealing key. */
  rewrapped(key: string, value: Uint8Array): void;
  readonly registrations: KeyRegistrations;
  counts(): ReadonlyMap<RoutableVenue, KeyCounts>;
  stop(): Promise<void>;
}

/** Rejects with STORE_UNAVAILABLE, or SEAL_BROKEN where a row cannot be read. */
export async function openVenueKeys(parts: VenueKeysParts): Promise<VenueKeys> {
  const { provider, store, ring, rooms, clock, logger } = parts;
  const book = new KeyBook(store);
  await book.load();
  const registrars = new Map(rooms.filter(isKeyRoom).map((room) => [room.venue, room.keys]));
  const common = { book, sealer: ring, provider, registrars, clock, logger, random: systemSecretRandom };
  const turns = new KeyTurns();
  const registrations = new KeyRegistrations(common, turns);
  const keeper = new KeyKeeper(common, turns);
  keeper.start();
  const rewrapped = (key: string, value: Uint8Array): void => book.rewrapped(key, value);
  return { rewrapped, registrations, counts: () => keeper.counts(), stop: () => keeper.stop() };
}
