/**
 * Entries with take-profit or stop-loss that may still fill when their reply is given: they rest, or their outcome is not
 * known yet. Each is watched by reading its orders, and what has filled is protected, until nothing of it can fill any
 * more.
 *
 * Invariants: the credentials of an entry are kept in memory for this entry alone and dropped when its watch ends,
 * whatever the end; a session is open for one look or one round alone; a watch sends nothing but protection and, where the caller wants that, the way back of a part
 * that was refused it; what ends without the entry's own end is reported, never silent.
 *
 * Bounds: MAX_WATCHED entries (one more is NOT_WATCHED, which its reply says); WATCH_MAX_MS each, and where nothing
 * rests as long as the resolver has its orders, with one look more; reads on the lane of reconciliation, MAX_POLL_MS apart at most; MAX_ROUNDS of protection orders, the last one kept for the entry's end.
 *
 * A crash ends all watches, because credentials are not stored: an execution is then WATCH_LOST (`watchedReport`).
 */
import type { Clock } from "../domain/clock.js";
import { Deadline, within } from "../domain/deadline.js";
import { problemOf } from "./background.js";
import { filledLots } from "./attempt-figures.js";
import { isOpen, mayFillMore, mayYetFill, WATCH_ENDED, WATCH_LOST, WATCHED, NOT_WATCHED } from "./protection-report.js";
import { applyResolution } from "./send-outcome.js";
import { TradeAccounts } from "./trade-accounts.js";
import type { TradeConclusion } from "./trade-conclude.js";
import type { TradeFlight, TradeParts } from "./trade-context.js";
import { protectSafely, unprotectedParts } from "./trade-protect.js";
import { unknownOrderOf } from "./trade-recover.js";
import { positionAttempts, unsettledAttempt, type Attempt, type TradeRun } from "./trade-run.js";
import type { TradeContext, TradeData, TradeRequest } from "./trade-types.js";

export const MAX_WATCHED = 256;
/** As a dead-man's switch may be armed. */
export const WATCH_MAX_MS = 86_400_000;
export const MAX_ROUNDS = 16;
const FIRST_POLL_MS = 1_000;
const MAX_POLL_MS = 15_000;
const READ_TIMEOUT_MS = 3_000;
/** For the protection orders of one round. */
const ROUND_MS = 10_000;

interface Watched {
  readonly run: TradeRun;
  readonly context: TradeContext;
  /** The request's own: what is concluded of the run is kept under its key. */
  readonly flight: TradeFlight;
  /** Of the venues that the entry went to. */
  credentials: TradeRequest["credentials"];
  /** Nobody else tells the end of this run: its orders were settled, resting, at the reply, or ended in a look of its own. */
  tellsEnd: boolean;
  roundCount: number;
  /** Ends the pause it is in. */
  wake: (() => void) | null;
}

export class ProtectionWatch {
  readonly #parts: TradeParts;
  readonly #conclusion: TradeConclusion;
  readonly #clock: Clock;
  readonly #maxWatched: number;
  readonly #byRoute = new Map<string, Watched>();
  readonly #following = new Set<Promise<void>>();
  #stopping = false;

