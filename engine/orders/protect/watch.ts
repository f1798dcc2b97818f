/**
 * Entries with take-profit or stop-loss that may still fill when their reply is given (they rest, or their outcome is not
 * known yet), or whose protection is not done. Each is watched by reading its orders, at once where the account's stream
 * tells of one (order-follows.ts), and what has filled is protected, until nothing of it can fill any more. Protection
 * that was refused for a reason that may pass is sent again, and a part that is to be closed instead is until it is.
 *
 * Invariants: the credentials of an entry are kept in memory for this entry alone and dropped when its watch ends,
 * whatever the end; a session is open for one look or one round alone; a watch sends nothing but protection and, where the caller wants that, the undo of a part
 * that was refused it; what ends without the entry's own end is reported, never silent.
 *
 * Bounds: MAX_WATCHED entries (one more is NOT_WATCHED, which its reply says); WATCH_MAX_MS each, and where nothing
 * rests as long as the resolver has its orders, with one look more; reads on the lane of reconciliation, on that of exits
 * where it has probably filled (entry-looks.ts), MAX_POLL_MS apart at most, sooner while the venue does not answer
 * (look-pause.ts); rounds of protection as protection-rounds.ts bounds them.
 *
 * A crash ends all watches, because credentials are not stored: an execution is then WATCH_LOST (`watchedReport`).
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import { problemOf } from "../background.js";
import { filledLots, mayFillMore } from "../attempt-figures.js";
import { MAX_FOLLOWED, type OrderFollows } from "../follow/order-follows.js";
import { WATCH_ENDED, WATCH_LOST, WATCHED, NOT_WATCHED } from "../conclude/protection-report.js";
import { collectSecrets } from "../redact.js";
import { TradeAccounts } from "../accounts.js";
import type { TradeConclusion } from "../conclude/trade-conclusion.js";
import type { TradeExecution } from "../send/execution.js";
import { unansweredPauseMs } from "../send/look-pause.js";
import { awaitsProtection } from "../conclude/protection-parts.js";
import { isInHand, lookAtAll, urgentLooksOf } from "./entry-looks.js";
import type { ProtectParts } from "./protect.js";
import { MAX_RETRIES, ProtectionRounds } from "./protection-rounds.js";
import {
  credentialsOf,
  FIRST_POLL_MS,
  keyOf,
  MAX_POLL_MS,
  watchedBefore,
  type Watched,
  type WatchedBefore,
} from "./watched-entry.js";
import { hasWorkLeft, isRetryLeft } from "./work-left.js";
import { positionAttempts, unsettledAttempt, type ProtectionWish, type TradeRun } from "../run.js";
import { recordWatch } from "../run-writes.js";
import type { TradeContext, TradeData } from "../types.js";

/** What watches entries whose protection is not complete. */
export interface WatchParts extends ProtectParts {
  readonly follows: OrderFollows<TradeRun>;
}

export const MAX_WATCHED = 256;
/** As a dead-man's switch may be armed. */
export const WATCH_MAX_MS = 86_400_000;

export class ProtectionWatch {
  readonly #parts: WatchParts;
  readonly #conclusion: TradeConclusion;
  readonly #rounds: ProtectionRounds;
  readonly #clock: Clock;
  readonly #maxWatched: number;
  readonly #byRoute = new Map<string, Watched>();
  /** What a watch of the entry would begin with again; the least recently used one goes. */
  readonly #ended = new LRUCache<string, WatchedBefore>({ max: MAX_FOLLOWED });
  readonly #following = new Set<Promise<void>>();
  #stopping = false;

