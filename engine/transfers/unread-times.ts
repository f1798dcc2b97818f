/** Since when a venue does not answer for a row, on the monotonic clock. In memory: each start begins at nothing. */
import type { Clock } from "../domain/clock.js";

export class UnreadTimes {
  readonly #clock: Clock;
  readonly #sinceNs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** After a question: null where it was answered, else how long none has been. */
  unreadMs(transferId: string, isRead: boolean): number | null {
    const nowNs = this.#clock.monoNs();
    const sinceNs = this.#sinceNs.get(transferId) ?? nowNs;
    if (isRead) this.#sinceNs.delete(transferId);
    else this.#sinceNs.set(transferId, sinceNs);
    return isRead ? null : (nowNs - sinceNs) / 1e6;
  }

  forget(transferId: string): void {
    this.#sinceNs.delete(transferId);
  }
}
