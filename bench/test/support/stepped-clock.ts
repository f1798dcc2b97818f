/**
 * The system's clock with a wall time that can be set forward and back; the monotonic clock and the timers are
 * unchanged.
 */
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";

export class SteppedClock implements Clock {
  readonly #clock = createSystemClock();
  #offMs = 0;

  /** Offset of the wall time, ms. */
  get offMs(): number {
    return this.#offMs;
  }

  /** Sets the offset of the wall time. */
  set(offMs: number): void {
    this.#offMs = offMs;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.#offMs;
  }

  monoNs(): number {
    return this.#clock.monoNs();
  }

  setTimer(...timer: Parameters<Clock["setTimer"]>): ReturnType<Clock["setTimer"]> {
    return this.#clock.setTimer(...timer);
  }

  clearTimer(handle: Parameters<Clock["clearTimer"]>[0]): void {
    this.#clock.clearTimer(handle);
  }
}
