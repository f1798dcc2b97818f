/**
 * Transactions of one API key in the order of their nonces. The venue takes nonces of a key only in unbroken order: so
 * each is signed and written when its turn comes, as many unanswered at once as the transport allows (nonce-window.ts).
 *
 *   waiting --turn--> (nonce known? else nextNonce) --> signed, written --answer--> spent | kept | refused | doubtful
 *
 * Invariant: turns start in the order of their nonces, and a start has written before the next begins. A nonce that the
 * venue accepted is never signed again. One of a lost transaction, which may have spent it, is signed again only where
 * the venue names it just then: if the lost one comes after all, the venue executes at most one of the two.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Lane, Read } from "../../../engine/ports.js";
import { failedRead, type FailedRead } from "../../shared/net/call-results.js";
import { LANES } from "../../shared/net/lanes.js";
import { type Flight, type NonceOutcome, NonceWindow, type Way } from "./nonce-window.js";

/** What waits for its turn. No method may throw. */
export interface LaneJob {
  readonly lane: Lane;
  leftMs(): number;
  /** Asks the venue for the nonce. */
  load(): Promise<Read<number>>;
  /** Signs and writes before it returns; the turn is ended once, when the outcome of its nonce is known. */
  start(turn: Turn): void;
  /** Nothing was signed (or nothing more, for one that comes again). */
  fail(why: FailedRead): void;
}

export interface Turn {
  readonly nonce: number;
  readonly wayId: number;
  /** A refused nonce would only follow from the outcome of an earlier one. */
  isBehind(): boolean;
  /** `again`: takes another turn, before all that came later in its lane. */
  end(outcome: NonceOutcome, again?: LaneJob): void;
}

export interface KeyLanesOptions {
  readonly clock: Clock;
  /** The transport as it is now. Default: single requests. */
  readonly way?: () => Way;
  /** Waiting transactions of one key; one more is refused. */
  readonly maxWaiting?: number;
  /** Keys remembered; the least recently used idle one is forgotten, and asked for again. */
  readonly maxKeys?: number;
}

/** One after the other: over several connections the order is not guaranteed. */
export const SINGLE_REQUESTS: Way = { id: 0, width: 1 };
/**
 * Unanswered transactions of one key over one connection: at 300 ms a round trip some 25 a second, and no more than so
 * many have to be signed again when one in their midst is refused.
 */
export const MAX_IN_FLIGHT = 8;
/**
 * Waited for the answers to those in flight once one was refused or lost. On one connection they come in order, so a
 * missing one is late already; it stays of unknown outcome by itself.
 */
const DRAIN_MS = 250;
/** A lost transaction may come to the venue for so long: a cancel, the longest, lives for 599 s (orders.ts). */
const LOST_FOR_MS = 605_000;
const MAX_WAITING = 512;
const MAX_KEYS = 4096;

interface Waiter {
  readonly job: LaneJob;
  /** Of the job's first arrival. */
  readonly arrival: number;
  readonly timer: TimerHandle;
}

interface KeyState {
  readonly window: NonceWindow;
  /** In no order; the most important lane goes first, then the first that came. */
  readonly waiting: Set<Waiter>;
  /** Turns that have not ended, those given up included. */
  turnCount: number;
  isLoading: boolean;
  isPumping: boolean;
  drain: TimerHandle | null;
  /** Of its last transaction, or when one in flight was given up. */
  endedNs: number;
}

export class KeyLanes {
  readonly #clock: Clock;
  readonly #way: () => Way;
  readonly #maxWaiting: number;
  readonly #maxKeys: number;
  /** In order of use, oldest first. */
  readonly #keys = new Map<string, KeyState>();
  #arrivals = 0;
  /** When the last transaction of a key that is forgotten was over. */
  #forgottenEndedNs = -1;

  constructor(options: KeyLanesOptions) {
    this.#clock = options.clock;
    this.#way = options.way ?? (() => SINGLE_REQUESTS);
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#maxKeys = options.maxKeys ?? MAX_KEYS;
  }

  get keyCount(): number {
    return this.#keys.size;
  }

