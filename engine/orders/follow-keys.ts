/**
 * What accounts with followed orders are read and heard with: the credentials of whoever sent their orders, or asked since.
 * Those that an order rests with were good then, and come first; others take their place where the venue takes them no
 * more, or where they were kept as long as they may be.
 *
 * Invariants: in memory alone; for CREDENTIALS_MS after they were last used themselves, and no longer than an order of the
 * account is followed (their owner forgets them).
 *
 * Bounds: MAX_KEYS for each account, the last ones that came by.
 */
import type { Clock } from "../domain/clock.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountSession } from "../ports.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import type { Account } from "./followed-run.js";
import { sessionHash, type Rooms } from "./trade-accounts.js";

/** As the watch of an entry's protection. */
export const CREDENTIALS_MS = 86_400_000;
const MAX_KEYS = 2;

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
  /** By account; the first are in use. */
  readonly #keys = new Map<string, readonly Keys[]>();

  constructor(parts: KeyParts) {
    this.#parts = parts;
  }

  has(account: string): boolean {
    return this.#keys.has(account);
  }

  get(account: string): Omit<Keys, "usedNs"> | null {
    return this.#keys.get(account)?.[0] ?? null;
  }

  /** `isFirst`: an order of the account rests with them. True: others are in use from here on. */
  meet(venue: RoutableVenue, { credentials, session }: Account, isFirst: boolean): boolean {
    const { clock, hash, rooms } = this.#parts;
    const key = sessionHash(hash, session);
    const known = this.#keys.get(key) ?? [];
    const open = (): AccountSession | null => {
      const opened = rooms.get(venue)?.openSession(credentials);
      return opened?.ok === true ? opened.session : null;
    };
    // As they came with a request. The same in another order count as others, which costs nothing but their place.
    const text = JSON.stringify(credentials);
    const same = known.find((one) => JSON.stringify(one.credentials) === text);
    if (same !== undefined) same.usedNs = clock.monoNs();
    const own = same ?? { open, credentials, usedNs: clock.monoNs() };
    if (isFirst || known.length === 0) return this.#put(key, [own, ...known.filter((one) => one !== own)]);
    if (same !== undefined) return false;
    return this.#put(key, [...known.slice(0, MAX_KEYS - 1), own]);
  }

  /** Their venue takes those in use no more. True: others are in use from here on. */
  refuse(account: string): boolean {
    const [first, ...others] = this.#keys.get(account) ?? [];
    return first !== undefined && this.#put(account, [...others, first]);
  }

  /** Drops what was kept as long as it may be. True: others are in use from here on, or none. */
  expire(account: string): boolean {
    const nowNs = this.#parts.clock.monoNs();
    const keys = this.#keys.get(account) ?? [];
    return this.#put(
      account,
      keys.filter(({ usedNs }) => (nowNs - usedNs) / 1e6 <= CREDENTIALS_MS),
    );
  }

  #put(account: string, keys: readonly Keys[]): boolean {
    const before = this.#keys.get(account)?.[0];
    if (keys.length === 0) this.#keys.delete(account);
    else this.#keys.set(account, keys.slice(0, MAX_KEYS));
    return before !== undefined && before !== keys[0];
  }

  forget(account: string): void {
    this.#keys.delete(account);
  }

  clear(): void {
    this.#keys.clear();
  }
}
