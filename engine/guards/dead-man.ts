/**
 * Dead-man's switches: all open orders of an account are cancelled unless a heartbeat comes in time. Where the venue
 * has such a switch it is armed there too, so that it fires even when this service is gone; when the time is up this
 * service cancels in any case.
 *
 *   armed ──heartbeat──→ armed        armed ──time is up──→ firing ──cancelled, or MAX_TRIES──→ gone
 *   armed ──disarm────→ gone          armed ──shutdown────→ firing, unless the venue has it
 *   armed ──expireIn──→ armed for a shorter time, or firing at once
 *
 * Invariants: the session is kept for this switch alone and closed when the switch is gone, whatever the end; one
 * account has at most one switch; a switch that began to fire is not called back.
 *
 * Bounds: MAX_SWITCHES (one more: OVERLOADED), MAX_TRIES cancels a firing, MIN_VENUE_REARM_MS between arms at a venue.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import { delay } from "../domain/clock.js";
import type { CancelOutcome } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountSession, VenueRoom } from "../ports.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import { problemOf, type Background } from "../orders/background.js";
import { cancelAllOrders } from "../orders/single/cancel-all.js";

const MAX_SWITCHES = 1_000;
export const MIN_TIMEOUT_MS = 5_000;
export const MAX_TIMEOUT_MS = 86_400_000;
const MAX_TRIES = 6;
const FIRST_RETRY_MS = 500;
const CALL_TIMEOUT_MS = 5_000;
/** Venues count arms against the account's budget. */
const MIN_VENUE_REARM_MS = 1_000;
/** The venue fires this much later than we: ours is the one that is heard of, its own the one that is sure. */
const VENUE_LATER_MS = 1_000;

interface ArmedSwitch {
  readonly switchId: string;
  readonly venue: RoutableVenue;
  readonly timeoutMs: number;
  readonly expiresAtMs: number;
  readonly venueArmed: boolean;
}

interface Switch {
  readonly id: string;
  readonly accountHash: string;
  readonly room: VenueRoom;
  readonly session: AccountSession;
  readonly timeoutMs: number;
  expiresAtMs: number;
  venueArmed: boolean;
  /** The venue took a time to fire at, or may have, and no word since has taken it back. */
  mayVenueFire: boolean;
  venueArmedAtMs: number;
  timer: TimerHandle;
  state: "armed" | "firing" | "gone";
}

interface DeadManOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomIds: RandomIds;
  readonly background: Background;
  readonly maxSwitches?: number;
}

export class DeadManSwitches {
  readonly #options: DeadManOptions;
  readonly #maxSwitches: number;
  readonly #byId = new Map<string, Switch>();
  readonly #byAccount = new Map<string, Switch>();
  /** Calls to an account's switch at its venue go one after the other: the last word is the last one said. */
  readonly #lastSaid = new Map<string, Promise<void>>();
  readonly #counts = { fired: 0, gaveUp: 0 };

  constructor(options: DeadManOptions) {
    this.#options = options;
    this.#maxSwitches = options.maxSwitches ?? MAX_SWITCHES;
  }

