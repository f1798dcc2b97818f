/**
 * Who signs next: one act of a wallet at a time, in the order of arrival, and a bounded number waits. Places are bounded
 * over all wallets too. A caller whose time is over leaves the queue.
 */
import type { Clock } from "../../domain/clock.js";
import { unavailable } from "./session-outcomes.js";

interface Waiting {
  /** Behind others of its kind that began to wait before. */
  readonly begin: () => void;
}

/** At most `places` at once; at most `waitingMax` wait, beside those that go first, which whoever calls bounds. */
export class Turns {
  readonly #clock: Clock;
  readonly #places: number;
  readonly #waitingMax: number;
  readonly #waiting: Waiting[] = [];
  #taken = 0;

  constructor(clock: Clock, places: number, waitingMax: number) {
    this.#clock = clock;
    this.#places = places;
    this.#waitingMax = waitingMax;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get isIdle(): boolean {
    return this.#taken === 0 && this.#waiting.length === 0;
  }

  /** Rejects with SIGNER_UNAVAILABLE where too many wait, or when `waitMs` are over. */
  async run<Result>(waitMs: number, act: () => Promise<Result>, isFirst = false): Promise<Result> {
    if (this.#taken >= this.#places) await this.#wait(waitMs, isFirst);
    else this.#taken++;
    try {
      return await act();
    } finally {
      // The place goes to the next one without being free in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken--;
      else next.begin();
    }
  }

  #wait(waitMs: number, isFirst: boolean): Promise<void> {
    if (!isFirst && this.#waiting.length >= this.#waitingMax) return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimer(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(unavailable());
      }, waitMs);
      const waiting: Waiting = {
        begin: () => {
          this.#clock.clearTimer(timer);
          resolve();
        },
      };
      if (isFirst) this.#waiting.unshift(waiting);
      else this.#waiting.push(waiting);
    });
  }
}

/** One at a time for each wallet. */
export class WalletTurns {
  readonly #clock: Clock;
  readonly #waitingMax: number;
  readonly #turns = new Map<string, Turns>();

  constructor(clock: Clock, waitingMax: number) {
    this.#clock = clock;
    this.#waitingMax = waitingMax;
  }

  get waitingCount(): number {
    return [...this.#turns.values()].reduce((sum, turns) => sum + turns.waitingCount, 0);
  }

  async run<Result>(walletId: string, waitMs: number, act: () => Promise<Result>, isFirst = false): Promise<Result> {
    const turns = this.#turns.get(walletId) ?? new Turns(this.#clock, 1, this.#waitingMax);
    this.#turns.set(walletId, turns);
    try {
      return await turns.run(waitMs, act, isFirst);
    } finally {
      if (turns.isIdle) this.#turns.delete(walletId);
    }
  }
}
