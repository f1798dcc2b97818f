/** Calls under way: bounded, counted, and refused while the service drains. */
import type { Clock } from "../../domain/clock.js";
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import { problemOf } from "../background.js";
import { refusal } from "./order-check.js";
import type { OrderRefusal } from "./order-desk.js";

export class BoundedCalls {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxCount: number;
  readonly #calls = new Set<Promise<unknown>>();
  #draining = false;

  constructor(clock: Clock, logger: Logger, maxCount: number) {
    this.#clock = clock;
    this.#logger = logger;
    this.#maxCount = maxCount;
  }

  get count(): number {
    return this.#calls.size;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Never rejects. What sends takes care of its own faults: what comes here as one was met before anything left. */
  async run<T>(deadlineMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T | OrderRefusal> {
    if (this.#draining) return refusal("SHUTTING_DOWN");
    if (this.#calls.size >= this.#maxCount) return refusal("OVERLOADED");
    const call = work(new Deadline(this.#clock, deadlineMs)).catch((error: unknown): OrderRefusal => {
      if (error instanceof ServiceError && error.code !== "INTERNAL") return refusal(error.code, error.context);
      this.#logger.error("order_call_failed", { problem: problemOf(error) });
      return refusal("INTERNAL");
    });
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Refuses new calls. Resolves when those under way have ended. */
  drain(): Promise<unknown> {
    this.#draining = true;
    return Promise.all(this.#calls);
  }
}