  /** A nonce from an answer to something else, asked for at `askedNs` (monotonic). What was counted or ended since is newer. */
  hint(key: string, nonce: number, askedNs: number): void {
    const known = this.#keys.get(key);
    if (known === undefined) {
      // It may have been known, and its last transaction may have spent the nonce.
      if (this.#forgottenEndedNs < askedNs) this.#touch(key).window.hint(nonce);
    } else if (isIdle(known) && known.endedNs < askedNs) known.window.hint(nonce);
  }

  /** Starts the job in its turn, within the time it has, or fails it. */
  submit(key: string, job: LaneJob): void {
    const state = this.#touch(key);
    if (state.waiting.size >= this.#maxWaiting) {
      job.fail(failedRead("RATE_LIMITED", "too many transactions of this key are waiting"));
      return;
    }
    this.#enqueue(state, job, ++this.#arrivals);
    this.#pump(state);
  }

  #enqueue(state: KeyState, job: LaneJob, arrival: number): void {
    const leftMs = job.leftMs();
    if (leftMs <= 0) {
      job.fail(TOO_LATE);
      return;
    }
    const waiter: Waiter = {
      job,
      arrival,
      timer: this.#clock.setTimer(() => {
        state.waiting.delete(waiter);
        job.fail(TOO_LATE);
      }, leftMs),
    };
    state.waiting.add(waiter);
  }

  /** Starts all that may start. */
  #pump(state: KeyState): void {
    // A start that ends at once comes here again: the loop below sees to it.
    if (state.isPumping) return;
    state.isPumping = true;
    while (!state.isLoading) {
      const waiter = first(state.waiting);
      if (waiter === null) break;
      const way = this.#way();
      const { window } = state;
      if (!window.mayStart(way)) break;
      if (window.next === null) {
        if (window.isIdle) void this.#load(state, waiter);
        break;
      }
      this.#remove(state, waiter);
      this.#start(state, waiter, window.start(way));
    }
    state.isPumping = false;
  }

  #start(state: KeyState, { job, arrival }: Waiter, flight: Flight): void {
    let isEnded = false;
    state.turnCount++;
    job.start({
      nonce: flight.nonce,
      wayId: flight.wayId,
      isBehind: () => state.window.isBehind(flight),
      end: (outcome, again) => {
        if (isEnded) return;
        isEnded = true;
        state.turnCount--;
        state.endedNs = this.#clock.monoNs();
        state.window.end(flight, outcome);
        if (again !== undefined) this.#enqueue(state, again, arrival);
        this.#watchDrain(state);
        this.#pump(state);
      },
    });
  }

  #watchDrain(state: KeyState): void {
    const { window } = state;
    if (window.isHeld && state.drain === null) {
      state.drain = this.#clock.setTimer(() => {
        state.drain = null;
        state.endedNs = this.#clock.monoNs();
        window.abandon();
        this.#pump(state);
      }, DRAIN_MS);
    } else if (!window.isHeld && state.drain !== null) {
      this.#clock.clearTimer(state.drain);
      state.drain = null;
    }
  }

  async #load(state: KeyState, waiter: Waiter): Promise<void> {
    state.isLoading = true;
    const loaded = await settled(waiter.job);
    state.isLoading = false;
    if (!loaded.ok) {
      if (this.#remove(state, waiter)) waiter.job.fail(loaded);
    } else if (state.waiting.size > 0) state.window.name(loaded.value);
    else state.window.hint(loaded.value);
    this.#pump(state);
  }

  #remove(state: KeyState, waiter: Waiter): boolean {
    this.#clock.clearTimer(waiter.timer);
    return state.waiting.delete(waiter);
  }

  #touch(key: string): KeyState {
    let state = this.#keys.get(key);
    if (state === undefined) {
      const window = new NonceWindow(MAX_IN_FLIGHT);
      state = {
        window,
        waiting: new Set(),
        turnCount: 0,
        isLoading: false,
        isPumping: false,
        drain: null,
        endedNs: -1,
      };
    } else this.#keys.delete(key);
    this.#keys.set(key, state);
    if (this.#keys.size > this.#maxKeys) this.#forgetOldest(key);
    return state;
  }

  /** Those with transactions under way stay, lost ones included, and then exceed the bound by themselves alone. */
  #forgetOldest(keep: string): void {
    const lostSinceNs = this.#clock.monoNs() - LOST_FOR_MS * 1e6;
    for (const [key, state] of this.#keys) {
      const { endedNs, window } = state;
      if (key === keep || !isIdle(state) || (window.isAnyLost && endedNs >= lostSinceNs)) continue;
      this.#forgottenEndedNs = Math.max(this.#forgottenEndedNs, endedNs);
      this.#keys.delete(key);
      return;
    }
  }
}

const TOO_LATE = failedRead("TIMEOUT", "the key was busy for too long");

function isIdle({ turnCount, waiting, isLoading }: KeyState): boolean {
  return turnCount === 0 && waiting.size === 0 && !isLoading;
}

function first(waiting: ReadonlySet<Waiter>): Waiter | null {
  let best: Waiter | null = null;
  for (const waiter of waiting) if (best === null || isBefore(waiter, best)) best = waiter;
  return best;
}

function isBefore(left: Waiter, right: Waiter): boolean {
  const rank = LANES.indexOf(left.job.lane) - LANES.indexOf(right.job.lane);
  return rank === 0 ? left.arrival < right.arrival : rank < 0;
}

/** A loader that throws is a failed read: the turn must be handed on in every case. */
async function settled(job: LaneJob): Promise<Read<number>> {
  try {
    return await job.load();
  } catch {
    return failedRead("VENUE_ERROR", "the nonce could not be read");
  }
}
