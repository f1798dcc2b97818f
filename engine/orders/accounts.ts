/**
 * The sessions of one trade. Opened from the request's credentials, closed at its end, whatever the end;
 * the one exception is a session that was taken over for an order of unknown outcome.
 */
import { LRUCache } from "lru-cache";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountSession, VenueRoom } from "../ports.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import type { TradeRequest } from "./types.js";

/** Account labels of a venue whose hash is remembered; the least recently used one goes. */
const MAX_REMEMBERED_ACCOUNTS = 10_000;

type AccountHashes = Map<string, LRUCache<string, string>>;

/** By hash port, so that two servers' keys never meet. Holds public account labels and their hashes, nothing of a credential. */
const accountHashes = new WeakMap<KeyedHash, AccountHashes>();

/**
 * Names an account of an owner wherever it is kept: caches, quotes, events. Two owners who both hold credentials of one
 * account have a name each, so that what is kept for one is never found for the other.
 */
export function accountHashOf(
  hash: KeyedHash,
  venue: RoutableVenue,
  accountId: string,
  ownerId: string | null,
): string {
  let ofHash = accountHashes.get(hash);
  if (ofHash === undefined) {
    ofHash = new Map();
    accountHashes.set(hash, ofHash);
  }
  const kind = ownerId === null ? venue : `owned ${venue}`;
  let known = ofHash.get(kind);
  if (known === undefined) {
    known = new LRUCache({ max: MAX_REMEMBERED_ACCOUNTS });
    ofHash.set(kind, known);
  }
  const name = ownerId === null ? accountId : JSON.stringify([ownerId, accountId]);
  let accountHash = known.get(name);
  if (accountHash === undefined) {
    accountHash =
      ownerId === null
        ? hash.hmacHex("account", [venue, accountId])
        : hash.hmacHex("owned-account", [ownerId, venue, accountId]);
    known.set(name, accountHash);
  }
  return accountHash;
}

/** Whose a session is, finer than the account's hash: the same key may act for several accounts of a venue. */
export function sessionHash(hash: KeyedHash, session: AccountSession, ownerId: string | null): string {
  const account = [session.venue, session.accountId, session.accountScope ?? ""];
  return ownerId === null
    ? hash.hmacHex("intent-account", account)
    : hash.hmacHex("owned-intent-account", [ownerId, ...account]);
}

export type Rooms = ReadonlyMap<RoutableVenue, VenueRoom>;

export interface OpenAccount {
  readonly venue: RoutableVenue;
  readonly room: VenueRoom;
  readonly session: AccountSession;
  /** Keyed hash of owner, venue and account: for caches and quotes. */
  readonly accountHash: string;
}

export class TradeAccounts {
  readonly #accounts = new Map<RoutableVenue, OpenAccount>();
  /** Null while there are none, as in nearly every request. */
  #problems: Map<RoutableVenue, string> | null = null;
  #taken: Set<RoutableVenue> | null = null;
  readonly #credentials: TradeRequest["credentials"];
  readonly #rooms: Rooms;
  readonly #hash: KeyedHash;
  readonly #payer: string | null;

  /**
   * Opens what the request gives for venues that have a room. With a preferred venue only that one. `payer`: as every
   * session has it.
   */
  constructor(
    rooms: Rooms,
    request: Pick<TradeRequest, "credentials" | "preferredExchange">,
    hash: KeyedHash,
    ownerId: string | null,
    payer: string | null,
  ) {
    this.#payer = payer;
    this.#credentials = request.credentials;
    this.#rooms = rooms;
    this.#hash = hash;
    for (const [venue, room] of rooms) {
      const raw = request.credentials[venue];
      if (raw === undefined || raw === null) continue;
      if (request.preferredExchange !== null && request.preferredExchange !== venue) continue;
      const opened = room.openSession(raw, payer);
      if (opened.ok)
        this.#accounts.set(venue, {
          venue,
          room,
          session: opened.session,
          accountHash: accountHashOf(hash, venue, opened.session.accountId, ownerId),
        });
      else {
        this.#problems ??= new Map();
        this.#problems.set(venue, opened.problem);
      }
    }
  }

  get(venue: RoutableVenue): OpenAccount | null {
    return this.#accounts.get(venue) ?? null;
  }

  /** What is wrong with the credentials given for the venue; null if nothing, or none were given. */
  problem(venue: RoutableVenue): string | null {
    return this.#problems?.get(venue) ?? null;
  }

  all(): readonly OpenAccount[] {
    return [...this.#accounts.values()];
  }

  /** The same sessions as another owner's. */
  assignTo(ownerId: string | null): void {
    for (const [venue, account] of this.#accounts) {
      const accountHash = accountHashOf(this.#hash, venue, account.session.accountId, ownerId);
      this.#accounts.set(venue, { ...account, accountHash });
    }
  }

  /**
   * Names the accounts of all credentials together, in any order, as the blocks themselves do: also of venues that are
   * not preferred, and with no question to a venue. The same for every owner. Null without any.
   */
  scopeHash(): string | null {
    const hash = this.#hash;
    const names: string[] = [];
    for (const [venue, room] of this.#rooms) {
      const account = this.#accounts.get(venue);
      if (account !== undefined) {
        names.push(sessionHash(hash, account.session, null));
        continue;
      }
      const raw = this.#credentials[venue] ?? null;
      const opened = raw === null ? null : room.openSession(raw, this.#payer);
      if (opened?.ok !== true) continue;
      names.push(sessionHash(hash, opened.session, null));
      opened.session.close();
    }
    return names.length === 0 ? null : hash.hmacHex("accounts", names.sort());
  }

  /** As the version before named them: the venues that take part alone. Null without any. */
  formerScopeHash(): string | null {
    const hash = this.#hash;
    const hashes = this.all().map(({ session, venue }) => accountHashOf(hash, venue, session.accountId, null));
    return hashes.length === 0 ? null : hash.hmacHex("accounts", hashes.sort());
  }

  /** Keyed hashes of the accounts, for what stays in memory. */
  hashes(): string[] {
    const hashes: string[] = [];
    for (const account of this.#accounts.values()) hashes.push(account.accountHash);
    return hashes;
  }

  /** Hands the session over: the taker closes it. It stays readable here until then. */
  take(venue: RoutableVenue): AccountSession | null {
    const account = this.#accounts.get(venue);
    if (account === undefined || this.isTaken(venue)) return null;
    this.#taken ??= new Set();
    this.#taken.add(venue);
    return account.session;
  }

  isTaken(venue: RoutableVenue): boolean {
    return this.#taken?.has(venue) === true;
  }

  /** The account with a session of its own again, after another one went to the resolver; null where there is none. */
  renew(venue: RoutableVenue): OpenAccount | null {
    const account = this.#accounts.get(venue);
    if (account === undefined || !this.isTaken(venue)) return account ?? null;
    const opened = account.room.openSession(this.#credentials[venue], this.#payer);
    if (!opened.ok) return null;
    const renewed = { ...account, session: opened.session };
    this.#accounts.set(venue, renewed);
    this.#taken?.delete(venue);
    return renewed;
  }

  /** One more session of the account, the caller's to close; null where none opens. */
  another(venue: RoutableVenue): AccountSession | null {
    const account = this.#accounts.get(venue);
    const opened = account?.room.openSession(this.#credentials[venue], this.#payer);
    return opened?.ok === true ? opened.session : null;
  }

  closeAll(): void {
    for (const account of this.#accounts.values()) {
      if (!this.isTaken(account.venue)) account.session.close();
    }
  }
}
