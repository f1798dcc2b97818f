/**
 * Keys by which server wallets trade at venues (interface spec 4.2): registered, rotated, revoked, and opened for a
 * request. What is under way when the program ends goes on at the next start (key-keeper.ts).
 *
 * Invariants: acts on the keys of one wallet at one venue go one after another. A secret is in a reply at most once, and
 * only after a commit says that it was. What trades is the newest key that the venue has, never one that is expired or
 * about to be revoked.
 */
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { type IssuingRegistrar, StoredSecret } from "../../key-registrar.js";
import { Approval, type KeyAsk, type KeyOwner } from "./approval.js";
import {
  callWithin,
  type KeyParts,
  refusedBy,
  registrarOf,
  sealed,
  signed,
  unsettled,
  venueAway,
  withSecret,
} from "./key-parts.js";
import { type KeyPlace, rowKey, sealContext, type StoredKey } from "./key-row.js";
import type { KeyTurns } from "./key-turns.js";
import { isExpired, type KeyView, tradingKey, viewOf } from "./key-views.js";
import { Revocation } from "./revocation.js";

/** A caller waits no longer for a venue that does not answer. */
export const ACT_MS = 12_000;

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
  readonly #turns: KeyTurns;
  readonly #approval: Approval;
  readonly #revocation: Revocation;
  /** Keys whose secret could be opened as they lie in memory: one look is enough. */
  readonly #opened = new WeakSet<StoredKey>();

  constructor(parts: KeyParts, turns: KeyTurns) {
    this.#parts = parts;
    this.#turns = turns;
    this.#approval = new Approval(parts);
    this.#revocation = new Revocation(parts);
  }

  /**
   * Rejects with API_KEY_EXISTS where the wallet has a key that a reply told of; with what the signer and the venue refuse;
   * with REGISTRATION_UNSETTLED where it is not known whether the venue has the key: asked for again it is that one.
   * `showsSecret`: the interface returns the secret of this venue's keys.
   */
  register(owner: KeyAsk, showsSecret: boolean): Promise<RegisteredKey> {
    return this.#turns.run(owner, async () => {
      const live = this.#trading(owner);
      if (live?.isAnswered === true)
        throw new ServiceError("API_KEY_EXISTS", { exchange: owner.venue, signerAddress: live.signer });
      return this.#answered(owner, live ?? (await this.#obtain(owner)), showsSecret);
    });
  }

  /** As `register`, beside the present key, which lives to its end. API_KEY_NOT_FOUND: there is none. */
  rotate(owner: KeyAsk, showsSecret: boolean): Promise<RegisteredKey> {
    return this.#turns.run(owner, async () => {
      const live = this.#trading(owner);
      if (live === undefined) throw new ServiceError("API_KEY_NOT_FOUND", { exchange: owner.venue });
      return this.#answered(owner, live.isAnswered ? await this.#obtain(owner) : live, showsSecret);
    });
  }

  /**
   * All keys of the wallet at the venue. Rejects with API_KEY_NOT_FOUND; with REGISTRATION_UNSETTLED where one may yet
   * arrive at the venue, nothing changed. The signer's refusals do not reject: the revocation is pending then.
   */
  revoke(owner: KeyOwner): Promise<Revoked> {
    return this.#turns.run(owner, async () => {
      const time = new Deadline(this.#parts.clock, ACT_MS);
      const isSent = this.#keys(owner).some(({ state }) => state === "SENT");
      if (isSent && (await this.#approval.settle(owner, time)) === "unsettled") throw unsettled(owner.venue);
      const ended = this.#keys(owner).filter(({ state }) => state !== "NEW");
      if (ended.length === 0) throw new ServiceError("API_KEY_NOT_FOUND", { exchange: owner.venue });
      await this.#revocation.begin(owner, new Set(this.#keys(owner).map(({ serial }) => serial)));
      let pending = 0;
      for (const { serial, flow } of ended)
        if (flow === "agent" && !(await this.#finished(owner, serial, time))) pending++;
      return { count: ended.length, pending, undroppable: ended.filter(({ flow }) => flow === "issued").length };
    });
  }

  /** The key that a reply told of, without its secret; null: there is none that trades. */
  find(place: KeyPlace): RegisteredKey | null {
    const live = this.#trading(place);
    return live === undefined ? null : { ...viewOf(place.venue, live, this.#parts.clock.wallMs()), secretHex: null };
  }

  /** All keys of a wallet. */
  list(walletId: string): readonly KeyView[] {
    const nowMs = this.#parts.clock.wallMs();
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
      const secret = new StoredSecret(
        `${rowKey(place)}/${live.signer}`,
        () => this.#openNow(place, live.serial),
        () => this.storedBlocks(walletId)[place.venue] ?? null,
      );
      blocks[place.venue] = registrar.block(live, secret);
    }
    return blocks;
  }

  /** `hear`: another key trades for the wallet at a venue, or none does any more. Call the result to end it. */
  listen(walletId: string, hear: () => void): () => void {
    return this.#parts.book.listen(walletId, () => {
      try {
        hear();
      } catch (error) {
        // What was made durable is done, whatever a listener makes of it.
        const errorName = error instanceof Error ? error.name : "unknown";
        this.#parts.logger.error("venue_keys.listener_failed", { errorName });
      }
    });
  }

  /** The keys that trade, at venues that are configured. */
  #usable(walletId: string) {
    return this.#parts.book.rowsOf(walletId).flatMap((place) => {
      const registrar = this.#parts.registrars.get(place.venue);
      const live = this.#trading(place);
      return registrar === undefined || registrar.kind !== live?.flow ? [] : [{ place, live, registrar }];
    });
  }

  /** Null for a key that has ended since. */
  #openNow(place: KeyPlace, serial: number): Uint8Array | null {
    const key = this.#keys(place).find((one) => one.serial === serial);
    if (key === undefined || key.state === "REVOKING" || isExpired(key, this.#parts.clock.wallMs())) return null;
    try {
      return this.#parts.sealer.open(sealContext(place, key), Buffer.from(key.sealed, "base64"));
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.error("venue_keys.not_opened", { name: rowKey(place), code });
      return null;
    }
  }

  async #obtain(owner: KeyAsk): Promise<StoredKey> {
    const registrar = registrarOf(this.#parts, owner);
    const time = new Deadline(this.#parts.clock, ACT_MS);
    return registrar.kind === "agent" ? this.#approval.obtain(owner, time) : this.#issued(owner, registrar, time);
  }

  /** A key that the venue makes: with its reply lost its secret is lost, too, and nobody can use it. */
  async #issued(owner: KeyAsk, registrar: IssuingRegistrar, time: Deadline): Promise<StoredKey> {
    const { clock, book } = this.#parts;
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
      await book.update(owner, (keys) => [
        ...keys.map((one): StoredKey => (one.state === "ACTIVE" ? { ...one, state: "RETIRING" } : one)),
        key,
      ]);
      return key;
    } finally {
      outcome.secret.fill(0);
    }
  }

  /** The commit goes before the secret: a reply that is lost after it takes the secret with it. */
  async #answered(place: KeyPlace, key: StoredKey, showsSecret: boolean): Promise<RegisteredKey> {
    await this.#parts.book.update(place, (keys) =>
      keys.map((one) => (one.serial === key.serial ? { ...one, isAnswered: true } : one)),
    );
    const answered = this.#keys(place).find(({ serial }) => serial === key.serial) ?? key;
    const secretHex = showsSecret
      ? await withSecret(this.#parts, place, answered, (secret) => `0x${Buffer.from(secret).toString("hex")}`)
      : null;
    return { ...viewOf(place.venue, answered, this.#parts.clock.wallMs()), secretHex };
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

  #trading(place: KeyPlace): StoredKey | undefined {
    return tradingKey(this.#keys(place), this.#parts.clock.wallMs());
  }
}
