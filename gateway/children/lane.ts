/**
 * A bounded queue in front of the engine: a number of jobs at a time, a number waiting; one more is refused. A job
 * whose caller has left is skipped while it waits; a running one continues.
 */
import { EngineError } from "./engine-error.js";

const TOO_MANY = 202;
const ABORTED = 236;

interface Waiting {
  readonly signal: AbortSignal;
  readonly start: () => void;
  readonly skip: () => void;
}

export class Lane {
  readonly #name: string;
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #waiting: Waiting[] = [];
  #runningCount = 0;
  #idle: (() => void)[] = [];

  constructor(name: string, runningMax: number, waitingMax: number) {
    this.#name = name;
    this.#runningMax = runningMax;
    this.#waitingMax = waitingMax;
  }

  async run<T>(signal: AbortSignal, job: () => Promise<T>): Promise<T> {
    await this.#turn(signal);
    try {
      return await job();
    } finally {
      this.#runningCount--;
      this.#next();
    }
  }

  /** Resolves when nothing runs and nothing waits. */
  idle(): Promise<void> {
    if (this.#runningCount === 0 && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(gone());
    if (this.#runningCount < this.#runningMax) {
      this.#runningCount++;
      return Promise.resolve();
    }
    if (this.#waiting.length >= this.#waitingMax)
      return Promise.reject(
        new EngineError(TOO_MANY, `Too many simultaneous queries: ${this.#waitingMax} wait for ${this.#name} already`),
      );
    return new Promise((resolve, reject) => {
      this.#waiting.push({ signal, start: resolve, skip: () => reject(gone()) });
    });
  }

  #next(): void {
    while (this.#runningCount < this.#runningMax) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      if (waiting.signal.aborted) waiting.skip();
      else {
        this.#runningCount++;
        waiting.start();
      }
    }
    if (this.#runningCount > 0 || this.#waiting.length > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}

function gone(): EngineError {
  return new EngineError(ABORTED, "The caller went away before its turn");
}
