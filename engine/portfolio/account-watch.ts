/**
 * Watches one account at one venue with one set of credentials. The account is streamed where the venue streams and has
 * room. The poll schedule reads it otherwise, and while a stream is away for longer than a moment. Its open orders are
 * kept in watched-orders.ts.
 *
 *   stream LIVE ── its positions, reconciled by the room ──► LIVE, push
 *   no stream, or none free, or away ── polls over REST ──► SNAPSHOT, poll; a stream is tried again now and then
 *
 * Invariants: only a whole state that is not older replaces a state; a failed read changes no position (it is not a flat
 * account); the session is closed at the end and not used after it; listeners run after a change is applied.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { VenuePosition } from "../domain/position.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountEvent, AccountSession, AccountStream, AccountStreams, CallOptions, VenueRoom } from "../ports.js";
import { type FailedRead, LOOK_TIMEOUT_MS, NO_PAUSE, pauseAfter, readSafely } from "./account-reads.js";
import { Liquidations } from "./liquidations.js";
import type { LookResult, PollSchedule, PollTask } from "./poll-schedule.js";
import type { AccountChange, AccountListener, Coverage, CoverageError } from "./portfolio-types.js";
import { failedState, NO_ANSWER_YET, ordersCoverageOf } from "./coverage.js";
import { positionsUnlisted, unlistedNames } from "./unlisted.js";
import { positionChanges } from "./position-changes.js";
import type { ResolvedExecution } from "./resolved-executions.js";
import { WatchListeners } from "./watch-listeners.js";
import { WatchedOrders } from "./watched-orders.js";

/** Polling starts when a stream is not LIVE for this long; the room keeps trying meanwhile. */
const STREAM_GRACE_MS = 3_000;
/** An account without a stream requests one again after this time. */
const STREAM_RETRY_MS = 60_000;

/**
 * The poll schedules of one venue. There are two because a list of open orders weighs about ten times as much as
 * positions.
 */
export interface VenueSchedules {
  readonly positions: PollSchedule;
  readonly orders: PollSchedule;
}

export interface WatchParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schedules: VenueSchedules;
  /** Whether it was opened with keys, and not by a public address. */
  readonly isCredentialed: boolean;
  /** Hash of the account, the same as orders use. */
  readonly accountHash: string;
}

export class AccountWatch {
  readonly venue: RoutableVenue;
  readonly room: VenueRoom;
  readonly #parts: WatchParts;
  readonly #session: AccountSession;
  readonly #listeners: WatchListeners;
  readonly #orders: WatchedOrders;
  readonly #liquidations: Liquidations;
  #stream: AccountStream | null = null;
  #positions: readonly VenuePosition[] | null = null;
  /** Names of holdings that cannot be counted. */
  #unlisted: readonly string[] = [];
  #asOfMs: number | null = null;
  #source: "stream" | "venue" | null = null;
  #error: CoverageError | null = null;
  #isPolled = false;
  #isLive = false;
  /** Counts the times the stream became LIVE. */
  #liveRun = 0;
  #isClosed = false;
  #graceTimer: TimerHandle | null = null;
  #retryTimer: TimerHandle | null = null;
  #coverageShown = "";
  readonly #positionsTask: PollTask = { look: (isFirst) => this.#lookAtPositions(isFirst) };

  constructor(room: VenueRoom, session: AccountSession, parts: WatchParts) {
    this.venue = room.venue;
    this.room = room;
    this.#session = session;
    this.#parts = parts;
    this.#listeners = new WatchListeners(room.venue, parts.logger);
    this.#liquidations = new Liquidations(parts.clock);
    this.#orders = new WatchedOrders(room, session, {
      clock: parts.clock,
      logger: parts.logger,
      isWanted: () => this.#listeners.wantOrders,
      isPolled: () => this.#isPolled,
      isFailed: () => this.#error !== null,
      liveRun: () => (this.#isLive ? this.#liveRun : null),
      doubtMs: () => this.#stream?.ordersDoubtMs?.() ?? null,
      intervalMs: () => parts.schedules.orders.intervalMs,
      lookSoon: (afterMs) => {
        if (this.#listeners.wantOrders) parts.schedules.orders.soon(this.#orders.task, afterMs);
      },
      emit: (change) => this.#listeners.emit(change),
    });
  }

  // ---------------------------------------------------------------- what is shown

  /** The owner of these orders, shown only to callers who proved that they own them; null for a public address. */
  get owner(): Pick<AccountSession, "venue" | "accountId"> | null {
    return this.#parts.isCredentialed ? this.#session : null;
  }

  /** Null before the first reply. */
  get positions(): readonly VenuePosition[] | null {
    return this.#positions;
  }

  /** Null before the first whole list. */
  get openOrders(): readonly VenueOrder[] | null {
    return this.#orders.list();
  }

  /** Whether the venue has answered for the account, or the reason why it cannot is known. */
  get isSettled(): boolean {
    return this.#positions !== null || this.#error !== null;
  }

