/**
 * Positions as the venue itself says them, for answers that turn on it: callers who wait for one account share a read,
 * and a repeat over a streamed account costs at most one read a second.
 *
 * Invariant: nobody gets an answer that was asked for before an order of ours was answered, that is older than REPEAT_MS,
 * or since which the account's streams moved a position. Where nothing is streamed no answer is given twice. That
 * another caller's time or session was over is no answer: it is asked anew.
 *
 * Bounds: MAX_ACCOUNTS; the least recently asked is forgotten, and read anew.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../engine/domain/clock.js";
import type { Read } from "../../engine/ports.js";

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
  /** Orders of accounts that nobody knew: they may be anyone's. */
  #ofUnknownCount = 0;
  /** By account. */
  readonly #orderCounts = new LRUCache<string, number>({ max: MAX_ACCOUNTS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An order of ours goes out, or its answer came. Null: nobody knows of which account. */
  noteOrder(account: string | null): void {
    if (account === null) this.#ofUnknownCount++;
    else this.#orderCounts.set(account, (this.#orderCounts.get(account) ?? 0) + 1);
  }

  /**
   * `part`: what `load` asks for, where that is not the whole account. `version`: of what is streamed of it; null: nothing.
   */
  read(account: string, part: string, version: number | null, load: () => Promise<Read<T>>): Promise<Read<T>> {
    const key = `${account} ${part}`;
    const nowMs = this.#clock.monoNs() / 1e6;
    const orderCount = this.#orderCount(account);
    const before = this.#asked.get(key);
    if (
      before !== undefined &&
      before.orderCount === orderCount &&
      before.version === version &&
      nowMs - before.beganMs < REPEAT_MS &&
      (!before.isSettled || version !== null)
    )
      return this.#shared(key, before, () => this.read(account, part, version, load));
    const asked: Asked<T> = { beganMs: nowMs, orderCount, version, answer: load(), isSettled: false };
    this.#asked.set(key, asked);
    const settled = (): void => {
      asked.isSettled = true;
    };
    asked.answer.then(settled, settled);
    return asked.answer;
  }

  async #shared(key: string, before: Asked<T>, askAnew: () => Promise<Read<T>>): Promise<Read<T>> {
    const read = await before.answer;
    // A session that was closed with its call has no credentials left.
    if (read.ok || (read.code !== "TIMEOUT" && read.code !== "AUTH")) return read;
    // The first of those who waited asks, and the others share that one.
    if (this.#asked.peek(key) === before) this.#asked.delete(key);
    return askAnew();
  }

  #orderCount(account: string): number {
    return this.#ofUnknownCount + (this.#orderCounts.get(account) ?? 0);
  }
}
