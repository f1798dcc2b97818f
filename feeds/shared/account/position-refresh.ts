/**
 * Reads of a watched account's positions alone, beside what is streamed: for orders that the streams do not show, against
 * a contradiction, to prove a silent channel alive, and once in a while in any case. A failed read changes nothing held,
 * whose age shows, and is repeated after REPEAT_BACKOFF.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Random } from "../../../engine/domain/random.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { CallOptions } from "../../../engine/ports.js";
import { type BackoffPolicy, fullJitterMs } from "../net/backoff.js";
import type { ProbeResult } from "../net/subscriptions.js";
import { monoMs } from "../net/weight-window.js";
import type { Adopt, Adopted } from "./account-source.js";
import { mayPrecedeMove, type StreamedReads, SURELY_LATER_MS } from "./streamed-reads.js";

/** Comes before each jittered wait: a venue that fails is asked by every account that is watched. */
const LEAST_REPEAT_MS = 2_000;
/** The cap keeps a long failure at a few reads a minute for each account; the lanes keep the venue's limit. */
const REPEAT_BACKOFF: BackoffPolicy = { baseMs: 2_000, capMs: 30_000 };

export interface PositionRefreshOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly reads: StreamedReads;
  /** Between regular reads of the venue, also where the streams seem complete. */
  readonly truthEveryMs: number;
  readonly source: { readonly needsRead: boolean; loadPositions(call: CallOptions): Promise<Adopt | null> };
  /** Of each read, as it begins. */
  readonly call: () => CallOptions;
  /** A read is asked for by doubts only while the account is LIVE; DOWN ends it. */
  readonly state: () => FeedState;
  readonly onAdopted: (adopted: Adopted) => void;
}

export class PositionRefresh {
  readonly #options: PositionRefreshOptions;
  #timer: TimerHandle | null = null;
  #isRunning = false;
  /** Monotonic ms after which the venue is to be asked, also where the streams seem complete. */
  #dueMs = 0;
  /** Reads in a row that failed. */
  #failureCount = 0;

  constructor(options: PositionRefreshOptions) {
    this.#options = options;
  }

  /** The regular read, or the repeat of one that failed, has its turn. */
  get isDue(): boolean {
    return monoMs(this.#options.clock) > this.#dueMs;
  }

  /** The whole account was read. */
  noteAnswered(): void {
    this.#failureCount = 0;
    this.#dueIn(this.#options.truthEveryMs);
  }

  /** Reads surely later, where the streams have not shown it by then. */
  soon(): void {
    const { clock, reads, source, state } = this.#options;
    if (this.#timer !== null || state() !== "LIVE") return;
    this.#timer = clock.setTimer(() => {
      this.#timer = null;
      // The streams may have shown it meanwhile.
      if (source.needsRead || reads.isOverdue) this.#read();
      // Orders under way may be shown in time, and cost no read.
      else if (reads.isPending) this.soon();
    }, SURELY_LATER_MS);
  }

  /** Reads now, unless a read is under way. */
  now(): void {
    if (this.#isRunning) return;
    this.stop();
    this.#read();
  }

  stop(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  /** Proves a silent channel alive: the venue has what is held. */
  async probe(): Promise<ProbeResult> {
    const { reads, state } = this.#options;
    const beganMs = reads.begin();
    const adopt = await this.#load();
    if (adopt === null || state() === "DOWN") return "unknown";
    const adopted = adoptRead(reads, adopt, beganMs);
    if (!adopted.ok) return "unknown";
    return adopted.differences === 0 ? "quiet" : "dead";
  }

  #read(): void {
    const { onAdopted, reads, state } = this.#options;
    const beganMs = reads.begin();
    this.#dueIn(this.#options.truthEveryMs);
    this.#isRunning = true;
    void this.#load().then((adopt) => {
      this.#isRunning = false;
      if (state() === "DOWN") return;
      if (adopt === null) this.#repeatLater();
      else {
        this.#failureCount = 0;
        onAdopted(adoptRead(reads, adopt, beganMs));
      }
      // An order may have been sent since: its state is still to be shown.
      if (reads.isPending) this.soon();
    });
  }

  #repeatLater(): void {
    const { random, truthEveryMs } = this.#options;
    const waitMs = LEAST_REPEAT_MS + fullJitterMs(REPEAT_BACKOFF, this.#failureCount++, random);
    this.#dueIn(Math.min(waitMs, truthEveryMs));
  }

  #dueIn(ms: number): void {
    this.#dueMs = monoMs(this.#options.clock) + ms;
  }

  /** A read that throws has failed. */
  async #load(): Promise<Adopt | null> {
    const { call, source } = this.#options;
    try {
      return await source.loadPositions(call());
    } catch {
      return null;
    }
  }
}

/**
 * Takes a read that began then. One that changes what moved shortly before it may be older than that move, where the venue
 * dates neither: another is needed that began surely later.
 */
export function adoptRead(reads: StreamedReads, adopt: Adopt, beganMs: number): Adopted {
  const mayBeOlder = mayPrecedeMove(reads, beganMs);
  const adopted = adopt();
  if (adopted.ok && adopted.agrees) reads.agreed(beganMs);
  if (mayBeOlder && adopted.differences > 0) reads.doubtPositions();
  return adopted;
}
