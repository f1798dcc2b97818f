/**
 * Which key of its account a session's key is, confirmed by the venue: the public key is compared with those that are
 * registered (`apikeys`, weight 150, hence cached). Nothing is read, streamed or signed for an account index before,
 * so that a wrong index is a refusal and not the data of another account.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { Deadline } from "../../shared/net/deadline.js";
import { paidBy } from "../../shared/account/paid-by.js";
import { SharedLookup } from "../../shared/account/shared-lookup.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import type { VenuethreeAccountRest } from "./rest.js";
import type { VenuethreeWireKey } from "./wire.js";
import { VenuethreeSession } from "./session.js";

export interface ConfirmedKey {
  readonly accountIndex: number;
  readonly apiKeyIndex: number;
  readonly session: VenuethreeSession;
}

export interface KeyDirectoryDeps {
  readonly rest: VenuethreeAccountRest;
  readonly clock: Clock;
  readonly standing: CallerStanding;
  /** Gets the next nonce that the venue's list has of each key. `askedNs`: monotonic, when the venue was asked. */
  readonly onNonce: (accountIndex: number, apiKeyIndex: number, nonce: number, askedNs: number) => void;
}

const MAX_KEYS = 4096;
/** A key that is replaced is refused by the venue at its next use, which forgets it here. */
const FOUND_TTL_MS = 10 * 60_000;
/** Remembered just long enough to stop a flood; a key may be registered the next moment. */
const MISSING_TTL_MS = 2_000;

interface Entry {
  /** Indexes the key is registered at; none: it is not this account's. */
  readonly apiKeyIndexes: readonly number[];
  /** First-layer address; null until it was asked for. */
  readonly l1Address: string | null;
}

export class KeyDirectory {
  readonly #deps: KeyDirectoryDeps;
  readonly #entries: TimedCache<string, Entry>;
  /** The answer while an account's list is believed to have no other key than it had. */
  readonly #lists: TimedCache<number, KeysRead>;
  readonly #lookup: SharedLookup<Entry>;

  constructor(deps: KeyDirectoryDeps) {
    this.#deps = deps;
    this.#entries = new TimedCache(deps.clock, MAX_KEYS);
    this.#lists = new TimedCache(deps.clock, MAX_KEYS);
    this.#lookup = new SharedLookup(deps.clock, "the key's look-up");
  }

  /** An AUTH failure says why these credentials act for no account; NEEDS_CREDENTIALS that there are none. */
  async resolve(session: AccountSession, options: CallOptions): Promise<Read<ConfirmedKey>> {
    const known = this.resolveKnown(session);
    if (known !== null) return known;
    if (!(session instanceof VenuethreeSession)) return failedRead("NEEDS_CREDENTIALS", "an address reads no secrets");
    // One that names its address needs more of the answer than one that does not.
    const name = `${session.walletAddress === null ? "" : "address "}${nameOf(session)}`;
    const entry = await this.#lookup.find(name, paidBy(session, options), (left) => this.#ask(session, left));
    return entry.ok ? this.#confirm(session, entry.value, entry.asOfMs) : entry;
  }

  /** As `resolve` while the key is remembered; null where the venue has to be asked. */
  resolveKnown(session: AccountSession): Read<ConfirmedKey> | null {
    if (!(session instanceof VenuethreeSession)) {
      return session.venue === "venuethree"
        ? failedRead("NEEDS_CREDENTIALS", "an address alone reads only what is public")
        : failedRead("AUTH", "session of another venue");
    }
    if (!session.isOpen) return failedRead("AUTH", "session is closed");
    const entry = this.#entries.get(nameOf(session));
    if (entry === null) return null;
    if (session.walletAddress !== null && entry.l1Address === null && entry.apiKeyIndexes.length > 0) return null;
    return this.#confirm(session, entry, this.#deps.clock.wallMs());
  }

  /** The venue's list has the key, and it is of the account that was meant: the account is known by it. */
  #confirm(session: VenuethreeSession, entry: Entry, asOfMs: number): Read<ConfirmedKey> {
    const confirmed = confirm(session, entry, asOfMs);
    if (confirmed.ok) {
      this.#deps.standing.answeredWell(nameOf(session));
      this.#deps.standing.answeredWell(String(session.accountIndex));
    }
    return confirmed;
  }

  /** The venue refused the key: ask again next time. */
  forget(session: VenuethreeSession): void {
    this.#entries.delete(nameOf(session));
  }

  async #ask(session: VenuethreeSession, options: CallOptions): Promise<Read<Entry>> {
    const { rest, clock, onNonce, standing } = this.#deps;
    const isProven = standing.isProven(nameOf(session));
    const deadline = new Deadline(clock, options);
    const askedNs = clock.monoNs();
    const listed = isProven ? null : this.#lists.get(session.accountIndex);
    // Its nonces may have moved on: a key that it has is asked about.
    const isListed = listed !== null && !hasKey(listed.value, session);
    const keys = isListed ? listed : await rest.apiKeys(session.accountIndex, { ...options, caller: nameOf(session) });
    if (!keys.ok) return keys;
    if (!isListed) this.#lists.set(session.accountIndex, keys, MISSING_TTL_MS);
    const found = keys.value.filter((row) => row.public_key === session.accountId);
    // Known already: what else is asked for it must not wait in the line of strangers again.
    if (found.length > 0) standing.answeredWell(nameOf(session));
    let l1Address: string | null = null;
    if (session.walletAddress !== null && found.length > 0) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the account's address");
      const account = await rest.accountByIndex(session.accountIndex, { ...left, caller: nameOf(session) });
      if (!account.ok) return account;
      l1Address = account.value.l1_address;
    }
    for (const row of found) onNonce(session.accountIndex, row.api_key_index, row.nonce, askedNs);
    const entry: Entry = { apiKeyIndexes: found.map(indexOf), l1Address };
    // Once answered well, a key is asked about again at once: the server that misses it may lag behind.
    if (found.length > 0 || !isProven)
      this.#entries.set(nameOf(session), entry, found.length === 0 ? MISSING_TTL_MS : FOUND_TTL_MS);
    return { ...keys, value: entry };
  }
}

type KeysRead = Extract<Read<readonly VenuethreeWireKey[]>, { ok: true }>;

function hasKey(rows: readonly VenuethreeWireKey[], session: VenuethreeSession): boolean {
  return rows.some((row) => row.public_key === session.accountId);
}

function indexOf(row: VenuethreeWireKey): number {
  return row.api_key_index;
}

/** Both parts are public. */
function nameOf(session: VenuethreeSession): string {
  return `${session.accountIndex} ${session.accountId}`;
}

function confirm(session: VenuethreeSession, entry: Entry, asOfMs: number): Read<ConfirmedKey> {
  const [first] = entry.apiKeyIndexes;
  if (first === undefined) return failedRead("AUTH", "the key is not registered for this accountIndex");
  const { accountIndex, walletAddress } = session;
  const apiKeyIndex = session.apiKeyIndex ?? first;
  if (!entry.apiKeyIndexes.includes(apiKeyIndex)) return failedRead("AUTH", "apiKeyIndex is not the index of this key");
  if (walletAddress !== null && entry.l1Address !== walletAddress)
    return failedRead("AUTH", "accountIndex is not an account of walletAddress");
  return { ok: true, value: { accountIndex, apiKeyIndex, session }, asOfMs, source: "venue" };
}
