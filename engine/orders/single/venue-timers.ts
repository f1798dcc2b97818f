/**
 * The dead-man's switches that venues have of their own, armed beside ours (dead-man.ts) where a venue has one.
 *
 * Invariants: the calls for one account go out one after the other, so that the last one sent is the one in force; a time
 * that the venue took, or may have taken, counts until the venue confirms its end. A venue has one switch for an account,
 * whoever armed it: where several owners hold credentials of it, the venue gets the earliest of their times, and the end of
 * one leaves the others' in force.
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

/** The venue's own switch of one account, behind all of ours for that account. */
interface AccountTime {
  /** A call for one of ours may be answered after the next is armed. */
  readonly time: VenueTime;
  /** By owner: the time that the venue is to fire at for it, monotonic ms, and for which of its switches. */
  readonly wishes: Map<string, { readonly of: VenueTimer; readonly endsMs: number }>;
  userCount: number;
}

/** What is known of the venue's own switch beside one of ours. */
interface VenueTimer {
  cover: VenueCover;
  readonly account: AccountTime;
  /** The venue has confirmed that what it still has in force is for other owners. */
  isReleased: boolean;
  /** Monotonic ms. */
  armedMs: number;
  /** Monotonic ms: the time that the next arm names. */
  nextMs: number;
  /** An arm that has not gone out yet. It names the newest time, so that more of them would say the same. */
  waiting: Promise<void> | null;
}

/** Whose switch it is. */
export interface TimedAccount {
  /** Of the account at the venue. */
  readonly accountHash: string;
  /** Names the owner among those who have a switch for the account. */
  readonly holder: string;
  readonly room: VenueRoom;
  readonly session: AccountSession;
  readonly atVenue: VenueTimer;
}

/** Monotonic ms by which the venue has fired, or will not. `endsMs`: the end of ours. */
export function venueOverMs({ account }: VenueTimer, endsMs: number): number {
  return Math.max(account.time.endsMs, endsMs + LATER_MS);
}

/** May the venue still fire for this switch of ours? */
export function mayVenueFire({ account, isReleased }: VenueTimer): boolean {
  return account.time.mayFire && !isReleased;
}

export class VenueTimers {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By account. */
  readonly #lastCalls = new Map<string, Promise<void>>();
  /** By account: as long as one of our switches is there for it. */
  readonly #accounts = new Map<string, AccountTime>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Before the first call for a switch. `leave` ends it: before it the switch that this one replaces must not leave. */
  join(accountHash: string): VenueTimer {
    let account = this.#accounts.get(accountHash);
    if (account === undefined) {
      account = { time: { mayFire: false, endsMs: 0 }, wishes: new Map(), userCount: 0 };
      this.#accounts.set(accountHash, account);
    }
    account.userCount += 1;
    return {
      cover: "nothing",
      account,
      isReleased: false,
      armedMs: Number.NEGATIVE_INFINITY,
      nextMs: 0,
      waiting: null,
    };
  }

  /** The time that was set for it no longer counts beside those of other switches. */
  giveWay(switched: TimedAccount): void {
    dropWish(switched);
  }

  /** Once for each `join`. */
  leave(switched: TimedAccount): void {
    const { account } = switched.atVenue;
    dropWish(switched);
    account.userCount -= 1;
    if (account.userCount === 0 && this.#accounts.get(switched.accountHash) === account)
      this.#accounts.delete(switched.accountHash);
  }

  /** Our switch stays armed whatever the venue answers of its own. `endsMs`: the end of ours, monotonic. */
  async arm(account: TimedAccount, endsMs: number): Promise<void> {
    if (account.room.orders.scheduleCancel === undefined) return;
    const { atVenue, holder } = account;
    atVenue.armedMs = monoMs(this.#clock);
    atVenue.nextMs = endsMs + LATER_MS;
    atVenue.isReleased = false;
    atVenue.account.wishes.set(holder, { of: atVenue, endsMs: atVenue.nextMs });
    atVenue.waiting ??= this.#armInTurn(account);
    await atVenue.waiting;
  }

  /** The first heartbeat after the shortest pause moves the venue's switch; the margin covers the ones before it. */
  isRearmDue({ account, armedMs }: VenueTimer): boolean {
    return account.time.mayFire && monoMs(this.#clock) - armedMs >= MIN_REARM_MS;
  }

  /** Has the venue a time to come for all orders of the account? Where another owner's came, it has fired already. */
  coversAccount({ account, cover }: VenueTimer): boolean {
    return cover === "account" && account.time.mayFire && account.time.endsMs > monoMs(this.#clock);
  }

  /** Ms for which the venue may still fire for this switch; 0: it will not. Times of other owners are theirs to end. */
  leftMs(switched: TimedAccount): number {
    const { atVenue } = switched;
    if (!mayVenueFire(atVenue)) return 0;
    const nowMs = monoMs(this.#clock);
    const endsMs = atVenue.account.time.endsMs;
    const isOthers = earliestOfOthers(switched, nowMs) !== null;
    return Math.max(0, (isOthers ? Math.min(endsMs, atVenue.nextMs) : endsMs) - nowMs);
  }

  /** Takes back what was set, or leaves what other owners set. The venue's confirmation shows in `mayVenueFire`. */
  end(account: TimedAccount): Promise<unknown> {
    dropWish(account);
    return this.#sync(account, false);
  }

  async #armInTurn(account: TimedAccount): Promise<void> {
    const { atVenue } = account;
    atVenue.cover = await this.#sync(account, true);
  }

  /** `isArm`: for the time of this switch; otherwise without it. What is sent is decided when the call goes out. */
  #sync(switched: TimedAccount, isArm: boolean): Promise<VenueCover> {
    const { accountHash, room, atVenue } = switched;
    const { time } = atVenue.account;
    const call = (this.#lastCalls.get(accountHash) ?? Promise.resolve()).then(async (): Promise<VenueCover> => {
      if (isArm) atVenue.waiting = null;
      const others = earliestOfOthers(switched, monoMs(this.#clock));
      const endsMs = isArm ? Math.min(atVenue.nextMs, others ?? atVenue.nextMs) : others;
      if (endsMs === null && !time.mayFire) return "nothing";
      // By the wall clock as it is now that the call goes out.
      const atMs = endsMs === null ? null : wallMsAt(this.#clock, endsMs);
      // So is who signs it: a key may have been followed by another meanwhile.
      const outcome = await this.#schedule(room, switched.session, atMs);
      // A refusal changes nothing of what was set before; without an answer either may be in force.
      if (endsMs !== null && outcome.outcome !== "rejected") {
        time.mayFire = true;
        time.endsMs = outcome.outcome === "accepted" ? endsMs : Math.max(time.endsMs, endsMs);
      }
      if (atMs === null && outcome.outcome === "accepted") time.mayFire = false;
      if (!isArm && outcome.outcome === "accepted") {
        atVenue.isReleased = true;
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

function dropWish({ atVenue, holder }: TimedAccount): void {
  const { wishes } = atVenue.account;
  if (wishes.get(holder)?.of === atVenue) wishes.delete(holder);
}

/** Monotonic ms; null: no other owner has a switch whose time is to come. */
function earliestOfOthers({ atVenue, holder }: TimedAccount, nowMs: number): number | null {
  let earliest: number | null = null;
  for (const [other, { endsMs }] of atVenue.account.wishes)
    if (other !== holder && endsMs > nowMs) earliest = Math.min(endsMs, earliest ?? endsMs);
  return earliest;
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
