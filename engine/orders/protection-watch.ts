/**
 * Entries with take-profit or stop-loss that may still fill when their reply is given: they rest, or their outcome is not
 * known yet. Each is watched by reading its orders, and what has filled is protected, until nothing of it can fill any
 * more.
 *
 * Invariants: the sessions and credentials of an entry are kept in memory for this entry alone and dropped when its watch
 * ends, whatever the end; a watch sends nothing but protection and, where the caller wants that, the way back of a part
 * that was refused it; what ends without the entry's own end is reported, never silent.
 *
 * Bounds: MAX_WATCHED entries (one more is NOT_WATCHED, which its reply says); WATCH_MAX_MS each; reads on the lane of
 * reconciliation, MAX_POLL_MS apart at most; MAX_ROUNDS of protection orders, the last one kept for the entry's end.
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
import type { TradeContext, TradeData } from "./trade-types.js";

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
  /** Of the request, with accounts of its own and without its ticket. */
  readonly flight: TradeFlight;
  /** The request's own: what is concluded of the run is kept under its key. */
  readonly requested: TradeFlight;
  /** Nobody else tells the end of this run: all its orders were settled, resting, at the reply. */
  readonly tellsEnd: boolean;
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
    const accounts = this.#openAccounts(flight, run);
    if (accounts === null) {
      protection.watch = NOT_WATCHED;
      this.#parts.logger.warn("entry_not_watched", { routeId });
      return;
    }
    protection.watch = WATCHED;
    const entry: Watched = {
      run,
      context,
      flight: { ...flight, accounts, ticket: null },
      requested: flight,
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
        accounts.forget();
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

  /** Sessions of the venues where more may fill; null: they cannot be had, or there are too many entries. */
  #openAccounts(flight: TradeFlight, run: TradeRun): TradeAccounts | null {
    if (this.#stopping || this.#byRoute.size >= this.#maxWatched) return null;
    const { hash, rooms } = this.#parts;
    const venues = new Set(positionAttempts(run).map(({ venue }) => venue));
    const credentials = { ...flight.request.credentials };
    for (const venue of rooms.keys()) if (!venues.has(venue)) delete credentials[venue];
    const accounts = new TradeAccounts(rooms, { credentials, preferredExchange: null }, hash);
    if ([...venues].every((venue) => accounts.get(venue) !== null)) return accounts;
    accounts.forget();
    return null;
  }

  async #follow(entry: Watched): Promise<void> {
    const { run } = entry;
    const startNs = this.#clock.monoNs();
    for (let pollMs = FIRST_POLL_MS; ; ) {
      const leftMs = WATCH_MAX_MS - (this.#clock.monoNs() - startNs) / 1e6;
      const isLast = (): boolean => this.#stopping || leftMs <= 0;
      if (!isLast()) await this.#sleep(entry, Math.min(pollMs, leftMs));
      const before = stateText(run);
      for (const attempt of positionAttempts(run)) if (mayFill(attempt)) await this.#look(entry, attempt);
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

  /** One read of one order; what it says less than is known already is left out. */
  async #look(entry: Watched, attempt: Attempt): Promise<void> {
    const { flight, run } = entry;
    // With the resolver still, which tells its end.
    if (this.#parts.resolver.isActive(attempt.clientIdHex)) return;
    const account = flight.accounts.renew(attempt.venue);
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
    const { context, flight, requested, run } = entry;
    entry.roundCount++;
    const deadline = new Deadline(this.#clock, ROUND_MS);
    const late = await protectSafely(this.#parts, { ...flight, deadline }, run);
    this.#conclusion.followLate(requested, context, run, late);
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
function keyOf({ requested }: Watched): string | null {
  return requested.ticket?.recordKey ?? null;
}
