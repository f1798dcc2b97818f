/**
 * The life of a room, the same at every venue: the first load with its retries, what is repeated from then on, the status,
 * and the end. A room owns one and gives it what differs: what a load is, what it counts, what is to be stopped.
 *
 * Invariants: a task begins its next run only after the last one ended, so that one which hangs until its own bound delays
 * itself and nothing else. After `stop` no timer is left, no task begins, and a load that is being retried ends quietly.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { Random } from "../../../engine/domain/random.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { FeedState, Market } from "../../../engine/market/market.js";
import type { RoomStatus } from "../../../engine/ports.js";
import type { ClockOffset } from "../book/clock-offset.js";
import { type BackoffPolicy, fullJitterMs } from "../net/backoff.js";
import type { HttpPool } from "../net/http-pool.js";
import { monoMs } from "../net/weight-window.js";

const DEFAULT_START_TIMEOUT_MS = 30_000;
/** What is stopped has this long for what is under way. */
const STOP_GRACE_MS = 2_000;

export interface RoomShellOptions {
  readonly venue: RoutableVenue;
  readonly clock: Clock;
  readonly random: Random;
  /** Closed by `stop`, after the room's own parts. */
  readonly http: Pick<HttpPool, "stats" | "close">;
  readonly clockOffset: Pick<ClockOffset, "offsetMs">;
  readonly markets: ReadonlyMap<string, Market>;
  /** The room is STALE where less than this share of its LIVE books is proven current; 0: where none of them is. */
  readonly currentShare: number;
  /** Waits between the tries of the first load. */
  readonly retry: BackoffPolicy;
  /** How long the first load is tried (default DEFAULT_START_TIMEOUT_MS). */
  readonly startTimeoutMs?: number | undefined;
}

type Counts = Omit<RoomStatus, "venue" | "state" | "breaker" | "breakerOpenUntilMs" | "clockOffsetMs" | "laneTokens">;

/** What only the room knows of its status. */
export interface RoomCounts extends Counts {
  /** False: without its market connections nothing can be current. */
  readonly isOpen: boolean;
}

interface Stoppable {
  stop(graceMs: number): unknown;
}

export class RoomShell {
  readonly #options: RoomShellOptions;
  /** With what a timer's end by `stop` calls in place of its callback. */
  readonly #timers = new Map<TimerHandle, () => void>();
  #isStopped = false;

  constructor(options: RoomShellOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /**
   * Tries `load` until it returns null; a text is what was wrong with a try. Returns false when the room was stopped
   * meanwhile. Rejects when the try at the end of the time failed too; it may be called again then.
   */
  async start(load: () => Promise<string | null>): Promise<boolean> {
    const { clock, random, retry, startTimeoutMs = DEFAULT_START_TIMEOUT_MS, venue } = this.#options;
    const endMs = monoMs(clock) + startTimeoutMs;
    for (let attempt = 0; !this.isStopped; attempt++) {
      const problem = await load();
      if (problem === null) break;
      const leftMs = endMs - monoMs(clock);
      if (leftMs <= 0 && !this.#isStopped) throw new ServiceError("VENUE_UNAVAILABLE", { exchange: venue, problem });
      await this.#pause(Math.min(leftMs, fullJitterMs(retry, attempt, random)));
    }
    return !this.#isStopped;
  }

  /** Runs `task` `delayMs` from now, unless the room is stopped by then. */
  after(delayMs: number, task: () => Promise<void>): void {
    this.#setTimer(() => void task(), delayMs);
  }

  /** Runs `task` again and again, `periodMs` after the end of its last run. */
  every(periodMs: number, task: () => Promise<unknown>): void {
    this.after(periodMs, async () => {
      await task();
      this.every(periodMs, task);
    });
  }

  status({ isOpen, ...counts }: RoomCounts): RoomStatus {
    const { clockOffset, http, venue } = this.#options;
    const { breaker, breakerOpenUntilMs, laneTokens } = http.stats();
    return {
      venue,
      state: this.#state(isOpen),
      breaker,
      breakerOpenUntilMs,
      clockOffsetMs: Math.round(clockOffset.offsetMs),
      ...counts,
      laneTokens,
    };
  }

  /** Stops the parts in this order and closes the pool; resolves when all have ended, STOP_GRACE_MS later at most. */
  async stop(parts: readonly Stoppable[]): Promise<void> {
    const { clock, http } = this.#options;
    this.#isStopped = true;
    for (const [timer, onStopped] of this.#timers) {
      clock.clearTimer(timer);
      onStopped();
    }
    this.#timers.clear();
    const ends = parts.map((part) => part.stop(STOP_GRACE_MS));
    await Promise.all([...ends, http.close(STOP_GRACE_MS)]);
  }

  /** DOWN without its connections; SYNCING while no book is LIVE; STALE while too few of the LIVE ones are current. */
  #state(isOpen: boolean): FeedState {
    const { clock, currentShare, markets } = this.#options;
    if (this.#isStopped || !isOpen) return "DOWN";
    const nowNs = clock.monoNs();
    let liveCount = 0;
    let currentCount = 0;
    for (const { book, maxBookAgeMs } of markets.values()) {
      if (book.state !== BOOK_LIVE) continue;
      liveCount++;
      if (ageMs(book.tsProvenNs, nowNs) <= maxBookAgeMs) currentCount++;
    }
    if (liveCount === 0) return "SYNCING";
    return currentCount > 0 && currentCount >= liveCount * currentShare ? "LIVE" : "STALE";
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#setTimer(resolve, delayMs, resolve));
  }

  #setTimer(callback: () => void, delayMs: number, onStopped: () => void = () => undefined): void {
    if (this.#isStopped) {
      onStopped();
      return;
    }
    const timer = this.#options.clock.setTimer(() => {
      this.#timers.delete(timer);
      callback();
    }, delayMs);
    this.#timers.set(timer, onStopped);
  }
}