  constructor(parts: WatchParts, conclusion: TradeConclusion, maxWatched = MAX_WATCHED) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#rounds = new ProtectionRounds(parts, conclusion);
    this.#clock = parts.clock;
    this.#maxWatched = maxWatched;
  }

  get count(): number {
    return this.#byRoute.size;
  }

  /** Before the reply: watches the run if more of it may fill, and writes into it whether it does. */
  consider(execution: TradeExecution, context: TradeContext, run: TradeRun): void {
    const { protection, routeId } = run;
    if (protection === undefined || this.#byRoute.has(routeId)) return;
    this.#ended.set(routeId, watchedBefore(execution, context));
    if (!mayFillMore(run) && !hasWorkLeft(run)) return;
    if (this.#stopping || this.#byRoute.size >= this.#maxWatched) {
      recordWatch(protection, NOT_WATCHED);
      this.#parts.logger.warn("entry_not_watched", { routeId });
      return;
    }
    this.#begin(protection, {
      run,
      context,
      execution: execution,
      credentials: credentialsOf(execution, run),
      reportsEnd: unsettledAttempt(run) === null && mayFillMore(run),
      isReportedElsewhere: unsettledAttempt(run) !== null,
      roundCount: 1,
      retryCount: 0,
      retryAtNs: this.#clock.monoNs() + FIRST_POLL_MS * 1e6,
      hint: null,
      isUnpublished: false,
      storeRefusals: 0,
      wake: null,
      urgentLooks: urgentLooksOf(run),
    });
  }

  /**
   * Protection that its venue had taken has ended there, or closed what it guarded and left its sibling: watched again, with what
   * its orders are followed with.
   */
  #resume(run: TradeRun): void {
    const { protection, routeId } = run;
    const before = this.#ended.get(routeId);
    if (protection === undefined || before === undefined || this.#stopping || this.#byRoute.has(routeId)) return;
    if (before.retryCount >= MAX_RETRIES || !isRetryLeft(run)) return;
    const { follows, hash, rooms, logger } = this.#parts;
    const credentials = follows.credentialsOf(run);
    if (Object.keys(credentials).length === 0 || this.#byRoute.size >= this.#maxWatched) {
      logger.warn("entry_not_watched", { routeId });
      return;
    }
    const accounts = new TradeAccounts(
      rooms,
      { credentials: {}, preferredExchange: null },
      hash,
      before.execution.ownerId,
      before.context.payer,
    );
    const request = { ...before.execution.request, credentials };
    this.#begin(protection, {
      ...before,
      run,
      execution: { ...before.execution, request, accounts, secrets: collectSecrets(credentials) },
      credentials,
      reportsEnd: false,
      isReportedElsewhere: true,
      retryAtNs: this.#clock.monoNs() + FIRST_POLL_MS * 1e6,
      hint: "SEEN",
      isUnpublished: false,
      storeRefusals: 0,
      wake: null,
      urgentLooks: 0,
    });
  }

  #begin(protection: ProtectionWish, entry: Watched): void {
    const { routeId } = entry.run;
    recordWatch(protection, WATCHED);
    this.#byRoute.set(routeId, entry);
    const following = this.#follow(entry)
      .catch((error: unknown) => {
        // What a venue or the store does throws nothing: a bug of ours, and the entry is unwatched from here on.
        this.#parts.logger.error("protection_watch_failed", { routeId, problem: problemOf(error) });
        recordWatch(protection, WATCH_ENDED);
      })
      .finally(() => {
        entry.credentials = {};
        const { roundCount, retryCount } = entry;
        this.#ended.set(routeId, { ...watchedBefore(entry.execution, entry.context), roundCount, retryCount });
        this.#byRoute.delete(routeId);
        this.#following.delete(following);
        // Seen while its end was being published.
        if (entry.hint !== null) this.#resume(entry.run);
      });
    this.#following.add(following);
  }

  isWatching(routeId: string): boolean {
    return this.#byRoute.has(routeId);
  }

  /**
   * `isSeen`: what happened is in the run; else it is to be looked at. Of an entry whose watch is over: it is watched
   * again where its protection is lost and may be sent again.
   */
  onSight(run: TradeRun, isSeen: boolean): void {
    const entry = this.#byRoute.get(run.routeId);
    if (entry === undefined) {
      this.#resume(run);
      return;
    }
    entry.hint = isSeen && entry.hint !== "LOOK" ? "SEEN" : "LOOK";
    if (entry.hint === "LOOK") entry.urgentLooks = Math.max(1, entry.urgentLooks);
    entry.wake?.();
  }

  /** What its last look waited for is in the run. */
  wake(routeId: string): void {
    const entry = this.#byRoute.get(routeId);
    if (entry === undefined) return;
    entry.hint ??= "SEEN";
    entry.wake?.();
  }

  /** A stored run has WATCHED also when the process that watched is gone. */
  watchedReport(data: TradeData): TradeData {
    const { execution, routing } = data;
    if (execution.protectionReason !== WATCHED || this.#byRoute.has(routing.routeId)) return data;
    const lost = { ...execution, protectionReason: WATCH_LOST };
    // What is placed guards what had filled by then.
    if (execution.protection === "PLACED") lost.protection = "PARTIAL";
    return { ...data, execution: lost };
  }

  /** Gives every entry a last look now and ends its watch. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const { wake } of this.#byRoute.values()) wake?.();
    await Promise.all(this.#following);
  }

  async #follow(entry: Watched): Promise<void> {
    const { run } = entry;
    const startNs = this.#clock.monoNs();
    let answeredNs = startNs;
    for (let pollMs = FIRST_POLL_MS; ; ) {
      const leftMs = WATCH_MAX_MS - (this.#clock.monoNs() - startNs) / 1e6;
      // Unknown, and given up by the resolver: credentials are kept for such an order no longer than it keeps them.
      const isGivenUp = !isInHand(this.#parts, run);
      const isLast = (): boolean => this.#stopping || leftMs <= 0 || isGivenUp;
      if (!this.#stopping && leftMs > 0 && entry.hint === null)
        await this.#sleep(entry, Math.min(pollMs, leftMs, this.#rounds.untilRetryMs(entry)));
      const { hint } = entry;
      entry.hint = null;
      const before = stateText(run);
      const isAnswered = hint === "SEEN" || (await lookAtAll(this.#parts, entry));
      if (isAnswered) answeredNs = this.#clock.monoNs();
      const coveredLots = filledText(run);
      const isProtected = await this.#rounds.protectWhatIsDue(entry, isLast());
      // What was seen to fill while that round was on its way has none yet, although the entry may be over by now.
      if (isProtected && filledText(run) !== coveredLots) {
        entry.hint ??= "SEEN";
        await this.#publish(entry);
        pollMs = FIRST_POLL_MS;
        continue;
      }
      const isOver = !mayFillMore(run);
      if (isOver && (!hasWorkLeft(run) || (isLast() && !awaitsProtection(run)))) return this.#end(entry);
      if (isLast()) return this.#stopWatching(entry);
      if (isProtected || hint !== null || entry.isUnpublished || stateText(run) !== before) {
        await this.#publish(entry);
        pollMs = FIRST_POLL_MS;
      } else pollMs = Math.min(2 * pollMs, MAX_POLL_MS);
      if (!isAnswered) pollMs = Math.min(pollMs, unansweredPauseMs((this.#clock.monoNs() - answeredNs) / 1e6));
    }
  }

  /** What the store refuses is published with the next look: an entry is protected whatever is remembered of it. */
  async #publish(entry: Watched): Promise<void> {
    const { isUnpublished, run } = entry;
    entry.isUnpublished = false;
    try {
      await this.#conclusion.publishProgress(run, keyOf(entry));
      if (isUnpublished) entry.retryAtNs = Math.min(entry.retryAtNs, this.#clock.monoNs());
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") throw error;
      entry.isUnpublished = true;
      this.#parts.logger.warn("protection_not_stored", { routeId: run.routeId });
    }
  }

  async #end(entry: Watched): Promise<void> {
    const { run, reportsEnd } = entry;
    if (run.protection !== undefined) recordWatch(run.protection, null);
    if (reportsEnd) await this.#conclusion.publishLookup(run, keyOf(entry));
    else await this.#conclusion.publishProgress(run, keyOf(entry));
  }

  async #stopWatching(entry: Watched): Promise<void> {
    const { run } = entry;
    if (run.protection !== undefined) recordWatch(run.protection, WATCH_ENDED);
    this.#parts.logger.warn("protection_watch_ended", { routeId: run.routeId });
    await this.#conclusion.publishProgress(run, keyOf(entry));
  }

  /** A pause that `stop` ends early. */
  #sleep(entry: Watched, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#clock.clearTimer(timer);
        entry.wake = null;
        resolve();
      };
      const timer = this.#clock.setTimer(wake, delayMs);
      entry.wake = wake;
    });
  }
}

/** What the next publication would tell again. */
function stateText(run: TradeRun): string {
  return run.attempts.map((attempt) => `${attempt.outcome} ${attempt.order?.status} ${filledLots(attempt)}`).join();
}

function filledText(run: TradeRun): string {
  return positionAttempts(run).map(filledLots).join();
}
