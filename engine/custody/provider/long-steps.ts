/**
 * The long steps of the sessions of a thread, slice by slice: one step at a time in the order in which they began, and
 * in each turn of the event loop as many slices as calls came since the turn before, at least one. So a signature waits
 * for a slice and not for a step, and signatures in numbers leave a creation its part of the thread.
 */
import { type Step, stepOf } from "../mpc/sessions/effects.js";
import type { SessionCore } from "../mpc/sessions/session-core.js";

/** Runs `run` once, behind whatever the thread has to do by then. */
export type NextTurn = (run: () => void) => void;

export interface SlicedSession {
  readonly core: Pick<SessionCore<string>, "isUnfinished" | "resume">;
}

interface LongStep {
  readonly session: SlicedSession;
  resolve(step: Step): void;
  reject(error: unknown): void;
}

export class LongSteps {
  readonly #nextTurn: NextTurn;
  readonly #begun: LongStep[] = [];
  #callCount = 0;
  #isScheduled = false;

  constructor(nextTurn: NextTurn) {
    this.#nextTurn = nextTurn;
  }

  /** A session was called, which may have cost about as much as a slice. */
  called(): void {
    this.#callCount++;
  }

  /** What the step comes to that the session has begun. */
  result(session: SlicedSession): Promise<Step> {
    return new Promise((resolve, reject) => {
      this.#begun.push({ session, resolve, reject });
      this.#schedule();
    });
  }

  /** The step of a session that is to be ended is given up: it comes to nothing. Nothing happens where there is none. */
  abandon(session: SlicedSession): void {
    const at = this.#begun.findIndex((step) => step.session === session);
    if (at !== -1) for (const step of this.#begun.splice(at, 1)) step.resolve(stepOf());
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#callCount = 0;
    this.#nextTurn(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    for (let left = Math.max(1, this.#callCount); left > 0; left--) this.#slice();
    if (this.#begun.length > 0) this.#schedule();
  }

  #slice(): void {
    const first = this.#begun.shift();
    if (first === undefined) return;
    try {
      const step = first.session.core.resume();
      if (first.session.core.isUnfinished) this.#begun.unshift(first);
      else first.resolve(step);
    } catch (error) {
      first.reject(error);
    }
  }
}
