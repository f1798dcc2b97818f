/**
 * A reply of unknown length, written in pieces as fast as its reader takes them.
 *
 * Invariants: a piece is written only when the server has passed on the previous one, so at most one piece waits for a
 * slow reader; a reader that takes nothing for `stallMs` is disconnected. Only `end` completes a reply: `cut` closes
 * the connection before the last chunk, so a broken-off body never looks complete. After the reader has left nothing is
 * used.
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

  /** `counts`: one more 200 if it ends, one more aborted if not. */
  constructor(response: HttpResponse, clock: Clock, stallMs: number, counts: RouteCounts) {
    this.#response = response;
    this.#clock = clock;
    this.#stallMs = stallMs;
    this.#counts = counts;
  }

  /** True once ended, cut, or abandoned by the reader. */
  get over(): boolean {
    return this.#over;
  }

  /** Called once when the reader leaves or is cut before the end. */
  whenGone(callback: () => void): void {
    this.#onGone = callback;
  }

  /** Resolves when the next piece may come; false when there is no reader any more. One piece at a time. */
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
    // The server reports the close as an abort, which calls `gone`.
    this.#response.close();
    this.gone();
  }

  /** The server reports that the connection has ended. */
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
