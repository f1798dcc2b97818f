/**
 * Which key of its account a session's key is, confirmed by the venue: the public key is compared with those that are
 * registered (`apikeys`, weight 150, hence cached). Nothing is read, streamed or signed for an account index before,
 * so that a wrong index is a refusal and not somebody else's data.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { Deadline } from "../../shared/net/deadline.js";
import { monoMs } from "../../shared/net/weight-window.js";
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
  /** Monotonic. */
  readonly expiresAtMs: number;
}

export class KeyDirectory {
  readonly #deps: KeyDirectoryDeps;
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_KEYS });
  /** Monotonic ms until which an account's list is believed to have no other key than it had, with the answer. */
  readonly #lists = new LRUCache<number, { readonly read: KeysRead; readonly untilMs: number }>({ max: MAX_KEYS });
  /** One look-up per key and lane at a time (a close must not wait in another lane's queue); bounded by the calls in flight. */
  readonly #pending = new Map<string, Promise<Read<Entry>>>();

  constructor(deps: KeyDirectoryDeps) {
    this.#deps = deps;
  }

  /** An AUTH failure says why these credentials act for nobody; NEEDS_CREDENTIALS that there are none. */
  async resolve(session: AccountSession, options: CallOptions): Promise<Read<ConfirmedKey>> {
    const known = this.resolveKnown(session);
    if (known !== null) return known;
    if (!(session instanceof VenuethreeSession)) return failedRead("NEEDS_CREDENTIALS", "an address reads no secrets");
    // One that names its address needs more of the answer than one that does not.
    const key = `${options.lane} ${session.walletAddress === null ? "" : "address "}${nameOf(session)}`;
    const deadline = new Deadline(this.#deps.clock, options);
    // Somebody asks already, with a time of their own: waited for within ours, and asked anew where only theirs was over.
    for (let asked = this.#pending.get(key); asked !== undefined; asked = this.#pending.get(key)) {
      const waited = await within(this.#deps.clock, asked, Math.max(0, deadline.leftMs()));
      if (!waited.done) return NO_TIME;
      const entry = waited.value;
      if (entry.ok) return this.#confirm(session, entry.value, entry.asOfMs);
      if (entry.code !== "TIMEOUT") return entry;
    }
    const left = deadline.left();
    if (left === null) return NO_TIME;
    const pending = this.#ask(session, left).finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    const entry = await pending;
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
    const { clock } = this.#deps;
    if (entry === undefined || entry.expiresAtMs <= monoMs(clock)) return null;
    if (session.walletAddress !== null && entry.l1Address === null && entry.apiKeyIndexes.length > 0) return null;
    return this.#confirm(session, entry, clock.wallMs());
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
    const listed = isProven ? undefined : this.#lists.get(session.accountIndex);
    // Its nonces may have moved on: a key that it has is asked about.
    const isListed = listed !== undefined && listed.untilMs > monoMs(clock) && !hasKey(listed.read.value, session);
    const keys = isListed
      ? listed.read
      : await rest.apiKeys(session.accountIndex, { ...options, caller: nameOf(session) });
    if (!keys.ok) return keys;
    if (!isListed) this.#lists.set(session.accountIndex, { read: keys, untilMs: monoMs(clock) + MISSING_TTL_MS });
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
    const entry: Entry = {
      apiKeyIndexes: found.map(indexOf),
      l1Address,
      expiresAtMs: monoMs(clock) + (found.length === 0 ? MISSING_TTL_MS : FOUND_TTL_MS),
    };
    // Once answered well, a key is asked about again at once: the server that misses it may lag behind.
    if (found.length > 0 || !isProven) this.#entries.set(nameOf(session), entry);
    return { ...keys, value: entry };
  }
}

type KeysRead = Extract<Read<readonly VenuethreeWireKey[]>, { ok: true }>;

const NO_TIME = failedRead("TIMEOUT", "no time left for the key's look-up");

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
