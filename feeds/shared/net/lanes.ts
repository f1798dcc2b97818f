/**
 * The request budget one venue grants one egress IP, divided into lanes by importance.
 *
 * Sliding window: over any `windowMs` at most `budget` weight is granted. Each lane owns a share of the
 * budget and a part of it is held back for that lane alone: all of it for `exit`, so a close never waits
 * behind reads; half of it for the others. What is not held back flows down: whoever asks first, by
 * priority (lane-queue.ts), may use it. `exit` may use everything.
 *
 * Callers share a lane. The share of each is what the lane has of the window, divided by one more than its callers. Who
 * is above its share leaves two things: the last quarter of what is held back for the lane, to all others together, and to
 * each other caller below its share as much again as that used within the window, at most up to its share. So a caller
 * that comes into a burst of another finds the last quarter at once, and can double its use in each window until it has
 * its share. What has no caller is our own and bound by the lane alone, and so are strangers by their part of it
 * (unproven-part.ts): nothing is left for them here.
 *
 * The venue's own count is the truth: when it reports more than we counted, the difference (another
 * process on the same IP) is charged too.
 */
import type { Lane } from "../../../engine/ports.js";
import { CallerShares } from "./caller-shares.js";
import { WeightWindow } from "./weight-window.js";

/** Highest priority first. */
export const LANES: readonly Lane[] = ["exit", "trade", "reconcile", "read", "background"];

/** Share of the budget per lane (auth-and-limits design, "Outbound"). */
export const LANE_SHARES: Readonly<Record<Lane, number>> = {
  exit: 0.25,
  trade: 0.35,
  reconcile: 0.2,
  read: 0.15,
  background: 0.05,
};

/** Part of the share that no other lane may borrow. */
const HELD_BACK: Readonly<Record<Lane, number>> = { exit: 1, trade: 0.5, reconcile: 0.5, read: 0.5, background: 0.5 };

/** Part of what is held back for a lane that is left to callers below their share. */
const LAST_PART = 0.25;

export interface LaneBudgetOptions {
  /** Weight per window. */
  readonly budget: number;
  readonly windowMs: number;
}

/** Who strangers are together, where a lane is shared by callers; no caller has this name. */
export const UNPROVEN = "\0unproven";

/** All of our own together, where turns are given by use; no caller has this name. */
const NO_CALLER = "";
const NO_CALLERS = [NO_CALLER, UNPROVEN] as const;

interface LaneUse {
  readonly lane: Lane;
  readonly heldBack: number;
  readonly window: WeightWindow;
  /** Of it, what those took who may borrow, borrowed or not. */
  readonly ofBorrowers: WeightWindow;
  readonly callers: CallerShares;
}

export class LaneBudget {
  readonly budget: number;
  readonly windowMs: number;
  readonly #uses: readonly LaneUse[];
  readonly #byLane: Readonly<Record<Lane, LaneUse>>;
  /** All weight, foreign use included. */
  readonly #total: WeightWindow;
  /** Of it, what came out of what is held back for idle lanes. */
  readonly #lent: WeightWindow;

