/**
 * A key ends: from the first commit on no request uses it, and the venue is asked to drop it until it has, in this life
 * of the program or a later one. The secret stays sealed until then, and is gone with the row.
 */
import type { ActOutcome, AgentRegistrar } from "../../key-registrar.js";
import type { Deadline } from "../../domain/deadline.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";
import { agentsOf, callWithin, type KeyParts, signed, waitWithin } from "./key-parts.js";
import type { KeyPlace, StoredAct, StoredKey } from "./key-row.js";
import { BUSY_MS, changeKey, dropKey, isOver, keyOf, SEND_MARGIN_MS, standingOf } from "./key-steps.js";

interface Sent {
  readonly outcome: ActOutcome;
  /** No other copy of these bytes is on its way. */
  readonly isFirst: boolean;
}

export class Revocation {
  readonly #parts: KeyParts;
  readonly #lifetime: LifetimeClock;

  constructor(parts: KeyParts) {
    this.#parts = parts;
    this.#lifetime = new LifetimeClock(parts.clock);
  }

  /** In the turn of the place. Durable when it resolves. Keys that the venue never had, or cannot drop, are gone. */
  async begin(place: KeyPlace, serials: ReadonlySet<number>): Promise<void> {
    await this.#parts.book.update(place, (keys) =>
      keys.flatMap((key): StoredKey[] => {
        if (!serials.has(key.serial) || key.state === "REVOKING") return [key];
        return key.state === "NEW" || key.flow === "issued" ? [] : [{ ...key, state: "REVOKING", act: null }];
      }),
    );
  }

  /**
   * In the turn of the place. True: the venue has dropped the key, and the row is gone. False: not known, or not yet.
   * Rejects with what the signer rejects with.
   */
  async finish(place: KeyPlace, serial: number, time: Deadline): Promise<boolean> {
    const registrar = agentsOf(this.#parts, place);
    const sent = await this.#sent(registrar, place, serial, time);
    if (sent === null) return false;
    const { outcome, isFirst } = sent;
    if (outcome.kind === "refused" && outcome.reason === "BUSY") {
      // Another key was dropped a moment ago. The refused act is spent.
      await changeKey(this.#parts, place, serial, { act: null });
      return (await waitWithin(this.#parts, time, outcome.retryAfterMs ?? BUSY_MS)) && this.finish(place, serial, time);
    }
    if (outcome.kind === "done") return this.#gone(place, serial);
    if (outcome.kind === "notSent" || outcome.kind === "unknown") return false;
    const isSpent = outcome.kind === "repeated" || outcome.isSpent;
    // A copy that is still on its way would drop a later key of the same name.
    if (!isSpent && !isFirst) return false;
    // Refused, or had before: the lists show whether anything is left to be dropped.
    const key = keyOf(this.#parts, place, serial);
    if (key === undefined || !(await waitWithin(this.#parts, time, registrar.listLagMs))) return false;
    const standing = await standingOf(this.#parts, registrar, { place, key, time });
    if (standing === "absent") return this.#gone(place, serial);
    if (standing === "live") {
      if (outcome.kind === "refused")
        this.#parts.logger.warn("venue_keys.revocation_refused", { venue: place.venue, reason: outcome.reason });
      if (isSpent) await changeKey(this.#parts, place, serial, { act: null });
    }
    return false;
  }

  /** Null: nothing was sent. */
  async #sent(registrar: AgentRegistrar, place: KeyPlace, serial: number, time: Deadline): Promise<Sent | null> {
    const before = keyOf(this.#parts, place, serial)?.act?.signature ?? null;
    const act = await this.#signedAct(registrar, place, serial);
    const options = callWithin(time);
    if (act === null || options === null || act.signature === null) return null;
    return { outcome: await registrar.send(act, act.signature, options), isFirst: act.signature !== before };
  }

  /** The act of before while the venue takes it: sent again, the same bytes act once. */
  async #signedAct(registrar: AgentRegistrar, place: KeyPlace, serial: number): Promise<StoredAct | null> {
    const key = keyOf(this.#parts, place, serial);
    if (key === undefined) return null;
    let { act } = key;
    if (act === null || isOver(act, this.#lifetime.nowMs() + SEND_MARGIN_MS)) {
      const made = await registrar.revocation(key);
      if (!made.ok) return null;
      act = { ...made.act, signature: null };
      await changeKey(this.#parts, place, serial, { act });
    }
    if (act.signature !== null) return act;
    const ready = { ...act, signature: await signed(this.#parts, place, act.toSign) };
    await changeKey(this.#parts, place, serial, { act: ready });
    return ready;
  }

  async #gone(place: KeyPlace, serial: number): Promise<true> {
    await dropKey(this.#parts, place, serial);
    return true;
  }
}
