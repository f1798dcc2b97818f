/** One act at a time on the keys of a wallet at a venue. */
import { Turns } from "../../domain/turns.js";
import { type KeyPlace, rowKey } from "./key-row.js";

export class KeyTurns {
  readonly #turns = new Turns();

  /** Nobody acts or waits there. */
  isFree(place: KeyPlace): boolean {
    return this.#turns.isFree(rowKey(place));
  }

  /** Rejects with OVERLOADED where too many wait, or as `act` does. */
  run<T>(place: KeyPlace, act: () => Promise<T>): Promise<T> {
    return this.#turns.run(rowKey(place), act);
  }

  /** Resolves when all that was begun has ended. */
  idle(): Promise<void> {
    return this.#turns.idle();
  }
}
