/**
 * The dead-man's switches that venues have of their own, armed beside ours (dead-man.ts) where a venue has one.
 *
 * Invariants: the calls for one account go out one after the other, so that the last one sent is the one in force; a time
 * that the venue took, or may have taken, counts until the venue confirms its end.
 *
 * Bounds: MIN_REARM_MS between the arms of heartbeats; for each of our switches one arm that waits for its turn.
 */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { ScheduleOutcome } from "../../domain/order.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import { problemOf } from "../background.js";

export const CALL_TIMEOUT_MS = 5_000;
/** Venues count arms against the account's budget. */
const MIN_REARM_MS = 1_000;
/** The venue fires this much later than we: ours is the one that is reported, its own the one that is sure. */
const LATER_MS = 1_000;

/** What the venue's own switch covers, by its last answer: nothing (or not known), all orders, those of these symbols. */
type VenueCover = "nothing" | "account" | readonly string[];

/** What the venue may have in force for an account, whichever of our switches it was set for. */
interface VenueTime {
  /** The venue took a time to fire at, or may have, and no answer since has taken it back. */
  mayFire: boolean;
  /** Monotonic ms: the last moment at which it may, by all calls sent to it. */
  endsMs: number;
}

/** What is known of the venue's own switch beside one of ours. */
interface VenueTimer {
  cover: VenueCover;
  /** One object for a switch and all that replace it: a call for one of them may be answered after the next is armed. */
  readonly time: VenueTime;
  /** Monotonic ms. */
  armedMs: number;
  /** Monotonic ms: the time that the next arm names. */
  nextMs: number;
  /** An arm that has not gone out yet. It names the newest time, so that more of them would say the same. */
  waiting: Promise<void> | null;
}

/** Whose switch it is. */
export interface TimedAccount {
  readonly accountHash: string;
  readonly room: VenueRoom;
  readonly session: AccountSession;
  readonly atVenue: VenueTimer;
}

/** Before the first call. `before`: of the switch that this one replaces, which its venue may still have. */
export function venueTimer(before: VenueTimer | undefined): VenueTimer {
  return {
    cover: "nothing",
    time: before?.time ?? { mayFire: false, endsMs: 0 },
    armedMs: Number.NEGATIVE_INFINITY,
    nextMs: 0,
    waiting: null,
  };
}

/** Monotonic ms by which the venue has fired, or will not. `endsMs`: the end of ours. */
export function venueOverMs({ time }: VenueTimer, endsMs: number): number {
  return Math.max(time.endsMs, endsMs + LATER_MS);
}

export class VenueTimers {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By account. */
  readonly #lastCalls = new Map<string, Promise<void>>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Our switch stays armed whatever the venue answers of its own. `endsMs`: the end of ours, monotonic. */
  async arm(account: TimedAccount, endsMs: number): Promise<void> {
    if (account.room.orders.scheduleCancel === undefined) return;
    const { atVenue } = account;
    atVenue.armedMs = monoMs(this.#clock);
    atVenue.nextMs = endsMs + LATER_MS;
    atVenue.waiting ??= this.#armInTurn(account);
    await atVenue.waiting;
  }

  /** The first heartbeat after the shortest pause moves the venue's switch; the margin covers the ones before it. */
  isRearmDue({ armedMs, time }: VenueTimer): boolean {
    return time.mayFire && monoMs(this.#clock) - armedMs >= MIN_REARM_MS;
  }

  /** Ms for which the venue may still fire; 0: it will not. */
  leftMs({ time }: VenueTimer): number {
    return time.mayFire ? Math.max(0, time.endsMs - monoMs(this.#clock)) : 0;
  }

  /** Takes back what was set. The venue's confirmation shows in `mayFire`. */
  end(account: TimedAccount): Promise<unknown> {
    return this.#sync(account, () => null);
  }

  async #armInTurn(account: TimedAccount): Promise<void> {
    const { atVenue } = account;
    atVenue.cover = await this.#sync(account, () => {
      atVenue.waiting = null;
      return atVenue.nextMs;
    });
  }

  /** `endsAt`: called when the call goes out; monotonic ms, null takes back what was set. */
  #sync({ accountHash, room, session, atVenue }: TimedAccount, endsAt: () => number | null): Promise<VenueCover> {
    const { time } = atVenue;
    const call = (this.#lastCalls.get(accountHash) ?? Promise.resolve()).then(async (): Promise<VenueCover> => {
      const endsMs = endsAt();
      if (endsMs === null && !time.mayFire) return "nothing";
      // By the wall clock as it is now that the call goes out.
      const atMs = endsMs === null ? null : wallMsAt(this.#clock, endsMs);
      const outcome = await this.#schedule(room, session, atMs);
      // A refusal changes nothing of what was set before; without an answer either may be in force.
      if (endsMs !== null && outcome.outcome !== "rejected") {
        time.mayFire = true;
        time.endsMs = outcome.outcome === "accepted" ? endsMs : Math.max(time.endsMs, endsMs);
      }
      if (atMs === null && outcome.outcome === "accepted") {
        time.mayFire = false;
        atVenue.cover = "nothing";
      }
      return atMs !== null && outcome.outcome === "accepted" ? (outcome.symbols ?? "account") : "nothing";
    });
    const done: Promise<void> = call.then(() => {
      if (this.#lastCalls.get(accountHash) === done) this.#lastCalls.delete(accountHash);
    });
    this.#lastCalls.set(accountHash, done);
    return call;
  }

  async #schedule(room: VenueRoom, session: AccountSession, atMs: number | null): Promise<ScheduleOutcome> {
    try {
      const outcome = await room.orders.scheduleCancel?.(session, atMs, { timeoutMs: CALL_TIMEOUT_MS, lane: "exit" });
      return outcome ?? NO_SWITCH_THERE;
    } catch (error) {
      this.#logger.error("schedule_cancel_threw", { venue: room.venue, problem: problemOf(error) });
      return { outcome: "unknown", cause: "INTERNAL" };
    }
  }
}

export function monoMs(clock: Clock): number {
  return clock.monoNs() / 1e6;
}

export function wallMsAt(clock: Clock, atMonoMs: number): number {
  return Math.round(clock.wallMs() + atMonoMs - monoMs(clock));
}

const NO_SWITCH_THERE: ScheduleOutcome = {
  outcome: "rejected",
  reason: "VENUE_STATE",
  venueCode: "NOT_SUPPORTED",
  venueText: "",
  sent: false,
};
