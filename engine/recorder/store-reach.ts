/**
 * Whether the store answers, as the outcomes of inserts show it.
 *
 * While it is away one probe at a time is sent, after a jittered, growing pause: the oldest batch of the spool, or the
 * next fresh batch where the spool has none.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { Random } from "../domain/random.js";
import { RetryPause } from "./retry-pause.js";
import type { Spool } from "./spool.js";

export interface StoreReachOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly spool: Pick<Spool, "fileCount">;
  /** Called when a pause is over, and when the store is back. */
  readonly replay: () => void;
}

export class StoreReach {
  readonly #options: StoreReachOptions;
  readonly #pause: RetryPause;
  #isAway = false;
  /** The store is away, and the next fresh batch is sent to find out whether it still is. */
  #isFreshProbe = false;
  #timer: TimerHandle | null = null;

  constructor(options: StoreReachOptions) {
    this.#options = options;
    this.#pause = new RetryPause(options.random);
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Returns whether a fresh batch may be sent now; one that is the probe uses the probe up. */
  admitsFresh(): boolean {
    if (this.#isAway && !this.#isFreshProbe) return false;
    this.#isFreshProbe = false;
    return true;
  }

  /** The spool has no batch to probe with. */
  probeWithFresh(): void {
    if (this.#isAway) this.#isFreshProbe = true;
  }

  /** Call on any reply, whatever it is. */
  answered(): void {
    const { logger, spool, replay } = this.#options;
    this.#pause.reset();
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#isFreshProbe = false;
    logger.info("records_store_back", { count: spool.fileCount });
    replay();
  }

  /** Call when an insert got no reply. */
  missed(reason: string): void {
    const { clock, logger, replay } = this.#options;
    if (!this.#isAway) logger.warn("records_store_away", { reason });
    this.#isAway = true;
    this.#timer ??= clock.setTimer(() => {
      this.#timer = null;
      replay();
    }, this.#pause.nextMs());
  }

  /** No pause ends after this. */
  stop(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
  }
}