  get areOrdersSettled(): boolean {
    return this.#orders.isSettled;
  }

  /**
   * Reports whether one of these was opened with exactly the credentials of this watch, and the venue has proven them.
   */
  owns(accounts: ResolvedExecution["accounts"]): boolean {
    const { isCredentialed, accountHash } = this.#parts;
    return isCredentialed && this.#orders.isProven && accounts.some((account) => account.accountHash === accountHash);
  }

  coverage(): Coverage {
    const coverage = this.#knownCoverage();
    return coverage.error === null && this.#unlisted.length > 0
      ? { ...coverage, error: positionsUnlisted(this.#unlisted) }
      : coverage;
  }

  get #mode(): "poll" | "push" {
    return this.#isPolled || this.#stream === null ? "poll" : "push";
  }

  #knownCoverage(): Coverage {
    const mode = this.#mode;
    return {
      state: this.#state(),
      mode,
      asOf: this.#provenMs(),
      source: this.#source,
      intervalMs: mode === "poll" ? this.#parts.schedules.positions.intervalMs : null,
      error: this.#error ?? (this.#positions === null ? NO_ANSWER_YET : null),
    };
  }

  /** A LIVE stream proves its state repeatedly, even while nothing happens. */
  #provenMs(): number | null {
    const read = this.#isLive ? this.#stream?.positions() : undefined;
    return read?.ok === true ? read.asOfMs : this.#asOfMs;
  }

  /** Coverage of its open orders, which are read separately: own time, interval and error (watched-orders.ts). */
  ordersCoverage(): Coverage {
    const { intervalMs } = this.#parts.schedules.orders;
    return ordersCoverageOf(this.#orders, { mode: this.#mode, intervalMs, error: this.#error });
  }

  #state(): Coverage["state"] {
    if (this.#isLive) return "LIVE";
    return failedState(this.#error) ?? (this.#positions === null ? "ERROR" : "SNAPSHOT");
  }

  // ---------------------------------------------------------------- life

  /** Returns false when the account has no room for another listener. */
  listen(listener: AccountListener, wantsOrders: boolean): boolean {
    const wanted = this.#listeners.wantOrders;
    if (!this.#listeners.add(listener, wantsOrders)) return false;
    if (wantsOrders && !wanted) this.#watchOrders();
    return true;
  }

  /** Returns true when it was the last listener. */
  unlisten(listener: AccountListener): boolean {
    this.#listeners.remove(listener);
    if (!this.#listeners.wantOrders) {
      this.#parts.schedules.orders.remove(this.#orders.task);
      this.#orders.forget();
    }
    return this.#listeners.count === 0;
  }

  start(): void {
    if (!this.#openStream()) this.#poll();
  }

  get hasStream(): boolean {
    return this.#stream !== null;
  }

  /** Called when a stream may have become free. */
  promote(): void {
    if (this.#stream === null && !this.#isClosed) this.#openStream();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listeners.clear();
    this.#dropStream();
    this.#endPolling();
    this.#parts.schedules.orders.remove(this.#orders.task);
    this.#clearTimers();
    this.#orders.close();
    this.#session.close();
  }

  // ---------------------------------------------------------------- push

  #openStream(): boolean {
    const { streams } = this.room;
    if (streams === null) return false;
    const opened = this.#tryStream(streams);
    if (opened?.ok !== true) {
      this.#retryStreamLater();
      return false;
    }
    this.#stream = opened.stream;
    this.#awaitLive();
    this.#follow();
    return this.#stream !== null;
  }

  /** Opens a stream. Returns null on a bug of the room, which must neither end the watch nor leave it half open. */
  #tryStream(streams: AccountStreams): ReturnType<AccountStreams["openAccountStream"]> | null {
    try {
      return streams.openAccountStream(this.#session, (event) => this.#hear(event));
    } catch (error) {
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#parts.logger.error("portfolio.stream_failed", { venue: this.venue, errorName });
      return null;
    }
  }

  #hear(event: AccountEvent): void {
    if (this.#isClosed) return;
    switch (event.kind) {
      case "order":
        // Without listeners for orders there is no list to change.
        if (this.#listeners.wantOrders && this.#orders.apply(event.order)) this.#listeners.emit(event);
        return;
      case "fill":
        this.#liquidations.note(event);
        if (this.#listeners.wantOrders) this.#listeners.emit({ ...event, order: this.#orders.applyFill(event.order) });
        return;
      case "positions":
      case "state":
        this.#follow();
        return;
    }
  }

  /** Adopts the stream's present state. */
  #follow(): void {
    const stream = this.#stream;
    if (stream === null || this.#isClosed) return;
    const { state } = stream;
    if (state === "LIVE") {
      const read = stream.positions();
      if (read.ok) this.#pushed(read.value, read.asOfMs);
      return;
    }
    this.#isLive = false;
    if (state === "DOWN") this.#streamEnded(stream);
    else this.#awaitLive();
    this.#showCoverage();
  }

  #pushed(positions: readonly VenuePosition[], asOfMs: number): void {
    const wasLive = this.#isLive;
    this.#isLive = true;
    if (!wasLive) this.#liveRun++;
    this.#error = null;
    this.#clearGrace();
    this.#endPolling();
    this.#adopt(positions, asOfMs, "stream");
    // Polled lists miss fills and ends between two polls; a new list closes that gap.
    if (!wasLive && this.#listeners.wantOrders) this.#watchOrders();
  }

  /** Reads the list now and then in its interval, whether the account is streamed or polled. */
  #watchOrders(): void {
    const { orders } = this.#parts.schedules;
    if (this.#isLive) {
      this.#orders.follow();
      orders.add(this.#orders.task, true);
    } else if (this.#isPolled) orders.add(this.#orders.task);
  }

  #streamEnded(stream: AccountStream): void {
    const read = stream.positions();
    if (!read.ok && read.code === "AUTH") this.#fail(read);
    this.#dropStream();
    this.#poll();
    this.#retryStreamLater();
  }

  #dropStream(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#isLive = false;
    this.#clearGrace();
  }

  #awaitLive(): void {
    if (this.#graceTimer !== null || this.#isClosed) return;
    this.#graceTimer = this.#parts.clock.setTimer(() => {
      this.#graceTimer = null;
      if (!this.#isLive) this.#poll();
    }, STREAM_GRACE_MS);
  }

  #retryStreamLater(): void {
    if (this.#retryTimer !== null || this.#isClosed) return;
    this.#retryTimer = this.#parts.clock.setTimer(() => {
      this.#retryTimer = null;
      this.promote();
    }, STREAM_RETRY_MS);
  }

  // ---------------------------------------------------------------- poll

  #poll(): void {
    if (this.#isPolled || this.#isClosed) return;
    this.#isPolled = true;
    this.#parts.schedules.positions.add(this.#positionsTask);
    if (this.#listeners.wantOrders) this.#watchOrders();
    this.#showCoverage();
  }

  #endPolling(): void {
    if (!this.#isPolled) return;
    this.#isPolled = false;
    this.#parts.schedules.positions.remove(this.#positionsTask);
  }

  async #lookAtPositions(isFirst: boolean): Promise<LookResult> {
    const options: CallOptions = { timeoutMs: LOOK_TIMEOUT_MS, lane: isFirst ? "read" : "background" };
    const read = await readSafely(this.#parts.logger, this.venue, () =>
      this.room.reader.readPositions(this.#session, null, options),
    );
    if (this.#isClosed) return NO_PAUSE;
    // The stream is LIVE again, and its state is newer.
    if (this.#isLive) return NO_PAUSE;
    if (!read.ok) return this.#fail(read);
    this.#error = null;
    this.#adopt(read.value, read.asOfMs, "venue");
    return NO_PAUSE;
  }

  #fail(read: FailedRead): LookResult {
    this.#error = { code: read.code, message: read.message };
    this.#showCoverage();
    return pauseAfter(read);
  }

  // ---------------------------------------------------------------- state

  #adopt(positions: readonly VenuePosition[], asOfMs: number, source: "stream" | "venue"): void {
    // Two reads, or a read and a stream, may end in another order than they began. A state whose time lies in the
    // future is no reason to refuse: this machine's clock was set back.
    const { clock } = this.#parts;
    if (this.#asOfMs !== null && asOfMs < this.#asOfMs && this.#asOfMs <= clock.wallMs()) {
      this.#showCoverage();
      return;
    }
    const counted = positions.filter(({ uncounted }) => uncounted === undefined);
    const changes = positionChanges(this.#positions ?? [], counted, (position) => this.#liquidations.has(position));
    this.#positions = counted;
    this.#unlisted = unlistedNames(positions);
    this.#asOfMs = asOfMs;
    this.#source = source;
    this.#showCoverage();
    if (changes.length > 0) this.#listeners.emit({ kind: "positions", changes });
  }

  /** Emits a change of coverage once, if a subscriber would see a difference; new times alone are none. */
  #showCoverage(): void {
    if (this.#isClosed) return;
    const { state, mode, source, error } = this.coverage();
    const shown = `${state} ${mode} ${source} ${error?.code ?? ""} ${this.isSettled}`;
    if (shown === this.#coverageShown) return;
    this.#coverageShown = shown;
    this.#listeners.emit({ kind: "coverage" });
  }

  tell(change: AccountChange): void {
    if (!this.#isClosed) this.#listeners.emit(change);
  }

  #clearGrace(): void {
    if (this.#graceTimer !== null) this.#parts.clock.clearTimer(this.#graceTimer);
    this.#graceTimer = null;
  }

  #clearTimers(): void {
    this.#clearGrace();
    if (this.#retryTimer !== null) this.#parts.clock.clearTimer(this.#retryTimer);
    this.#retryTimer = null;
  }
}