  constructor(options: LaneBudgetOptions) {
    this.budget = options.budget;
    this.windowMs = options.windowMs;
    const use = (lane: Lane): LaneUse => ({
      lane,
      heldBack: Math.floor(options.budget * LANE_SHARES[lane] * HELD_BACK[lane]),
      window: new WeightWindow(options.windowMs),
      ofBorrowers: new WeightWindow(options.windowMs),
      callers: new CallerShares(options.windowMs),
    });
    this.#byLane = {
      exit: use("exit"),
      trade: use("trade"),
      reconcile: use("reconcile"),
      read: use("read"),
      background: use("background"),
    };
    this.#uses = LANES.map((lane) => this.#byLane[lane]);
    this.#total = new WeightWindow(options.windowMs);
    this.#lent = new WeightWindow(options.windowMs);
  }

  /**
   * Weight this lane could take now; negative when the venue counted more than the budget. `borrowsIdle`: also what is
   * held back for lanes that were not used for a whole window; never what is held back for `exit`.
   */
  available(lane: Lane, nowMs: number, borrowsIdle = false): number {
    return this.budget - this.#total.used(nowMs) - this.#protectedFrom(lane, nowMs, borrowsIdle);
  }

  /** The most a lane can ever take at once. */
  ceiling(lane: Lane): number {
    if (lane === "exit") return this.budget;
    let ceiling = this.budget;
    for (const use of this.#uses) if (use.lane !== lane) ceiling -= use.heldBack;
    return ceiling;
  }

  tryTake(lane: Lane, weight: number, nowMs: number): boolean {
    if (weight > this.available(lane, nowMs)) return false;
    this.charge(lane, weight, nowMs);
    return true;
  }

  /** Would the weight come out of what this lane leaves to callers below their share, and is this one above its own? */
  isBeyondShare(lane: Lane, caller: string | null, weight: number, nowMs: number): boolean {
    if (caller === null) return false;
    const { heldBack, callers, window } = this.#byLane[lane];
    const available = this.available(lane, nowMs);
    const spare = available - weight - heldBack * LAST_PART;
    const ofLane = window.used(nowMs);
    // Nobody is left more than it used.
    if (spare >= ofLane) return false;
    const used = callers.used(caller, nowMs);
    // Among many the share may be less than one call weighs: then no caller could take the last part.
    if (used === 0) return false;
    const others = callers.activeCount(nowMs) - 1;
    // What other lanes took is not there to be shared: one caller's share of a whole lane could be all that is left of it.
    const share = Math.min(this.ceiling(lane), available + ofLane) / (others + 2);
    if (used + weight <= share) return false;
    return spare < callers.growth(share, caller, NO_CALLERS, nowMs);
  }

  usedBy(lane: Lane, caller: string | null, nowMs: number): number {
    return this.#byLane[lane].callers.used(caller ?? NO_CALLER, nowMs);
  }

  chargeCaller(lane: Lane, caller: string | null, weight: number, nowMs: number): void {
    this.#byLane[lane].callers.add(caller ?? NO_CALLER, weight, nowMs);
  }

  /** Charges weight that is already spent (rows of an answer), whatever is left. `borrowsIdle`: as it was admitted. */
  charge(lane: Lane, weight: number, nowMs: number, borrowsIdle = false): void {
    const use = this.#byLane[lane];
    if (borrowsIdle) {
      const own = Math.max(0, this.available(lane, nowMs));
      if (weight > own) this.#lent.add(nowMs, weight - own);
      use.ofBorrowers.add(nowMs, weight);
    }
    use.window.add(nowMs, weight);
    this.#total.add(nowMs, weight);
  }

  /** The venue's own count over its current window, which ends after `resetMs` where the venue names it. */
  reportUsed(usedByVenue: number, nowMs: number, resetMs: number = this.windowMs): void {
    const unknown = usedByVenue - this.#total.used(nowMs);
    if (Number.isFinite(unknown) && unknown > 0) this.#total.addFor(nowMs, unknown, resetMs);
  }

  /** Earliest time at which some weight returns; a lower bound for the wait of a refused taker. */
  msUntilRelease(nowMs: number): number {
    const used = this.#total.used(nowMs);
    return used === 0 ? 0 : Math.min(this.windowMs, this.#total.msUntilAtMost(nowMs, used - 1));
  }

  /** Estimate for `retryAfterMs`: when that much weight will have returned. */
  msUntilAvailable(lane: Lane, weight: number, nowMs: number): number {
    const missing = weight - this.available(lane, nowMs);
    if (missing <= 0) return 0;
    const target = Math.max(0, this.#total.used(nowMs) - missing);
    return Math.min(2 * this.windowMs, this.#total.msUntilAtMost(nowMs, target));
  }

  #protectedFrom(lane: Lane, nowMs: number, borrowsIdle: boolean): number {
    if (lane === "exit") return 0;
    let held = 0;
    let idle = 0;
    for (const use of this.#uses) {
      if (use.lane === lane) continue;
      const used = use.window.used(nowMs);
      // However much some exits took, the last part is there for the others.
      if (use.lane === "exit") held += Math.max(use.heldBack * LAST_PART, use.heldBack - used);
      else if (used === 0) idle += use.heldBack;
      else held += Math.max(0, use.heldBack - used);
    }
    if (borrowsIdle) return held;
    // What was lent is gone from what is held back; it must not be missing a second time to those who do not borrow. To
    // those of the borrowers' own lane nothing is missing that borrowers took of it: they wait for none of them.
    const { ofBorrowers } = this.#byLane[lane];
    return held + Math.max(0, idle - Math.max(this.#lent.used(nowMs), ofBorrowers.used(nowMs)));
  }
}
