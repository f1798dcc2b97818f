/** Runs administrative acts one after another, so that none sees a row that another is about to change. Bounded. */
import { ServiceError } from "../../engine/domain/errors.js";

const WAITING_MAX = 64;

export class ActQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waitingCount = 0;
  #isClosed = false;

  /** Rejects with OVERLOADED or SHUTTING_DOWN, or as `act` does. */
  async run<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new ServiceError("SHUTTING_DOWN");
    if (this.#waitingCount >= WAITING_MAX) throw new ServiceError("OVERLOADED");
    this.#waitingCount++;
    const done = this.#last.then(act).finally(() => {
      this.#waitingCount--;
    });
    this.#last = done.catch(() => {});
    return done;
  }

  /** Takes nothing more; resolves when what was taken has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }
}
