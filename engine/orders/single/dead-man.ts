/**
 * Dead-man's switches: all open orders of an account are cancelled unless a heartbeat comes in time. Where the venue
 * has such a switch it is armed there too (venue-timers.ts), so that it fires even when this service is gone; when the time
 * is up this service cancels in any case.
 *
 *   armed ──heartbeat──→ armed        armed ──time is up──→ firing
 *   firing ──cancelled, or MAX_FIRE_TRIES; and its venue confirms an end, or its time is over──→ gone
 *   armed ──disarm────→ ending        ending ──the venue confirms, or its time is over──→ gone
 *   armed ──shutdown────→ firing, unless the venue's covers the whole account
 *   armed ──expireIn──→ armed for a shorter time, or firing at once; at a shutdown firing in any case
 *
 * Invariants: the session is kept for this switch alone and closed when the switch is gone, whatever the end; of a server
 * wallet it is the one of the key that trades when it is needed (kept-session.ts); one
 * account has at most one switch of each owner, and only its owner reaches it; a switch that began to fire is not called back; a switch that its venue may still have
 * is known here until the venue confirms its end.
 *
 * A switch counts on the monotonic clock: a wall clock that is set moves neither its end nor the time that its venue gets.
 *
 * Arming has two steps: everything that can refuse it is checked first, and a refusal leaves an armed switch as it is.
 *
 * Bounds: MAX_SWITCHES, half of them for one owner (one more: OVERLOADED), MAX_FIRE_TRIES cancels a firing, MAX_TRIES from a shutdown on, MAX_TRIES
 * ends sent for one disarm or firing.
 */
import { type Clock, type TimerHandle, delay } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { Owners } from "../../domain/owner.js";
import { SharedRoom } from "../../domain/shared-room.js";
import type { VenueRoom } from "../../ports.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import { problemOf, type Background } from "../background.js";
import { cancelAllOrders } from "./cancel-all.js";
import type { KeptSession } from "./kept-session.js";
import type { SwitchFacts } from "./switch-desk.js";
import { factsOf } from "./switch-facts.js";
import { CALL_TIMEOUT_MS, monoMs, venueOverMs, mayVenueFire, VenueTimers, type TimedAccount } from "./venue-timers.js";

const MAX_SWITCHES = 1_000;
export const MIN_TIMEOUT_MS = 5_000;
export const MAX_TIMEOUT_MS = 86_400_000;
/** Of the end of one, and of cancels where somebody waits for them: at a shutdown, or with another armed since. */
const MAX_TRIES = 6;
/** Some ten minutes: its caller is gone, and a venue that is away for minutes would keep the orders for good. */
const MAX_FIRE_TRIES = 17;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/** Checked, with its place kept. Ends with one call of the two. */
export interface PreparedSwitch {
  /** Replaces the account's switch. */
  arm(): Promise<SwitchFacts>;
  /** Closes the session; the switch before it stays. */
  drop(): void;
}

interface Switch extends TimedAccount {
  readonly id: string;
  readonly kept: KeptSession;
  readonly ownerId: string | null;
  readonly timeoutMs: number;
  /** Monotonic ms. */
  endsMs: number;
  /** Its caller will not call any more. */
  isLeft: boolean;
  timer: TimerHandle;
  state: "armed" | "ending" | "firing" | "gone";
  /** The end is sent to the venue again, with pauses. */
  isEndRepeated: boolean;
}

/** Whose switch, for which account at the venue. */
interface SwitchHolder {
  /** Keyed hash of the account behind the key, whoever asks. */
  readonly accountHash: string;
  readonly ownerId: string | null;
}

interface DeadManOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomIds: RandomIds;
  readonly owners: Owners;
  readonly background: Background;
  readonly maxSwitches?: number;
}

