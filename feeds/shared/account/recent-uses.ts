/** Which accounts were used lately: the second use within a while is what makes one worth a stream of its own. */

/** Overflow forgets the one used longest ago. */
const MAX_REMEMBERED = 1_024;

export class RecentUses {
  readonly #windowMs: number;
  /** Ms by account, of the caller's clock, oldest first. */
  readonly #lastMs = new Map<string, number>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Notes a use; was there another within the window before it? */
  isAgain(account: string, nowMs: number): boolean {
    const lastMs = this.#lastMs.get(account);
    this.#lastMs.delete(account);
    if (this.#lastMs.size >= MAX_REMEMBERED) {
      const oldest = this.#lastMs.keys().next();
      if (oldest.done !== true) this.#lastMs.delete(oldest.value);
    }
    this.#lastMs.set(account, nowMs);
    return lastMs !== undefined && nowMs - lastMs < this.#windowMs;
  }

  /** It has its stream: what counts from here on is later uses. */
  forget(account: string): void {
    this.#lastMs.delete(account);
  }
}
