/** Runs the handlers of a socket's owner: a bug in one is counted, the first is logged, and none spreads. */
import type { Logger } from "../../../engine/domain/logger.js";

export class HandlerGuard {
  readonly #logger: Logger;
  readonly #socket: string;
  #failureCount = 0;

  /** `socket`: its name, for the log. */
  constructor(logger: Logger, socket: string) {
    this.#logger = logger;
    this.#socket = socket;
  }

  get failureCount(): number {
    return this.#failureCount;
  }

  run(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error: unknown): void {
    this.#failureCount++;
    // A bug of ours, once per kind is enough: the count is exported.
    if (this.#failureCount > 1) return;
    const text = error instanceof Error ? error.message : "not an Error";
    this.#logger.error("socket.handler-failed", { socket: this.#socket, text });
  }
}