export class DeadManSwitches {
  readonly #options: DeadManOptions;
  readonly #byId = new Map<string, Switch>();
  /** By the account and its owner. */
  readonly #byHolder = new Map<string, Switch>();
  /** A place for each switch that is known, and for each that is checked and not yet armed. */
  readonly #places: SharedRoom;
  readonly #venueTimers: VenueTimers;
  readonly #counts = { fired: 0, gaveUp: 0 };
  /** Firings that wait for their next try. */
  readonly #wakes = new Map<Switch, () => void>();
  #isStopping = false;

  constructor(options: DeadManOptions) {
    this.#options = options;
    this.#venueTimers = new VenueTimers(options.clock, options.logger);
    this.#places = new SharedRoom(options.maxSwitches ?? MAX_SWITCHES);
  }

  /** Takes the session over, and closes it in any case. Null when there are too many switches. */
  prepare(room: VenueRoom, session: KeptSession, holder: SwitchHolder, timeoutMs: number): PreparedSwitch | null {
    const { ownerId } = holder;
    // One that takes the place of another needs none of its own, once that one is gone.
    if (this.#heldBy(holder).length > 0) this.#places.force(ownerId);
    else if (!this.#places.enter(ownerId)) {
      session.close();
      return null;
    }
    return {
      arm: () => this.#arm(room, session, holder, timeoutMs),
      drop: () => {
        this.#places.leave(ownerId);
        session.close();
      },
    };
  }

  async #arm(
    room: VenueRoom,
    kept: KeptSession,
    { accountHash, ownerId }: SwitchHolder,
    timeoutMs: number,
  ): Promise<SwitchFacts> {
    const { clock, randomIds } = this.#options;
    const holder = holderKey({ accountHash, ownerId });
    const held = this.#heldBy({ accountHash, ownerId });
    const atVenue = this.#venueTimers.join(accountHash);
    for (const before of held) this.#giveWay(before);
    const armed: Switch = {
      id: randomIds.randomHex128(),
      ownerId,
      accountHash,
      holder,
      room,
      get session() {
        return kept.present;
      },
      kept,
      timeoutMs,
      endsMs: monoMs(clock) + timeoutMs,
      isLeft: false,
      atVenue,
      timer: clock.setTimer(() => this.#expire(armed), timeoutMs),
      state: "armed",
      isEndRepeated: false,
    };
    this.#byId.set(armed.id, armed);
    this.#byHolder.set(holder, armed);
    // The next try of one that fires comes now: a minute later it would cancel what the caller, who is back, places.
    for (const before of held) this.#wakes.get(before)?.();
    await this.#venueTimers.arm(armed, armed.endsMs);
    return factsOf(clock, armed);
  }

  /** Null when there is no such switch, or it fires already. */
  async heartbeat(switchId: string, ownerId: string | null): Promise<SwitchFacts | null> {
    const { clock } = this.#options;
    const armed = this.#reached(switchId, ownerId);
    if (armed?.state !== "armed") return null;
    clock.clearTimer(armed.timer);
    armed.isLeft = false;
    armed.endsMs = monoMs(clock) + armed.timeoutMs;
    armed.timer = clock.setTimer(() => this.#expire(armed), armed.timeoutMs);
    if (this.#venueTimers.isRearmDue(armed.atVenue)) await this.#venueTimers.arm(armed, armed.endsMs);
    return factsOf(clock, armed);
  }

  /** No heartbeat will come: fires after `delayMs`, sooner where its time is up sooner. False: no such switch, or it fires already. */
  expireIn(switchId: string, delayMs: number, ownerId: string | null): boolean {
    const { clock } = this.#options;
    const armed = this.#reached(switchId, ownerId);
    if (armed?.state !== "armed") return false;
    armed.isLeft = true;
    const dueMs = monoMs(clock) + delayMs;
    if (dueMs >= armed.endsMs) return true;
    clock.clearTimer(armed.timer);
    armed.endsMs = dueMs;
    if (delayMs > 0) armed.timer = clock.setTimer(() => this.#expire(armed), delayMs);
    else this.#expire(armed);
    return true;
  }

  /**
   * Ends it at the venue too. One that the venue has not confirmed to have ended is ENDING: its end is sent again, here
   * and by the next call. Null when there is no such switch, or it fires already.
   */
  async disarm(switchId: string, ownerId: string | null): Promise<SwitchFacts | null> {
    const { background, clock } = this.#options;
    const armed = this.#reached(switchId, ownerId);
    if (armed?.state !== "armed" && armed?.state !== "ending") return null;
    if (armed.state === "armed") {
      clock.clearTimer(armed.timer);
      armed.state = "ending";
      const overMs = venueOverMs(armed.atVenue, armed.endsMs) - monoMs(clock);
      armed.timer = clock.setTimer(() => this.#end(armed), Math.max(0, overMs));
    }
    if (!(await this.#endAtVenue(armed)) && !armed.isEndRepeated) {
      armed.isEndRepeated = true;
      background.run("dead_man_end", this.#repeatEnd(armed));
    }
    return factsOf(clock, armed);
  }

  /** Undefined: no such switch, or another owner's. */
  #reached(switchId: string, ownerId: string | null): Switch | undefined {
    const armed = this.#byId.get(switchId);
    return armed !== undefined && this.#options.owners.reaches(ownerId, armed.ownerId) ? armed : undefined;
  }

  /** The account's switches that the owner reaches: its own, and that of public mode where it adopted that. */
  #heldBy({ accountHash, ownerId }: SwitchHolder): readonly Switch[] {
    return this.#options.owners.reachedBy(ownerId).flatMap((owner) => {
      const held = this.#byHolder.get(holderKey({ accountHash, ownerId: owner }));
      return held === undefined ? [] : [held];
    });
  }

  /** Another one takes its place. */
  #giveWay(before: Switch): void {
    if (before.state === "armed" || before.state === "ending") {
      this.#end(before);
      return;
    }
    // One that fires goes on by itself, and what its venue has is the other's to end.
    this.#byHolder.delete(before.holder);
    this.#venueTimers.giveWay(before);
  }

  get armedCount(): number {
    return this.#byId.size;
  }

  counts(): { readonly fired: number; readonly gaveUp: number } {
    return { ...this.#counts };
  }

  /**
   * No heartbeat can reach us any more. A switch that its venue has for the whole account is left to it. The others fire
   * now: one by symbol would miss an order of a symbol that it does not cover, and one that nobody calls for any more
   * would have its orders wait for the venue's whole time.
   */
  async stop(): Promise<void> {
    const firing: Promise<void>[] = [];
    this.#isStopping = true;
    for (const wake of this.#wakes.values()) wake();
    for (const armed of [...this.#byId.values()]) {
      // Its end was sent; its session does not outlive this service.
      if (armed.state === "ending") this.#end(armed);
      if (armed.state !== "armed") continue;
      this.#options.clock.clearTimer(armed.timer);
      if (!this.#venueTimers.coversAccount(armed.atVenue) || armed.isLeft) {
        firing.push(this.#fire(armed));
        continue;
      }
      // Its time counts at the venue on: the end of another owner's switch, which fires here, leaves it in force.
      this.#byId.delete(armed.id);
      this.#end(armed);
    }
    await Promise.all(firing);
  }

  /** At the end of a shutdown: what is still here may leave orders open that its caller believes canceled. */
  reportUnfinished(): void {
    for (const armed of this.#byId.values())
      this.#options.logger.error("dead_man_unfinished", { venue: armed.room.venue, state: armed.state });
  }

  /** Returns true when nothing is left to send, and it is gone. */
  async #endAtVenue(armed: Switch): Promise<boolean> {
    await this.#venueTimers.end(armed);
    if (armed.state === "ending" && !mayVenueFire(armed.atVenue)) this.#end(armed);
    return armed.state !== "ending";
  }

  async #repeatEnd(armed: Switch): Promise<void> {
    for (let tries = 1; tries < MAX_TRIES; tries++) {
      await delay(this.#options.clock, FIRST_RETRY_MS * 2 ** (tries - 1));
      if (armed.state !== "ending" || (await this.#endAtVenue(armed))) return;
    }
    this.#options.logger.warn("dead_man_end_unconfirmed", { venue: armed.room.venue });
  }

  #expire(armed: Switch): void {
    if (armed.state === "armed") this.#options.background.run("dead_man", this.#fire(armed));
  }

  async #fire(armed: Switch): Promise<void> {
    const { logger } = this.#options;
    const { room } = armed;
    armed.state = "firing";
    this.#counts.fired += 1;
    logger.warn("dead_man_fired", { venue: room.venue });
    let isCounted = this.#isStopping;
    try {
      for (let tries = 1; ; tries++) {
        const outcome = await cancelAllOrders(this.#options, room, armed.session, null, {
          timeoutMs: CALL_TIMEOUT_MS,
          lane: "exit",
        });
        if (outcome.outcome === "accepted" && outcome.failed.length === 0) {
          // What the venue's would cancel from here on are orders of a time after ours.
          await this.#endFired(armed);
          return;
        }
        // A shutdown counts from its own beginning: minutes of tries before it would leave it one, and long pauses.
        if (this.#isStopping && this.#holds(armed) && !isCounted) {
          isCounted = true;
          tries = 1;
        }
        const isAwaited = this.#isStopping || !this.#holds(armed);
        if (tries >= (isAwaited ? MAX_TRIES : MAX_FIRE_TRIES)) break;
        await this.#pause(armed, Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1)));
      }
      this.#counts.gaveUp += 1;
      logger.error("dead_man_gave_up", { venue: room.venue });
    } catch (error) {
      this.#counts.gaveUp += 1;
      logger.error("dead_man_failed", { venue: room.venue, problem: problemOf(error) });
    } finally {
      await this.#outlast(armed);
      this.#end(armed);
    }
  }

  /** One that fired early may leave its venue a time that is far off: it is ended there as one that is disarmed. */
  async #endFired(armed: Switch): Promise<void> {
    for (let tries = 1; tries <= MAX_TRIES && this.#holds(armed); tries++) {
      await this.#venueTimers.end(armed);
      const leftMs = this.#venueTimers.leftMs(armed);
      if (leftMs === 0 || this.#isStopping) return;
      await this.#pause(armed, Math.min(leftMs, FIRST_RETRY_MS * 2 ** (tries - 1)));
    }
  }

  /** One that is done stays known while its venue may fire: the next one of its account takes that time over. */
  async #outlast(armed: Switch): Promise<void> {
    while (this.#holds(armed) && !this.#isStopping) {
      const leftMs = this.#venueTimers.leftMs(armed);
      if (leftMs === 0) return;
      await this.#pause(armed, leftMs);
    }
  }

  /** Cut short by a shutdown, and where another is armed for the account. */
  #pause(armed: Switch, ms: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const wake = (): void => {
        clock.clearTimer(timer);
        this.#wakes.delete(armed);
        resolve();
      };
      const timer = clock.setTimer(wake, ms);
      this.#wakes.set(armed, wake);
    });
  }

  #end(armed: Switch): void {
    this.#options.clock.clearTimer(armed.timer);
    if (armed.state !== "gone") this.#places.leave(armed.ownerId);
    armed.state = "gone";
    if (this.#byId.delete(armed.id)) this.#venueTimers.leave(armed);
    if (this.#holds(armed)) this.#byHolder.delete(armed.holder);
    armed.kept.close();
  }

  /** Its owner armed no other for the account since: that one would have taken the venue's over. */
  #holds(armed: Switch): boolean {
    return this.#byHolder.get(armed.holder) === armed;
  }
}

function holderKey({ accountHash, ownerId }: SwitchHolder): string {
  return ownerId === null ? accountHash : `${accountHash} ${ownerId}`;
}
