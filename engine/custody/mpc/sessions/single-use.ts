/**
 * What makes a session work once (docs/mpc.md, 8.6): a call in another state throws, nothing serialises it, and a
 * receipt is one step: an end that comes while a step runs waits for the step's result, in a long step for the next
 * stop.
 */
import { ServiceError } from "../../../domain/errors.js";

export class SingleUse<State extends string, Cause> {
  /** Held as an own property by each session: a function among them makes structured clone throw. */
  readonly unclonable = (): never => {
    throw used("cloned");
  };
  #state: State | "ENDED";
  #inStep = false;
  #waiting: Cause | null = null;

  constructor(first: State) {
    this.#state = first;
  }

  get state(): State | "ENDED" {
    return this.#state;
  }

  get ended(): boolean {
    return this.#state === "ENDED";
  }

  move(to: State | "ENDED"): void {
    if (this.#state === "ENDED") throw used("ended");
    this.#state = to;
  }

  /**
   * Runs one step. `conclude` gets its result and the cause of an end that was asked for meanwhile, null if none was.
   */
  step<Result>(run: () => Result, conclude: (result: Result, waiting: Cause | null) => Result): Result {
    if (this.#inStep || this.ended) throw used(this.ended ? "ended" : "in a step");
    this.#inStep = true;
    try {
      return conclude(run(), this.#waiting);
    } finally {
      this.#inStep = false;
      this.#waiting = null;
    }
  }

  /** True: a step is under way and will conclude with this cause. The first cause counts. */
  defer(cause: Cause): boolean {
    if (!this.#inStep) return false;
    this.#waiting ??= cause;
    return true;
  }

  toJSON(): never {
    throw used("serialised");
  }
}

/** A caller inside this program used a session against its states: our bug. */
export function used(how: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `custody: session ${how}` });
}