  /** Takes the session over, and closes it in any case. Null: too many switches. */
  async arm(
    room: VenueRoom,
    session: AccountSession,
    accountHash: string,
    timeoutMs: number,
  ): Promise<ArmedSwitch | null> {
    const { clock, randomIds } = this.#options;
    const before = this.#byAccount.get(accountHash);
    if (before === undefined && this.#byId.size >= this.#maxSwitches) {
      session.close();
      return null;
    }
    if (before?.state === "armed") this.#end(before);
    const armed: Switch = {
      id: randomIds.randomHex128(),
      accountHash,
      room,
      session,
      timeoutMs,
      expiresAtMs: clock.wallMs() + timeoutMs,
      venueArmed: false,
      mayVenueFire: before?.mayVenueFire ?? false,
      venueArmedAtMs: 0,
      timer: clock.setTimer(() => this.#expire(armed), timeoutMs),
      state: "armed",
    };
    this.#byId.set(armed.id, armed);
    this.#byAccount.set(accountHash, armed);
    await this.#armVenue(armed);
    return factsOf(armed);
  }

  /** Null: there is no such switch, or it fires already. */
  async heartbeat(switchId: string): Promise<ArmedSwitch | null> {
    const { clock } = this.#options;
    const armed = this.#byId.get(switchId);
    if (armed?.state !== "armed") return null;
    clock.clearTimer(armed.timer);
    armed.expiresAtMs = clock.wallMs() + armed.timeoutMs;
    armed.timer = clock.setTimer(() => this.#expire(armed), armed.timeoutMs);
    // The first heartbeat after the shortest pause moves the venue's switch; sooner ones are covered by its margin.
    const isDue = clock.wallMs() - armed.venueArmedAtMs >= MIN_VENUE_REARM_MS;
    if (armed.mayVenueFire && isDue) await this.#armVenue(armed);
    return factsOf(armed);
  }

  /** No heartbeat will come: fires after `delayMs`, sooner where its time is up sooner. False: no such switch, or it fires already. */
  expireIn(switchId: string, delayMs: number): boolean {
    const { clock } = this.#options;
    const armed = this.#byId.get(switchId);
    if (armed?.state !== "armed") return false;
    const dueMs = clock.wallMs() + delayMs;
    if (dueMs >= armed.expiresAtMs) return true;
    clock.clearTimer(armed.timer);
    armed.expiresAtMs = dueMs;
    if (delayMs > 0) armed.timer = clock.setTimer(() => this.#expire(armed), delayMs);
    else this.#expire(armed);
    return true;
  }

  /** Ends it at the venue too. Null: there is no such switch, or it fires already. */
  async disarm(switchId: string): Promise<ArmedSwitch | null> {
    const armed = this.#byId.get(switchId);
    if (armed?.state !== "armed") return null;
    const facts = factsOf(armed);
    this.#options.clock.clearTimer(armed.timer);
    armed.state = "gone";
    this.#forget(armed);
    try {
      await this.#sayToVenue(armed, null);
    } finally {
      armed.session.close();
    }
    return facts;
  }

  get armedCount(): number {
    return this.#byId.size;
  }

  counts(): { readonly fired: number; readonly gaveUp: number } {
    return { ...this.#counts };
  }

  /** No heartbeat can reach us any more. A switch that its venue has is left to it; the others fire now. */
  async stop(): Promise<void> {
    const firing: Promise<void>[] = [];
    for (const armed of [...this.#byId.values()]) {
      if (armed.state !== "armed") continue;
      this.#options.clock.clearTimer(armed.timer);
      if (armed.venueArmed) this.#end(armed);
      else firing.push(this.#fire(armed));
    }
    await Promise.all(firing);
  }

  #expire(armed: Switch): void {
    if (armed.state === "armed") this.#options.background.run("dead_man", this.#fire(armed));
  }

  async #fire(armed: Switch): Promise<void> {
    const { clock, logger } = this.#options;
    const { room, session } = armed;
    armed.state = "firing";
    this.#counts.fired += 1;
    logger.warn("dead_man_fired", { venue: room.venue });
    try {
      for (let tries = 1; ; tries++) {
        const outcome = await cancelAllOrders(this.#options, room, session, null, {
          timeoutMs: CALL_TIMEOUT_MS,
          lane: "exit",
        });
        if (outcome.outcome === "accepted" && outcome.failed.length === 0) {
          // What the venue's would cancel from here on are orders of a time after ours.
          if (this.#holds(armed)) await this.#sayToVenue(armed, null);
          return;
        }
        if (tries >= MAX_TRIES) break;
        await delay(clock, FIRST_RETRY_MS * 2 ** (tries - 1));
      }
      this.#counts.gaveUp += 1;
      logger.error("dead_man_gave_up", { venue: room.venue });
    } catch (error) {
      this.#counts.gaveUp += 1;
      logger.error("dead_man_failed", { venue: room.venue, problem: problemOf(error) });
    } finally {
      this.#end(armed);
    }
  }

  /** Our switch stands whatever the venue says of its own. */
  async #armVenue(armed: Switch): Promise<void> {
    if (armed.room.orders.scheduleCancel === undefined) return;
    armed.venueArmedAtMs = this.#options.clock.wallMs();
    armed.venueArmed = await this.#sayToVenue(armed, armed.expiresAtMs + VENUE_LATER_MS);
  }

  #sayToVenue(armed: Switch, atMs: number | null): Promise<boolean> {
    const { accountHash, room, session } = armed;
    const said = (this.#lastSaid.get(accountHash) ?? Promise.resolve()).then(async (): Promise<boolean> => {
      if (atMs === null && !armed.mayVenueFire) return true;
      const outcome = await this.#callVenue(room, session, atMs);
      // A refusal leaves what was said before; without an answer either may stand.
      if (atMs !== null && outcome !== "rejected") armed.mayVenueFire = true;
      if (atMs === null && outcome === "accepted") armed.mayVenueFire = false;
      return outcome === "accepted";
    });
    const done: Promise<void> = said.then(() => {
      if (this.#lastSaid.get(accountHash) === done) this.#lastSaid.delete(accountHash);
    });
    this.#lastSaid.set(accountHash, done);
    return said;
  }

  async #callVenue(room: VenueRoom, session: AccountSession, atMs: number | null): Promise<CancelOutcome["outcome"]> {
    try {
      const outcome = await room.orders.scheduleCancel?.(session, atMs, { timeoutMs: CALL_TIMEOUT_MS, lane: "exit" });
      return outcome?.outcome ?? "rejected";
    } catch (error) {
      this.#options.logger.error("schedule_cancel_threw", { venue: room.venue, problem: problemOf(error) });
      return "unknown";
    }
  }

  #end(armed: Switch): void {
    this.#options.clock.clearTimer(armed.timer);
    armed.state = "gone";
    this.#forget(armed);
    armed.session.close();
  }

  /** No other was armed for the account since: that one would have taken the venue's over. */
  #holds(armed: Switch): boolean {
    return this.#byAccount.get(armed.accountHash) === armed;
  }

  #forget(armed: Switch): void {
    this.#byId.delete(armed.id);
    if (this.#holds(armed)) this.#byAccount.delete(armed.accountHash);
  }
}

function factsOf(armed: Switch): ArmedSwitch {
  const { id: switchId, room, timeoutMs, expiresAtMs, venueArmed } = armed;
  return { switchId, venue: room.venue, timeoutMs, expiresAtMs, venueArmed };
}
