/**
 * Decides when a streamed account is LIVE, and asks the venue over REST to make and keep it so.
 *
 *   ready ──start──► load ──► adopt ──► LIVE ──► every truthEveryMs, and where something is overdue: load again
 *                     ▲         │ no answer, or something unread since the question: SYNCING
 *                     └─ wait ──┘
 *
 * Invariants: one load runs at a time, and only while the connection is ready; LIVE means that an answer asked for after
 * the connection was ready has been taken, that nothing unread came since its question, that the connection speaks, and
 * that the streams or a read have shown orders of ours (streamed-reads.ts). Without an answer, what is held is unproven. A load that ends
 * after a loss, or after LOAD_BOUND_MS, changes nothing.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { FeedState } from "../../../engine/market/market.js";
import { type ApplyVerdict, Resync } from "../book/resync.js";
import type { BackoffPolicy } from "../net/backoff.js";
import type { AccountFeed, AccountTruth, LoadFailure, ReconcileScope } from "./account-feed.js";
import type { StreamMembers } from "./stream-members.js";
import { sameSizes } from "./held-positions.js";
import { mayPrecedeMove, type StreamedReads, SURELY_LATER_MS } from "./streamed-reads.js";

/** Between checks whether the stream may still be LIVE. */
const WATCH_EVERY_MS = 1_000;
/** Failed tries after which it is logged, and again after as many more. */
const ESCALATE_EVERY = 4;
/** A key or agent that was just approved may be refused for a second or two. */
const MAX_REFUSALS = 4;
/** @testonly Of all reads of one load; each has a limit of its own, and what a load learnt on the way is kept. */
export const LOAD_BOUND_MS = 120_000;

/** Summed over all accounts of a room. */
export interface AccountCounters {
  /** Frames that could not be read, or do not fit their contract. */
  decodeErrorCount: number;
  /** Fills of a gap that could not be read after many tries, by contract: they are missing for good. */
  unreadFillCount: number;
}

export interface ReconcilePace {
  /** Between tries: the base, and then the jittered wait. */
  readonly backoff: BackoffPolicy;
  /** Between reads over REST, which find what lost frames would have shown. */
  readonly truthEveryMs: number;
  /** A frame that comes so long after what it reports proves that others may be as late. Default: of streamed-reads.ts. */
  readonly lateAfterMs?: number;
}

export interface ReconcilerOptions<S> {
  /** Begins each line of the log, as `<venue>.account`. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly pace: ReconcilePace;
  readonly counters: AccountCounters;
  readonly reads: StreamedReads;
  readonly members: Pick<StreamMembers<never>, "enter" | "state" | "tell">;
  readonly feed: Pick<AccountFeed<S>, "load" | "lost" | "positions" | "takeNews">;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** The connection is open and carries every channel. */
  readonly isReady: () => boolean;
  readonly session: () => S | null;
  /** The venue refuses the credentials again and again. */
  readonly onRefused: () => void;
}

interface Loaded {
  readonly beganMs: number;
  readonly truth: AccountTruth | LoadFailure;
}

export class AccountReconciler<S> {
  readonly #options: ReconcilerOptions<S>;
  readonly #resync: Resync<never, Loaded>;
  #isStopped = false;
  /** The venue was read once: what is held may miss something from here on. */
  #hasPicture = false;
  #scope: ReconcileScope = "all";
  /** Something asked for a load while one was running. */
  #isDue = false;
  /** Something came that could not be read since the load in flight asked its questions. */
  #hasUnread = false;
  #refusalCount = 0;
  /** Grows with each load and each loss: a load that ends late finds itself outdated. */
  #loadId = 0;
  #truthTimer: TimerHandle;
  #watchTimer: TimerHandle;
  #refreshTimer: TimerHandle | null = null;