  constructor(parts: TradeParts, conclusion: TradeConclusion, maxWatched = MAX_WATCHED) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#clock = parts.clock;
    this.#maxWatched = maxWatched;
  }

  get count(): number {
    return this.#byRoute.size;
  }

  /** Before the reply: watches the run if more of it may fill, and writes into it whether it does. */
  consider(flight: TradeFlight, context: TradeContext, run: TradeRun): void {
    const { protection, routeId } = run;
    if (protection === undefined || !mayFillMore(run) || this.#byRoute.has(routeId)) return;
    if (this.#stopping || this.#byRoute.size >= this.#maxWatched) {
      protection.watch = NOT_WATCHED;
      this.#parts.logger.warn("entry_not_watched", { routeId });
      return;
    }
    protection.watch = WATCHED;
    const entry: Watched = {
      run,
      context,
      flight,
      credentials: credentialsOf(flight, run),
      tellsEnd: unsettledAttempt(run) === null,
      roundCount: 1,
      wake: null,
    };
    this.#byRoute.set(routeId, entry);
    const following = this.#follow(entry)
      .catch((error: unknown) => {
        // What a venue or the store does throws nothing: a bug of ours, and the entry is unwatched from here on.
        this.#parts.logger.error("protection_watch_failed", { routeId, problem: problemOf(error) });
        protection.watch = WATCH_ENDED;
      })
      .finally(() => {
        entry.credentials = {};
        this.#byRoute.delete(routeId);
        this.#following.delete(following);
      });
    this.#following.add(following);
  }

  /** What is stored says WATCHED also when the process that watched is gone. */
  watchedReport(data: TradeData): TradeData {
    const { execution, routing } = data;
    if (execution.protectionReason !== WATCHED || this.#byRoute.has(routing.routeId)) return data;
    const lost = { ...execution, protectionReason: WATCH_LOST };
    // What stands guards what had filled by then.
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
      if (!this.#stopping && leftMs > 0) await this.#sleep(entry, Math.min(pollMs, leftMs));
      const before = stateText(run);
      await this.#lookAtAll(entry);
      const isOver = !mayFillMore(run);
      const isProtected = (isOver || this.#isDue(entry, isLast())) && (await this.#protect(entry));
      if (isOver) return this.#end(entry);
      if (isLast()) return this.#giveUp(entry);
      if (isProtected || stateText(run) !== before) {
        await this.#conclusion.publishProgress(run, keyOf(entry));
        pollMs = FIRST_POLL_MS;
      } else pollMs = Math.min(2 * pollMs, MAX_POLL_MS);
    }
  }

  /** Does an order of it rest, or is one with the resolver? */
  #isInHand(run: TradeRun): boolean {
    const { resolver } = this.#parts;
    return positionAttempts(run).some(
      (attempt) =>
        (isOpen(attempt) && !mayYetFill(attempt)) || (mayFill(attempt) && resolver.isActive(attempt.clientIdHex)),
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
  async #look(run: TradeRun, accounts: TradeAccounts, attempt: Attempt): Promise<void> {
    const account = accounts.get(attempt.venue);
    const order = unknownOrderOf(this.#parts, run, attempt);
    if (account === null || order === null) return;
    const ref = { clientIdHex: attempt.clientIdHex };
    const options = { timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" } as const;
    const reading = account.room.reader.readOrder(account.session, order.instrument, ref, options);
    const read = await within(this.#clock, reading, READ_TIMEOUT_MS);
    const seen = read.done && read.value.ok ? read.value.value : null;
    if (seen === null || seen.filledLots < filledLots(attempt)) return;
    if (seen.status === "UNKNOWN")
      applyResolution(this.#parts, attempt, { kind: "unknown", reason: "TIMED_OUT", order: seen });
    else applyResolution(this.#parts, attempt, { kind: "found", order: seen });
  }

  /** Is there a part to protect now? The last round waits for the end, so that it covers all that is left. */
  #isDue({ roundCount, run }: Watched, isEnd: boolean): boolean {
    return unprotectedParts(run).some(({ attempt, lots }) => {
      const minLots = this.#parts.rooms.get(attempt.venue)?.markets.get(run.symbol)?.instrument.minQtyLots ?? 1;
      return isEnd || (roundCount < MAX_ROUNDS - 1 && lots >= minLots);
    });
  }

  async #protect(entry: Watched): Promise<true> {
    const { context, flight, run } = entry;
    entry.roundCount++;
    const deadline = new Deadline(this.#clock, ROUND_MS);
    await this.#withAccounts(entry, async (accounts) => {
      // Without the ticket: its record is not to be RUNNING again.
      const late = await protectSafely(this.#parts, { ...flight, accounts, deadline, ticket: null }, run);
      this.#conclusion.followLate(flight, context, run, late);
    });
    return true;
  }

  async #end(entry: Watched): Promise<void> {
    const { run, tellsEnd } = entry;
    if (run.protection !== undefined) run.protection.watch = null;
    if (tellsEnd) await this.#conclusion.publishAsked(run, keyOf(entry));
    else await this.#conclusion.publishProgress(run, keyOf(entry));
  }

  async #giveUp(entry: Watched): Promise<void> {
    const { run } = entry;
    if (run.protection !== undefined) run.protection.watch = WATCH_ENDED;
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

function mayFill(attempt: Attempt): boolean {
  return mayYetFill(attempt) || isOpen(attempt);
}

/** What the next publication would tell anew. */
function stateText(run: TradeRun): string {
  return positionAttempts(run)
    .map((attempt) => `${attempt.outcome} ${attempt.order?.status} ${filledLots(attempt)}`)
    .join();
}

/** Of the idempotency record of the request; null without one. */
function keyOf({ flight }: Watched): string | null {
  return flight.ticket?.recordKey ?? null;
}

function credentialsOf({ request }: TradeFlight, run: TradeRun): TradeRequest["credentials"] {
  return Object.fromEntries(positionAttempts(run).map(({ venue }) => [venue, request.credentials[venue]]));
}
