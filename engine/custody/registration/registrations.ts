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
import { issuedKey } from "./issued-key.js";
import { KeyBlocks } from "./key-blocks.js";
import { Approval, type KeyAsk, type KeyOwner } from "./approval.js";
import { behindVenue, type KeyParts, registrarOf, unsettled, waitWithin, withSecret } from "./key-parts.js";
import { type KeyPlace, rowKey, type StoredKey } from "./key-row.js";
import { standingOf } from "./key-steps.js";
import type { KeyTurns } from "./key-turns.js";
import { type KeyView, viewOf } from "./key-views.js";
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
  /** By which requests trade with the keys. */
  readonly blocks: KeyBlocks;

  constructor(parts: KeyParts, turns: KeyTurns) {
    this.#parts = parts;
    this.#lifetime = new LifetimeClock(parts.clock);
    this.#turns = turns;
    this.#approval = new Approval(parts);
    this.#revocation = new Revocation(parts);
    this.blocks = new KeyBlocks(parts, this.#lifetime);
  }

  /**
   * Rejects with API_KEY_EXISTS where the wallet has a key that a reply told of, unless the venue has dropped it; with what the signer and the venue refuse;
   * with REGISTRATION_UNSETTLED where it is not known whether the venue has the key: asked for again it is that one.
   * `showsSecret`: the interface returns the secret of this venue's keys.
   */
  register(owner: KeyAsk, showsSecret: boolean): Promise<RegisteredKey> {
    return this.#turn(owner, async () => {
      const live = this.blocks.trading(owner);
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
      const live = this.blocks.trading(owner);
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
        if ((await this.#approval.settle(owner, time, "REVOKING")) === "unsettled") throw unsettled(owner.venue);
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
    const live = this.blocks.trading(place);
    return live === undefined ? null : { ...viewOf(place.venue, live, this.#lifetime.nowMs()), secretHex: null };
  }

  /** All keys of a wallet. */
  list(walletId: string): readonly KeyView[] {
    const nowMs = this.#lifetime.nowMs();
    return this.#parts.book.rowsOf(walletId).flatMap(({ venue, keys }) => keys.map((key) => viewOf(venue, key, nowMs)));
  }

  /** Rejects with OVERLOADED where those before took too long: nothing was done then. */
  #turn<T>(place: KeyPlace, act: () => Promise<T>): Promise<T> {
    const waiting = new Deadline(this.#parts.clock, ACT_MS);
    return this.#turns.run(place, async () => {
      if (waiting.leftMs() === 0) throw new ServiceError("OVERLOADED");
      return act();
    });
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
    return registrar.kind === "agent"
      ? this.#approval.obtain(owner, time)
      : issuedKey(this.#parts, owner, registrar, time);
  }

  /** The commit goes before the secret: a reply that is lost after it takes the secret with it. */
  async #answered(place: KeyAsk, key: StoredKey, showsSecret: boolean): Promise<RegisteredKey> {
    const told = { isAnswered: true, answeredId: place.requestId };
    const commit = this.#parts.book.update(place, (keys) =>
      keys.map((one) => (one.serial === key.serial ? { ...one, ...told } : one)),
    );
    await behindVenue(commit, () => unsettled(place.venue));
    const answered = this.#keys(place).find(({ serial }) => serial === key.serial) ?? key;
    const secretHex = showsSecret ? await withSecret(this.#parts, place, answered, shownSecret) : null;
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
}

/** Over the bytes themselves: a copy in a buffer would be wiped by nobody. */
function shownSecret({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return `0x${Buffer.from(buffer, byteOffset, byteLength).toString("hex")}`;
}
