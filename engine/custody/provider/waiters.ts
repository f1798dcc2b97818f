/** Who waits for a party to be ready, or for a wallet to be settled: asked again whenever something has changed. */
import { type Clock, delay } from "../../domain/clock.js";

export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What `isSo` says once it is true, or when the time is over. */
  async until(isSo: () => boolean, waitMs: number): Promise<boolean> {
    let isOver = isSo();
    const over = delay(this.#clock, waitMs).then(() => {
      isOver = true;
    });
    while (!isOver && !isSo()) {
      let wake: () => void = () => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#waiting.add(wake);
      await Promise.race([woken, over]);
      this.#waiting.delete(wake);
    }
    return isSo();
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
