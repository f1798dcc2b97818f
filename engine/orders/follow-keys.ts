/**
 * What accounts with followed orders are read and heard with: the credentials of whoever sent their orders, or asked since.
 *
 * Invariants: in memory alone; for CREDENTIALS_MS after the account was last used, and no longer than an order of it is
 * followed (their owner forgets them).
 */
import type { Clock } from "../domain/clock.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountSession } from "../ports.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import type { Account } from "./followed-run.js";
import { sessionHash, type Rooms } from "./trade-accounts.js";

/** As the watch of an entry's protection. */
export const CREDENTIALS_MS = 86_400_000;

interface Keys {
  readonly open: () => AccountSession | null;
  readonly credentials: unknown;
  usedNs: number;
}

interface KeyParts {
  readonly clock: Clock;
  readonly hash: KeyedHash;
  readonly rooms: Rooms;
}

export class FollowKeys {
  readonly #parts: KeyParts;
  /** By account. */
  readonly #keys = new Map<string, Keys>();

  constructor(parts: KeyParts) {
    this.#parts = parts;
  }

  has(account: string): boolean {
    return this.#keys.has(account);
  }

  get(account: string): Omit<Keys, "usedNs"> | null {
    return this.#keys.get(account) ?? null;
  }

  meet(venue: RoutableVenue, { credentials, session }: Account): void {
    const { clock, hash, rooms } = this.#parts;
    const key = sessionHash(hash, session);
    const known = this.#keys.get(key);
    if (known !== undefined) {
      known.usedNs = clock.monoNs();
      return;
    }
    const open = (): AccountSession | null => {
      const opened = rooms.get(venue)?.openSession(credentials);
      return opened?.ok === true ? opened.session : null;
    };
    this.#keys.set(key, { open, credentials, usedNs: clock.monoNs() });
  }

  /** They were kept as long as they may be, or there are none. */
  isOverdue(account: string): boolean {
    const keys = this.#keys.get(account);
    return keys === undefined || (this.#parts.clock.monoNs() - keys.usedNs) / 1e6 > CREDENTIALS_MS;
  }

  forget(account: string): void {
    this.#keys.delete(account);
  }

  clear(): void {
    this.#keys.clear();
  }
}
