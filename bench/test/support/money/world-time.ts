/**
 * Virtual time over real sockets: it moves on only when every request of this process has its answer, or waits on purpose.
 * So no time-out fires because the machine was slow, and an hour of waiting takes seconds.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";

const STEP_MS = 250;
/** Turns without a request under way that end a wait: what runs between two requests is done by then. */
const CALM_TURNS = 4;
const CREATED = "undici:request:create";
const ENDED = ["undici:request:trailers", "undici:request:error"] as const;

type Heard = (message: unknown) => void;

export class WorldTime {
  readonly clock = new VirtualClock();
  /** Requests that wait on purpose, for time to pass. */
  readonly held = new Set<object>();
  readonly #underWay = new Set<unknown>();
  readonly #created: Heard = (message) => void this.#underWay.add((message as { request: unknown }).request);
  readonly #ended: Heard = (message) => void this.#underWay.delete((message as { request: unknown }).request);

  constructor() {
    subscribe(CREATED, this.#created);
    for (const name of ENDED) subscribe(name, this.#ended);
  }

  stop(): void {
    unsubscribe(CREATED, this.#created);
    for (const name of ENDED) unsubscribe(name, this.#ended);
  }

  /** Resolves once nothing happens before time passes. */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < CALM_TURNS; ) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      calm = this.#underWay.size > this.held.size ? 0 : calm + 1;
    }
  }

  async advance(ms: number): Promise<void> {
    await this.quiet();
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.clock.advance(Math.min(STEP_MS, ms - passedMs));
      await this.quiet();
    }
  }
}
