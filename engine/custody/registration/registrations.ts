/**
 * Keys by which server wallets trade at venues (interface spec 4.2): registered, rotated, revoked, and opened for a
 * request. What is under way when the program ends goes on at the next start (key-keeper.ts).
 *
 * Invariants: acts on the keys of one wallet at one venue go one after another. A secret is in a reply at most once, and
 * only after a commit says that it was. What trades is the newest key that the venue has, never one that is expired or
 * about to be revoked.
 */
import { Deadline } from "../../domain/deadline.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { type IssuingRegistrar, StoredSecret } from "../../key-registrar.js";
import { Approval, type KeyAsk, type KeyOwner } from "./approval.js";
import {
  behindVenue,
  callWithin,
  type KeyParts,
  refusedBy,
  registrarOf,
  sealed,
  signed,
  unsettled,
  venueAway,
  waitWithin,
  withSecret,
} from "./key-parts.js";
import { type KeyPlace, rowKey, sealContext, type StoredKey } from "./key-row.js";
import { KEYS_MAX } from "./key-book.js";
import { standingOf } from "./key-steps.js";
import type { KeyTurns } from "./key-turns.js";
import { type KeyView, tradingKey, viewOf } from "./key-views.js";
import { Revocation } from "./revocation.js";

/** A caller waits no longer for its turn, and from then on no longer for a venue that does not answer. */
export const ACT_MS = 12_000;

/** A key of less than this is not asked about: it was there a moment ago. */
const YOUNG_MS = 60_000;

export interface RegisteredKey extends KeyView {
  /** `0x` hex of an agent's key, in the one reply that shows it; else null. */
  readonly secretHex: string | null;
}

export interface Revoked {
  /** Keys that no request uses any more. */
  readonly count: number;
  /** Of them those that the venue may still have: it is asked until it has dropped them. */
  readonly pending: number;
  /** Of them those of a kind that the venue has no call to drop. */
  readonly undroppable: number;
}

export class KeyRegistrations {
  readonly #parts: KeyParts;
  readonly #lifetime: LifetimeClock;
  readonly #turns: KeyTurns;
  readonly #approval: Approval;
  readonly #revocation: Revocation;
  /** Keys whose secret could be opened as they lie in memory: one look is enough. */
  readonly #opened = new WeakSet<StoredKey>();

  constructor(parts: KeyParts, turns: KeyTurns) {
    this.#parts = parts;
    this.#lifetime = new LifetimeClock(parts.clock);
    this.#turns = turns;
    this.#approval = new Approval(parts);
    this.#revocation = new Revocation(parts);
  }

  /**
   * Rejects with API_KEY_EXISTS where the wallet has a key that a reply told of, unless the venue has dropped it; with what the signer and the venue refuse;
   * with REGISTRATION_UNSETTLED where it is not known whether the venue has the key: asked for again it is that one.
   * `showsSecret`: the interface returns the secret of this venue's keys.
   */
  register(owner: KeyAsk, showsSecret: boolean): Promise<RegisteredKey> {
    return this.#turn(owner, async () => {
      const live = this.#trading(owner);
      if (live?.isAnswered === false) return this.#answered(owner, live, showsSecret);
      if (live !== undefined) {
        if (!(await this.#isDropped(owner, live)))
          throw new ServiceError("API_KEY_EXISTS", { exchange: owner.venue, signerAddress: live.signer });
        await this.#end(owner, [live]);
      }
      return this.#answered(owner, await this.#obtain(owner), showsSecret);
    });
  }

