/**
 * The end of one call: its deadline, or its caller's signal. Whatever the call waits for, it waits no longer than this.
 *
 * Invariant: after `dispose` no timer and no listener is left.
 */
import type { ApiClock } from "./clock.js";

export type EndReason = "TIMEOUT" | "ABORTED";

export type Raced<T> = { readonly ended: null; readonly value: T } | { readonly ended: EndReason };

export class CallEnd {
  readonly #clock: ApiClock;
  readonly #deadlineMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #cancel: () => void;
  readonly #watchers = new Set<(reason: EndReason) => void>();
  readonly #aborted = () => this.#end("ABORTED");
  #reason: EndReason | null = null;

  constructor(clock: ApiClock, timeoutMs: number, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#deadlineMs = clock.monoMs() + timeoutMs;
    this.#signal = signal;
    this.#cancel = clock.after(timeoutMs, () => this.#end("TIMEOUT"));
    signal?.addEventListener("abort", this.#aborted);
    if (signal?.aborted === true) this.#end("ABORTED");
  }

  get reason(): EndReason | null {
    return this.#reason;
  }

  get leftMs(): number {
    return Math.max(0, this.#deadlineMs - this.#clock.monoMs());
  }

  /** Rejects where `work` does. */
  race<T>(work: Promise<T>, withinMs = Number.POSITIVE_INFINITY): Promise<Raced<T>> {
    if (this.#reason !== null) {
      work.catch(() => {});
      return Promise.resolve({ ended: this.#reason });
    }
    return new Promise((resolve, reject) => {
      const watcher = (reason: EndReason) => done(() => resolve({ ended: reason }));
      const cancel = Number.isFinite(withinMs) ? this.#clock.after(withinMs, () => watcher("TIMEOUT")) : () => {};
      const done = (settle: () => void) => {
        this.#watchers.delete(watcher);
        cancel();
        settle();
      };
      this.#watchers.add(watcher);
      work.then(
        (value) => done(() => resolve({ ended: null, value })),
        (error: unknown) => done(() => reject(error)),
      );
    });
  }

  /** Returns the reason where the call ended meanwhile. */
  async wait(ms: number): Promise<EndReason | null> {
    let cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      cancel = this.#clock.after(ms, resolve);
    });
    const { ended } = await this.race(waited);
    cancel();
    return ended;
  }

  dispose(): void {
    this.#cancel();
    this.#signal?.removeEventListener("abort", this.#aborted);
    this.#watchers.clear();
  }

  #end(reason: EndReason): void {
    this.#reason ??= reason;
    for (const watcher of [...this.#watchers]) watcher(reason);
  }
}
