/**
 * The life of one market's book subscription: asked for, served, lost, repaired. The venue answers a good subscription
 * with a snapshot and a bad one with an error that names no channel, or with nothing; so success is judged by deadline.
 *
 *   asked ──snapshot──► served ──recover──► leaving ──acknowledged──► joining ──snapshot──► served
 *     └──deadline──► leaving                   └──deadline──┘             └──deadline──► backoff ──► leaving
 *                                               after ATTEMPTS_BEFORE_REFUSED: refused, tried again much later
 *
 * A second subscribe while the first is in force is refused (30003) and brings no snapshot: a repair is unsubscribe,
 * wait for the acknowledgement, subscribe, wait for the snapshot.
 *
 * Invariants: at most one repair in flight per market (feeds/shared/book/resync.ts: full jitter between attempts); the book
 * has been invalidated before a repair begins; a deadline runs from the moment a request was written, not queued.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Random } from "../../../engine/domain/random.js";
import { Resync } from "../../shared/book/resync.js";
import {
  ATTEMPTS_BEFORE_REFUSED,
  EARLY_GRACE_MS,
  REFUSED_RETRY_MS,
  SUBSCRIBE_DEADLINE_MAX_MS,
  SUBSCRIBE_DEADLINE_MS,
  UNSUBSCRIBE_DEADLINE_MS,
} from "../rules/limits.js";

const BACKOFF = { baseMs: 250, capMs: 5_000 } as const;
/** A request that was never written: the pace holds messages for a minute at most. */
const UNWRITTEN_DEADLINE_MS = 90_000;

export interface BookSubscriptionOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Take the channel off the connection, and put it on. */
  readonly leave: () => void;
  readonly join: () => void;
  readonly isServed: () => boolean;
  /** Before each attempt: the book waits for a snapshot. */
  readonly onAttempt: () => void;
  /** Given up for REFUSED_RETRY_MS; taken off the connection. */
  readonly onRefused: (attemptCount: number) => void;
}

type Waiting = "nothing" | "leaving" | "joining";

export class BookSubscription {
  readonly #options: BookSubscriptionOptions;
  readonly #repair: Resync<never, true>;
  #waiting: Waiting = "nothing";
  #settle: ((isDone: boolean) => void) | null = null;
  #timer: TimerHandle | null = null;
  #isRefused = false;
  /** Of the repair in flight. */
  #attemptCount = 0;
  /** The deadline has been cut short by an early update. */
  #isHurried = false;

  constructor(options: BookSubscriptionOptions) {
    this.#options = options;
    this.#repair = new Resync<never, true>({
      clock: options.clock,
      random: options.random,
      backoff: BACKOFF,
      // Nothing is buffered: the snapshot comes in order on the same connection.
      maxBufferedFrames: 0,
      escalateAfter: ATTEMPTS_BEFORE_REFUSED,
      load: () => this.#attempt(),
      apply: () => (options.isServed() ? "synced" : "retry"),
      onEscalate: (attemptCount) => this.#refuse(attemptCount),
    });
  }

  /** Repairs begun. */
  get repairCount(): number {
    return this.#repair.startCount;
  }

  get isRepairing(): boolean {
    return this.#repair.isRunning;
  }

  /** The venue would not serve it, as of the last attempts. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** The subscribe or unsubscribe left: its deadline runs. */
  written(what: "subscribe" | "unsubscribe"): void {
    if (what === "unsubscribe") {
      if (this.#waiting === "leaving") this.#arm(UNSUBSCRIBE_DEADLINE_MS, () => this.#finish(false));
    } else if (this.#waiting === "joining") {
      const deadlineMs = Math.min(SUBSCRIBE_DEADLINE_MAX_MS, SUBSCRIBE_DEADLINE_MS * 1.5 ** this.#attemptCount);
      this.#arm(deadlineMs, () => this.#finish(false));
    } else if (!this.isRepairing && !this.#isRefused) {
      // The first subscription of a connection.
      this.#arm(SUBSCRIBE_DEADLINE_MS, () => this.#unserved());
    }
  }

  /** An update without a book to apply it to. What is being left may still send some; what is being joined may not. */
  early(): void {
    if (this.#isHurried || this.#isRefused || this.#waiting === "leaving") return;
    if (this.#waiting === "joining") this.#arm(EARLY_GRACE_MS, () => this.#finish(false));
    else if (!this.isRepairing) this.#arm(EARLY_GRACE_MS, () => this.#unserved());
    else return;
    this.#isHurried = true;
  }

  /** The book went LIVE. */
  served(): void {
    this.#isRefused = false;
    this.#isHurried = false;
    if (this.#waiting === "joining") this.#finish(true);
    else if (this.#waiting === "nothing") this.#disarm();
  }

  /** The venue acknowledged an unsubscribe, or says that there is nothing to unsubscribe. */
  left(): void {
    if (this.#waiting === "leaving") this.#finish(true);
  }

  /** 30003 for this channel: no snapshot will come. */
  refusedAsDouble(): void {
    if (this.#waiting === "joining") this.#finish(false);
    else if (!this.#options.isServed()) this.recover();
  }

  /** The book is invalid already. A repair in flight goes on. */
  recover(): void {
    if (this.isRepairing) return;
    this.#disarm();
    this.#isRefused = false;
    this.#attemptCount = 0;
    this.#repair.start();
  }

  /** The connection is gone: all that was asked for is asked for again on the next one. */
  down(): void {
    this.#repair.cancel();
    this.#isRefused = false;
    this.#isHurried = false;
    this.#waiting = "nothing";
    this.#settle = null;
    this.#disarm();
    this.#options.join();
  }

  stop(): void {
    this.#repair.cancel();
    this.#waiting = "nothing";
    this.#settle = null;
    this.#disarm();
  }

  async #attempt(): Promise<true | null> {
    const { leave, join, onAttempt } = this.#options;
    onAttempt();
    // Whether acknowledged or not: an unsubscribe of what the venue does not hold is only answered by an error.
    await this.#await("leaving", leave);
    const isServed = await this.#await("joining", join);
    this.#attemptCount++;
    return isServed ? true : null;
  }

  #await(what: Waiting, act: () => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting = what;
      this.#isHurried = false;
      this.#settle = resolve;
      this.#arm(UNWRITTEN_DEADLINE_MS, () => this.#finish(false));
      act();
    });
  }

  #unserved(): void {
    this.#isHurried = false;
    if (!this.#options.isServed()) this.recover();
  }

  #finish(isDone: boolean): void {
    const settle = this.#settle;
    this.#waiting = "nothing";
    this.#settle = null;
    this.#disarm();
    settle?.(isDone);
  }

  #refuse(attemptCount: number): void {
    this.#repair.cancel();
    this.#isRefused = true;
    this.#options.leave();
    this.#options.onRefused(attemptCount);
    this.#arm(REFUSED_RETRY_MS, () => this.recover());
  }

  #arm(delayMs: number, expired: () => void): void {
    this.#disarm();
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = null;
      expired();
    }, delayMs);
  }

  #disarm(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
  }
}
