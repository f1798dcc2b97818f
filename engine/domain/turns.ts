/** One act at a time in each named line, in the order of arrival; a bounded number waits. */
import { ServiceError } from "./errors.js";

/** In each line. */
const WAITING_MAX = 16;

interface Line {
  last: Promise<unknown>;
  count: number;
}

export class Turns {
  readonly #lines = new Map<string, Line>();

  /** Nobody acts or waits there. */
  isFree(name: string): boolean {
    return !this.#lines.has(name);
  }

  /**
   * Rejects with OVERLOADED where too many wait, or as `act` does. `isAdmitted`: it goes on with what an earlier turn of the
   * line began, and waits however many do.
   */
  async run<T>(name: string, act: () => Promise<T>, isAdmitted = false): Promise<T> {
    const line = this.#lines.get(name) ?? { last: Promise.resolve(), count: 0 };
    if (line.count > WAITING_MAX && !isAdmitted) throw new ServiceError("OVERLOADED");
    this.#lines.set(name, line);
    line.count++;
    const done = line.last.then(act);
    line.last = done.catch(() => {});
    try {
      return await done;
    } finally {
      line.count--;
      if (line.count === 0) this.#lines.delete(name);
    }
  }

  /** Resolves when all that was begun has ended. */
  async idle(): Promise<void> {
    while (this.#lines.size > 0) await Promise.all([...this.#lines.values()].map(({ last }) => last));
  }
}
