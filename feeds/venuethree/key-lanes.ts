/**
 * Transactions of one API key, one at a time. The venue takes nonces of a key only in unbroken order, and requests over
 * several connections may overtake each other: so the next transaction is signed when the one before is answered.
 *
 *   waiting --turn--> (nonce known? else nextNonce) --> signed, sent --answer--> spent | kept | in doubt --> next turn
 *
 * Invariant: a nonce that the venue accepted is never signed again. One whose fate is open is read anew from the venue
 * before the next is signed: if the open transaction did not get through, another may take its nonce, and the venue
 * executes at most one of the two.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Lane, Read } from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import { LANES } from "../shared/lanes.js";

export interface Turn {
  readonly nonce: number;
  /** Once: the nonce to use next, or null where only the venue knows it. The next waiter goes on. */
  end(next: number | null): void;
}

export interface KeyLanesOptions {
  readonly clock: Clock;
  /** Waiting transactions of one key; one more is refused. */
  readonly maxWaiting?: number;
  /** Keys remembered; the least recently used idle one is forgotten, and asked for anew. */
  readonly maxKeys?: number;
}

interface Waiter {
  readonly lane: Lane;
  readonly go: (hasTurn: boolean) => void;
  readonly timer: TimerHandle;
}

interface KeyState {
  /** Null: to be read from the venue. */
  next: number | null;
  isBusy: boolean;
  /** In order of arrival; the most important lane goes first. */
  readonly waiting: Waiter[];
}

const MAX_WAITING = 512;
const MAX_KEYS = 4096;

export class KeyLanes {
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  readonly #maxKeys: number;
  /** In order of use, oldest first. */
  readonly #keys = new Map<string, KeyState>();

  constructor(options: KeyLanesOptions) {
    this.#clock = options.clock;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
    this.#maxKeys = options.maxKeys ?? MAX_KEYS;
  }

  get keyCount(): number {
    return this.#keys.size;
  }

  /** The venue told it beside something else. What was counted since it was asked is newer. */
  hint(key: string, nonce: number): void {
    const state = this.#keys.get(key);
    if (state === undefined) this.#touch(key).next = nonce;
    else if (!state.isBusy && state.waiting.length === 0) state.next ??= nonce;
  }

  /**
   * Waits for the turn of this key, at most `leftMs()`; `load` asks the venue for the nonce where it is not known. A
   * failure means that nothing was signed.
   */
  async acquire(key: string, lane: Lane, leftMs: () => number, load: () => Promise<Read<number>>): Promise<Read<Turn>> {
    const state = this.#touch(key);
    if (state.isBusy) {
      if (state.waiting.length >= this.#maxWaiting)
        return failedRead("RATE_LIMITED", "too many transactions of this key are waiting");
      if (!(await this.#wait(state, lane, leftMs()))) return failedRead("TIMEOUT", "the key was busy for too long");
    }
    state.isBusy = true;
    if (state.next === null) {
      const loaded = await settled(load);
      if (!loaded.ok) {
        this.#pass(state);
        return loaded;
      }
      state.next = loaded.value;
    }
    const nonce = state.next;
    let isEnded = false;
    const end = (next: number | null): void => {
      if (isEnded) return;
      isEnded = true;
      state.next = next;
      this.#pass(state);
    };
    return { ok: true, value: { nonce, end }, asOfMs: this.#clock.wallMs(), source: "venue" };
  }

  #wait(state: KeyState, lane: Lane, maxMs: number): Promise<boolean> {
    if (maxMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        lane,
        go: (hasTurn) => {
          this.#clock.clearTimer(waiter.timer);
          resolve(hasTurn);
        },
        timer: this.#clock.setTimer(() => {
          state.waiting.splice(state.waiting.indexOf(waiter), 1);
          resolve(false);
        }, maxMs),
      };
      state.waiting.push(waiter);
    });
  }

  /** Hands the turn on; the key stays busy while somebody has it. */
  #pass(state: KeyState): void {
    let best = -1;
    for (const [index, { lane }] of state.waiting.entries()) {
      if (best < 0 || LANES.indexOf(lane) < LANES.indexOf((state.waiting[best] as Waiter).lane)) best = index;
    }
    const [next] = best < 0 ? [] : state.waiting.splice(best, 1);
    if (next === undefined) state.isBusy = false;
    else next.go(true);
  }

  #touch(key: string): KeyState {
    let state = this.#keys.get(key);
    if (state === undefined) state = { next: null, isBusy: false, waiting: [] };
    else this.#keys.delete(key);
    this.#keys.set(key, state);
    if (this.#keys.size > this.#maxKeys) this.#forgetOldest(key);
    return state;
  }

  /** Busy ones stay, and then exceed the bound by themselves alone. */
  #forgetOldest(keep: string): void {
    for (const [key, state] of this.#keys) {
      if (key === keep || state.isBusy) continue;
      this.#keys.delete(key);
      return;
    }
  }
}

/** A loader that throws is a failed read: the turn must be handed on whatever happens. */
async function settled(load: () => Promise<Read<number>>): Promise<Read<number>> {
  try {
    return await load();
  } catch {
    return failedRead("VENUE_ERROR", "the nonce could not be read");
  }
}
