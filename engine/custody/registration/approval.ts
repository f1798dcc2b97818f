/**
 * A key of ours becomes one of the venue's: made and sealed (NEW), approved by an act of the wallet whose signed bytes are
 * durable before they are sent (SENT), used once the venue has it (ACTIVE).
 *
 * Invariants: a wallet has one key under way at a venue, so a lost reply, a crash or a repetition leads to the same key
 * and not to a second one. An approval that may be at the venue is read there before anything is sent again, and what is
 * sent again are the same bytes, which act once. A key that the venue may have is in the store, with its secret.
 */
import { LifetimeClock } from "../../domain/lifetime-clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { ActOutcome, AgentRegistrar } from "../../key-registrar.js";
import { secretBuffer } from "../sealing/secret-bytes.js";
import { Deadline } from "../../domain/deadline.js";
import {
  agentsOf,
  behindVenue,
  callWithin,
  type KeyParts,
  refusedBy,
  sealed,
  signed,
  unsettled,
  venueAway,
  waitWithin,
} from "./key-parts.js";
import { type KeyPlace, type KeyState, rowKey, type StoredAct, type StoredKey } from "./key-row.js";
import { BUSY_MS, changeKey, dropKey, isOver, keyOf, SEND_MARGIN_MS, standingOf } from "./key-steps.js";

/** Signing took longer than the act's life, several times: the signer is too slow for the venue. */
const ACTS_MAX = 3;
const KEY_BYTES = 32;
const TAKE_UP_LOOK_MS = 500;
/** A key that is none of the curve has a chance of 2^-128. */
const DRAFTS_MAX = 4;

export interface KeyOwner extends KeyPlace {
  /** The wallet's address, lower case. */
  readonly account: string;
}

/** Whose key, and which request asks for it. */
export interface KeyAsk extends KeyOwner {
  readonly requestId: string;
}

/** `active`: the venue has it. */
type Settled = "active" | "gone" | "unsettled";
type Found = Extract<KeyState, "ACTIVE" | "REVOKING">;

export class Approval {
  readonly #parts: KeyParts;
  readonly #lifetime: LifetimeClock;

  constructor(parts: KeyParts) {
    this.#parts = parts;
    this.#lifetime = new LifetimeClock(parts.clock);
  }

  /**
   * In the turn of the place. Returns the key, ACTIVE. Rejects with what stands in the way, the key then gone again, or
   * with REGISTRATION_UNSETTLED and APPROVAL_PENDING, the key then still under way.
   */
  async obtain(owner: KeyAsk, time: Deadline): Promise<StoredKey> {
    const before = this.#underWay(owner);
    if (before?.state === "SENT") {
      const end = await this.settle(owner, time);
      if (end === "unsettled") throw unsettled(owner.venue);
      if (end === "active") return this.#read(owner, before.serial);
    }
    const key = this.#underWay(owner) ?? (await this.#begin(owner));
    for (;;) {
      await this.#sign(owner, key);
      const sent = await this.#send(owner, key.serial, time);
      if (sent !== null) return sent;
    }
  }

