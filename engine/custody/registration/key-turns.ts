/** One act at a time on the keys of a wallet at a venue, in the order of arrival; a bounded number waits. */
import { ServiceError } from "../../domain/errors.js";
import { type KeyPlace, rowKey } from "./key-row.js";

/** For each place. */
const WAITING_MAX = 16;

interface Line {
  last: Promise<unknown>;
  count: number;
}

export class KeyTurns {
  readonly #lines = new Map<string, Line>();

  /** Nobody acts or waits there. */
  isFree(place: KeyPlace): boolean {
    return !this.#lines.has(rowKey(place));
  }

  /** Rejects with OVERLOADED where too many wait, or as `act` does. */
  async run<T>(place: KeyPlace, act: () => Promise<T>): Promise<T> {
    const key = rowKey(place);
    const line = this.#lines.get(key) ?? { last: Promise.resolve(), count: 0 };
    if (line.count > WAITING_MAX) throw new ServiceError("OVERLOADED");
    this.#lines.set(key, line);
    line.count++;
    const done = line.last.then(act);
    line.last = done.catch(() => {});
    try {
      return await done;
    } finally {
      line.count--;
      if (line.count === 0) this.#lines.delete(key);
    }
  }

  /** Resolves when all that was begun has ended. */
  async idle(): Promise<void> {
    while (this.#lines.size > 0) await Promise.all([...this.#lines.values()].map(({ last }) => last));
  }
}
