/**
 * One account at one venue being watched, with one set of credentials: pushed where the venue pushes and has room,
 * looked at by the poll schedule where it does not, and while a stream is away for longer than a moment. Its open orders
 * are kept in watched-orders.ts.
 *
 *   stream LIVE ── its positions, reconciled by the room ──► LIVE, push
 *   no stream, or none free, or away ── looks over REST ──► SNAPSHOT, poll; a stream is tried again now and then
 *
 * Invariants: a state is replaced only by a whole one that is not older; a failed look changes no position (it is not a
 * flat account); the session is closed at the end and used by nothing after it; listeners hear of a change after it.
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

/** A stream that is not LIVE so long is helped out by polling; the room goes on trying. */
const STREAM_GRACE_MS = 3_000;
/** An account that got no stream asks again. */
const STREAM_RETRY_MS = 60_000;

/** Of one venue. Apart, because a list of open orders weighs about ten times as much as positions. */
export interface VenueSchedules {
  readonly positions: PollSchedule;
  readonly orders: PollSchedule;
}

export interface WatchParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schedules: VenueSchedules;
  /** Opened with keys, not by an address that everybody may know. */
  readonly isCredentialed: boolean;
  /** Names the account as orders do. */
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
  /** Names of what is held and cannot be counted. */
  #unlisted: readonly string[] = [];
  #asOfMs: number | null = null;
  #source: "stream" | "venue" | null = null;
  #error: CoverageError | null = null;
  #isPolled = false;
  #isLive = false;
  /** Counts how often the stream became LIVE. */
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

  /** Whose orders these are, to who proved that they are theirs; null for an address that everybody may know. */
  get owner(): Pick<AccountSession, "venue" | "accountId"> | null {
    return this.#parts.isCredentialed ? this.#session : null;
  }

  /** Null before the first answer. */
  get positions(): readonly VenuePosition[] | null {
    return this.#positions;
  }

  /** Null before the first whole list. */
  get openOrders(): readonly VenueOrder[] | null {
    return this.#orders.list();
  }

  /** The account was answered for, or it is known why it cannot be. */
  get isSettled(): boolean {
    return this.#positions !== null || this.#error !== null;
  }

  get areOrdersSettled(): boolean {
    return this.#orders.isSettled;
  }

  /** Was one of these opened with the very credentials of this watch, and has the venue proven them? */
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

  /** A stream that is LIVE proves its state again and again, also while nothing happens. */
  #provenMs(): number | null {
    const read = this.#isLive ? this.#stream?.positions() : undefined;
    return read?.ok === true ? read.asOfMs : this.#asOfMs;
  }

  /** The same of its open orders, which are read apart: their own time, interval and error (watched-orders.ts). */
  ordersCoverage(): Coverage {
    const { intervalMs } = this.#parts.schedules.orders;
    return ordersCoverageOf(this.#orders, { mode: this.#mode, intervalMs, error: this.#error });
  }

  #state(): Coverage["state"] {
    if (this.#isLive) return "LIVE";
    return failedState(this.#error) ?? (this.#positions === null ? "ERROR" : "SNAPSHOT");
  }

  // ---------------------------------------------------------------- life

  /** False when the account has no room for another listener. */
  listen(listener: AccountListener, wantsOrders: boolean): boolean {
    const wanted = this.#listeners.wantOrders;
    if (!this.#listeners.add(listener, wantsOrders)) return false;
    if (wantsOrders && !wanted) this.#watchOrders();
    return true;
  }

  /** True when it was the last one. */
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

  /** A stream may have become free. */
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

  /** Null means a bug of the room, which must not end the watch, nor leave it behind half opened. */
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
        // Without listeners no list is kept that it could change.
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

  /** Takes over what the stream holds now. */
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
    // What was polled before says nothing of fills and ends between two looks; the list closes the gap.
    if (!wasLive && this.#listeners.wantOrders) this.#watchOrders();
  }

  /** The list now, and again in its interval: pushed or polled. */
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
    // The stream came back meanwhile: what it holds is newer.
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
    // Two looks, or a look and a stream, may end in another order than they began. What is held of a time still to come
    // proves nothing: this machine's clock was set back.
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

  /** Tells once of what a subscriber sees otherwise; times alone are no news. */
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
