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
 * rests as long as the resolver has its orders, with one look more; reads on the lane of reconciliation, MAX_POLL_MS apart at most; MAX_ROUNDS of protection orders, the last one kept for the entry's end; MAX_RETRIES rounds more for what was refused, 1 to 15 s apart.
 *
 * A crash ends all watches, because credentials are not stored: an execution is then WATCH_LOST (`watchedReport`).
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import { Deadline, within } from "../../domain/deadline.js";
import { problemOf } from "../background.js";
import { filledLots, isOpen, mayFillMore, mayYetFill } from "../attempt-figures.js";
import { readPriceLater } from "../send/fill-price.js";
import { lotsOfContract } from "../order-scale.js";
import { MAX_FOLLOWED, type OrderFollows } from "../follow/order-follows.js";
import { WATCH_ENDED, WATCH_LOST, WATCHED, NOT_WATCHED } from "../conclude/protection-report.js";
import { collectSecrets } from "../redact.js";
import { applyResolution } from "../send/outcome.js";
import { TradeAccounts } from "../accounts.js";
import type { TradeConclusion } from "../conclude/trade-conclusion.js";
import type { TradeExecution } from "../send/execution.js";
import {
  awaitsProtection,
  guardsToTakeBack,
  isToBeAbandoned,
  mayTryAgain,
  partsToClose,
  unprotectedParts,
} from "../conclude/protection-parts.js";
import { protectSafely, type ProtectParts } from "./protect.js";
import { unknownOrderOf } from "../send/unknown-order.js";
import { credentialsOf, keyOf, watchedBefore, type Watched, type WatchedBefore } from "./watched-entry.js";
import {
  giveUpProtection,
  isOfPosition,
  positionAttempts,
  recordWatch,
  unsettledAttempt,
  type OrderAttempt,
  type ProtectionWish,
  type TradeRun,
} from "../run.js";
import type { TradeContext, TradeData } from "../types.js";

/** What watches entries whose protection is not complete. */
export interface WatchParts extends ProtectParts {
  readonly follows: OrderFollows<TradeRun>;
}

export const MAX_WATCHED = 256;
/** As a dead-man's switch may be armed. */
export const WATCH_MAX_MS = 86_400_000;
export const MAX_ROUNDS = 16;
/** About two minutes: longer than a venue's limits and halts of one market last as a rule. */
export const MAX_RETRIES = 12;
const FIRST_POLL_MS = 1_000;
const MAX_POLL_MS = 15_000;
const READ_TIMEOUT_MS = 3_000;
/** For the protection orders of one round. */
const ROUND_MS = 10_000;

