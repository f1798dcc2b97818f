/**
 * One question to a venue for all who ask the same at the same time. Each waits within its own time; whose question is
 * asked decides only how long the venue has for it, so that where it runs out of time the next one asks again.
 *
 * Bounds: as many questions as names are being asked for, each gone with its answer.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";

export class SharedLookup<Value> {
  readonly #clock: Clock;
  readonly #what: string;
  readonly #pending = new Map<string, Promise<Read<Value>>>();

  /** `what` is looked up, as the failure for want of time names it. */
  constructor(clock: Clock, what: string) {
    this.#clock = clock;
    this.#what = what;
  }

  /**
   * By name, lane and payer: an exit must not wait in another lane's queue, and nobody for what another API key has no
   * share left for. `ask` is called with what is left of the time.
   */
  async find(
    name: string,
    options: CallOptions,
    ask: (left: CallOptions) => Promise<Read<Value>>,
  ): Promise<Read<Value>> {
    const key = `${options.lane} ${options.payer ?? ""} ${name}`;
    const deadline = new Deadline(this.#clock, options);
    for (let asked = this.#pending.get(key); asked !== undefined; asked = this.#pending.get(key)) {
      const waited = await within(this.#clock, asked, Math.max(0, deadline.leftMs()));
      if (!waited.done) return this.#outOfTime();
      if (waited.value.ok || waited.value.code !== "TIMEOUT") return waited.value;
    }
    const left = deadline.left();
    if (left === null) return this.#outOfTime();
    const pending = ask(left).finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  #outOfTime(): Read<Value> {
    return failedRead("TIMEOUT", `no time left for ${this.#what}`);
  }
}