  /** As `register`, beside the present key, which lives to its end. API_KEY_NOT_FOUND: there is none. */
  rotate(owner: KeyAsk, showsSecret: boolean): Promise<RegisteredKey> {
    return this.#turn(owner, async () => {
      const live = this.#trading(owner);
      if (live === undefined) throw new ServiceError("API_KEY_NOT_FOUND", { exchange: owner.venue });
      return this.#answered(owner, live.isAnswered ? await this.#obtain(owner) : live, showsSecret);
    });
  }

  /**
   * All keys of the wallet at the venue. Rejects with API_KEY_NOT_FOUND; with REGISTRATION_UNSETTLED where one may yet
   * arrive at the venue: all others are out of use then. The signer's refusals do not reject: the revocation is pending then.
   */
  revoke(owner: KeyOwner): Promise<Revoked> {
    return this.#turn(owner, async () => {
      const time = new Deadline(this.#parts.clock, ACT_MS);
      const sent = this.#keys(owner).find(({ state }) => state === "SENT");
      // What trades ends before the venue is asked about what may yet arrive.
      const ended = await this.#end(
        owner,
        this.#keys(owner).filter((key) => key !== sent),
      );
      if (sent !== undefined) {
        if ((await this.#approval.settle(owner, time)) === "unsettled") throw unsettled(owner.venue);
        ended.push(
          ...(await this.#end(
            owner,
            this.#keys(owner).filter(({ serial }) => serial === sent.serial),
          )),
        );
      }
      if (ended.length === 0) throw new ServiceError("API_KEY_NOT_FOUND", { exchange: owner.venue });
      let pending = 0;
      for (const { serial, flow } of ended)
        if (flow === "agent" && !(await this.#finished(owner, serial, time))) pending++;
      return { count: ended.length, pending, undroppable: ended.filter(({ flow }) => flow === "issued").length };
    });
  }

  /** Returns those that the venue has, or may have; without such ones nothing changes. */
  async #end(owner: KeyOwner, keys: readonly StoredKey[]): Promise<StoredKey[]> {
    const ended = keys.filter(({ state }) => state !== "NEW");
    if (ended.length > 0) await this.#revocation.begin(owner, new Set(keys.map(({ serial }) => serial)));
    return ended;
  }

  /** The key that a reply told of, without its secret; null: there is none that trades. */
  find(place: KeyPlace): RegisteredKey | null {
    const live = this.#trading(place);
    return live === undefined ? null : { ...viewOf(place.venue, live, this.#lifetime.nowMs()), secretHex: null };
  }

  /** All keys of a wallet. */
  list(walletId: string): readonly KeyView[] {
    const nowMs = this.#lifetime.nowMs();
    return this.#parts.book.rowsOf(walletId).flatMap(({ venue, keys }) => keys.map((key) => viewOf(venue, key, nowMs)));
  }

  /**
   * Blocks of interface spec 2.3 for one request. Rejects with SEAL_BROKEN, SEAL_KEY_UNKNOWN or STORE_UNAVAILABLE where a
   * secret cannot be opened; later each session opens it by itself.
   */
  async blocks(walletId: string): Promise<Readonly<Partial<Record<RoutableVenue, unknown>>>> {
    for (const { place, live } of this.#usable(walletId)) {
      if (this.#opened.has(live)) continue;
      await withSecret(this.#parts, place, live, () => null);
      this.#opened.add(live);
    }
    return this.storedBlocks(walletId);
  }

  /** The same without a look at the secrets. */
  storedBlocks(walletId: string): Readonly<Partial<Record<RoutableVenue, unknown>>> {
    const blocks: Partial<Record<RoutableVenue, unknown>> = {};
    for (const { place, live, registrar } of this.#usable(walletId)) {
      const secret = new StoredSecret(`${rowKey(place)}/${live.signer}`, () => this.#openNow(place, live.serial));
      blocks[place.venue] = registrar.block(live, secret);
    }
    return blocks;
  }

  /** Rejects with OVERLOADED where those before took too long: nothing was done then. */
  #turn<T>(place: KeyPlace, act: () => Promise<T>): Promise<T> {
    const waiting = new Deadline(this.#parts.clock, ACT_MS);
    return this.#turns.run(place, async () => {
      if (waiting.leftMs() === 0) throw new ServiceError("OVERLOADED");
      return act();
    });
  }

  /** The keys that trade, at venues that are configured. */
  #usable(walletId: string) {
    return this.#parts.book.rowsOf(walletId).flatMap((place) => {
      const registrar = this.#parts.registrars.get(place.venue);
      const live = this.#trading(place);
      return registrar === undefined || live === undefined ? [] : [{ place, live, registrar }];
    });
  }

  /** Null for a key that has ended since. */
  #openNow(place: KeyPlace, serial: number): Uint8Array | null {
    const key = this.#keys(place).find((one) => one.serial === serial);
    if (key === undefined || key.state === "REVOKING") return null;
    try {
      return this.#parts.sealer.open(sealContext(place, key), Buffer.from(key.sealed, "base64"));
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.error("venue_keys.not_opened", { name: rowKey(place), code });
      return null;
    }
  }

  /** By the venue itself, as where the account was empty. Its lists lag behind, so it must say that twice. */
  async #isDropped(place: KeyPlace, key: StoredKey): Promise<boolean> {
    const registrar = registrarOf(this.#parts, place);
    if (registrar.kind !== "agent" || this.#lifetime.nowMs() - key.createdAtMs < YOUNG_MS) return false;
    const time = new Deadline(this.#parts.clock, ACT_MS);
    const isAbsent = async () => (await standingOf(this.#parts, registrar, { place, key, time })) === "absent";
    return (await isAbsent()) && (await waitWithin(this.#parts, time, registrar.listLagMs)) && isAbsent();
  }

  async #obtain(owner: KeyAsk): Promise<StoredKey> {
    const registrar = registrarOf(this.#parts, owner);
    const time = new Deadline(this.#parts.clock, ACT_MS);
    return registrar.kind === "agent" ? this.#approval.obtain(owner, time) : this.#issued(owner, registrar, time);
  }

  /** A key that the venue makes: with its reply lost its secret is lost, too, and nobody can use it. */
  async #issued(owner: KeyAsk, registrar: IssuingRegistrar, time: Deadline): Promise<StoredKey> {
    const { clock, book } = this.#parts;
    // The venue keeps them all; what cannot be stored must not be made.
    if (this.#keys(owner).length >= KEYS_MAX)
      throw new ServiceError("API_KEY_LIMIT", { exchange: owner.venue, limit: KEYS_MAX });
    const options = callWithin(time);
    if (options === null) throw venueAway(owner.venue, "NO_TIME", null);
    const outcome = await registrar.issue(owner.account, (text) => signed(this.#parts, owner, text), options);
    if (outcome.kind === "refused") throw refusedBy(owner.venue, outcome);
    if (outcome.kind === "notSent") throw venueAway(owner.venue, outcome.problem, outcome.retryAfterMs);
    if (outcome.kind === "unknown") throw venueAway(owner.venue, "KEY_LOST", null);
    const serial = Math.max(0, ...this.#keys(owner).map((key) => key.serial)) + 1;
    const facts = {
      ...outcome.key,
      serial,
      createdAtMs: clock.wallMs(),
      isAnswered: false,
      requestId: owner.requestId,
      act: null,
    };
    try {
      const key = sealed(this.#parts, owner, { ...facts, flow: "issued", state: "ACTIVE" }, outcome.secret);
      const commit = book.update(owner, (keys) => [
        ...keys.map((one): StoredKey => (one.state === "ACTIVE" ? { ...one, state: "RETIRING" } : one)),
        key,
      ]);
      await behindVenue(commit, () => venueAway(owner.venue, "KEY_LOST", null));
      return key;
    } finally {
      outcome.secret.fill(0);
    }
  }

  /** The commit goes before the secret: a reply that is lost after it takes the secret with it. */
  async #answered(place: KeyAsk, key: StoredKey, showsSecret: boolean): Promise<RegisteredKey> {
    const told = { isAnswered: true, answeredId: place.requestId };
    const commit = this.#parts.book.update(place, (keys) =>
      keys.map((one) => (one.serial === key.serial ? { ...one, ...told } : one)),
    );
    await behindVenue(commit, () => unsettled(place.venue));
    const answered = this.#keys(place).find(({ serial }) => serial === key.serial) ?? key;
    const secretHex = showsSecret
      ? await withSecret(this.#parts, place, answered, shownSecret)
      : null;
    return { ...viewOf(place.venue, answered, this.#lifetime.nowMs()), secretHex };
  }

  async #finished(place: KeyPlace, serial: number, time: Deadline): Promise<boolean> {
    try {
      return await this.#revocation.finish(place, serial, time);
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.warn("venue_keys.revocation_pending", { name: rowKey(place), code });
      return false;
    }
  }

  #keys(place: KeyPlace): readonly StoredKey[] {
    return this.#parts.book.keysOf(place);
  }

  /** Of the kind that is configured: keys of another one trade no more. */
  #trading(place: KeyPlace): StoredKey | undefined {
    const kind = this.#parts.registrars.get(place.venue)?.kind;
    const live = tradingKey(this.#keys(place), this.#lifetime.nowMs());
    return kind === undefined || live?.flow === kind ? live : undefined;
  }
}

/** Over the bytes themselves: a copy in a buffer would be wiped by nobody. */
function shownSecret({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return `0x${Buffer.from(buffer, byteOffset, byteLength).toString("hex")}`;
}
