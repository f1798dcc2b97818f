/**
 * A caller that honours Retry-After: its next request goes out no sooner. Otherwise the retries of a minute spend a
 * venue's budget of that minute, and their answers say nothing.
 */
import type { Reply, RequestOptions } from "../../gateway/test/client.js";
import { pause } from "../test/support/system.js";
import type { TradeClient } from "../test/support/trade-trial.js";

interface PacedClock {
  nowMs(): number;
  pause(ms: number): Promise<void>;
}

const WAIT_MAX_MS = 60_000;

export class PacedClient implements TradeClient {
  readonly #inner: TradeClient;
  readonly #clock: PacedClock;
  #notBeforeMs = 0;

  constructor(inner: TradeClient, clock: PacedClock = { nowMs: () => performance.now(), pause }) {
    this.#inner = inner;
    this.#clock = clock;
  }

  async send(path: string, options?: RequestOptions): Promise<Reply> {
    const waitMs = this.#notBeforeMs - this.#clock.nowMs();
    if (waitMs > 0) await this.#clock.pause(waitMs);
    const reply = await this.#inner.send(path, options);
    const retryAfter = reply.headers["retry-after"] ?? "";
    if (/^\d+$/.test(retryAfter))
      this.#notBeforeMs = this.#clock.nowMs() + Math.min(WAIT_MAX_MS, Number(retryAfter) * 1_000);
    return reply;
  }
}