export class ProtectionWatch {
  readonly #parts: WatchParts;
  readonly #conclusion: TradeConclusion;
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
      tellsEnd: unsettledAttempt(run) === null && mayFillMore(run),
      isToldElsewhere: unsettledAttempt(run) !== null,
      roundCount: 1,
      retryCount: 0,
      retryAtNs: this.#clock.monoNs() + FIRST_POLL_MS * 1e6,
      hint: null,
      wake: null,
    });
  }

  /**
   * Protection that stood was ended by its venue, or closed what it guarded and left its sibling: watched again, with what
   * its orders are followed with.
   */
  #resume(run: TradeRun): void {
    const { protection, routeId } = run;
    const before = this.#ended.get(routeId);
    if (protection === undefined || before === undefined || this.#stopping || this.#byRoute.has(routeId)) return;
    if (before.retryCount >= MAX_RETRIES || (!mayTryAgain(run) && !isLeftOpen(run))) return;
    const { follows, hash, rooms, logger } = this.#parts;
    const credentials = follows.credentialsOf(run);
    if (Object.keys(credentials).length === 0 || this.#byRoute.size >= this.#maxWatched) {
      logger.warn("entry_not_watched", { routeId });
      return;
    }
    const accounts = new TradeAccounts(rooms, { credentials: {}, preferredExchange: null }, hash);
    const request = { ...before.execution.request, credentials };
    this.#begin(protection, {
      ...before,
      run,
      execution: { ...before.execution, request, accounts, secrets: collectSecrets(credentials) },
      credentials,
      tellsEnd: false,
      isToldElsewhere: true,
      retryAtNs: this.#clock.monoNs() + FIRST_POLL_MS * 1e6,
      hint: "SEEN",
      wake: null,
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

  /** Sessions are open for the time of a look or a round of protection; what went to the resolver stays its own. */
  async #withAccounts(entry: Watched, work: (accounts: TradeAccounts) => Promise<void>): Promise<void> {
    const { hash, rooms } = this.#parts;
    const accounts = new TradeAccounts(rooms, { credentials: entry.credentials, preferredExchange: null }, hash);
    try {
      await work(accounts);
    } finally {
      accounts.closeAll();
    }
  }

  async #follow(entry: Watched): Promise<void> {
    const { run } = entry;
    const startNs = this.#clock.monoNs();
    for (let pollMs = FIRST_POLL_MS; ; ) {
      const leftMs = WATCH_MAX_MS - (this.#clock.monoNs() - startNs) / 1e6;
      // Unknown, and given up by the resolver: credentials are kept for such an order no longer than it keeps them.
      const isGivenUp = !this.#isInHand(run);
      const isLast = (): boolean => this.#stopping || leftMs <= 0 || isGivenUp;
      if (!this.#stopping && leftMs > 0 && entry.hint === null)
        await this.#sleep(entry, Math.min(pollMs, leftMs, this.#untilRetryMs(entry)));
      const { hint } = entry;
      entry.hint = null;
      const before = stateText(run);
      if (hint !== "SEEN") await this.#lookAtAll(entry);
      const coveredLots = filledText(run);
      const isProtected = await this.#protectWhatIsDue(entry, isLast());
      // What was seen to fill while that round was on its way has none yet, although the entry may be over by now.
      if (isProtected && filledText(run) !== coveredLots) {
        entry.hint ??= "SEEN";
        await this.#conclusion.publishProgress(run, keyOf(entry));
        pollMs = FIRST_POLL_MS;
        continue;
      }
      const isOver = !mayFillMore(run);
      if (isOver && (!hasWorkLeft(run) || (isLast() && !awaitsProtection(run)))) return this.#end(entry);
      if (isLast()) return this.#stopWatching(entry);
      if (isProtected || hint !== null || stateText(run) !== before) {
        await this.#conclusion.publishProgress(run, keyOf(entry));
        pollMs = FIRST_POLL_MS;
      } else pollMs = Math.min(2 * pollMs, MAX_POLL_MS);
    }
  }

  /** A round of protection for what filled, or of another try for what was refused. */
  async #protectWhatIsDue(entry: Watched, isLast: boolean): Promise<boolean> {
    const { run } = entry;
    const isOver = !mayFillMore(run);
    const isNew = isOver ? unprotectedParts(run).length > 0 : this.#isDue(entry, isLast);
    const isRetry = mayTryAgain(run) || isLeftOpen(run);
    const isRetryDue = isRetry && (isLast || this.#untilRetryMs(entry) <= 0);
    if (!isNew && !isRetryDue && !(isOver && run.protection?.problem !== null)) return false;
    if (isRetryDue) entry.retryCount++;
    await this.#protect(entry);
    entry.retryAtNs = this.#clock.monoNs() + Math.min(FIRST_POLL_MS * 2 ** entry.retryCount, MAX_POLL_MS) * 1e6;
    if (run.protection !== undefined && entry.retryCount >= MAX_RETRIES && hasWorkLeft(run)) {
      giveUpProtection(run.protection);
      this.#parts.logger.error("protection_given_up", { routeId: run.routeId });
    }
    return true;
  }

  #untilRetryMs({ retryAtNs, run }: Watched): number {
    if (!mayTryAgain(run) && !isLeftOpen(run)) return Number.POSITIVE_INFINITY;
    return Math.max(0, (retryAtNs - this.#clock.monoNs()) / 1e6);
  }

  /** Does an order of it rest, is one with the resolver, or is anything to be sent for it? */
  #isInHand(run: TradeRun): boolean {
    const { resolver } = this.#parts;
    if (mayTryAgain(run) || isLeftOpen(run)) return true;
    return run.attempts.some(
      (attempt) =>
        (isOfPosition(attempt) && isOpen(attempt) && !mayYetFill(attempt)) ||
        (mayFill(attempt) && resolver.isActive(attempt.clientIdHex)),
    );
  }

  /** Those that are with the resolver are its to end. */
  async #lookAtAll(entry: Watched): Promise<void> {
    const { run } = entry;
    const { resolver } = this.#parts;
    const open = positionAttempts(run).filter((attempt) => mayFill(attempt) && !resolver.isActive(attempt.clientIdHex));
    if (open.length === 0) return;
    await this.#withAccounts(entry, async (accounts) => {
      for (const attempt of open) {
        const isUnsettled = mayYetFill(attempt);
        await this.#look(run, accounts, attempt);
        if (isUnsettled && !mayYetFill(attempt)) entry.tellsEnd = true;
      }
    });
  }

  /** One read of one order; what it says less than is known already is left out. */
  async #look(run: TradeRun, accounts: TradeAccounts, attempt: OrderAttempt): Promise<void> {
    const account = accounts.get(attempt.venue);
    const order = unknownOrderOf(this.#parts, run, attempt, this.#parts.rooms.get(attempt.venue));
    if (account === null || order === null) return;
    const ref = { clientIdHex: attempt.clientIdHex };
    const options = { timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" } as const;
    const reading = account.room.reader.readOrder(account.session, order.instrument, ref, options);
    const read = await within(this.#clock, reading, READ_TIMEOUT_MS);
    const seen = read.done && read.value.ok ? read.value.value : null;
    if (seen === null || seen.filledLots < filledLots(attempt)) return;
    if (seen.status === "UNKNOWN")
      applyResolution(this.#parts, attempt, { kind: "unknown", reason: "TIMED_OUT", order: seen });
    else {
      const found = { kind: "found", order: seen } as const;
      const isNew = seen.filledLots > filledLots(attempt) || seen.status !== attempt.order?.status;
      applyResolution(this.#parts, attempt, found);
      if (isNew) readPriceLater(this.#parts.resolver, order, found, () => accounts.another(attempt.venue));
    }
  }

  /** Is there a part to protect now? The last round waits for the end, so that it covers all that is left. */
  #isDue({ roundCount, run }: Watched, isEnd: boolean): boolean {
    return unprotectedParts(run).some(({ attempt, lots, qtyDecimals }) => {
      const instrument = this.#parts.rooms.get(attempt.venue)?.markets.get(run.symbol)?.instrument;
      const isEnough =
        instrument === undefined || lotsOfContract(lots, qtyDecimals, instrument) >= instrument.minQtyLots;
      return isEnd || (roundCount < MAX_ROUNDS - 1 && isEnough);
    });
  }

  async #protect(entry: Watched): Promise<void> {
    const { context, execution, run } = entry;
    entry.roundCount++;
    const deadline = new Deadline(this.#clock, ROUND_MS);
    await this.#withAccounts(entry, async (accounts) => {
      // Without the ticket: its record is not to be RUNNING again.
      const late = await protectSafely(this.#parts, { ...execution, accounts, deadline, ticket: null }, run);
      if (late.length > 0) entry.isToldElsewhere = true;
      // An entry that was done at its reply has news: its protection. Once.
      if (!mayFillMore(run)) entry.tellsEnd ||= !entry.isToldElsewhere;
      if (!mayFillMore(run) && late.length > 0) entry.tellsEnd = false;
      this.#conclusion.followLate({ ...execution, accounts }, context, run, late);
    });
  }

  async #end(entry: Watched): Promise<void> {
    const { run, tellsEnd } = entry;
    if (run.protection !== undefined) recordWatch(run.protection, null);
    if (tellsEnd) await this.#conclusion.publishLookup(run, keyOf(entry));
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

/** Something is to be sent for it still, or it may turn out so. */
function hasWorkLeft(run: TradeRun): boolean {
  return mayTryAgain(run) || awaitsProtection(run) || isLeftOpen(run);
}

/** A guard outlives what it guarded; or, of an entry that its caller wants closed rather than unprotected, something rests, or is neither guarded nor being closed. */
function isLeftOpen(run: TradeRun): boolean {
  if (run.protection?.isGivenUp === true) return false;
  if (guardsToTakeBack(run).length > 0) return true;
  if (!isToBeAbandoned(run)) return false;
  const isResting = positionAttempts(run).some((attempt) => isOpen(attempt) && !mayYetFill(attempt));
  return isResting || partsToClose(run).length > 0;
}

function mayFill(attempt: OrderAttempt): boolean {
  return mayYetFill(attempt) || isOpen(attempt);
}

/** What the next publication would tell again. */
function stateText(run: TradeRun): string {
  return run.attempts.map((attempt) => `${attempt.outcome} ${attempt.order?.status} ${filledLots(attempt)}`).join();
}

function filledText(run: TradeRun): string {
  return positionAttempts(run).map(filledLots).join();
}
