/**
 * Credentials that accounts with followed orders are read and streamed with: those of the last caller who sent or asked.
 * Those that an order rests with were good then, and come first; others take their place where the venue takes them no
 * more, or where they were kept as long as they may be.
 *
 * Invariants: in memory alone; for CREDENTIALS_MS after they were last used themselves, and no longer than an order of the
 * account is followed (their owner forgets them).
 *
 * Bounds: MAX_KEYS for each account, the last ones that came by; those that took another's place give way REFUSE_GAP_MS
 * later at the earliest, because the account's stream is opened again with each change.
 */
import type { Clock } from "../../domain/clock.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { AccountSession } from "../../ports.js";
import type { Rooms } from "../accounts.js";
import type { Account } from "./followed-run.js";

/** As the watch of an entry's protection. */
export const CREDENTIALS_MS = 86_400_000;
const MAX_KEYS = 2;
const REFUSE_GAP_MS = 60_000;

interface Keys {
  readonly open: () => AccountSession | null;
  readonly credentials: unknown;
  usedNs: number;
  payer: string | null;
  /** When they took the place of refused ones. */
  triedNs?: number;
}

interface KeyParts {
  readonly clock: Clock;
  readonly rooms: Rooms;
}

export class FollowKeys {
  readonly #parts: KeyParts;
  /** By owner and account, so that no order is read, protected or closed with another owner's; the first are in use. */
  readonly #keys = new Map<string, readonly Keys[]>();

  constructor(parts: KeyParts) {
    this.#parts = parts;
  }

  has(account: string): boolean {
    return this.#keys.has(account);
  }

  get(account: string): Pick<Keys, "open" | "credentials"> | null {
    return this.#keys.get(account)?.[0] ?? null;
  }

  /**
   * `key`: of the owner's account. `isFirst`: an order of it rests with them. True: others are in use from here on. What
   * is opened with them is paid by who brought them last.
   */
  meet(key: string, venue: RoutableVenue, { credentials, session }: Account, isFirst: boolean): boolean {
    const { clock, rooms } = this.#parts;
    const known = this.#keys.get(key) ?? [];
    const payer = session.payer;
    const open = (): AccountSession | null => {
      const opened = rooms.get(venue)?.openSession(credentials, own.payer);
      return opened?.ok === true ? opened.session : null;
    };
    // As they came with a request. The same in another order count as others, which costs nothing but their place.
    const text = JSON.stringify(credentials);
    const same = known.find((one) => JSON.stringify(one.credentials) === text);
    const own: Keys = same ?? { open, credentials, usedNs: clock.monoNs(), payer };
    own.usedNs = clock.monoNs();
    own.payer = payer;
    if (isFirst || known.length === 0) return this.#put(key, [own, ...known.filter((one) => one !== own)]);
    if (same !== undefined) return false;
    return this.#put(key, [...known.slice(0, MAX_KEYS - 1), own]);
  }

  /** Their venue takes those in use no more. True: others are in use from here on. */
  refuse(account: string): boolean {
    const [first, next, ...others] = this.#keys.get(account) ?? [];
    if (first === undefined || next === undefined) return false;
    const nowNs = this.#parts.clock.monoNs();
    if (first.triedNs !== undefined && (nowNs - first.triedNs) / 1e6 < REFUSE_GAP_MS) return false;
    next.triedNs = nowNs;
    return this.#put(account, [next, ...others, first]);
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