  /** What became of an approval that may be at the venue. `as`: a key that is to end trades for no moment. */
  async settle(place: KeyPlace, time: Deadline, as: Found = "ACTIVE"): Promise<Settled> {
    const registrar = agentsOf(this.#parts, place);
    const key = this.#underWay(place);
    if (key?.state !== "SENT" || key.act === null) return "gone";
    const lookedAtMs = this.#lifetime.nowMs();
    const standing = await standingOf(this.#parts, registrar, { place, key, time });
    if (standing === "live") return this.#found(place, key.serial, as);
    if (standing === "unknown") return "unsettled";
    if (isOver(key.act, lookedAtMs - registrar.listLagMs)) return this.#dropped(place, key.serial);
    const outcome = await this.#sendBytes(registrar, key.act, time);
    if (outcome.kind === "done")
      return as === "REVOKING" ? this.#found(place, key.serial, as) : this.#takenUp(place, registrar, key, time);
    // Refused now, it may have taken effect before: the lists show it. What it may yet do a list does not show.
    const isDecided = outcome.kind === "repeated" || (outcome.kind === "refused" && outcome.isSpent);
    if (!isDecided || !(await waitWithin(this.#parts, time, registrar.listLagMs))) return "unsettled";
    const later = await standingOf(this.#parts, registrar, { place, key, time });
    if (later === "live") return this.#found(place, key.serial, as);
    return later === "absent" ? this.#dropped(place, key.serial) : "unsettled";
  }

  /** At most one: a place has one key under way. */
  #underWay(place: KeyPlace): StoredKey | undefined {
    return this.#parts.book.keysOf(place).find(({ state }) => state === "NEW" || state === "SENT");
  }

  async #begin(owner: KeyAsk): Promise<StoredKey> {
    const { book, random } = this.#parts;
    const registrar = agentsOf(this.#parts, owner);
    const keys = book.keysOf(owner);
    const name = registrar.names.find((one) => keys.every((key) => key.name !== one));
    if (name === undefined)
      throw new ServiceError("API_KEY_LIMIT", { exchange: owner.venue, limit: registrar.names.length });
    const secret = secretBuffer(KEY_BYTES);
    try {
      const nowMs = this.#lifetime.nowMs();
      let draft = null;
      for (let attempt = 0; attempt < DRAFTS_MAX && draft === null; attempt++) {
        random(secret);
        draft = registrar.draft({ account: owner.account, name, nowMs }, secret);
      }
      if (draft === null) throw new ServiceError("FAILED_TO_REGISTER_KEY", { reason: "RANDOM" });
      const serial = Math.max(0, ...keys.map((key) => key.serial)) + 1;
      const facts = {
        ...draft,
        serial,
        flow: "agent",
        createdAtMs: nowMs,
        state: "NEW",
        isAnswered: false,
        requestId: owner.requestId,
        act: null,
      } as const;
      const key = sealed(this.#parts, owner, facts, secret);
      await book.update(owner, (all) => [...all, key]);
      return key;
    } finally {
      secret.fill(0);
    }
  }

  /** The signed approval is durable, and fresh enough to be sent. On a refusal the key is gone; undecided, it stays. */
  async #sign(place: KeyPlace, { serial }: StoredKey): Promise<void> {
    const { clock } = this.#parts;
    try {
      for (let attempt = 0; attempt < ACTS_MAX; attempt++) {
        const { act } = await this.#withAct(place, serial);
        const signature = await signed(this.#parts, place, act.toSign);
        if (isOver(act, clock.wallMs() + SEND_MARGIN_MS)) continue;
        await changeKey(this.#parts, place, serial, { state: "SENT", act: { ...act, signature } });
        return;
      }
      throw new ServiceError("SIGNER_UNAVAILABLE", { reason: "TOO_SLOW" });
    } catch (error) {
      if (!isUndecided(error)) await this.#forget(place, serial);
      throw error;
    }
  }

  /** The act to sign: the one that was made before, while the venue would take it, so that a slow signer's is found again. */
  async #withAct(place: KeyPlace, serial: number): Promise<StoredKey & { readonly act: StoredAct }> {
    const key = this.#read(place, serial);
    const { act } = key;
    if (act !== null && !isOver(act, this.#parts.clock.wallMs() + SEND_MARGIN_MS)) return { ...key, act };
    const made = await agentsOf(this.#parts, place).approval(key);
    if (!made.ok) throw venueAway(place.venue, made.problem, made.retryAfterMs);
    const next = { ...made.act, signature: null };
    await changeKey(this.#parts, place, serial, { act: next });
    return { ...this.#read(place, serial), act: next };
  }

  /** Null: the venue was busy with a key before, and is not any more; the key is NEW again. */
  async #send(place: KeyPlace, serial: number, time: Deadline): Promise<StoredKey | null> {
    const registrar = agentsOf(this.#parts, place);
    const { act } = this.#read(place, serial);
    if (act === null) throw new ServiceError("INTERNAL", { problem: "registration: NO_ACT" });
    const outcome = await this.#sendBytes(registrar, act, time);
    const isBusy = outcome.kind === "refused" && outcome.reason === "BUSY";
    if (isBusy && (await waitWithin(this.#parts, time, outcome.retryAfterMs ?? BUSY_MS))) {
      // The refused act is spent.
      const commit = changeKey(this.#parts, place, serial, { state: "NEW", act: null });
      await behindVenue(commit, () => unsettled(place.venue));
      return null;
    }
    if (outcome.kind === "refused" || outcome.kind === "notSent") {
      // A row that stays is sent again, and may then be approved.
      await this.#dropped(place, serial);
      if (outcome.kind === "refused") throw refusedBy(place.venue, outcome);
      throw venueAway(place.venue, outcome.problem, outcome.retryAfterMs);
    }
    const isDone = outcome.kind === "done";
    if (!isDone) await this.#awaitEnd(place, registrar, time);
    else if ((await this.#takenUp(place, registrar, this.#read(place, serial), time)) === "unsettled")
      throw unsettled(place.venue);
    return this.#read(place, serial);
  }

  /** The reply was lost: looks until the venue says, or the time is over. */
  async #awaitEnd(place: KeyPlace, { listLagMs }: AgentRegistrar, time: Deadline): Promise<void> {
    while (await waitWithin(this.#parts, time, listLagMs)) {
      const end = await this.settle(place, time);
      if (end === "active") return;
      if (end === "gone") throw venueAway(place.venue, "NOT_APPROVED", null);
    }
    throw unsettled(place.venue);
  }

  async #sendBytes(registrar: AgentRegistrar, act: StoredAct, time: Deadline): Promise<ActOutcome> {
    const options = callWithin(time);
    if (options === null || act.signature === null) return { kind: "unknown" };
    return registrar.send(act, act.signature, options);
  }

  /**
   * The venue has approved it. What trades now goes on until requests with the new one are taken, too; where there is no
   * time to wait for that, a later look settles it.
   */
  async #takenUp(place: KeyPlace, registrar: AgentRegistrar, key: StoredKey, time: Deadline): Promise<Settled> {
    const lag = new Deadline(this.#parts.clock, registrar.takeUpMs);
    while (lag.leftMs() > 0) {
      if ((await standingOf(this.#parts, registrar, { place, key, time })) === "live") break;
      if (!(await waitWithin(this.#parts, time, Math.min(TAKE_UP_LOOK_MS, lag.leftMs())))) return "unsettled";
    }
    return this.#found(place, key.serial, "ACTIVE");
  }

  /** What traded before lives to its end, beside the new one. */
  async #found(place: KeyPlace, serial: number, state: Found): Promise<"active"> {
    const commit = this.#parts.book.update(place, (keys) =>
      keys.map((key): StoredKey => {
        if (key.serial === serial) return { ...key, state, act: null };
        return key.state === "ACTIVE" ? { ...key, state: "RETIRING" } : key;
      }),
    );
    await behindVenue(commit, () => unsettled(place.venue));
    return "active";
  }

  async #dropped(place: KeyPlace, serial: number): Promise<"gone"> {
    await behindVenue(dropKey(this.#parts, place, serial), () => unsettled(place.venue));
    return "gone";
  }

  /** Of a key that was not sent. A row that stays goes by itself (key-keeper.ts). */
  async #forget(place: KeyPlace, serial: number): Promise<void> {
    try {
      await dropKey(this.#parts, place, serial);
    } catch {
      this.#parts.logger.warn("venue_keys.left_behind", { name: rowKey(place) });
    }
  }

  #read(place: KeyPlace, serial: number): StoredKey {
    const key = keyOf(this.#parts, place, serial);
    if (key === undefined) throw new ServiceError("INTERNAL", { problem: "registration: KEY_GONE" });
    return key;
  }
}

/** An outside signer has the act, or may have it: the same one is asked for again later. */
function isUndecided(error: unknown): boolean {
  return error instanceof ServiceError && error.context["isUnsettled"] === true;
}
