/**
 * Cancel on disconnect: dead-man's switches whose heartbeat is an open connection.
 *
 * The pings of connection.ts find half-open connections: a client that vanishes is lost after two unanswered pings, and
 * its orders are cancelled then.
 *
 * Invariants: a switch that was armed for a connection that is lost meanwhile fires like any other of it. An arm of
 * several venues succeeds for all of them or for none. Credentials go to the desk and are not kept here.
 *
 * Bounds: SWITCHES_MAX for each connection, one call of it at a time (OVERLOADED beyond).
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { SwitchDesk, SwitchFacts } from "../../engine/orders/single/switch-desk.js";
import { refusalError } from "../accounts/order-refusal.js";
import type { Connection } from "./connection.js";

export type DisconnectDesk = Omit<SwitchDesk, "armSwitch">;

export interface DisconnectWish {
  readonly venues: readonly RoutableVenue[];
  readonly blocks: Readonly<Partial<Record<string, unknown>>>;
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** Whose switches they are. */
  readonly ownerId: string | null;
  /** The key that arms them; null without one. */
  readonly payer: string | null;
}

/** A switch that a connection holds. */
export interface HeldSwitch {
  readonly facts: SwitchFacts;
  readonly graceMs: number;
}

interface Held extends HeldSwitch {
  readonly ownerId: string | null;
  timer: TimerHandle;
}

interface Holder {
  readonly held: Map<string, Held>;
  isBusy: boolean;
}

const SWITCHES_MAX = 16;
/** Heartbeats within the timeout of a switch: if one is late, the next is still in time. */
const BEATS_PER_TIMEOUT = 3;
const RETRY_AFTER_MS = 1_000;

export class DisconnectSwitches {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #desk: DisconnectDesk;
  readonly #holders = new Map<Connection, Holder>();
  /** Notifies a connection that one of its switches has ended. */
  readonly #onEnded: (connection: Connection, error: ServiceError) => void;

  constructor(
    parts: { readonly clock: Clock; readonly logger: Logger; readonly desk: DisconnectDesk },
    onEnded: (connection: Connection, error: ServiceError) => void,
  ) {
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#desk = parts.desk;
    this.#onEnded = onEnded;
  }

  /**
   * Arms switches and returns all that the connection then holds. Throws the desk's refusal; then nothing new is armed,
   * and the earlier switches are unchanged.
   */
  async arm(connection: Connection, wish: DisconnectWish): Promise<readonly HeldSwitch[]> {
    return this.#alone(connection, async (holder) => {
      if (holder.held.size + wish.venues.length > SWITCHES_MAX)
        throw new ServiceError("OVERLOADED", { limit: SWITCHES_MAX, retryAfterMs: RETRY_AFTER_MS });
      const armed = await this.#armAll(wish);
      await this.#dropReplaced(holder, wish.venues);
      // There is no await from here on: a switch held after its connection is lost would beat forever.
      if (!connection.isOpen) {
        for (const { switchId } of armed) this.#desk.expireSwitch(switchId, wish.graceMs, wish.ownerId);
        return [];
      }
      for (const facts of armed) this.#hold(connection, holder, facts, wish);
      return [...holder.held.values()];
    });
  }

  /**
   * Ends all of them; nothing is cancelled. Returns the switches whose end the venue has not confirmed: the venue's own
   * may still fire.
   */
  async disarm(connection: Connection): Promise<readonly HeldSwitch[]> {
    return this.#alone(connection, async (holder) => {
      const ending: HeldSwitch[] = [];
      for (const { facts, graceMs, ownerId, timer } of [...holder.held.values()]) {
        this.#clock.clearTimer(timer);
        holder.held.delete(facts.switchId);
        const answer = await this.#desk.disarmSwitch(facts.switchId, ownerId);
        if (answer.ok && answer.armed.state === "ENDING") ending.push({ facts: answer.armed, graceMs });
      }
      return ending;
    });
  }

  /** The connection is lost: each switch fires when its grace period is over. */
  gone(connection: Connection): void {
    for (const { facts, graceMs, ownerId } of this.#takeAll(connection))
      this.#desk.expireSwitch(facts.switchId, graceMs, ownerId);
  }

  /** The service ends the connection because it stops: the desk decides the outcome of its switches. */
  leave(connection: Connection): void {
    this.#takeAll(connection);
  }

  #takeAll(connection: Connection): Held[] {
    const holder = this.#holders.get(connection);
    if (holder === undefined) return [];
    this.#holders.delete(connection);
    const all = [...holder.held.values()];
    for (const { timer } of all) this.#clock.clearTimer(timer);
    holder.held.clear();
    return all;
  }

  async #alone<T>(connection: Connection, run: (holder: Holder) => Promise<T>): Promise<T> {
    const holder = this.#holders.get(connection) ?? { held: new Map<string, Held>(), isBusy: false };
    if (holder.isBusy) throw new ServiceError("OVERLOADED", { limit: 1, retryAfterMs: RETRY_AFTER_MS });
    this.#holders.set(connection, holder);
    holder.isBusy = true;
    try {
      return await run(holder);
    } finally {
      holder.isBusy = false;
      if (holder.held.size === 0) this.#holders.delete(connection);
    }
  }

  async #armAll({ venues, blocks, timeoutMs, ownerId, payer }: DisconnectWish): Promise<readonly SwitchFacts[]> {
    const requests = venues.map((venue) => {
      const credentials = blocks[venue] ?? null;
      if (credentials === null) throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue });
      return { venue, credentials, timeoutMs, payer };
    });
    const answer = await this.#desk.armSwitches(requests, ownerId);
    if (!answer.ok) throw refusalError(answer, answer.venue);
    return answer.armed;
  }

  /** An account has one switch: a switch that a later arm of this connection replaced is dropped without notice. */
  async #dropReplaced({ held }: Holder, venues: readonly RoutableVenue[]): Promise<void> {
    const asked = [...held.values()].filter(({ facts }) => venues.includes(facts.venue));
    const answers = await Promise.all(asked.map(({ facts, ownerId }) => this.#desk.heartbeat(facts.switchId, ownerId)));
    for (const [index, { facts, timer }] of asked.entries()) {
      if (answers[index]?.ok === true) continue;
      this.#clock.clearTimer(timer);
      held.delete(facts.switchId);
    }
  }

  #hold(connection: Connection, holder: Holder, facts: SwitchFacts, { graceMs, ownerId }: DisconnectWish): void {
    const beatMs = facts.timeoutMs / BEATS_PER_TIMEOUT;
    const beat = (): void => {
      held.timer = this.#clock.setTimer(beat, beatMs);
      this.#desk.heartbeat(facts.switchId, ownerId).then(
        (answer) => {
          if (!answer.ok) this.#ended(connection, holder, held);
        },
        (error: unknown) => {
          this.#logger.error("stream.fault", { errorName: error instanceof Error ? error.name : "unknown" });
        },
      );
    };
    const held: Held = { facts, graceMs, ownerId, timer: this.#clock.setTimer(beat, beatMs) };
    holder.held.set(facts.switchId, held);
  }

  /** The switch fired, or was ended or replaced elsewhere. */
  #ended(connection: Connection, holder: Holder, { facts, timer }: Held): void {
    this.#clock.clearTimer(timer);
    if (!holder.held.delete(facts.switchId)) return;
    const { switchId, venue: exchange } = facts;
    this.#onEnded(connection, new ServiceError("SWITCH_NOT_FOUND", { exchange, switchId }));
  }
}
