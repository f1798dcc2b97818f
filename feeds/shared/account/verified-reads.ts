/**
 * Positions as the venue itself reports them, for answers that turn on it: callers who wait for one account share a read,
 * and a repeat over a streamed account costs at most one read a second.
 *
 * Invariant: no caller gets an answer that was asked for before an order of ours was answered, that is older than REPEAT_MS,
 * or since which the account's streams moved a position. Where nothing is streamed no answer is given twice. That
 * another caller's time or session was over is no answer: the venue is asked again. No caller waits longer than its own time.
 *
 * Bounds: MAX_ACCOUNTS; the least recently asked is forgotten, and read again.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";

const MAX_ACCOUNTS = 4_096;
const REPEAT_MS = 1_000;

interface Asked<T> {
  /** Monotonic ms. */
  readonly beganMs: number;
  /** Of the account when it began. */
  readonly orderCount: number;
  readonly version: number | null;
  readonly answer: Promise<Read<T>>;
  isSettled: boolean;
}

export class VerifiedReads<T> {
  readonly #clock: Clock;
  /** By what was asked: an account, or one contract of it. */
  readonly #asked = new LRUCache<string, Asked<T>>({ max: MAX_ACCOUNTS });
  /** Orders of unknown accounts: they may be of any. */
  #ofUnknownCount = 0;
  /** By account. */
  readonly #orderCounts = new LRUCache<string, number>({ max: MAX_ACCOUNTS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For what a caller asks before it comes here. */
  deadline(options: CallOptions): Deadline {
    return new Deadline(this.#clock, options);
  }

  /** An order of ours goes out, or its answer came. `account` null when it is not known. */
  noteOrder(account: string | null): void {
    if (account === null) this.#ofUnknownCount++;
    else this.#orderCounts.set(account, (this.#orderCounts.get(account) ?? 0) + 1);
  }

  /**
   * `part`: what `load` asks for, where that is not the whole account. `version`: of what is streamed of it; null: nothing.
   * `load` gets what is left of the caller's own time.
   */
  async read(
    account: string,
    part: string,
    version: number | null,
    options: CallOptions,
    load: (left: CallOptions) => Promise<Read<T>>,
  ): Promise<Read<T>> {
    const key = `${account} ${part}`;
    const deadline = new Deadline(this.#clock, options);
    for (;;) {
      const left = deadline.left();
      if (left === null) return NO_TIME;
      const orderCount = this.#orderCount(account);
      const before = this.#asked.get(key);
      if (before === undefined || !this.#mayShare(before, orderCount, version))
        return this.#ask(key, orderCount, version, load(left));
      const waited = await within(this.#clock, before.answer, left.timeoutMs);
      if (!waited.done) return NO_TIME;
      const read = waited.value;
      // A session that was closed with its call has no credentials left.
      if (read.ok || (read.code !== "TIMEOUT" && read.code !== "AUTH")) return read;
      // The first of those who waited asks, and the others share that one.
      if (this.#asked.peek(key) === before) this.#asked.delete(key);
    }
  }

  #mayShare(before: Asked<T>, orderCount: number, version: number | null): boolean {
    return (
      before.orderCount === orderCount &&
      before.version === version &&
      this.#clock.monoNs() / 1e6 - before.beganMs < REPEAT_MS &&
      (!before.isSettled || version !== null)
    );
  }

  #ask(key: string, orderCount: number, version: number | null, answer: Promise<Read<T>>): Promise<Read<T>> {
    const asked: Asked<T> = { beganMs: this.#clock.monoNs() / 1e6, orderCount, version, answer, isSettled: false };
    this.#asked.set(key, asked);
    const settled = (): void => {
      asked.isSettled = true;
    };
    answer.then(settled, settled);
    return answer;
  }

  #orderCount(account: string): number {
    return this.#ofUnknownCount + (this.#orderCounts.get(account) ?? 0);
  }
}

const NO_TIME = failedRead("TIMEOUT", "no time left for the read");