  constructor(options: ReconcilerOptions<S>) {
    const { clock, logger, name, pace, random, reads } = options;
    this.#options = options;
    reads.follow(false);
    this.#resync = new Resync<never, Loaded>({
      clock,
      random,
      backoff: pace.backoff,
      leastWaitMs: pace.backoff.baseMs,
      // Frames are applied as they come, so none is buffered.
      maxBufferedFrames: 1,
      escalateAfter: ESCALATE_EVERY,
      load: () => this.#load(),
      apply: (loaded) => this.#apply(loaded),
      onEscalate: (attemptCount) => {
        if (!this.#isLive) logger.error(`${name}.reconcile-failing`, { attemptCount });
      },
    });
    this.#truthTimer = clock.setTimer(() => this.#checkTruth(), pace.truthEveryMs);
    this.#watchTimer = clock.setTimer(() => this.#watch(), WATCH_EVERY_MS);
  }

  get isRunning(): boolean {
    return this.#resync.isRunning;
  }

  get #isLive(): boolean {
    return this.#options.members.state === "LIVE";
  }

  /** One that runs already is followed by another, of the whole account. */
  start(scope: ReconcileScope = "all"): void {
    if (this.#isStopped || !this.#options.isReady()) return;
    if (this.#resync.isRunning) {
      this.#isDue = true;
      return;
    }
    this.#scope = scope;
    this.#resync.start();
  }

  /** The connection is lost, or was changed for one that is not ready. */
  lost(): void {
    this.#loadId++;
    this.#resync.cancel();
    this.#isDue = false;
    this.#options.feed.lost(true);
    if (this.#hasPicture) this.#options.reads.missed();
    this.#enter("SYNCING");
  }

  /** A frame could not be read: not LIVE until REST has answered. */
  unread(problem: string): void {
    const { counters, logger, name, reads } = this.#options;
    counters.decodeErrorCount++;
    logger.warn(`${name}.unread`, { problem });
    this.#hasUnread = true;
    // The answer to come may lag behind it: another is asked for surely later.
    reads.doubt();
    this.#enter("SYNCING");
    this.start();
  }

  /** A frame reports something that happened at this venue time. */
  happened(tsVenueMs: number): void {
    const { clockOffsetMs, pace, reads } = this.#options;
    reads.happened(tsVenueMs - clockOffsetMs(), pace.lateAfterMs);
    if (reads.isPending) this.refreshSoon();
  }

  /** The streams are to report something of ours; where they do not, the venue is asked. */
  refreshSoon(): void {
    if (this.#refreshTimer !== null || this.#isStopped) return;
    const { clock, reads } = this.#options;
    this.#refreshTimer = clock.setTimer(() => {
      this.#refreshTimer = null;
      if (reads.isOverdue && this.#isLive) this.start("positions");
      else if (reads.isPending) this.refreshSoon();
    }, SURELY_LATER_MS);
  }

  /** Credentials that the venue refuses again and again will not get better: the stream ends, with a line in the log. */
  noteRefusal(isRefused: boolean): void {
    const { logger, name, onRefused } = this.#options;
    this.#refusalCount = isRefused ? this.#refusalCount + 1 : 0;
    if (this.#refusalCount < MAX_REFUSALS || this.#isStopped) return;
    logger.warn(`${name}.refused`, { refusalCount: this.#refusalCount });
    this.#enter("DOWN");
    onRefused();
  }

  stop(): void {
    this.#isStopped = true;
    this.#loadId++;
    this.#resync.cancel();
    const { clock } = this.#options;
    clock.clearTimer(this.#truthTimer);
    clock.clearTimer(this.#watchTimer);
    if (this.#refreshTimer !== null) clock.clearTimer(this.#refreshTimer);
  }

  /** Silence or an order that is not shown ends LIVE: other frames may be lost or late as well. */
  #watch(): void {
    const { clock, feed, reads } = this.#options;
    this.#watchTimer = clock.setTimer(() => this.#watch(), WATCH_EVERY_MS);
    if (this.#isLive && (!reads.isAlive || reads.isUnshown)) {
      feed.lost(false);
      this.#enter("SYNCING");
    }
    if (this.isRunning) return;
    // A move that no order of ours explains comes with no frame of an order.
    if (this.#isLive && reads.isOverdue) this.start("positions");
    else if (!this.#isLive && reads.isAlive) this.start();
  }

  #checkTruth(): void {
    const { clock, pace } = this.#options;
    this.#truthTimer = clock.setTimer(() => this.#checkTruth(), pace.truthEveryMs);
    if (this.#isLive) this.start("positions");
  }

  async #load(): Promise<Loaded> {
    const { clock, feed, logger, name, reads, session } = this.#options;
    const scope = this.#scope;
    this.#scope = "all";
    this.#isDue = false;
    this.#hasUnread = false;
    const loadId = ++this.#loadId;
    const beganMs = reads.begin();
    const asking = session();
    if (asking === null) return { beganMs, truth: "unanswered" };
    try {
      const load = feed.load(asking, { scope, beganMs, isWanted: () => loadId === this.#loadId });
      const loaded = await within(clock, load, LOAD_BOUND_MS);
      if (loaded.done) return { beganMs, truth: loaded.value };
    } catch (error) {
      logger.error(`${name}.load-failed`, { errorName: error instanceof Error ? error.name : "unknown" });
    }
    // A load that goes on after its bound is not wanted any more.
    if (loadId === this.#loadId) this.#loadId++;
    return { beganMs, truth: "unanswered" };
  }

  #apply({ beganMs, truth }: Loaded): ApplyVerdict {
    const failure = typeof truth === "string" ? truth : null;
    this.noteRefusal(failure === "refused");
    if (this.#isStopped) return "retry";
    if (typeof truth !== "string" && this.#adopt(beganMs, truth)) return this.#isDue ? "retry" : "synced";
    this.#enter("SYNCING");
    return "retry";
  }

  /** Returns true when the account is as the venue reports it. */
  #adopt(beganMs: number, truth: AccountTruth): boolean {
    const { feed, logger, members, name, reads } = this.#options;
    const wasLive = this.#isLive;
    const before = feed.positions();
    const mayBeOlder = mayPrecedeMove(reads, beganMs);
    const isChanged = truth.adopt();
    this.#hasPicture = true;
    const held = feed.positions();
    reads.moved(before, held);
    if (wasLive && isChanged) logger.warn(`${name}.differed`, { count: truth.positions.length });
    // Where something newer is held, the answer counts only if it holds the same sizes.
    if (sameSizes(held, truth.positions)) {
      reads.agreed(beganMs);
      reads.proven(truth.asOfMs);
    }
    // It changed what moved shortly before it, and may be older than that move: another is to begin surely later.
    if (mayBeOlder && !sameSizes(before, held)) reads.doubtPositions();
    // Only an answer asked for after the unread frame includes what that frame reported.
    if (this.#hasUnread) return false;
    if (reads.isPending) this.refreshSoon();
    // The account is known as of then, and #watch looks again when the connection speaks.
    if (!reads.isAlive) return true;
    if (reads.isUnshown) return false;
    const news = feed.takeNews();
    this.#enter("LIVE");
    if (isChanged || !wasLive) members.tell({ kind: "positions" });
    for (const event of news) members.tell(event);
    return true;
  }

  #enter(state: FeedState): void {
    if (state === "LIVE") this.#options.reads.follow(true);
    this.#options.members.enter(state);
  }
}
