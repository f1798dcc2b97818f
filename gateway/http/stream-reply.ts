/**
 * A reply of unknown length, written in pieces as fast as its reader takes them.
 *
 * Invariants: a piece is written only when the server has passed on the one before, so what waits for a slow reader
 * is at most one piece; a reader that takes nothing for `stallMs` is disconnected. `end` is the only way to a complete
 * reply: `cut` closes the connection before the last chunk, so a broken-off body never looks whole. After the reader
 * has gone nothing is touched.
 */
import type { HttpResponse } from "uWebSockets.js";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { RouteCounts } from "./reply-state.js";

export class StreamReply {
  readonly #response: HttpResponse;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #counts: RouteCounts;
  #over = false;
  #onGone: (() => void) | null = null;
  /** Set while a piece waits for the reader. */
  #resume: ((more: boolean) => void) | null = null;
  #stallTimer: TimerHandle | null = null;

  /** `counts`: one more 200 with the end, one more aborted without. */
  constructor(response: HttpResponse, clock: Clock, stallMs: number, counts: RouteCounts) {
    this.#response = response;
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#counts = counts;
  }

  /** Ended, cut, or the reader has gone. */
  get over(): boolean {
    return this.#over;
  }

  /** Called once when the reader goes or is cut before the end. */
  whenGone(callback: () => void): void {
    this.#onGone = callback;
  }

  /** Resolves when the next piece may come: false when there is nobody to read it. One piece at a time. */
  write(piece: string | Uint8Array): Promise<boolean> {
    if (this.#over) return Promise.resolve(false);
    let taken = true;
    this.#response.cork(() => {
      taken = this.#response.write(piece);
    });
    if (taken) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#stallTimer = this.#clock.setTimer(() => this.cut(), this.#stallMs);
      this.#response.onWritable(() => {
        this.#settle(true);
        return true;
      });
    });
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#counts.okCount++;
    this.#response.cork(() => this.#response.end());
  }

  /** Disconnects the reader. */
  cut(): void {
    if (this.#over) return;
    // The server reports the close as an abort, which ends up in `gone`.
    this.#response.close();
    this.gone();
  }

  /** The server says that the connection is no more. */
  gone(): void {
    if (this.#over) return;
    this.#over = true;
    this.#counts.abortedCount++;
    this.#settle(false);
    this.#onGone?.();
  }

  #settle(more: boolean): void {
    if (this.#stallTimer !== null) this.#clock.clearTimer(this.#stallTimer);
    this.#stallTimer = null;
    const resume = this.#resume;
    this.#resume = null;
    resume?.(more);
  }
}
