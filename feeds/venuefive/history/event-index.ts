/**
 * The index of the venue's events while it runs: follows the chain (chain-follower.ts), waits where it has come to the safe
 * head, and longer after each failure. Its status says what keeps it.
 */
import type { ClientSignedStatus } from "../../../engine/client-signed-room.js";
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { Random } from "../../../engine/domain/random.js";
import { atLeastWithJitterMs, fullJitterMs } from "../../shared/net/backoff.js";
import { ChainFollower, type ChainFollowerOptions, type Step } from "./chain-follower.js";
import { failedAnswer, type HistoryFailure } from "./chain-port.js";
import type { LogDecoder } from "./decode-logs.js";

interface EventIndexOptions extends ChainFollowerOptions {
  readonly pollMs?: number;
  readonly random: Random;
}

const POLL_MS = 2_000;
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };
const RETRY_SPREAD = 0.1;

export class EventIndex {
  readonly #options: EventIndexOptions;
  readonly #follower: ChainFollower;
  #problem: string | null = null;
  #failures = 0;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: EventIndexOptions) {
    this.#options = options;
    this.#follower = new ChainFollower(options);
  }

  /** When the cursor's block was kept, wall ms. */
  get seenAtMs(): number {
    return this.#follower.seenAtMs;
  }

  /** Resolves when the first look has ended, whatever it found. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      void this.#run(resolve);
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    await this.#running;
  }

  status(): ClientSignedStatus["index"] {
    const { cursor } = this.#options.book;
    const sinceBlock = cursor?.since.block ?? null;
    const cursorBlock = cursor === null || cursor.block < cursor.since.block ? null : cursor.block;
    const { safeHead } = this.#follower;
    const behind = cursor === null || safeHead === null ? null : Math.max(0, safeHead - cursor.block);
    const unsure =
      cursor === null || cursor.unsureBelow === null
        ? null
        : `a reorganisation went deeper than what is kept to compare: below block ${cursor.unsureBelow} rows may be of another branch`;
    return {
      ...{ cursorBlock, sinceBlock, behindBlocks: behind },
      ...{ eventCount: cursor?.eventCount ?? 0, retractedCount: cursor?.retractedCount ?? 0 },
      problem: this.#problem ?? unsure,
    };
  }

  /** Those that are followed. */
  decoder(): LogDecoder {
    return this.#follower.decoder();
  }

  #run(onStep: () => void = () => {}): Promise<void> {
    this.#timer = null;
    this.#running = this.#pass(onStep).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #pass(onStep: () => void): Promise<void> {
    let step: Step = { kind: "progress" };
    while (step.kind === "progress" && !this.#isStopped) {
      step = await this.#guardedStep();
      onStep();
    }
    // Also of one that was stopped before it looked.
    onStep();
    if (this.#isStopped) return;
    this.#note(step);
    this.#timer = this.#options.clock.setTimer(() => void this.#run(), this.#waitMs(step));
  }

  async #guardedStep(): Promise<Step> {
    try {
      return await this.#follower.step();
    } catch (error) {
      // The store refuses, or a bug: nothing is lost, and the index does not take the program with it.
      this.#follower.reload();
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#options.logger.error("venuefive.index.failed", { venue: "venuefive", errorName });
      return failedAnswer("VENUE_ERROR", "what was read could not be kept");
    }
  }

  #note(step: Step): void {
    const problem = step.kind === "failed" ? PROBLEMS[step.code](step.message) : null;
    if (problem !== null && this.#problem === null)
      this.#options.logger.warn("venuefive.index.waits", { venue: "venuefive", problem });
    this.#problem = problem;
    this.#failures = problem === null ? 0 : this.#failures + 1;
  }

  #waitMs(step: Step): number {
    const { pollMs = POLL_MS, random } = this.#options;
    if (step.kind !== "failed") return pollMs;
    const backoffMs = pollMs + fullJitterMs(BACKOFF, this.#failures, random);
    return step.retryAfterMs === null
      ? backoffMs
      : Math.max(backoffMs, atLeastWithJitterMs(step.retryAfterMs, RETRY_SPREAD, random));
  }
}

type ProblemText = (message: string) => string;
const PROBLEMS: Readonly<Record<HistoryFailure, ProblemText>> = {
  TIMEOUT: () => "the endpoints do not answer in time",
  RATE_LIMITED: () => "the endpoints limit the rate of calls",
  AUTH: () => "the endpoints refuse the credentials of their URLs",
  BREAKER_OPEN: () => "the endpoints are not asked for a while, after failures",
  VENUE_ERROR: (message) => message,
  BAD_RESPONSE: (message) => `an endpoint's answer cannot be read: ${message}`,
  BAD_CURSOR: (message) => message,
  NEEDS_CREDENTIALS: (message) => message,
  PRUNED: () => "the endpoints keep no events of the next blocks any more",
  LAGGING: (message) => `an endpoint lags: ${message}`,
  INCONSISTENT: (message) => `an endpoint contradicts itself: ${message}`,
  FORKED: (message) => message,
};
